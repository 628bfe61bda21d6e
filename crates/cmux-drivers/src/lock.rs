//! One holder at a time, and a note of who it is.
//!
//! The kernel lets go of a lock when its holder ends, however it ends; the note in the file is only
//! believed while the lock is held.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use cmux_core::time::Timestamp;

use crate::process::Process;

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// Who holds a lock, by its own note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub role: Role,
    pub process: Process,
    pub since: Timestamp,
    pub version: String,
    pub port: Option<u16>,
}

/// What a process holds a lock for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Daemon,
    Guard,
    /// It works on the store of a home where no daemon runs.
    Command,
}

impl Role {
    const ALL: [Role; 3] = [Role::Daemon, Role::Guard, Role::Command];

    fn name(self) -> &'static str {
        match self {
            Role::Daemon => "daemon",
            Role::Guard => "guard",
            Role::Command => "command",
        }
    }
}

/// How long the lock of somebody who was killed may still be held, by a process that they were about to start
/// and that has not let go of it yet; and how often it is looked.
const LINGERS: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Why a lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("it is held{}", holder.as_ref().map_or(String::new(), |it| format!(" by process {}", it.process.pid)))]
    Held { holder: Option<Holder> },
    #[error(transparent)]
    File(#[from] io::Error),
}

impl Lock {
    /// Takes the lock at `path`, or finds who holds it.
    pub fn take(path: &Path) -> Result<Lock, LockError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { file }),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            let note = fs::read_to_string(path).unwrap_or_default();
            let holder = read_note(&note, &place(&file)?);
            let is_killed = holder.as_ref().is_some_and(|holder| !holder.process.is_alive());
            if !is_killed || begun.elapsed() >= LINGERS {
                return Err(LockError::Held { holder });
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Notes who holds the lock, for others to read.
    pub fn note(&mut self, holder: &Holder) -> io::Result<()> {
        let port = holder.port.map_or(String::new(), |port| format!("port={port}\n"));
        let role = holder.role.name();
        let note = format!(
            "boot={}\nfile={}\nrole={role}\npid={}\nstart={}\nsince={}\nversion={}\n{port}",
            boot_id(),
            place(&self.file)?,
            holder.process.pid,
            holder.process.start,
            holder.since.0,
            holder.version
        );
        // In place, since a full disk would not give back what was let go of.
        io::Seek::rewind(&mut self.file)?;
        self.file.write_all(note.as_bytes())?;
        self.file.set_len(note.len() as u64)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Whoever comes next writes a note of its own; an old one names a process that is gone.
        let _ = self.file.set_len(0);
    }
}

/// Returns who holds the lock at `path`, or nothing if nobody does.
///
/// It goes by the note alone: to try the lock would be to hold it for a moment, and to turn away
/// whoever wants it just then.
pub fn holder(path: &Path) -> io::Result<Option<Holder>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let note = io::read_to_string(&mut file)?;
    Ok(read_note(&note, &place(&file)?).filter(|holder| holder.process.is_alive()))
}

/// Returns what tells `file` from a copy of it: a note that was copied names nobody who holds the copy.
fn place(file: &File) -> io::Result<String> {
    let found = file.metadata()?;
    Ok(format!("{}:{}", found.dev(), found.ino()))
}

/// Returns who wrote `note` into the file at `place`.
fn read_note(note: &str, place: &str) -> Option<Holder> {
    let field = |name: &str| {
        let line = note.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.map(ToOwned::to_owned)
    };
    if field("boot")? != boot_id() || field("file")? != place {
        return None;
    }
    let process =
        Process { pid: field("pid")?.parse().ok()?, start: field("start")?.parse().ok()? };
    let role = field("role")?;
    Some(Holder {
        role: Role::ALL.into_iter().find(|known| known.name() == role)?,
        process,
        since: Timestamp(field("since")?.parse().ok()?),
        version: field("version")?,
        port: field("port").and_then(|port| port.parse().ok()),
    })
}

/// Returns what tells this boot of the machine from others: a process's number and start repeat.
fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_second_to_come_is_told_who_was_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let mut lock = Lock::take(&path).unwrap();
        let me = Holder {
            role: Role::Daemon,
            process: Process::myself(),
            since: Timestamp(5),
            version: "0.1".to_owned(),
            port: Some(8000),
        };
        lock.note(&me).unwrap();
        match Lock::take(&path) {
            Err(LockError::Held { holder }) => assert_eq!(holder, Some(me.clone())),
            taken => panic!("{taken:?}"),
        }
        assert_eq!(holder(&path).unwrap(), Some(me));
        drop(lock);
        assert_eq!(holder(&path).unwrap(), None);
        assert!(Lock::take(&path).is_ok());
    }

    #[test]
    fn whoever_comes_after_somebody_was_killed_waits_for_what_they_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = Process::find(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let mut lock = Lock::take(&path).unwrap();
        let (role, since, version) = (Role::Daemon, Timestamp(5), "0.1".to_owned());
        lock.note(&Holder { role, process, since, version, port: None }).unwrap();
        // Another who has the same file open holds the lock, too.
        let left = lock.file.try_clone().unwrap();
        std::mem::forget(lock);
        assert!(matches!(Lock::take(&path), Err(LockError::Held { holder: Some(_) })));
        left.unlock().unwrap();
        assert!(Lock::take(&path).is_ok());
    }

    #[test]
    fn a_note_that_makes_no_sense_names_nobody() {
        for note in ["", "pid=x\nstart=1\nsince=1\nversion=1\n", "\0\0\0"] {
            assert_eq!(read_note(note, "1:2"), None);
        }
    }

    #[test]
    fn a_copied_note_names_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("lock"), folder.path().join("copy"));
        let mut lock = Lock::take(&path).unwrap();
        let me = Holder {
            role: Role::Guard,
            process: Process::myself(),
            since: Timestamp(5),
            version: "0.1".to_owned(),
            port: None,
        };
        lock.note(&me).unwrap();
        fs::copy(&path, &copy).unwrap();
        assert_eq!(holder(&copy).unwrap(), None);
        assert_eq!(holder(&path).unwrap(), Some(me));
    }
}
