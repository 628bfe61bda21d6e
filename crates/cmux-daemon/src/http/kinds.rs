//! Kinds of agents over HTTP: which there are, and which of them are on this machine.

use std::env;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use cmux_core::kind::{Ability, Witness};
use cmux_drivers::kinds::{Found, Kinds, Known};
use cmux_drivers::manifest::Manifest;
use cmux_wire::kind as wire;
use tokio::task::{JoinError, spawn_blocking};

use crate::http::App;
use crate::http::problem::Oops;

/// How long programs are taken to be of the version that they last told.
const FRESH: Duration = Duration::from_secs(30);

/// How long to wait for programs to tell their version.
const PATIENCE: Duration = Duration::from_secs(15);

pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Json<wire::Kinds>, Oops> {
    let oops = |error: JoinError| Oops::internal("kinds", &error);
    let shelf = app.kinds.clone();
    let kinds = spawn_blocking(move || shelf.kinds()).await.map_err(oops)?;
    let looked = kinds.clone();
    let look = || async { spawn_blocking(move || looked.look(&path())).await.unwrap_or_default() };
    // Whoever has told nothing by then has no version.
    let found = app.found.get(FRESH, PATIENCE, look).await.unwrap_or_default();
    let said = spawn_blocking(move || say_all(&kinds, &found)).await.map_err(oops)?;
    Ok(Json(said))
}

fn path() -> OsString {
    env::var_os("PATH").unwrap_or_default()
}

fn say_all(kinds: &Kinds, found: &[Found]) -> wire::Kinds {
    let path = path();
    let say = |known: &Known| {
        let program = known.program(&path);
        let is_it = |it: &&Found| it.kind == known.manifest.kind && it.program == program;
        let version = found.iter().find(is_it).and_then(|it| it.version.clone());
        let program = program.map(|program| program.display().to_string());
        wire::Kind { program, version, ..say(known) }
    };
    wire::Kinds {
        kinds: kinds.all().map(say).collect(),
        refused: kinds.refused.clone(),
        next: None,
    }
}

/// Returns what a manifest says of its kind, wherever its program is.
fn say(known: &Known) -> wire::Kind {
    let Manifest { kind, title, find, witnesses, can, cannot, .. } = &known.manifest;
    let cannot = cannot
        .iter()
        .map(|(what, why)| wire::Cannot { what: what.name().to_owned(), why: why.clone() });
    wire::Kind {
        name: kind.to_string(),
        title: title.clone(),
        program: None,
        version: None,
        tested: find.tested.clone(),
        install: find.install.clone(),
        file: known.file.as_ref().map(|file| file.display().to_string()),
        witnesses: witnesses.iter().copied().map(Witness::name).map(str::to_owned).collect(),
        permissions: known.settings.permissions.name().to_owned(),
        can: can.iter().copied().map(Ability::name).map(str::to_owned).collect(),
        cannot: cannot.collect(),
    }
}
