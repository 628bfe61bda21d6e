//! The chain: each row of the log carries the hash of itself and of the one before.

use cmux_core::event::Event;
use cmux_core::id::EventId;
use cmux_core::time::Timestamp;
use sha2::{Digest, Sha256};

use crate::events::{self, Row};
use crate::{Head, StoreError, View, kinds, logs, misread};

/// The hash before the first row.
pub(crate) const GENESIS: [u8; 32] = [0; 32];

/// Says what was hashed, so that no other hash of the same bytes can be taken for it.
const DOMAIN: &[u8] = b"cmux event 1\0";

/// What a walk along the chain found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    pub rows: u64,
    pub head: EventId,
    /// The first row that does not fit, if any, and why.
    pub misfit: Option<Misfit>,
}

/// A row that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    pub id: EventId,
    pub why: String,
}

/// A place that the log is known to have reached, from a source other than itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    pub id: EventId,
    pub hash: [u8; 32],
    /// Where that is known from.
    pub source: String,
}

/// Returns `event` as the row after `head`, with a raw payload of that digest if it has one.
pub(crate) fn next(head: Head, event: &Event, payload: Option<[u8; 32]>, now: Timestamp) -> Row {
    let mut row = Row {
        id: EventId(head.id.0 + 1),
        v: events::VERSION,
        at: now,
        kind: kinds::name(&event.what).to_owned(),
        project: event.project.as_ref().map(ToString::to_string),
        agent: event.agent.map(|id| id.to_string()),
        run: event.run.map(|id| id.to_string()),
        subject: kinds::subject(event),
        cause: event.cause.map(|cause| cause.to_string()),
        actor: kinds::actor(&event.actor),
        data: kinds::data(&event.what).to_string(),
        payload,
        prev: head.hash,
        hash: GENESIS,
    };
    row.hash = hash(&row);
    row
}

/// Returns the hash that `row` should have, from all that it says and the row before.
pub(crate) fn hash(row: &Row) -> [u8; 32] {
    let mut sum = Sha256::new();
    sum.update(DOMAIN);
    sum.update(row.prev);
    sum.update(row.id.0.to_be_bytes());
    sum.update(row.v.to_be_bytes());
    sum.update(row.at.0.to_be_bytes());
    let texts = [&row.project, &row.agent, &row.run, &row.subject, &row.cause];
    for text in texts {
        add(&mut sum, text.as_deref().map(str::as_bytes));
    }
    for text in [&row.kind, &row.actor, &row.data] {
        add(&mut sum, Some(text.as_bytes()));
    }
    add(&mut sum, row.payload.as_ref().map(<[u8; 32]>::as_slice));
    sum.finalize().into()
}

/// Adds a field so that no two different rows give the same bytes.
fn add(sum: &mut Sha256, field: Option<&[u8]>) {
    match field {
        None => sum.update([0]),
        Some(bytes) => {
            sum.update([1]);
            sum.update((bytes.len() as u64).to_be_bytes());
            sum.update(bytes);
        }
    }
}

/// Walks the whole chain, and checks that it passes through `anchors`.
pub fn verify(view: View<'_>, anchors: &[Anchor]) -> Result<Walk, StoreError> {
    walk(view, anchors).map_err(misread)
}

fn walk(view: View<'_>, anchors: &[Anchor]) -> Result<Walk, StoreError> {
    let start = logs::checkpoint(view)?;
    let (mut id, mut prev) = start.unwrap_or((EventId(0), GENESIS));
    let archived = id;
    let (mut rows, mut misfit) = (0, None);
    events::each(view, id, |row| {
        rows += 1;
        misfit = misfit_of(&row, id, &prev, anchors);
        (id, prev) = (row.id, row.hash);
        misfit.is_none()
    })?;
    if misfit.is_none() {
        misfit = beyond(id, archived, anchors);
    }
    Ok(Walk { rows, head: id, misfit })
}

/// Returns why `row` does not fit behind the row `last`.
fn misfit_of(row: &Row, last: EventId, prev: &[u8; 32], anchors: &[Anchor]) -> Option<Misfit> {
    let why = if row.id <= last {
        format!("its id is not after {last}")
    } else if row.prev != *prev {
        format!("it does not follow event {last}: one between was removed, or {last} was changed")
    } else if row.hash != hash(row) {
        "its hash does not fit what it says: it was changed".to_owned()
    } else {
        let differs = |anchor: &&Anchor| anchor.id == row.id && anchor.hash != row.hash;
        let anchor = anchors.iter().find(differs)?;
        format!("{} knows another event of that id", anchor.source)
    };
    Some(Misfit { id: row.id, why })
}

/// Returns the end of the log as a misfit, if an anchor lies beyond it.
fn beyond(head: EventId, archived: EventId, anchors: &[Anchor]) -> Option<Misfit> {
    let anchor = anchors.iter().find(|anchor| anchor.id > head && anchor.id > archived)?;
    let why = format!("the log ends here, but {} knows event {}", anchor.source, anchor.id);
    Some(Misfit { id: head, why })
}
