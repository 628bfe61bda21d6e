//! An agent's history over HTTP: what was said to it and by it, and the turns that it took.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use cmux_core::id::AgentId;
use cmux_core::message::Message;
use cmux_core::principal::Principal;
use cmux_store::events::{self, Filter as EventFilter, Row};
use cmux_store::messages::{self, Filter};
use cmux_store::{StoreError, View};
use cmux_wire::message::{History, Moment, Turn};
use cmux_wire::project;
use cmux_wire::time::Time;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::http::App;
use crate::http::agents::{Where, find};
use crate::http::extract::{Named, Query};
use crate::http::gate::Caller;
use crate::http::messages::listed;
use crate::http::problem::Oops;

/// How many messages a page has.
const PAGE: u32 = 50;

/// How many of an agent's newest hooks are looked through for its turns.
const HOOKS_MAX: u32 = 1000;

/// How many tools of a turn are named.
const TOOLS_MAX: usize = 100;

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
    match &caller.0 {
        Principal::Agent { agent: own, .. } if *own != agent.id => {
            let detail =
                format!("an agent may see its own history, and not that of `{}`", agent.name);
            return Err(Oops::new(StatusCode::FORBIDDEN, "not-allowed", detail));
        }
        Principal::Agent { .. }
        | Principal::Operator
        | Principal::Browser { .. }
        | Principal::Token { .. }
        | Principal::Nobody => {}
    }
    app.read(move |view| read(view, agent.id, before)).await.map(Json)
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
    let is_of_page = |turn: &Turn| (from_ms..until_ms).contains(&turn.began_at.millis());
    let hooks = EventFilter {
        agent: Some(agent.to_string()),
        kind: Some("hook.received".to_owned()),
        ..EventFilter::default()
    };
    let turns = turns(&events::newest(view, HOOKS_MAX, &hooks)?);
    let mut history: Vec<Moment> =
        listed(view, mail)?.into_iter().map(|it| Moment::Message(Box::new(it))).collect();
    history.extend(turns.into_iter().filter(is_of_page).map(Moment::Turn));
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

/// Returns the turns that hooks tell of, as far as they do.
fn turns(hooks: &[Row]) -> Vec<Turn> {
    let mut turns: BTreeMap<String, Turn> = BTreeMap::new();
    for row in hooks {
        let Ok(data) = serde_json::from_str::<Value>(&row.data) else { continue };
        let Some(id) = data["turn"].as_str() else { continue };
        let at = Time::from_millis(row.at.0);
        let turn = turns.entry(id.to_owned()).or_insert_with(|| Turn {
            id: id.to_owned(),
            run: row.run.clone(),
            began_at: at,
            ended_at: None,
            tools: Vec::new(),
        });
        match data["means"].as_str().unwrap_or_default() {
            "turn_ended" | "turn_failed" | "limited" | "session_ended" => turn.ended_at = Some(at),
            "tool_began" if turn.tools.len() < TOOLS_MAX => {
                turn.tools.extend(data["tool"].as_str().map(ToOwned::to_owned));
            }
            _ => {}
        }
    }
    turns.into_values().collect()
}

#[cfg(test)]
mod tests {
    use cmux_core::id::EventId;
    use cmux_core::time::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_turn_is_put_together_from_what_hooks_tell() {
        let hooks = [
            hook(1, &json!({"means": "session_began", "turn": null})),
            hook(2, &json!({"means": "prompted", "turn": "trn_1"})),
            hook(3, &json!({"means": "tool_began", "turn": "trn_1", "tool": "Bash"})),
            hook(4, &json!({"means": "tool_ended", "turn": "trn_1", "tool": "Bash"})),
            hook(5, &json!({"means": "turn_ended", "turn": "trn_1"})),
            hook(6, &json!({"means": "prompted", "turn": "trn_2"})),
        ];
        let turns = turns(&hooks);
        let told: Vec<_> = turns
            .iter()
            .map(|it| (it.id.as_str(), it.began_at.millis(), it.ended_at.map(Time::millis)))
            .collect();
        assert_eq!(told, [("trn_1", 2, Some(5)), ("trn_2", 6, None)]);
        assert_eq!(turns[0].tools, ["Bash"]);
    }

    #[test]
    fn only_what_a_page_gave_is_a_cursor() {
        assert_eq!(parse("7-1763240400007").unwrap(), Before { place: 7, ms: 1_763_240_400_007 });
        for bad in ["", "7", "7-", "-7", "7-7-7", "+7-1", "99999999999999999999-1"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    fn hook(at: i64, data: &Value) -> Row {
        Row {
            id: EventId(at),
            v: 1,
            at: Timestamp(at),
            kind: "hook.received".to_owned(),
            project: None,
            agent: None,
            run: None,
            subject: None,
            cause: None,
            actor: "cmux".to_owned(),
            data: data.to_string(),
            payload: None,
            prev: [0; 32],
            hash: [0; 32],
        }
    }
}
