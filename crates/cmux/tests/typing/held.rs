//! What a message waits for, told to whoever asks, and that it is read once that is out of the way.

use std::thread::sleep;
use std::time::Duration;

use cmux_testkit::wait::eventually;
use cmux_wire::agent::Phase;

use crate::scene::{Scene, messages};

/// Works for an hour when it is told to, or has used up all that its provider lets it have.
const SCRIPT: &str = r#"{"rules":[
    {"when":{"contains":"work"},"steps":[{"think_ms":3600000}]},
    {"when":{"contains":"too much"},"steps":[{"limit_s":3600}]},
    {"steps":[{"say":"ok"}]}]}"#;

/// How often a person who is there touches a key.
const KEY_EVERY: Duration = Duration::from_millis(500);

#[test]
fn a_message_to_which_nothing_is_answered_is_read_once() {
    let scene = Scene::new();
    scene.scripted("w1", r#"{"rules":[{"steps":[]}]}"#, &[]);
    for body in ["one", "two"] {
        let read = scene.read(&scene.send("w1", body));
        assert_eq!((read.attempts, read.evidence.as_deref()), (1, Some("turn")), "{read:?}");
    }
    assert_eq!(scene.prompts("w1").len(), 2);
}

#[test]
fn a_message_waits_for_what_somebody_has_begun_to_write() {
    let scene = Scene::new();
    let agent = scene.agent("w1", &["draft=half a thought"]);
    let id = check_held(&scene, "draft", "begun to write");
    // They stay: a key whose terminal is gone may never arrive.
    let person = scene.person(&agent);
    person.presses("C-u");
    check_read(&scene, &id);
}

#[test]
fn a_message_waits_for_whoever_types() {
    let scene = Scene::new();
    let agent = scene.agent("w1", &[]);
    let person = scene.person(&agent);
    person.presses("Left");
    let id = scene.send("w1", "hi");
    eventually("it waits for the person", || {
        person.presses("Left");
        sleep(KEY_EVERY);
        (scene.message(&id).waiting_for.as_deref() == Some("person")).then_some(())
    });
    check_read(&scene, &id);
}

#[test]
fn a_message_waits_for_whoever_scrolls() {
    let scene = Scene::new();
    let agent = scene.agent("w1", &[]);
    let person = scene.person(&agent);
    person.presses("C-b");
    person.presses("[");
    let id = check_held(&scene, "scrolling", "scrolls");
    person.presses("q");
    check_read(&scene, &id);
}

#[test]
fn a_message_waits_for_an_answer_to_a_question() {
    let scene = Scene::new();
    let agent = scene.agent("w1", &["dialog-after=enter"]);
    let person = scene.person(&agent);
    person.presses("Enter");
    scene.sees(&agent, "Do you want to proceed?");
    let id = check_held(&scene, "asking", "a question is on its reader's screen");
    person.presses("3");
    check_read(&scene, &id);
    assert_eq!(scene.approvals("w1"), "");
}

#[test]
fn a_message_waits_for_an_agent_that_is_busy() {
    let scene = Scene::new();
    scene.scripted("w1", SCRIPT, &[]);
    let first = scene.send("w1", "work");
    scene.read(&first);
    scene.world.in_phase("w1", Phase::Busy);
    let id = check_held(&scene, "busy", "busy");
    scene.world.have("w1", "interrupt");
    scene.read(&id);
}

#[test]
fn a_message_waits_for_what_the_provider_allows() {
    let scene = Scene::new();
    scene.scripted("w1", SCRIPT, &[]);
    let first = scene.send("w1", "too much");
    scene.read(&first);
    scene.world.in_phase("w1", Phase::Limited);
    check_held(&scene, "limited", "no more for now");
}

/// Sends a message, and checks what it is told to wait for, in a word and in a sentence. Returns its id.
#[track_caller]
fn check_held(scene: &Scene, word: &str, told: &str) -> String {
    let id = scene.send("w1", "hi");
    scene.waits_for(&id, word);
    let shown = scene.world.home.run(&["message", "show", &id]);
    assert!(shown.stdout.contains(told), "{shown:?}");
    id
}

/// Checks that a message is read, and that it is all that was read.
#[track_caller]
fn check_read(scene: &Scene, id: &str) {
    scene.read(id);
    let read: Vec<_> = scene.prompts("w1").iter().flat_map(|it| messages(it)).collect();
    assert_eq!(read, [(id.to_owned(), "hi".to_owned())]);
}
