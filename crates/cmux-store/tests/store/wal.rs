//! The write-ahead log that a killed daemon leaves: cut short or damaged, what came before it counts.

use std::fs;

use cmux_store::{chain, repair};

use crate::world::{Dice, LATER, World, all, check_bytes, check_whole, ids, log, said, tell};

#[test]
fn what_was_committed_survives_a_kill() {
    let world = killed().world();
    let store = world.open_at(2, LATER).unwrap().store;
    assert_eq!((store.log(), all(store.view()).len()), (log(1), 70));
}

#[test]
fn a_log_that_was_cut_short_gives_all_that_came_before() {
    let killed = killed();
    let mut dice = Dice(8);
    let length = killed.wal.len();
    let mut lengths: Vec<usize> = (0..30).map(|_| dice.below(length)).collect();
    lengths.extend([0, 1, 31, 32, 33, length - 1]);
    for length in lengths {
        check_prefix(&killed, &killed.wal[..length], &format!("{length} bytes"));
    }
}

#[test]
fn a_log_with_a_flipped_byte_gives_all_that_came_before() {
    let killed = killed();
    let mut dice = Dice(9);
    let mut places: Vec<usize> = (0..30).map(|_| dice.below(killed.wal.len())).collect();
    places.extend(0..32);
    for place in places {
        let mut wal = killed.wal.clone();
        wal[place] ^= dice.mask();
        check_prefix(&killed, &wal, &format!("byte {place}"));
    }
}

#[test]
fn a_damaged_store_is_set_aside_with_what_lay_beside_it() {
    let mut killed = killed();
    let text = b"{\"by_ms\":3}";
    let place = killed.database.windows(text.len()).rposition(|window| window == text).unwrap();
    killed.database[place] ^= 1;
    let world = killed.world();
    repair::mark(&world.path(), "x").unwrap();
    let store = world.open_at(2, LATER).unwrap().store;
    let told = said(&store, "store.repaired");
    assert_eq!((&told["events_kept"], &told["events_missing"]), (&69.into(), &1.into()), "{told}");
    let aside = world.asides("damaged-").remove(0);
    check_bytes(&aside.join("cmux.db"), &killed.database);
    check_bytes(&aside.join("cmux.db-wal"), &killed.wal);
}

#[test]
fn a_file_that_was_emptied_is_not_taken_for_a_new_one() {
    let killed = killed();
    let world = World::with(b"");
    fs::write(world.beside("-wal"), &killed.wal).unwrap();
    let store = world.open_at(2, LATER).unwrap().store;
    assert_eq!(said(&store, "store.repaired")["source"], "nothing");
    let aside = world.asides("damaged-").remove(0);
    check_bytes(&aside.join("cmux.db-wal"), &killed.wal);
}

/// The files of a daemon that was killed: 50 events in the database and 20 more beside it, each from a
/// turn of its own.
struct Killed {
    database: Vec<u8>,
    wal: Vec<u8>,
}

impl Killed {
    fn world(&self) -> World {
        let world = World::with(&self.database);
        fs::write(world.beside("-wal"), &self.wal).unwrap();
        world
    }
}

fn killed() -> Killed {
    let world = World::new();
    let mut store = world.open();
    tell(&mut store, 50);
    store.checkpoint().unwrap();
    (0..20).for_each(|_| tell(&mut store, 1));
    let database = fs::read(world.path()).unwrap();
    Killed { database, wal: fs::read(world.beside("-wal")).unwrap() }
}

/// Checks that a store with `wal` beside it opens as it was at some time, without a gap.
#[track_caller]
fn check_prefix(killed: &Killed, wal: &[u8], what: &str) {
    let world = World::with(&killed.database);
    fs::write(world.beside("-wal"), wal).unwrap();
    let mut store = world.open_at(2, LATER).unwrap().store;
    let rows = all(store.view());
    assert!((50..=70).contains(&rows.len()), "{what}: {}", rows.len());
    assert_eq!(ids(&rows), (1..=i64::try_from(rows.len()).unwrap()).collect::<Vec<_>>(), "{what}");
    assert_eq!(store.log(), log(1), "{what}: it was mended");
    tell(&mut store, 1);
    assert_eq!(chain::verify(store.view(), &[]).unwrap().misfit, None, "{what}");
    drop(store);
    check_whole(&world, rows.len() as u64 + 1);
}
