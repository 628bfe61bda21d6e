//! What agents use, read from where their CLIs write it down, or asked of their APIs: soon after something has happened,
//! from time to time while they work, and once more when they have ended. A look costs by what is new.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cmux_core::agent::{Agent, Doing};
use cmux_core::id::{AgentId, RunId};
use cmux_core::report::Report;
use cmux_core::time::Timestamp;
use cmux_core::usage::{Cursor, Read, Spent};
use cmux_drivers::channel::{self, Used};
use cmux_drivers::kinds::Known;
use cmux_drivers::manifest::TranscriptShape;
use cmux_drivers::transcript::{USAGE_READ_MAX, UsageFound, read_on};
use cmux_store::{agents, usage};
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use tracing::debug;

use super::desk::Desk;
use super::mail::Whereabouts;
use super::watch::Watch;

/// How soon after something has happened it is looked what that took.
const SOON: Duration = Duration::from_millis(150);

/// When it is looked again: what an agent said last may be written down after it told that it was done.
const AGAIN: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(5)];

/// How often it is looked while it works, and while it does nothing.
const WORKING_EVERY: Duration = Duration::from_secs(5);
const RESTING_EVERY: Duration = Duration::from_mins(1);

/// Of how much that an API has told it is known that it is stored. What is forgotten is stored once more in vain.
const TOLD_MAX: usize = 20_000;

/// How long an API may take to tell what its agent has used.
const ASKED_WITHIN: Duration = Duration::from_secs(2);

/// How many files of an agent's earlier conversations are looked at when it begins to be watched over.
const FILES_MAX: u32 = 200;

/// How many looks one after the other the end of a life may take.
const LOOKS_MAX: u32 = 1000;

/// How far it was read what an agent uses.
#[derive(Debug)]
pub(super) struct Ledger {
    /// How far each file was read, once that is known.
    cursors: Option<BTreeMap<String, Cursor>>,
    /// The session whose files were looked at last.
    session: Option<String>,
    due: Option<Instant>,
    /// How often it was looked since something happened.
    looks: usize,
    /// What its API has told that is stored.
    told: BTreeSet<String>,
}

impl Default for Ledger {
    fn default() -> Ledger {
        let due = Some(Instant::now());
        Ledger { cursors: None, session: None, due, looks: 0, told: BTreeSet::new() }
    }
}

impl Ledger {
    /// Returns when to look next.
    pub(super) fn at(&self) -> Option<Instant> {
        self.due
    }

    /// Has it looked soon: something has happened.
    pub(super) fn soon(&mut self) {
        let soon = Instant::now() + SOON;
        self.due = Some(self.due.map_or(soon, |due| due.min(soon)));
        self.looks = 0;
    }
}

/// Whose files are read, and what is known of them.
struct Reader<'a> {
    desk: &'a Desk,
    agent: AgentId,
    kind: &'a Known,
    /// Where what is looked at is: the present conversation, and the one before if it was just left.
    whereabouts: Vec<Whereabouts>,
}

/// What a look found.
#[derive(Debug, Default, PartialEq, Eq)]
struct Looked {
    is_more: bool,
    /// Whether all that was found is stored.
    is_stored: bool,
}

impl Watch {
    /// Looks what it has used since the last look.
    pub(super) async fn read_usage(&mut self, desk: &Desk) {
        let Some(usage) = &self.kind.manifest.usage else {
            self.ledger.due = None;
            return;
        };
        let looked = match usage.shape.written() {
            Some(_) => self.look_at_usage(desk, None).await,
            None => self.ask_usage(desk).await,
        };
        let is_working = matches!(self.told, Some(Doing::Working | Doing::Asking { .. }));
        let pause = match AGAIN.get(self.ledger.looks) {
            _ if looked.is_more => Duration::ZERO,
            Some(again) => *again,
            None if is_working => WORKING_EVERY,
            None => RESTING_EVERY,
        };
        self.ledger.looks += usize::from(!looked.is_more);
        self.ledger.due = Some(Instant::now() + pause);
    }

    /// Looks what it has used, for the last time in this life.
    pub(super) async fn read_usage_to_the_end(&mut self, desk: &Desk) {
        // Nobody answers any more where it is asked for: what was not told is in the list of its next life.
        if self.kind.manifest.usage.as_ref().is_none_or(|it| it.shape.written().is_none()) {
            return;
        }
        for _ in 0..LOOKS_MAX {
            if !self.look_at_usage(desk, Some(self.run)).await.is_more {
                return;
            }
        }
    }

    /// Asks it what it has used beside what it has told, in the present conversation, and in the one before if it was
    /// just left.
    async fn ask_usage(&mut self, desk: &Desk) -> Looked {
        let left = self.ledger.session.clone().filter(|it| Some(it) != self.session.as_ref());
        let Some(session) = self.session.clone() else { return Looked::default() };
        if let Some(left) = left {
            // It may be gone for good, and must not stand in the way of the other.
            self.ask_session(&left, desk).await;
        }
        let is_stored = self.ask_session(&session, desk).await;
        if is_stored {
            self.ledger.session = Some(session);
        }
        Looked { is_more: false, is_stored }
    }

    /// Asks it what a session has used, and returns whether it has told and that is stored. What was not stored is
    /// asked for again, and what was stored before changes nothing.
    async fn ask_session(&mut self, session: &str, desk: &Desk) -> bool {
        let Some(way) = self.way_in() else { return false };
        let used = channel::used(&way, session, &self.ledger.told, ASKED_WITHIN).await;
        let used =
            used.inspect_err(|error| debug!(%error, agent = %self.agent, "it does not tell"));
        let Ok(Used { spent, known }) = used else { return false };
        if !spent.is_empty() {
            // It is a list and no file, and has all that it ever had.
            let file = format!("{} {session}", self.kind.manifest.kind);
            let cursor = Cursor { file, device: 0, inode: 0, place: 0, model: None, root: None };
            let read = vec![priced(desk, &self.kind, Read { cursor, spent })];
            let report = Report::UsageRead { agent: self.agent, read, last_of: None };
            if let Err(error) = desk.inbox.ask(report).await {
                debug!(%error, agent = %self.agent, "what it used could not be stored");
                return false;
            }
        }
        if self.ledger.told.len() + known.len() > TOLD_MAX {
            self.ledger.told.clear();
        }
        self.ledger.told.extend(known);
        true
    }

    async fn look_at_usage(&mut self, desk: &Desk, last_of: Option<RunId>) -> Looked {
        let Some(transcript) = self.kind.manifest.transcript.clone() else {
            return Looked::default();
        };
        let place = |session: &String| {
            Whereabouts::of(&transcript, session.clone(), &self.cwd, self.state.clone())
        };
        let left = self.ledger.session.as_ref().filter(|it| Some(*it) != self.session.as_ref());
        let whereabouts = left.into_iter().chain(self.session.as_ref()).map(place).collect();
        let kind = self.kind.clone();
        let reader = Reader { desk, agent: self.agent, kind: &kind, whereabouts };
        let looked = reader.look(&mut self.ledger.cursors, last_of).await;
        if looked.is_stored && !looked.is_more {
            self.ledger.session.clone_from(&self.session);
        }
        looked
    }
}

impl Reader<'_> {
    /// Looks what is new, and has it stored. What cannot be stored is read again by the next look.
    async fn look(
        &self,
        cursors: &mut Option<BTreeMap<String, Cursor>>,
        last_of: Option<RunId>,
    ) -> Looked {
        let Some(usage) = self.kind.manifest.usage.clone() else { return Looked::default() };
        let Some(shape) = usage.shape.written() else { return Looked::default() };
        let is_first = cursors.is_none();
        let known = match cursors.take() {
            Some(known) => known,
            None => match self.stored().await {
                Some(known) => known,
                None => return Looked::default(),
            },
        };
        let (mut places, whereabouts) = (known.clone(), self.whereabouts.clone());
        let now = cmux_drivers::clock::wall();
        let found = spawn_blocking(move || {
            let earlier = known.keys().filter(|_| is_first).map(PathBuf::from);
            let also = usage.also.as_ref();
            let files = whereabouts.iter().flat_map(|at| at.files(also)).chain(earlier);
            let files: BTreeSet<PathBuf> = files.collect();
            read_all(shape, &files, &known, now)
        });
        let Ok(found) = found.await else { return Looked::default() };
        let found: Vec<UsageFound> = found;
        let is_more = found.iter().any(|found| found.is_more);
        let price = |found: UsageFound| priced(self.desk, self.kind, found.read);
        let read: Vec<Read> = found.into_iter().map(price).collect();
        let last_of = last_of.filter(|_| !is_more);
        let is_news = !read.is_empty() || last_of.is_some();
        let new = read.iter().map(|read| (read.cursor.file.clone(), read.cursor.clone()));
        places.extend(new.collect::<Vec<_>>());
        let report = Report::UsageRead { agent: self.agent, read, last_of };
        if is_news && let Err(error) = self.desk.inbox.ask(report).await {
            debug!(%error, agent = %self.agent, "what it used could not be stored");
            // The next look begins with what is.
            return Looked::default();
        }
        // As long as there is more in them, files of earlier conversations are looked at again.
        *cursors = Some(places).filter(|_| !(is_first && is_more));
        Looked { is_more, is_stored: true }
    }

    /// Returns how far each file was read, by the store's word.
    async fn stored(&self) -> Option<BTreeMap<String, Cursor>> {
        let agent = self.agent;
        let found = self.desk.readers.read(move |view| usage::cursors(view, agent, FILES_MAX));
        let found = found.await.inspect_err(|error| {
            debug!(%error, %agent, "it is not known how far was read what it used");
        });
        Some(found.ok()?.into_iter().map(|cursor| (cursor.file.clone(), cursor)).collect())
    }
}

/// Returns what was read with what it cost, as far as the user or the manifest knows, or else the CLI itself.
fn priced(desk: &Desk, kind: &Known, read: Read) -> Read {
    let (own, built_in) = (&desk.prices, &kind.manifest.prices);
    let price = |it: Spent| {
        let price = own.find(&it.model).or_else(|| built_in.find(&it.model));
        Spent { cost: price.map_or(it.cost, |price| price.of(it.tokens)), ..it }
    };
    Read { spent: read.spent.into_iter().map(price).collect(), ..read }
}

/// Returns what is new in `files`, as much as one look may take.
fn read_all(
    shape: TranscriptShape,
    files: &BTreeSet<PathBuf>,
    cursors: &BTreeMap<String, Cursor>,
    now: Timestamp,
) -> Vec<UsageFound> {
    let mut left = USAGE_READ_MAX;
    let mut found = Vec::new();
    for file in files {
        if left == 0 {
            break;
        }
        let cursor = cursors.get(&file.display().to_string());
        let Some(new) = read_one(shape, file, cursor, left, now) else { continue };
        let before = cursor.map_or(0, |cursor| cursor.place);
        left = left.saturating_sub(new.read.cursor.place.saturating_sub(before).max(1));
        // The others have their turn at the next look.
        let is_more = new.is_more || left == 0;
        found.push(UsageFound { is_more, ..new });
    }
    found
}

fn read_one(
    shape: TranscriptShape,
    file: &Path,
    cursor: Option<&Cursor>,
    max: u64,
    now: Timestamp,
) -> Option<UsageFound> {
    let found = read_on(shape, file, cursor, max, now);
    found.inspect_err(|error| debug!(%error, "{} could not be read", file.display())).ok()?
}

/// Reads what agents used whose lives ended before all of it was read.
pub(super) async fn read_what_was_left(desk: &Desk) {
    let left = desk.readers.read(|view| {
        let unread = usage::unread(view)?.into_iter();
        unread.map(|id| agents::find(view, id)).collect::<Result<Vec<_>, _>>()
    });
    match left.await {
        Ok(left) => {
            for agent in left.into_iter().flatten() {
                read_left(desk, &agent).await;
            }
        }
        Err(error) => debug!(%error, "it is not known whose usage was not read"),
    }
}

async fn read_left(desk: &Desk, agent: &Agent) {
    let Ok(kind) = desk.kind(&agent.kind) else { return };
    let (Some(transcript), Some(session), Some(life)) =
        (kind.manifest.transcript.as_ref(), agent.session.clone(), agent.life.as_ref())
    else {
        return;
    };
    if kind.manifest.usage.is_none() {
        return;
    }
    let state = desk.home.agent_state(&agent.id.to_string());
    let whereabouts = vec![Whereabouts::of(transcript, session, &agent.setup.cwd, state)];
    let reader = Reader { desk, agent: agent.id, kind: &kind, whereabouts };
    let mut cursors = None;
    for _ in 0..LOOKS_MAX {
        if !reader.look(&mut cursors, Some(life.run)).await.is_more {
            return;
        }
    }
}
