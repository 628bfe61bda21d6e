//! Agents, asked of the kernel: each is made once, seen as far as it is news, and forgotten when nothing of
//! it is left.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::time::Duration;

use cmux_core::agent::{
    Agent, AgentName, BadSetup, Doing, Intent, LifeState, Pid, Place, Setup, Sighting, Tagged,
};
use cmux_core::digest::Digest;
use cmux_core::event::Actor;
use cmux_core::id::{AgentId, EventId, LogId, NewIds, RunId};
use cmux_core::phase::Phase;
use cmux_core::plan::Action;
use cmux_core::plan::agents::{START_WITHIN, TOLD_WITHIN};
use cmux_core::project::ProjectId;
use cmux_core::report::{Answer, Ask, NewAgent, Refused, Report};
use cmux_core::run::RunToken;
use cmux_core::settings::{Settings, StoreSettings};
use cmux_core::time::Timestamp;
use cmux_daemon::kernel::{Denied, Kernel};
use cmux_store::events::{self, Filter, Row};
use cmux_store::{Reader, Store, StoreError, View, agents, runs, wake};
use tempfile::TempDir;
use ulid::Ulid;

const NOW: Timestamp = Timestamp(1_767_225_600_000);

#[test]
fn asking_for_the_same_agent_twice_is_asking_once() {
    let mut house = House::new();
    let first = house.agent(spawn(new("worker")));
    assert_eq!((first.intent, &first.phase), (Intent::Run, &Phase::Offline));
    let again = house.ask(spawn(new("worker"))).unwrap();
    let Answer::Agent { agent, created: false } = again else { panic!("{again:?}") };
    assert_eq!(agent.id, first.id);
    // It is there in its first life by now.
    assert_eq!(agent.phase.name(), "starting");
    let taken = Denied::Refused(Refused::NameTaken(first.name));
    for other in [
        new("WORKER"),
        NewAgent { kind: "other".to_owned(), ..new("worker") },
        NewAgent { parent: Some(first.id), ..new("worker") },
    ] {
        assert_eq!(house.ask(spawn(other)), Err(taken.clone()));
    }
    assert_eq!(house.told(), ["agent.spawned by operator", "agent.phase by cmux"]);
    let said: Vec<Option<String>> = house.rows().into_iter().map(|row| row.agent).collect();
    assert_eq!(said, [Some(first.id.to_string()), Some(first.id.to_string())]);
}

#[test]
fn what_is_refused_stores_nothing() {
    let mut house = House::new();
    let (id, other) = (AgentId::new(Ulid::from(7_u128)), ProjectId::of("/other"));
    let elsewhere = NewAgent { project: other.clone(), ..new("a") };
    let relative = Setup { cwd: "a".to_owned(), ..new("a").setup };
    let relative = NewAgent { setup: relative, ..new("a") };
    let nameless = NewAgent { role: String::new(), ..new("a") };
    let word = BadSetup::Word { what: "role", said: String::new() };
    for (ask, expected) in [
        (spawn(elsewhere), Refused::NoProject(other)),
        (spawn(relative), BadSetup::Folder("a".to_owned()).into()),
        (spawn(nameless), word.into()),
        (Ask::WantAgent { id, intent: Intent::Stop }, Refused::NoAgent(id)),
        (Ask::RestartAgent { id }, Refused::NoAgent(id)),
        (Ask::RemoveAgent { id }, Refused::NoAgent(id)),
    ] {
        assert_eq!(house.ask(ask.clone()), Err(Denied::Refused(expected)), "{ask:?}");
    }
    assert_eq!(house.told(), [""; 0]);
}

#[test]
fn a_life_is_launched_seen_and_told_until_nothing_is_left_of_it() {
    let mut house = House::new();
    let (id, run) = house.launch();
    house.see(id, run, launched());
    house.see(id, run, doing(Doing::AtPrompt));
    // What was known, or comes from another life, changes nothing.
    let other = RunId::new(Ulid::from(9_u128));
    house.see(id, run, doing(Doing::AtPrompt));
    house.see(id, other, ended());
    house.see(AgentId::new(Ulid::from(9_u128)), run, ended());
    assert_eq!(house.stored(id).phase, Phase::Idle);
    let actions = house.see(id, run, ended());
    assert!(matches!(actions[..], [Action::ClearRun { .. }]), "{actions:?}");
    let down = house.stored(id);
    assert!(matches!(down.phase, Phase::Down { .. }));
    house.see(id, run, Sighting::Cleared);
    assert_eq!(house.stored(id).life.unwrap().state, LifeState::Over);
    house.now = house.now + Duration::from_secs(2);
    let actions = house.turn(&[]).1;
    let [Action::LaunchAgent { run: next, .. }] = &actions[..] else { panic!("{actions:?}") };
    assert_ne!(*next, run);
    let of_run = |row: &Row| row.run == Some(run.to_string());
    let told: Vec<String> = house.rows().into_iter().filter(of_run).map(|row| row.data).collect();
    let expected = [
        r#"{"from":"offline","reason":null,"to":"starting","until":null}"#,
        r#"{"from":"starting","reason":null,"to":"idle","until":null}"#,
        r#"{"how":"exit 1"}"#,
        r#"{"from":"idle","reason":"exit 1","to":"down","until":"2026-01-01T00:00:01.002Z"}"#,
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_a_life_shows_is_good_while_it_lasts() {
    let mut house = House::new();
    let (id, run) = house.launch();
    let token =
        |secret: &[u8], run| RunToken::new(Digest::of(secret), run, id, ProjectId::of("/a"), NOW);
    let elsewhere = RunToken { project: ProjectId::of("/b"), ..token(b"3", run) };
    let other = token(b"2", RunId::new(Ulid::from(9_u128)));
    for token in [token(b"1", run), other, elsewhere] {
        house.turn(&[Report::RunNamed { token, session: None }]);
    }
    let is_good = |house: &House, secret: &[u8]| {
        let found = house.read(|view| runs::find(view, &Digest::of(secret)));
        found.map(|token| token.is_good())
    };
    assert_eq!(is_good(&house, b"1"), Some(true));
    assert_eq!((is_good(&house, b"2"), is_good(&house, b"3")), (None, None));
    // Nothing is heard of it, and it is given up.
    house.now = house.now + START_WITHIN + TOLD_WITHIN;
    house.turn(&[]);
    assert_eq!(is_good(&house, b"1"), Some(false));
    house.turn(&[Report::RunNamed { token: token(b"4", run), session: None }]);
    assert_eq!(is_good(&house, b"4"), None);
    let told = house.told();
    assert!(told.contains(&"agent.exited by cmux".to_owned()), "{told:?}");
}

#[test]
fn what_is_wanted_is_told_once_and_by_whom() {
    let mut house = House::new();
    let (id, run) = house.launch();
    house.see(id, run, launched());
    let before = house.rows().len();
    for _ in 0..2 {
        for intent in [Intent::Pause, Intent::Pause, Intent::Run] {
            house.agent(Ask::WantAgent { id, intent });
        }
    }
    let restarted = house.agent(Ask::RestartAgent { id });
    assert_eq!(restarted.life.unwrap().state.name(), "ending");
    house.agent(Ask::RestartAgent { id });
    let rows = house.rows();
    let told: Vec<(&str, &str)> =
        rows[before..].iter().map(|row| (row.actor.as_str(), row.data.as_str())).collect();
    let asked = |intent| ("operator", intent);
    let (pause, run_again) = (r#"{"intent":"pause"}"#, r#"{"intent":"run"}"#);
    let expected = [pause, run_again, pause, run_again, r#"{"intent":"restart"}"#].map(asked);
    assert_eq!(told, expected);
    let actions = house.see(id, run, ended());
    assert!(matches!(actions[..], [Action::ClearRun { .. }]), "{actions:?}");
    let actions = house.see(id, run, Sighting::Cleared);
    assert!(matches!(actions[..], [Action::LaunchAgent { .. }]), "{actions:?}");
}

#[test]
fn an_agent_that_failed_is_begun_again_by_whoever_asks() {
    for ask in [(|id| Ask::RestartAgent { id }) as fn(AgentId) -> Ask, |id| Ask::WantAgent {
        id,
        intent: Intent::Run,
    }] {
        let mut house = House::new();
        let (id, mut run) = house.launch();
        while house.stored(id).phase != Phase::Failed {
            house.see(id, run, Sighting::NotLaunched { why: "no room".to_owned() });
            let mut actions = house.see(id, run, Sighting::Cleared);
            house.now = house.now + Duration::from_secs(30);
            actions.extend(house.turn(&[]).1);
            if let Some(Action::LaunchAgent { run: next, .. }) = actions.first() {
                run = *next;
            }
        }
        assert_eq!(house.read(wake_of(id)), None, "it is left alone");
        let (answers, actions) = house.asked(ask(id));
        assert!(answers.is_ok());
        assert!(matches!(actions[..], [Action::LaunchAgent { .. }]), "{actions:?}");
        let last: Vec<String> = house.told().into_iter().rev().take(3).collect();
        let expected = ["agent.phase by cmux", "agent.phase by cmux", "agent.asked by operator"];
        assert_eq!(last, expected);
    }
}

#[test]
fn neither_an_agent_that_runs_nor_its_project_is_forgotten() {
    let mut house = House::new();
    let (id, run) = house.launch();
    let name = AgentName::new("worker").unwrap();
    let runs = Err(Denied::Refused(Refused::AgentRuns(name)));
    let project = ProjectId::of("/a");
    let has_agents = Refused::HasAgents { project: project.clone(), agents: 1 };
    let remove_project = Ask::RemoveProject { id: project };
    house.see(id, run, launched());
    house.agent(Ask::WantAgent { id, intent: Intent::Stop });
    for sighting in [None, Some(ended())] {
        if let Some(sighting) = sighting {
            house.see(id, run, sighting);
        }
        assert_eq!(house.ask(Ask::RemoveAgent { id }), runs);
        let refused = house.ask(remove_project.clone()).unwrap_err();
        assert!(refused.to_string().contains("`cmux agent rm`"), "{refused}");
        assert_eq!(refused, Denied::Refused(has_agents.clone()));
    }
    house.see(id, run, Sighting::Cleared);
    assert_eq!(house.stored(id).phase, Phase::Offline);
    assert_eq!(house.ask(remove_project.clone()), Err(Denied::Refused(has_agents)));
    let (answer, actions) = house.asked(Ask::RemoveAgent { id });
    assert_eq!(answer, Ok(Answer::Heard));
    assert!(matches!(actions[..], [Action::ForgetAgent { .. }]), "{actions:?}");
    assert_eq!(house.read(wake_of(id)), None);
    assert_eq!(house.ask(remove_project), Ok(Answer::Heard));
}

#[test]
fn a_daemon_that_begins_plans_for_every_agent() {
    let mut house = House::new();
    let (id, run) = house.launch();
    house.see(id, run, launched());
    house.agent(Ask::WantAgent { id, intent: Intent::Stop });
    let house = house.reborn(|store| {
        // What was due is forgotten, as in a store that was mended.
        store.turn(|tx| wake::set(tx, &cmux_core::plan::Subject::Agent(id), None)).unwrap();
    });
    assert!(house.read(wake_of(id)).is_some());
}

#[test]
fn a_pane_is_adopted_once_never_launched_and_forgotten_while_it_lives() {
    let mut house = House::new();
    let agent = AgentId::new(Ulid::from(7_u128));
    let run = RunId::new(Ulid::from(8_u128));
    let place = Place { server: "/tmp/tmux-1/default".to_owned(), pane: "%3".to_owned() };
    let tagged = Tagged { agent, run, place, process: Pid { pid: 7, start: 1 } };
    let adopt = |name: &str| Ask::AdoptAgent { new: new(name), tagged: tagged.clone() };
    let adopted = house.agent(adopt("mine"));
    assert!((adopted.id, adopted.adopted) == (agent, true), "{adopted:?}");
    let again = house.ask(adopt("mine")).unwrap();
    assert!(matches!(again, Answer::Agent { created: false, .. }), "{again:?}");
    let taken = Refused::PaneTaken { pane: "%3".to_owned(), agent };
    assert_eq!(house.ask(adopt("other")), Err(Denied::Refused(taken)));
    let name = Refused::NameTaken(AgentName::new("mine").unwrap());
    assert_eq!(house.ask(spawn(new("mine"))), Err(Denied::Refused(name)));
    let never = Err(Denied::Refused(Refused::Adopted(AgentName::new("mine").unwrap())));
    assert_eq!(house.ask(Ask::RestartAgent { id: agent }), never);
    house.agent(Ask::WantAgent { id: agent, intent: Intent::Pause });
    house.agent(Ask::WantAgent { id: agent, intent: Intent::Run });
    let actions = house.see(agent, run, ended());
    assert!(matches!(actions[..], [Action::ClearRun { .. }]), "{actions:?}");
    assert!(house.see(agent, run, Sighting::Cleared).is_empty());
    assert_eq!(house.ask(Ask::WantAgent { id: agent, intent: Intent::Run }), never);
    // It is forgotten, and adopted anew under the same name.
    for _ in 0..2 {
        assert_eq!(house.ask(Ask::RemoveAgent { id: agent }), Ok(Answer::Heard));
        house.agent(adopt("mine"));
    }
}

fn wake_of(id: AgentId) -> impl FnOnce(View<'_>) -> Result<Option<()>, StoreError> {
    move |view| {
        let due = wake::due(view, Timestamp(i64::MAX), 100)?;
        Ok(due.contains(&cmux_core::plan::Subject::Agent(id)).then_some(()))
    }
}

fn spawn(new: NewAgent) -> Ask {
    Ask::SpawnAgent { new }
}

fn new(name: &str) -> NewAgent {
    let (args, env) = (Vec::new(), vec![("KEY".to_owned(), "hush".to_owned())]);
    NewAgent {
        project: ProjectId::of("/a"),
        name: AgentName::new(name).unwrap(),
        role: "worker".to_owned(),
        kind: "demo".to_owned(),
        parent: None,
        setup: Setup { cwd: "/a".to_owned(), task: None, args, env, permanent: false },
    }
}

fn launched() -> Sighting {
    let place = Place { server: "/tmux/a".to_owned(), pane: "%1".to_owned() };
    Sighting::Launched { place, process: Pid { pid: 7, start: 1 } }
}

fn doing(doing: Doing) -> Sighting {
    Sighting::Doing { doing, rank: 0 }
}

fn ended() -> Sighting {
    Sighting::Ended { how: "exit 1".to_owned() }
}

/// A kernel of its own with a project in it, and the time.
struct House {
    folder: TempDir,
    kernel: Kernel,
    now: Timestamp,
    ids: Ids,
    /// The newest event before the test began.
    start: EventId,
}

impl House {
    fn new() -> House {
        let folder = tempfile::tempdir().unwrap();
        let mut house = House::open(folder, NOW, Ids(1_000_000), |_| {});
        house.ask(Ask::AddProject { root: "/a".to_owned(), name: None }).unwrap();
        house.start = house.kernel.head().0;
        house
    }

    fn open(folder: TempDir, now: Timestamp, mut ids: Ids, work: impl FnOnce(&mut Store)) -> House {
        let log = LogId::new(ids.ulid());
        let path = folder.path().join("cmux.db");
        let mut store = Store::open(&path, folder.path(), log, now).unwrap().0;
        work(&mut store);
        let started =
            Report::Started { version: "1".to_owned(), pid: 1, guarded: false, news: Vec::new() };
        // Copies of the store are another story.
        let snapshot_every = Duration::from_hours(24 * 3_650);
        let settings = StoreSettings { snapshot_every, ..Settings::default().store };
        let mut kernel = Kernel::new(store, settings, started);
        kernel.turn(&[], now, &mut ids).unwrap();
        let start = kernel.head().0;
        House { folder, kernel, now, ids, start }
    }

    /// Ends this life, does `work` to the store, and begins another.
    fn reborn(self, work: impl FnOnce(&mut Store)) -> House {
        let House { folder, kernel, now, ids, .. } = self;
        drop(kernel);
        House::open(folder, now, ids, work)
    }

    /// Turns once, and returns what is answered and what is to be done for agents.
    fn turn(&mut self, reports: &[Report]) -> (Vec<Result<Answer, Denied>>, Vec<Action>) {
        let turn = self.kernel.turn(reports, self.now, &mut self.ids).unwrap();
        assert_eq!(turn.left, []);
        let is_for_agent = |action: &Action| match action {
            Action::InterruptAgent { .. }
            | Action::ForgetAgent { .. }
            | Action::LaunchAgent { .. }
            | Action::EndAgent { .. }
            | Action::ClearRun { .. } => true,
            Action::OfferMail { .. }
            | Action::Deliver { .. }
            | Action::SettleDelivery { .. }
            | Action::Recall { .. }
            | Action::LookAtProject { .. }
            | Action::TakeSnapshot { .. } => false,
        };
        (turn.answers, turn.actions.into_iter().filter(is_for_agent).collect())
    }

    fn asked(&mut self, ask: Ask) -> (Result<Answer, Denied>, Vec<Action>) {
        let (mut answers, actions) = self.turn(&[Report::Asked { actor: Actor::Operator, ask }]);
        (answers.remove(0), actions)
    }

    fn ask(&mut self, ask: Ask) -> Result<Answer, Denied> {
        self.asked(ask).0
    }

    #[track_caller]
    fn agent(&mut self, ask: Ask) -> Agent {
        match self.ask(ask) {
            Ok(Answer::Agent { agent, .. }) => *agent,
            other => panic!("{other:?}"),
        }
    }

    /// Has an agent made, and returns it and its first life.
    #[track_caller]
    fn launch(&mut self) -> (AgentId, RunId) {
        let (_, actions) = self.asked(spawn(new("worker")));
        let [Action::LaunchAgent { agent, run }] = &actions[..] else { panic!("{actions:?}") };
        assert_eq!(agent.life.as_ref().map(|life| life.run), Some(*run));
        (agent.id, *run)
    }

    /// Tells of something that was seen, and returns what is to be done about it.
    fn see(&mut self, agent: AgentId, run: RunId, sighting: Sighting) -> Vec<Action> {
        self.turn(&[Report::AgentSeen { agent, run, sighting }]).1
    }

    fn stored(&self, id: AgentId) -> Agent {
        self.read(|view| agents::find(view, id)).unwrap()
    }

    /// Returns what the log tells since the test began, and by whom.
    fn told(&self) -> Vec<String> {
        self.rows().iter().map(|row| format!("{} by {}", row.kind, row.actor)).collect()
    }

    fn rows(&self) -> Vec<Row> {
        let any = Filter::default();
        let rows = self.read(|view| events::after(view, self.start, 100, &any));
        assert!(rows.iter().all(|row| !row.data.contains("hush")), "a secret was told");
        rows
    }

    fn read<T>(&self, work: impl FnOnce(View<'_>) -> Result<T, StoreError>) -> T {
        Reader::open(&self.path()).unwrap().read(work).unwrap()
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("cmux.db")
    }
}

/// Names things by counting.
struct Ids(u128);

impl NewIds for Ids {
    fn ulid(&mut self) -> Ulid {
        self.0 += 1;
        Ulid::from(self.0)
    }
}
