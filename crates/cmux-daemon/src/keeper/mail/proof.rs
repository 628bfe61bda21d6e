//! What shows that a delivery was read: the agent's own record of its conversation.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cmux_core::id::DeliveryId;
use cmux_drivers::manifest::{Place, Transcript};
use cmux_drivers::transcript::{Looked, Used, used};
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use tracing::debug;

use super::super::prepare::{SESSION_HEAD, SETTINGS_AT};
use super::super::watch::Watch;
use super::UnderWay;

/// How often a transcript is searched for that is not there yet.
const SEARCH_EVERY: Duration = Duration::from_millis(100);

/// How long an agent must have been at what it was told, where nothing else tells that it has read it.
const WORKED_FOR: Duration = Duration::from_secs(5);

/// Where an agent's conversation is written down.
#[derive(Clone, Debug)]
pub(in super::super) struct Whereabouts {
    transcript: Transcript,
    session: String,
    cwd: String,
    state: PathBuf,
    settings: Option<String>,
}

/// How far a transcript was read in search of a delivery.
#[derive(Debug, Default)]
pub(in super::super) struct Proof {
    /// Which session it is of.
    session: Option<String>,
    path: Option<PathBuf>,
    searched_at: Option<Instant>,
    from: Option<u64>,
    /// Since when its agent has worked, or been at an empty prompt after that, with the ticket taken.
    worked_at: Option<Instant>,
}

impl Whereabouts {
    pub(in super::super) fn of(
        transcript: &Transcript,
        session: String,
        cwd: &str,
        state: PathBuf,
    ) -> Whereabouts {
        let settings = fs::read_to_string(state.join(SETTINGS_AT)).ok();
        Whereabouts {
            transcript: transcript.clone(),
            session,
            cwd: cwd.to_owned(),
            state,
            settings,
        }
    }

    /// Returns the transcript, if it is there.
    fn find(&self) -> Option<PathBuf> {
        self.search().flatten()
    }

    /// Returns the transcript, or that it is not there, if that can be told.
    fn search(&self) -> Option<Option<PathBuf>> {
        let known = |place: Place| match place {
            Place::Home => env::var("HOME").ok(),
            Place::State => Some(self.state.display().to_string()),
            Place::Settings => self.settings.clone(),
            Place::Session => Some(self.session.clone()),
            Place::SessionHead => Some(self.session.chars().take(SESSION_HEAD).collect()),
            Place::Cwd => Some(self.cwd.clone()),
            Place::Program
            | Place::Cmux
            | Place::Root
            | Place::Name
            | Place::Run
            | Place::Port
            | Place::Prompt
            | Place::Role
            | Place::Pid => None,
        };
        let found = self.transcript.find(known);
        let found =
            found.inspect_err(|error| debug!(%error, "a transcript could not be looked for"));
        Some(found.ok()?.map(|found| found.path))
    }

    /// Returns whether `delivery` is in the transcript, if that can be told.
    pub(in super::super) fn has(&self, delivery: DeliveryId) -> Option<bool> {
        let Some(path) = self.search()? else { return Some(false) };
        let mut from = 0;
        read(&self.transcript, &path, &mut from, delivery)
    }
}

/// Reads on in a transcript. Returns whether `delivery` is in it, if that can be told.
fn read(
    transcript: &Transcript,
    path: &Path,
    from: &mut u64,
    delivery: DeliveryId,
) -> Option<bool> {
    match used(transcript.shape, path, *from, delivery) {
        Ok(Looked { used: Used::Yes, .. }) => Some(true),
        Ok(Looked { used: Used::NotYet, next }) => {
            *from = next;
            Some(false)
        }
        Ok(Looked { used: Used::Unknown, .. }) => None,
        Err(error) => {
            debug!(%error, "a transcript could not be read");
            None
        }
    }
}

impl Proof {
    /// Takes note of whether the agent is seen at what it was told. Returns whether it has been for long
    /// enough to have read it: what comes back to the prompt does so sooner.
    pub(super) fn works(&mut self, is_taken: bool, is_working: bool) -> bool {
        if !is_taken {
            self.worked_at = None;
        } else if is_working {
            self.worked_at.get_or_insert_with(Instant::now);
        }
        self.worked_at.is_some_and(|at| at.elapsed() >= WORKED_FOR)
    }
}

impl Watch {
    /// Returns where its conversation is written down, if that is known.
    fn whereabouts(&self) -> Option<Whereabouts> {
        let transcript = self.kind.manifest.transcript.as_ref()?;
        let session = self.session.clone()?;
        Some(Whereabouts::of(transcript, session, &self.cwd, self.state.clone()))
    }

    /// Returns how long its transcript is.
    pub(super) async fn transcript_size(&self) -> u64 {
        let Some(at) = self.whereabouts() else { return 0 };
        let size = spawn_blocking(move || fs::metadata(at.find()?).ok().map(|about| about.len()));
        size.await.ok().flatten().unwrap_or(0)
    }

    /// Returns whether a delivery is in its transcript, if that can be told.
    pub(super) async fn in_transcript(&self, way: &mut UnderWay) -> Option<bool> {
        let at = self.whereabouts()?;
        let (proof, id) = (&mut way.proof, way.delivery.id);
        if proof.session.as_ref().is_some_and(|session| *session != at.session) {
            // Another conversation was begun, which is written down elsewhere.
            (proof.path, proof.searched_at, proof.from) = (None, None, Some(0));
        }
        proof.session = Some(at.session.clone());
        if proof.path.is_none() {
            if proof.searched_at.is_some_and(|it| it.elapsed() < SEARCH_EVERY) {
                return None;
            }
            proof.searched_at = Some(Instant::now());
            let search = at.clone();
            proof.path = spawn_blocking(move || search.find()).await.ok().flatten();
        }
        let path = proof.path.clone()?;
        let mut from = proof.from.unwrap_or(way.delivery.mark);
        // What is new is short.
        let told = read(&at.transcript, &path, &mut from, id);
        proof.from = Some(from);
        told
    }
}
