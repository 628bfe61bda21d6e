//! Panes that a person started, over HTTP: each becomes an agent that cmux watches over and never starts.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use cmux_core::agent::{Agent, AgentName, Claim, Pid, Place, Setup, Tagged};
use cmux_core::id::{AgentId, NewIds, RunId};
use cmux_core::report::{Answer, Ask, NewAgent, Report};
use cmux_drivers::process::{Process, folder_of, foreground};
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::pane::{Life, Pane, PaneId, Tags};
use cmux_drivers::tmux::visit;
use cmux_store::agents;
use cmux_wire::agent as wire;
use tracing::warn;

use crate::http::App;
use crate::http::agents::{require_project, say_in};
use crate::http::extract::Body;
use crate::http::gate::Caller;
use crate::http::launchable::find_kind;
use crate::http::problem::Oops;
use crate::http::projects::parse as parse_project;
use crate::http::sessions::unexpected;
use crate::kernel::Denied;
use crate::names::Names;

/// How long a person's tmux may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// What an adopted agent is in its team.
const ROLE: &str = "worker";

/// Adopts a pane. Its tags are set only once it is stored whose they are, so that no crash leaves tags
/// behind that nobody knows of.
pub(crate) async fn adopt(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(asked): Body<wire::Register>,
) -> Result<(StatusCode, Json<wire::Agent>), Oops> {
    let project = parse_project(&asked.project)?;
    let root = require_project(&app, project.clone()).await?;
    let name = AgentName::new(&asked.name).map_err(|bad| Denied::Refused(bad.into()))?;
    find_kind(&app, &asked.kind).await?;
    let (socket, pane) = parse(&asked.pane)?;
    let keeper = app.keeper().await?;
    let unseen = |error: TmuxError| unseen(&error, &socket);
    let server = keeper.visit(&socket).await.map_err(unseen)?;
    let seen = visit::find(&server, pane, ANSWER_WITHIN).await.map_err(unseen)?;
    if let Some(tags) = &seen.tags {
        check_tags(&app, tags, &socket, pane).await?;
    }
    let process = living(&seen)?;
    let place = Place { server: socket.display().to_string(), pane: pane.to_string() };
    let setup = setup(&process, root);
    let (role, kind) = (ROLE.to_owned(), asked.kind);
    let new = NewAgent { project, name, role, kind, parent: None, setup };
    let tagged = Tagged {
        agent: AgentId::new(Names.ulid()),
        run: RunId::new(Names.ulid()),
        place,
        process: Pid { pid: process.pid, start: process.start },
    };
    let ask = Ask::AdoptAgent { new, tagged };
    let answer = app.ask(Report::Asked { actor: caller.actor(), ask }).await?;
    let Answer::Agent { agent, created } = answer else { return Err(unexpected(&answer)) };
    if !created {
        let said = app.read(move |view| say_in(view, &agent)).await?;
        return Ok((StatusCode::OK, Json(said)));
    }
    if let Err(error) = keeper.adopt((*agent).clone(), seen).await {
        take_back(&app, &caller, *agent).await;
        return Err(unseen(error));
    }
    let said = app.read(move |view| say_in(view, &agent)).await?;
    Ok((StatusCode::CREATED, Json(said)))
}

/// Forgets an agent whose pane could not be given its tags.
async fn take_back(app: &App, caller: &Caller, agent: Agent) {
    let id = agent.id;
    if let Ok(keeper) = app.keeper().await {
        // Whatever was set of them is unset.
        let _ = keeper.release(agent).await;
    }
    let ask = Ask::RemoveAgent { id };
    if app.ask(Report::Asked { actor: caller.actor(), ask }).await.is_err() {
        warn!(agent = %id, "it was not adopted, and could not be forgotten; it is missed soon");
    }
}

/// Returns the server's socket and the pane that are named. Without a socket, it is where tmux itself
/// would look.
fn parse(text: &str) -> Result<(PathBuf, PaneId), Oops> {
    let bad = || {
        let detail = "a pane is named like `%7` or `/tmp/tmux-1000/default:%7`; in that tmux, `tmux \
                      display -p '#{socket_path}:#{pane_id}'` tells";
        Oops::bad_request(detail)
    };
    let (socket, pane) = match text.rsplit_once(':') {
        Some((socket, pane)) => (PathBuf::from(socket), pane),
        None => (default_socket(), text),
    };
    let pane = pane.parse().map_err(|_| bad())?;
    if socket.is_absolute() { Ok((socket, pane)) } else { Err(bad()) }
}

fn default_socket() -> PathBuf {
    let root = env::var_os("TMUX_TMPDIR").filter(|it| !it.is_empty());
    let user = rustix::process::getuid().as_raw();
    let root = root.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    root.join(format!("tmux-{user}")).join("default")
}

/// Refuses a pane whose tags are of an agent that lives elsewhere, as far as is known here.
async fn check_tags(app: &App, tags: &Tags, socket: &Path, pane: PaneId) -> Result<(), Oops> {
    let id = tags.agent;
    let agent = app.read(move |view| agents::find(view, id)).await?;
    match agent.map(|agent| agent.claim(tags.run, false)) {
        // Whose it is is for the kernel to say.
        Some(Claim::Home | Claim::Left) => Ok(()),
        Some(Claim::Unknown | Claim::Stranger) | None => {
            let socket = socket.display();
            let detail = format!(
                "the pane {pane} carries the tags of the agent {id}, which this cmux does not know \
                 there: another may keep it. If none does, `tmux -S {socket} set-option -p -u -t {pane} \
                 @cmux_agent` frees it"
            );
            Err(Oops::new(StatusCode::CONFLICT, "pane-taken", detail))
        }
    }
}

/// Returns the process that is the agent: what has the pane's terminal, or what was started in it.
fn living(seen: &Pane) -> Result<Process, Oops> {
    let process = seen.pid.filter(|_| seen.life == Life::Running).and_then(foreground);
    process.ok_or_else(|| {
        let detail = format!("the program in the pane {} has ended: start it again there", seen.id);
        Oops::new(StatusCode::CONFLICT, "pane-dead", detail)
    })
}

/// Returns what an agent works with that a person started: where it is, or else in the project.
fn setup(process: &Process, root: String) -> Setup {
    let in_folder = |cwd| {
        let (args, env) = (Vec::new(), Vec::new());
        Setup { cwd, task: None, args, env, permanent: true }
    };
    let own = folder_of(process.pid).map(in_folder).filter(|setup| setup.check().is_ok());
    own.unwrap_or_else(|| in_folder(root))
}

/// Says why a pane could not be looked at, or tagged.
fn unseen(error: &TmuxError, socket: &Path) -> Oops {
    let socket = socket.display();
    match error {
        TmuxError::NoServer => Oops::not_found(format!(
            "there is no tmux server at {socket}; in that tmux, `tmux display -p \
             '#{{socket_path}}:#{{pane_id}}'` tells what to name"
        )),
        TmuxError::NoPane(pane) => Oops::not_found(format!(
            "there is no pane {pane} at {socket}; `tmux -S {socket} list-panes -a` shows those there are"
        )),
        TmuxError::Gone | TmuxError::Late | TmuxError::Garbled(_) => {
            Oops::new(StatusCode::SERVICE_UNAVAILABLE, "terminal-unseen", error.to_string())
        }
        TmuxError::Absent
        | TmuxError::TooOld { .. }
        | TmuxError::Refused(_)
        | TmuxError::Unusable { .. }
        | TmuxError::Text(_) => {
            Oops::new(StatusCode::UNPROCESSABLE_ENTITY, "not-adoptable", error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pane_is_named_with_its_servers_socket_or_without() {
        let default = default_socket();
        let default = default.to_str().unwrap();
        for (text, expected) in [
            ("%7", Some((default, 7))),
            ("/tmp/tmux-1/default:%12", Some(("/tmp/tmux-1/default", 12))),
            ("/tmp/a:b:%0", Some(("/tmp/a:b", 0))),
            ("default:%7", None),
            (":%7", None),
            ("7", None),
            ("/tmp/x:7", None),
            ("", None),
        ] {
            let found = parse(text).ok();
            let found = found.as_ref().map(|(socket, pane)| (socket.to_str().unwrap(), pane.0));
            assert_eq!(found, expected, "{text}");
        }
    }
}
