//! A pane that writes far more than anybody reads.

use std::fs;
use std::time::{Duration, Instant};

use cmux_drivers::tmux::control::Control;
use cmux_drivers::tmux::pane::Life;

use crate::world::World;

/// How many answers are waited for to tell how long one takes.
const LOOKS: usize = 50;

/// An answer may take so many times as long as one of an idle server, half the time. To wait for all
/// that is written would take far longer.
const TIMES: u32 = 200;

/// The most that a server may grow by, in KiB: far less than is written.
const GROWTH_MAX: u64 = 60 << 10;

#[test]
fn a_pane_that_writes_without_end_holds_up_no_answer() {
    let world = World::new();
    let control = world.control();
    let (idle, _) = world.agent(&control, "exec cat");
    let baseline = median(&world, &control);
    let server = control.generation().pid;
    let (before, own_before) = (memory(server), memory(std::process::id()));
    let script =
        "yes 'a line that is as long as lines of programs are' | head -c 100000000; exit 9";
    let (flood, _) = world.agent(&control, script);
    let mut flooded = Vec::new();
    while world.pane(&control, flood.pane).life == Life::Running {
        let begun = Instant::now();
        world.survey(&control);
        flooded.push(begun.elapsed());
    }
    assert_eq!(world.see_end(&control, flood.pane), Life::Exited { code: 9 });
    flooded.sort();
    let (count, middle) = (flooded.len(), flooded[flooded.len() / 2]);
    assert!(middle < baseline * TIMES, "{middle:?} of {count}, idle {baseline:?}");
    let (after, own_after) = (memory(server), memory(std::process::id()));
    assert!(after < before + GROWTH_MAX, "the server: {before} KiB before, {after} KiB after");
    assert!(own_after < own_before + GROWTH_MAX, "{own_before} KiB before, {own_after} KiB after");
    assert_eq!(world.pane(&control, idle.pane).life, Life::Running);
}

/// Returns how long a survey takes, half the time.
fn median(world: &World, control: &Control) -> Duration {
    let mut times: Vec<Duration> = (0..LOOKS)
        .map(|_| {
            let begun = Instant::now();
            world.survey(control);
            begun.elapsed()
        })
        .collect();
    times.sort();
    times[LOOKS / 2]
}

/// Returns how much memory a process has, in KiB.
fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
