//! The lock of a pane: nothing that would ask something opens while cmux types.
//!
//! A paste and Enter into a dialog would answer it. So whoever types holds the lock from the last look until
//! the text has left, and the hooks that come before a dialog wait for it. The kernel lets go of it when its
//! holder ends, however it ends; what it had told tmux to type may be typed a little later, and until when is
//! written in the lock. A dialog is not there yet when its hook goes on: the hook leaves a mark beside the lock,
//! and for a while nobody types.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::clock;

/// How long a hook waits for the lock. Nobody types for so long.
pub const WAIT_MAX: Duration = Duration::from_secs(2);

/// How long after its hook a dialog may still come.
const NEAR_FOR: Duration = Duration::from_secs(2);

/// How soon the lock is looked at again: first, and at the most.
const SOON: Duration = Duration::from_millis(1);
const LATER: Duration = Duration::from_millis(20);

/// The longest number that is written in a lock, in digits.
const DIGITS_MAX: u64 = 20;

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub struct Held {
    file: File,
}

impl Drop for Held {
    /// Nothing that was typed is on its way any more.
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
    }
}

/// Takes the lock at `path` for whoever types. If somebody has it just now, that is `WouldBlock`.
pub fn hold(path: &Path) -> io::Result<Held> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags())
        .open(path)?;
    require_file(&file)?;
    match file.try_lock() {
        Ok(()) => {
            let until = since_boot() + WAIT_MAX;
            file.set_len(0)?;
            (&file).write_all(until.as_millis().to_string().as_bytes())?;
            Ok(Held { file })
        }
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns whether a dialog may be about to open at the pane whose lock is at `path`. To be asked by whoever
/// holds it.
pub fn is_dialog_near(path: &Path) -> bool {
    let Ok(about) = fs::symlink_metadata(mark_of(path)) else { return false };
    let Ok(made) = about.modified() else { return true };
    // From a time that is yet to come, it is of before the clock was set back.
    let apart = made.elapsed().unwrap_or_else(|ahead| ahead.duration());
    apart < NEAR_FOR
}

/// Takes the mark away: nothing is asked any more.
pub fn rest(path: &Path) -> io::Result<()> {
    match fs::remove_file(mark_of(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Leaves a mark that a dialog may open now.
fn mark(path: &Path) -> io::Result<()> {
    let mark = mark_of(path);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(flags());
    match options.open(&mark) {
        // Nobody is there to type.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // Written, so that it is as new as what is asked.
        file => file?.write_all(b"?"),
    }
}

fn mark_of(path: &Path) -> PathBuf {
    path.with_extension("asks")
}

/// Waits until nobody types at the pane whose lock is at `path`, and leaves a mark that a dialog may open now.
/// Returns whether that came `within` the time.
pub fn wait(path: &Path, within: Duration) -> io::Result<bool> {
    let is_free = wait_for(path, within);
    // Whoever takes the lock after this finds the mark.
    mark(path)?;
    is_free.map(|(is_free, _shared)| is_free)
}

/// Waits until nobody types. Returns whether that came in time, with what keeps others from it.
fn wait_for(path: &Path, within: Duration) -> io::Result<(bool, Option<File>)> {
    let file = match OpenOptions::new().read(true).custom_flags(flags()).open(path) {
        // Nobody has ever typed there.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((true, None)),
        file => file?,
    };
    require_file(&file)?;
    let deadline = Instant::now() + within;
    let mut pause = SOON;
    loop {
        match file.try_lock_shared() {
            Ok(()) if !is_on_its_way(&file) => return Ok((true, Some(file))),
            Ok(()) => file.unlock()?,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok((false, None));
        }
        sleep(pause.min(left));
        pause = (pause * 2).min(LATER);
    }
}

/// Returns whether something that its last holder had typed may still come: it was killed.
fn is_on_its_way(mut file: &File) -> bool {
    let mut said = String::new();
    let read = file.rewind().and_then(|()| file.take(DIGITS_MAX).read_to_string(&mut said));
    let until: Option<u64> = read.ok().and_then(|_| said.parse().ok());
    let now = since_boot();
    // Whatever else is written there keeps nobody waiting.
    until.map(Duration::from_millis).is_some_and(|until| until > now && until <= now + WAIT_MAX)
}

fn since_boot() -> Duration {
    clock::read().since_boot
}

/// To open a pipe would wait for whoever is at its other end, and a link may lead anywhere.
fn flags() -> i32 {
    (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed()
}

fn require_file(file: &File) -> io::Result<()> {
    match file.metadata()?.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("the lock is not a file")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};
    use std::thread;

    use cmux_testkit::wait::eventually;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn whoever_waits_goes_on_when_it_is_let_go_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("typing.lock");
        let held = hold(&path).unwrap();
        assert!(!is_dialog_near(&path));
        assert_eq!(hold(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(!wait(&path, Duration::from_millis(5)).unwrap());
        assert!(is_dialog_near(&path), "it waits no longer");
        thread::scope(|scope| {
            let waits = scope.spawn(|| wait(&path, LONG).unwrap());
            drop(held);
            assert!(waits.join().unwrap());
        });
        // Nobody who waited keeps it.
        drop(hold(&path).unwrap());
        assert!(wait(&path, Duration::ZERO).unwrap());
    }

    #[test]
    fn whoever_goes_on_leaves_a_mark_and_it_fades_or_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("typing.lock");
        rest(&path).unwrap();
        assert!(!is_dialog_near(&path));
        assert!(wait(&path, Duration::ZERO).unwrap(), "nobody ever typed");
        assert!(is_dialog_near(&path));
        // The clock was set back.
        let mark = File::options().write(true).open(mark_of(&path)).unwrap();
        let made = mark.metadata().unwrap().modified().unwrap();
        mark.set_modified(made + Duration::from_hours(1)).unwrap();
        assert!(!is_dialog_near(&path));
        mark.set_modified(made + Duration::from_millis(500)).unwrap();
        assert!(is_dialog_near(&path));
        rest(&path).unwrap();
        assert!(!is_dialog_near(&path));
        assert!(wait(&path, Duration::ZERO).unwrap());
        drop(hold(&path).unwrap());
        eventually("the mark fades", || (!is_dialog_near(&path)).then_some(()));
        assert!(wait(&folder.path().join("gone/typing.lock"), LONG).unwrap());
    }

    #[test]
    fn it_is_let_go_of_when_its_holder_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("typing.lock");
        let mut command = Command::new("flock");
        // Without a child of its own, it is the only one that holds it.
        let mut holder =
            command.arg("--no-fork").arg(&path).arg("cat").stdin(Stdio::piped()).spawn().unwrap();
        eventually("it is held", || (!wait(&path, Duration::ZERO).unwrap()).then_some(()));
        holder.kill().unwrap();
        holder.wait().unwrap();
        assert!(wait(&path, LONG).unwrap());
    }

    #[test]
    fn what_a_killed_holder_may_have_typed_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("typing.lock");
        for (said, is_waited_for) in [
            ((since_boot() + WAIT_MAX / 2).as_millis().to_string(), true),
            (since_boot().as_millis().to_string(), false),
            ((since_boot() + LONG).as_millis().to_string(), false),
            ("nonsense".to_owned(), false),
        ] {
            fs::write(&path, &said).unwrap();
            assert_eq!(!wait(&path, Duration::ZERO).unwrap(), is_waited_for, "{said}");
            assert!(wait(&path, LONG).unwrap());
        }
        // Whoever lets go of it has nothing on its way.
        drop(hold(&path).unwrap());
        assert!(wait(&path, Duration::ZERO).unwrap());
    }

    #[test]
    fn what_is_no_file_is_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let (link, pipe) = (folder.path().join("link"), folder.path().join("pipe"));
        fs::write(folder.path().join("there"), "").unwrap();
        symlink(folder.path().join("there"), &link).unwrap();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [&link, &pipe, folder.path()] {
            assert!(hold(path).is_err() && wait(path, LONG).is_err(), "{}", path.display());
        }
        assert!(hold(&folder.path().join("gone/typing.lock")).is_err());
    }
}
