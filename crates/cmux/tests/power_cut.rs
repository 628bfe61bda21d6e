//! The power goes: nobody was told of anything that is not on the disk.
//!
//! A daemon is watched while it works, and what it did is done again to a disk that forgets whatever was
//! not synced. Each time it told somebody something, and at many other moments, the power is cut; what
//! is found on the disk then must hold all that was told until then.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;

use cmux_testkit::daemon::Daemon;
use cmux_testkit::dice::Dice;
use cmux_testkit::home::TestHome;
use cmux_testkit::platter::{Fate, Platter};
use cmux_testkit::trace::{self, Change, Moment, Target};
use cmux_testkit::wait::eventually;
use cmux_wire::client::{Client, ClientError, EventQuery};
use cmux_wire::project::NewProject;
use cmux_wire::store::Audit;
use cmux_wire::stream::Told;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Deserializer, Value};

const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");

const DATABASE: &str = "cmux.db";
const AHEAD: &str = "cmux.db-wal";

/// How many write at once.
const WRITERS: usize = 4;

/// How much each of them writes: so much at least, so much more after the write-ahead log was moved into
/// the database and begun anew, and no more than so much. It is moved every thousand pages.
const WRITES_MIN: usize = 30;
const WRITES_AFTER: usize = 10;
const WRITES_MAX: usize = 200;

/// The project that is added when all others are there.
const LAST: &str = "last";

/// The projects that are added in the second life.
const LATER: [&str; 3] = ["later-1", "later-2", "later-3"];

/// At every how many of the moments a daemon is started on what is found.
const START_EVERY: usize = 25;

/// What a cut leaves of the store's files.
type Image = BTreeMap<String, Vec<u8>>;

#[test]
fn what_was_told_is_on_the_disk_and_needs_no_mending() {
    let work = Work::record();
    let mut dice = Dice::seeded();
    let mut looks = 0;
    work.replay(
        |_| true,
        |moment, disk, told| {
            let lost = disk.after_a_cut(&mut Fate::Lost);
            let torn = disk.after_a_cut(&mut Fate::Chance(&mut dice));
            let image = if matches!(moment, Moment::Telling(_)) { &lost } else { &torn };
            if told.is_empty() {
                work.start_on(&lost, told);
                work.start_on(&torn, told);
            } else {
                work.look(image, told).unwrap();
            }
            looks += 1;
            if looks % START_EVERY == 0 {
                work.start_on(image, told);
            }
        },
    );
    assert!(looks > WRITERS * WRITES_MIN, "{looks}");
}

#[test]
fn a_disk_that_lies_is_found_out() {
    let work = Work::record();
    let (database, ahead) = (Target::File(DATABASE.to_owned()), Target::File(AHEAD.to_owned()));
    assert_eq!(work.found_at_the_end(&ahead, usize::MAX), Ok(()));
    let unsynced = work.found_at_the_end(&ahead, 0);
    assert!(matches!(unsynced, Err(Loss::Short { .. })), "{unsynced:?}");
    for (target, honest) in [
        (&ahead, 20),
        (&database, 0),
        // It is synced once when it is made, and then each time the write-ahead log was moved into it.
        (&database, 1),
        (&Target::Home, 0),
        // It is synced once with the database's name in it, and then with the write-ahead log's.
        (&Target::Home, 1),
        (&Target::Above, 0),
    ] {
        let found = work.found_at_the_end(target, honest);
        assert!(found.is_err(), "{target:?} after {honest} syncs");
    }
}

/// What a daemon did, and what came of it.
struct Work {
    moments: Vec<Moment>,
    /// The event of each project that was added.
    added: BTreeMap<String, i64>,
    /// Where it was done. The projects' folders are there.
    _home: TestHome,
}

/// What is wrong with that which a cut has left.
#[derive(Debug, PartialEq, Eq)]
enum Loss {
    /// The log ends before an event that was told.
    Short {
        head: i64,
        told: i64,
    },
    Unreadable(String),
}

impl Work {
    /// Watches a daemon that makes its home and is kept busy until it is told to stop, and another that
    /// comes after it and is killed.
    fn record() -> Work {
        let home = TestHome::new(PROGRAM);
        fs::remove_dir(home.root()).unwrap();
        let (first, mut acknowledged) = watch(&home, Signal::TERM, || keep_busy(&home));
        require_all(&home, &first);
        let (second, (more, added)) = watch(&home, Signal::KILL, || {
            let more: Vec<String> = LATER.map(|folder| add(&home, folder)).into();
            (more, added(&home))
        });
        acknowledged.extend(more);
        let work = Work { moments: [first, second].concat(), added, _home: home };
        work.require_much(&acknowledged);
        work
    }

    /// Sees that the daemon was watched doing all that matters.
    fn require_much(&self, acknowledged: &BTreeSet<String>) {
        let mut seen = BTreeSet::new();
        self.replay(|_| true, |_, _, told| seen.clone_from(told));
        assert_eq!(*acknowledged, seen, "the trace does not show what clients were told");
        let begins = |moment: &&Moment| matches!(moment, Moment::Changed(Change::Write { file, at: 0, .. }) if file == AHEAD);
        let begun = self.moments.iter().filter(begins).count();
        assert!(begun >= 2, "the write-ahead log never began anew: write more");
    }

    /// Does again all that is true of what was done, and looks at the disk whenever somebody was about
    /// to be told something new, or something was about to be put on it.
    fn replay(
        &self,
        mut is_true: impl FnMut(&Moment) -> bool,
        mut look: impl FnMut(&Moment, &Platter, &BTreeSet<String>),
    ) {
        let mut disk = Platter::default();
        let mut told = BTreeSet::new();
        for moment in self.moments.iter().filter(|moment| is_true(moment)) {
            match moment {
                Moment::Telling(bytes) => {
                    let known = told.len();
                    told.extend(projects_in(bytes));
                    if told.len() > known {
                        look(moment, &disk, &told);
                    }
                }
                Moment::SyncBegun { .. } => look(moment, &disk, &told),
                Moment::Changed(_) | Moment::Synced { .. } => {}
            }
            disk.hear(moment);
        }
    }

    /// Looks at what is left in the end on a disk that syncs `target` only the first `honest` times, and
    /// says that it did each time.
    fn found_at_the_end(&self, target: &Target, honest: usize) -> Result<(), Loss> {
        let mut synced = 0;
        let is_true = |moment: &Moment| match moment {
            Moment::Synced { target: it, .. } if it == target => {
                synced += 1;
                synced <= honest
            }
            Moment::Changed(_)
            | Moment::SyncBegun { .. }
            | Moment::Synced { .. }
            | Moment::Telling(_) => true,
        };
        let mut end = None;
        self.replay(is_true, |_, disk, told| end = Some((disk.clone(), told.clone())));
        let (disk, told) = end.unwrap();
        self.look(&disk.after_a_cut(&mut Fate::Lost), &told)
    }

    /// Walks the log that is found, and sees that it goes as far as what was told.
    fn look(&self, image: &Image, told: &BTreeSet<String>) -> Result<(), Loss> {
        let ran = lay(image).run(&["audit", "verify", "--json"]);
        if ran.code != Some(0) {
            return Err(Loss::Unreadable(ran.stdout + &ran.stderr));
        }
        let audit: Audit = serde_json::from_str(&ran.stdout).unwrap();
        // What is not even in the log in the end is certainly not in this one.
        let place = |project| self.added.get(project).copied().unwrap_or(i64::MAX);
        let told = told.iter().map(place).max().unwrap_or(0);
        if audit.head >= told { Ok(()) } else { Err(Loss::Short { head: audit.head, told }) }
    }

    /// Starts a daemon on what is found, and sees that it knows what was told and mends nothing.
    fn start_on(&self, image: &Image, told: &BTreeSet<String>) {
        let home = lay(image);
        let daemon = home.daemon();
        let listed = home.json(&["project", "list"]);
        let projects = listed["projects"].as_array().unwrap().iter();
        let known: BTreeSet<&str> = projects.map(|it| it["id"].as_str().unwrap()).collect();
        let lost: Vec<&String> = told.iter().filter(|it| !known.contains(it.as_str())).collect();
        assert!(lost.is_empty(), "{lost:?} are lost");
        assert!(known.iter().all(|it| self.added.contains_key(*it)));
        let of_the_store =
            EventQuery { since: Some(0), kind: Some("store.".to_owned()), ..EventQuery::default() };
        let news = home.ask(|client| async move { client.events(&of_the_store).await }).unwrap();
        assert_eq!(news.events, [], "it was not simply opened");
        assert_eq!(home.json(&["db", "check"])["ok"], true);
        assert_eq!(home.json(&["audit", "verify"])["ok"], true);
        daemon.kill();
    }
}

/// Watches a daemon in `home` while `busy` keeps it so, and ends it. Returns what it did.
fn watch<T>(home: &TestHome, end: Signal, busy: impl FnOnce() -> T) -> (Vec<Moment>, T) {
    let file = home.folder("trace").join("trace");
    let mut daemon = Daemon::launch(home, trace::traced_daemon(home, &file));
    let pid = eventually("the daemon is ready", || {
        assert_eq!(daemon.ended(), None, "it ended: {}", daemon.said());
        let status = home.ask(|client| async move { client.daemon().await }).ok()?;
        status.pid.filter(|_| !status.starting)
    });
    let done = busy();
    // strace ends by itself when there is nothing left to watch.
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), end).unwrap();
    daemon.wait();
    (trace::read(&file, &home.root()), done)
}

/// Sees that nothing was missed: what the daemon did, done again, makes the very files that it left.
fn require_all(home: &TestHome, moments: &[Moment]) {
    let mut disk = Platter::default();
    moments.iter().for_each(|moment| disk.hear(moment));
    let names = fs::read_dir(home.root()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Image = names
        .filter(|name| name.starts_with(DATABASE) && !name.ends_with("-shm"))
        .map(|name| (name.clone(), fs::read(home.root().join(name)).unwrap()))
        .collect();
    assert!(disk.after_a_cut(&mut Fate::Spared) == left, "the trace does not show all");
}

/// Makes a home of what a cut has left.
fn lay(image: &Image) -> TestHome {
    let home = TestHome::new(PROGRAM);
    for (name, bytes) in image {
        fs::write(home.root().join(name), bytes).unwrap();
    }
    home
}

/// Adds projects from several sides at once while the log is followed, and returns those that the daemon
/// said it has.
fn keep_busy(home: &TestHome) -> BTreeSet<String> {
    let first = beginning(home);
    thread::scope(|scope| {
        let follower = scope.spawn(|| home.ask(follow).unwrap());
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || write(home, writer, first))).collect();
        let written = writers.into_iter().flat_map(|writer| writer.join().unwrap());
        let mut added: BTreeSet<String> = written.collect();
        added.insert(add(home, LAST));
        follower.join().unwrap();
        added
    })
}

/// Adds projects until the write-ahead log was begun anew, and some more.
fn write(home: &TestHome, writer: usize, first: [u8; 4]) -> Vec<String> {
    let mut added = Vec::new();
    let mut wanted = WRITES_MAX;
    while added.len() < wanted {
        added.push(add(home, &format!("p-{writer}-{}", added.len())));
        if wanted == WRITES_MAX && beginning(home) != first {
            wanted = WRITES_MIN.max(added.len() + WRITES_AFTER);
        }
    }
    added
}

/// Returns the number that the write-ahead log bears, which is another each time it is begun.
fn beginning(home: &TestHome) -> [u8; 4] {
    let header = fs::read(home.root().join(AHEAD)).unwrap();
    header[12..16].try_into().unwrap()
}

fn add(home: &TestHome, folder: &str) -> String {
    let root = home.folder(folder).to_str().unwrap().to_owned();
    let new = NewProject { root, name: None };
    home.ask(|client| async move { client.add_project(&new).await }).unwrap().id
}

/// Follows the log until the last project is there.
async fn follow(client: Client) -> Result<(), ClientError> {
    let all = EventQuery { since: Some(0), ..EventQuery::default() };
    let mut stream = client.follow(&all).await?;
    loop {
        match stream.next().await?.unwrap() {
            Told::Event(event) if event.data["name"] == LAST => return Ok(()),
            Told::Event(_) | Told::Notice(_) => {}
        }
    }
}

/// Returns the event of each project that was added.
fn added(home: &TestHome) -> BTreeMap<String, i64> {
    let all = EventQuery {
        since: Some(0),
        limit: Some(1000),
        kind: Some("project.added".to_owned()),
        ..EventQuery::default()
    };
    let found = home.ask(|client| async move { client.events(&all).await }).unwrap();
    found.events.into_iter().map(|event| (event.project.unwrap(), event.id)).collect()
}

/// Returns the projects that whoever is told this learns of: from an answer, or from the log.
fn projects_in(bytes: &[u8]) -> Vec<String> {
    let begins = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(br#"{"id":"#));
    let values = begins.filter_map(|at| Deserializer::from_slice(&bytes[at..]).into_iter().next());
    values
        .filter_map(Result::ok)
        .filter_map(|value: Value| match (value["root"].as_str(), value["kind"].as_str()) {
            (Some(_), _) => value["id"].as_str().map(ToOwned::to_owned),
            (None, Some("project.added")) => value["project"].as_str().map(ToOwned::to_owned),
            (None, _) => None,
        })
        .collect()
}
