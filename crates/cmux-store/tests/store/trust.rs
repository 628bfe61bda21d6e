//! What the person approved of projects: read back as it was, and gone with its project.

use cmux_core::digest::Digest;
use cmux_core::event::{Actor, Event, What};
use cmux_core::trust::{ProjectFile, Trust};
use cmux_store::{Store, StoreError, Tx, View, projects, trust};
use rusqlite::ErrorCode;
use serde_json::json;

use crate::world::{LATER, NOW, World, all, project};

#[test]
fn what_is_approved_is_read_back_and_taken_back() {
    let world = World::new();
    let mut store = open(&world);
    let (one, other) = (project(1).id, project(2).id);
    for approved in [
        Trust::default(),
        Trust::default().approve(&files(), false, NOW),
        Trust::default().approve(&[], true, LATER),
        furniture(),
    ] {
        do_in_turn(&mut store, |tx| trust::save(tx, &one, &approved));
        assert_eq!(trust::find(store.view(), &one).unwrap(), approved);
        assert!(trust::find(store.view(), &other).unwrap().is_empty());
    }
    do_in_turn(&mut store, |tx| trust::save(tx, &other, &furniture()));
    do_in_turn(&mut store, |tx| trust::forget(tx, &one));
    assert!(trust::find(store.view(), &one).unwrap().is_empty());
    assert_eq!(trust::find(store.view(), &other).unwrap(), furniture());
    // A project does not go and leave it behind.
    assert!(store.turn(|tx| projects::remove(tx, &other)).is_err());
}

#[test]
fn what_was_approved_is_told_with_what_it_was() {
    let world = World::new();
    let mut store = open(&world);
    let (config, role) = (ProjectFile::Config, ProjectFile::of_role("worker").unwrap());
    let digest = Digest::of(b"a");
    for (what, kind, data) in [
        (
            What::ProjectTrusted { files: vec![(config.clone(), digest)], folder: true },
            "project.trusted",
            json!({"files": [{"path": ".cmux/config.toml", "digest": digest.hex()}], "folder": true}),
        ),
        (
            What::ProjectUntrusted { files: vec![config, role], folder: false },
            "project.untrusted",
            json!({"files": [".cmux/config.toml", ".cmux/roles/worker.md"], "folder": false}),
        ),
    ] {
        let id = project(1).id;
        let event = Event { actor: Actor::Operator, ..Event::own_in(&id, what) };
        do_in_turn(&mut store, |tx| tx.append(&event, NOW).map(drop));
        let row = all(store.view()).pop().unwrap();
        let subject = Some(format!("project:{id}"));
        assert_eq!(
            (row.kind.as_str(), row.actor.as_str(), row.subject),
            (kind, "operator", subject)
        );
        assert_eq!(row.data.parse::<serde_json::Value>().unwrap(), data);
    }
}

#[test]
fn a_row_of_trust_cannot_hold_what_the_core_cannot_express() {
    let world = World::new();
    drop(open(&world));
    let db = world.raw();
    db.pragma_update(None, "foreign_keys", true).unwrap();
    let (id, path) = (project(1).id, ".cmux/config.toml");
    for sql in [
        format!("INSERT INTO trusted_files VALUES ('nobody', '{path}', zeroblob(32), 0)"),
        format!("INSERT INTO trusted_files VALUES ('{id}', '/etc/passwd', zeroblob(32), 0)"),
        format!("INSERT INTO trusted_files VALUES ('{id}', '{path}', zeroblob(31), 0)"),
        "INSERT INTO trusted_folders VALUES ('nobody', 0)".to_owned(),
    ] {
        let code = db.execute(&sql, []).unwrap_err().sqlite_error_code();
        assert_eq!(code, Some(ErrorCode::ConstraintViolation), "{sql}");
    }
    db.execute(
        &format!("INSERT INTO trusted_files VALUES ('{id}', '{path}', zeroblob(32), 0)"),
        [],
    )
    .unwrap();
}

/// Puts what is approved into the store, of a project that is there.
pub(crate) fn furnish(tx: &Tx<'_>) -> Result<(), StoreError> {
    trust::save(tx, &project(2).id, &furniture())
}

/// Checks that it was saved but for what the `damage`, `UPDATE table …`, was done to.
#[track_caller]
pub(crate) fn check_salvaged(view: View<'_>, damage: &str) {
    let mut expected = furniture();
    if damage.starts_with("UPDATE trusted_files") {
        expected.files.clear();
    }
    assert_eq!(trust::find(view, &project(2).id).unwrap(), expected, "{damage}");
}

fn furniture() -> Trust {
    Trust::default().approve(&files(), true, NOW)
}

fn files() -> [(ProjectFile, Digest); 2] {
    let role = ProjectFile::of_role("worker").unwrap();
    [(ProjectFile::Config, Digest::of(b"a")), (role, Digest::of(b"b"))]
}

/// Opens a store in which there are two projects.
fn open(world: &World) -> Store {
    let mut store = world.open();
    do_in_turn(&mut store, |tx| {
        projects::save(tx, &project(1))?;
        projects::save(tx, &project(2))
    });
    store
}

#[track_caller]
fn do_in_turn(store: &mut Store, work: impl FnOnce(&mut Tx<'_>) -> Result<(), StoreError>) {
    store.turn(work).unwrap();
}
