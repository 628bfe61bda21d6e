//! Killed for real: what was acknowledged is there, and there once, however often the daemon is killed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use cmux_testkit::daemon::Daemon;
use cmux_testkit::dice::Dice;
use cmux_testkit::home::TestHome;
use cmux_testkit::wait::{PATIENCE, eventually};
use cmux_wire::client::{Client, ClientError, EventQuery};
use cmux_wire::event::{Event, Notice};
use cmux_wire::project::{NewProject, Project, Projects};
use cmux_wire::stream::{Stream, Told};
use tokio::runtime::Runtime;
use tokio::time::timeout;

const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");

const KILLS: usize = 50;
const WRITERS: usize = 4;

/// A life lasts for fewer writes than this, and then for less than this.
const WRITES_END: u64 = 16;
const LONGER_END: Duration = Duration::from_millis(4);

/// How many homes have a first start that is cut short, and how many starts are before one is not.
const HOMES: usize = 20;
const CUTS_END: u64 = 4;

/// The project that is added when all others are there.
const LAST: &str = "last";

/// How many events are asked for at once. It does not divide anything.
const PAGE: u32 = 97;

#[test]
fn what_was_acknowledged_is_there_once_after_fifty_kills() {
    let home = TestHome::new(PROGRAM);
    let mut dice = Dice::seeded();
    let bells = Bells::default();
    thread::scope(|scope| {
        let _alarm = Alarm(&bells);
        let (acknowledge, heard) = channel();
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| {
                let (writer, sender) =
                    (Writer::new(&home, &bells, dice.split()), acknowledge.clone());
                scope.spawn(move || writer.write(number, &sender))
            })
            .collect();
        drop(acknowledge);
        let follower = scope.spawn(|| Follower::new(home.client(), &bells).follow());
        let (daemon, mut acknowledged) = kill_again_and_again(&home, &heard, &mut dice);
        bells.enough.store(true, Ordering::Relaxed);
        let cut_short: u32 = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
        assert!(cut_short > 0, "no kill came in the middle of anything");
        acknowledged.extend(heard);
        acknowledged.push(Writer::new(&home, &bells, dice).add(LAST));
        let followed = follower.join().unwrap();
        check_projects(&home, &acknowledged);
        let log = check_log(&home, &acknowledged);
        let started = log.iter().filter(|event| event.kind == "daemon.started").count();
        assert_eq!(started, KILLS + 1);
        assert!(log.starts_with(&followed), "the follower was told something else");
        check_store(&home, daemon);
    });
}

#[test]
fn a_store_whose_making_was_cut_short_is_made_at_the_next_start() {
    let mut dice = Dice::seeded();
    let patience = time_to_start();
    for _ in 0..HOMES {
        let home = TestHome::new(PROGRAM);
        fs::remove_dir(home.root()).unwrap();
        for _ in 0..1 + dice.below(CUTS_END) {
            cut_short(&home, patience, &mut dice);
        }
        let daemon = home.daemon();
        let project = Writer::new(&home, &Bells::default(), dice.split()).add(LAST);
        check_projects(&home, std::slice::from_ref(&project));
        check_log(&home, &[project]);
        check_store(&home, daemon);
    }
}

/// Kills the daemon in the middle of its writing, and starts it again. Returns the last one, and what was
/// acknowledged meanwhile.
fn kill_again_and_again(
    home: &TestHome,
    heard: &Receiver<Project>,
    dice: &mut Dice,
) -> (Daemon, Vec<Project>) {
    let mut acknowledged = Vec::new();
    let mut daemon = home.daemon();
    for _ in 0..KILLS {
        for _ in 0..dice.below(WRITES_END) {
            acknowledged.push(heard.recv_timeout(PATIENCE).unwrap());
        }
        thread::sleep(some_of(LONGER_END, dice));
        daemon.kill();
        daemon = home.daemon();
    }
    (daemon, acknowledged)
}

/// Starts a daemon, and kills it before or soon after it is ready.
fn cut_short(home: &TestHome, time_to_start: Duration, dice: &mut Dice) {
    let mut daemon = Daemon::launch(home, home.command(&["daemon", "run"]));
    // Most of a start goes by before there is a store, and most of its making after that.
    match dice.below(3) {
        0 => thread::sleep(some_of(time_to_start, dice)),
        1 => {
            spin_until(|| home.root().join("cmux.db").exists());
            thread::sleep(some_of(time_to_start / 10, dice));
        }
        _ => {
            spin_until(|| home.root().join("cmux.db-wal").exists());
            thread::sleep(some_of(time_to_start / 2, dice));
        }
    }
    assert_eq!(daemon.ended(), None, "it ended by itself: {}", daemon.said());
    daemon.kill();
}

/// Returns how long a start takes here and now, the making of a store included.
fn time_to_start() -> Duration {
    let home = TestHome::new(PROGRAM);
    let begun = Instant::now();
    home.daemon().kill();
    begun.elapsed()
}

/// Waits for something that does not last long enough to be looked for now and then.
fn spin_until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it never came to be");
        thread::yield_now();
    }
}

fn some_of(time: Duration, dice: &mut Dice) -> Duration {
    Duration::from_micros(dice.below(u64::try_from(time.as_micros()).unwrap()))
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// What all hear who take part.
#[derive(Default)]
struct Bells {
    /// Enough was written.
    enough: AtomicBool,
    /// Somebody failed, and nobody need go on.
    failed: AtomicBool,
}

/// Rings if whoever holds it fails.
struct Alarm<'a>(&'a Bells);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.failed.fetch_or(thread::panicking(), Ordering::Relaxed);
    }
}

impl Bells {
    /// Gives up if somebody else failed.
    fn require_peace(&self) {
        assert!(!self.failed.load(Ordering::Relaxed), "somebody else failed");
    }
}

/// Somebody who adds projects, and does not give up.
struct Writer<'a> {
    home: &'a TestHome,
    bells: &'a Bells,
    client: Client,
    runtime: Runtime,
    dice: Dice,
    /// How many requests were under way when the daemon was killed.
    cut_short: u32,
}

impl<'a> Writer<'a> {
    fn new(home: &'a TestHome, bells: &'a Bells, dice: Dice) -> Writer<'a> {
        Writer { home, bells, client: home.client(), runtime: runtime(), dice, cut_short: 0 }
    }

    /// Adds one project after the other until there are enough, and returns how many requests were cut
    /// short.
    fn write(mut self, number: usize, acknowledge: &Sender<Project>) -> u32 {
        let _alarm = Alarm(self.bells);
        for count in 0.. {
            if self.bells.enough.load(Ordering::Relaxed) {
                break;
            }
            let folder = format!("p-{number}-{count}");
            let project = self.add(&folder);
            if self.dice.below(4) == 0 {
                assert_eq!(self.add(&folder), project, "asking twice is asking once");
            }
            acknowledge.send(project).unwrap();
        }
        self.cut_short
    }

    /// Asks for a project until it is there.
    fn add(&mut self, folder: &str) -> Project {
        let root = self.home.folder(folder).to_str().unwrap().to_owned();
        let new = NewProject { root: root.clone(), name: None };
        let added = eventually("the project is added", || {
            self.bells.require_peace();
            match self.runtime.block_on(self.client.add_project(&new)) {
                Ok(project) => Some(project),
                Err(ClientError::NoDaemon) => None,
                Err(ClientError::Broken(_)) => {
                    self.cut_short += 1;
                    None
                }
                Err(
                    error @ (ClientError::Refused(_)
                    | ClientError::Unreachable(_)
                    | ClientError::TimedOut(_)
                    | ClientError::Nonsense(_)),
                ) => panic!("{root}: {error:?}"),
            }
        });
        assert_eq!(added.root, root);
        added
    }
}

/// Somebody who follows the log, and comes back for what is missing.
struct Follower<'a> {
    client: Client,
    bells: &'a Bells,
    log: Option<String>,
    events: Vec<Event>,
}

impl<'a> Follower<'a> {
    fn new(client: Client, bells: &'a Bells) -> Follower<'a> {
        Follower { client, bells, log: None, events: Vec::new() }
    }

    /// Returns all that was told, once the last project is among it.
    fn follow(mut self) -> Vec<Event> {
        let _alarm = Alarm(self.bells);
        let runtime = runtime();
        eventually("the last project is told of", || {
            self.bells.require_peace();
            runtime.block_on(self.come_back());
            (self.events.last()?.data["name"] == LAST).then_some(())
        });
        self.events
    }

    /// Listens once more, from where it was, if there is a daemon.
    async fn come_back(&mut self) {
        let log = self.log.clone();
        let wanted = EventQuery { since: Some(self.head()), log, ..EventQuery::default() };
        match self.client.follow(&wanted).await {
            Ok(stream) => self.listen(stream).await,
            Err(ClientError::NoDaemon | ClientError::Broken(_)) => {}
            Err(
                error @ (ClientError::Refused(_)
                | ClientError::Unreachable(_)
                | ClientError::TimedOut(_)
                | ClientError::Nonsense(_)),
            ) => panic!("{error:?}"),
        }
    }

    /// Listens until the last project is told of or the daemon is gone.
    async fn listen(&mut self, mut stream: Stream) {
        while let Ok(Some(told)) = timeout(PATIENCE, stream.next()).await.unwrap() {
            match told {
                Told::Event(event) => {
                    assert_eq!(event.id, self.head() + 1, "something is missing or told twice");
                    let is_last = event.data["name"] == LAST;
                    self.events.push(event);
                    if is_last {
                        return;
                    }
                }
                Told::Notice(Notice::Hello { log, head }) => {
                    assert!(head >= self.head(), "what was told is gone");
                    assert_eq!(*self.log.get_or_insert(log.clone()), log, "another log");
                }
                Told::Notice(
                    notice @ (Notice::Reset
                    | Notice::Archived { .. }
                    | Notice::Goodbye { .. }
                    | Notice::Vitals { .. }),
                ) => panic!("{notice:?}"),
                Told::Notice(Notice::Lagged { .. }) => return,
            }
        }
    }

    /// Returns the newest event that was told.
    fn head(&self) -> i64 {
        self.events.last().map_or(0, |event| event.id)
    }
}

/// Sees that there are these projects and no others.
fn check_projects(home: &TestHome, acknowledged: &[Project]) {
    let listed: Projects = serde_json::from_value(home.json(&["project", "list"])).unwrap();
    let (listed, acknowledged) = (by_id(&listed.projects), by_id(acknowledged));
    let lost = acknowledged.iter().filter(|(id, project)| listed.get(*id) != Some(project));
    let lost: Vec<_> = lost.collect();
    assert!(lost.is_empty(), "lost, or not as they were acknowledged: {lost:?}");
    let extra: Vec<_> = listed.keys().filter(|id| !acknowledged.contains_key(*id)).collect();
    assert!(extra.is_empty(), "nobody was told of them: {extra:?}");
}

fn by_id(projects: &[Project]) -> BTreeMap<&str, &Project> {
    projects.iter().map(|project| (project.id.as_str(), project)).collect()
}

/// Sees that the log has no gap, tells of the adding of each project once, and of no mending. Returns it.
fn check_log(home: &TestHome, acknowledged: &[Project]) -> Vec<Event> {
    let mut log: Vec<Event> = Vec::new();
    let head = loop {
        let since = log.last().map_or(0, |event| event.id);
        let page = EventQuery { since: Some(since), limit: Some(PAGE), ..EventQuery::default() };
        let page = home.ask(|client| async move { client.events(&page).await }).unwrap();
        if page.events.is_empty() {
            break page.head;
        }
        log.extend(page.events);
    };
    assert!(log.iter().map(|event| event.id).eq(1..=head), "the log has a gap or a repeat");
    let mut added: Vec<&str> = log
        .iter()
        .filter(|event| event.kind == "project.added")
        .map(|event| event.project.as_deref().unwrap())
        .collect();
    added.sort_unstable();
    let expected: Vec<&str> = by_id(acknowledged).into_keys().collect();
    assert_eq!(added, expected, "each was to be added once");
    let mended: Vec<&Event> = log.iter().filter(|it| it.kind.starts_with("store.")).collect();
    assert!(mended.is_empty(), "{mended:?}");
    log
}

/// Sees that the store is sound, with the daemon and after it.
fn check_store(home: &TestHome, daemon: Daemon) {
    for check in [["db", "check"], ["audit", "verify"]] {
        assert_eq!(home.json(&check)["ok"], true, "{check:?} with a daemon");
    }
    assert!(daemon.stop().success());
    for check in [["db", "check"], ["audit", "verify"]] {
        assert_eq!(home.json(&check)["ok"], true, "{check:?} without a daemon");
    }
}
