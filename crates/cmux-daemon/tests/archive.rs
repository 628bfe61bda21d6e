//! Old events go to a file and out of the store, and the chain holds all the same.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use cmux_core::archive::{Archive, TRIM_MAX};
use cmux_core::event::{Actor, Event, What};
use cmux_core::id::{EventId, LogId, NewIds};
use cmux_core::report::{Answer, Ask, Report};
use cmux_core::settings::Settings;
use cmux_core::time::Timestamp;
use cmux_daemon::kernel::{Denied, Kernel};
use cmux_store::{Reader, Store, StoreError, View, archive, chain, events};
use ulid::Ulid;

/// More than two parts, so that taking them out takes several turns.
const EVENTS: i64 = 2 * TRIM_MAX + 100;

#[test]
fn old_events_go_to_a_file_and_the_rest_still_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cmux.db");
    let mut kernel = filled(&path);
    let through = read(&path, |view| archive::newest_before(view, Timestamp(EVENTS - 50)));
    let through = through.unwrap();
    let file = folder.path().join("old.jsonl");
    let written = read(&path, |view| archive::export(view, through, &file));
    assert_eq!(written.rows, u64::try_from(through.0).unwrap());
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count() as u64, written.rows);

    assert_eq!(ask(&mut kernel, &written), Ok(Answer::Heard));
    assert!(read(&path, archive::oldest) < Some(through), "all went in one turn");
    // Between two turns, with some taken out and some not, the daemon may die.
    drop(kernel);
    let mut kernel = Kernel::new(open(&path), Settings::default().store, started());
    while kernel.turn(&[], later(), &mut Ids).unwrap().wake_at == Some(later()) {}
    assert_eq!(read(&path, archive::oldest), Some(EventId(through.0 + 1)));
    let walk = read(&path, |view| chain::verify(view, &[]));
    assert_eq!(walk.misfit, None);
    assert_eq!(walk.head, read(&path, events::head).id);
    assert!(walk.head > through);
}

#[test]
fn what_was_not_archived_is_not_taken_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cmux.db");
    let mut kernel = filled(&path);
    let forged = Archive {
        through: EventId(5),
        hash: [7; 32],
        rows: 5,
        file: "nowhere".to_owned(),
        sha256: String::new(),
    };
    assert!(matches!(ask(&mut kernel, &forged), Err(Denied::Refused(_))));
    assert_eq!(read(&path, archive::oldest), Some(EventId(1)));
}

fn ask(kernel: &mut Kernel, archive: &Archive) -> Result<Answer, Denied> {
    let ask = Ask::ArchiveLog { archive: archive.clone() };
    let asked = Report::Asked { actor: Actor::Operator, ask };
    kernel.turn(&[asked], later(), &mut Ids).unwrap().answers.remove(0)
}

/// Returns a kernel whose log has `EVENTS` events, one a millisecond.
fn filled(path: &Path) -> Kernel {
    let mut store = open(path);
    let filling = store.turn(|tx| {
        for at in 0..EVENTS {
            let what = What::ProjectFound { root: "/some/where".to_owned() };
            tx.append(&Event::own(what), Timestamp(at))?;
        }
        Ok(())
    });
    filling.unwrap();
    let mut kernel = Kernel::new(store, Settings::default().store, started());
    kernel.turn(&[], later(), &mut Ids).unwrap();
    kernel
}

fn later() -> Timestamp {
    Timestamp(EVENTS)
}

fn open(path: &Path) -> Store {
    Store::open(path, path, LogId::new(Ids.ulid()), Timestamp(0)).unwrap().0
}

fn read<T>(path: &Path, work: impl FnOnce(View<'_>) -> Result<T, StoreError>) -> T {
    Reader::open(path).unwrap().read(work).unwrap()
}

fn started() -> Report {
    Report::Started { version: "1".to_owned(), pid: 1, guarded: false, news: Vec::new() }
}

struct Ids;

impl NewIds for Ids {
    fn ulid(&mut self) -> Ulid {
        Ulid::from(1_u128)
    }
}
