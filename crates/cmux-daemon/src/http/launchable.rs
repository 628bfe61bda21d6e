//! Whether an agent can be launched as it is asked for: told before anything of it is stored.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use cmux_core::report::NewAgent;
use cmux_drivers::folder;
use cmux_drivers::kinds::Known;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::http::App;
use crate::http::problem::Oops;
use crate::keeper::path;

/// How long the disk may take to tell.
const TOLD_WITHIN: Duration = Duration::from_secs(10);

/// Refuses an agent of a `kind` that there is not, whose program is not on this machine, or that could
/// not work in `cwd`.
pub(crate) async fn check(app: &App, kind: &str, cwd: &str) -> Result<(), Oops> {
    let (known, cwd) = (find_kind(app, kind).await?, PathBuf::from(cwd));
    beside(move || {
        if known.program(&path()).is_none() {
            let (title, install) = (&known.manifest.title, &known.manifest.find.install);
            let detail = format!(
                "{title} is not on this machine: {install}. `cmux agent kinds` shows what is"
            );
            return Err(Oops::new(StatusCode::UNPROCESSABLE_ENTITY, "not-installed", detail));
        }
        folder::enter(&cwd).map_err(|error| Oops::bad_request(error.to_string()))
    })
    .await?
}

/// Refuses what an agent may not have launched: it would come to more than it may do itself. Whoever is
/// told its task as a command does it without being asked about it.
pub(crate) async fn check_modest(app: &App, new: &NewAgent, root: &str) -> Result<(), Oops> {
    let refuse = |why: &str| {
        let detail = format!("an agent may not launch another {why}: that is for the person to do");
        Err(Oops::new(StatusCode::FORBIDDEN, "not-an-agents", detail))
    };
    if !new.setup.is_modest() {
        return refuse("with arguments or variables of its own choice");
    }
    let known = find_kind(app, &new.kind).await?;
    if known.manifest.runs_what_it_is_told() {
        return refuse("that runs what it is told as a command");
    }
    let (cwd, root) = (PathBuf::from(&new.setup.cwd), PathBuf::from(root));
    if !beside(move || folder::is_of(&cwd, &root)).await? {
        return refuse("outside of its project");
    }
    Ok(())
}

/// Returns whether agents of `kind` run what they are told. Of one that there is not any more, none is told
/// anything.
pub(crate) async fn runs_what_it_is_told(app: &App, kind: &str) -> Result<bool, Oops> {
    let (shelf, kind) = (app.kinds.clone(), kind.to_owned());
    beside(move || shelf.find(&kind).is_ok_and(|known| known.manifest.runs_what_it_is_told())).await
}

/// Returns what is known of `kind`, which must be there.
pub(crate) async fn find_kind(app: &App, kind: &str) -> Result<Arc<Known>, Oops> {
    let (shelf, kind) = (app.kinds.clone(), kind.to_owned());
    beside(move || shelf.find(&kind).map_err(Oops::bad_request)).await?
}

/// Does what may wait for a disk beside all else.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Oops> {
    match timeout(TOLD_WITHIN, spawn_blocking(work)).await {
        Ok(done) => done.map_err(|error| Oops::internal("unseen", &error)),
        Err(_) => {
            let detail = "the disk does not tell whether the agent could be launched: try again \
                          when it does";
            Err(Oops::new(StatusCode::SERVICE_UNAVAILABLE, "disk-late", detail))
        }
    }
}
