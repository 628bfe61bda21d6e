//! Files that nobody but their owner may read: secrets, keys, the password.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// The longest secret that is read, in bytes.
const SECRET_MAX: u64 = 64 << 10;

/// Why a private file is not read.
#[derive(Debug, thiserror::Error)]
pub enum PrivateError {
    #[error(
        "{} can be read by others (mode {mode:o}), and it holds a secret: `chmod 600 {}`",
        path.display(),
        path.display()
    )]
    Shared { path: PathBuf, mode: u32 },
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

impl PrivateError {
    /// Returns whether there is no such file.
    pub fn is_absent(&self) -> bool {
        match self {
            PrivateError::Shared { .. } => false,
            PrivateError::Unreadable { source, .. } => source.kind() == io::ErrorKind::NotFound,
        }
    }
}

/// Returns what the private file at `path` holds.
pub fn read(path: &Path) -> Result<String, PrivateError> {
    let unreadable = |source| PrivateError::Unreadable { path: path.to_owned(), source };
    // Opening a pipe would wait for whoever writes to it.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?;
    if !found.is_file() {
        return Err(unreadable(io::Error::other("it is not a file")));
    }
    if found.len() > SECRET_MAX {
        return Err(unreadable(io::Error::other("it is longer than 64 KiB")));
    }
    check(path, &file)?;
    let mut text = String::new();
    file.take(SECRET_MAX).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

/// Writes a file that nobody else may read, in place of what was there.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    // What is there may be a link to something else.
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(name);
    let _ = fs::remove_file(&new);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(content)?;
    fs::rename(&new, path)
}

/// Checks that nobody but its owner may read `file`, which was opened at `path`.
pub(crate) fn check(path: &Path, file: &File) -> Result<(), PrivateError> {
    let unreadable = |source| PrivateError::Unreadable { path: path.to_owned(), source };
    let mode = file.metadata().map_err(unreadable)?.mode() & 0o777;
    match mode & 0o077 {
        0 => Ok(()),
        _ => Err(PrivateError::Shared { path: path.to_owned(), mode }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_what_its_owner_alone_can_read_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, "x").unwrap();
        for (mode, is_private) in [
            (0o600, true),
            (0o400, true),
            (0o700, true),
            (0o640, false),
            (0o604, false),
            (0o620, false),
            (0o644, false),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let read = read(&path);
            assert_eq!(read.is_ok(), is_private, "{mode:o}: {read:?}");
            if let Err(error) = read {
                let told = error.to_string();
                let remedy = format!("(mode {mode:o}), and it holds a secret: `chmod 600 /");
                assert!(told.contains(&remedy), "{told}");
            }
        }
    }

    #[test]
    fn what_is_no_file_or_no_secret_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let long = folder.path().join("long");
        fs::write(&long, vec![b'x'; 1 + (64 << 10)]).unwrap();
        let absent = read(&folder.path().join("absent")).unwrap_err();
        assert!(absent.is_absent() && absent.to_string().contains("cannot be read"), "{absent}");
        for (path, why) in [(folder.path(), "not a file"), (long.as_path(), "longer than 64 KiB")] {
            let error = read(path).unwrap_err();
            assert!(error.to_string().contains(why) && !error.is_absent(), "{error}");
        }
    }
}
