//! One flipped byte, anywhere in the file: the store opens, says what it lost, and can be written to.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use cmux_core::time::Timestamp;
use cmux_store::events::{self, Filter, Row};
use cmux_store::{Store, StoreError, chain, projects, repair};
use serde_json::Value;

use crate::world::{
    Dice, EVEN_LATER, LATER, NOW, PAGE, World, all, check_bytes, filled, jump, log, project,
};

const EVENTS: i64 = 2_000;
const PROJECTS: u32 = 50;

/// A sound store, and its log.
static SOUND: LazyLock<(Vec<u8>, BTreeMap<i64, Row>)> = LazyLock::new(|| {
    let bytes = filled(EVENTS, PROJECTS);
    let rows = all(World::with(&bytes).open().view());
    (bytes, rows.into_iter().map(|row| (row.id.0, row)).collect())
});

#[test]
fn a_flipped_byte_in_the_first_half_costs_what_it_hit_and_no_more() {
    flip(Dice(0x636d_7578), 0..SOUND.0.len() / 2);
}

#[test]
fn a_flipped_byte_in_the_second_half_costs_what_it_hit_and_no_more() {
    flip(Dice(0x7875_6d63), SOUND.0.len() / 2..SOUND.0.len());
}

#[test]
fn a_flipped_byte_in_the_header_costs_nothing_that_is_known_better() {
    // One byte of each field. The size of a page, at 16, is not known better.
    let fields =
        [0, 15, 18, 19, 20, 21, 22, 23, 24, 28, 31, 32, 36, 40, 44, 47, 48, 52, 56, 59, 60];
    let mut dice = Dice(1);
    for place in fields.into_iter().chain([63, 64, 68, 71, 72, 92, 96]) {
        let lost = survive(place, dice.mask());
        assert!(lost == 0, "byte {place} cost {lost} events");
    }
}

#[test]
fn a_flipped_byte_in_the_description_of_the_tables_costs_no_event() {
    let sound = &SOUND.0;
    let mut dice = Dice(2);
    let places = [
        "CREATE TABLE events",
        "actor    TEXT",
        "BLOB    NOT NULL CHECK (length(prev)",
        "CREATE TABLE projects",
        "root           TEXT",
        "CREATE TABLE logs",
        "CREATE INDEX events_by_kind",
        "events_by_kind",
        "sqlite_autoindex_projects_1",
        "tableevents",
    ];
    for text in places {
        let place = find(sound, text) + dice.below(text.len());
        let lost = survive(place, dice.mask());
        assert!(lost == 0, "{text}, byte {place} cost {lost} events");
    }
}

/// Flips a hundred bytes in that stretch of the sound store, each by itself.
#[track_caller]
fn flip(mut dice: Dice, places: Range<usize>) {
    let flips = (0..100).map(|_| (places.start + dice.below(places.len()), dice.mask()));
    let lost = flips.filter(|&(place, mask)| survive(place, mask) > 40).count();
    // Only what all the rest hangs on, such as the root of a tree, can cost more than a page or two.
    assert!(lost <= 2, "{lost} flips cost more");
}

/// Flips one byte of the sound store, sees that it is dealt with, and returns how many events that cost.
#[track_caller]
fn survive(place: usize, mask: u8) -> usize {
    let mut bytes = SOUND.0.clone();
    bytes[place] ^= mask;
    let what = format!("byte {place} (page {}) by {mask}", place / PAGE + 1);
    let world = World::with(&bytes);
    let mut store = open(&world, 2, LATER, &what);
    let repaired = store.log() == log(2);
    if repaired {
        check_repaired(&world, &store, &bytes, &what);
    }
    let fine = is_fine(&mut store, &what);
    assert!(fine || !repaired, "{what}: it is not mended");
    // Whatever the turns did not come across is found by a look at all of it.
    drop(store);
    repair::mark(&world.path(), "a turn found it").unwrap();
    let mut store = open(&world, 3, LATER, &what);
    assert!(is_fine(&mut store, &what), "{what}: it is not mended");
    let (head, life) = (store.head(), store.log());
    drop(store);
    let again = world.open_at(9, EVEN_LATER).unwrap();
    assert_eq!((again.store.head(), again.store.log()), (head, life), "{what}");
    assert_eq!(again.news, [], "{what}");
    missing(&world, &what)
}

#[track_caller]
fn open(world: &World, new_log: u128, now: Timestamp, what: &str) -> Store {
    match world.open_at(new_log, now) {
        Ok(opened) => opened.store,
        Err(error) => panic!("{what}: {error}"),
    }
}

/// Returns whether the store can be written to and its chain fits. If not, it must say so.
#[track_caller]
fn is_fine(store: &mut Store, what: &str) -> bool {
    let written = store.turn(|tx| {
        projects::all(tx.view())?;
        projects::save(tx, &project(1_000))?;
        tx.append(&jump(7), LATER)
    });
    let walked = chain::verify(store.view(), &[]);
    for error in [written.as_ref().err(), walked.as_ref().err()].into_iter().flatten() {
        assert!(matches!(error, StoreError::Damaged { .. }), "{what}: {error}");
    }
    written.is_ok() && walked.is_ok_and(|walked| walked.misfit.is_none())
}

/// Checks what is told of a repair.
#[track_caller]
fn check_repaired(world: &World, store: &Store, damaged: &[u8], what: &str) {
    let asides = world.asides("damaged-");
    assert_eq!(asides.len(), 1, "{what}");
    check_bytes(&asides[0].join("cmux.db"), damaged);
    let told = repaired(store).unwrap();
    let number = |name: &str| told[name].as_u64().unwrap();
    assert_eq!(told["kept_at"], asides[0].to_string_lossy().as_ref(), "{what}");
    let kept = events::count(store.view()).unwrap() - 1;
    assert_eq!(number("events_kept"), kept, "{what}");
    assert_eq!(
        number("projects_kept"),
        projects::all(store.view()).unwrap().len() as u64,
        "{what}"
    );
    assert!(number("projects_kept") <= u64::from(PROJECTS), "{what}");
    let newest_known = told["newest_known"].as_u64().unwrap_or(0);
    assert!(newest_known <= EVENTS as u64, "{what}: {told}");
    assert_eq!(number("events_kept") + number("events_missing"), newest_known, "{what}: {told}");
    assert_eq!(told["source"] == "nothing", kept == 0, "{what}: {told}");
}

/// Returns what was told of a repair, if there was one.
fn repaired(store: &Store) -> Option<Value> {
    let kind = Some("store.repaired".to_owned());
    let filter = Filter { kind, ..Filter::default() };
    let rows = events::newest(store.view(), 1, &filter).unwrap();
    rows.first().map(|row| serde_json::from_str(&row.data).unwrap())
}

/// Returns how many events are not there any more, having seen that the others say what they said.
#[track_caller]
fn missing(world: &World, what: &str) -> usize {
    let db = world.raw();
    let mut query = db.prepare("SELECT id, kind, data FROM events WHERE at = ?1").unwrap();
    let mut there = 0;
    let mut rows = query.query([NOW.0]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let was = &SOUND.1[&row.get(0).unwrap()];
        let said: (String, String) = (row.get(1).unwrap(), row.get(2).unwrap());
        assert!(said == (was.kind.clone(), was.data.clone()), "{what}: event {}", was.id);
        there += 1;
    }
    SOUND.1.len() - there
}

fn find(bytes: &[u8], text: &str) -> usize {
    bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap()
}
