//! An agent's history over HTTP: what was said to it and by it, and the turns that it took.

use std::cmp::Reverse;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use cmux_core::agent::Agent;
use cmux_core::id::AgentId;
use cmux_core::message::Message;
use cmux_core::principal::Principal;
use cmux_core::time::Timestamp;
use cmux_core::turn::{Turn, TurnEnd};
use cmux_store::messages::{self, Filter};
use cmux_store::{StoreError, View, deliveries, turns, usage};
use cmux_wire::message::{History, Moment};
use cmux_wire::project;
use cmux_wire::time::Time;
use cmux_wire::turn as wire;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::App;
use crate::http::agents::{Where, find, say_usage};
use crate::http::extract::{Named, Query};
use crate::http::gate::Caller;
use crate::http::messages::listed;
use crate::http::problem::Oops;

/// How many messages a page has.
const PAGE: u32 = 50;

/// How many turns a page has at most.
const TURNS_MAX: u32 = 200;

/// How a cursor looks: the place of the last message, and when that was sent.
const CURSOR: &str = "^[0-9]{1,18}-[0-9]{1,15}$";

/// Which part of whose history is wanted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// The project in which the agent has that name. With an id, it need not be said.
    #[schemars(regex(pattern = project::ID))]
    project: Option<String>,
    /// What the page before gave as `next`. Without it, the newest.
    #[schemars(regex(pattern = CURSOR))]
    cursor: Option<String>,
}

/// Where a page begins: before this message, and before this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Before {
    place: i64,
    ms: i64,
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(name): Named<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<History>, Oops> {
    let before = wanted.cursor.as_deref().map(parse).transpose()?;
    let agent = find(&app, &caller, &name, &Where { project: wanted.project }).await?;
    require_own(&caller, &agent, "history")?;
    app.read(move |view| read(view, agent.id, before)).await.map(Json)
}

/// Refuses what is of another agent to an agent.
pub(crate) fn require_own(caller: &Caller, agent: &Agent, what: &str) -> Result<(), Oops> {
    match &caller.0 {
        Principal::Agent { agent: own, .. } if *own != agent.id => {
            let detail =
                format!("an agent may see its own {what}, and not that of `{}`", agent.name);
            Err(Oops::new(StatusCode::FORBIDDEN, "not-allowed", detail))
        }
        Principal::Agent { .. }
        | Principal::Operator
        | Principal::Browser { .. }
        | Principal::Token { .. }
        | Principal::Nobody => Ok(()),
    }
}

fn parse(cursor: &str) -> Result<Before, Oops> {
    let is_plain = cursor.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let parts = cursor.split_once('-').filter(|_| is_plain);
    let before = parts
        .and_then(|(place, ms)| Some(Before { place: place.parse().ok()?, ms: ms.parse().ok()? }));
    before.ok_or_else(|| Oops::bad_request("`cursor` must be what the page before gave as `next`"))
}

fn read(view: View<'_>, agent: AgentId, before: Option<Before>) -> Result<History, StoreError> {
    let mail = mail(view, agent, before.map(|before| before.place))?;
    let is_full = mail.len() == PAGE as usize;
    let last = mail.last().filter(|_| is_full).map(|last| (last.seq, last.created_at.0));
    let until_ms = before.map_or(i64::MAX, |before| before.ms);
    let from_ms = last.map_or(i64::MIN, |(_, ms)| ms);
    let (from, until) = (Timestamp(from_ms), Timestamp(until_ms));
    let turns = turns::between(view, agent, from, until, TURNS_MAX)?;
    let turns = turns.iter().map(|turn| say(view, turn)).collect::<Result<Vec<_>, _>>()?;
    let mut history: Vec<Moment> =
        listed(view, mail)?.into_iter().map(|it| Moment::Message(Box::new(it))).collect();
    history.extend(turns.into_iter().map(|turn| Moment::Turn(Box::new(turn))));
    history.sort_by_key(|moment| Reverse(at(moment)));
    Ok(History { history, next: last.map(|(seq, ms)| format!("{seq}-{}", ms.max(0))) })
}

fn at(moment: &Moment) -> Time {
    match moment {
        Moment::Message(message) => message.created_at,
        Moment::Turn(turn) => turn.began_at,
    }
}

/// Returns the newest messages to or from `agent` before this place, newest first.
fn mail(view: View<'_>, agent: AgentId, before: Option<i64>) -> Result<Vec<Message>, StoreError> {
    let to = Filter { to_agent: Some(agent), ..Filter::default() };
    let from = Filter { from: Some(agent.to_string()), ..Filter::default() };
    let mut mail = messages::page(view, &to, before, PAGE)?;
    mail.extend(messages::page(view, &from, before, PAGE)?);
    mail.sort_by_key(|message| Reverse(message.seq));
    // What it wrote to itself is in both.
    mail.dedup_by_key(|message| message.seq);
    mail.truncate(PAGE as usize);
    Ok(mail)
}

/// Returns a turn as clients see it.
fn say(view: View<'_>, turn: &Turn) -> Result<wire::Turn, StoreError> {
    let mut messages = Vec::new();
    for delivery in &turn.deliveries {
        let found = deliveries::find(view, *delivery)?;
        messages.extend(found.into_iter().flat_map(|it| it.messages).map(|id| id.to_string()));
    }
    Ok(wire::Turn {
        id: turn.id.to_string(),
        run: Some(turn.run.to_string()),
        began_at: Time::from_millis(turn.began_at.0),
        ended_at: turn.end.map(|end| Time::from_millis(end.at.0)),
        how: turn.end.map(|end| say_end(end.how)),
        messages,
        tools: turn.tools.clone(),
        calls: turn.calls,
        usage: say_usage(usage::of_turn(view, turn)?),
    })
}

fn say_end(how: TurnEnd) -> wire::TurnEnd {
    match how {
        TurnEnd::Done => wire::TurnEnd::Done,
        TurnEnd::Failed => wire::TurnEnd::Failed,
        TurnEnd::Limited => wire::TurnEnd::Limited,
        TurnEnd::Interrupted => wire::TurnEnd::Interrupted,
        TurnEnd::Left => wire::TurnEnd::Left,
        TurnEnd::Died => wire::TurnEnd::Died,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_page_gave_is_a_cursor() {
        assert_eq!(parse("7-1763240400007").unwrap(), Before { place: 7, ms: 1_763_240_400_007 });
        for bad in ["", "7", "7-", "-7", "7-7-7", "+7-1", "99999999999999999999-1"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
