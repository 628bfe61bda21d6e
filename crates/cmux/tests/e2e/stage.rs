//! A stage for a real CLI: a home of its own in which nothing of the person's is, a scripted model, and a
//! project with cmux.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use cmux_testkit::home::{Ran, TestHome};
use cmux_testkit::model::{Model, Visit};
use cmux_testkit::person::Person;
use cmux_testkit::wait::eventually;
use cmux_wire::agent::{Agent, Phase};
use cmux_wire::message::{Message, MessageState};
use cmux_wire::why::Why;
use rustix::process::Pid;
use serde_json::Value;

use crate::PROGRAM;
use crate::post::Post;
use crate::story::rules;
use crate::world::World;

/// Where nobody listens, so that what is meant for another machine goes nowhere.
pub(crate) const NOWHERE: &str = "http://127.0.0.1:1";

/// After what time somebody presses a key again that did nothing.
pub(crate) const PRESS_AGAIN: Duration = Duration::from_secs(5);

/// For how long something is not to be seen until it is taken to be gone: while a screen is drawn anew, a look may
/// miss it.
const GONE_FOR: Duration = Duration::from_millis(500);

/// The only key that there is.
pub(crate) const KEY: &str = "dummy";

/// What the supervisor is called.
pub(crate) const SUPERVISOR: &str = "supervisor";

/// A real CLI and all that it needs.
pub(crate) struct Stage {
    pub(crate) post: Post,
    pub(crate) model: Model,
}

/// A CLI, and what it is given so that it speaks to the scripted model and to nobody else.
pub(crate) struct Cli {
    pub(crate) kind: &'static str,
    /// Furnishes the person's home, and returns the variables that it is started with.
    pub(crate) furnish: fn(&Furnishing<'_>) -> Vec<(&'static str, String)>,
}

/// What there is when a home is furnished.
pub(crate) struct Furnishing<'a> {
    /// `$HOME`.
    pub(crate) person: &'a Path,
    /// A folder for what is not kept.
    pub(crate) temporary: &'a Path,
    /// Where the model is.
    pub(crate) url: String,
}

impl Stage {
    /// Sets the stage, with a daemon that can be killed.
    #[track_caller]
    pub(crate) fn set(cli: &Cli) -> Stage {
        let model = Model::new();
        let world = World::furnished(|home| furnish(home, cli, &model));
        Stage { post: Post::of(world), model }
    }

    /// Sets the stage as a machine is on which cmux was never started, and brings it up as a person does.
    #[track_caller]
    pub(crate) fn brought_up(cli: &Cli, flags: &[&str]) -> Stage {
        let model = Model::new();
        let mut home = TestHome::new(PROGRAM);
        furnish(&mut home, cli, &model);
        let root = home.folder("project");
        let mut stage = Stage {
            post: Post::of(World { home, daemon: None, project: String::new(), root }),
            model,
        };
        let up = stage.told(&[&["up", "--kind", cli.kind], flags].concat());
        stage.post.world.project = up["projects"][0]["id"].as_str().unwrap().to_owned();
        stage
    }

    /// Launches the supervisor as a person does who trusts the project, and waits until it is at its
    /// prompt.
    #[track_caller]
    pub(crate) fn supervisor(&self, cli: &Cli) -> Agent {
        self.told(&["up", "--kind", cli.kind, "--trust"]);
        self.in_phase(SUPERVISOR, Phase::Idle)
    }

    fn world(&self) -> &World {
        &self.post.world
    }

    /// Runs the program in the project's folder.
    pub(crate) fn here(&self, arguments: &[&str]) -> Ran {
        let mut command = self.world().home.command(arguments);
        command.current_dir(&self.world().root);
        command.output().unwrap().into()
    }

    /// Runs the program in the project's folder, sees that it did well, and returns what it told.
    #[track_caller]
    pub(crate) fn told(&self, arguments: &[&str]) -> Value {
        let ran = self.here(&[arguments, &["--json"]].concat());
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// Waits until `cmux agent why` explains an agent's phase by what one of these witnesses says. Who was
    /// first to see it may be another.
    #[track_caller]
    pub(crate) fn explained(&self, name: &str, phase: Phase, witnesses: &[&str]) {
        self.seen(name, || {
            eventually(&format!("{phase:?} by {witnesses:?}"), || {
                let why: Why = serde_json::from_value(self.told(&["agent", "why", name])).unwrap();
                let decided = why.decided.filter(|_| why.phase == phase)?;
                witnesses.contains(&decided.witness.as_str()).then_some(())
            });
        });
    }

    /// Waits until an agent is in this phase, and tells which rules do not know what it shows if it never is.
    #[track_caller]
    pub(crate) fn in_phase(&self, name: &str, phase: Phase) -> Agent {
        self.seen(name, || {
            let waited = catch_unwind(AssertUnwindSafe(|| self.world().in_phase(name, phase)));
            waited.unwrap_or_else(|why| {
                let why = why.downcast_ref::<String>().map_or("", String::as_str);
                panic!("{}{why}", rules::missed(self, name, phase))
            })
        })
    }

    /// Waits until an agent is at its prompt in another run than `before`.
    #[track_caller]
    pub(crate) fn back(&self, before: &Agent) -> Agent {
        self.seen(&before.name, || self.world().back(before))
    }

    /// Waits until a message is delivered.
    #[track_caller]
    pub(crate) fn delivered(&self, message: &Message) -> Message {
        self.seen(&message.to, || self.post.wait(message, MessageState::Delivered))
    }

    /// Sends the supervisor a message, and waits until it is delivered.
    #[track_caller]
    pub(crate) fn tell(&self, body: &str) -> Message {
        self.delivered(&self.post.send(SUPERVISOR, body))
    }

    /// Waits until something is found.
    #[track_caller]
    pub(crate) fn eventually<T>(&self, what: &str, look: impl FnMut() -> Option<T>) -> T {
        self.seen(SUPERVISOR, || eventually(what, look))
    }

    /// Returns the prompts that reached the model in an agent's session, the oldest first.
    pub(crate) fn prompts(&self, agent: &Agent) -> Vec<String> {
        let session = agent.session_id.as_deref().unwrap();
        let conversation = self.model.conversation(session);
        let prompts = conversation.iter().flat_map(|asked| asked.prompts());
        prompts.map(str::to_owned).collect()
    }

    /// Returns what an agent's terminal shows.
    pub(crate) fn screen(&self, name: &str) -> String {
        self.here(&["agent", "output", name]).stdout
    }

    /// Answers a dialog that shows `words` with a key, as a person does.
    #[track_caller]
    pub(crate) fn answer(&self, agent: &Agent, words: &str, key: &str) {
        let pane = agent.pane.as_deref().unwrap();
        let shows = || self.screen(&agent.name).contains(words);
        self.eventually(words, || shows().then_some(()));
        let press = || drop(self.world().at_tmux(&["send-keys", "-t", pane, key]));
        self.press_until_gone("the dialog is answered", shows, press);
    }

    /// Has a person write something at an agent's prompt and submit it.
    #[track_caller]
    pub(crate) fn say_as(&self, person: &Person, agent: &Agent, text: &str) {
        person.types(text);
        self.eventually(text, || self.screen(&agent.name).contains(text).then_some(()));
        self.submit_as(person, agent, text);
    }

    /// Has a person submit what an agent's prompt shows.
    #[track_caller]
    pub(crate) fn submit_as(&self, person: &Person, agent: &Agent, text: &str) {
        let holds = || rules::composer(self, agent).is_some_and(|it| it.contains(text));
        self.press_until_gone("it is submitted", holds, || person.presses("Enter"));
    }

    /// Presses a key because of something that is to be seen, until it is not any more. What is drawn does not yet
    /// take keys, so that it may have to be pressed again.
    #[track_caller]
    pub(crate) fn press_until_gone(
        &self,
        what: &str,
        is_there: impl Fn() -> bool,
        press: impl Fn(),
    ) {
        press();
        let (mut pressed, mut gone) = (Instant::now(), None);
        self.eventually(what, || {
            if !is_there() {
                let since = *gone.get_or_insert_with(Instant::now);
                return (since.elapsed() > GONE_FOR).then_some(());
            }
            gone = None;
            if pressed.elapsed() > PRESS_AGAIN {
                press();
                pressed = Instant::now();
            }
            None
        });
    }

    /// Does something that may fail, and shows the agent's screen and what its model was asked if it does.
    #[track_caller]
    fn seen<T>(&self, name: &str, does: impl FnOnce() -> T) -> T {
        catch_unwind(AssertUnwindSafe(does)).unwrap_or_else(|why| {
            let asked: String = self.model.look(|visits| visits.iter().map(line).collect());
            let why = why.downcast_ref::<String>().map_or("", String::as_str);
            let (screen, strays) = (self.screen(name), self.model.strays());
            let phase = self.here(&["agent", "why", name]).stdout;
            panic!(
                "{why}\n{}\n--- why it is so\n{phase}\n--- the model was asked\n{asked}{strays:?}\n\
                 --- the screen of {name}\n{screen}",
                self.world().home.log()
            )
        })
    }
}

impl Drop for Stage {
    /// Sees at the end of a test that has passed that nobody had another key than the one there is, and that
    /// nothing is left of whatever was launched once it is ended as a person ends it.
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        let keys: Vec<Option<String>> =
            self.model.look(|visits| visits.iter().map(|it| it.key.clone()).collect());
        assert!(keys.iter().all(|key| key.as_deref() == Some(KEY)), "{keys:?}");
        assert!(self.model.keys().iter().all(|key| key == KEY), "{:?}", self.model.asides());
        let down = self.here(&["down", "--all"]);
        assert_eq!(down.code, Some(0), "{down:?}");
        let home = &self.world().home;
        let ended = catch_unwind(AssertUnwindSafe(|| {
            eventually("nothing is left", || home.processes().is_empty().then_some(()));
        }));
        let left: Vec<String> = home.processes().into_iter().map(command_line).collect();
        assert!(ended.is_ok(), "it is left behind: {left:#?}\n{}", home.log());
    }
}

/// Returns a process as it was called.
fn command_line(pid: Pid) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    format!("{pid} {}", String::from_utf8_lossy(&words).replace('\0', " "))
}

/// Returns a request in a line.
fn line(visit: &Visit) -> String {
    let prompt = visit.asked.prompt().map(|(_, text)| text.chars().take(200).collect::<String>());
    format!("{:?}, turn {} of {prompt:?}\n", visit.outcome, visit.asked.turn())
}

/// Furnishes a home for a CLI.
fn furnish(home: &mut TestHome, cli: &Cli, model: &Model) {
    let program = program(cli.kind);
    let (person, temporary) = (home.folder("person"), home.folder("tmp"));
    home.set("HOME", &person);
    home.set("TMPDIR", &temporary);
    home.empty_environment();
    let root = home.folder("project");
    let mut git = Command::new("git");
    home.equip(&mut git);
    assert!(git.args(["init", "--quiet"]).arg(&root).status().unwrap().success());
    let there = Furnishing { person: &person, temporary: &temporary, url: model.url() };
    let mut variables = (cli.furnish)(&there);
    for proxy in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        variables.push((proxy, NOWHERE.to_owned()));
    }
    for direct in ["no_proxy", "NO_PROXY"] {
        variables.push((direct, "127.0.0.1,localhost".to_owned()));
    }
    let variables: String =
        variables.iter().map(|(name, value)| format!("{name} = {value:?}\n")).collect();
    let kind = cli.kind;
    let config =
        format!("[kinds.{kind}]\ncommand = [{program:?}]\n\n[kinds.{kind}.env]\n{variables}");
    fs::write(home.root().join("config.toml"), config).unwrap();
}

/// Returns the program of a kind.
#[track_caller]
pub(crate) fn program(kind: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let program = root.join(".agents/bin").join(kind);
    assert!(program.exists(), "{} is not there: run scripts/agents {kind}", program.display());
    program
}
