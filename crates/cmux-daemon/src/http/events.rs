//! The log over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use cmux_core::id::EventId;
use cmux_store::events::{self, Filter, Row, Search, Searched, Way};
use cmux_store::{StoreError, View, logs};
use cmux_wire::event as wire;
use cmux_wire::time::Time;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::http::App;
use crate::http::extract::Query;
use crate::http::gate::Caller;
use crate::http::problem::Oops;

/// How many events are told if nobody says.
const LIMIT: u32 = 100;

/// How long a text may be that is looked for, in letters.
const TEXT_MAX: usize = 200;

/// How such a text looks.
const TEXT: &str = r"^[^\x00-\x1f]{1,200}$";

/// Which events are wanted.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// After this one. Without it, the newest.
    since: Option<i64>,
    /// The newest before this one; with `since`, those after that one, as far as this.
    before: Option<i64>,
    /// How many at most.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
    project: Option<String>,
    agent: Option<String>,
    /// One kind, or all that begin so if it ends with a dot.
    kind: Option<String>,
    /// What they are about, such as `message:msg_…`.
    subject: Option<String>,
    /// A text that is part of their kind, actor or data, or of their agent's name. It is looked for in a part of
    /// the log, and `scanned_from` says how far.
    #[schemars(regex(pattern = TEXT))]
    q: Option<String>,
    /// The log that `since` is a place in.
    #[expect(dead_code, reason = "it is for streams, and does no harm here")]
    log: Option<String>,
}

/// Which of the events there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Newest,
    Before(i64),
    Since(i64),
}

impl Wanted {
    fn part(&self) -> Part {
        match (self.since, self.before) {
            (None, None) => Part::Newest,
            (None, Some(before)) => Part::Before(before),
            (Some(since), None | Some(_)) => Part::Since(since),
        }
    }

    /// Returns what `caller` may know of what is looked for.
    fn search(self, caller: &Caller) -> Result<Search, Oops> {
        if let Some(text) = &self.q
            && (text.is_empty() || text.chars().count() > TEXT_MAX || text.contains(is_unseen))
        {
            let detail = format!("`q` must be 1 to {TEXT_MAX} letters in one line");
            return Err(Oops::bad_request(detail));
        }
        let filter = filter(caller, self.project, self.agent, self.kind)?;
        Ok(Search { filter, subject: self.subject, text: self.q })
    }
}

fn is_unseen(letter: char) -> bool {
    letter < ' '
}

/// Returns how many are wanted at most, if that many may be.
pub(crate) fn limit(wanted: Option<u32>) -> Result<u32, Oops> {
    let limit = wanted.unwrap_or(LIMIT);
    if (1..=events::PAGE_MAX).contains(&limit) {
        Ok(limit)
    } else {
        Err(Oops::bad_request(format!("`limit` must be 1 to {}", events::PAGE_MAX)))
    }
}

/// Returns which events are told to the caller: of mail, only what they may know of, and if they may know of no
/// project but their own, only what is of that.
pub(crate) fn filter(
    Caller(principal): &Caller,
    project: Option<String>,
    agent: Option<String>,
    kind: Option<String>,
) -> Result<Filter, Oops> {
    let project = match principal.confined_to().map(ToString::to_string) {
        None => project,
        Some(own) if project.as_ref().is_none_or(|project| *project == own) => Some(own),
        Some(_) => return Err(Oops::elsewhere()),
    };
    let mail_of = principal.only_mail_of().map(|agent| agent.to_string());
    Ok(Filter { project, agent, kind, mail_of })
}

/// Tells the events after `since`, or before `before`, or the newest, oldest first.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(wanted): Query<Wanted>,
) -> Result<Json<wire::Events>, Oops> {
    let (part, limit) = (wanted.part(), limit(wanted.limit)?);
    let end = wanted.since.and(wanted.before);
    let search = wanted.search(&caller)?;
    let found = app.read(move |view| read(view, part, limit, &search)).await?;
    Ok(Json(match end {
        Some(end) => before(found, end),
        None => found,
    }))
}

/// Returns what was found before the event `end`.
fn before(mut found: wire::Events, end: i64) -> wire::Events {
    found.events.retain(|event| event.id < end);
    // There is nothing further that was asked for.
    found.scanned_through =
        found.scanned_through.filter(|through| *through < end.saturating_sub(1));
    found
}

fn read(
    view: View<'_>,
    part: Part,
    limit: u32,
    search: &Search,
) -> Result<wire::Events, StoreError> {
    let Searched { rows, looked_to } = find(view, part, limit, search)?;
    let log = logs::current(view)?.map_or_else(String::new, |log| log.to_string());
    let events = rows.into_iter().map(say).collect::<Result<_, _>>()?;
    let looked_to = looked_to.map(|id| id.0);
    let (scanned_from, scanned_through, missed_since) = match part {
        Part::Newest => (looked_to, None, None),
        // Whoever has come to the oldest is told what was there before.
        Part::Before(_) => (looked_to, None, looked_to.is_none().then_some(0)),
        Part::Since(since) => (None, looked_to, Some(since)),
    };
    let missing = missed_since.map(|since| events::archived_after(view, EventId(since)));
    let archived_through = missing.transpose()?.flatten().map(|id| id.0);
    let head = events::head(view)?.id.0;
    Ok(wire::Events { log, events, head, archived_through, scanned_from, scanned_through })
}

/// Finds `part` of the events that are looked for. What an index names is found wherever it is.
fn find(view: View<'_>, part: Part, limit: u32, search: &Search) -> Result<Searched, StoreError> {
    let is_plain = search.subject.is_none() && search.text.is_none();
    let (rows, way) = match part {
        Part::Newest if is_plain => (events::newest(view, limit, &search.filter)?, None),
        Part::Since(since) if is_plain => {
            (events::after(view, EventId(since), limit, &search.filter)?, None)
        }
        Part::Newest => (Vec::new(), Some(Way::Before(EventId(i64::MAX)))),
        Part::Before(before) => (Vec::new(), Some(Way::Before(EventId(before)))),
        Part::Since(since) => (Vec::new(), Some(Way::After(EventId(since)))),
    };
    if let Some(way) = way {
        return events::search(view, way, limit, search);
    }
    let is_full = rows.len() == limit as usize;
    let last = match part {
        Part::Newest | Part::Before(_) => rows.first(),
        Part::Since(_) => rows.last(),
    };
    let looked_to = last.filter(|_| is_full).map(|row| row.id);
    Ok(Searched { rows, looked_to })
}

/// Returns `row` as clients see it.
pub(crate) fn say(row: Row) -> Result<wire::Event, StoreError> {
    let damaged = |error| StoreError::Damaged { what: format!("event {}: {error}", row.id) };
    let data: Value = serde_json::from_str(&row.data).map_err(damaged)?;
    Ok(wire::Event {
        id: row.id.0,
        v: row.v,
        at: Time::from_millis(row.at.0),
        kind: row.kind,
        project: row.project,
        agent: row.agent,
        run: row.run,
        subject: row.subject,
        cause: row.cause,
        actor: row.actor,
        data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmux_core::principal::Principal;

    #[test]
    fn a_text_that_is_looked_for_has_few_letters_and_one_line() {
        let long = "ä".repeat(TEXT_MAX);
        for (text, expected) in [
            ("x", true),
            ("%_\\'\"", true),
            (&long, true),
            (&format!("{long}x"), false),
            ("", false),
            ("a\nb", false),
            ("a\0b", false),
        ] {
            let wanted = Wanted { q: Some(text.to_owned()), ..nothing() };
            let search = wanted.search(&Caller(Principal::Operator));
            assert_eq!(search.map(|it| it.text).ok().flatten().is_some(), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_after_one_comes_before_what_is_before_another() {
        for (since, before, expected) in [
            (None, None, Part::Newest),
            (Some(7), None, Part::Since(7)),
            (None, Some(7), Part::Before(7)),
            (Some(7), Some(9), Part::Since(7)),
        ] {
            let wanted = Wanted { since, before, ..nothing() };
            assert_eq!(wanted.part(), expected);
        }
    }

    fn nothing() -> Wanted {
        let (since, before, limit, project, agent) = (None, None, None, None, None);
        Wanted {
            since,
            before,
            limit,
            project,
            agent,
            kind: None,
            subject: None,
            q: None,
            log: None,
        }
    }
}
