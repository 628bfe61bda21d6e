//! What is remembered beside the log: each noun in each of its states, and nothing that the core cannot
//! express.

use cmux_core::id::EventId;
use cmux_core::plan::Subject;
use cmux_core::project::{Look, Presence, Project, ProjectId};
use cmux_core::snapshot::{Copied, Snapshot, SnapshotKind, SnapshotState};
use cmux_core::time::Timestamp;
use cmux_store::cursors::{self, Cursor};
use cmux_store::{Store, StoreError, Tx, payloads, projects, settings, snapshots, wake};
use rusqlite::ErrorCode;
use serde_json::json;

use crate::world::{LATER, NOW, World, log, project, snapshot_id};

#[test]
fn a_project_is_read_back_in_each_of_its_states() {
    let world = World::new();
    let mut store = world.open();
    let looks = [Look::Due { at: LATER }, Look::Underway { deadline: Timestamp(-1) }];
    for presence in [Presence::Present, Presence::Missing { since: NOW }] {
        for look in looks {
            let project = Project { presence, look, name: "Ä 'x'; --".to_owned(), ..project(1) };
            do_in_turn(&mut store, |tx| projects::save(tx, &project));
            assert_eq!(projects::find(store.view(), &project.id).unwrap(), Some(project.clone()));
            assert_eq!(projects::all(store.view()).unwrap(), [project]);
        }
    }
    let id = project(1).id;
    do_in_turn(&mut store, |tx| projects::remove(tx, &id));
    do_in_turn(&mut store, |tx| projects::remove(tx, &id));
    assert_eq!(projects::find(store.view(), &id).unwrap(), None);
}

#[test]
fn projects_are_listed_by_age_and_paged_by_id() {
    let world = World::new();
    let mut store = world.open();
    let made = |n: u32, at: i64| Project { created_at: Timestamp(at), ..project(n) };
    let by_age = [made(3, 1), made(1, 2), made(2, 3)];
    do_in_turn(&mut store, |tx| {
        by_age.iter().rev().try_for_each(|project| projects::save(tx, project))
    });
    assert_eq!(projects::all(store.view()).unwrap(), by_age);
    let mut by_id: Vec<ProjectId> = by_age.iter().map(|project| project.id.clone()).collect();
    by_id.sort();
    for (after, limit, expected) in [
        (None, 2, &by_id[..2]),
        (Some(&by_id[1]), 2, &by_id[2..]),
        (Some(&by_id[2]), 2, &[]),
        (None, 0, &[]),
    ] {
        let page = projects::page(store.view(), after, limit).unwrap();
        let page: Vec<ProjectId> = page.into_iter().map(|project| project.id).collect();
        assert_eq!(page, expected);
    }
}

#[test]
fn a_snapshot_is_read_back_in_each_of_its_states() {
    let world = World::new();
    let mut store = world.open();
    let copied = Copied {
        file: "/x/y.db".to_owned(),
        bytes: 1 << 40,
        sha256: "ab".to_owned(),
        head: EventId(7),
    };
    let states = [
        SnapshotState::Underway { deadline: LATER },
        SnapshotState::Failed { at: NOW, why: "no room".to_owned() },
        SnapshotState::Taken { at: NOW, copied },
    ];
    for (n, kind) in [(1, SnapshotKind::Daily), (2, SnapshotKind::Migration)] {
        assert_eq!(snapshots::newest(store.view(), kind).unwrap(), None);
        for state in &states {
            let snapshot = Snapshot { id: snapshot_id(n), kind, state: state.clone() };
            do_in_turn(&mut store, |tx| snapshots::save(tx, &snapshot));
            let found = snapshots::find(store.view(), snapshot.id).unwrap();
            assert_eq!(found, Some(snapshot.clone()));
            assert_eq!(snapshots::newest(store.view(), kind).unwrap(), Some(snapshot));
        }
    }
    assert_eq!(snapshots::find(store.view(), snapshot_id(9)).unwrap(), None);
}

#[test]
fn the_newest_snapshot_is_the_one_that_was_begun_last_whatever_the_clock_said() {
    let world = World::new();
    let mut store = world.open();
    let state = SnapshotState::Underway { deadline: NOW };
    for n in [2, 3, 1] {
        let id = snapshot_id(n);
        let snapshot = Snapshot { id, kind: SnapshotKind::Daily, state: state.clone() };
        do_in_turn(&mut store, |tx| snapshots::save(tx, &snapshot));
    }
    let newest = snapshots::newest(store.view(), SnapshotKind::Daily).unwrap();
    assert_eq!(newest.map(|snapshot| snapshot.id), Some(snapshot_id(1)));
}

#[test]
fn what_is_longest_due_comes_first() {
    let world = World::new();
    let mut store = world.open();
    let (daemon, a, b) =
        (Subject::Daemon, Subject::Project(project(1).id), Subject::Project(project(2).id));
    assert_eq!(wake::next(store.view()).unwrap(), None);
    for (subject, at) in [(&daemon, 9), (&a, 30), (&b, 20), (&a, 10)] {
        do_in_turn(&mut store, |tx| wake::set(tx, subject, Some(Timestamp(at))));
    }
    for (now, limit, expected) in [
        (8, 9, vec![]),
        (9, 9, vec![daemon.clone()]),
        (20, 9, vec![daemon.clone(), a.clone(), b.clone()]),
        (99, 2, vec![daemon.clone(), a.clone()]),
    ] {
        assert_eq!(wake::due(store.view(), Timestamp(now), limit).unwrap(), expected);
    }
    assert_eq!(wake::next(store.view()).unwrap(), Some(Timestamp(9)));
    do_in_turn(&mut store, |tx| wake::set(tx, &daemon, None));
    do_in_turn(&mut store, |tx| wake::set(tx, &daemon, None));
    assert_eq!(wake::next(store.view()).unwrap(), Some(Timestamp(10)));
}

#[test]
fn a_cursor_never_goes_back() {
    let world = World::new();
    let mut store = world.open();
    assert_eq!(cursors::find(store.view(), "bus").unwrap(), None);
    for (event, expected) in [(5, 5), (3, 5), (5, 5), (8, 8)] {
        let cursor = |event| Cursor { log: log(1), event: EventId(event) };
        do_in_turn(&mut store, |tx| cursors::save(tx, "bus", cursor(event), NOW));
        assert_eq!(cursors::find(store.view(), "bus").unwrap(), Some(cursor(expected)));
    }
    assert_eq!(cursors::find(store.view(), "other").unwrap(), None);
}

#[test]
fn a_cursor_of_a_log_that_is_over_counts_for_nothing() {
    let world = World::new();
    let mut store = world.open();
    let old = Cursor { log: log(1), event: EventId(5) };
    do_in_turn(&mut store, |tx| cursors::save(tx, "bus", old, NOW));
    let (file, _) =
        cmux_store::backup::snapshot(&world.path(), &world.backups(), SnapshotKind::Daily, NOW)
            .unwrap();
    drop(store);
    cmux_store::backup::restore(&file, &world.path(), &world.backups(), log(2), LATER).unwrap();
    let mut store = world.open();
    assert_eq!(cursors::find(store.view(), "bus").unwrap(), None);
    // In the new one it may be earlier than it was.
    let new = Cursor { log: log(2), event: EventId(1) };
    do_in_turn(&mut store, |tx| cursors::save(tx, "bus", new, NOW));
    assert_eq!(cursors::find(store.view(), "bus").unwrap(), Some(new));
}

#[test]
fn a_setting_is_read_back_whatever_its_value() {
    let world = World::new();
    let mut store = world.open();
    assert_eq!(settings::find(store.view(), "x").unwrap(), None);
    for value in [json!(null), json!(1.5), json!("a\u{0}\"'"), json!({"a": [true, {"b": "ü"}]})] {
        do_in_turn(&mut store, |tx| settings::save(tx, "x", &value));
        assert_eq!(settings::find(store.view(), "x").unwrap(), Some(value));
    }
}

#[test]
fn the_same_payload_is_kept_once_and_as_long_as_the_last_use() {
    let world = World::new();
    let mut store = world.open();
    let keep = |store: &mut Store, body: &[u8], at| {
        store.turn(|tx| payloads::keep(tx, body, Timestamp(at))).unwrap()
    };
    let (a, b) = (keep(&mut store, b"a", 1), keep(&mut store, b"", 2));
    assert_eq!(keep(&mut store, b"a", 3), a);
    assert_eq!(payloads::find(store.view(), &a).unwrap().as_deref(), Some(&b"a"[..]));
    assert_eq!(payloads::find(store.view(), &b).unwrap().as_deref(), Some(&b""[..]));
    for (before, pruned) in [(2, 0), (3, 1), (3, 0), (4, 1)] {
        let rows = store.turn(|tx| payloads::prune(tx, Timestamp(before), 9)).unwrap();
        assert_eq!(rows, pruned, "before {before}");
        assert_eq!(payloads::find(store.view(), &a).unwrap().is_some(), before < 4);
    }
    assert_eq!(payloads::find(store.view(), &b).unwrap(), None);
}

#[test]
fn a_row_cannot_hold_what_the_core_cannot_express() {
    let world = World::new();
    let project = |id: &str, presence: &str, since: &str, look: &str| {
        format!(
            "INSERT INTO projects VALUES ('{id}', 'x', '/{id}', 0, '{presence}', {since}, '{look}', 0)"
        )
    };
    let snapshot = |kind: &str, state: &str, file: &str, why: &str| {
        format!(
            "INSERT INTO snapshots (id, kind, state, at, file, bytes, sha256, head, why)
             SELECT 'x', '{kind}', '{state}', 0, file, length(file), file, length(file), {why}
             FROM (SELECT {file} AS file)"
        )
    };
    let event = |data: &str, prev: &str, hash: &str, payload: &str| {
        format!(
            "INSERT INTO events (id, v, at, kind, actor, data, prev, hash, payload)
             VALUES (1, 1, 0, 'x', 'x', '{data}', {prev}, {hash}, {payload})"
        )
    };
    let (whole, short) = ("zeroblob(32)", "zeroblob(31)");
    let refused = [
        project("a", "gone", "NULL", "due"),
        project("a", "missing", "NULL", "due"),
        project("a", "present", "1", "due"),
        project("a", "present", "NULL", "never"),
        snapshot("weekly", "failed", "NULL", "'x'"),
        snapshot("daily", "lost", "NULL", "NULL"),
        snapshot("daily", "taken", "NULL", "NULL"),
        snapshot("daily", "failed", "NULL", "NULL"),
        snapshot("daily", "underway", "'x'", "NULL"),
        snapshot("daily", "underway", "NULL", "'x'"),
        event("{", whole, whole, "NULL"),
        event("{}", short, whole, "NULL"),
        event("{}", whole, short, "NULL"),
        event("{}", whole, whole, short),
        event("{}", "NULL", whole, "NULL"),
        "INSERT INTO settings VALUES ('x', 'y')".to_owned(),
        "INSERT INTO cursors VALUES ('x', 'log_y', 1, 1)".to_owned(),
        "INSERT INTO payloads VALUES (zeroblob(31), 1, zeroblob(1))".to_owned(),
        "INSERT INTO checkpoints VALUES (1, zeroblob(31), 1, NULL)".to_owned(),
        "INSERT INTO wake VALUES ('daemon', 'soon')".to_owned(),
        "INSERT INTO wake VALUES (NULL, 1)".to_owned(),
    ];
    drop(world.open());
    let db = world.raw();
    db.pragma_update(None, "foreign_keys", true).unwrap();
    for sql in refused {
        let code = db.execute(&sql, []).unwrap_err().sqlite_error_code();
        assert_eq!(code, Some(ErrorCode::ConstraintViolation), "{sql}");
    }
    // The refusals are of what they are meant to be of.
    let taken = [
        project("a", "missing", "1", "due"),
        snapshot("daily", "taken", "'x'", "NULL"),
        event("{}", whole, whole, whole),
    ];
    for sql in taken {
        db.execute(&sql, []).unwrap();
    }
}

#[track_caller]
fn do_in_turn(store: &mut Store, work: impl FnOnce(&mut Tx<'_>) -> Result<(), StoreError>) {
    store.turn(work).unwrap();
}
