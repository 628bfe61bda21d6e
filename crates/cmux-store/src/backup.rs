//! Copies of the database: taken whole, checked, and put back.

use std::fs;
use std::path::{Path, PathBuf};

use cmux_core::event::{Actor, Event, What};
use cmux_core::id::{EventId, LogId};
use cmux_core::snapshot::{Copied, SnapshotKind};
use cmux_core::time::Timestamp;
use serde_json::{Value, json};

use crate::chain::Anchor;
use crate::file::{at, beside, digest, hex, remove, settle, stamp, sync_folder, write};
use crate::kinds::snapshot_kind;
use crate::store::View;
use crate::{Reader, Store, StoreError, check, events, logs};

/// What is known of a copy from the note that lies beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub log: LogId,
    pub head: EventId,
    pub hash: [u8; 32],
    pub sha256: String,
    pub bytes: u64,
    pub events: u64,
}

/// Copies the database at `path` to `to`, checks the copy, and writes a note beside it.
pub fn copy(path: &Path, to: &Path, now: Timestamp) -> Result<Copied, StoreError> {
    let part = beside(to, ".part");
    remove(&part)?;
    let done = copy_into(path, &part);
    let note = match done {
        Ok(note) => note,
        Err(error) => {
            remove(&part)?;
            return Err(error);
        }
    };
    settle(&part, to)?;
    write(&note_path(to), write_note(&note, now).as_bytes())?;
    let file = to.to_string_lossy().into_owned();
    Ok(Copied { file, bytes: note.bytes, sha256: note.sha256, head: note.head })
}

fn copy_into(path: &Path, part: &Path) -> Result<Note, StoreError> {
    let target = part.to_str().ok_or_else(|| StoreError::BadBackup {
        path: part.to_owned(),
        why: "its name is not UTF-8".to_owned(),
    })?;
    let source = Reader::open(path)?;
    source.vacuum_into(target)?;
    drop(source);
    inspect(part)
}

/// Checks the copy at `path` whole, and returns what is to be noted of it.
fn inspect(path: &Path) -> Result<Note, StoreError> {
    let bad = |why: String| StoreError::BadBackup { path: path.to_owned(), why };
    let (bytes, sha256) = digest(path)?;
    let mut copy = match Reader::open(path) {
        Err(StoreError::Damaged { what }) => return Err(bad(what)),
        opened => opened?,
    };
    copy.read(|view| {
        let found = match check::check(view) {
            Err(StoreError::Damaged { what }) => return Err(bad(what)),
            checked => checked?,
        };
        if let Some(problem) = found.problems.into_iter().next() {
            return Err(bad(problem));
        }
        let log = logs::current(view)?.ok_or_else(|| bad("it has no log".to_owned()))?;
        let head = events::head(view)?;
        Ok(Note { log, head: head.id, hash: head.hash, sha256, bytes, events: found.events })
    })
}

/// Copies the database at `path` to the folder `backups`, under a name that says when and why.
pub fn snapshot(
    path: &Path,
    backups: &Path,
    kind: SnapshotKind,
    now: Timestamp,
) -> Result<(PathBuf, Copied), StoreError> {
    fs::create_dir_all(backups).map_err(at(backups))?;
    let to = backups.join(format!("{}-{}.db", snapshot_kind(kind), stamp(now)));
    let copied = copy(path, &to, now)?;
    Ok((to, copied))
}

/// Removes all but the newest `keep` snapshots of `kind`.
pub fn prune(backups: &Path, kind: SnapshotKind, keep: usize) -> Result<(), StoreError> {
    let prefix = format!("{}-", snapshot_kind(kind));
    let mut files = files(backups)?;
    files.retain(|file| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
    });
    for file in files.iter().rev().skip(keep) {
        remove(file)?;
        remove(&note_path(file))?;
    }
    Ok(())
}

/// Returns the snapshots in `backups`, oldest first by name.
fn files(backups: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let Ok(entries) = fs::read_dir(backups) else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(at(backups))?.path();
        if path.extension().is_some_and(|extension| extension == "db") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the newest snapshot in `backups` that is as good as on the day it was taken.
pub(crate) fn newest_good(backups: &Path) -> Result<Option<(PathBuf, Note)>, StoreError> {
    let mut noted: Vec<(PathBuf, Note)> = files(backups)?
        .into_iter()
        .filter_map(|file| read_note(&file).map(|note| (file, note)))
        .collect();
    noted.sort_by_key(|(file, note)| (note.head, file.clone()));
    while let Some((file, note)) = noted.pop() {
        if verify(&file).is_ok() {
            return Ok(Some((file, note)));
        }
    }
    Ok(None)
}

/// Returns the newest event that any snapshot in `backups` knows of the log `log`.
pub(crate) fn newest_known(backups: &Path, log: Option<LogId>) -> Option<EventId> {
    let notes = files(backups).ok()?.into_iter().filter_map(|file| read_note(&file));
    notes.filter(|note| Some(note.log) == log).map(|note| note.head).max()
}

/// Checks that the backup at `path` is sound, and what its note says of it.
pub fn verify(path: &Path) -> Result<Note, StoreError> {
    let found = inspect(path)?;
    match read_note(path) {
        Some(noted) if noted.sha256 != found.sha256 => Err(StoreError::BadBackup {
            path: path.to_owned(),
            why: "its SHA-256 is not the one that was noted when it was taken".to_owned(),
        }),
        Some(_) | None => Ok(found),
    }
}

/// Puts the backup at `from` in the place of the database at `path`, under the log id `log`. What was
/// there is moved into `backups`, and returned.
pub fn restore(
    from: &Path,
    path: &Path,
    backups: &Path,
    log: LogId,
    now: Timestamp,
) -> Result<Option<PathBuf>, StoreError> {
    verify(from)?;
    let part = beside(path, ".restored");
    for suffix in ["", "-wal", "-shm"] {
        remove(&beside(&part, suffix))?;
    }
    fs::copy(from, &part).map_err(at(&part))?;
    let aside = path.exists().then(|| backups.join(format!("replaced-{}", stamp(now))));
    let what = What::StoreRestored {
        from: from.to_string_lossy().into_owned(),
        replaced: aside.as_ref().map(|aside| aside.to_string_lossy().into_owned()),
    };
    begin_again(&part, backups, log, now, what, Actor::Operator)?;
    if let Some(aside) = &aside {
        set_aside(path, aside)?;
    }
    settle(&part, path)?;
    Ok(aside)
}

/// Begins a new log in the database at `path`, and tells why in its first event.
pub(crate) fn begin_again(
    path: &Path,
    backups: &Path,
    log: LogId,
    now: Timestamp,
    what: What,
    actor: Actor,
) -> Result<(), StoreError> {
    let (mut store, _) = Store::open(path, backups, log, now)?;
    let now = store.head().at.map_or(now, |newest| newest.max(now));
    store.turn(|tx| {
        if logs::current(tx.view())? != Some(log) {
            logs::begin(tx.db, log, events::head(tx.view())?.id, now)?;
        }
        tx.append(&Event { actor, ..Event::own(what) }, now)
    })?;
    store.checkpoint()
}

/// Moves the database at `path` with all that belongs to it into the folder `aside`, untouched.
pub(crate) fn set_aside(path: &Path, aside: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(aside).map_err(at(aside))?;
    for suffix in ["-wal", "-shm", ""] {
        let file = beside(path, suffix);
        if let (true, Some(name)) = (file.exists(), file.file_name()) {
            fs::rename(&file, aside.join(name)).map_err(at(&file))?;
        }
    }
    sync_folder(path)?;
    sync_folder(&aside.join("x"))
}

/// Returns the places that the log is known to have reached, from the notes beside the snapshots.
pub fn anchors(backups: &Path, view: View<'_>) -> Result<Vec<Anchor>, StoreError> {
    let lives = logs::lives(view)?;
    let mut anchors = Vec::new();
    for file in files(backups)? {
        let Some(note) = read_note(&file) else { continue };
        let Some(life) = lives.iter().position(|(log, _)| *log == note.log) else { continue };
        let over_at = lives.get(life + 1).map(|(_, after)| *after);
        if over_at.is_none_or(|over_at| note.head <= over_at) && note.head > EventId(0) {
            let source = file.to_string_lossy().into_owned();
            anchors.push(Anchor { id: note.head, hash: note.hash, source });
        }
    }
    Ok(anchors)
}

fn note_path(file: &Path) -> PathBuf {
    file.with_extension("json")
}

fn write_note(note: &Note, now: Timestamp) -> String {
    let note = json!({
        "log": note.log.to_string(),
        "head": note.head.0,
        "hash": hex(&note.hash),
        "sha256": note.sha256,
        "bytes": note.bytes,
        "events": note.events,
        "at": now.0,
    });
    format!("{note}\n")
}

/// Returns the note beside the copy at `file`, if there is one that can be read.
pub fn read_note(file: &Path) -> Option<Note> {
    let note: Value = serde_json::from_slice(&fs::read(note_path(file)).ok()?).ok()?;
    let text = |name: &str| note[name].as_str().map(ToOwned::to_owned);
    let hash = text("hash")?;
    let digits = |n: usize| u8::from_str_radix(hash.get(2 * n..2 * n + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..32).map(digits).collect();
    Some(Note {
        log: text("log")?.parse().ok()?,
        head: EventId(note["head"].as_i64()?),
        hash: bytes?.try_into().ok()?,
        sha256: text("sha256")?,
        bytes: note["bytes"].as_u64()?,
        events: note["events"].as_u64()?,
    })
}
