//! Backups: taken whole, refused if they are not as they were, and put back without losing what was.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use cmux_core::id::EventId;
use cmux_core::snapshot::SnapshotKind;
use cmux_core::time::Timestamp;
use cmux_store::{StoreError, backup, projects};

use crate::world::{
    Dice, EVEN_LATER, LATER, NOW, World, all, check_bytes, check_whole, filled, ids, log, project,
    said, tell,
};

#[test]
fn a_copy_holds_all_that_was_committed_and_says_what_it_is() {
    let world = World::new();
    let mut store = world.open();
    tell(&mut store, 9);
    // Nothing of it was moved into the main file yet, and the store stays open.
    let (file, copied) = snapshot(&world, SnapshotKind::Daily, NOW);
    assert_eq!(file, world.backups().join("daily-20260101T000000000Z.db"));
    assert_eq!((copied.head, copied.file), (EventId(9), file.to_string_lossy().into_owned()));
    assert_eq!(copied.bytes, fs::metadata(&file).unwrap().len());
    let note = backup::read_note(&file).unwrap();
    assert_eq!((note.log, note.head, note.hash), (log(1), EventId(9), store.head().hash));
    assert_eq!((note.sha256, note.bytes, note.events), (copied.sha256, copied.bytes, 9));
    assert_eq!(note.at, Some(NOW));
    assert_eq!(backup::verify(&file).unwrap().head, EventId(9));
    assert_eq!(
        names(&world),
        ["daily-20260101T000000000Z.db", "daily-20260101T000000000Z.db.json"]
    );
}

#[test]
fn nothing_is_left_of_a_copy_that_there_is_no_room_for() {
    let world = World::with(&filled(200, 5));
    let (file, _) = snapshot(&world, SnapshotKind::Daily, NOW);
    let before = names(&world);
    let part = world.backups().join("daily-20260101T000100000Z.db.json.part");
    symlink("/dev/full", &part).unwrap();
    let refused = backup::snapshot(&world.path(), &world.backups(), SnapshotKind::Daily, LATER);
    assert!(matches!(refused, Err(StoreError::Full)));
    fs::remove_file(part).unwrap();
    assert_eq!(names(&world), before);
    backup::prune(&world.backups(), SnapshotKind::Daily, 1).unwrap();
    backup::verify(&file).unwrap();
}

#[test]
fn a_copy_with_one_byte_changed_is_refused() {
    let world = World::with(&filled(200, 5));
    let (file, _) = snapshot(&world, SnapshotKind::Daily, NOW);
    let sound = fs::read(&file).unwrap();
    let mut dice = Dice(7);
    for _ in 0..20 {
        let mut bytes = sound.clone();
        let place = dice.below(bytes.len());
        bytes[place] ^= dice.mask();
        fs::write(&file, &bytes).unwrap();
        let refused = backup::verify(&file).unwrap_err();
        assert!(matches!(refused, StoreError::BadBackup { .. }), "{place}: {refused}");
        check_bytes(&file, &bytes);
    }
    fs::write(&file, &sound).unwrap();
    backup::verify(&file).unwrap();
}

#[test]
fn a_copy_without_a_note_is_judged_by_itself() {
    let world = World::with(&filled(200, 5));
    let (file, _) = snapshot(&world, SnapshotKind::Daily, NOW);
    fs::remove_file(backup::note_path(&file)).unwrap();
    assert_eq!(backup::verify(&file).unwrap().events, 200);
    for (what, bytes) in [
        ("nothing", vec![]),
        ("something else", b"not a database, but long enough to be one".repeat(200)),
        ("half of it", fs::read(&file).unwrap()[..40_000].to_vec()),
    ] {
        fs::write(&file, bytes).unwrap();
        let refused = backup::verify(&file).unwrap_err();
        assert!(matches!(refused, StoreError::BadBackup { .. }), "{what}: {refused}");
    }
    let missing = backup::verify(&world.backups().join("none.db")).unwrap_err();
    assert!(missing.to_string().contains("none.db"), "{missing}");
}

#[test]
fn a_copy_that_cmux_could_not_run_on_is_refused() {
    for damage in [
        "UPDATE events SET data = '{}' WHERE id = 200",
        "UPDATE projects SET id = 'Not An Id' WHERE rowid = 1",
        "DELETE FROM logs",
        "DROP TABLE projects",
        "PRAGMA foreign_keys = OFF; UPDATE projects SET look = 'x'",
    ] {
        let world = World::with(&filled(200, 5));
        world.tamper(damage);
        let refused = backup::verify(&world.path()).unwrap_err();
        assert!(matches!(refused, StoreError::BadBackup { .. }), "{damage}: {refused}");
    }
}

#[test]
fn a_backup_takes_the_place_of_the_store() {
    let world = World::new();
    let mut store = world.open();
    tell(&mut store, 3);
    store.turn(|tx| projects::save(tx, &project(1))).unwrap();
    let (file, _) = snapshot(&world, SnapshotKind::Daily, NOW);
    tell(&mut store, 4);
    let head = store.head();
    drop(store);
    let before = fs::read(world.path()).unwrap();
    let aside = restore(&world, &file, 2, LATER).unwrap().unwrap();
    check_bytes(&aside.join("cmux.db"), &before);
    let store = world.open();
    assert_eq!(store.log(), log(2));
    assert_eq!(ids(&all(store.view())), [1, 2, 3, 4]);
    assert_eq!(projects::all(store.view()).unwrap(), [project(1)]);
    let told = said(&store, "store.restored");
    assert_eq!(told["from"], file.to_string_lossy().as_ref());
    assert_eq!(told["replaced"], aside.to_string_lossy().as_ref());
    check_whole(&world, 4);
    drop(store);
    // What was replaced is a backup too.
    restore(&world, &aside.join("cmux.db"), 3, EVEN_LATER).unwrap();
    assert_eq!((world.open().log(), world.open().head().id.0), (log(3), head.id.0 + 1));
}

#[test]
fn what_was_replaced_keeps_its_newest_rows_beside_it() {
    let world = World::new();
    let mut store = world.open();
    tell(&mut store, 3);
    let (file, _) = snapshot(&world, SnapshotKind::Daily, NOW);
    store.checkpoint().unwrap();
    tell(&mut store, 4);
    let dead = World::new();
    for suffix in ["", "-wal"] {
        fs::copy(world.beside(suffix), dead.beside(suffix)).unwrap();
    }
    let aside = restore(&dead, &file, 2, LATER).unwrap().unwrap();
    check_bytes(&aside.join("cmux.db-wal"), &fs::read(world.beside("-wal")).unwrap());
    assert_eq!(dead.open().head().id, EventId(4));
    restore(&dead, &aside.join("cmux.db"), 3, EVEN_LATER).unwrap();
    assert_eq!(dead.open().head().id, EventId(8));
}

#[test]
fn a_backup_can_be_put_where_nothing_is() {
    let world = World::with(&filled(200, 5));
    let (file, _) = snapshot(&world, SnapshotKind::Daily, NOW);
    fs::remove_file(world.path()).unwrap();
    assert_eq!(restore(&world, &file, 2, LATER).unwrap(), None);
    let store = world.open();
    assert_eq!(said(&store, "store.restored")["replaced"], serde_json::Value::Null);
    check_whole(&world, 201);
}

#[test]
fn a_bad_backup_changes_nothing() {
    let world = World::with(&filled(200, 5));
    let (file, _) = snapshot(&world, SnapshotKind::Daily, NOW);
    let mut bytes = fs::read(&file).unwrap();
    bytes[10_000] ^= 1;
    fs::write(&file, bytes).unwrap();
    let (before, names_before) = (fs::read(world.path()).unwrap(), names(&world));
    let refused = restore(&world, &file, 2, LATER).unwrap_err();
    assert!(matches!(refused, StoreError::BadBackup { .. }), "{refused}");
    check_bytes(&world.path(), &before);
    assert_eq!(names(&world), names_before);
    assert_eq!(world.open().log(), log(1));
    check_whole(&world, 200);
}

#[test]
fn two_stores_that_are_replaced_in_one_moment_are_both_kept() {
    let world = World::with(&filled(200, 5));
    let (file, _) = snapshot(&world, SnapshotKind::Daily, NOW);
    let first = restore(&world, &file, 2, LATER).unwrap().unwrap();
    let second = restore(&world, &file, 3, LATER).unwrap().unwrap();
    assert_eq!(world.asides("replaced-"), [first.clone(), second.clone()]);
    assert_eq!(backup::verify(&first.join("cmux.db")).unwrap().log, log(1));
    assert_eq!(backup::verify(&second.join("cmux.db")).unwrap().log, log(2));
}

#[test]
fn only_the_newest_of_a_kind_are_kept() {
    let world = World::with(&filled(20, 5));
    for n in 0..4 {
        snapshot(&world, SnapshotKind::Daily, Timestamp(NOW.0 + n));
        snapshot(&world, SnapshotKind::Migration, Timestamp(NOW.0 + n));
    }
    fs::write(world.backups().join("mine.db"), "x").unwrap();
    let daily = |keep| backup::prune(&world.backups(), SnapshotKind::Daily, keep).unwrap();
    daily(9);
    assert_eq!(names(&world).len(), 17);
    daily(2);
    let is_daily = |name: &String| name.starts_with("daily-");
    let kept: Vec<String> = names(&world).into_iter().filter(is_daily).collect();
    let expected = ["002Z.db", "002Z.db.json", "003Z.db", "003Z.db.json"];
    assert_eq!(kept, expected.map(|end| format!("daily-20260101T000000{end}")));
    daily(0);
    let others = names(&world);
    assert_eq!((others.len(), others.iter().any(is_daily)), (9, false));
    backup::prune(&world.folder().join("none"), SnapshotKind::Daily, 1).unwrap();
}

#[test]
fn what_a_crash_left_behind_is_no_obstacle() {
    let world = World::with(&filled(200, 5));
    fs::create_dir_all(world.backups()).unwrap();
    let file = world.backups().join("daily-20260101T000000000Z.db");
    for suffix in ["", ".part", ".part-journal", ".part-wal", ".part-shm"] {
        let left = format!("{}{suffix}", file.to_string_lossy());
        fs::write(left, &filled(50, 1)[..9_000]).unwrap();
    }
    let (taken, _) = snapshot(&world, SnapshotKind::Daily, NOW);
    assert_eq!((taken == file, backup::verify(&file).unwrap().events), (true, 200));
    assert_eq!(names(&world).len(), 2);
    for suffix in [".draft", ".draft-wal", ".draft-journal", ".aside"] {
        fs::write(world.beside(suffix), &filled(50, 1)[..9_000]).unwrap();
    }
    restore(&world, &file, 2, LATER).unwrap();
    drop(world.open());
    let entries = fs::read_dir(world.folder()).unwrap();
    let mut left: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["backups", "cmux.db"]);
    check_whole(&world, 201);
}

fn snapshot(
    world: &World,
    kind: SnapshotKind,
    now: Timestamp,
) -> (PathBuf, cmux_core::snapshot::Copied) {
    backup::snapshot(&world.path(), &world.backups(), kind, now).unwrap()
}

fn restore(
    world: &World,
    from: &std::path::Path,
    new_log: u128,
    now: Timestamp,
) -> Result<Option<PathBuf>, StoreError> {
    backup::restore(from, &world.path(), &world.backups(), log(new_log), now)
}

/// Returns the names of what is in `backups`.
fn names(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.backups()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
