//! What the person trusts of a project's own files, over HTTP. The files are read here, so that nobody
//! trusts what is not there; what is trusted is what the person was shown.

use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use cmux_core::digest::Digest;
use cmux_core::project::ProjectId;
use cmux_core::report::{Answer, Ask, Refused, Report};
use cmux_core::trust::{BadFile, ProjectFile, Standing, Trust, check_shown};
use cmux_drivers::kinds::Kinds;
use cmux_drivers::launch_settings::project_agents;
use cmux_drivers::project_files::{self, ProjectFiles};
use cmux_store::{projects, trust};
use cmux_wire::trust as wire;
use tokio::task::spawn_blocking;

use crate::http::App;
use crate::http::extract::{Body, Named};
use crate::http::gate::Caller;
use crate::http::problem::Oops;
use crate::http::projects::parse;
use crate::http::sessions::unexpected;
use crate::kernel::Denied;

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<Json<wire::Trust>, Oops> {
    let id = parse(&id)?;
    if caller.0.confined_to().is_some_and(|own| *own != id) {
        return Err(Oops::elsewhere());
    }
    let found = find(&app, &id).await?;
    let wanted = id.clone();
    let trust = app.read(move |view| trust::find(view, &wanted)).await?;
    Ok(Json(found.say(&id, &trust)))
}

pub(crate) async fn approve(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named<String>,
    Body(new): Body<wire::NewTrust>,
) -> Result<Json<wire::Trust>, Oops> {
    let project = parse(&id)?;
    let shown: Result<Vec<_>, Oops> = new.files.iter().map(read).collect();
    let files = shown?;
    let found = find(&app, &project).await?;
    check_shown(&files, |file| found.files.digest(file))
        .map_err(|why| Denied::Refused(why.into()))?;
    let ask = Ask::TrustProject { project: project.clone(), files, folder: new.folder };
    let answer = app.ask(Report::Asked { actor: caller.actor(), ask }).await?;
    let Answer::Trust(trust) = answer else { return Err(unexpected(&answer)) };
    Ok(Json(found.say(&project, &trust)))
}

pub(crate) async fn take_back(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<StatusCode, Oops> {
    let ask = Ask::DistrustProject { project: parse(&id)? };
    app.ask(Report::Asked { actor: caller.actor(), ask }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The files of a project, as they are now, and the kinds that they may be about.
struct FoundFiles {
    root: String,
    files: ProjectFiles,
    kinds: Arc<Kinds>,
}

async fn find(app: &App, id: &ProjectId) -> Result<FoundFiles, Oops> {
    let wanted = id.clone();
    let project = app.read(move |view| projects::find(view, &wanted)).await?;
    let missing = || Oops::from(Denied::Refused(Refused::NoProject(id.clone())));
    let root = project.ok_or_else(missing)?.root;
    // A disk may take its time.
    let shelf = app.kinds.clone();
    let read = spawn_blocking(move || {
        let files = project_files::read_all(Path::new(&root));
        FoundFiles { root, files, kinds: shelf.kinds() }
    });
    read.await.map_err(|error| Oops::internal("unread", &error))
}

impl FoundFiles {
    /// Returns what is trusted of them, as clients see it.
    fn say(&self, id: &ProjectId, trust: &Trust) -> wire::Trust {
        let root = Path::new(&self.root);
        let (agents, wrong) = project_agents(root, &self.files, trust, &self.kinds);
        let file = |found: &project_files::Found| wire::ProjectFile {
            path: found.file.to_string(),
            digest: found.digest.hex(),
            standing: match trust.standing(&found.file, &found.digest) {
                Standing::Trusted => wire::Standing::Trusted,
                Standing::Changed => wire::Standing::Changed,
                Standing::New => wire::Standing::New,
            },
        };
        wire::Trust {
            project: id.to_string(),
            folder: trust.folder.is_some(),
            files: self.files.found.iter().map(file).collect(),
            kind: agents.kind.map(|kind| kind.to_string()),
            supervisor: agents.supervisor,
            refused: self.files.refused.iter().cloned().chain(wrong).collect(),
        }
    }
}

/// Returns which file was shown, and as what.
fn read(shown: &wire::ShownFile) -> Result<(ProjectFile, Digest), Oops> {
    let bad = |error: BadFile| Oops::bad_request(error.to_string());
    let file = shown.path.parse().map_err(bad)?;
    let digest = Digest::from_hex(&shown.digest);
    let wrong = || Oops::bad_request("a digest is a SHA-256 of 64 hexadecimal digits");
    Ok((file, digest.ok_or_else(wrong)?))
}
