//! Files of the store that are cut short, emptied, mixed up or not the store's at all.

use std::fs;

use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;

use crate::PROGRAM;
use crate::caller::{Caller, Told};
use crate::damage::{Sound, Survived, sound, survive};

/// The length of the head of a write-ahead log, and of each page in it with its own, in bytes.
const WAL_HEAD: usize = 32;
const WAL_PAGE: usize = 24 + 4096;

#[test]
fn a_write_ahead_log_that_is_cut_short_costs_what_was_in_it_and_no_more() {
    let killed = killed();
    let length = killed.wal.len();
    let pages = (length - WAL_HEAD) / WAL_PAGE;
    for cut in [
        0,
        1,
        WAL_HEAD - 1,
        WAL_HEAD,
        WAL_HEAD + 1,
        WAL_HEAD + WAL_PAGE,
        WAL_HEAD + pages / 2 * WAL_PAGE,
        WAL_HEAD + pages / 2 * WAL_PAGE + 1000,
        length - WAL_PAGE,
        length - 1,
        length,
    ] {
        let context = format!("cut to {cut} of {length}");
        let survived = survive_with(&killed.database, &killed.wal[..cut], &context);
        let kept = assert_goes_on(&killed, &survived, &context);
        assert_eq!(kept == killed.told.events.len(), cut == length, "{context}");
    }
}

#[test]
fn a_write_ahead_log_of_garbage_is_passed_over() {
    let killed = killed();
    let zeros = vec![0; killed.wal.len()];
    let text = b"not a log ".repeat(1000);
    let mut torn = killed.wal.clone();
    let middle = torn.len() / 2;
    torn[middle..middle + 100].fill(0xff);
    for (name, wal) in [("zeros", zeros), ("text", text), ("torn", torn)] {
        let survived = survive_with(&killed.database, &wal, name);
        assert_goes_on(&killed, &survived, name);
    }
}

#[test]
fn a_write_ahead_log_of_another_store_is_survived_and_told() {
    let (mine, other) = (killed(), killed());
    let Survived { notice, steady, .. } = survive_with(&mine.database, &other.wal, "another's");
    assert!(notice.is_some() || !steady.audit.ok || !steady.check.ok, "it went unnoticed");
}

#[test]
fn an_emptied_store_is_missed_if_there_is_anything_to_miss_it_by() {
    let killed = killed();
    let survived = survive_with(b"", &killed.wal, "emptied beside its write-ahead log");
    let notice = survived.notice.unwrap();
    assert!(notice.contains("the file is empty"), "{notice}");
    assert_ne!(survived.steady.told.log, killed.told.log);
    // With nothing beside it, it may as well be one that was never written to.
    assert_eq!(survive_with(b"", b"", "empty").notice, None);
}

#[test]
fn an_emptied_store_comes_back_from_the_last_snapshot() {
    let home = TestHome::new(PROGRAM);
    let daemon = home.daemon();
    let caller = Caller::new(home.client());
    caller.add("/before").unwrap();
    let told = caller.read_all().unwrap();
    let copy = home.root().join("backups/mine.db");
    home.json(&["db", "backup", &copy.display().to_string()]);
    assert!(daemon.stop().success());
    fs::write(home.root().join("cmux.db"), b"").unwrap();

    let survived = survive(&home, "emptied");
    assert!(survived.notice.unwrap().contains("mended from snapshot"));
    assert!(survived.steady.told.knows("/before"));
    assert!(survived.steady.told.events.starts_with(&told.events));
    assert_ne!(survived.steady.told.log, told.log);
}

#[test]
fn a_file_that_is_no_store_is_set_aside_untouched() {
    let zeros = vec![0; 100_000];
    let text = b"not a database ".repeat(1000);
    let other = fs::read(PROGRAM).unwrap();
    for (name, bytes) in
        [("zeros", zeros), ("text", text), ("a program", other), ("short", vec![7; 10])]
    {
        let survived = survive_with(&bytes, b"", name);
        let (notice, kept) = (survived.notice.unwrap(), survived.kept.unwrap());
        assert!(kept.database == bytes, "{name}");
        assert!(notice.contains(&kept.folder.display().to_string()), "{name}: {notice}");
        assert!(survived.steady.audit.ok, "{name}");
    }
}

/// What a daemon left behind that was killed, and what it had told.
struct Killed {
    database: Vec<u8>,
    wal: Vec<u8>,
    /// What was told when all of it was in the database itself.
    settled: Told,
    told: Told,
}

/// Kills a daemon that has written to a store of some age.
fn killed() -> Killed {
    let Sound { bytes, told: settled } = sound(20);
    let home = TestHome::new(PROGRAM);
    fs::write(home.root().join("cmux.db"), bytes).unwrap();
    let daemon = home.daemon();
    let caller = Caller::new(home.client());
    for n in 0..10 {
        caller.add(&format!("/later/{n}")).unwrap();
    }
    // The last thing that is written is the last that is told.
    eventually("all is quiet", || (caller.count("project.missing") == 30).then_some(()));
    let told = caller.read_all().unwrap();
    daemon.kill();
    let read = |name: &str| fs::read(home.root().join(name)).unwrap();
    Killed { database: read("cmux.db"), wal: read("cmux.db-wal"), settled, told }
}

/// Starts daemons on a store of these bytes.
fn survive_with(database: &[u8], wal: &[u8], context: &str) -> Survived {
    let home = TestHome::new(PROGRAM);
    fs::write(home.root().join("cmux.db"), database).unwrap();
    if !wal.is_empty() {
        fs::write(home.root().join("cmux.db-wal"), wal).unwrap();
    }
    survive(&home, context)
}

/// Sees that the log goes on where it was cut, after all that had settled. Returns how much was kept.
#[track_caller]
fn assert_goes_on(killed: &Killed, survived: &Survived, context: &str) -> usize {
    assert_eq!(survived.notice, None, "{context}");
    let steady = &survived.steady;
    assert!(steady.finds && steady.check.ok && steady.audit.ok, "{context}");
    assert_eq!(steady.told.log, killed.told.log, "{context}");
    let pairs = steady.told.events.iter().zip(&killed.told.events);
    let kept = pairs.take_while(|(told, before)| told == before).count();
    assert!(kept >= killed.settled.events.len(), "{context}: {kept}");
    assert_eq!(steady.told.events[kept].kind, "daemon.started", "{context}");
    kept
}
