//! The daemon's start, with an empty store and with a million events, its size and its memory.
//!
//! `CMUX_PROGRAM` names the release build that is measured.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and fails by panicking"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use cmux_core::event::{Event, What};
use cmux_core::id::LogId;
use cmux_core::time::Timestamp;
use cmux_store::Store;
use cmux_testkit::home::TestHome;
use ulid::Ulid;

/// How many events a long log has.
const EVENTS: i64 = 1_000_000;

/// How often each start is measured. The figures are the middle ones.
const ROUNDS: usize = 9;

fn main() {
    let Ok(program) = std::env::var("CMUX_PROGRAM") else {
        println!("CMUX_PROGRAM is not set: `make bench` sets it");
        return;
    };
    let (empty, full) = (TestHome::new(&program), TestHome::new(&program));
    println!("filling a store with {EVENTS} events…");
    fill(&full.root().join("cmux.db"), EVENTS);
    drop(empty.daemon());
    let (mut short, mut long) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        short.push(start(&empty));
        long.push(start(&full));
    }
    short.sort();
    long.sort();
    let (short, long) = (short[ROUNDS / 2], long[ROUNDS / 2]);
    println!("start to ready, empty store       {:>8.1} ms", ms(short));
    println!(
        "start to ready, {EVENTS} events {:>8.1} ms  {:.2}×  goal: under 2×",
        ms(long),
        long.as_secs_f64() / short.as_secs_f64()
    );
    println!("release binary                    {:>8.1} MB", megabytes(Path::new(&program)));
    let daemon = empty.daemon();
    let resident = resident_kb(daemon.pid()) as f64 / 1024.0;
    println!("resident memory, idle             {resident:>8.1} MB          goal: under 25 MB");
}

/// Returns how long a daemon takes from being started to answering that it is ready.
fn start(home: &TestHome) -> Duration {
    let begun = Instant::now();
    let daemon = home.daemon();
    let took = begun.elapsed();
    assert!(daemon.stop().success());
    took
}

fn fill(path: &Path, events: i64) {
    let log = LogId::new(Ulid::from(1_u128));
    let (mut store, _) = Store::open(path, path, log, Timestamp(0)).unwrap();
    for _ in 0..events / 10_000 {
        let turn = store.turn(|tx| {
            for n in 0..10_000 {
                let root = format!("/some/where/{n}");
                tx.append(&Event::own(What::ProjectFound { root }), Timestamp(n))?;
            }
            Ok(())
        });
        turn.unwrap();
    }
    store.checkpoint().unwrap();
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

fn megabytes(file: &Path) -> f64 {
    file.metadata().unwrap().len() as f64 / 1e6
}

/// Returns how much memory the process `pid` holds.
fn resident_kb(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
