//! The log over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use cmux_core::id::EventId;
use cmux_store::events::{self, Filter, Row};
use cmux_store::{StoreError, logs};
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

/// Which events are wanted.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// After this one. Without it, the newest; or, for a stream, those that are yet to come.
    pub(crate) since: Option<i64>,
    /// How many at most.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) limit: Option<u32>,
    pub(crate) project: Option<String>,
    pub(crate) agent: Option<String>,
    /// One kind, or all that begin so if it ends with a dot.
    pub(crate) kind: Option<String>,
    /// The log that `since` is a place in.
    pub(crate) log: Option<String>,
}

impl Wanted {
    pub(crate) fn filter(&self) -> Filter {
        Filter { project: self.project.clone(), agent: self.agent.clone(), kind: self.kind.clone() }
    }

    /// Returns how many are wanted at most, if that many may be.
    pub(crate) fn limit(&self) -> Result<u32, Oops> {
        let limit = self.limit.unwrap_or(LIMIT);
        if (1..=events::PAGE_MAX).contains(&limit) {
            Ok(limit)
        } else {
            Err(Oops::bad_request(format!("`limit` must be 1 to {}", events::PAGE_MAX)))
        }
    }

    /// Returns the same for one who may know of no project but their own.
    pub(crate) fn confined(self, Caller(principal): &Caller) -> Result<Wanted, Oops> {
        let Some(own) = principal.confined_to() else { return Ok(self) };
        match &self.project {
            Some(project) if *project != own.to_string() => Err(Oops::elsewhere()),
            Some(_) | None => Ok(Wanted { project: Some(own.to_string()), ..self }),
        }
    }
}

/// Tells the events after `since`, or without it the newest, oldest first.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(wanted): Query<Wanted>,
) -> Result<Json<wire::Events>, Oops> {
    let wanted = wanted.confined(&caller)?;
    let limit = wanted.limit()?;
    let found = app.read(move |view| {
        let filter = wanted.filter();
        let rows = match wanted.since {
            Some(since) => events::after(view, EventId(since), limit, &filter)?,
            None => events::newest(view, limit, &filter)?,
        };
        let log = logs::current(view)?.map_or_else(String::new, |log| log.to_string());
        let events = rows.into_iter().map(say).collect::<Result<_, _>>()?;
        let missing = wanted.since.map(|since| events::archived_after(view, EventId(since)));
        let archived_through = missing.transpose()?.flatten().map(|id| id.0);
        Ok(wire::Events { log, events, head: events::head(view)?.id.0, archived_through })
    });
    found.await.map(Json)
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
