//! Glances: what is in a pane and who is at it, and steps that are not taken once somebody touches a key.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cmux_drivers::tmux::glance::{Glance, glance};
use cmux_drivers::tmux::guard::{Key, Outcome, Step, Unmet, What};
use cmux_testkit::person::Person;
use cmux_testkit::wait::eventually;

use crate::world::{WITHIN, World};

/// The session that agents live in.
const SESSION: &str = "cmux";

#[test]
fn whoever_types_in_a_pane_is_seen_and_no_step_comes_between_their_keys() {
    let world = World::new();
    let control = world.control();
    let (agent, tags) = world.agent(&control, "printf ready; exec cat");
    let (other, _) = world.agent(&control, "exec cat");
    world.see(&control, agent.pane, "ready");
    let look = |pane| -> Glance { world.wait(glance(&control, pane, WITHIN)).unwrap() };
    let at_first = look(agent.pane);
    assert_eq!((at_first.run, at_first.pid), (Some(tags.run), Some(agent.pid)));
    assert!(!at_first.is_dead && !at_first.is_in_mode && !at_first.is_input_off);
    assert!(String::from_utf8_lossy(&at_first.screen.content).contains("ready"));
    assert_eq!((at_first.person_s, &at_first.steps[..]), (None, &[][..]));
    let step = |token: &str, touch, what| Step {
        pane: agent.pane,
        pane_pid: agent.pid,
        run: tags.run,
        token: token.into(),
        deadline: SystemTime::now() + Duration::from_hours(1),
        untouched_since: Some(touch),
        what,
    };
    let key = |letter| What::Keys(vec![Key::Letter(letter)]);
    let take = |step: &Step| world.wait(step.take(&control, WITHIN)).unwrap();
    assert_eq!(take(&step("1", at_first.touch, key('a'))), Outcome::Done);
    assert_eq!(look(agent.pane).steps, [step("1", at_first.touch, key('a')).key()]);

    let person = Person::at(world.server.socket(), SESSION, &agent.pane.to_string());
    let quiet = look(agent.pane);
    // tmux counts whole seconds.
    let second = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let then = second();
    eventually("another second", || (second() > then + 1).then_some(()));
    person.types("draft");
    world.see(&control, agent.pane, "adraft");
    let typed = look(agent.pane);
    assert!(typed.person_s > quiet.person_s, "{typed:?}");
    assert_eq!(take(&step("2", quiet.touch, key('b'))), Outcome::NotMet(Unmet::Touched));
    assert_eq!(take(&step("3", typed.touch, key('c'))), Outcome::Done);
    world.see(&control, agent.pane, "adraftc");
    // Whoever is at one pane is not at another.
    assert_eq!(look(other.pane).person_s, None);

    // What is typed by way of cmux is a person's, too.
    let before = look(agent.pane).touch;
    assert_eq!(take(&step("4", before, What::Typed(b"d".to_vec()))), Outcome::Done);
    assert_eq!(take(&step("5", before, key('e'))), Outcome::NotMet(Unmet::Touched));
    assert!(look(agent.pane).person_s >= Some(then));
    world.see(&control, agent.pane, "adraftcd");
}
