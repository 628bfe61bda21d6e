//! What is approved of a project's own files, and what is taken back.

use cmux_core::digest::Digest;
use cmux_core::event::{Actor, Event, What};
use cmux_core::plan::Subject;
use cmux_core::project::ProjectId;
use cmux_core::report::{Answer, Refused};
use cmux_core::time::Timestamp;
use cmux_core::trust::{BadTrust, FILES_MAX, ProjectFile, Trust};
use cmux_store::{StoreError, Tx, projects, trust};

use crate::hear::Heard;

/// Approving twice is approving once.
pub(super) fn approve(
    tx: &mut Tx<'_>,
    actor: &Actor,
    project: &ProjectId,
    files: &[(ProjectFile, Digest)],
    folder: bool,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    if projects::find(tx.view(), project)?.is_none() {
        return Ok(Heard::refused(Refused::NoProject(project.clone())));
    }
    if files.len() > FILES_MAX {
        return Ok(Heard::refused(BadTrust::TooMany));
    }
    let before = trust::find(tx.view(), project)?;
    let after = before.approve(files, folder, now);
    if after == before {
        return Ok(Heard::told(Answer::Trust(before)));
    }
    trust::save(tx, project, &after)?;
    let folder = after.folder != before.folder;
    let what = What::ProjectTrusted { files: after.news(&before), folder };
    tx.append(&Event { actor: actor.clone(), ..Event::own_in(project, what) }, now)?;
    Ok(touched(project, after))
}

/// Takes back all that was approved. What runs already is not stopped by it.
pub(super) fn take_back(
    tx: &mut Tx<'_>,
    actor: &Actor,
    project: &ProjectId,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    if projects::find(tx.view(), project)?.is_none() {
        return Ok(Heard::refused(Refused::NoProject(project.clone())));
    }
    let before = trust::find(tx.view(), project)?;
    if before.is_empty() {
        return Ok(Heard::told(Answer::Trust(before)));
    }
    trust::forget(tx, project)?;
    let folder = before.folder.is_some();
    let what = What::ProjectUntrusted { files: before.files.into_keys().collect(), folder };
    tx.append(&Event { actor: actor.clone(), ..Event::own_in(project, what) }, now)?;
    Ok(touched(project, Trust::default()))
}

fn touched(project: &ProjectId, trust: Trust) -> Heard {
    let touched = [Subject::Project(project.clone())].into();
    Heard { answer: Ok(Answer::Trust(trust)), touched, actions: Vec::new() }
}
