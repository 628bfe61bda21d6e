//! The ledger: which messages were read, day by day, beside the store and apart from it.
//!
//! A store that is restored from a snapshot has forgotten what was read since. The ledger is kept for longer
//! than snapshots are, so that nothing is typed to an agent that has read it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;

use cmux_core::id::{DeliveryId, MessageId};
use cmux_core::time::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, ToSpan};
use rustix::fs::{AtFlags, Mode, OFlags, fsync, openat, unlinkat};
use rustix::io::Errno;

/// How many days the ledger reaches back.
pub(super) const DAYS: u32 = 60;

/// The longest line, in bytes.
const LINE_MAX: u64 = 16 << 10;

/// What the name of a day's file begins with.
const NAME: &str = "used-";

/// Notes in the file of today that a delivery was read, with these messages. When this returns, a power cut
/// does not lose it.
pub(super) fn note(
    folder: &OwnedFd,
    delivery: DeliveryId,
    messages: &[MessageId],
    now: Timestamp,
) -> io::Result<()> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | safe();
    let file = openat(folder, name_of(day(now)), flags, Mode::from_raw_mode(0o600))?;
    let mut file = require_file(File::from(file))?;
    let length = file.metadata()?.len();
    let messages: String = messages.iter().map(|id| format!(" {id}")).collect();
    // A line that was cut off by a crash ends where this one begins.
    let begin = if ends_a_line(&mut file, length)? { "" } else { "\n" };
    file.write_all(format!("{begin}{delivery}{messages}\n").as_bytes())?;
    file.sync_all()?;
    if length == 0 {
        fsync(folder)?;
    }
    Ok(())
}

/// Returns the messages that were read in the file called `name`. What makes no sense in it is passed over.
pub(super) fn read(folder: &OwnedFd, name: &str) -> io::Result<Vec<MessageId>> {
    let file = match openat(folder, name, OFlags::RDONLY | safe(), Mode::empty()) {
        Err(Errno::NOENT) => return Ok(Vec::new()),
        file => require_file(File::from(file?))?,
    };
    let (mut reader, mut line, mut found) = (BufReader::new(file), Vec::new(), Vec::new());
    loop {
        line.clear();
        if reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(found);
        }
        let mut words = line.split(|&byte| matches!(byte, b' ' | b'\n'));
        let is_line = words.next().and_then(|it| str::from_utf8(it).ok()?.parse().ok());
        if is_line.is_some_and(|_: DeliveryId| true) {
            found.extend(words.filter_map(|it| str::from_utf8(it).ok()?.parse::<MessageId>().ok()));
        }
    }
}

/// Returns the day that a file called `name` is of, if it is one of the ledger's.
pub(super) fn day_of(name: &str) -> Option<Date> {
    let day: Date = name.strip_prefix(NAME)?.parse().ok()?;
    (name_of(day) == name).then_some(day)
}

/// Returns the first of the last `days` before `now`.
pub(super) fn first(days: u32, now: Timestamp) -> Date {
    let back: Span = i64::from(days).days();
    day(now).saturating_sub(back)
}

/// Removes the file called `name`, if it is there.
pub(super) fn remove(folder: &OwnedFd, name: &str) -> io::Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn day(now: Timestamp) -> Date {
    let now = jiff::Timestamp::from_millisecond(now.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    now.to_zoned(TimeZone::UTC).date()
}

fn name_of(day: Date) -> String {
    format!("{NAME}{day}")
}

fn ends_a_line(file: &mut File, length: u64) -> io::Result<bool> {
    if length == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::Start(length - 1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// To open a pipe would wait for whoever is at its other end, and a link may lead anywhere.
fn safe() -> OFlags {
    OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn require_file(file: File) -> io::Result<File> {
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("the ledger is not a file")),
    }
}
