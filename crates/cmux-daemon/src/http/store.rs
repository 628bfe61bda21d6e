//! The store over HTTP: checked, audited, copied.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use cmux_store::check;
use cmux_wire::store::{Audit, Backup, Check, NewBackup};

use crate::http::App;
use crate::http::extract::Body;
use crate::http::problem::Oops;
use crate::offline;

pub(crate) async fn check(State(app): State<Arc<App>>) -> Result<Json<Check>, Oops> {
    let found = app.read(check::check).await?;
    Ok(Json(offline::say_check(found)))
}

pub(crate) async fn audit(State(app): State<Arc<App>>) -> Result<Json<Audit>, Oops> {
    let backups = app.facts.home.backups();
    Ok(Json(app.read(move |view| offline::audit_view(view, &backups)).await?))
}

pub(crate) async fn back_up(
    State(app): State<Arc<App>>,
    Body(new): Body<NewBackup>,
) -> Result<(StatusCode, Json<Backup>), Oops> {
    let file = PathBuf::from(&new.file);
    if !file.is_absolute() {
        return Err(Oops::bad_request("`file` must be an absolute path"));
    }
    let home = app.facts.home.clone();
    let copied = tokio::task::spawn_blocking(move || offline::copy(&home, &file)).await;
    let panicked = |error: tokio::task::JoinError| {
        Oops::new(StatusCode::INTERNAL_SERVER_ERROR, "backup", error.to_string())
    };
    let backup = copied.map_err(panicked)?.map_err(|error| Oops::from(&error))?;
    Ok((StatusCode::CREATED, Json(backup)))
}
