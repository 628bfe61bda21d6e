//! Claims: the tickets of what is being typed, of which only one can take each.
//!
//! A ticket is a file, and its name says whose it is. To take it is to rename it, which only one can do: the
//! agent's hook, by which the text reaches its model, or cmux, by which it never will. It works without a
//! daemon, and when it is done, a power cut does not undo it.

mod gate;
mod ledger;
mod ticket;

use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cmux_core::delivery::{Delivery, Ticket};
use cmux_core::digest::Digest;
use cmux_core::id::{DeliveryId, MessageId, RunId};
use cmux_core::time::Timestamp;
use rustix::fs::{
    AtFlags, CWD, Dir, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, fsync, mkdirat,
    openat, renameat, statat, utimensat,
};
use rustix::io::Errno;

use crate::{clock, failpoint};

pub use self::gate::{Prompt, Verdict};
pub use self::ticket::{TicketText, Whose};

/// How many names in the folder are looked at.
const NAMES_MAX: usize = 100_000;

/// How often it is looked again because a ticket was renamed meanwhile.
const TRIES: usize = 5;

/// How long a mark by which a late copy is known stays at least. It stays for as long as the CLI runs that the
/// text was typed to: one that stood still may come with it at any time.
const USED_KEEP: Duration = Duration::from_hours(1);

/// How old must be what is swept: whoever laid it may not yet have told of it.
const SWEPT_AFTER: Duration = Duration::from_mins(5);

const UNFINISHED: &str = ".new-";

/// A folder of tickets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    folder: PathBuf,
}

/// What came of a claim that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    Claimed,
    /// The same event had claimed it before.
    Again,
}

/// Why a claim was not made.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Nothing of this text is being typed to this run: it is nobody's but a person's.
    #[error("no ticket is there for it")]
    NotOurs,
    #[error("another prompt has claimed it")]
    AlreadyClaimed,
    #[error("cmux has taken it back")]
    Void,
    #[error("it was read before")]
    Used,
    #[error("its ticket cannot be taken: {0}")]
    File(#[from] io::Error),
}

impl From<Errno> for ClaimError {
    fn from(error: Errno) -> ClaimError {
        ClaimError::File(error.into())
    }
}

/// A ticket as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub whose: Whose,
    /// What it says. A ticket that was void before it was laid says nothing.
    pub text: Option<TicketText>,
}

impl Claims {
    pub fn at(folder: PathBuf) -> Claims {
        Claims { folder }
    }

    /// Lays the ticket of a delivery that is about to be typed, in place of one of an earlier run. When this
    /// returns, a power cut does not lose it. One that was taken is not laid again.
    pub fn lay(&self, text: &TicketText) -> io::Result<()> {
        let folder = self.make()?;
        for (name, whose) in names_of(&folder, text.delivery)? {
            let there = ticket::read(&folder, &name).ok().flatten();
            let is_of_run = there.is_some_and(|there| there.run == text.run);
            match whose {
                Whose::Claimed { .. } | Whose::Void | Whose::Used if is_of_run => {
                    let why = format!("the ticket of {} was taken already", text.delivery);
                    return Err(io::Error::new(ErrorKind::AlreadyExists, why));
                }
                Whose::Open => {}
                Whose::Claimed { .. } | Whose::Void | Whose::Used => remove(&folder, &name)?,
            }
        }
        let new = format!("{UNFINISHED}{}-{}", text.delivery, std::process::id());
        remove(&folder, &new)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&folder, &new, flags, Mode::from_raw_mode(0o600))?;
        let mut file = std::fs::File::from(file);
        let written = file.write_all(text.written().as_bytes()).and_then(|()| file.sync_all());
        failpoint::hit("lay.written");
        let open = Whose::Open.name(text.delivery);
        let named = written.and_then(|()| Ok(renameat(&folder, &new, &folder, &open)?));
        if let Err(error) = named {
            let _ = remove(&folder, &new);
            return Err(error);
        }
        failpoint::hit("lay.named");
        Ok(fsync(&folder)?)
    }

    /// Returns whose the ticket of a delivery is. One that makes no sense is as good as none: it may be laid
    /// again.
    pub fn state(&self, delivery: DeliveryId) -> io::Result<Ticket> {
        match self.look(delivery) {
            Ok(None) => Ok(Ticket::Absent),
            Ok(Some(Seen { whose, .. })) => Ok(match whose {
                Whose::Open => Ticket::Open,
                Whose::Claimed { .. } => Ticket::Claimed,
                Whose::Void | Whose::Used => Ticket::Void,
            }),
            Err(error) if error.kind() == ErrorKind::InvalidData => Ok(self.named(delivery)?),
            Err(error) => Err(error),
        }
    }

    /// Returns whose a ticket is by its name alone, where what it says makes no sense.
    fn named(&self, delivery: DeliveryId) -> io::Result<Ticket> {
        let Some(folder) = self.open()? else { return Ok(Ticket::Absent) };
        let names = names_of(&folder, delivery)?;
        let is = |wanted: fn(&Whose) -> bool| names.iter().any(|(_, whose)| wanted(whose));
        Ok(if is(|whose| matches!(whose, Whose::Claimed { .. })) {
            Ticket::Claimed
        } else if is(|whose| matches!(whose, Whose::Void | Whose::Used)) {
            Ticket::Void
        } else {
            Ticket::Absent
        })
    }

    /// Returns the ticket of a delivery, if there is one.
    pub fn look(&self, delivery: DeliveryId) -> io::Result<Option<Seen>> {
        match self.open()? {
            Some(folder) => look(&folder, delivery),
            None => Ok(None),
        }
    }

    /// Takes the ticket of a delivery for the hook that was called for `event`, with a text of that print in
    /// that run. The same event gets the same answer again.
    pub fn claim(
        &self,
        delivery: DeliveryId,
        run: RunId,
        print: Digest,
        event: Digest,
    ) -> Result<Claim, ClaimError> {
        let Some(folder) = self.open()? else { return Err(ClaimError::NotOurs) };
        let mine = Whose::claimed(event);
        for _ in 0..TRIES {
            let Some(Seen { whose, text }) = look(&folder, delivery)? else { break };
            if text.is_some_and(|text| text.run != run || text.print != print) {
                break;
            }
            match whose {
                Whose::Open => {
                    failpoint::hit("claim.before");
                    let (from, to) = (whose.name(delivery), mine.name(delivery));
                    match renameat(&folder, from, &folder, to) {
                        // Somebody was faster.
                        Err(Errno::NOENT) => continue,
                        renamed => renamed?,
                    }
                    failpoint::hit("claim.renamed");
                    fsync(&folder)?;
                    failpoint::hit("claim.done");
                    return Ok(Claim::Claimed);
                }
                Whose::Claimed { .. } if whose == mine => {
                    // Whoever made it may have been killed before it was on the disk.
                    fsync(&folder)?;
                    return Ok(Claim::Again);
                }
                Whose::Claimed { .. } => return Err(ClaimError::AlreadyClaimed),
                Whose::Void => return Err(ClaimError::Void),
                Whose::Used => return Err(ClaimError::Used),
            }
        }
        Err(ClaimError::NotOurs)
    }

    /// Takes the ticket of a delivery so that nobody else can, whether or not it was laid. Returns whether it
    /// is void, and not the hook's.
    pub fn void(&self, delivery: DeliveryId) -> io::Result<bool> {
        let folder = self.make()?;
        let (open, void) = (Whose::Open.name(delivery), Whose::Void.name(delivery));
        match renameat(&folder, open, &folder, &void) {
            Ok(()) => {}
            Err(Errno::NOENT) => {
                let names = names_of(&folder, delivery)?;
                let is_claimed = |(_, whose): &(_, Whose)| matches!(whose, Whose::Claimed { .. });
                if names.iter().any(is_claimed) {
                    return Ok(false);
                }
                let flags = OFlags::WRONLY | OFlags::CREATE | safe();
                openat(&folder, &void, flags, Mode::from_raw_mode(0o600))?;
            }
            Err(error) => return Err(error.into()),
        }
        failpoint::hit("void.renamed");
        fsync(&folder)?;
        Ok(true)
    }

    /// Gives a ticket back that the hook had taken in vain. Returns whether there was one.
    pub fn give_back(&self, delivery: DeliveryId) -> io::Result<bool> {
        let Some(folder) = self.open()? else { return Ok(false) };
        let mut names = names_of(&folder, delivery)?.into_iter();
        let claimed = names.find(|(_, whose)| matches!(whose, Whose::Claimed { .. }));
        let Some((name, _)) = claimed else { return Ok(false) };
        renameat(&folder, name, &folder, Whose::Open.name(delivery))?;
        failpoint::hit("give-back.renamed");
        fsync(&folder)?;
        Ok(true)
    }

    /// Notes in the ledger that a delivery was read, and takes its ticket away. If it was typed more than
    /// once, a mark stays while its CLI runs, by which a late second copy is known.
    pub fn settle(&self, delivery: &Delivery, is_repeated: bool) -> io::Result<()> {
        let folder = self.make()?;
        settle(&folder, delivery.id, &delivery.messages, is_repeated)
    }

    /// Takes away what there is of a delivery that was not read, to a run that goes on. If cmux took the
    /// ticket, it stays while its CLI runs: whoever comes late with the text finds that it is over.
    pub fn retire(&self, delivery: DeliveryId) -> io::Result<()> {
        let Some(folder) = self.open()? else { return Ok(()) };
        for (name, whose) in names_of(&folder, delivery)? {
            match whose {
                Whose::Void => touch(&folder, &name)?,
                Whose::Open | Whose::Claimed { .. } | Whose::Used => remove(&folder, &name)?,
            }
        }
        Ok(fsync(&folder)?)
    }

    /// Takes away all there is of a delivery that nobody can read any more.
    pub fn forget(&self, delivery: DeliveryId) -> io::Result<()> {
        let Some(folder) = self.open()? else { return Ok(()) };
        for (name, _) in names_of(&folder, delivery)? {
            remove(&folder, &name)?;
        }
        Ok(fsync(&folder)?)
    }

    /// Takes away what was left behind of deliveries that are not `open`, and what is too old. What was
    /// claimed of them was read.
    pub fn sweep(&self, open: &[DeliveryId], now: Timestamp) -> io::Result<()> {
        let Some(folder) = self.open()? else { return Ok(()) };
        let oldest = ledger::first(ledger::DAYS, now);
        for name in names(&folder)? {
            let is_older = |than| age(&folder, &name, now).is_some_and(|age| age > than);
            if let Some((delivery, whose)) = Whose::parse(&name) {
                let keep = match whose {
                    Whose::Used | Whose::Void => USED_KEEP,
                    Whose::Claimed { .. } | Whose::Open => SWEPT_AFTER,
                };
                if open.contains(&delivery) || !is_older(keep) {
                    continue;
                }
                match (whose, ticket::read(&folder, &name)) {
                    (Whose::Claimed { .. }, Ok(Some(text))) => {
                        settle(&folder, delivery, &text.messages, false)?;
                    }
                    (Whose::Void | Whose::Used, Ok(Some(text))) if !text.process.is_gone() => {}
                    (Whose::Claimed { .. } | Whose::Open | Whose::Void | Whose::Used, _) => {
                        remove(&folder, &name)?;
                    }
                }
            } else if let Some(day) = ledger::day_of(&name) {
                if day < oldest {
                    remove(&folder, &name)?;
                }
            } else if name.starts_with(UNFINISHED) && is_older(SWEPT_AFTER) {
                remove(&folder, &name)?;
            }
        }
        Ok(fsync(&folder)?)
    }

    /// Returns the messages that were read in the last `days`.
    pub fn ledger(&self, days: u32) -> io::Result<Vec<MessageId>> {
        let Some(folder) = self.open()? else { return Ok(Vec::new()) };
        let first = ledger::first(days, clock::wall());
        let mut found = Vec::new();
        for name in names(&folder)? {
            if ledger::day_of(&name).is_some_and(|day| day >= first) {
                found.extend(ledger::read(&folder, &name)?);
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Returns the messages that a store must not have typed again which was restored from a snapshot: those
    /// that were read, and those that a hook has taken. What became of a delivery that is `open` in it is found
    /// out as always: its hook may have taken it in vain.
    pub fn read_back(&self, open: &[DeliveryId]) -> io::Result<Vec<MessageId>> {
        let mut found = self.ledger(ledger::DAYS)?;
        let Some(folder) = self.open()? else { return Ok(found) };
        for name in names(&folder)? {
            let is_taken = match Whose::parse(&name) {
                Some((delivery, Whose::Claimed { .. })) => !open.contains(&delivery),
                Some((_, Whose::Used)) => true,
                Some((_, Whose::Open | Whose::Void)) | None => false,
            };
            // What is damaged says nothing, and is no reason not to start.
            if let Some(text) = is_taken.then(|| ticket::read(&folder, &name).ok().flatten()) {
                found.extend(text.into_iter().flat_map(|text| text.messages));
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Opens the folder, if it is there.
    fn open(&self) -> io::Result<Option<OwnedFd>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | safe();
        match openat(CWD, &self.folder, flags, Mode::empty()) {
            Ok(folder) => Ok(Some(folder)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(unusable(&self.folder, error)),
        }
    }

    /// Opens the folder, and makes it if it is not there. A home that is gone is not made again.
    fn make(&self) -> io::Result<OwnedFd> {
        if let Some(folder) = self.open()? {
            return Ok(folder);
        }
        match mkdirat(CWD, &self.folder, Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(unusable(&self.folder, error)),
        }
        if let Some(home) = self.folder.parent() {
            std::fs::File::open(home)?.sync_all()?;
        }
        self.open()?.ok_or_else(|| unusable(&self.folder, Errno::NOENT))
    }
}

fn unusable(folder: &Path, error: Errno) -> io::Error {
    let error = io::Error::from(error);
    io::Error::new(error.kind(), format!("{} cannot be used: {error}", folder.display()))
}

/// To open a pipe would wait for whoever is at its other end, and a link may lead anywhere.
fn safe() -> OFlags {
    OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Returns the ticket of a delivery, if there is one in `folder`.
fn look(folder: &OwnedFd, delivery: DeliveryId) -> io::Result<Option<Seen>> {
    for _ in 0..TRIES {
        if let Some(text) = ticket::read(folder, &Whose::Open.name(delivery))? {
            return Ok(Some(Seen { whose: Whose::Open, text: Some(text) }));
        }
        let Some((name, whose)) = names_of(folder, delivery)?.into_iter().next() else {
            // It may have been given back after it was looked for.
            match ticket::read(folder, &Whose::Open.name(delivery))? {
                Some(_) => continue,
                None => return Ok(None),
            }
        };
        match ticket::read(folder, &name) {
            Ok(Some(text)) => return Ok(Some(Seen { whose, text: Some(text) })),
            Ok(None) => {}
            // It was void before it was laid.
            Err(_) if whose == Whose::Void => return Ok(Some(Seen { whose, text: None })),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("the ticket of {delivery} does not keep still")))
}

/// Returns the tickets of a delivery, in the order of their names.
fn names_of(folder: &OwnedFd, delivery: DeliveryId) -> io::Result<Vec<(String, Whose)>> {
    let mut found = Vec::new();
    for name in names(folder)? {
        if let Some((of, whose)) = Whose::parse(&name)
            && of == delivery
        {
            found.push((name, whose));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// Returns all names in the folder.
fn names(folder: &OwnedFd) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(folder)? {
        if found.len() > NAMES_MAX {
            return Err(io::Error::other("there is more among the claims than cmux looks through"));
        }
        found.extend(entry?.file_name().to_str().map(ToOwned::to_owned));
    }
    Ok(found)
}

/// Notes that these messages were read, and takes the ticket of their delivery away.
fn settle(
    folder: &OwnedFd,
    delivery: DeliveryId,
    messages: &[MessageId],
    is_repeated: bool,
) -> io::Result<()> {
    ledger::note(folder, delivery, messages, clock::wall())?;
    failpoint::hit("settle.noted");
    let used = Whose::Used.name(delivery);
    for (name, whose) in names_of(folder, delivery)? {
        match whose {
            Whose::Used => {}
            Whose::Open | Whose::Claimed { .. } | Whose::Void if is_repeated => {
                renameat(folder, &name, folder, &used)?;
                touch(folder, &used)?;
            }
            Whose::Open | Whose::Claimed { .. } | Whose::Void => remove(folder, &name)?,
        }
    }
    Ok(fsync(folder)?)
}

/// Has the file called `name` be as old as if it were written now.
fn touch(folder: &OwnedFd, name: &str) -> io::Result<()> {
    let now = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
    };
    Ok(utimensat(folder, name, &now, AtFlags::SYMLINK_NOFOLLOW)?)
}

fn remove(folder: &OwnedFd, name: &str) -> io::Result<()> {
    ledger::remove(folder, name)
}

/// Returns how long ago the file called `name` was written. Nothing, if that cannot be told.
fn age(folder: &OwnedFd, name: &str, now: Timestamp) -> Option<Duration> {
    let seen = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let age = now.0.checked_sub(seen.st_mtime.checked_mul(1000)?)?;
    Some(Duration::from_millis(u64::try_from(age).unwrap_or(0)))
}

#[cfg(test)]
mod tests;
