//! A team: one launches another, has it do something, and hears of it.

use std::fs;

use cmux_testkit::model::script::{Script, Turn};
use cmux_wire::agent::Phase;
use serde_json::json;

use super::supervised;
use crate::stage::SUPERVISOR;
use crate::story::nobody_was_asked;

#[test]
fn a_supervisor_has_a_worker_change_a_file_and_reads_its_report() {
    let (stage, supervisor) = supervised();
    let file = stage.post.world.root.join("greeting.txt");
    fs::write(&file, "hello\n").unwrap();
    let bash = |command: &str| Turn::call("Bash", json!({ "command": command }));
    let lead = Script::default()
        .then(bash("cmux agent spawn worker --kind claude --wait=100"))
        .then(bash("cmux send worker --kind task 'Change the greeting.'"))
        .then(Turn::say("It is on its way."));
    let work = Script::default()
        .then(Turn::call("Read", json!({ "file_path": file })))
        .then(Turn::call(
            "Edit",
            json!({ "file_path": file, "old_string": "hello", "new_string": "goodbye" }),
        ))
        .then(bash("cmux report done 'The greeting is changed.'"))
        .then(Turn::say("That was all."));
    stage.model.when("Have the greeting changed.", lead);
    stage.model.when("Change the greeting.", work);

    stage.tell("Have the greeting changed.");
    let report = stage.eventually("the report is read", || {
        let prompts = stage.prompts(&supervisor);
        prompts.into_iter().find(|it| it.ends_with("\nDone: The greeting is changed."))
    });
    assert!(report.contains(" from worker · response · "), "{report}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "goodbye\n");

    let worker = stage.in_phase("worker", Phase::Idle);
    stage.in_phase(SUPERVISOR, Phase::Idle);
    assert_eq!((&*worker.kind, &worker.parent), ("claude", &Some(supervisor.id.clone())));
    let task = stage.prompts(&worker);
    assert!(task.len() == 1 && task[0].contains(" from supervisor · task · "), "{task:?}");
    assert_eq!(stage.prompts(&supervisor).len(), 2);
    nobody_was_asked(&stage);
    assert_eq!(stage.model.strays(), [""; 0]);
}
