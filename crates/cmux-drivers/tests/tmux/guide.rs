//! The example of the guide, as it is written there: a CLI that is made up is a kind like any other.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::SystemTime;

use cmux_core::kind::Permissions as Allowed;
use cmux_core::screen::{Screen, Seen};
use cmux_core::settings::KindSettings;
use cmux_core::time::Timestamp;
use cmux_drivers::manifest::{self, Manifest, Place, Start, Told};
use cmux_drivers::tmux::control::Control;
use cmux_drivers::tmux::guard::{Ends, Key, Outcome, Step, What};
use cmux_drivers::tmux::screen::{self, Colours};
use cmux_drivers::tmux::spawn::{Spawn, Spawned};
use cmux_testkit::wait::{PATIENCE, eventually};

use crate::world::{WITHIN, World, text};

const GUIDE: &str = include_str!("../../../../docs/agents.md");

/// Waits for a test to let it go on, in place of the real one.
const SLEEP: &str = "#!/bin/sh\nuntil rm go 2>/dev/null; do /bin/sleep 0.01; done\n";

#[test]
fn the_example_goes_from_idle_to_busy_and_back() {
    let world = World::new();
    let control = world.control();
    let agent = Agent::start(&world, &control, Told::default());
    agent.see("prompt", &Seen::Idle);
    agent.paste("hello");
    agent.see("prompt", &Seen::Draft { text: "hello".to_owned() });
    agent.keys(vec![Key::Enter]);
    agent.see("thinking", &Seen::Busy { answers: false });
    agent.wake();
    agent.see("prompt", &Seen::Idle);
    assert!(world.screen(&control, agent.spawned.pane).contains("parrot: hello"));
}

#[test]
fn the_example_is_told_first_what_to_do() {
    let world = World::new();
    let control = world.control();
    let told = Told { role: Some("be loud"), prompt: Some("> two words"), trusted: false };
    let agent = Agent::start(&world, &control, told);
    agent.see("thinking", &Seen::Busy { answers: false });
    agent.wake();
    agent.see("prompt", &Seen::Idle);
    // What it says again is no prompt.
    assert!(world.screen(&control, agent.spawned.pane).contains("parrot: > two words\n>"));
}

/// The example in a pane.
struct Agent<'a> {
    world: &'a World,
    control: &'a Control,
    manifest: Manifest,
    spawn: Spawn,
    spawned: Spawned,
}

impl<'a> Agent<'a> {
    fn start(world: &'a World, control: &'a Control, told: Told<'_>) -> Agent<'a> {
        let manifest = manifest::parse(Path::new("parrot.toml"), block("toml")).unwrap();
        write(&world.path("parrot"), block("sh"));
        write(&world.path("sleep"), SLEEP);
        let program = text(&world.path("parrot"));
        let known = |place| (place == Place::Program).then(|| program.clone());
        // As strict as can be is as strict as need be.
        let settings = KindSettings { permissions: Allowed::Ask, ..KindSettings::default() };
        let started = manifest.start(Start::New, &settings, told, known).unwrap();
        assert_eq!(started.unsaid, None);
        let folder = world.path("");
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        let mut environment: Vec<_> = started.env.into_iter().collect();
        environment.push(("PATH".to_owned(), path));
        let spawn = Spawn { words: started.argv, environment, ..world.script("") };
        let spawned = world.wait(spawn.make(control, WITHIN)).unwrap();
        Agent { world, control, manifest, spawn, spawned }
    }

    /// Waits until the screen says this, by a rule of that name.
    #[track_caller]
    fn see(&self, rule: &str, seen: &Seen) {
        eventually(&format!("{seen:?}"), || {
            let look =
                screen::capture(self.control, self.spawned.pane, 0, Colours::Without, WITHIN);
            let look = self.world.wait(look).unwrap();
            let shown = String::from_utf8(look.content).unwrap();
            let cursor = (u16::try_from(look.cursor.0).ok()?, u16::try_from(look.cursor.1).ok()?);
            let shown = Screen { cursor: Some(cursor), ..Screen::of(&shown) };
            let sight = self.manifest.eyes.look(&shown, Timestamp(0), 0);
            let is_so = sight.seen.as_ref() == Some(seen) && sight.rule.as_deref() == Some(rule);
            is_so.then_some(())
        });
    }

    fn paste(&self, body: &str) {
        let file = self.world.path("body");
        fs::write(&file, body).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        self.take("paste", What::Paste { file, ends: Ends::IfAsked });
    }

    fn keys(&self, keys: Vec<Key>) {
        self.take("keys", What::Keys(keys));
    }

    fn take(&self, token: &str, what: What) {
        let step = Step {
            pane: self.spawned.pane,
            pane_pid: self.spawned.pid,
            run: self.spawn.tags.run,
            token: token.to_owned(),
            deadline: SystemTime::now() + PATIENCE,
            untouched_since: None,
            what,
        };
        let taken = self.world.wait(step.take(self.control, WITHIN)).unwrap();
        assert_eq!(taken, Outcome::Done);
    }

    /// Lets it go on.
    fn wake(&self) {
        fs::write(self.world.path("go"), "").unwrap();
    }
}

/// Returns the first block of the guide in a language.
fn block(language: &str) -> &'static str {
    let (_, rest) = GUIDE.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
}
