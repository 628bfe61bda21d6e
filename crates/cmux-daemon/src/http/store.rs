//! The store over HTTP: checked, audited, copied.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use cmux_core::report::{Ask, Report};
use cmux_core::time::Timestamp;
use cmux_drivers::clock;
use cmux_store::{archive as archives, check};
use cmux_wire::store::{Archive, Audit, Backup, Check, NewArchive, NewBackup};

use crate::http::App;
use crate::http::extract::Body;
use crate::http::gate::Caller;
use crate::http::problem::Oops;
use crate::offline;

pub(crate) async fn check(State(app): State<Arc<App>>) -> Result<Json<Check>, Oops> {
    let found = app.read(check::check).await?;
    Ok(Json(offline::say_check(&app.facts.home, found)))
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
    // A store that is still being made or mended is none to keep.
    app.awakened().await?;
    let home = app.facts.home.clone();
    let copied = tokio::task::spawn_blocking(move || offline::copy(&home, &file)).await;
    let panicked = |error: tokio::task::JoinError| Oops::internal("backup", &error);
    let backup = copied.map_err(panicked)?.map_err(|error| Oops::from(&error))?;
    Ok((StatusCode::CREATED, Json(backup)))
}

/// Writes old events to a file, and has them taken out of the store once they are in it.
pub(crate) async fn archive(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(new): Body<NewArchive>,
) -> Result<(StatusCode, Json<Archive>), Oops> {
    let file = PathBuf::from(&new.file);
    if !file.is_absolute() {
        return Err(Oops::bad_request("`file` must be an absolute path"));
    }
    // Asked of the disk on a thread that may wait for it.
    let target = file.clone();
    let is_there = tokio::task::spawn_blocking(move || target.exists()).await;
    if is_there.map_err(|error| Oops::internal("archive", &error))? {
        let detail = format!("there is a file at {} already, and it is not overwritten", new.file);
        return Err(Oops::new(StatusCode::CONFLICT, "file-exists", detail));
    }
    let keep_ms = i64::from(new.keep_days) * 86_400_000;
    let before = Timestamp(clock::wall().0.saturating_sub(keep_ms));
    let written = app.read(move |view| {
        let through = archives::newest_before(view, before)?;
        through.map(|through| archives::export(view, through, &file)).transpose()
    });
    let Some(archive) = written.await? else {
        let detail = format!("no event is older than {} days", new.keep_days);
        return Err(Oops::new(StatusCode::NOT_FOUND, "nothing-to-archive", detail));
    };
    let said = Archive {
        file: archive.file.clone(),
        through: archive.through.0,
        events: archive.rows,
        sha256: archive.sha256.clone(),
    };
    let ask = Ask::ArchiveLog { archive };
    app.ask(Report::Asked { actor: caller.actor(), ask }).await?;
    Ok((StatusCode::CREATED, Json(said)))
}
