//! Copies of the database: taken whole, checked, and put back.

use std::fs;
use std::path::{Path, PathBuf};

use cmux_core::event::{Actor, Event, What};
use cmux_core::id::{EventId, LogId};
use cmux_core::repair::{Repair, RepairSource};
use cmux_core::snapshot::{Copied, SnapshotKind};
use cmux_core::time::Timestamp;
use serde_json::{Value, json};

use crate::chain::Anchor;
use crate::file::{at, beside, clear, clear_failed, digest, hex, remove, settle, stamp, write};
use crate::kinds::snapshot_kind;
use crate::store::View;
use crate::{Reader, Store, StoreError, check, events, logs, misread, projects, sessions, swap};

/// What is known of a copy from the note that lies beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub log: LogId,
    pub head: EventId,
    pub hash: [u8; 32],
    pub sha256: String,
    pub bytes: u64,
    pub events: u64,
    /// When it was taken, if that is noted.
    pub at: Option<Timestamp>,
}

/// Copies the database at `path` to `to`, checks the copy, and writes a note beside it.
pub fn copy(path: &Path, to: &Path, now: Timestamp) -> Result<Copied, StoreError> {
    let part = beside(to, ".part");
    let note = copy_into(path, &part)?;
    // The note comes first: a copy without one would be kept in the place of a better one.
    let noted = write(&note_path(to), write_note(&note, now).as_bytes());
    clear_failed(&part, noted.and_then(|()| settle(&part, to)))?;
    let file = to.to_string_lossy().into_owned();
    Ok(Copied { file, bytes: note.bytes, sha256: note.sha256, head: note.head })
}

/// Copies the database at `path` to `part`, and checks the copy. Nothing is left of one that fails.
fn copy_into(path: &Path, part: &Path) -> Result<Note, StoreError> {
    clear(part)?;
    // SQLite takes an empty file for a new one, and could not say why there can be none.
    fs::File::create_new(part).map_err(at(part))?;
    clear_failed(part, vacuum_into(path, part).and_then(|()| inspect(part)))
}

fn vacuum_into(path: &Path, part: &Path) -> Result<(), StoreError> {
    let target = part.to_str().ok_or_else(|| StoreError::BadBackup {
        path: part.to_owned(),
        why: "its name is not UTF-8".to_owned(),
    })?;
    Reader::open(path)?.vacuum_into(target)
}

/// Checks the copy at `path` whole, and returns what is to be noted of it.
fn inspect(path: &Path) -> Result<Note, StoreError> {
    let (bytes, sha256) = digest(path)?;
    let damaged = |what: String| StoreError::Damaged { what };
    let look = |view: View<'_>| {
        let found = check::check(view)?;
        if let Some(problem) = found.problems.into_iter().next() {
            return Err(damaged(problem));
        }
        projects::all(view)?;
        let log = logs::current(view)?.ok_or_else(|| damaged("it has no log".to_owned()))?;
        let (head, events) = (events::head(view)?, found.events);
        Ok(Note { log, head: head.id, hash: head.hash, sha256, bytes, events, at: None })
    };
    let looked = Reader::open(path).and_then(|mut copy| copy.read(look));
    match looked.map_err(misread) {
        Err(StoreError::Damaged { what: why }) => {
            Err(StoreError::BadBackup { path: path.to_owned(), why })
        }
        looked => looked,
    }
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

/// Removes what is left in `backups` of copies that were cut short. None must be under way.
pub fn sweep(backups: &Path) -> Result<(), StoreError> {
    let Ok(entries) = fs::read_dir(backups) else { return Ok(()) };
    for entry in entries {
        let path = entry.map_err(at(backups))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.contains(".part") && path.is_file() {
            remove(&path)?;
        }
    }
    Ok(())
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
pub(crate) fn files(backups: &Path) -> Result<Vec<PathBuf>, StoreError> {
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

/// Returns the newest snapshot in `backups` that is as good as on the day it was taken. It is the one
/// that was taken last: an older one may know more events, of a life of the log that was given up.
pub(crate) fn newest_good(backups: &Path) -> Result<Option<(PathBuf, Note)>, StoreError> {
    let mut noted: Vec<(PathBuf, Note)> = files(backups)?
        .into_iter()
        .filter_map(|file| read_note(&file).map(|note| (file, note)))
        .collect();
    noted.sort_by_key(|(file, note)| (note.at, note.head, file.clone()));
    let sound = |(file, _): (PathBuf, Note)| verify(&file).ok().map(|note| (file, note));
    Ok(noted.into_iter().rev().find_map(sound))
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
    swap::finish(path, backups)?;
    let name = swap::unused(backups, &format!("replaced-{}", stamp(now)));
    let aside = path.exists().then(|| backups.join(&name));
    let what = What::StoreRestored {
        from: from.to_string_lossy().into_owned(),
        replaced: aside.as_ref().map(|aside| aside.to_string_lossy().into_owned()),
    };
    let part = swap::draft_path(path);
    // Copied as a database and not as a file, since its newest rows may lie beside it.
    copy_into(from, &part)?;
    clear_failed(&part, begin_again(&part, backups, log, now, what, Actor::Operator))?;
    swap::replace(path, backups, &name)?;
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
    let is_salvaged =
        matches!(&what, What::StoreRepaired(Repair { source: RepairSource::Salvage, .. }));
    store.turn(|tx| {
        if logs::current(tx.view())? != Some(log) {
            logs::begin(tx.db, log, events::head(tx.view())?.id, now)?;
        }
        if !is_salvaged {
            // Whoever was sent away since that copy was taken must not be let in again.
            sessions::end_all(tx, now)?;
        }
        tx.append(&Event { actor, ..Event::own(what) }, now)
    })?;
    store.checkpoint()
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

/// Returns where what is known of the copy at `file` is noted: beside it.
pub fn note_path(file: &Path) -> PathBuf {
    beside(file, ".json")
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
        at: note["at"].as_i64().map(Timestamp),
    })
}
