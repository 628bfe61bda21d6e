//! Agents that cmux knows less of: a pane that a person started, and a CLI that tells nothing of itself.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;
use cmux_wire::agent::{Phase, Register};
use cmux_wire::message::{Message, MessageState};
use serde_json::json;

use crate::PROGRAM;
use crate::scene::{Scene, messages};

/// A program with a prompt: it says what it was told, and takes a while over it or none.
const PARROT: &str = r#"#!/bin/bash
printf 'parrot 0.1\n'
while true; do
    printf 'parrot> '
    IFS= read -r line || exit 0
    [ "$line" = quit ] && exit 0
    printf '%s\n' "$line" >>"$PARROT_RECORD"
    if [ -n "$PARROT_THINKS" ]; then
        printf 'thinking...\n'
        while [ ! -e "$PARROT_DONE" ]; do sleep 0.1; done
        rm -f "$PARROT_DONE"
    else
        # Whoever looks sees nothing of what it was told.
        printf '\033[2J\033[H'
    fi
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

/// A tmux of a person's own.
struct OwnTmux {
    socket: PathBuf,
}

#[test]
fn a_pane_that_a_person_started_is_written_to_and_nothing_is_left_there_but_tags() {
    let scene = Scene::new();
    let own = OwnTmux::new(&scene);
    own.tmux(&["set-buffer", "-b", "clip", "what a person has copied"]);
    let before = own.all();
    let pane = format!("{}:%0", own.socket.display());
    let register = Register {
        pane,
        name: "mine".to_owned(),
        kind: "demo".to_owned(),
        project: scene.world.project.clone(),
    };
    let home = &scene.world.home;
    home.ask(|client| async move { client.register_agent(&register).await }).unwrap();
    scene.world.in_phase("mine", Phase::Idle);
    let mut sent = Vec::new();
    for body in ["hi", "two\nlines; #(touch x) $(touch x)", "a\nlonger\nlist\nof\nlines"] {
        let id = scene.send("mine", body);
        scene.read(&id);
        sent.push((id, body.to_owned()));
    }
    let read: Vec<_> = scene.prompts("mine").iter().flat_map(|it| messages(it)).collect();
    assert_eq!(read, sent);
    assert_eq!(own.all(), before);
    let is_tag = |option: &String| option.starts_with("@cmux_");
    assert!(own.options().iter().all(is_tag), "{:?}", own.options());
    let project = scene.world.project.clone();
    home.ask(|client| async move { client.remove_agent("mine", Some(&project)).await }).unwrap();
    eventually("its tags are gone", || own.options().is_empty().then_some(()));
}

#[test]
fn a_cli_without_hooks_has_read_what_it_is_seen_to_work_on() {
    let scene = parrots("");
    let done = scene.path("polly", "done");
    parrot(&scene, json!({ "PARROT_THINKS": "1", "PARROT_DONE": done }));
    for body in ["hi", "two\nlines; -- \"and\" $(signs)"] {
        let id = scene.send("polly", body);
        let read = scene.read(&id);
        assert_eq!(read.evidence.as_deref(), Some("screen"));
        fs::write(&done, "").unwrap();
        scene.world.in_phase("polly", Phase::Idle);
    }
    let heard = heard(&scene);
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard[1].ends_with("] two lines; -- \"and\" $(signs)"), "{heard:?}");
}

#[test]
fn what_nobody_confirms_is_reported_so_and_not_typed_twice_if_it_is_to_be_left() {
    let scene = parrots("[kinds.parrot]\nunconfirmed = \"leave\"\n");
    parrot(&scene, json!({}));
    let id = scene.send("polly", "hi");
    let is_failed = |it: &Message| it.state == MessageState::Failed;
    let failed = scene.wait(&id, "given up", is_failed);
    assert!(
        failed.reason.as_deref().is_some_and(|it| it.contains("unconfirmed")),
        "{:?}",
        failed.reason
    );
    assert_eq!(failed.attempts, 1);
    // It would be typed again by now if it ever were.
    let second = scene.send("polly", "still there?");
    scene.wait(&second, "given up", is_failed);
    let heard = heard(&scene);
    let count = heard.iter().filter(|line| line.contains(&id)).count();
    assert_eq!((count, heard.len()), (1, 2), "{heard:?}");
}

/// Starts a daemon that knows parrots, whose configuration says this.
fn parrots(config: &str) -> Scene {
    Scene::furnished(|home| {
        let program = home.folder("bin").join("parrot");
        fs::write(&program, PARROT).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        fs::write(home.root().join("config.toml"), config).unwrap();
        let folder = home.root().join("agents");
        fs::create_dir_all(&folder).unwrap();
        let manifest = MANIFEST.replace("PROGRAM", program.to_str().unwrap());
        fs::write(folder.join("parrot.toml"), manifest).unwrap();
    })
}

/// Launches a parrot, and waits until it is at its prompt.
fn parrot(scene: &Scene, mut env: serde_json::Value) {
    env["PARROT_RECORD"] = json!(scene.path("polly", "record"));
    scene.world.spawn_as("polly", &json!({ "kind": "parrot", "env": env }));
    scene.world.in_phase("polly", Phase::Idle);
}

/// Returns each line that the parrot was told.
fn heard(scene: &Scene) -> Vec<String> {
    let lines = fs::read_to_string(scene.path("polly", "record")).unwrap_or_default();
    lines.lines().map(ToOwned::to_owned).collect()
}

impl OwnTmux {
    /// Starts a tmux with the scripted agent in its only pane, as a person would.
    fn new(scene: &Scene) -> OwnTmux {
        let home: &TestHome = &scene.world.home;
        let own = OwnTmux { socket: home.folder("person").join("tmux") };
        let state = home.folder("demo");
        let script = state.join("script.json");
        fs::write(&script, r#"{"rules":[{"steps":[{"think_ms":3000}]}]}"#).unwrap();
        let record = scene.path("mine", "record");
        let demo = format!(
            "CMUX_DEMO_RECORD='{}' exec {PROGRAM} demo --state '{}' --script '{}'",
            record.display(),
            state.display(),
            script.display()
        );
        own.tmux(&["new-session", "-d", "-x", "100", "-y", "30", &demo]);
        own
    }

    fn tmux(&self, words: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]).args(words);
        for variable in ["TMUX", "TMUX_PANE", "CMUX_RUN", "CMUX_TOKEN"] {
            tmux.env_remove(variable);
        }
        let said = tmux.output().unwrap().stdout;
        String::from_utf8_lossy(&said).trim_end().to_owned()
    }

    /// Returns the names of what is set on the pane.
    fn options(&self) -> Vec<String> {
        let set = self.tmux(&["show-options", "-p", "-t", "%0"]);
        set.lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect()
    }

    /// Returns what there is in the person's tmux, but for the tags.
    fn all(&self) -> Vec<String> {
        let asked: [&[&str]; 8] = [
            &["list-sessions", "-F", "#{session_id} #{session_name} #{session_attached}"],
            &["list-panes", "-a", "-F", "#{pane_id} #{pane_pid} #{pane_in_mode}"],
            &["list-clients"],
            &["list-buffers"],
            &["show-buffer", "-b", "clip"],
            &["show-options", "-s"],
            &["show-options", "-g"],
            &["show-environment"],
        ];
        asked.iter().map(|words| self.tmux(words)).collect()
    }
}

impl Drop for OwnTmux {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
