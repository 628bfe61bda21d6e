//! A store that is damaged in the large: what can be saved is, what cannot is told, and it opens.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use cmux_core::event::{Event, What};
use cmux_core::id::EventId;
use cmux_core::snapshot::SnapshotKind;
use cmux_core::time::Timestamp;
use cmux_store::{Store, StoreError, Tx, backup, chain, events, payloads, repair, settings, wake};
use rusqlite::params;
use serde_json::{Value, json};

use crate::world::{
    Dice, EVEN_LATER, LATER, NOW, PAGE, World, all, check_bytes, check_whole, filled, ids, log,
    said, tell, theirs,
};
use crate::{agents, doors, mail, trust};

#[test]
fn a_new_store_is_not_called_mended() {
    let world = World::new();
    let opened = world.open_at(1, NOW).unwrap();
    assert_eq!((opened.news, opened.store.head().id), (vec![], EventId(0)));
    // Nor one whose file was made, and nothing put into it.
    let world = World::with(b"");
    assert_eq!(world.open().head().id, EventId(0));
    assert_eq!(world.asides("damaged-").len(), 0);
}

#[test]
fn a_file_that_is_no_store_is_set_aside() {
    let bytes = filled(200, 5);
    let mut header_gone = bytes.clone();
    header_gone[..100].fill(0);
    let mut dice = Dice(3);
    let garbage: Vec<u8> = (0..50_000).map(|_| dice.mask()).collect();
    for (what, bytes) in [
        ("two bytes", vec![0; 2]),
        ("a text", b"not a database".to_vec()),
        ("garbage", garbage),
        ("zeros", vec![0; 50_000]),
        ("no header", header_gone),
        ("another program's", theirs()),
    ] {
        let world = World::with(&bytes);
        let store = world.open_at(2, LATER).unwrap().store;
        let told = said(&store, "store.repaired");
        assert_eq!(told["source"], "nothing", "{what}");
        assert_eq!(numbers(&told), (None, 0, 0, 0), "{what}");
        assert_eq!((store.log(), store.head().id), (log(2), EventId(1)), "{what}");
        check_set_aside(&world, &bytes);
    }
}

#[test]
fn a_snapshot_takes_the_place_of_a_file_that_gives_nothing() {
    for kept in [0..0, 5_000..9_000, 100..usize::MAX] {
        let world = World::with(&filled(200, 5));
        let old = snapshot(&world, NOW);
        tell(&mut world.open(), 10);
        let newer = snapshot(&world, LATER);
        let mut damaged = fs::read(world.path()).unwrap();
        damaged.truncate(kept.end);
        damaged[..kept.start].fill(0);
        fs::write(world.path(), &damaged).unwrap();
        let store = world.open_at(2, EVEN_LATER).unwrap().store;
        let told = said(&store, "store.repaired");
        assert_eq!(told["source"], "snapshot");
        assert_eq!(told["snapshot"], newer.to_string_lossy().as_ref());
        assert_eq!(numbers(&told), (Some(210), 210, 0, 5));
        assert_eq!((store.log(), store.head().id), (log(2), EventId(211)));
        check_set_aside(&world, &damaged);
        check_whole(&world, 211);
        assert!(old.exists() && newer.exists());
    }
}

#[test]
fn a_bad_snapshot_is_passed_over_for_an_older_one() {
    let world = World::with(&filled(200, 5));
    snapshot(&world, NOW);
    tell(&mut world.open(), 10);
    let newer = snapshot(&world, LATER);
    let mut bytes = fs::read(&newer).unwrap();
    bytes[20_000] ^= 1;
    fs::write(&newer, bytes).unwrap();
    fs::write(world.path(), "gone").unwrap();
    let store = world.open_at(2, EVEN_LATER).unwrap().store;
    assert_eq!(numbers(&said(&store, "store.repaired")), (Some(200), 200, 0, 5));
}

#[test]
fn a_snapshot_takes_the_place_of_a_file_that_is_gone() {
    let world = World::with(&filled(200, 5));
    snapshot(&world, NOW);
    fs::remove_file(world.path()).unwrap();
    let store = world.open_at(2, LATER).unwrap().store;
    let told = said(&store, "store.repaired");
    assert_eq!(told["what_was_wrong"], "the file is gone");
    assert_eq!(numbers(&told), (Some(200), 200, 0, 5));
}

#[test]
fn a_snapshot_tells_how_much_is_missing() {
    let world = World::with(&filled(200, 5));
    let damaged = fs::read(world.path()).unwrap();
    tell(&mut world.open(), 10);
    snapshot(&world, NOW);
    // The file is as it was before the last ten were written, and the snapshot is bad.
    let newer = snapshot(&world, LATER);
    for file in [&newer, &newer.with_file_name("daily-20260101T000000000Z.db")] {
        fs::write(file, "gone").unwrap();
    }
    fs::write(world.path(), &damaged).unwrap();
    world.tamper("UPDATE events SET at = 0 WHERE id = 200");
    let store = world.open_at(2, EVEN_LATER).unwrap().store;
    assert_eq!(numbers(&said(&store, "store.repaired")), (Some(210), 199, 11, 5));
}

#[test]
fn a_life_that_was_given_up_does_not_come_back() {
    let world = World::with(&filled(200, 5));
    let kept = snapshot(&world, NOW);
    tell(&mut world.open(), 50);
    snapshot(&world, LATER);
    backup::restore(&kept, &world.path(), &world.backups(), log(2), EVEN_LATER).unwrap();
    // The store now has less than the newest snapshot, and that is how it was wanted.
    world.tamper("UPDATE events SET at = 0 WHERE id = 100");
    repair::mark(&world.path(), "x").unwrap();
    let store = world.open_at(3, EVEN_LATER).unwrap().store;
    let told = said(&store, "store.repaired");
    assert_eq!(told["source"], "salvage");
    assert_eq!(numbers(&told), (Some(201), 200, 1, 5));
}

#[test]
fn half_a_file_gives_its_half_of_the_events() {
    let bytes = filled(8_000, 50);
    let half = bytes.len() / 2;
    for (length, expected) in [
        (half / PAGE * PAGE, 2_000..6_000),
        (half + 1_234, 2_000..6_000),
        (bytes.len() - PAGE, 7_900..8_000),
        (PAGE + 1, 0..1),
    ] {
        let world = World::with(&bytes[..length]);
        let store = world.open_at(2, LATER).unwrap().store;
        check_set_aside(&world, &bytes[..length]);
        let kept = events::count(store.view()).unwrap() - 1;
        assert!(expected.contains(&kept), "{kept} events of {length} bytes");
        check_whole(&world, kept + 1);
    }
}

#[test]
fn what_lies_before_and_behind_a_lost_page_is_saved() {
    let bytes = wide(5_000);
    let world = World::with(&bytes);
    let (branches, leaves) = (pages(&world, "internal"), pages(&world, "leaf"));
    assert!(branches.len() >= 4, "the root has no branch that is neither its first nor its last");
    let (first, middle, last) = (leaves[0], leaves[leaves.len() / 2], leaves[leaves.len() - 1]);
    for (lost, rows_max) in [
        (vec![first], 3),
        (vec![middle], 3),
        (vec![last], 3),
        (vec![leaves[1], leaves[2], leaves[9], middle, last], 15),
        (vec![branches[2]], 2_000),
    ] {
        let fills: [fn(&mut Dice) -> u8; 2] = [|_| 0, Dice::mask];
        for fill in fills {
            let (mut damaged, mut dice) = (bytes.clone(), Dice(5));
            for page in &lost {
                let place = (page - 1) * PAGE;
                damaged[place..place + PAGE].fill_with(|| fill(&mut dice));
            }
            let world = World::with(&damaged);
            repair::mark(&world.path(), "x").unwrap();
            let store = world.open_at(2, LATER).unwrap().store;
            // The very last event tells of the mending.
            let mut kept = ids(&all(store.view()));
            kept.pop();
            let count = 5_000 - kept.len();
            assert!((1..=rows_max).contains(&count), "{count} rows lost of pages {lost:?}");
            assert_eq!(kept.first() == Some(&1), !lost.contains(&first));
            assert_eq!(kept.last() == Some(&5_000), !lost.contains(&last));
            assert_eq!(numbers(&said(&store, "store.repaired")).1, kept.len() as u64);
            assert_eq!(chain::verify(store.view(), &[]).unwrap().misfit, None);
        }
    }
}

#[test]
fn a_row_that_the_core_cannot_express_costs_only_itself() {
    let long = "x".repeat(9_000);
    for (damage, projects_left) in [
        ("UPDATE projects SET id = 'Not An Id' WHERE root = '/proj/project-1'", 4),
        ("UPDATE projects SET name = CAST(x'ff' AS TEXT) WHERE root = '/proj/project-1'", 4),
        ("UPDATE projects SET look = 'x' WHERE root = '/proj/project-1'", 4),
        ("UPDATE snapshots SET id = 'x'", 5),
        ("UPDATE snapshots SET why = CAST(x'ff' AS TEXT)", 5),
        ("UPDATE settings SET value = '\"\\ud800\"'", 5),
        ("UPDATE settings SET name = CAST(x'ff' AS TEXT)", 5),
        ("UPDATE cursors SET reader = CAST(x'ff' AS TEXT)", 5),
        ("UPDATE cursors SET log = 'x'", 5),
        ("DELETE FROM logs", 5),
        ("UPDATE logs SET id = 'x'", 5),
        ("UPDATE tokens SET scope = 'x'", 5),
        ("UPDATE sessions SET over_at = 1", 5),
        ("UPDATE links SET session = 'x'", 5),
        ("UPDATE run_tokens SET agent = 'x'", 5),
        ("UPDATE webhooks SET source = CAST(x'ff' AS TEXT)", 5),
        ("UPDATE agents SET env = '[1]'", 5),
        ("UPDATE agents SET pid = NULL", 5),
        ("UPDATE trusted_files SET path = '/etc/' || path", 5),
        ("UPDATE messages SET sender = 'x'", 5),
        ("UPDATE message_tally SET state = 'x'", 5),
        ("UPDATE message_bodies SET text = CAST(x'ff' AS TEXT)", 5),
        ("UPDATE deliveries SET messages = '[1]'", 5),
    ] {
        let world = World::with(&filled(200, 5));
        furnish(&mut world.open(), &long);
        world.tamper(&format!(
            "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; {damage}"
        ));
        repair::mark(&world.path(), "a turn came across it").unwrap();
        let store = world.open_at(2, LATER).unwrap().store;
        let told = said(&store, "store.repaired");
        assert_eq!(numbers(&told), (Some(200), 200, 0, projects_left), "{damage}: {told}");
        assert_eq!(store.log(), log(2));
        check_whole(&world, 201);
        let body = long.as_bytes();
        let digest = World::new().open().turn(|tx| payloads::keep(tx, body, NOW)).unwrap();
        assert_eq!(payloads::find(store.view(), &digest).unwrap().as_deref(), Some(body));
        let set = settings::find(store.view(), "kept").unwrap();
        assert_eq!(set.is_some(), !damage.contains("settings"), "{damage}");
        doors::check_salvaged(store.view(), damage);
        agents::check_salvaged(store.view(), damage);
        trust::check_salvaged(store.view(), damage);
        mail::check_salvaged(store.view(), damage);
        drop(store);
        repair::mark(&world.path(), "and again").unwrap();
        let again = world.open_at(3, EVEN_LATER).unwrap();
        assert_eq!((again.store.log(), again.news), (log(2), vec![]), "{damage}");
    }
}

#[test]
fn an_id_that_a_row_does_not_vouch_for_hides_no_other() {
    for damage in [
        "UPDATE events SET id = 1000000 WHERE id = 100",
        "UPDATE events SET id = -100 WHERE id = 100",
        "UPDATE events SET id = 150, data = '{}' WHERE id = 100 AND (SELECT count(*) FROM deleted)",
        "INSERT INTO checkpoints VALUES (1000000, zeroblob(32), 0, NULL)",
    ] {
        let world = World::with(&filled(200, 5));
        world.tamper(&format!(
            "CREATE TEMP TABLE deleted AS SELECT 1; DELETE FROM events WHERE id = 150; {damage}"
        ));
        repair::mark(&world.path(), "x").unwrap();
        world.tamper("UPDATE events SET v = 2 WHERE id = 3");
        let store = world.open_at(2, LATER).unwrap().store;
        let (newest, kept, missing, _) = numbers(&said(&store, "store.repaired"));
        assert_eq!((newest, kept + missing), (Some(200), 200), "{damage}");
        assert!(kept >= 197, "{damage}: {kept}");
        check_whole(&world, kept + 1);
    }
}

#[test]
fn what_was_archived_is_not_called_missing() {
    // The archive is behind the checkpoint; not all of it need be out of the store yet.
    for (trimmed, lost, missing) in
        [(50, 100, 2), (0, 100, 2), (20, 100, 2), (50, 51, 2), (20, 50, 1), (20, 51, 2)]
    {
        let world = World::with(&filled(200, 5));
        world.tamper(&format!(
            "INSERT INTO checkpoints SELECT id, hash, at, 'older' FROM events WHERE id = 10;
             INSERT INTO checkpoints SELECT id, hash, at, 'old' FROM events WHERE id = 50;
             DELETE FROM events WHERE id <= {trimmed} OR id = {lost};
             UPDATE events SET v = 2 WHERE id = 60"
        ));
        repair::mark(&world.path(), "x").unwrap();
        let store = world.open_at(2, LATER).unwrap().store;
        let told = numbers(&said(&store, "store.repaired"));
        assert_eq!(told, (Some(200), 150 - missing, missing, 5), "{trimmed}, {lost}");
        check_whole(&world, 151 - missing);
        let files = "SELECT group_concat(file ORDER BY event) FROM checkpoints";
        let files: String = world.raw().query_row(files, [], |row| row.get(0)).unwrap();
        assert_eq!(files, "older,old");
    }
}

#[test]
fn a_damaged_store_of_a_later_cmux_is_left_for_that_one_to_mend() {
    let world = World::with(&filled(200, 5));
    world.tamper(
        "ALTER TABLE projects ADD COLUMN colour TEXT NOT NULL DEFAULT 'red';
         ALTER TABLE events ADD COLUMN weight INTEGER;
         CREATE TABLE tasks (id TEXT) STRICT; PRAGMA user_version = 11;
         UPDATE events SET v = 9 WHERE id = 7",
    );
    let bytes = fs::read(world.path()).unwrap();
    repair::mark(&world.path(), "x").unwrap();
    let refused = world.open_at(2, LATER).unwrap_err();
    assert!(matches!(refused, StoreError::TooNew { needed: 11, .. }), "{refused}");
    check_bytes(&world.path(), &bytes);
}

#[test]
fn a_table_that_is_not_described_as_it_was_made_is_damage() {
    let world = World::with(&filled(200, 5));
    world.tamper("ALTER TABLE projects RENAME COLUMN look_at TO look_au");
    let store = world.open_at(2, LATER).unwrap().store;
    let told = said(&store, "store.repaired");
    assert!(told["what_was_wrong"].as_str().unwrap().contains("the table projects"), "{told}");
    assert_eq!(numbers(&told).1, 200);
    check_whole(&world, 201);
}

#[test]
fn what_a_later_cmux_waits_for_is_left_alone() {
    let world = World::with(&filled(200, 5));
    world.tamper(
        "CREATE TABLE tasks (id TEXT) STRICT; INSERT INTO wake VALUES ('task:tsk_1', 0);
         PRAGMA user_version = 5",
    );
    let opened = world.open_at(2, LATER).unwrap();
    assert_eq!(opened.news, []);
    assert_eq!(wake::due(opened.store.view(), LATER, 9).unwrap(), []);
    assert_eq!(wake::next(opened.store.view()).unwrap(), None);
}

#[test]
fn a_store_of_a_later_cmux_is_refused_and_not_touched() {
    for marked in [false, true] {
        let world = World::with(&filled(200, 5));
        world.tamper("UPDATE schema SET oldest_reader = 11; PRAGMA user_version = 11");
        let bytes = fs::read(world.path()).unwrap();
        if marked {
            repair::mark(&world.path(), "x").unwrap();
        }
        for refused in [
            world.open_at(2, LATER).map(drop).unwrap_err(),
            Store::open(&world.path(), &world.backups(), log(2), LATER).map(drop).unwrap_err(),
            cmux_store::Reader::open(&world.path()).map(drop).unwrap_err(),
        ] {
            assert!(
                matches!(refused, StoreError::TooNew { needed: 11, known: 10, .. }),
                "{refused}"
            );
            assert!(refused.to_string().contains("was written by a later cmux"), "{refused}");
        }
        check_bytes(&world.path(), &bytes);
        assert_eq!(world.asides("").len(), 0);
    }
}

#[test]
fn a_store_that_cannot_be_mended_is_not_touched() {
    let world = World::with(b"not a database");
    // There is no folder to set it aside in, and no way to make one.
    fs::write(world.backups(), "in the way").unwrap();
    for _ in 0..2 {
        assert!(world.open_at(2, LATER).is_err());
        check_bytes(&world.path(), b"not a database");
    }
    fs::remove_file(world.backups()).unwrap();
    let store = world.open_at(2, LATER).unwrap().store;
    assert_eq!(said(&store, "store.repaired")["source"], "nothing");
    check_set_aside(&world, b"not a database");
}

#[test]
fn a_store_that_there_is_no_room_to_mend_is_not_touched() {
    let mut bytes = filled(200, 5);
    bytes[70] ^= 1;
    let world = World::with(&bytes);
    let mark = world.beside(".damaged.part");
    symlink("/dev/full", &mark).unwrap();
    for _ in 0..2 {
        let refused = world.open_at(2, LATER).map(drop).unwrap_err();
        assert!(matches!(refused, StoreError::Full), "{refused}");
        check_bytes(&world.path(), &bytes);
    }
    fs::remove_file(mark).unwrap();
    let store = world.open_at(2, LATER).unwrap().store;
    assert_eq!(numbers(&said(&store, "store.repaired")), (Some(200), 200, 0, 5));
}

#[test]
fn a_store_that_is_in_use_is_not_taken_for_a_damaged_one() {
    let world = World::with(&filled(200, 5));
    let other = world.raw();
    other.execute_batch("PRAGMA journal_mode = WAL; BEGIN EXCLUSIVE").unwrap();
    let refused = world.open_at(2, LATER).map(drop).unwrap_err();
    assert!(refused.to_string().contains("locked"), "{refused}");
    drop(other);
    assert_eq!(world.open().log(), log(1));
    assert_eq!(world.asides("damaged-").len(), 0);
}

#[test]
fn a_mark_without_damage_changes_nothing() {
    let world = World::with(&filled(200, 5));
    repair::mark(&world.path(), "x").unwrap();
    let opened = world.open_at(2, LATER).unwrap();
    assert_eq!((opened.store.log(), opened.news), (log(1), vec![]));
    assert!(!world.beside(".damaged").exists());
    check_whole(&world, 200);
}

#[test]
fn what_an_earlier_mending_left_behind_is_no_obstacle() {
    for left in [".draft", ".draft-wal", ".examined", ".examined-wal", ".damaged", ".damaged.part"]
    {
        let mut bytes = filled(200, 5);
        let world = World::with(&bytes);
        fs::write(world.beside(left), &bytes[5_000..30_000]).unwrap();
        bytes[70] ^= 1;
        fs::write(world.path(), &bytes).unwrap();
        let store = world.open_at(2, LATER).unwrap().store;
        assert_eq!(numbers(&said(&store, "store.repaired")), (Some(200), 200, 0, 5), "{left}");
        check_set_aside(&world, &bytes);
        check_whole(&world, 201);
    }
}

#[test]
fn two_damaged_stores_of_one_moment_are_both_kept() {
    let world = World::with(b"first");
    drop(world.open_at(2, LATER).unwrap());
    fs::write(world.path(), "second").unwrap();
    drop(world.open_at(3, LATER).unwrap());
    let asides = world.asides("damaged-");
    let kept: Vec<Vec<u8>> =
        asides.iter().map(|aside| fs::read(aside.join("cmux.db")).unwrap()).collect();
    assert_eq!(kept, [b"first".to_vec(), b"second".to_vec()]);
}

#[track_caller]
fn check_set_aside(world: &World, bytes: &[u8]) {
    let asides = world.asides("damaged-");
    assert_eq!(asides.len(), 1);
    check_bytes(&asides[0].join("cmux.db"), bytes);
}

/// Returns what a repair says: the newest known event, those kept and missing, and projects kept.
fn numbers(told: &Value) -> (Option<u64>, u64, u64, u64) {
    let number = |name: &str| told[name].as_u64();
    let must = |name: &str| number(name).unwrap();
    (number("newest_known"), must("events_kept"), must("events_missing"), must("projects_kept"))
}

fn snapshot(world: &World, now: Timestamp) -> PathBuf {
    backup::snapshot(&world.path(), &world.backups(), SnapshotKind::Daily, now).unwrap().0
}

/// Puts a row into each table that has none yet.
fn furnish(store: &mut Store, body: &str) {
    use cmux_core::snapshot::{Snapshot, SnapshotState};
    use cmux_store::cursors::{self, Cursor};
    let state = SnapshotState::Failed { at: NOW, why: "no room".to_owned() };
    let snapshot = Snapshot { id: crate::world::snapshot_id(1), kind: SnapshotKind::Daily, state };
    store
        .turn(|tx| {
            settings::save(tx, "kept", &json!({"a": 1}))?;
            payloads::keep(tx, body.as_bytes(), NOW)?;
            cmux_store::snapshots::save(tx, &snapshot)?;
            doors::furnish(tx)?;
            agents::furnish(tx)
                .and_then(|()| trust::furnish(tx))
                .and_then(|()| mail::furnish(tx))?;
            cursors::save(tx, "bus", Cursor { log: log(1), event: EventId(3) }, NOW)
        })
        .unwrap();
}

/// Returns the pages of the log's tree of one kind, in the order in which they are read.
fn pages(world: &World, kind: &str) -> Vec<usize> {
    let db = world.raw();
    let mut query = db
        .prepare("SELECT pageno FROM dbstat WHERE name = 'events' AND pagetype = ?1 ORDER BY path")
        .unwrap();
    let pages = query.query_map(params![kind], |row| row.get::<_, i64>(0)).unwrap();
    pages.map(|page| usize::try_from(page.unwrap()).unwrap()).collect()
}

/// Returns a closed store's file with `events` events, two or three to a page.
fn wide(events: i64) -> Vec<u8> {
    let world = World::new();
    let missing = What::ProjectMissing { root: format!("/{}", "x".repeat(1_000)) };
    let event = Event::own(missing);
    let all_in_one =
        |tx: &mut Tx<'_>| (0..events).try_for_each(|_| tx.append(&event, NOW).map(|_| ()));
    world.open().turn(all_in_one).unwrap();
    fs::read(world.path()).unwrap()
}
