//! What an agent is told first, where its program does not take that when it is launched: it is typed, and a
//! person who is faster is not spoken over.

use std::fs;

use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;
use cmux_wire::agent::Agent;
use serde_json::json;

use crate::scene::{SHORT, Scene, composer, messages};

const MANIFEST: &str = include_str!("../../../cmux-drivers/agents/demo.toml");

const TASK: &str = "say what there is";

#[test]
fn a_first_task_is_typed_and_then_mail_is() {
    let scene = Scene::furnished(furnish);
    let agent = launch(&scene);
    let id = scene.send("w1", "hi");
    scene.read(&id);
    let prompts = scene.prompts(&agent.name);
    assert_eq!((prompts.len(), prompts[0].as_str()), (2, TASK), "{prompts:?}");
}

#[test]
fn a_first_task_is_not_submitted_with_what_a_person_adds() {
    let scene = Scene::furnished(furnish);
    let agent = launch(&scene);
    scene.sees(&agent, TASK);
    let person = scene.person(&agent);
    person.types(" or not");
    let id = scene.send("w1", "hi");
    scene.wait(&id, "held", |it| it.waiting_for.as_deref() == Some("starting"));
    let holds = composer(&scene.screen(&agent));
    assert_eq!(holds, Some(format!("{TASK} or not")));
    // It is theirs to take away.
    person.presses("C-u");
    scene.read(&id);
    let prompts = scene.prompts(&agent.name);
    assert_eq!(messages(&prompts[0]), [(id, "hi".to_owned())], "{prompts:?}");
}

/// Has the scripted agent take no task when it is launched, and be given time before what is typed is submitted.
fn furnish(home: &mut TestHome) {
    let slow = MANIFEST
        .replace("prompt = [\"--\", \"{prompt}\"]\n", "")
        .replace("submit_after_ms = 10\n", "submit_after_ms = 2000\n");
    fs::write(home.root().join("config.toml"), "").unwrap();
    let folder = home.root().join("agents");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("demo.toml"), slow).unwrap();
}

/// Launches an agent with a task, and waits until it has a pane.
fn launch(scene: &Scene) -> Agent {
    let path = |what: &str| scene.path("w1", what).display().to_string();
    fs::write(path("json"), SHORT).unwrap();
    let env = json!({ "CMUX_DEMO_RECORD": path("record"), "CMUX_DEMO_SCRIPT": path("json") });
    scene.world.spawn_as("w1", &json!({ "task": TASK, "env": env }));
    eventually("it has a pane", || {
        let agent = scene.world.agent("w1");
        agent.pane.is_some().then_some(agent)
    })
}
