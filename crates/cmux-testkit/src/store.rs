//! Stores as another cmux might have left them.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

/// Makes the store at `database`, which nobody has open, one of a later `version`, which only a cmux
/// that knows `oldest_reader` can read.
pub fn make_later(database: &Path, version: u32, oldest_reader: u32) {
    let store = Connection::open(database).unwrap();
    store.execute("UPDATE schema SET oldest_reader = ?1", [oldest_reader]).unwrap();
    store.pragma_update(None, "user_version", version).unwrap();
    // Closing it puts all of it into the one file.
    store.close().unwrap();
}

/// A run of an agent, as far as it takes to know it at the door.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The digest of what it shows.
    pub secret: &'a [u8; 32],
    pub run: &'a str,
    pub agent: &'a str,
    pub project: &'a str,
    pub is_over: bool,
}

/// Lets the store at `database`, which nobody has open, know of a run.
pub fn add_run(database: &Path, run: &Run<'_>) {
    let store = Connection::open(database).unwrap();
    let sql = "INSERT INTO run_tokens (secret, run, agent, project, made_at, ended_at)
               VALUES (?1, ?2, ?3, ?4, unixepoch() * 1000, iif(?5, unixepoch() * 1000, NULL))";
    store.execute(sql, (run.secret, run.run, run.agent, run.project, run.is_over)).unwrap();
    store.close().unwrap();
}

/// Makes the store at `database`, which nobody has open, one in which the time of every one-time link and
/// of every browser is over.
pub fn make_stale(database: &Path) {
    let store = Connection::open(database).unwrap();
    let sql = "UPDATE links SET expires_at = unixepoch() * 1000;
               UPDATE sessions SET expires_at = unixepoch() * 1000";
    store.execute_batch(sql).unwrap();
    store.close().unwrap();
}

/// Returns the raw payload of the event `id`, if it has one.
pub fn payload(database: &Path, id: i64) -> Option<Vec<u8>> {
    let store = Connection::open(database).unwrap();
    let sql = "SELECT body FROM events JOIN payloads ON digest = payload WHERE id = ?1";
    store.query_row(sql, [id], |row| row.get(0)).optional().unwrap()
}

/// Lets the store at `database`, which nobody has open, know of an agent whose life is on its way and stays
/// so: nothing is launched for it, and nothing looks for it.
pub fn add_agent(database: &Path, agent: &str, run: &str, project: &str) {
    let store = Connection::open(database).unwrap();
    let sql =
        "INSERT INTO agents (id, project, name, role, kind, cwd, args, env, permanent, created_at,
                   intent, phase, phase_at, since, life, run, began_at, exits)
               VALUES (?1, ?3, 'worker', 'worker', 'demo', '/', '[]', '[]', 0, 0,
                   'pause', 'starting', 9000000000000000, 0, 'launching', ?2, 0, '[]')";
    store.execute(sql, (agent, run, project)).unwrap();
    store.close().unwrap();
}

/// A delivery, as the store has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub id: String,
    pub agent: String,
    /// In the order in which they are in the text.
    pub messages: Vec<String>,
    pub attempt: u32,
    pub state: String,
    pub text: String,
}

/// Returns all deliveries that the store at `database` knows, in the order in which they were made.
pub fn deliveries(database: &Path) -> Vec<Delivery> {
    let store = Connection::open(database).unwrap();
    let sql =
        "SELECT id, agent, messages, attempt, state, text FROM deliveries ORDER BY made_at, id";
    let mut query = store.prepare(sql).unwrap();
    let rows = query.query_map([], |row| {
        let messages: String = row.get(2)?;
        Ok(Delivery {
            id: row.get(0)?,
            agent: row.get(1)?,
            messages: serde_json::from_str(&messages).unwrap(),
            attempt: row.get(3)?,
            state: row.get(4)?,
            text: row.get(5)?,
        })
    });
    rows.unwrap().map(Result::unwrap).collect()
}
