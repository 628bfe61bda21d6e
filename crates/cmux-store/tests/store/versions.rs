//! Stores that an earlier cmux has written: they are migrated, read, and mended as their own.

use cmux_core::event::What;
use cmux_core::id::EventId;
use cmux_store::{repair, wake};
use rusqlite::Connection;

use crate::world::{LATER, NOW, World, all, check_whole, filled, ids, log, said, tell};
use crate::{agents, doors};

/// The first version, as it was released.
const FIRST: &str = include_str!("../../migrations/0001_ground.sql");

#[test]
fn a_store_of_the_first_version_is_migrated_and_read() {
    for marked in [false, true] {
        let world = first(200, 5);
        if marked {
            // A look at all of it finds nothing missing that its version does not have.
            repair::mark(&world.path(), "a turn came across it").unwrap();
        }
        let mut opened = world.open_at(2, LATER).unwrap();
        let [What::StoreMigrated { from: 1, to: 10, snapshot: Some(copy) }] = &opened.news[..]
        else {
            panic!("{:?}", opened.news);
        };
        assert_eq!(version(&Connection::open(copy).unwrap()), 1);
        assert_eq!(version(&world.raw()), 10);
        let store = &mut opened.store;
        assert_eq!((store.log(), store.head().id), (log(1), EventId(200)));
        assert_eq!(ids(&all(store.view())), (1..=200).collect::<Vec<i64>>());
        assert_eq!(cmux_store::projects::all(store.view()).unwrap().len(), 5);
        assert_eq!(wake::next(store.view()).unwrap(), Some(NOW));
        store.turn(|tx| doors::furnish(tx).and_then(|()| agents::furnish(tx))).unwrap();
        assert!(doors::found(store.view()).iter().all(|(_, found)| *found));
        agents::check_salvaged(store.view(), "");
        tell(store, 1);
        check_whole(&world, 201);
        drop(opened);
        assert_eq!(world.open_at(3, LATER).unwrap().news, []);
    }
}

#[test]
fn a_damaged_store_of_the_first_version_loses_no_table_that_can_be_told() {
    let world = first(200, 5);
    world.tamper("ALTER TABLE projects RENAME COLUMN look_at TO look_au");
    let store = world.open_at(2, LATER).unwrap().store;
    let told = said(&store, "store.repaired");
    assert_eq!((&told["events_kept"], &told["projects_kept"]), (&200.into(), &5.into()), "{told}");
    assert_eq!(version(&world.raw()), 10);
    check_whole(&world, 201);
}

/// Returns a folder with a store of the first version, in which there is all of a later one that the
/// first could hold.
fn first(events: i64, projects: u32) -> World {
    let (new, old) = (World::with(&filled(events, projects)), World::new());
    let db = old.raw();
    db.execute_batch(FIRST).unwrap();
    db.execute("ATTACH ?1 AS new", [new.path().to_str().unwrap()]).unwrap();
    for table in ["logs", "events", "projects"] {
        db.execute_batch(&format!("INSERT INTO {table} SELECT * FROM new.{table}")).unwrap();
    }
    db.execute("INSERT INTO wake VALUES ('daemon', ?1)", [NOW.0]).unwrap();
    db.pragma_update(None, "application_id", 0x636d_7578).unwrap();
    db.pragma_update(None, "user_version", 1).unwrap();
    drop(db);
    old
}

fn version(db: &Connection) -> u32 {
    db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}
