//! Why an agent is taken to be in its phase, over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use cmux_core::agent::{Agent, Doing};
use cmux_core::time::Timestamp;
use cmux_core::witness::Said;
use cmux_wire::time::Time;
use cmux_wire::why as wire;

use crate::http::App;
use crate::http::agents::{Where, find, say_phase};
use crate::http::extract::{Named, Query};
use crate::http::gate::Caller;
use crate::http::problem::Oops;
use crate::keeper::Known;

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(name): Named<String>,
    Query(place): Query<Where>,
) -> Result<Json<wire::Why>, Oops> {
    let agent = find(&app, &caller, &name, &place).await?;
    let known = app.keeper().await?.why(agent.id).await;
    Ok(Json(say(&agent, known)))
}

fn say(agent: &Agent, known: Option<Known>) -> wire::Why {
    let (sayings, decided, process) = match known {
        Some(Known { said, decided, process }) => (said, decided, Some(process)),
        None => (Vec::new(), None, None),
    };
    let process = process.map(|(pid, at)| wire::Saying {
        witness: "process".to_owned(),
        says: format!("alive, as process {pid}"),
        rule: None,
        line: None,
        at: time(at),
    });
    wire::Why {
        agent: agent.id.to_string(),
        phase: say_phase(&agent.phase),
        since: time(agent.since),
        reason: agent.reason.clone(),
        decided: decided.as_ref().map(saying),
        sayings: sayings.iter().map(saying).chain(process).collect(),
    }
}

fn saying(said: &Said) -> wire::Saying {
    let says = match &said.doing {
        Doing::AtPrompt => "idle".to_owned(),
        Doing::Working => "busy".to_owned(),
        Doing::Asking { what } => format!("asking: {what}"),
        Doing::Limited { until: None } => "limited".to_owned(),
        Doing::Limited { until: Some(until) } => format!("limited until {}", time(*until)),
    };
    wire::Saying {
        witness: said.witness.name().to_owned(),
        says,
        rule: said.rule.clone(),
        line: said.line.clone(),
        at: time(said.at),
    }
}

fn time(at: Timestamp) -> Time {
    Time::from_millis(at.0)
}
