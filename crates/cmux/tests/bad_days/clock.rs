//! Clocks that are set back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cmux_testkit::daemon::Daemon;
use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;
use cmux_wire::event::Event;

use crate::PROGRAM;
use crate::caller::Caller;

const HOUR_MS: i64 = 3_600_000;

/// How far off a told jump may be: the time that passed, and what reading two clocks takes.
const OFF_MAX_MS: i64 = 60_000;

#[test]
fn a_clock_that_is_set_back_is_told_and_times_go_on() {
    let home = TestHome::new(PROGRAM);
    let clock = Clock::of(&home);
    clock.set("+0");
    let daemon = clock.daemon(&home);
    let caller = Caller::new(home.client());
    caller.add("/before").unwrap();
    clock.set("-1h");
    let jump = eventually("the jump is told", || {
        let events = caller.read_all().unwrap().events;
        events.into_iter().find(|event| event.kind == "clock.jumped")
    });
    let by_ms = jump.data["by_ms"].as_i64().unwrap();
    assert!((by_ms + HOUR_MS).abs() < OFF_MAX_MS, "{jump:?}");
    caller.add("/after").unwrap();
    let told = caller.read_all().unwrap();
    assert!(told.knows("/before") && told.knows("/after"));
    assert_never_goes_back(&told.events);
    assert_eq!(caller.count("clock.jumped"), 1);
    assert!(caller.status().unwrap().daemon.ready);
    assert!(daemon.stop().success());
}

#[test]
fn a_log_that_is_ahead_of_the_clock_goes_on_from_there_and_the_doctor_tells() {
    let home = TestHome::new(PROGRAM);
    let clock = Clock::of(&home);
    clock.set("+2h");
    let daemon = clock.daemon(&home);
    let caller = Caller::new(home.client());
    caller.add("/ahead").unwrap();
    assert!(daemon.stop().success());

    let daemon = home.daemon();
    caller.add("/after").unwrap();
    let told = caller.read_all().unwrap();
    assert!(told.knows("/ahead") && told.knows("/after"));
    assert_never_goes_back(&told.events);
    let doctor = home.run(&["doctor", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&doctor.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let clock = checks.iter().find(|check| check["name"] == "clock").unwrap();
    assert_eq!(clock["status"], "warning", "{clock}");
    assert!(clock["detail"].as_str().unwrap().contains("ahead of the clock"), "{clock}");
    assert!(daemon.stop().success());
}

/// A clock on the wall that a test can set, for one daemon.
struct Clock {
    file: PathBuf,
}

impl Clock {
    fn of(home: &TestHome) -> Clock {
        Clock { file: home.folder("clock").join("offset") }
    }

    /// Sets the clock so far from the true time.
    fn set(&self, offset: &str) {
        // It is looked at any time, so it must be whole.
        let part = self.file.with_extension("part");
        fs::write(&part, offset).unwrap();
        fs::rename(&part, &self.file).unwrap();
    }

    /// Starts a daemon that goes by this clock, and waits until it is ready.
    fn daemon(&self, home: &TestHome) -> Daemon {
        let mut command: Command = home.command(&["daemon", "run"]);
        command
            .env("LD_PRELOAD", library())
            .env("FAKETIME_TIMESTAMP_FILE", &self.file)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("DONT_FAKE_MONOTONIC", "1")
            .env("FAKETIME_DISABLE_SHM", "1");
        let mut daemon = Daemon::launch(home, command);
        let caller = Caller::new(home.client());
        eventually("the daemon is ready", || {
            assert_eq!(daemon.ended(), None, "{}", daemon.said());
            caller.status().ok()
        });
        daemon
    }
}

/// Returns the library that makes a program believe in another time.
fn library() -> PathBuf {
    let roots = ["/usr/lib", "/usr/lib64", "/usr/local/lib"].map(Path::new);
    let below = roots.iter().flat_map(|root| fs::read_dir(root).into_iter().flatten());
    let folders = below.map(|entry| entry.unwrap().path()).chain(roots.map(Path::to_owned));
    let files = folders.flat_map(|folder| {
        ["libfaketime.so.1", "faketime/libfaketime.so.1"].map(|name| folder.join(name))
    });
    let found = files.into_iter().find(|file| file.exists());
    found.expect("libfaketime is missing: `scripts/prepare test` installs it")
}

#[track_caller]
fn assert_never_goes_back(events: &[Event]) {
    for pair in events.windows(2) {
        assert!(pair[0].at.millis() <= pair[1].at.millis(), "{pair:?}");
    }
}
