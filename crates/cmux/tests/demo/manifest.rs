//! The scripted agent as a kind: started by its manifest, watched through its own files, and resumed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cmux_core::agent::Doing;
use cmux_core::id::DeliveryId;
use cmux_core::kind::{Channel, Witness};
use cmux_core::settings::KindSettings;
use cmux_core::time::Timestamp;
use cmux_core::witness::{Said, Statements, judge};
use cmux_drivers::channel::{Posted, Way, post};
use cmux_drivers::kinds::Kinds;
use cmux_drivers::manifest::{Manifest, Place, Start, Told};
use cmux_drivers::process::Process;
use cmux_drivers::status::{Reading, State, session_file};
use cmux_drivers::transcript::Found;
use cmux_testkit::wait::{PATIENCE, eventually};
use rustix::process::Signal;

use crate::PROGRAM;
use crate::pane::Pane;

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

#[test]
fn it_is_started_watched_killed_and_resumed_as_its_manifest_says() {
    let kind = Kind::new();
    assert_eq!(kind.transcript(), None);
    let told = Told { role: Some("be kind"), prompt: Some("-- hello"), trusted: false };
    let first = kind.start(Start::New, told);
    kind.pane.shows("● echo: -- hello");
    kind.see(first, &Doing::AtPrompt);
    assert_eq!(kind.pane.taken(), ["-- hello"]);
    let transcript = kind.transcript().unwrap();
    assert!(transcript.size > 0 && transcript.path.starts_with(kind.pane.path("kept")));

    // One that was killed leaves its file behind, which says nothing of anybody any more.
    first.signal(Signal::KILL).unwrap();
    eventually("its end", || (!first.is_alive()).then_some(()));
    assert!(kind.status_path(first).exists());
    assert_eq!(session_file(&kind.status_path(first), first), Reading::Absent);

    let second = kind.start(Start::Resume, Told::default());
    kind.pane.shows("● echo: -- hello");
    kind.see(second, &Doing::AtPrompt);
    kind.pane.type_in("again");
    kind.pane.submit();
    kind.pane.shows("● echo: again");
    assert_eq!(kind.pane.taken(), ["-- hello", "again"]);
    assert_eq!(kind.transcript().unwrap().path, transcript.path);
}

#[test]
fn what_it_says_of_itself_decides() {
    let script = r#"{"rules":[
        {"when":{"contains":"wait"},"steps":[{"think_ms":3600000}]},
        {"when":{"contains":"make"},"steps":[
            {"tool":{"name":"Bash","input":{"command":"true"},"ask":true}}]}]}"#;
    for (prompt, doing) in [
        ("wait", Doing::Working),
        ("make it", Doing::Asking { what: "permission".to_owned() }),
        ("hello", Doing::AtPrompt),
    ] {
        let kind = Kind::new();
        let script = kind.pane.write("script.json", script).display().to_string();
        let settings =
            KindSettings { args: vec!["--script".to_owned(), script], ..KindSettings::default() };
        let kind = Kind { settings, ..kind };
        let process =
            kind.start(Start::New, Told { role: None, prompt: Some(prompt), trusted: false });
        kind.pane.takes(1);
        let said = kind.see(process, &doing).doing;
        let mut heard = Statements::default();
        // A screen that says otherwise is a lesser witness.
        for (witness, doing) in [(Witness::Status, said), (Witness::Screen, Doing::Working)] {
            heard.hear(Said { witness, doing, rule: None, line: None, at: Timestamp(7) });
        }
        let decides = judge(&kind.manifest.witnesses, &heard, Timestamp(7)).unwrap();
        assert_eq!((decides.witness, &decides.doing), (Witness::Status, &doing));
    }
}

#[test]
fn its_door_is_open_if_the_user_wants_it_and_takes_a_message_once() {
    let settings = KindSettings { channel: Some(Channel::Api), ..KindSettings::default() };
    let kind = Kind { settings, ..Kind::new() };
    let first = kind.start(Start::New, Told::default());
    kind.pane.shows("╰──");
    let (id, text) = ("dlv_00000000000000000000000001".parse().unwrap(), "one\n\u{1b}[201~ two");
    assert_eq!(kind.post(id, text), Posted::Taken);
    assert_eq!(kind.post(id, text), Posted::Taken);
    assert_eq!(kind.pane.taken(), [text]);
    first.signal(Signal::KILL).unwrap();
    eventually("its end", || (!first.is_alive()).then_some(()));
    assert!(matches!(kind.post(id, text), Posted::Refused(_)));
    kind.start(Start::Resume, Told::default());
    kind.pane.shows("╰──");
    assert_eq!(kind.post(id, text), Posted::Taken);
    assert_eq!(kind.pane.taken(), [text]);
}

/// The demo kind, with a pane to be started in.
struct Kind {
    pane: Pane,
    manifest: Manifest,
    settings: KindSettings,
}

impl Kind {
    fn new() -> Kind {
        let kinds = Kinds::load(Path::new("/no/such/folder"), &BTreeMap::new());
        let manifest = kinds.get(&"demo".parse().unwrap()).unwrap().manifest.clone();
        let pane = Pane::new();
        pane.write("settings.json", "{}");
        Kind { pane, manifest, settings: KindSettings::default() }
    }

    /// Starts it, and returns its process.
    fn start(&self, start: Start, told: Told<'_>) -> Process {
        let known = |place| self.known(place, None);
        let started = self.manifest.start(start, &self.settings, told, known).unwrap();
        assert_eq!(started.unsaid, None);
        let words: Vec<&str> = started.argv.iter().map(String::as_str).collect();
        self.pane.run(&words, (80, 24));
        let pid = self.pane.tell("#{pane_pid}").parse().unwrap();
        Process::find(pid).unwrap()
    }

    /// Sends a message to its door.
    fn post(&self, id: DeliveryId, text: &str) -> Posted {
        let api = self.manifest.api.as_ref().unwrap();
        let way = Way::of(api, |place| self.known(place, None)).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(post(&way, None, id, text, PATIENCE)).unwrap()
    }

    fn known(&self, place: Place, pid: Option<u32>) -> Option<String> {
        let path = |name: &str| Some(self.pane.path(name).display().to_string());
        match place {
            Place::Program => Some(PROGRAM.to_owned()),
            Place::Session => Some(SESSION.to_owned()),
            Place::Settings => path("settings.json"),
            Place::State => path("kept"),
            Place::Name => Some("api".to_owned()),
            Place::Pid => pid.map(|pid| pid.to_string()),
            Place::Cmux
            | Place::SessionHead
            | Place::Cwd
            | Place::Root
            | Place::Prompt
            | Place::Role
            | Place::Run
            | Place::Home
            | Place::Secret
            | Place::Port => None,
        }
    }

    fn status_path(&self, process: Process) -> PathBuf {
        let at = &self.manifest.status.as_ref().unwrap().at;
        at.fill(|place| self.known(place, Some(process.pid))).unwrap().into()
    }

    fn reading(&self, process: Process) -> Reading {
        session_file(&self.status_path(process), process)
    }

    /// Waits until it says of itself that it does this, in the session that it was started with.
    #[track_caller]
    fn see(&self, process: Process, doing: &Doing) -> State {
        let state = eventually(&format!("{doing:?}"), || match self.reading(process) {
            Reading::Said(state) if state.doing == *doing => Some(state),
            Reading::Said(_) | Reading::Absent | Reading::Unknown => None,
        });
        assert_eq!(state.session.as_deref(), Some(SESSION));
        assert!(state.since.is_some());
        state
    }

    fn transcript(&self) -> Option<Found> {
        let transcript = self.manifest.transcript.as_ref().unwrap();
        transcript.find(|place| self.known(place, None)).unwrap()
    }
}
