//! What the person approved of projects, as rows.

use cmux_core::digest::Digest;
use cmux_core::project::ProjectId;
use cmux_core::time::Timestamp;
use cmux_core::trust::{Approved, ProjectFile, Trust};
use rusqlite::{Row, params};

use crate::{StoreError, Tx, View, damaged};

/// Remembers all that is approved of `project` as it is now.
pub fn save(tx: &Tx<'_>, project: &ProjectId, trust: &Trust) -> Result<(), StoreError> {
    forget(tx, project)?;
    let mut insert = tx.db.prepare_cached(
        "INSERT INTO trusted_files (project, path, digest, at) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for (file, approved) in &trust.files {
        let digest = approved.digest.as_bytes();
        insert.execute(params![project.as_str(), file.to_string(), digest, approved.at.0])?;
    }
    if let Some(at) = trust.folder {
        let insert = "INSERT INTO trusted_folders (project, at) VALUES (?1, ?2)";
        tx.db.prepare_cached(insert)?.execute(params![project.as_str(), at.0])?;
    }
    Ok(())
}

/// Forgets all that was approved of `project`.
pub fn forget(tx: &Tx<'_>, project: &ProjectId) -> Result<(), StoreError> {
    for table in ["trusted_files", "trusted_folders"] {
        let delete = format!("DELETE FROM {table} WHERE project = ?1");
        tx.db.prepare_cached(&delete)?.execute([project.as_str()])?;
    }
    Ok(())
}

/// Returns all that is approved of `project`, which may be nothing.
pub fn find(view: View<'_>, project: &ProjectId) -> Result<Trust, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM trusted_files WHERE project = ?1")?;
    let files = query.query_and_then([project.as_str()], read_file)?.collect::<Result<_, _>>()?;
    let mut query = view.db.prepare_cached("SELECT * FROM trusted_folders WHERE project = ?1")?;
    let folder = query.query_and_then([project.as_str()], read_folder)?.next().transpose()?;
    Ok(Trust { files, folder })
}

/// Reads every row.
pub(crate) fn all(view: View<'_>) -> Result<(), StoreError> {
    let mut query = view.db.prepare("SELECT * FROM trusted_files")?;
    query.query_and_then([], read_file)?.try_for_each(|row| row.map(drop))?;
    let mut query = view.db.prepare("SELECT * FROM trusted_folders")?;
    query.query_and_then([], read_folder)?.try_for_each(|row| row.map(drop))
}

pub(crate) fn read_file(row: &Row<'_>) -> Result<(ProjectFile, Approved), StoreError> {
    let path: String = row.get("path")?;
    let file = path.parse().map_err(|bad| damaged("trusted file", &path, bad))?;
    let digest = Digest::from_bytes(row.get("digest")?);
    Ok((file, Approved { digest, at: Timestamp(row.get("at")?) }))
}

pub(crate) fn read_folder(row: &Row<'_>) -> Result<Timestamp, StoreError> {
    Ok(Timestamp(row.get("at")?))
}
