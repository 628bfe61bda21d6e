//! One byte of the store that is not what it was.

use std::fs;
use std::thread;

use cmux_testkit::dice::Dice;
use cmux_testkit::home::TestHome;

use crate::PROGRAM;
use crate::damage::{Sound, Survived, sound, survive};

/// As many as fit into a run of all tests.
const FLIPS: usize = 50;

/// The size of a page of the store, in bytes.
const PAGE: usize = 4096;

/// Daemons that are started at once.
const AT_ONCE: usize = 4;

#[test]
fn a_flipped_byte_is_harmless_or_mended_or_told_by_the_audit() {
    let sound = sound(100);
    let mut dice = Dice::seeded();
    let flips: Vec<Flip> = (0..FLIPS).map(|_| flip(&mut dice, sound.bytes.len())).collect();
    let mended: usize = thread::scope(|scope| {
        let chunks = flips.chunks(FLIPS.div_ceil(AT_ONCE));
        let checks = chunks.map(|chunk| {
            let sound = &sound;
            scope.spawn(move || chunk.iter().filter(|&&flip| check(sound, flip)).count())
        });
        let checks: Vec<_> = checks.collect();
        checks.into_iter().map(|check| check.join().unwrap()).sum()
    });
    eprintln!("{mended} mended of {FLIPS}, {} bytes", sound.bytes.len());
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
    assert_eq!(survived.notice.is_some(), !survived.kept.is_empty(), "{context}");
    assert_eq!(survived.notice.is_some(), survived.told.log != sound.told.log, "{context}");
    match &survived.notice {
        Some(notice) => assert_mended(sound, &survived, notice, &damaged, &context),
        None => {
            let is_same = survived.told.events.starts_with(&sound.told.events);
            assert!(is_same || !survived.audit.ok, "{context}");
        }
    }
    survived.notice.is_some()
}

#[track_caller]
fn assert_mended(sound: &Sound, survived: &Survived, notice: &str, damaged: &[u8], context: &str) {
    let [kept] = survived.kept.as_slice() else { panic!("{context}: {:?}", survived.kept) };
    assert!(notice.contains(&kept.display().to_string()), "{context}");
    if survived.starts == 1 {
        assert_eq!(fs::read(kept.join("cmux.db")).unwrap(), damaged, "{context}");
    }
    assert!(survived.audit.ok, "{context}: {:?}", survived.audit);
    // What is told of the time before is true, if not all of it.
    for event in &sound.told.events {
        let told = survived.told.events.iter().find(|told| told.id == event.id);
        assert!(told.is_none_or(|told| told == event), "{context}: {told:?} was {event:?}");
    }
}
