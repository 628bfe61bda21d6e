//! The chain: whatever is changed in the log behind cmux's back is found, and nothing else is accused.

use std::path::PathBuf;

use cmux_core::event::{Event, What};
use cmux_core::id::EventId;
use cmux_core::snapshot::SnapshotKind;
use cmux_core::time::Timestamp;
use cmux_store::chain::{Anchor, Walk};
use cmux_store::{StoreError, View, backup, chain};
use rusqlite::types::Value;

use crate::world::{EVEN_LATER, LATER, NOW, World, check_whole, log, project, tell, walk};

#[test]
fn a_log_that_nobody_touched_fits() {
    let world = World::new();
    check_empty(&world);
    let mut store = world.open();
    tell(&mut store, 5);
    let walked = walk(&world);
    assert_eq!(walked, Walk { rows: 5, head: EventId(5), misfit: None });
}

#[test]
fn a_change_of_any_column_is_found() {
    let world = told(9);
    let columns = columns(&world);
    assert!(columns.len() >= 14);
    for (column, kind) in columns {
        let (found_at, value) = match (column.as_str(), kind.as_str()) {
            ("id", _) => (6, Value::Integer(100)),
            ("data", _) => (5, Value::Text("{\"by_ms\":9}".to_owned())),
            (_, "INTEGER") => (5, Value::Integer(2)),
            (_, "TEXT") => (5, Value::Text("x".to_owned())),
            (_, "BLOB") => (5, Value::Blob(vec![7; 32])),
            (column, kind) => panic!("{column} is of the new type {kind}: say how it is changed"),
        };
        let was = change(&world, &column, 5, &value);
        check_found(&world, &column, found_at);
        if column == "id" {
            world.tamper("UPDATE events SET id = 5 WHERE id = 100");
        } else {
            change(&world, &column, 5, &was);
        }
        check_whole(&world, 9);
    }
}

#[test]
fn a_value_that_goes_or_moves_to_another_column_is_found() {
    for change in
        ["project = NULL", "subject = NULL", "cause = NULL", "project = cause, cause = project"]
    {
        let world = told(1);
        let found = What::ProjectFound { root: "/a".to_owned() };
        let event = Event { cause: Some(EventId(1)), ..Event::own_in(&project(1).id, found) };
        world.open().turn(|tx| tx.append(&event, NOW)).unwrap();
        check_whole(&world, 2);
        world.tamper(&format!("UPDATE events SET {change} WHERE id = 2"));
        check_found(&world, change, 2);
    }
}

#[test]
fn a_row_that_says_what_no_cmux_wrote_is_found() {
    for change in ["v = -1", "kind = CAST(x'ff' AS TEXT)", "at = at + 1", "v = 4294967297"] {
        let world = told(3);
        world.tamper(&format!("UPDATE events SET {change} WHERE id = 2"));
        let walked = world.reader().read(|view| chain::verify(view, &[]));
        match walked {
            Ok(walked) => assert_eq!(walked.misfit.unwrap().id, EventId(2), "{change}"),
            Err(error) => assert!(matches!(error, StoreError::Damaged { .. }), "{change}: {error}"),
        }
    }
}

#[test]
fn rows_that_are_taken_out_put_in_or_exchanged_are_found() {
    let copy = "CREATE TEMP TABLE other AS SELECT * FROM events";
    for (tampering, found_at) in [
        ("DELETE FROM events WHERE id = 5".to_owned(), 6),
        ("DELETE FROM events WHERE id IN (5, 6, 7)".to_owned(), 8),
        ("DELETE FROM events WHERE id = 1".to_owned(), 2),
        ("DELETE FROM events WHERE id < 9".to_owned(), 9),
        (
            "UPDATE events SET id = 99 WHERE id = 3; UPDATE events SET id = 3 WHERE id = 4;
             UPDATE events SET id = 4 WHERE id = 99"
                .to_owned(),
            3,
        ),
        (
            "UPDATE events SET (at, data, prev, hash) =
                 (SELECT at, data, prev, hash FROM events WHERE id = 4) WHERE id = 5"
                .to_owned(),
            5,
        ),
        (
            format!(
                "{copy}; UPDATE other SET id = 10; INSERT INTO events SELECT * FROM other LIMIT 1"
            ),
            10,
        ),
        ("UPDATE events SET id = -5 WHERE id = 5".to_owned(), 6),
    ] {
        let world = told(9);
        world.tamper(&tampering);
        check_found(&world, &tampering, found_at);
    }
}

#[test]
fn a_tail_that_is_cut_off_is_found_by_a_snapshot() {
    let world = told(9);
    snapshot(&world, NOW);
    check_whole(&world, 9);
    world.tamper("DELETE FROM events WHERE id > 7");
    let misfit = walk(&world).misfit.unwrap();
    assert_eq!(misfit.id, EventId(7));
    assert!(misfit.why.contains("daily-"), "{}", misfit.why);
    world.tamper("DELETE FROM events");
    assert_eq!(walk(&world).misfit.unwrap().id, EventId(0));
}

#[test]
fn a_log_that_was_written_anew_is_found_by_a_snapshot() {
    let world = told(9);
    let source = "somewhere".to_owned();
    for (id, expected) in [(1, 1), (5, 5), (9, 9), (10, 9)] {
        let anchor = Anchor { id: EventId(id), hash: [7; 32], source: source.clone() };
        let walked = world.reader().read(|view| chain::verify(view, &[anchor])).unwrap();
        let misfit = walked.misfit.unwrap();
        assert_eq!(misfit.id, EventId(expected));
        assert!(misfit.why.contains(&source), "{}", misfit.why);
    }
}

#[test]
fn a_life_that_was_given_up_accuses_nobody() {
    let world = told(9);
    let kept = snapshot(&world, NOW);
    tell(&mut world.open(), 9);
    let given_up = snapshot(&world, LATER);
    backup::restore(&kept, &world.path(), &world.backups(), log(2), EVEN_LATER).unwrap();
    // The other life knows another event 18, and this one has not come so far.
    check_whole(&world, 10);
    tell(&mut world.open(), 20);
    check_whole(&world, 30);
    let anchors = |view: View<'_>| backup::anchors(&world.backups(), view);
    let sources: Vec<String> =
        world.reader().read(anchors).unwrap().into_iter().map(|anchor| anchor.source).collect();
    assert_eq!(sources, [kept.to_string_lossy()]);
    assert!(given_up.exists());
}

#[test]
fn what_was_archived_is_not_missed() {
    let world = told(9);
    world.tamper(
        "INSERT INTO checkpoints (event, hash, at, file) SELECT id, hash, at, 'a' FROM events WHERE id = 4;
         DELETE FROM events WHERE id <= 4",
    );
    check_whole(&world, 5);
    world.tamper("DELETE FROM events WHERE id = 5");
    check_found(&world, "the first that is not archived", 6);
    world.tamper(
        "INSERT INTO checkpoints (event, hash, at) SELECT id, hash, at FROM events WHERE id = 9;
         DELETE FROM events",
    );
    let mut store = world.open();
    assert_eq!(store.head().id, EventId(9));
    tell(&mut store, 1);
    assert_eq!(walk(&world), Walk { rows: 1, head: EventId(10), misfit: None });
}

#[track_caller]
fn check_empty(world: &World) {
    drop(world.open());
    assert_eq!(walk(world), Walk { rows: 0, head: EventId(0), misfit: None });
}

#[track_caller]
fn check_found(world: &World, what: &str, found_at: i64) {
    let misfit = walk(world).misfit;
    assert_eq!(misfit.map(|misfit| misfit.id), Some(EventId(found_at)), "{what}");
}

/// Returns a world with a closed store of `events` events.
fn told(events: i64) -> World {
    let world = World::new();
    tell(&mut world.open(), events);
    world
}

fn snapshot(world: &World, now: Timestamp) -> PathBuf {
    backup::snapshot(&world.path(), &world.backups(), SnapshotKind::Daily, now).unwrap().0
}

/// Returns the columns of the log with their types.
fn columns(world: &World) -> Vec<(String, String)> {
    let db = world.raw();
    let mut query = db.prepare("SELECT name, type FROM pragma_table_info('events')").unwrap();
    let columns = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    columns.collect::<Result<_, _>>().unwrap()
}

/// Changes a value in the log, and returns what it was.
fn change(world: &World, column: &str, id: i64, value: &Value) -> Value {
    let db = world.raw();
    let select = format!("SELECT {column} FROM events WHERE id = ?1");
    let was = db.query_row(&select, [id], |row| row.get(0)).unwrap();
    let update = format!("UPDATE events SET {column} = ?2 WHERE id = ?1");
    db.execute(&update, rusqlite::params![id, value]).unwrap();
    was
}
