//! All that a scripted model was asked, what it knows, and what it holds back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::asked::Asked;
use super::book::Book;
use super::script::{Fault, Turn};

/// One request, and what became of it.
#[derive(Clone, Debug)]
pub struct Visit {
    pub asked: Asked,
    /// The key that it came with.
    pub key: Option<String>,
    pub outcome: Outcome,
}

/// A request for less than an answer: how many tokens something has, which models there are, or whether
/// anybody is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aside {
    /// Its method and path.
    pub what: String,
    /// The key that it came with.
    pub key: Option<String>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is being answered, or held.
    Underway,
    /// All of the answer was sent.
    Answered,
    /// It was refused with this status.
    Refused(u16),
    /// The script broke the connection.
    Dropped,
    /// Whoever asked went away.
    Left,
}

impl Visit {
    /// Whether it is part of an agent's own conversation.
    pub fn is_main(&self) -> bool {
        self.asked.subagent.is_none() && self.asked.side().is_none()
    }
}

/// What is shared by all connections.
#[derive(Debug, Default)]
pub(super) struct Visits {
    inner: Mutex<Inner>,
    released: watch::Sender<BTreeSet<String>>,
}

#[derive(Debug, Default)]
struct Inner {
    book: Book,
    visits: Vec<Visit>,
    asides: Vec<Aside>,
    strays: Vec<String>,
    /// How often the fault of a turn has struck.
    struck: BTreeMap<String, u32>,
}

impl Visits {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self, write: impl FnOnce(&mut Book)) {
        write(&mut self.inner().book);
    }

    pub(super) fn look<T>(&self, look: impl FnOnce(&[Visit]) -> T) -> T {
        look(&self.inner().visits)
    }

    pub(super) fn asides(&self) -> Vec<Aside> {
        self.inner().asides.clone()
    }

    pub(super) fn aside(&self, what: String, key: Option<String>) {
        self.inner().asides.push(Aside { what, key });
    }

    pub(super) fn strays(&self) -> Vec<String> {
        self.inner().strays.clone()
    }

    pub(super) fn stray(&self, what: String) {
        self.inner().strays.push(what);
    }

    pub(super) fn release(&self, name: &str) {
        self.released.send_modify(|names| {
            names.insert(name.to_owned());
        });
    }

    /// Waits until this name is let go of.
    pub(super) async fn released(&self, name: &str) {
        let mut names = self.released.subscribe();
        // It cannot be closed while it is borrowed from here.
        let _ = names.wait_for(|names| names.contains(name)).await;
    }

    /// Notes a request, and returns its number and what is answered.
    pub(super) fn enter(&self, asked: Asked, key: Option<String>) -> (usize, Turn) {
        let mut inner = self.inner();
        let mut turn = inner.book.turn(&asked);
        if let Some(times) = turn.times {
            let session = asked.session.as_deref().unwrap_or_default();
            let prompt = asked.prompt().map(|(_, text)| text).unwrap_or_default();
            let key = format!("{session} {} {prompt}", asked.turn());
            let struck = inner.struck.entry(key).or_default();
            if *struck < times {
                *struck += 1;
            } else {
                turn.recover();
            }
        }
        inner.visits.push(Visit { asked, key, outcome: Outcome::Underway });
        (inner.visits.len() - 1, turn)
    }

    /// Notes what became of a request, unless that is known already.
    pub(super) fn leave(&self, number: usize, outcome: Outcome) {
        if let Some(visit) = self.inner().visits.get_mut(number)
            && visit.outcome == Outcome::Underway
        {
            visit.outcome = outcome;
        }
    }
}

impl Turn {
    /// Takes away what goes wrong with it.
    fn recover(&mut self) {
        match self.fault.take() {
            Some(Fault::Refused { .. }) if self.blocks.is_empty() => {
                self.blocks = Turn::say("done").blocks;
            }
            Some(Fault::Refused { .. } | Fault::Dropped) | None => {}
        }
    }
}
