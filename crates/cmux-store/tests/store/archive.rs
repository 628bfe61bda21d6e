//! Archives: what was written to a file can be taken out of the store, and nothing else.

use std::fs;

use cmux_core::id::EventId;
use cmux_store::{Store, StoreError, archive, events, logs, repair};
use serde_json::Value;

use crate::world::{LATER, NOW, World, all, check_whole, ids, tell};

#[test]
fn events_that_were_archived_are_in_the_file_and_not_in_the_store() {
    let world = World::new();
    let mut store = world.open();
    tell(&mut store, 9);
    let rows = all(store.view());
    let file = world.folder().join("old.jsonl");
    let archived = archive::export(store.view(), EventId(4), &file).unwrap();
    assert_eq!((archived.through, archived.rows, archived.hash), (EventId(4), 4, rows[3].hash));
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| &line["id"]).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(lines[3]["data_text"], rows[3].data.as_str());
    // Before it is noted, nothing may go.
    store.turn(|tx| archive::trim(tx, EventId(4))).unwrap();
    assert_eq!(all(store.view()).len(), 9);
    store.turn(|tx| archive::note(tx, &archived, NOW)).unwrap();
    for through in [2, 9] {
        store.turn(|tx| archive::trim(tx, EventId(through))).unwrap();
        assert_eq!(archive::oldest(store.view()).unwrap(), Some(EventId(through.min(4) + 1)));
        assert_eq!(logs::checkpoint(store.view()).unwrap(), Some((EventId(4), rows[3].hash)));
        check_whole(&world, 5);
        repair::mark(&world.path(), "x").unwrap();
    }
    drop(store);
    let opened = world.open_at(2, LATER).unwrap();
    assert_eq!((opened.news, ids(&all(opened.store.view()))), (vec![], vec![5, 6, 7, 8, 9]));
}

#[test]
fn whoever_has_not_read_what_was_taken_out_has_missed_it() {
    let world = World::new();
    let mut store = world.open();
    tell(&mut store, 9);
    check_missed(&store, [(-5, None), (0, None), (9, None)]);
    let file = world.folder().join("old.jsonl");
    let archived = archive::export(store.view(), EventId(4), &file).unwrap();
    store.turn(|tx| archive::note(tx, &archived, NOW)).unwrap();
    check_missed(&store, [(0, None), (3, None), (4, None)]);
    // They go a few at a time, and until then they are there.
    store.turn(|tx| archive::trim(tx, EventId(2))).unwrap();
    check_missed(&store, [(0, Some(2)), (1, Some(2)), (2, None)]);
    store.turn(|tx| archive::trim(tx, EventId(4))).unwrap();
    check_missed(&store, [(-5, Some(4)), (3, Some(4)), (4, None)]);
}

/// Checks what is missed by those who have read up to some event.
#[track_caller]
fn check_missed(store: &Store, expected: [(i64, Option<i64>); 3]) {
    for (since, missed) in expected {
        let found = events::archived_after(store.view(), EventId(since)).unwrap();
        assert_eq!(found, missed.map(EventId), "since {since}");
    }
}

#[test]
fn what_is_not_there_cannot_be_archived() {
    let world = World::new();
    let mut store = world.open();
    tell(&mut store, 9);
    let file = world.folder().join("old.jsonl");
    for through in [0, 10] {
        let refused = archive::export(store.view(), EventId(through), &file).unwrap_err();
        assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
        assert!(!file.exists() && !world.folder().join("old.jsonl.part").exists());
    }
}
