//! Mail in a world where everything goes wrong that can: by the hundred thousand, from seeds that tell
//! what happens. `CMUX_SEED=n` tells one of them again, with all that happened; `CMUX_SCHEDULES=n` tries
//! so many.
//!
//! What the world takes for granted, because no rule can hold without it: a CLI takes what comes to its
//! terminal in order, and before it opens a dialog that comes later; whoever is about to open one leaves a
//! mark before it waits for the pane's lock; what is read is in the transcript before the agent has been at
//! its prompt for five seconds; what was passed by the hook begins within thirty; and a prompt whose hook was
//! killed, in a CLI that then goes on without it, may be read twice, or after it was taken back. What the CLI
//! itself puts back at its prompt may be overlooked until it is drawn: the hook then blocks what was merged.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod claims;
mod cli;
mod daemon;
mod dice;
mod kernel;
mod mistakes;
mod people;
mod rules;
mod signs;
mod tally;
mod tmux;
mod worker;
mod world;

use self::tally::Tally;
use self::world::World;

/// How many schedules are tried in all, if nobody says otherwise.
const SCHEDULES: u64 = 100_000;

/// In how many parts, so that they run side by side.
const PARTS: u64 = 4;

#[test]
fn mail_is_read_once_whatever_happens_1() {
    check(0);
}

#[test]
fn mail_is_read_once_whatever_happens_2() {
    check(1);
}

#[test]
fn mail_is_read_once_whatever_happens_3() {
    check(2);
}

#[test]
fn mail_is_read_once_whatever_happens_4() {
    check(3);
}

/// Checks the schedules of one part, or the one that is asked for.
#[track_caller]
fn check(part: u64) {
    if let Some(seed) = number("CMUX_SEED") {
        let told = World::new(seed, true).run();
        let (why, lines) = told.err().unwrap_or_else(|| ("all was well".to_owned(), Vec::new()));
        panic!("{}\nseed {seed}: {why}", lines.join("\n"));
    }
    let schedules = number("CMUX_SCHEDULES").unwrap_or(SCHEDULES);
    let mut tally = Tally::default();
    for seed in (0..schedules).filter(|seed| seed % PARTS == part) {
        match World::new(seed, false).run() {
            Ok(told) => tally.add(&told),
            Err((why, _)) => panic!("seed {seed}: {why}. CMUX_SEED={seed} tells what happened."),
        }
    }
    tally.check();
}

#[expect(clippy::disallowed_methods, reason = "whoever runs the test says how much of it")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
