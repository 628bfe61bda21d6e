//! One byte of the store that is not what it was.

use std::fs;
use std::thread;

use cmux_testkit::dice::Dice;
use cmux_testkit::home::TestHome;
use cmux_wire::event::Event;

use crate::PROGRAM;
use crate::damage::{Sound, Steady, sound, survive};

/// As many as fit into a run of all tests.
const FLIPS: usize = 50;

/// The size of a page of the store, in bytes.
const PAGE: usize = 4096;

/// What a page that holds rows of a table begins with, and one that holds those of an index.
const TABLE_LEAF: u8 = 13;
const INDEX_LEAF: u8 = 10;

/// Daemons that are started at once.
const AT_ONCE: usize = 4;

#[test]
fn a_flipped_byte_is_harmless_or_mended_or_told_by_the_audit() {
    let sound = sound(100);
    let mut dice = Dice::seeded();
    let flips: Vec<Flip> = (0..FLIPS).map(|_| flip(&mut dice, sound.bytes.len())).collect();
    thread::scope(|scope| {
        for chunk in flips.chunks(FLIPS.div_ceil(AT_ONCE)) {
            let sound = &sound;
            scope.spawn(move || {
                for &flip in chunk {
                    check(sound, flip);
                }
            });
        }
    });
}

#[test]
fn a_row_of_a_type_that_no_cmux_wrote_does_not_stop_every_turn() {
    let sound = sound(3);
    // A text of n bytes has the type 13 + 2 n; the even number before it stands for as many raw bytes.
    let subject = format!("project:{}", sound.told.projects[0].id);
    let kind = u8::try_from(13 + 2 * subject.len()).unwrap();
    let row = [&[3, kind, 5], subject.as_bytes()].concat();
    let place = sound.bytes.windows(row.len()).position(|bytes| bytes == row).unwrap();
    assert!(check(&sound, (place + 1, 1)));
}

#[test]
fn a_version_that_no_cmux_will_reach_is_damage_and_no_later_cmux_s() {
    let sound = sound(3);
    // Where the header says which version of the store it is.
    assert!(check(&sound, (60, 0x80)));
}

#[test]
fn a_state_that_rows_refer_to_is_missed_before_a_row_is_refused_for_it() {
    let sound = sound(3);
    // Only the index is asked whether there is such a state, and there the two lie side by side.
    let page = sound.bytes.chunks(PAGE).position(|page| {
        let has = |word: &[u8]| page.windows(word.len()).any(|bytes| bytes == word);
        page[0] == INDEX_LEAF && has(b"due") && has(b"underway") && !has(b"taken")
    });
    let begin = page.unwrap() * PAGE;
    let due = sound.bytes[begin..begin + PAGE].windows(3).position(|bytes| bytes == b"due");
    assert!(check(&sound, (begin + due.unwrap() + 2, 1)));
}

#[test]
fn the_newest_event_is_missed_if_its_page_has_forgotten_it() {
    let sound = sound(3);
    let newest = b"daemon.stopping";
    let mut places = sound.bytes.windows(newest.len()).enumerate();
    let is_in_table = |place: usize| sound.bytes[place / PAGE * PAGE] == TABLE_LEAF;
    let found = places.find(|&(place, bytes)| bytes == newest && is_in_table(place));
    let rows = found.unwrap().0 / PAGE * PAGE + 4;
    assert!(check(&sound, (rows, sound.bytes[rows] ^ (sound.bytes[rows] - 1))));
}

/// A place in the file, and the bits that change there.
type Flip = (usize, u8);

/// Returns a flip anywhere, or just as likely where the rest of a page hangs on it.
fn flip(dice: &mut Dice, length: usize) -> Flip {
    let anywhere = usize::try_from(dice.below(length as u64)).unwrap();
    let place = match dice.below(2) {
        0 => anywhere,
        _ => anywhere / PAGE * PAGE + usize::try_from(dice.below(64)).unwrap(),
    };
    (place, 1 << dice.below(8))
}

/// Flips a byte, and checks what comes of it. Returns whether it was mended.
fn check(sound: &Sound, (place, mask): Flip) -> bool {
    let home = TestHome::new(PROGRAM);
    let mut damaged = sound.bytes.clone();
    damaged[place] ^= mask;
    fs::write(home.root().join("cmux.db"), &damaged).unwrap();
    let context = format!("byte {place} ^ {mask:#04x}");
    let survived = survive(&home, &context);
    let context = format!("{context}: {:?}", survived.notice);
    let log = &survived.steady.told.log;
    assert_eq!(survived.notice.is_some(), *log != sound.told.log, "{context}");
    match (&survived.notice, &survived.kept) {
        (Some(notice), Some(kept)) => {
            assert!(notice.contains(&kept.folder.display().to_string()), "{context}");
            assert!(survived.starts > 1 || kept.database == damaged, "{context}");
            assert_mended(sound, &survived.steady, &context);
        }
        (None, None) => assert_harmless_or_told(sound, &survived.steady, &context),
        (Some(_), None) | (None, Some(_)) => panic!("{context}"),
    }
    survived.notice.is_some()
}

#[track_caller]
fn assert_harmless_or_told(sound: &Sound, steady: &Steady, context: &str) {
    let is_same = steady.told.events.starts_with(&sound.told.events);
    assert!(is_same || !steady.audit.ok, "{context}");
    assert!(steady.finds || !steady.check.ok, "{context}");
}

#[track_caller]
fn assert_mended(sound: &Sound, steady: &Steady, context: &str) {
    assert!(steady.finds && steady.audit.ok && steady.check.ok, "{context}");
    // What is told of the time before is true, if not all of it.
    let newest = sound.told.events.last().map_or(0, |event| event.id);
    let is_before = |event: &&Event| event.id <= newest && event.kind != "store.repaired";
    for event in steady.told.events.iter().take_while(is_before) {
        assert!(sound.told.events.contains(event), "{context}: {event:?}");
    }
}
