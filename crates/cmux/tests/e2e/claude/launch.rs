//! It is brought up.

use std::fs;

use cmux_testkit::wait::eventually;
use cmux_wire::agent::Phase;

use super::{CLAUDE, furnish};
use crate::proof::{self, Shown};
use crate::stage::{Cli, Furnishing, SUPERVISOR, Stage};

#[test]
fn cmux_up_brings_it_past_its_dialogs_to_its_prompt_and_down_leaves_nothing() {
    let stage = Stage::brought_up(&CLAUDE, &["--trust"]);
    let supervisor = stage.in_phase(SUPERVISOR, Phase::Idle);
    assert_eq!((supervisor.kind.as_str(), supervisor.role.as_str()), ("claude", "supervisor"));
    stage.explained(SUPERVISOR, Phase::Idle, &["status"]);
    // It was trusted by an answer to its own question, which it remembers.
    let home = &stage.post.world.home;
    let kept = fs::read_to_string(home.folder("person").join(".claude.json")).unwrap();
    assert!(kept.contains("\"hasTrustDialogAccepted\": true"), "{kept}");
    assert_eq!(stage.model.look(|visits| visits.len()), 0);

    proof::shown(&stage, "claude", Shown::Launch);
    proof::shown(&stage, "claude", Shown::Ready);
    stage.told(&["down", "--all"]);
    eventually("nothing is left", || home.processes().is_empty().then_some(()));
}

#[test]
fn who_may_do_everything_is_past_the_warning_of_that_and_asks_nobody() {
    let mut stage = Stage::set(&Cli { kind: "claude", furnish: in_a_box });
    let world = &mut stage.post.world;
    let config = world.home.root().join("config.toml");
    let written = fs::read_to_string(&config).unwrap();
    let allowed = "[kinds.claude]\npermissions = \"all\"\n";
    fs::write(&config, written.replace("[kinds.claude]\n", allowed)).unwrap();
    world.reborn();
    stage.supervisor(&CLAUDE);
    // It was warned, and what was answered is remembered.
    let settings = stage.post.world.home.folder("person").join(".claude/settings.json");
    let kept = fs::read_to_string(settings).unwrap();
    assert!(kept.contains("\"skipDangerousModePermissionPrompt\": true"), "{kept}");
    stage.tell("@@ tool Bash {\"command\":\"sh -c 'touch made-by-bash'\"}\n@@ say made");
    stage.in_phase(SUPERVISOR, Phase::Idle);
    assert!(stage.post.world.root.join("made-by-bash").exists());
    let phases = stage.post.world.events_of("agent.phase");
    assert!(phases.iter().all(|it| it.data["to"] != "asking"), "{phases:?}");
}

/// It does not let root do everything unless it is told that nothing can come of it.
fn in_a_box(there: &Furnishing<'_>) -> Vec<(&'static str, String)> {
    let mut variables = furnish(there);
    variables.push(("IS_SANDBOX", "1".to_owned()));
    variables
}
