//! A ticket: what is written in it, and by what name it says whose it is.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;

use cmux_core::delivery::{Delivery, letters_of, print_of};
use cmux_core::digest::Digest;
use cmux_core::id::{DeliveryId, MessageId, RunId};
use cmux_core::kind::{Channel, Unconfirmed};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use crate::process::Process;

/// The longest ticket, in bytes.
const TICKET_MAX: u64 = 16 << 10;

/// What a ticket begins with.
const FIRST: &str = "cmux-ticket 1";

/// How many letters of an event's digest are in the name of what it claimed.
const EVENT_LETTERS: usize = 16;

/// What a ticket says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketText {
    pub delivery: DeliveryId,
    /// The life of the agent that it is typed to.
    pub run: RunId,
    /// The agent's CLI.
    pub process: Process,
    /// What its text is known by, and of how many letters that is.
    pub print: Digest,
    pub letters: usize,
    /// Whether the CLI's prompt hook can refuse a prompt.
    pub blocks: bool,
    /// How it gets to the CLI, and what is done with it if nobody confirms it.
    pub channel: Channel,
    pub unconfirmed: Unconfirmed,
    pub messages: Vec<MessageId>,
}

impl TicketText {
    /// Returns the ticket of a delivery to the CLI `process`, whose prompt hook `blocks` or does not.
    pub fn of(delivery: &Delivery, process: Process, blocks: bool) -> TicketText {
        TicketText {
            delivery: delivery.id,
            run: delivery.run,
            process,
            print: print_of(&delivery.text),
            letters: letters_of(&delivery.text),
            blocks,
            channel: Channel::Paste,
            unconfirmed: Unconfirmed::Again,
            messages: delivery.messages.clone(),
        }
    }

    /// Returns it as it is on the disk. Its last line tells that it is whole.
    pub(super) fn written(&self) -> String {
        let TicketText { delivery, run, process, print, letters, blocks, .. } = self;
        let (Process { pid, start }, print) = (process, print.hex());
        let (channel, unconfirmed) = (self.channel.name(), self.unconfirmed.name());
        let messages = &self.messages;
        let messages: String = messages.iter().map(|id| format!(" {id}")).collect();
        format!(
            "{FIRST}\ndelivery {delivery}\nrun {run}\nprocess {pid} {start}\nprint {print} {letters}\n\
             blocks {blocks}\nterms {channel} {unconfirmed}\nmessages{messages}\nend\n"
        )
    }

    pub(super) fn parse(text: &str) -> Option<TicketText> {
        let mut lines = text.lines();
        let mut next = |name: &str| lines.next()?.strip_prefix(name);
        next(FIRST)?;
        let delivery = next("delivery ")?.parse().ok()?;
        let run = next("run ")?.parse().ok()?;
        let (pid, start) = next("process ")?.split_once(' ')?;
        let process = Process { pid: pid.parse().ok()?, start: start.parse().ok()? };
        let (print, letters) = next("print ")?.split_once(' ')?;
        let (print, letters) = (Digest::from_hex(print)?, letters.parse().ok()?);
        let blocks = next("blocks ")?.parse().ok()?;
        let (channel, unconfirmed) = next("terms ")?.split_once(' ')?;
        let channel = Channel::ALL.into_iter().find(|it| it.name() == channel)?;
        let unconfirmed = Unconfirmed::ALL.into_iter().find(|it| it.name() == unconfirmed)?;
        let messages = next("messages")?.split_whitespace().map(|id| id.parse().ok());
        let messages = messages.collect::<Option<Vec<MessageId>>>()?;
        next("end")?;
        Some(TicketText {
            delivery,
            run,
            process,
            print,
            letters,
            blocks,
            channel,
            unconfirmed,
            messages,
        })
    }
}

/// Whose a ticket is, as its name says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Nobody's yet.
    Open,
    /// That of the hook that was called for the event whose digest begins so.
    Claimed {
        event: String,
    },
    Void,
    /// Nobody's any more: its delivery was read.
    Used,
}

impl Whose {
    /// Returns what a ticket is called that the hook of `event` has taken.
    pub(super) fn claimed(event: Digest) -> Whose {
        let mut event = event.hex();
        event.truncate(EVENT_LETTERS);
        Whose::Claimed { event }
    }

    /// Returns the name of such a ticket.
    pub(super) fn name(&self, delivery: DeliveryId) -> String {
        match self {
            Whose::Open => format!("{delivery}.ticket"),
            Whose::Claimed { event } => format!("{delivery}.claimed.{event}"),
            Whose::Void => format!("{delivery}.void"),
            Whose::Used => format!("{delivery}.used"),
        }
    }

    /// Returns which ticket is called so, if one can be.
    pub(super) fn parse(name: &str) -> Option<(DeliveryId, Whose)> {
        let (delivery, rest) = name.split_once('.')?;
        let whose = match rest {
            "ticket" => Whose::Open,
            "void" => Whose::Void,
            "used" => Whose::Used,
            _ => {
                let event = rest.strip_prefix("claimed.")?;
                let is_digit = |it: char| it.is_ascii_digit() || ('a'..='f').contains(&it);
                if event.len() != EVENT_LETTERS || !event.chars().all(is_digit) {
                    return None;
                }
                Whose::Claimed { event: event.to_owned() }
            }
        };
        let delivery: DeliveryId = delivery.parse().ok()?;
        // There is more than one way to write an id, and only one is a ticket's.
        (whose.name(delivery) == name).then_some((delivery, whose))
    }
}

/// Reads the ticket that is called `name`: nothing if there is none, and an error if it makes no sense.
pub(super) fn read(folder: &OwnedFd, name: &str) -> io::Result<Option<TicketText>> {
    // To open a pipe would wait for whoever writes to it, and a link may lead anywhere.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let damaged = |why: &str| {
        let why = format!("the ticket {name} is not what cmux writes: {why}");
        io::Error::new(ErrorKind::InvalidData, why)
    };
    let file = match openat(folder, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(damaged("it is a link")),
        file => File::from(file?),
    };
    if !file.metadata()?.is_file() {
        return Err(damaged("it is not a file"));
    }
    let mut text = Vec::new();
    file.take(TICKET_MAX + 1).read_to_end(&mut text)?;
    if text.len() as u64 > TICKET_MAX {
        return Err(damaged("it is too long"));
    }
    let text = String::from_utf8(text).map_err(|_| damaged("it is no text"))?;
    let ticket = TicketText::parse(&text).ok_or_else(|| damaged("it is damaged"))?;
    match Whose::parse(name).is_some_and(|(delivery, _)| delivery == ticket.delivery) {
        true => Ok(Some(ticket)),
        false => Err(damaged("it is another's")),
    }
}
