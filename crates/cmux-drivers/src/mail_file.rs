//! Mail in files: what is too long to be typed is laid into the project as it was sent, at
//! `.cmux/mail/<id>`, and its reader is told where.
//!
//! Whoever wrote the repository may have laid anything there. No link is followed, nothing is written
//! through what was there before, and a folder that is another's, or that others may write to, is not used:
//! what they laid there would be read as mail.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cmux_core::id::MessageId;
use cmux_core::message::BODY_MAX;
use cmux_core::time::Timestamp;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, fsync, mkdirat, openat, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

/// The folder of a project that is cmux's, and the one of its mail within it.
const FOLDER: &str = ".cmux";
const MAIL: &str = "mail";

const IGNORED: &str = ".gitignore";

/// How long mail is kept in a project.
const KEEP: Duration = Duration::from_hours(24 * 30);

/// How old what was not finished must be for whoever wrote it to be gone.
const UNFINISHED_AFTER: Duration = Duration::from_hours(1);

const UNFINISHED: &str = ".new-";

/// How many names in a folder are looked at.
const NAMES_MAX: usize = 100_000;

/// The longest list of what git ignores that is read, in bytes.
const IGNORED_MAX: u64 = 64 << 10;

/// The first line of a list that cmux has made.
const OURS: &str = "# Made by cmux: what is not to be committed.\n";

/// Why mail was not laid into a project.
#[derive(Debug, thiserror::Error)]
pub enum MailFileError {
    #[error(
        "{} is a link, and cmux writes through none in a repository: put a folder in its place",
        .0.display()
    )]
    Link(PathBuf),
    #[error("{} is not a folder: put one in its place", .0.display())]
    NotFolder(PathBuf),
    #[error("{} belongs to another user: `chown` it, or remove it", .0.display())]
    Anothers(PathBuf),
    #[error(
        "others may write to {}, and what they lay there would be read as mail: `chmod go-w` it, or remove it",
        .0.display()
    )]
    Open(PathBuf),
    #[error("the message has {0} bytes, and may have {BODY_MAX} at most")]
    TooLong(usize),
    #[error("{} cannot be written: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
}

impl MailFileError {
    /// Returns whether it may be otherwise soon, though nobody does anything about it.
    pub fn is_passing(&self) -> bool {
        match self {
            MailFileError::Unwritable { source, .. } => {
                let of_disk = [Errno::NOSPC, Errno::DQUOT, Errno::INTR];
                // Too many files are open.
                let of_load = [Errno::MFILE, Errno::NFILE, Errno::NOMEM];
                let error = Errno::from_io_error(source);
                error.is_some_and(|it| of_disk.contains(&it) || of_load.contains(&it))
            }
            MailFileError::Link(_)
            | MailFileError::NotFolder(_)
            | MailFileError::Anothers(_)
            | MailFileError::Open(_)
            | MailFileError::TooLong(_) => false,
        }
    }
}

/// Lays the body of a message into the project at `root`, byte for byte, and returns where it is. When this
/// returns, a power cut does not lose it.
pub fn write(root: &Path, id: MessageId, body: &[u8]) -> Result<PathBuf, MailFileError> {
    if body.len() > BODY_MAX {
        return Err(MailFileError::TooLong(body.len()));
    }
    let path = path_of(root, id);
    let unwritable = |source| MailFileError::Unwritable { path: path.clone(), source };
    let (own, mail) = make(root)?;
    ignore(&own, &mail).map_err(unwritable)?;
    replace(&mail, &id.to_string(), body).map_err(unwritable)?;
    fsync(&mail).map_err(|error| unwritable(error.into()))?;
    Ok(path)
}

/// Removes the body of a message from the project at `root`. Returns whether it was there.
pub fn remove(root: &Path, id: MessageId) -> Result<bool, MailFileError> {
    let Some(mail) = find(root)? else { return Ok(false) };
    match unlinkat(&mail, id.to_string(), AtFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => {
            let path = path_of(root, id);
            Err(MailFileError::Unwritable { path, source: error.into() })
        }
    }
}

/// Removes what was laid into the project at `root` more than 30 days before `now`. Returns how many there
/// were.
pub fn sweep(root: &Path, now: Timestamp) -> Result<usize, MailFileError> {
    let Some(mail) = find(root)? else { return Ok(0) };
    let path = root.join(FOLDER).join(MAIL);
    let told =
        |error: Errno| MailFileError::Unwritable { path: path.clone(), source: error.into() };
    let mut old = Vec::new();
    for entry in Dir::read_from(&mail).map_err(told)?.take(NAMES_MAX) {
        let entry = entry.map_err(told)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let keep = match name.parse::<MessageId>() {
            Ok(_) => KEEP,
            Err(_) if name.starts_with(UNFINISHED) => UNFINISHED_AFTER,
            Err(_) => continue,
        };
        let Ok(seen) = statat(&mail, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let age_ms = now.0.saturating_sub(seen.st_mtime.saturating_mul(1000));
        if u128::try_from(age_ms).is_ok_and(|age_ms| age_ms > keep.as_millis()) {
            old.push(name);
        }
    }
    let mut count = 0;
    for name in old {
        match unlinkat(&mail, &name, AtFlags::empty()) {
            Ok(()) => count += 1,
            // Somebody else was faster, or it is a folder of somebody's.
            Err(Errno::NOENT | Errno::ISDIR | Errno::PERM) => {}
            Err(error) => return Err(told(error)),
        }
    }
    Ok(count)
}

fn path_of(root: &Path, id: MessageId) -> PathBuf {
    root.join(FOLDER).join(MAIL).join(id.to_string())
}

/// Opens the folder of mail and the one that it is in, and makes them if they are not there.
fn make(root: &Path) -> Result<(OwnedFd, OwnedFd), MailFileError> {
    let own = made(&open_root(root)?, FOLDER, 0o755, &root.join(FOLDER))?;
    let path = root.join(FOLDER).join(MAIL);
    let mail = made(&own, MAIL, 0o700, &path)?;
    require_private(&mail, &path)?;
    Ok((own, mail))
}

/// Opens the folder of mail, if it is there.
fn find(root: &Path) -> Result<Option<OwnedFd>, MailFileError> {
    let mut folder = open_root(root)?;
    let mut path = root.to_owned();
    for name in [FOLDER, MAIL] {
        path.push(name);
        match opened(&folder, name, &path)? {
            Some(inner) => folder = inner,
            None => return Ok(None),
        }
    }
    require_private(&folder, &path)?;
    Ok(Some(folder))
}

/// Refuses a folder that others than its owner may write to.
fn require_private(folder: &OwnedFd, path: &Path) -> Result<(), MailFileError> {
    let told =
        |error: Errno| MailFileError::Unwritable { path: path.to_owned(), source: error.into() };
    let mode = Mode::from_raw_mode(fstat(folder).map_err(told)?.st_mode);
    match mode.intersects(Mode::WGRP | Mode::WOTH) {
        true => Err(MailFileError::Open(path.to_owned())),
        false => Ok(()),
    }
}

fn open_root(root: &Path) -> Result<OwnedFd, MailFileError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, root, flags, Mode::empty())
        .map_err(|error| MailFileError::Unwritable { path: root.to_owned(), source: error.into() })
}

/// Opens the folder called `name`, and makes it if it is not there.
fn made(above: &OwnedFd, name: &str, mode: u32, path: &Path) -> Result<OwnedFd, MailFileError> {
    let told =
        |error: Errno| MailFileError::Unwritable { path: path.to_owned(), source: error.into() };
    if let Some(folder) = opened(above, name, path)? {
        return Ok(folder);
    }
    match mkdirat(above, name, Mode::from_raw_mode(mode)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(told(error)),
    }
    fsync(above).map_err(told)?;
    opened(above, name, path)?.ok_or_else(|| told(Errno::NOENT))
}

/// Opens the folder called `name`, if it is there. What is not one of this user's own is refused.
fn opened(above: &OwnedFd, name: &str, path: &Path) -> Result<Option<OwnedFd>, MailFileError> {
    let told =
        |error: Errno| MailFileError::Unwritable { path: path.to_owned(), source: error.into() };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match openat(above, name, flags, Mode::empty()) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => {
            let seen = statat(above, name, AtFlags::SYMLINK_NOFOLLOW);
            return Err(match seen.map(|seen| FileType::from_raw_mode(seen.st_mode)) {
                Ok(FileType::Symlink) => MailFileError::Link(path.to_owned()),
                Ok(FileType::Directory) | Err(_) => told(error),
                Ok(_) => MailFileError::NotFolder(path.to_owned()),
            });
        }
    };
    match fstat(&folder).map_err(told)?.st_uid == geteuid().as_raw() {
        true => Ok(Some(folder)),
        false => Err(MailFileError::Anothers(path.to_owned())),
    }
}

/// Has git ignore the mail: by a list of cmux's own in `.cmux`, or, where a person has one there that does
/// not speak of it, by one among the mail.
fn ignore(own: &OwnedFd, mail: &OwnedFd) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let is_ignored = match openat(own, IGNORED, flags, Mode::empty()) {
        Err(Errno::NOENT) => {
            return replace(own, IGNORED, format!("{OURS}mail/\n").as_bytes());
        }
        Ok(there) => speaks_of_mail(File::from(there)),
        Err(_) => false,
    };
    if is_ignored {
        return Ok(());
    }
    match statat(mail, IGNORED, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => replace(mail, IGNORED, format!("{OURS}*\n").as_bytes()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns whether a list of what git ignores has the mail in it.
fn speaks_of_mail(list: File) -> bool {
    let mut text = Vec::new();
    let is_file = list.metadata().is_ok_and(|about| about.is_file());
    if !is_file || list.take(IGNORED_MAX).read_to_end(&mut text).is_err() {
        return false;
    }
    // A later line may take back what an earlier one says.
    let names = ["mail", "mail/", "/mail", "/mail/", "*", "/*"].map(str::as_bytes);
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
    let takes_back = lines.clone().any(|line| line.starts_with(b"!"));
    !takes_back && lines.any(|line| names.contains(&line))
}

/// Puts a file in the place of whatever is called `name`, so that nothing is written through what is there.
fn replace(folder: &OwnedFd, name: &str, content: &[u8]) -> io::Result<()> {
    // Another thread may be at the same: two agents of a project are written to at once.
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let new = format!("{UNFINISHED}{name}-{}-{number}", std::process::id());
    match unlinkat(folder, &new, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(folder, &new, flags, Mode::from_raw_mode(0o600))?);
    let written = file.write_all(content).and_then(|()| file.sync_all());
    let named = written.and_then(|()| Ok(renameat(folder, &new, folder, name)?));
    if named.is_err() {
        let _ = unlinkat(folder, &new, AtFlags::empty());
    }
    named
}

#[cfg(test)]
mod tests;
