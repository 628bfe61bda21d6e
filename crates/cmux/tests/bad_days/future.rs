//! Stores that a later cmux has written.

use std::fs;

use cmux_testkit::daemon::Daemon;
use cmux_testkit::home::TestHome;
use cmux_testkit::store::make_later;

use crate::PROGRAM;
use crate::caller::{Caller, assert_nothing_runs_in, names, run_out};

/// A version of the store that no cmux has reached yet.
const LATER: u32 = 1000;

#[test]
fn a_store_of_the_future_is_refused_and_left_untouched() {
    let home = home_with_store();
    let database = home.root().join("cmux.db");
    make_later(&database, LATER, LATER);
    let bytes = fs::read(&database).unwrap();
    let sentence = format!(
        "{} was written by a later cmux: it needs one that knows version {LATER} of the store",
        database.display()
    );
    for (arguments, code) in [
        (["daemon", "run"], 78),
        (["daemon", "start"], 1),
        (["db", "check"], 1),
        (["audit", "verify"], 1),
    ] {
        let ran = run_out(Daemon::launch(&home, home.command(&arguments)));
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(&sentence), "{arguments:?}: {ran:?}");
        assert_nothing_runs_in(&home.root());
        assert_eq!(fs::read(&database).unwrap(), bytes, "{arguments:?}");
        assert_eq!(names(&home.root().join("backups")), [] as [&str; 0]);
    }
    let wal = fs::read(home.root().join("cmux.db-wal")).unwrap_or_default();
    assert!(wal.is_empty(), "something was to be written to it");
    assert!(!names(&home.root()).contains(&"cmux.sock".to_owned()));
}

#[test]
fn a_store_to_which_a_later_cmux_has_only_added_is_served() {
    let home = home_with_store();
    make_later(&home.root().join("cmux.db"), LATER, 1);
    let daemon = home.daemon();
    let caller = Caller::new(home.client());
    caller.add("/after").unwrap();
    let told = caller.read_all().unwrap();
    assert!(told.knows("/before") && told.knows("/after"));
    assert_eq!(caller.count("store.repaired"), 0);
    assert!(daemon.stop().success());
}

/// Returns a home in which a daemon has lived.
fn home_with_store() -> TestHome {
    let home = TestHome::new(PROGRAM);
    let daemon = home.daemon();
    Caller::new(home.client()).add("/before").unwrap();
    assert!(daemon.stop().success());
    home
}
