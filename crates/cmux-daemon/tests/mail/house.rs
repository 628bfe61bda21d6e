//! A kernel of its own, with a project and agents in it, and the time.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cmux_core::agent::{Agent, AgentName, Doing, Intent, Pid, Place, Setup, Sighting};
use cmux_core::delivery::{Delivery, Sighted};
use cmux_core::event::Actor;
use cmux_core::id::{AgentId, EventId, LogId, MessageId, NewIds, RunId};
use cmux_core::message::{Body, Message, MessageKind, NewMessage, Recipient, Sender, USER};
use cmux_core::plan::Action;
use cmux_core::project::ProjectId;
use cmux_core::report::{Answer, Ask, NewAgent, Refused, Report};
use cmux_core::settings::{Settings, StoreSettings};
use cmux_core::time::Timestamp;
use cmux_daemon::kernel::{Denied, Kernel};
use cmux_store::events::{self, Filter, Row};
use cmux_store::{Reader, Store, StoreError, View, agents, messages};
use tempfile::TempDir;
use ulid::Ulid;

pub(crate) const NOW: Timestamp = Timestamp(1_767_225_600_000);

/// A kernel and the folder of its store.
pub(crate) struct House {
    folder: TempDir,
    kernel: Option<Kernel>,
    reader: RefCell<Option<Reader>>,
    pub(crate) now: Timestamp,
    ids: Ids,
    /// The newest event before the test began.
    pub(crate) start: EventId,
    /// What was to be done about agents and their mail.
    pub(crate) actions: Vec<Action>,
}

impl House {
    pub(crate) fn new() -> House {
        // What is lost when the power goes is another story, so nobody waits for a disk.
        let memory = Path::new("/dev/shm");
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix("mail-");
        let folder = if memory.is_dir() { folder.tempdir_in(memory) } else { folder.tempdir() };
        let mut house = House {
            folder: folder.unwrap(),
            kernel: None,
            reader: RefCell::default(),
            now: NOW,
            ids: Ids(1_000_000),
            start: EventId(0),
            actions: Vec::new(),
        };
        house.rebirth();
        house.ask(Ask::AddProject { root: "/a".to_owned(), name: None }).unwrap();
        house.start = house.newest();
        house
    }

    /// Ends this life of the daemon, if there is one, and begins another.
    pub(crate) fn rebirth(&mut self) {
        self.kernel = None;
        let log = LogId::new(self.ids.ulid());
        let path = self.path();
        let store = Store::open(&path, self.folder.path(), log, self.now).unwrap().0;
        let started =
            Report::Started { version: "1".to_owned(), pid: 1, guarded: false, news: Vec::new() };
        // Copies of the store are another story.
        let snapshot_every = Duration::from_hours(24 * 3_650);
        let settings = StoreSettings { snapshot_every, ..Settings::default().store };
        self.kernel = Some(Kernel::new(store, settings, started));
        self.turn(&[]);
    }

    /// Turns once, keeps what is to be done, and returns what is answered.
    pub(crate) fn turn(&mut self, reports: &[Report]) -> Vec<Result<Answer, Denied>> {
        let kernel = self.kernel.as_mut().unwrap();
        let turn = kernel.turn(reports, self.now, &mut self.ids).unwrap();
        assert_eq!(turn.left, []);
        let of_projects = |it: &Action| matches!(it, Action::LookAtProject { .. });
        self.actions.extend(turn.actions.into_iter().filter(|it| !of_projects(it)));
        turn.answers
    }

    /// Lets time pass, and does what is due then.
    pub(crate) fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        self.turn(&[]);
    }

    pub(crate) fn tell(&mut self, report: Report) -> Answer {
        self.turn(&[report]).remove(0).unwrap()
    }

    pub(crate) fn ask_as(&mut self, actor: Actor, ask: Ask) -> Result<Answer, Denied> {
        self.turn(&[Report::Asked { actor, ask }]).remove(0)
    }

    pub(crate) fn ask(&mut self, ask: Ask) -> Result<Answer, Denied> {
        self.ask_as(Actor::Operator, ask)
    }

    #[track_caller]
    pub(crate) fn check_refused(&mut self, ask: Ask, expected: Refused) {
        assert_eq!(self.ask(ask), Err(Denied::Refused(expected)));
    }

    /// Sends a message, and returns it as it is stored.
    #[track_caller]
    pub(crate) fn send(&mut self, new: NewMessage) -> Message {
        self.message(Ask::SendMessage { new: Box::new(new) })
    }

    #[track_caller]
    pub(crate) fn message(&mut self, ask: Ask) -> Message {
        match self.ask(ask) {
            Ok(Answer::Message { message, .. }) => *message,
            other => panic!("{other:?}"),
        }
    }

    /// Has an agent made, and returns it in its first life, at its prompt.
    #[track_caller]
    pub(crate) fn agent(&mut self, new: NewAgent) -> (AgentId, RunId) {
        let (id, run) = self.launch(new);
        self.see(id, run, launched());
        self.see(id, run, at_prompt());
        self.actions.clear();
        (id, run)
    }

    #[track_caller]
    pub(crate) fn launch(&mut self, new: NewAgent) -> (AgentId, RunId) {
        self.actions.clear();
        self.ask(Ask::SpawnAgent { new }).unwrap();
        let [Action::LaunchAgent { agent, run }] = &self.actions[..] else {
            panic!("{:?}", self.actions)
        };
        (agent.id, *run)
    }

    pub(crate) fn see(&mut self, agent: AgentId, run: RunId, sighting: Sighting) {
        self.tell(Report::AgentSeen { agent, run, sighting });
    }

    /// Has the next delivery made, if there is one.
    pub(crate) fn take(&mut self, agent: AgentId, run: RunId) -> Option<Delivery> {
        let answer = self.tell(Report::MailWanted { agent, run, mark: 7 });
        let Answer::Delivery(made) = answer else { panic!("{answer:?}") };
        made.map(|it| *it)
    }

    /// Tells what was seen of a delivery, and returns it as it is then.
    pub(crate) fn sight(&mut self, delivery: &Delivery, seen: Sighted) -> Option<Delivery> {
        let (delivery, attempt) = (delivery.id, delivery.attempt);
        let answer = self.tell(Report::DeliverySeen { delivery, attempt, seen });
        let Answer::Delivery(after) = answer else { panic!("{answer:?}") };
        after.map(|it| *it)
    }

    /// Ends a life of an agent, until nothing is left of it.
    pub(crate) fn end(&mut self, agent: AgentId, run: RunId) {
        self.see(agent, run, ended());
        self.see(agent, run, Sighting::Cleared);
    }

    /// Ends an agent for good, and forgets it.
    pub(crate) fn forget(&mut self, id: AgentId, run: RunId) {
        self.ask(Ask::WantAgent { id, intent: Intent::Stop }).unwrap();
        self.end(id, run);
        assert_eq!(self.ask(Ask::RemoveAgent { id }), Ok(Answer::Heard));
    }

    pub(crate) fn stored(&self, id: MessageId) -> Message {
        self.read(|view| messages::find(view, id)).unwrap()
    }

    pub(crate) fn stored_agent(&self, id: AgentId) -> Agent {
        self.read(|view| agents::find(view, id)).unwrap()
    }

    /// Returns the person's mail, newest first.
    pub(crate) fn inbox(&self) -> Vec<Message> {
        let to_user = messages::Filter { to_user: true, ..messages::Filter::default() };
        self.read(|view| messages::page(view, &to_user, None, 99))
    }

    /// Returns what the log tells of messages since the test began: the number of each and its state.
    pub(crate) fn told(&self) -> Vec<String> {
        let rows = self.rows().into_iter();
        let of_mail = rows.filter(|row| row.kind.starts_with("message."));
        of_mail.map(|row| row.kind.trim_start_matches("message.").to_owned()).collect()
    }

    pub(crate) fn rows(&self) -> Vec<Row> {
        let any = Filter::default();
        let rows = self.read(|view| events::after(view, self.start, 1000, &any));
        assert!(rows.iter().all(|row| !row.data.contains("hush")), "a body was told");
        rows
    }

    pub(crate) fn newest(&self) -> EventId {
        self.kernel.as_ref().unwrap().head().0
    }

    pub(crate) fn read<T>(&self, work: impl FnOnce(View<'_>) -> Result<T, StoreError>) -> T {
        let mut reader = self.reader.borrow_mut();
        let reader = reader.get_or_insert_with(|| Reader::open(&self.path()).unwrap());
        reader.read(work).unwrap()
    }

    /// Does `work` to the store while no daemon runs.
    pub(crate) fn tamper(&mut self, work: impl FnOnce(&mut Store)) {
        self.kernel = None;
        let log = LogId::new(self.ids.ulid());
        let mut store = Store::open(&self.path(), self.folder.path(), log, self.now).unwrap().0;
        work(&mut store);
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

pub(crate) fn new_agent(name: &str) -> NewAgent {
    let (args, env) = (Vec::new(), Vec::new());
    NewAgent {
        project: ProjectId::of("/a"),
        name: AgentName::new(name).unwrap(),
        role: "worker".to_owned(),
        kind: "demo".to_owned(),
        parent: None,
        setup: Setup { cwd: "/a".to_owned(), task: None, args, env, permanent: true },
    }
}

/// Returns a message of the person's to an agent.
pub(crate) fn new(to: AgentId, text: &str) -> NewMessage {
    NewMessage {
        project: ProjectId::of("/a"),
        from: Sender { actor: Actor::Operator, name: USER.to_owned() },
        to: Recipient::Agent { id: to, name: "as it was called".to_owned() },
        kind: MessageKind::Task,
        body: Body::new(text.to_owned()),
        reply_to: None,
        interrupt: false,
        key: None,
        ttl: None,
    }
}

pub(crate) fn by(agent: AgentId, name: &str) -> Sender {
    Sender { actor: Actor::Agent(agent), name: name.to_owned() }
}

pub(crate) fn launched() -> Sighting {
    let place = Place { server: "/tmux/a".to_owned(), pane: "%1".to_owned() };
    Sighting::Launched { place, process: Pid { pid: 7, start: 1 } }
}

pub(crate) fn at_prompt() -> Sighting {
    Sighting::Doing { doing: Doing::AtPrompt, rank: 0 }
}

pub(crate) fn ended() -> Sighting {
    Sighting::Ended { how: "exit 1".to_owned() }
}
