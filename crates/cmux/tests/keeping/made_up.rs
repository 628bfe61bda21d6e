//! A CLI that nobody has heard of, kept by a manifest of the user's and no line of Rust.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use cmux_wire::agent::Phase;

use crate::world::{World, kill};

/// A program with a prompt: it takes a while over each line.
const PROGRAM: &str = r#"#!/bin/bash
printf 'parrot 0.1\n'
while true; do
    printf 'parrot> '
    IFS= read -r line || exit 0
    [ "$line" = quit ] && exit 0
    printf 'thinking...\n'
    while [ ! -e "$PARROT_DONE" ]; do sleep 0.1; done
    rm -f "$PARROT_DONE"
    printf 'you said: %s\n' "$line"
done
"#;

const MANIFEST: &str = r#"
kind = "parrot"
title = "Parrot"
witnesses = ["screen"]

[find]
program = "PROGRAM"
install = "write it yourself"

[launch]
session = "theirs"
command = []
role = []

[launch.ask]
args = []

[prompt]
frame = ["mark"]
mark = ["parrot>"]
cursor = true
below_max = 0

[[rules]]
name = "thinking"
phase = "busy"
region = "last 1"
any = ["^thinking...$"]

[[rules]]
name = "prompt"
phase = "idle"
region = "last 1"
prompt = true
any = ["^parrot>"]

[keys]
paste = "plain"
submit = ["Enter"]
interrupt = ["C-c"]
empty = ["C-u"]
exit = "quit"

[cannot]
resume = "it remembers nothing"
clear = "there is nothing to clear"
compact = "there is nothing to shorten"
hooks = "it has none"
block = "it has no hooks"
transcript = "it keeps none"
status = "it does not say how it is"
title = "it sets none"
api = "it has none"
"#;

#[test]
fn a_made_up_cli_is_kept_by_its_manifest_alone() {
    let world = World::furnished(|home| {
        let program = home.folder("bin").join("parrot");
        fs::write(&program, PROGRAM).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        fs::write(home.root().join("config.toml"), "").unwrap();
        let folder = home.root().join("agents");
        fs::create_dir_all(&folder).unwrap();
        let manifest = MANIFEST.replace("PROGRAM", program.to_str().unwrap());
        fs::write(folder.join("parrot.toml"), manifest).unwrap();
    });
    let done = world.root.join("done");
    let env = serde_json::json!({ "PARROT_DONE": done.to_str().unwrap() });
    world.spawn_as("polly", &serde_json::json!({ "kind": "parrot", "env": env }));
    let agent = world.in_phase("polly", Phase::Idle);
    world.at_tmux(&["send-keys", "-t", agent.pane.as_deref().unwrap(), "hello", "Enter"]);
    world.in_phase("polly", Phase::Busy);
    fs::write(&done, "").unwrap();
    world.in_phase("polly", Phase::Idle);
    kill(world.cli(agent.pid.unwrap()));
    let back = world.back(&agent);
    world.have("polly", "stop");
    world.wait("polly", "gone", |it| it.phase == Phase::Offline && it.run.is_none());
    assert_eq!(world.of_run(&back.run.unwrap()), [0; 0]);
    let exits = world.events_of("agent.exited");
    assert!(exits.last().unwrap().data["how"] == "it exited", "by its own way out: {exits:?}");
}
