//! Projects over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use cmux_core::project::{Presence, Project, ProjectId};
use cmux_core::report::{Answer, Ask, Refused, Report};
use cmux_store::projects;
use cmux_wire::project as wire;
use cmux_wire::time::Time;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::App;
use crate::http::extract::{Body, Named, Query};
use crate::http::gate::Caller;
use crate::http::problem::Oops;
use crate::http::sessions::unexpected;
use crate::kernel::Denied;

/// How many projects a page has.
const PAGE: u32 = 100;

/// Which page is wanted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paging {
    /// What the page before gave as `next`. Without it, the first.
    pub(crate) cursor: Option<String>,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(paging): Query<Paging>,
) -> Result<Json<wire::Projects>, Oops> {
    let after = paging.cursor.as_deref().map(parse).transpose()?;
    if let Some(own) = caller.0.confined_to().cloned() {
        let own = app.read(move |view| projects::find(view, &own)).await?;
        let projects = own.iter().filter(|_| after.is_none()).map(say).collect();
        return Ok(Json(wire::Projects { projects, next: None }));
    }
    let page = app.read(move |view| projects::page(view, after.as_ref(), PAGE)).await?;
    let next = (page.len() == PAGE as usize).then(|| page.last().map(|last| last.id.to_string()));
    let projects = page.iter().map(say).collect();
    Ok(Json(wire::Projects { projects, next: next.flatten() }))
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<Json<wire::Project>, Oops> {
    let id = parse(&id)?;
    if caller.0.confined_to().is_some_and(|own| *own != id) {
        return Err(Oops::elsewhere());
    }
    let wanted = id.clone();
    let found = app.read(move |view| projects::find(view, &wanted)).await?;
    let missing = || Oops::from(Denied::Refused(Refused::NoProject(id)));
    found.map(|project| Json(say(&project))).ok_or_else(missing)
}

pub(crate) async fn add(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(new): Body<wire::NewProject>,
) -> Result<(StatusCode, Json<wire::Project>), Oops> {
    let ask = Ask::AddProject { root: new.root, name: new.name };
    let answer = app.ask(Report::Asked { actor: caller.actor(), ask }).await?;
    let Answer::Project { project, created } = answer else { return Err(unexpected(&answer)) };
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(say(&project))))
}

pub(crate) async fn remove(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<StatusCode, Oops> {
    let ask = Ask::RemoveProject { id: parse(&id)? };
    app.ask(Report::Asked { actor: caller.actor(), ask }).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) fn parse(id: &str) -> Result<ProjectId, Oops> {
    id.parse()
        .map_err(|error: cmux_core::project::BadProjectId| Oops::bad_request(error.to_string()))
}

/// Returns `project` as clients see it.
pub(crate) fn say(project: &Project) -> wire::Project {
    wire::Project {
        id: project.id.to_string(),
        name: project.name.clone(),
        root: project.root.clone(),
        created_at: Time::from_millis(project.created_at.0),
        missing_since: match project.presence {
            Presence::Present => None,
            Presence::Missing { since } => Some(Time::from_millis(since.0)),
        },
    }
}
