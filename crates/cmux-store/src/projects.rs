//! Projects, as rows.

use cmux_core::project::{Look, Presence, Project, ProjectId};
use cmux_core::time::Timestamp;
use rusqlite::{Row, params};

use crate::{StoreError, Tx, View, damaged};

/// Remembers `project` as it is now.
pub fn save(tx: &Tx<'_>, project: &Project) -> Result<(), StoreError> {
    let (presence, missing_since) = match project.presence {
        Presence::Present => ("present", None),
        Presence::Missing { since } => ("missing", Some(since.0)),
    };
    let (look, look_at) = match project.look {
        Look::Due { at } => ("due", at.0),
        Look::Underway { deadline } => ("underway", deadline.0),
    };
    tx.db
        .prepare_cached(
            "INSERT INTO projects (id, name, root, created_at, presence, missing_since, look, look_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (id) DO UPDATE SET
                 name = excluded.name, presence = excluded.presence,
                 missing_since = excluded.missing_since,
                 look = excluded.look, look_at = excluded.look_at",
        )?
        .execute(params![
            project.id.as_str(),
            project.name,
            project.root,
            project.created_at.0,
            presence,
            missing_since,
            look,
            look_at
        ])?;
    Ok(())
}

/// Forgets the project called `id`.
pub fn remove(tx: &Tx<'_>, id: &ProjectId) -> Result<(), StoreError> {
    tx.db.execute("DELETE FROM projects WHERE id = ?1", [id.as_str()])?;
    Ok(())
}

/// Returns the project called `id`.
pub fn find(view: View<'_>, id: &ProjectId) -> Result<Option<Project>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM projects WHERE id = ?1")?;
    query.query_and_then([id.as_str()], read)?.next().transpose()
}

/// Returns every project, oldest first.
pub fn all(view: View<'_>) -> Result<Vec<Project>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM projects ORDER BY created_at, id")?;
    query.query_and_then([], read)?.collect()
}

/// Returns the projects after the one called `after` in the order of their ids, `limit` at most.
pub fn page(
    view: View<'_>,
    after: Option<&ProjectId>,
    limit: u32,
) -> Result<Vec<Project>, StoreError> {
    let mut query =
        view.db.prepare_cached("SELECT * FROM projects WHERE id > ?1 ORDER BY id LIMIT ?2")?;
    let after = after.map_or("", ProjectId::as_str);
    query.query_and_then(params![after, limit], read)?.collect()
}

pub(crate) fn read(row: &Row<'_>) -> Result<Project, StoreError> {
    let id: String = row.get("id")?;
    let presence: String = row.get("presence")?;
    let since: Option<i64> = row.get("missing_since")?;
    let presence = match (presence.as_str(), since) {
        ("present", None) => Presence::Present,
        ("missing", Some(since)) => Presence::Missing { since: Timestamp(since) },
        (presence, since) => {
            return Err(damaged("project", &id, format!("presence {presence}, {since:?}")));
        }
    };
    let look: String = row.get("look")?;
    let at = Timestamp(row.get("look_at")?);
    let look = match look.as_str() {
        "due" => Look::Due { at },
        "underway" => Look::Underway { deadline: at },
        look => return Err(damaged("project", &id, format!("look {look}"))),
    };
    Ok(Project {
        id: id.parse().map_err(|bad| damaged("project", &id, bad))?,
        name: row.get("name")?,
        root: row.get("root")?,
        created_at: Timestamp(row.get("created_at")?),
        presence,
        look,
    })
}
