//! Acknowledged appends a second, from one caller and from 64, beside raw SQLite with the same settings
//! that commits each row by itself. All of it on the same disk, in turns, in one run.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and fails by panicking"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use cmux_core::clock::Clock;
use cmux_core::event::{Event, What};
use cmux_core::id::{LogId, NewIds};
use cmux_core::report::Report;
use cmux_core::settings::Settings;
use cmux_core::time::Timestamp;
use cmux_daemon::inbox::{Inbox, Kit, start};
use cmux_daemon::kernel::Kernel;
use cmux_daemon::room::Disk;
use cmux_drivers::clock;
use cmux_drivers::home::Home;
use cmux_store::Store;
use rusqlite::{Connection, params};
use tempfile::TempDir;
use tokio::sync::mpsc;
use ulid::Ulid;

/// How often each side has its turn. The figures are the middle ones.
const ROUNDS: usize = 5;

/// How long each turn is.
const TURN: Duration = Duration::from_secs(2);

fn main() {
    // `cargo test` and `cargo clippy` run benches too, to see that they work.
    let turn =
        if std::env::args().any(|it| it == "--bench") { TURN } else { Duration::from_millis(50) };
    let (mut raw, mut one, mut many) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        raw.push(raw_sqlite(turn));
        one.push(kernel(1, turn));
        many.push(kernel(64, turn));
    }
    let (raw, one, many) = (middle(&raw), middle(&one), middle(&many));
    println!("acknowledged appends, each on the disk before its answer\n");
    println!("{:<34}{:>12}{:>14}{:>10}  goal", "", "a second", "median µs", "ratio");
    row("raw SQLite, one commit each", &raw, 1.0, "");
    row("cmux, 1 caller", &one, one.median_us / raw.median_us, "latency at most 1.3 times raw");
    row("cmux, 64 callers", &many, many.rate / raw.rate, "rate at least 20 times raw");
}

/// What one turn measured.
#[derive(Clone, Copy)]
struct Figures {
    rate: f64,
    median_us: f64,
}

fn row(name: &str, figures: &Figures, ratio: f64, goal: &str) {
    println!("{name:<34}{:>12.0}{:>14.0}{ratio:>9.2}×  {goal}", figures.rate, figures.median_us);
}

/// Returns the middle of the figures, each by itself.
fn middle(figures: &[Figures]) -> Figures {
    let pick = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Figures {
        rate: pick(figures.iter().map(|it| it.rate).collect()),
        median_us: pick(figures.iter().map(|it| it.median_us).collect()),
    }
}

fn figures(mut times: Vec<Duration>, turn: Duration) -> Figures {
    times.sort();
    let median_us = times[times.len() / 2].as_secs_f64() * 1e6;
    Figures { rate: times.len() as f64 / turn.as_secs_f64(), median_us }
}

/// Appends rows of the same shape to a table of the same shape, each in a commit of its own.
fn raw_sqlite(turn: Duration) -> Figures {
    let folder = folder();
    let path = folder.path().join("cmux.db");
    drop(open(&path));
    let mut db = Connection::open(&path).unwrap();
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
    for (name, value) in
        [("synchronous", "FULL"), ("foreign_keys", "ON"), ("trusted_schema", "OFF")]
    {
        db.pragma_update(None, name, value).unwrap();
    }
    let data = r#"{"root":"/some/where/else"}"#;
    let (begun, mut times, mut id) = (Instant::now(), Vec::new(), 0);
    while begun.elapsed() < turn {
        let at = Instant::now();
        id += 1;
        let tx = db.transaction().unwrap();
        tx.prepare_cached(
            "INSERT INTO events (id, v, at, kind, actor, data, prev, hash)
             VALUES (?1, 1, ?2, 'project.found', 'cmux', ?3, zeroblob(32), zeroblob(32))",
        )
        .unwrap()
        .execute(params![id, id, data])
        .unwrap();
        tx.commit().unwrap();
        times.push(at.elapsed());
    }
    figures(times, turn)
}

/// Appends through the kernel, from so many callers at once.
fn kernel(callers: usize, turn: Duration) -> Figures {
    let folder = folder();
    let home = Home::at(folder.path().to_owned());
    let begin =
        Report::Started { version: "0".to_owned(), pid: 0, guarded: false, news: Vec::new() };
    let kernel = Kernel::new(open(&home.database()), Settings::default().store, begin);
    let (hands, _actions) = mpsc::channel(1);
    let clock = Clock::start(None, clock::read());
    let disk = Disk::under(&home, 1 << 20);
    let kit = Kit { kernel, clock, hands, disk, database: home.database() };
    let (inbox, _signs, _end) = start(kit).unwrap();
    inbox.ask_blocking(Report::Ping).unwrap();
    let times = match callers {
        1 => call_alone(&inbox, turn),
        _ => call_together(&inbox, callers, turn),
    };
    inbox.end();
    figures(times, turn)
}

/// One caller, on a thread of its own as raw SQLite's is.
fn call_alone(inbox: &Inbox, turn: Duration) -> Vec<Duration> {
    let (begun, mut times) = (Instant::now(), Vec::new());
    while begun.elapsed() < turn {
        let at = Instant::now();
        inbox.ask_blocking(append()).unwrap();
        times.push(at.elapsed());
    }
    times
}

/// Many callers, as tasks on two threads, which is what they are in the daemon.
fn call_together(inbox: &Inbox, callers: usize, turn: Duration) -> Vec<Duration> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let caller = |inbox: Inbox| async move {
        let (begun, mut times) = (Instant::now(), Vec::new());
        while begun.elapsed() < turn {
            let at = Instant::now();
            inbox.ask(append()).await.unwrap();
            times.push(at.elapsed());
        }
        times
    };
    runtime.block_on(async {
        let all: Vec<_> = (0..callers).map(|_| tokio::spawn(caller(inbox.clone()))).collect();
        let mut times = Vec::new();
        for one in all {
            times.extend(one.await.unwrap());
        }
        times
    })
}

fn append() -> Report {
    let event = Event::own(What::ProjectFound { root: "/some/where/else".to_owned() });
    Report::Told { event }
}

fn open(path: &Path) -> Store {
    let log = LogId::new(One.ulid());
    Store::open(path, path, log, Timestamp(0)).unwrap().0
}

/// Returns a folder on the disk that the project is built on, not in memory.
fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

struct One;

impl NewIds for One {
    fn ulid(&mut self) -> Ulid {
        Ulid::from(1_u128)
    }
}
