//! Puts one database in the place of another, whatever crashes in between.
//!
//! Several files must change their names, which no file system does at once. So the new database gets a
//! name that says it is to be the next; from then on the only way is forward, and the next opening goes
//! the rest of it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::StoreError;
use crate::file::{at, beside, clear, remove, settle, shift, sync_folder, write};

/// Returns where a database is made that is to take the place of the one at `path`.
pub(crate) fn draft_path(path: &Path) -> PathBuf {
    beside(path, ".draft")
}

/// Puts the draft, which is whole and closed, in the place of the database at `path`. That one goes into
/// the new folder `aside` of `backups`, untouched and with all that belongs to it.
pub(crate) fn replace(path: &Path, backups: &Path, aside: &str) -> Result<(), StoreError> {
    write(&aside_path(path), aside.as_bytes())?;
    settle(&draft_path(path), &next_path(path))?;
    finish(path, backups)
}

/// Finishes a replacement of the database at `path` that was cut short, or forgets it if it was not yet
/// decided.
pub(crate) fn finish(path: &Path, backups: &Path) -> Result<(), StoreError> {
    let next = next_path(path);
    if next.exists() {
        let aside = fs::read(aside_path(path)).map_err(at(&aside_path(path)))?;
        set_aside(path, &backups.join(String::from_utf8_lossy(&aside).as_ref()))?;
        settle(&next, path)?;
    }
    clear(&draft_path(path))?;
    remove(&aside_path(path))
}

/// Returns `name`, or if there is such a folder in `backups` already, one like it that is not.
pub(crate) fn unused(backups: &Path, name: &str) -> String {
    let (mut unused, mut n) = (name.to_owned(), 1);
    while backups.join(&unused).exists() {
        n += 1;
        unused = format!("{name}-{n}");
    }
    unused
}

fn set_aside(path: &Path, aside: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(aside).map_err(at(aside))?;
    for suffix in ["", "-wal", "-shm"] {
        let file = beside(path, suffix);
        if let (true, Some(name)) = (file.exists(), file.file_name()) {
            shift(&file, &aside.join(name))?;
        }
    }
    sync_folder(path)?;
    sync_folder(&aside.join("x"))?;
    sync_folder(aside)
}

fn next_path(path: &Path) -> PathBuf {
    beside(path, ".next")
}

fn aside_path(path: &Path) -> PathBuf {
    beside(path, ".aside")
}
