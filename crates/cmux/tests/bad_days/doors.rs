//! Ports that are taken, and daemons that are started twice.

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;

use cmux_testkit::daemon::Daemon;
use cmux_testkit::home::{Ran, TestHome};
use cmux_testkit::wait::eventually;
use serde_json::Value;

use crate::PROGRAM;
use crate::caller::{Caller, assert_nothing_runs_in, names, processes_in, run_out};

#[test]
fn a_taken_port_is_told_with_its_holder_and_a_way_out() {
    let home = TestHome::new(PROGRAM);
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let run = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.env("CMUX_PORT", &port);
        run_out(Daemon::launch(&home, command))
    };
    let (pid, comm) = (std::process::id(), std::fs::read_to_string("/proc/self/comm").unwrap());
    let holder = format!("port {port} on 127.0.0.1 is taken by {} (process {pid})", comm.trim());
    for (arguments, code) in [(["daemon", "run"], 75), (["daemon", "start"], 1)] {
        let ran = run(&arguments);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        for part in [&holder, "CMUX_PORT=", "`port = …` in", "config.toml"] {
            assert!(ran.stderr.contains(part), "{part}: {ran:?}");
        }
        assert_nothing_runs_in(&home.root());
        assert!(!names(&home.root()).contains(&"cmux.sock".to_owned()));
    }
    drop(listener);
    assert_eq!(run(&["daemon", "start"]).code, Some(0));
    assert_eq!(home.json(&["daemon", "status"])["port"].to_string(), port);
    assert_eq!(home.run(&["daemon", "stop"]).code, Some(0));
}

#[test]
fn of_two_daemons_run_at_once_exactly_one_serves() {
    for _ in 0..50 {
        let home = TestHome::new(PROGRAM);
        let mut daemons = at_once(|| Daemon::launch(&home, home.command(&["daemon", "run"])));
        let ended = |daemon: &mut Daemon| daemon.ended().is_some();
        let place = eventually("one gives up", || daemons.iter_mut().position(ended));
        let mut loser = daemons.remove(place);
        let mut winner = daemons.remove(0);
        assert_eq!(loser.wait().code(), Some(75), "{}", loser.said());
        let (by_pid, unnamed) =
            (format!("process {} serves", winner.pid()), "another process serves");
        let said = loser.said();
        assert!(said.contains(&by_pid) || said.contains(unnamed), "{said}");
        let caller = Caller::new(home.client());
        let status = eventually("the other serves", || {
            assert_eq!(winner.ended(), None, "{}", winner.said());
            caller.status().ok()
        });
        assert_eq!(status.daemon.pid, Some(winner.pid().cast_unsigned()));
        winner.kill();
    }
}

#[test]
fn of_two_starts_at_once_both_find_the_same_daemon() {
    for _ in 0..10 {
        let home = TestHome::new(PROGRAM);
        let start = || -> Ran {
            let mut start: Command = home.command(&["daemon", "start", "--json"]);
            start.stdin(Stdio::null()).output().unwrap().into()
        };
        let started = at_once(start);
        let pids: Vec<Value> = started
            .iter()
            .map(|ran| {
                assert_eq!(ran.code, Some(0), "{started:?}");
                serde_json::from_str::<Value>(&ran.stdout).unwrap()["pid"].clone()
            })
            .collect();
        assert_eq!(pids[0], pids[1], "{started:?}");
        assert_eq!(processes_in(&home.root()).len(), 2, "one guard and one daemon");
        assert_eq!(home.run(&["daemon", "stop"]).code, Some(0));
        assert_nothing_runs_in(&home.root());
    }
}

/// Does `work` twice at the same moment, and returns what came of both.
fn at_once<T: Send>(work: impl Fn() -> T + Sync) -> Vec<T> {
    let (work, gate) = (&work, &Barrier::new(2));
    thread::scope(|scope| {
        let doers = [(); 2].map(|()| {
            scope.spawn(move || {
                gate.wait();
                work()
            })
        });
        doers.into_iter().map(|doer| doer.join().unwrap()).collect()
    })
}
