//! Agents over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use cmux_core::agent::{Agent, AgentName, Intent, Life, LifeState, Place, Setup};
use cmux_core::id::AgentId;
use cmux_core::phase::Phase;
use cmux_core::principal::{Denial, Need, Principal};
use cmux_core::project::ProjectId;
use cmux_core::report::{Answer, Ask, NewAgent, Refused, Report};
use cmux_core::time::Timestamp;
use cmux_core::usage::{Tokens, Usage};
use cmux_drivers::tmux::TmuxError;
use cmux_store::{StoreError, View, agents, messages, projects, usage};
use cmux_wire::agent as wire;
use cmux_wire::project;
use cmux_wire::time::Time;
use cmux_wire::usage::Dollars;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::App;
use crate::http::extract::{Body, Named, Query};
use crate::http::gate::Caller;
use crate::http::launchable;
use crate::http::problem::Oops;
use crate::http::projects::parse as parse_project;
use crate::http::sessions::unexpected;
use crate::kernel::Denied;

/// How many agents a page has.
const PAGE: u32 = 100;

/// Which agents are wanted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// Only those of this project.
    #[schemars(regex(pattern = project::ID))]
    project: Option<String>,
    /// What the page before gave as `next`. Without it, the first.
    cursor: Option<String>,
}

/// Where an agent is that is called by its name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Where {
    /// The project in which the agent has that name. With an id, it need not be said.
    #[schemars(regex(pattern = project::ID))]
    pub(crate) project: Option<String>,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(wanted): Query<Wanted>,
) -> Result<Json<wire::Agents>, Oops> {
    let after = wanted.cursor.as_deref().map(parse).transpose()?;
    let project = within(&caller, wanted.project.as_deref())?;
    if let Some(project) = project.clone() {
        require_project(&app, project).await?;
    }
    let page = app.read(move |view| {
        let page = agents::page(view, project.as_ref(), after, PAGE)?;
        let next = page.last().filter(|_| page.len() == PAGE as usize).map(|it| it.id.to_string());
        let agents = page.iter().map(|agent| say_in(view, agent)).collect::<Result<_, _>>()?;
        Ok(wire::Agents { agents, next })
    });
    page.await.map(Json)
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(name): Named<String>,
    Query(place): Query<Where>,
) -> Result<Json<wire::Agent>, Oops> {
    let agent = find(&app, &caller, &name, &place).await?;
    app.read(move |view| say_in(view, &agent)).await.map(Json)
}

/// Tells where in tmux an agent is.
pub(crate) async fn place(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(name): Named<String>,
    Query(place): Query<Where>,
) -> Result<Json<wire::Place>, Oops> {
    let agent = find(&app, &caller, &name, &place).await?;
    let Some(place) = agent.present_life().and_then(place_of) else {
        let name = &agent.name;
        let detail = format!(
            "`{name}` is nowhere in tmux, as it does not run; `cmux agent resume {name}` launches it"
        );
        return Err(Oops::new(StatusCode::CONFLICT, "not-running", detail));
    };
    Ok(Json(wire::Place { server: place.server.clone(), pane: place.pane.clone() }))
}

/// Launches an agent. One that an agent launches is its child, and lives in the same project.
pub(crate) async fn spawn(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(new): Body<wire::NewAgent>,
) -> Result<(StatusCode, Json<wire::Agent>), Oops> {
    let project = parse_project(&new.project)?;
    caller.0.may_spawn_in(&project).map_err(|denial| not_here(denial, &caller.0))?;
    let root = require_project(&app, project.clone()).await?;
    let name = AgentName::new(&new.name).map_err(|bad| Denied::Refused(bad.into()))?;
    let parent = match &caller.0 {
        Principal::Agent { agent, .. } => Some(*agent),
        Principal::Operator
        | Principal::Browser { .. }
        | Principal::Token { .. }
        | Principal::Nobody => None,
    };
    let setup = Setup {
        cwd: new.cwd.unwrap_or_else(|| root.clone()),
        task: new.task,
        args: new.args,
        env: new.env.into_iter().collect(),
        permanent: new.permanent,
    };
    let new = NewAgent { project, name, role: new.role, kind: new.kind, parent, setup };
    new.check().map_err(|bad| Denied::Refused(bad.into()))?;
    // Asking twice is asking once, whatever has become of the machine since.
    if !is_there(&app, new.project.clone(), new.name.clone()).await? {
        launchable::check(&app, &new.kind, &new.setup.cwd).await?;
        if parent.is_some() {
            launchable::check_modest(&app, &new, &root).await?;
        }
    }
    let (agent, created) = ask(&app, &caller, Ask::SpawnAgent { new }).await?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, agent))
}

pub(crate) async fn remove(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(name): Named<String>,
    Query(place): Query<Where>,
) -> Result<StatusCode, Oops> {
    let agent = tended(&app, &caller, &name, &place).await?;
    let ask = Ask::RemoveAgent { id: agent.id };
    if agent.adopted && agent.present_life().is_some() {
        // Before it is forgotten where they are: nothing of cmux stays in a person's tmux.
        let released = app.keeper().await?.release(agent).await;
        released.map_err(|error| unreleased(&error))?;
    }
    app.ask(Report::Asked { actor: caller.actor(), ask }).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn restart(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(name): Named<String>,
    Query(place): Query<Where>,
) -> Result<Json<wire::Agent>, Oops> {
    let id = tended(&app, &caller, &name, &place).await?.id;
    Ok(ask(&app, &caller, Ask::RestartAgent { id }).await?.0)
}

pub(crate) async fn pause(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(name): Named<String>,
    Query(place): Query<Where>,
) -> Result<Json<wire::Agent>, Oops> {
    want(&app, &caller, &name, &place, Intent::Pause).await
}

pub(crate) async fn resume(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(name): Named<String>,
    Query(place): Query<Where>,
) -> Result<Json<wire::Agent>, Oops> {
    want(&app, &caller, &name, &place, Intent::Run).await
}

pub(crate) async fn interrupt(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(name): Named<String>,
    Query(place): Query<Where>,
) -> Result<Json<wire::Agent>, Oops> {
    let id = tended(&app, &caller, &name, &place).await?.id;
    Ok(ask(&app, &caller, Ask::InterruptAgent { id }).await?.0)
}

pub(crate) async fn stop(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(name): Named<String>,
    Query(place): Query<Where>,
) -> Result<Json<wire::Agent>, Oops> {
    want(&app, &caller, &name, &place, Intent::Stop).await
}

async fn want(
    app: &App,
    caller: &Caller,
    name: &str,
    place: &Where,
    intent: Intent,
) -> Result<Json<wire::Agent>, Oops> {
    let id = tended(app, caller, name, place).await?.id;
    Ok(ask(app, caller, Ask::WantAgent { id, intent }).await?.0)
}

/// Asks the kernel, and returns the agent that it answers with and whether that is new.
async fn ask(app: &App, caller: &Caller, ask: Ask) -> Result<(Json<wire::Agent>, bool), Oops> {
    let answer = app.ask(Report::Asked { actor: caller.actor(), ask }).await?;
    let Answer::Agent { agent, created } = answer else { return Err(unexpected(&answer)) };
    let said = app.read(move |view| say_in(view, &agent)).await?;
    Ok((Json(said), created))
}

/// Returns the agent that is called so: by its id, or by its name in a project.
pub(crate) async fn find(
    app: &App,
    caller: &Caller,
    called: &str,
    place: &Where,
) -> Result<Agent, Oops> {
    let project = within(caller, place.project.as_deref())?;
    if let Ok(id) = called.parse::<AgentId>() {
        let found = app.read(move |view| agents::find(view, id)).await?;
        let missing = || Oops::from(Denied::Refused(Refused::NoAgent(id)));
        let agent = found.ok_or_else(missing)?;
        // To whoever is confined, others are as if they were not there.
        let is_here = project.is_none_or(|project| project == agent.project);
        return if is_here { Ok(agent) } else { Err(missing()) };
    }
    let name = AgentName::new(called).map_err(|bad| Denied::Refused(bad.into()))?;
    let Some(project) = project else {
        let detail = format!(
            "there is no agent with the id `{name}`; to call one by its name, say where it is with \
             `?project=`"
        );
        return Err(Oops::not_found(detail));
    };
    let (wanted, within) = (name.clone(), project.clone());
    let found = app.read(move |view| agents::find_by_name(view, &within, wanted.as_str())).await?;
    let detail = || format!("there is no agent `{name}` in the project `{project}`");
    found.ok_or_else(|| Oops::not_found(detail()))
}

/// Returns the agent that is called so, if the caller may tend it.
pub(crate) async fn tended(
    app: &App,
    caller: &Caller,
    called: &str,
    place: &Where,
) -> Result<Agent, Oops> {
    let agent = find(app, caller, called, place).await?;
    let id = agent.id;
    let above = app.read(move |view| agents::above(view, id)).await?;
    match (caller.0.may_tend(&above), &caller.0) {
        (Ok(()), _) => Ok(agent),
        (Err(_), Principal::Agent { .. }) => {
            let detail = format!(
                "an agent may tend those that it launched, and `{}` is not one of them: the person may",
                agent.name
            );
            Err(Oops::new(StatusCode::FORBIDDEN, "not-allowed", detail))
        }
        (Err(denial), who) => Err(Oops::denied(denial, who, Need::Operate)),
    }
}

/// Returns whether there is an agent of that name.
async fn is_there(app: &App, project: ProjectId, name: AgentName) -> Result<bool, Oops> {
    let found = app.read(move |view| agents::find_by_name(view, &project, name.as_str())).await?;
    Ok(found.is_some())
}

/// Says that an adopted agent still carries its tags, and so is not forgotten.
fn unreleased(error: &TmuxError) -> Oops {
    let detail = format!("its pane could not be freed, so it is not forgotten: {error}. Try again");
    Oops::new(StatusCode::SERVICE_UNAVAILABLE, "terminal-unseen", detail)
}

/// Returns the project that is looked in: the one that is wanted, if the caller may know of it.
fn within(Caller(principal): &Caller, wanted: Option<&str>) -> Result<Option<ProjectId>, Oops> {
    let wanted = wanted.map(parse_project).transpose()?;
    match (principal.confined_to(), wanted) {
        (None, wanted) => Ok(wanted),
        (Some(own), Some(wanted)) if wanted != *own => Err(Oops::elsewhere()),
        (Some(own), Some(_) | None) => Ok(Some(own.clone())),
    }
}

/// Returns the root of `project`, which must be there.
pub(crate) async fn require_project(app: &App, project: ProjectId) -> Result<String, Oops> {
    let wanted = project.clone();
    let found = app.read(move |view| projects::find(view, &wanted)).await?;
    let missing = || Oops::from(Denied::Refused(Refused::NoProject(project)));
    found.map(|project| project.root).ok_or_else(missing)
}

/// Says that `who` may launch nothing there.
fn not_here(denial: Denial, who: &Principal) -> Oops {
    match who.confined_to() {
        Some(_) => Oops::elsewhere(),
        None => Oops::denied(denial, who, Need::Operate),
    }
}

fn parse(id: &str) -> Result<AgentId, Oops> {
    id.parse().map_err(|error: cmux_core::id::BadId| Oops::bad_request(error.to_string()))
}

/// Returns `agent` as clients see it, with how much mail waits for it and what it has used.
pub(crate) fn say_in(view: View<'_>, agent: &Agent) -> Result<wire::Agent, StoreError> {
    let usage = usage::of_agent(view, agent.id)?;
    Ok(say(agent, messages::queue_of(view, agent.id)?, say_usage(usage)))
}

/// Returns what was used as clients see it.
pub(crate) fn say_usage(usage: Usage) -> cmux_wire::usage::Usage {
    let Tokens { input, output, cache_read, cache_write, .. } = usage.tokens;
    cmux_wire::usage::Usage {
        tokens: usage.tokens.total(),
        input_tokens: input,
        output_tokens: output,
        cache_read_tokens: cache_read,
        cache_write_tokens: cache_write,
        cost_usd: usage.known_cost().map(|cost| Dollars::from_nanos(cost.0)),
        unpriced_tokens: usage.unpriced,
    }
}

fn say(agent: &Agent, queue: u64, usage: cmux_wire::usage::Usage) -> wire::Agent {
    let time = |at: Timestamp| Time::from_millis(at.0);
    let life = agent.present_life();
    let process = match life.map(|life| &life.state) {
        Some(LifeState::Alive { process, .. } | LifeState::Ending { process, .. }) => Some(process),
        Some(LifeState::Ended { .. } | LifeState::Launching | LifeState::Over) | None => None,
    };
    wire::Agent {
        id: agent.id.to_string(),
        name: agent.name.to_string(),
        project: agent.project.to_string(),
        role: agent.role.clone(),
        kind: agent.kind.clone(),
        parent: agent.parent.map(|id| id.to_string()),
        intent: match agent.intent {
            Intent::Run => wire::Intent::Run,
            Intent::Pause => wire::Intent::Pause,
            Intent::Stop => wire::Intent::Stop,
        },
        phase: say_phase(&agent.phase),
        since: time(agent.since),
        until: agent.phase.until().map(time),
        reason: agent.reason.clone(),
        permanent: agent.setup.permanent,
        pid: process.map(|process| process.pid),
        pane: life.and_then(place_of).map(|place| place.pane.clone()),
        run: life.map(|life| life.run.to_string()),
        session_id: agent.session.clone(),
        cwd: agent.setup.cwd.clone(),
        started_at: life.map(|life| time(life.began_at)),
        last_seen_at: agent.seen_at.map(time),
        queue,
        usage,
    }
}

/// Returns where a life is, or was last, if it has come that far.
pub(crate) fn place_of(life: &Life) -> Option<&Place> {
    match &life.state {
        LifeState::Alive { place, .. } | LifeState::Ending { place, .. } => Some(place),
        LifeState::Ended { place, .. } => place.as_ref(),
        LifeState::Launching | LifeState::Over => None,
    }
}

pub(crate) fn say_phase(phase: &Phase) -> wire::Phase {
    match phase {
        Phase::Offline => wire::Phase::Offline,
        Phase::Starting { .. } => wire::Phase::Starting,
        Phase::Idle => wire::Phase::Idle,
        Phase::Busy => wire::Phase::Busy,
        Phase::Asking => wire::Phase::Asking,
        Phase::Limited { .. } => wire::Phase::Limited,
        Phase::Down { .. } => wire::Phase::Down,
        Phase::Failed => wire::Phase::Failed,
    }
}
