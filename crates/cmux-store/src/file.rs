//! Files that are whole or not there.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cmux_core::time::Timestamp;
use sha2::{Digest, Sha256};

use crate::StoreError;

/// Says which file an error is about.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> StoreError + '_ {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    move |source| {
        if matches!(source.kind(), StorageFull | QuotaExceeded) {
            StoreError::Full
        } else if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem) {
            StoreError::Unwritable { path: path.to_owned(), why: source.to_string() }
        } else {
            StoreError::File { path: path.to_owned(), source }
        }
    }
}

/// Returns `path` with `suffix` added to its name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Puts what is at `from` on the disk and gives it the name `to`.
pub(crate) fn settle(from: &Path, to: &Path) -> Result<(), StoreError> {
    // Wherever it goes, it tells as much as the store, and is for nobody else to read.
    fs::set_permissions(from, Permissions::from_mode(0o600)).map_err(at(from))?;
    step(from)?;
    File::open(from).and_then(|file| file.sync_all()).map_err(at(from))?;
    fs::rename(from, to).map_err(at(to))?;
    sync_folder(to)
}

/// Gives the file at `from` the name `to`, which may be on another disk.
pub(crate) fn shift(from: &Path, to: &Path) -> Result<(), StoreError> {
    step(from)?;
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let part = beside(to, ".part");
            copy(from, &part)?;
            settle(&part, to)?;
            remove(from)
        }
        moved => moved.map_err(at(from)),
    }
}

/// Copies the file at `from` to `to`. It is not on the disk yet.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    step(to)?;
    fs::copy(from, to).map(|_| ()).map_err(at(to))
}

/// Puts the names in the folder of `path` on the disk.
pub(crate) fn sync_folder(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(at(folder))
}

/// Writes `bytes` to `path`, whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    step(path)?;
    let part = beside(path, ".part");
    File::create(&part).and_then(|mut file| file.write_all(bytes)).map_err(at(&part))?;
    settle(&part, path)
}

/// Removes `path`, which need not be there.
pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    step(path)?;
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns what came of making a database at `path`, and leaves nothing of one that failed.
pub(crate) fn clear_failed<T>(path: &Path, made: Result<T, StoreError>) -> Result<T, StoreError> {
    if made.is_err() {
        // Why it failed is worth more than that it could not be removed either.
        let _ = clear(path);
    }
    made
}

/// Removes a database that is in nobody's use, with all that SQLite may have laid beside it.
pub(crate) fn clear(path: &Path) -> Result<(), StoreError> {
    for suffix in ["", "-journal", "-wal", "-shm"] {
        remove(&beside(path, suffix))?;
    }
    Ok(())
}

/// Returns the length and the SHA-256 of the file at `path`.
pub(crate) fn digest(path: &Path) -> Result<(u64, String), StoreError> {
    let mut file = File::open(path).map_err(at(path))?;
    let (mut sum, mut bytes, mut block) = (Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        let read = file.read(&mut block).map_err(at(path))?;
        if read == 0 {
            return Ok((bytes, hex(&sum.finalize())));
        }
        sum.update(&block[..read]);
        bytes += read as u64;
    }
}

/// Returns `bytes` as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a time as it stands in a file's name, in UTC.
pub(crate) fn stamp(now: Timestamp) -> String {
    let time = jiff::Timestamp::from_millisecond(now.0).unwrap_or_default();
    time.strftime("%Y%m%dT%H%M%S%3fZ").to_string()
}

/// Stands before each change of a file: in tests, the machine can stop here.
#[cfg(not(test))]
fn step(_: &Path) -> Result<(), StoreError> {
    Ok(())
}

#[cfg(test)]
fn step(path: &Path) -> Result<(), StoreError> {
    if power::lasts() { Ok(()) } else { Err(at(path)(io::Error::other("the power is gone"))) }
}

/// A machine that stops in the middle: once the power is gone, no file is changed any more.
#[cfg(test)]
pub(crate) mod power {
    use std::cell::Cell;

    thread_local!(static STEPS_LEFT: Cell<Option<u32>> = const { Cell::new(None) });

    /// Lets this thread change files `steps` times more, or without end.
    pub(crate) fn for_steps(steps: Option<u32>) {
        STEPS_LEFT.set(steps);
    }

    pub(super) fn lasts() -> bool {
        let left = STEPS_LEFT.get();
        STEPS_LEFT.set(left.map(|left| left.saturating_sub(1)));
        left != Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_can_be_moved_to_another_disk() {
        let here = tempfile::tempdir().unwrap();
        // Memory is another disk, where it can be had as one.
        let there = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let (from, to) = (here.path().join("a"), there.path().join("b"));
        fs::write(&from, "x").unwrap();
        shift(&from, &to).unwrap();
        assert_eq!((from.exists(), fs::read_to_string(&to).unwrap()), (false, "x".to_owned()));
        assert_eq!(fs::read_dir(there.path()).unwrap().count(), 1);
    }
}
