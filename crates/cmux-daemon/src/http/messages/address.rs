//! Who writes to whom: decided by who asks, and never by what is written.

use axum::http::StatusCode;
use cmux_core::agent::{Agent, AgentName};
use cmux_core::event::Actor;
use cmux_core::id::AgentId;
use cmux_core::message::{Message, Recipient, Sender, USER};
use cmux_core::nearest::nearest;
use cmux_core::principal::{Denial, Need, Principal};
use cmux_core::project::{Project, ProjectId};
use cmux_core::report::Refused;
use cmux_store::{agents, projects, tokens};
use cmux_wire::message as wire;

use crate::http::App;
use crate::http::agents::require_project;
use crate::http::gate::Caller;
use crate::http::launchable::runs_what_it_is_told;
use crate::http::problem::Oops;
use crate::http::projects::parse as parse_project;
use crate::kernel::Denied;

/// How many names are told to whoever used another.
const NAMES_MAX: usize = 8;

/// What is said of an agent that is not there.
const NOT_FOUND: &str = "not-found";

/// Who reads a message, and in which project.
pub(crate) struct Reader {
    pub(crate) project: ProjectId,
    pub(crate) to: Recipient,
}

/// Returns who is to read `new`, which may answer another message.
pub(crate) async fn reader(
    app: &App,
    caller: &Caller,
    new: &wire::NewMessage,
    answered: Option<&Message>,
) -> Result<Reader, Oops> {
    let project = new.project.as_deref();
    match (new.to.as_deref(), answered) {
        (Some(USER), _) => to_user(app, caller, project, answered).await,
        (Some(called), _) => {
            let agent = named(app, caller, called, project).await?;
            may_write(app, caller, &agent).await?;
            Ok(to_agent(&agent))
        }
        (None, Some(answered)) => match partner(&caller.actor(), answered) {
            Actor::Operator => to_user(app, caller, project, Some(answered)).await,
            Actor::Agent(id) => {
                let agent = by_id(app, id).await?;
                may_write(app, caller, &agent).await?;
                Ok(to_agent(&agent))
            }
            Actor::Cmux | Actor::Token(_) | Actor::Webhook(_) => {
                let detail = format!(
                    "`{}` is from {}, who reads no mail: say with `to` who is to read this",
                    answered.id, answered.from.name
                );
                Err(Oops::bad_request(detail))
            }
        },
        (None, None) => {
            Err(Oops::bad_request("say with `to` who is to read it: an agent, or `user`"))
        }
    }
}

/// Returns to whom `who` speaks by answering a message: to whoever wrote it, or goes on with whoever it was written
/// to if that was `who`.
fn partner(who: &Actor, answered: &Message) -> Actor {
    match &answered.to {
        Recipient::Agent { id, .. } if answered.from.actor == *who => Actor::Agent(*id),
        Recipient::User if answered.from.actor == *who => Actor::Operator,
        Recipient::Agent { .. } | Recipient::User => answered.from.actor.clone(),
    }
}

/// Returns who speaks, as whoever reads it in `project` is told.
pub(crate) async fn sender(
    app: &App,
    caller: &Caller,
    project: &ProjectId,
) -> Result<Sender, Oops> {
    let name = match &caller.0 {
        Principal::Operator | Principal::Browser { .. } => USER.to_owned(),
        Principal::Token { id, .. } => {
            let id = *id;
            let token = app.read(move |view| tokens::find(view, id)).await?;
            let missing = || Oops::from(Denied::Refused(Refused::NoToken(id)));
            format!("script:{}", token.ok_or_else(missing)?.name)
        }
        Principal::Agent { agent, project: own, .. } => {
            let name = by_id(app, *agent).await?.name;
            if own == project { name.to_string() } else { format!("{name}@{own}") }
        }
        Principal::Nobody => {
            return Err(Oops::unauthorised("nobody-known", "it is not known who says this"));
        }
    };
    Ok(Sender { actor: caller.actor(), name })
}

/// Returns the agent that is called so: by its id, by its name in a project, or as `name@project`. A name
/// that only one agent has is enough. Of a project that the caller may not write in, nobody is looked up: what
/// is not there and what is not theirs are answered alike.
pub(crate) async fn named(
    app: &App,
    caller: &Caller,
    called: &str,
    project: Option<&str>,
) -> Result<Agent, Oops> {
    let own = caller.0.confined_to().cloned();
    let only = own.clone().filter(|_| !app.mail.across_projects);
    let is_closed = |place: &ProjectId| only.as_ref().is_some_and(|only| only != place);
    if let Ok(id) = called.parse::<AgentId>() {
        return match by_id(app, id).await {
            Ok(agent) if is_closed(&agent.project) => Err(elsewhere()),
            Err(why) if only.is_some() && why.slug() == NOT_FOUND => Err(elsewhere()),
            found => found,
        };
    }
    let (name, place) = match called.split_once('@') {
        Some((name, place)) => (name, Some(project_called(app, caller, place).await?)),
        None => (called, project.map(parse_project).transpose()?.or(own)),
    };
    if let Some(place) = &place {
        if is_closed(place) {
            return Err(elsewhere());
        }
        require_project(app, place.clone()).await?;
    }
    let (name, within) = (name.to_owned(), place.clone());
    let wanted = name.clone();
    let candidates = app.read(move |view| {
        // All are read only to tell who there is.
        let called = match &within {
            Some(project) => agents::find_by_name(view, project, &wanted)?.into_iter().collect(),
            None => agents::called(view, &wanted)?,
        };
        match (called.is_empty(), &within) {
            (false, _) => Ok(called),
            (true, Some(project)) => agents::of_project(view, project),
            (true, None) => agents::all(view),
        }
    });
    choose(&candidates.await?, &name, place.as_ref())
}

/// Returns the one of `candidates` that is called so: they are all who are, or all there are if nobody is.
fn choose(candidates: &[Agent], name: &str, place: Option<&ProjectId>) -> Result<Agent, Oops> {
    let is_called = |agent: &&Agent| agent.name.as_str().eq_ignore_ascii_case(name);
    let mut called = candidates.iter().filter(is_called);
    match (called.next(), called.next()) {
        (Some(agent), None) => Ok(agent.clone()),
        (Some(one), Some(other)) => Err(Oops::bad_request(format!(
            "several agents are called `{name}`: say which, as `{name}@{}` or `{name}@{}`",
            one.project, other.project
        ))),
        (None, _) => Err(unknown(candidates, name, place)),
    }
}

/// Says that nobody is called so, and who is.
fn unknown(candidates: &[Agent], name: &str, place: Option<&ProjectId>) -> Oops {
    let shown: String = name.chars().take(60).collect();
    let here = place.map_or_else(String::new, |place| format!(" in the project `{place}`"));
    let names = || candidates.iter().map(|agent| agent.name.as_str()).chain([USER]);
    let known: Vec<&str> = names().take(NAMES_MAX).collect();
    let hint = match nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if AgentName::new(name).is_err() => {
            "a message goes to an agent's name or id, to `name@project`, or to `user`".to_owned()
        }
        None => format!("there are: {}", known.join(", ")),
    };
    Oops::not_found(format!("there is no agent `{shown}`{here}: {hint}"))
}

/// Returns the project that is called so, by its id or by a name that only one has.
async fn project_called(app: &App, caller: &Caller, called: &str) -> Result<ProjectId, Oops> {
    let all = app.read(projects::all).await?;
    let by_id = all.iter().find(|project| project.id.as_str() == called);
    let named: Vec<&Project> = all.iter().filter(|project| project.name == called).collect();
    let is_own = |id: &ProjectId| caller.0.may_write_in(id, app.mail.across_projects).is_ok();
    match (by_id, named.as_slice()) {
        (Some(Project { id, .. }), _) | (None, [Project { id, .. }]) if is_own(id) => {
            Ok(id.clone())
        }
        // Of what they may not write to, they are not told whether it is there.
        _ if caller.0.confined_to().is_some() && !app.mail.across_projects => Err(elsewhere()),
        (None, [_, _, ..]) => Err(Oops::bad_request(format!(
            "several projects are called `{called}`: name one by its id"
        ))),
        (Some(_), _) | (None, [_] | []) => {
            let names = all.iter().flat_map(|it| [it.id.as_str(), it.name.as_str()]);
            let hint = match nearest(called, names) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`cmux project list` shows those there are".to_owned(),
            };
            Err(Oops::not_found(format!("there is no project `{called}`: {hint}")))
        }
    }
}

async fn by_id(app: &App, id: AgentId) -> Result<Agent, Oops> {
    let found = app.read(move |view| agents::find(view, id)).await?;
    found.ok_or_else(|| Denied::Refused(Refused::NoAgent(id)).into())
}

/// Refuses to let an agent be written to that the caller may not write to.
async fn may_write(app: &App, Caller(principal): &Caller, agent: &Agent) -> Result<(), Oops> {
    principal.may_write_in(&agent.project, app.mail.across_projects).map_err(|_| elsewhere())?;
    if principal.may_command().is_err() && runs_what_it_is_told(app, &agent.kind).await? {
        let to = agent.name.to_string();
        return Err(Denied::Refused(Refused::Commanded { to }).into());
    }
    Ok(())
}

/// Refuses what the caller could not send themselves as it is.
pub(crate) async fn may_resend(app: &App, caller: &Caller, message: &Message) -> Result<(), Oops> {
    let Some(id) = message.to.agent() else { return Ok(()) };
    may_write(app, caller, &by_id(app, id).await?).await?;
    if message.interrupt { may_interrupt(app, caller, &message.to).await } else { Ok(()) }
}

/// Refuses to have a reader interrupted whom the caller may not tend.
pub(crate) async fn may_interrupt(
    app: &App,
    Caller(principal): &Caller,
    to: &Recipient,
) -> Result<(), Oops> {
    let Some(agent) = to.agent() else { return Ok(()) };
    let above = app.read(move |view| agents::above(view, agent)).await?;
    principal.may_tend(&above).map_err(|denial| may_not_interrupt(denial, principal, to.name()))
}

fn may_not_interrupt(denial: Denial, who: &Principal, name: &str) -> Oops {
    match who {
        Principal::Agent { .. } => {
            let detail = format!(
                "an agent may interrupt those that it launched, and `{name}` is not one of them: without \
                 `interrupt`, the message waits until `{name}` is idle"
            );
            Oops::new(StatusCode::FORBIDDEN, "not-allowed", detail)
        }
        Principal::Operator
        | Principal::Browser { .. }
        | Principal::Token { .. }
        | Principal::Nobody => Oops::denied(denial, who, Need::Operate),
    }
}

fn elsewhere() -> Oops {
    let detail = "an agent may write to the agents of its own project and to `user`; to those of other \
                  projects only if the person says `across_projects = true` under `[mail]` in their own \
                  config.toml";
    Oops::new(StatusCode::FORBIDDEN, "not-allowed", detail)
}

fn to_agent(agent: &Agent) -> Reader {
    let to = Recipient::Agent { id: agent.id, name: agent.name.to_string() };
    Reader { project: agent.project.clone(), to }
}

/// Returns the person as a reader, and the project that it is about.
async fn to_user(
    app: &App,
    Caller(principal): &Caller,
    project: Option<&str>,
    answered: Option<&Message>,
) -> Result<Reader, Oops> {
    let said = project.map(parse_project).transpose()?;
    let project = match (principal.confined_to(), said, answered) {
        (Some(own), Some(said), _) if said != *own => return Err(Oops::elsewhere()),
        (Some(own), _, _) => own.clone(),
        (None, Some(said), _) => said,
        (None, None, Some(answered)) => answered.project.clone(),
        (None, None, None) => {
            return Err(Oops::bad_request("say with `project` which project it is about"));
        }
    };
    require_project(app, project.clone()).await?;
    Ok(Reader { project, to: Recipient::User })
}
