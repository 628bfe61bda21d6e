//! Hooks over HTTP: what agents' CLIs tell as they work. Only agents call them, at the socket.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::{Method, StatusCode};
use cmux_core::hook::{
    Caller as By, ClaimOutcome, Hook, HookClaim, Meaning, PAYLOAD_MAX, Reply, cut, redact,
};
use cmux_core::id::AgentId;
use cmux_core::principal::Principal;
use cmux_core::report::{Answer, Report};
use cmux_core::time::Timestamp;
use cmux_drivers::hooks::{is_event, read, shape};
use cmux_store::agents;
use cmux_wire::hook::{self as wire, HookReply, HookTaken, NewHook};
use tokio::task::spawn_blocking;

use crate::http::App;
use crate::http::extract::Body;
use crate::http::gate::{Caller, note_refusal};
use crate::http::problem::Oops;
use crate::http::sessions::unexpected;
use crate::inbox::since_boot_ms;
use crate::who::Connection;

/// How long a payload may be to be read in passing, in bytes. To read a longer one takes a while.
const SHORT_MAX: usize = 64 << 10;

/// Takes what a hook was told. To hand over the same one again changes nothing.
pub(crate) async fn take(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Arc<Connection>>,
    Caller(principal): Caller,
    Body(new): Body<NewHook>,
) -> Result<(StatusCode, Json<HookTaken>), Oops> {
    let Principal::Agent { agent, run, project } = principal else {
        note_refusal(&app, &connection, &Method::POST, "/api/hooks", "not-an-agent");
        let detail = "hooks are called by agents, which show the token of their run (CMUX_TOKEN) at \
                      the socket";
        return Err(Oops::new(StatusCode::FORBIDDEN, "not-an-agent", detail));
    };
    let age = Duration::from_millis(since_boot_ms().saturating_sub(new.since_boot_ms));
    let hook = hear(new, age).await.map_err(Oops::bad_request)?;
    let by = By::Run { agent, run, project };
    let ranks = app.ranks.get().await;
    let answer = app.ask(Report::Hooked { by, hook: Box::new(hook), ranks }).await?;
    let Answer::Hooked { event, duplicate, reply } = answer else {
        return Err(unexpected(&answer));
    };
    if !duplicate {
        tokio::spawn(pass_on(app.clone(), agent));
    }
    let status = if duplicate { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(HookTaken { event: event.0, duplicate, reply: say(reply) })))
}

/// Has whoever watches over an agent know what its hooks told. If that is lost, the next survey tells.
async fn pass_on(app: Arc<App>, agent: AgentId) {
    let found = app.read(move |view| agents::find(view, agent)).await;
    if let (Ok(Some(agent)), Ok(keeper)) = (found, app.keeper().await) {
        keeper.hooked(agent).await;
    }
}

/// Returns what was told so long ago, or why it makes no sense.
pub(crate) async fn hear(new: NewHook, age: Duration) -> Result<Hook, String> {
    if new.payload.len() <= SHORT_MAX {
        return understand(new, age);
    }
    spawn_blocking(move || understand(new, age)).await.map_err(|error| error.to_string())?
}

fn understand(new: NewHook, age: Duration) -> Result<Hook, String> {
    let NewHook { hook, kind, event, at, payload, claim, .. } = new;
    let id = hook.parse().map_err(|bad: cmux_core::id::BadId| bad.to_string())?;
    let unknown = || "`kind` must be one of claude, codex, gemini, demo".to_owned();
    let shape = shape(&kind).ok_or_else(unknown)?;
    if !is_event(&event) {
        return Err("`event` must be 1 to 64 of A-Z, a-z, 0-9 and _".to_owned());
    }
    let claim = claim.as_ref().map(claimed).transpose()?;
    let understood = read(shape, &event, &payload);
    // A prompt that was held back is none.
    let is_stopped = claim.is_some_and(|claim| claim.outcome.is_held_back());
    let is_held_back = is_stopped && understood.means == Meaning::Prompted;
    let means = if is_held_back { Meaning::Notice } else { understood.means };
    Ok(Hook {
        id,
        name: event,
        means,
        ids: understood.ids,
        at: Timestamp(at.millis()),
        age,
        payload: cut(redact(&payload), PAYLOAD_MAX),
        claim,
    })
}

fn claimed(claim: &wire::HookClaim) -> Result<HookClaim, String> {
    let delivery = claim.delivery.parse().map_err(|bad: cmux_core::id::BadId| bad.to_string())?;
    let outcome = match claim.outcome {
        wire::ClaimOutcome::Claimed => ClaimOutcome::Claimed,
        wire::ClaimOutcome::Again => ClaimOutcome::Again,
        wire::ClaimOutcome::Second => ClaimOutcome::Second,
        wire::ClaimOutcome::Blocked => ClaimOutcome::Blocked,
    };
    Ok(HookClaim { delivery, outcome })
}

fn say(reply: Reply) -> HookReply {
    match reply {
        Reply::Pass => HookReply::Pass,
        Reply::Block { why } => HookReply::Block { why },
        Reply::Allow => HookReply::Allow,
        Reply::Deny { why } => HookReply::Deny { why },
        Reply::Ask => HookReply::Ask,
        Reply::Context { text } => HookReply::Context { text },
    }
}
