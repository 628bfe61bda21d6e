//! A hundred clients, one of them asleep.

use std::fs;
use std::sync::atomic::AtomicBool;
use std::thread;

use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;
use cmux_wire::client::EventQuery;
use cmux_wire::event::Notice;
use tokio::runtime::Runtime;

use crate::PROGRAM;
use crate::listener::{Listener, Record};
use crate::writer::{Bell, Writer};

const CLIENTS: usize = 100;
const WRITERS: usize = 16;

/// How much happens at least, and about how long each event is, in bytes.
const EVENTS: i64 = 20_000;
const LONG: usize = 300;

/// By how much the daemon's memory may grow.
const GROWTH_MAX_KB: u64 = 64 << 10;

#[test]
fn ninety_nine_hear_everything_while_one_sleeps_and_it_is_told_where_to_go_on() {
    let home = TestHome::new(PROGRAM);
    let daemon = home.daemon();
    let before = memory_kb(daemon.pid(), "VmRSS:");
    let runtime = Runtime::new().unwrap();
    let record = Record::default();
    let awake: Vec<_> = (1..CLIENTS)
        .map(|_| runtime.spawn(Listener::new(home.client(), &record, 0).follow()))
        .collect();
    let mut sleeper = Listener::new(home.client(), &record, 0);
    let mut asleep = runtime.block_on(sleeper.open()).unwrap();

    write_much(&home);
    // It was given up, which it will hear when it wakes.
    eventually("the sleeper is given up", || daemon.said().contains("too slow").then_some(()));
    for listener in awake {
        assert_eq!(runtime.block_on(listener).unwrap(), record.last());
    }
    assert!(record.last() >= EVENTS);
    record.check(&home);
    let after = memory_kb(daemon.pid(), "VmHWM:");
    assert!(after - before < GROWTH_MAX_KB, "it grew from {before} to {after} kB");

    let heard = runtime.block_on(sleeper.hear(&mut asleep, |_| false));
    assert_eq!(heard, Some(Notice::Lagged { resume: sleeper.cursor }));
    assert!(sleeper.cursor < record.last());
    assert_eq!(runtime.block_on(sleeper.follow()), record.last());
    assert!(daemon.stop().success());
}

/// Has as much happen as there is to hear, and at last the last.
fn write_much(home: &TestHome) {
    let enough = AtomicBool::new(false);
    thread::scope(|scope| {
        let _bell = Bell(&enough);
        for number in 0..WRITERS {
            let enough = &enough;
            scope.spawn(move || Writer::new(home).write(number, LONG, enough));
        }
        eventually("there is enough to hear", || {
            let newest = EventQuery { limit: Some(1), ..EventQuery::default() };
            let newest = home.ask(|client| async move { client.events(&newest).await });
            (newest.unwrap().head >= EVENTS).then_some(())
        });
    });
    Writer::new(home).end(home);
}

/// Returns how much memory the process `pid` holds, or has held.
fn memory_kb(pid: i32, what: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
