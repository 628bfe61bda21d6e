//! What agents use, as rows: what each answer took, how far it was read, and what it came to.

use cmux_core::id::{AgentId, RunId};
use cmux_core::time::Timestamp;
use cmux_core::turn::Turn;
use cmux_core::usage::{Cursor, Money, Spent, Tokens, Usage};
use rusqlite::{OptionalExtension, Row, named_params, params};

use crate::{StoreError, Tx, View, turns};

const SAVE_SPENT: &str = "
    INSERT INTO spent (agent, key, at, noted_at, model, input, output, cache_read, cache_write,
        cache_write_long, searches, cost)
    VALUES (:agent, :key, :at, :noted_at, :model, :input, :output, :cache_read, :cache_write,
        :cache_write_long, :searches, :cost)
    ON CONFLICT (agent, key) DO UPDATE SET
        at = excluded.at, model = excluded.model, input = excluded.input,
        output = excluded.output, cache_read = excluded.cache_read,
        cache_write = excluded.cache_write, cache_write_long = excluded.cache_write_long,
        searches = excluded.searches, cost = excluded.cost";

const SAVE_CURSOR: &str = "
    INSERT INTO usage_cursors (agent, file, device, inode, place, model, root)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (agent, file) DO UPDATE SET
        device = excluded.device, inode = excluded.inode, place = excluded.place,
        model = excluded.model, root = excluded.root";

/// Sums of rows of `spent`.
const SUMS: &str = "
    total(input) AS input, total(output) AS output, total(cache_read) AS cache_read,
    total(cache_write) AS cache_write, total(cache_write_long) AS cache_write_long,
    total(searches) AS searches, total(cost) AS cost,
    total(CASE WHEN cost IS NULL THEN input + output + cache_read + cache_write END) AS unpriced";

/// Remembers what an answer took, or how it has grown.
pub fn save(
    tx: &Tx<'_>,
    agent: AgentId,
    spent: &Spent,
    noted_at: Timestamp,
) -> Result<(), StoreError> {
    let Tokens { input, output, cache_read, cache_write, cache_write_long, searches } =
        spent.tokens;
    tx.db.prepare_cached(SAVE_SPENT)?.execute(named_params! {
        ":agent": agent.to_string(),
        ":key": spent.key,
        ":at": spent.at.0,
        ":noted_at": noted_at.0,
        ":model": spent.model,
        ":input": signed(input),
        ":output": signed(output),
        ":cache_read": signed(cache_read),
        ":cache_write": signed(cache_write),
        ":cache_write_long": signed(cache_write_long),
        ":searches": signed(searches),
        ":cost": spent.cost.map(|cost| signed(cost.0)),
    })?;
    Ok(())
}

/// Returns what is known of the answer that `agent` got under this key.
pub fn find(view: View<'_>, agent: AgentId, key: &str) -> Result<Option<Spent>, StoreError> {
    let sql = "SELECT * FROM spent WHERE agent = ?1 AND key = ?2";
    let mut query = view.db.prepare_cached(sql)?;
    query.query_and_then([&agent.to_string(), key], read_spent)?.next().transpose()
}

/// Returns what a turn took, as far as that was read: all from its beginning to the next one's.
pub fn of_turn(view: View<'_>, turn: &Turn) -> Result<Usage, StoreError> {
    let until = turns::next_at(view, turn)?.unwrap_or(Timestamp(i64::MAX));
    let sql = format!("SELECT {SUMS} FROM spent WHERE agent = ?1 AND at >= ?2 AND at < ?3");
    let mut query = view.db.prepare_cached(&sql)?;
    let sums = params![turn.agent.to_string(), turn.wall_at.0, until.0];
    Ok(query
        .query_row(sums, |row| read_usage(row, |row, name| Ok(row.get::<_, f64>(name)? as u64)))?)
}

/// Remembers how far a file of an agent's was read.
pub fn save_cursor(tx: &Tx<'_>, agent: AgentId, cursor: &Cursor) -> Result<(), StoreError> {
    let Cursor { file, device, inode, place, model, root } = cursor;
    tx.db.prepare_cached(SAVE_CURSOR)?.execute(params![
        agent.to_string(),
        file,
        device.cast_signed(),
        inode.cast_signed(),
        signed(*place),
        model,
        root
    ])?;
    Ok(())
}

/// Returns how far each file of an agent's was read, those first that were begun last.
pub fn cursors(view: View<'_>, agent: AgentId, limit: u32) -> Result<Vec<Cursor>, StoreError> {
    let sql = "SELECT * FROM usage_cursors WHERE agent = ?1 ORDER BY rowid DESC LIMIT ?2";
    let mut query = view.db.prepare_cached(sql)?;
    query.query_and_then(params![agent.to_string(), limit], read_cursor)?.collect()
}

/// Returns what an agent has used in all.
pub fn of_agent(view: View<'_>, agent: AgentId) -> Result<Usage, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM agent_usage WHERE agent = ?1")?;
    let found = query.query_row([agent.to_string()], |row| read_usage(row, unsigned)).optional()?;
    Ok(found.unwrap_or_default())
}

/// Returns what agents of each kind have used, those that are forgotten, too.
pub fn of_kinds(view: View<'_>) -> Result<Vec<(String, Usage)>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM kind_usage ORDER BY kind")?;
    let rows = query.query_map([], |row| Ok((row.get("kind")?, read_usage(row, unsigned)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Remembers what an agent, and what agents of its kind have used in all.
pub fn save_sums(
    tx: &Tx<'_>,
    agent: AgentId,
    kind: &str,
    of_agent: Usage,
    of_kind: Usage,
) -> Result<(), StoreError> {
    for (table, name, of, usage) in [
        ("agent_usage", "agent", agent.to_string(), of_agent),
        ("kind_usage", "kind", kind.to_owned(), of_kind),
    ] {
        let Tokens { input, output, cache_read, cache_write, cache_write_long, searches } =
            usage.tokens;
        let sql = format!(
            "INSERT INTO {table} ({name}, input, output, cache_read, cache_write, cache_write_long,
                 searches, cost, unpriced) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT ({name}) DO UPDATE SET
                 input = excluded.input, output = excluded.output,
                 cache_read = excluded.cache_read, cache_write = excluded.cache_write,
                 cache_write_long = excluded.cache_write_long, searches = excluded.searches,
                 cost = excluded.cost, unpriced = excluded.unpriced"
        );
        let [input, output] = [input, output].map(signed);
        let [cache_read, cache_write] = [cache_read, cache_write].map(signed);
        let [long, searches] = [cache_write_long, searches].map(signed);
        let [cost, unpriced] = [usage.cost.0, usage.unpriced].map(signed);
        let row =
            params![of, input, output, cache_read, cache_write, long, searches, cost, unpriced];
        tx.db.prepare_cached(&sql)?.execute(row)?;
    }
    Ok(())
}

/// Returns what agents of `kind` have used.
pub fn of_kind(view: View<'_>, kind: &str) -> Result<Usage, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM kind_usage WHERE kind = ?1")?;
    let found = query.query_row([kind], |row| read_usage(row, unsigned)).optional()?;
    Ok(found.unwrap_or_default())
}

/// Remembers that all was read that a life of `agent` used.
pub fn set_read(tx: &Tx<'_>, agent: AgentId, run: RunId) -> Result<(), StoreError> {
    let sql = "INSERT INTO agent_usage (agent, input, output, cache_read, cache_write,
                   cache_write_long, searches, cost, unpriced, read_run)
               VALUES (?1, 0, 0, 0, 0, 0, 0, 0, 0, ?2)
               ON CONFLICT (agent) DO UPDATE SET read_run = excluded.read_run";
    tx.db.prepare_cached(sql)?.execute([agent.to_string(), run.to_string()])?;
    Ok(())
}

/// Returns the agents whose last life is over, and of which not all was read that it used.
pub fn unread(view: View<'_>) -> Result<Vec<AgentId>, StoreError> {
    let sql = "SELECT id FROM agents LEFT JOIN agent_usage ON agent = id
               WHERE life IN ('ended', 'over') AND session IS NOT NULL AND read_run IS NOT run";
    let mut query = view.db.prepare_cached(sql)?;
    let ids = query.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    Ok(ids.iter().filter_map(|id| id.parse().ok()).collect())
}

/// Forgets what the agent `id` used, but for what each of its answers took, which goes in its time.
pub fn forget(tx: &Tx<'_>, id: AgentId) -> Result<(), StoreError> {
    for sql in
        ["DELETE FROM usage_cursors WHERE agent = ?1", "DELETE FROM agent_usage WHERE agent = ?1"]
    {
        tx.db.prepare_cached(sql)?.execute([id.to_string()])?;
    }
    Ok(())
}

/// Returns when it was first noted what an answer took, of those that are remembered.
pub fn oldest(view: View<'_>) -> Result<Option<Timestamp>, StoreError> {
    let mut query =
        view.db.prepare_cached("SELECT noted_at FROM spent ORDER BY noted_at LIMIT 1")?;
    Ok(query.query_row([], |row| row.get(0).map(Timestamp)).optional()?)
}

/// Forgets what answers took that were noted before `before`, `limit` at most. Returns how many.
pub fn prune(tx: &Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let mut query = tx.db.prepare_cached(
        "DELETE FROM spent WHERE rowid IN
             (SELECT rowid FROM spent WHERE noted_at < ?1 ORDER BY noted_at LIMIT ?2)",
    )?;
    Ok(query.execute(params![before.0, limit])? as u64)
}

pub(crate) fn read_spent(row: &Row<'_>) -> Result<Spent, StoreError> {
    let cost: Option<i64> = row.get("cost")?;
    Ok(Spent {
        key: row.get("key")?,
        at: Timestamp(row.get("at")?),
        model: row.get("model")?,
        tokens: read_tokens(row, unsigned)?,
        cost: cost.map(|cost| Money(cost.unsigned_abs())),
    })
}

pub(crate) fn read_cursor(row: &Row<'_>) -> Result<Cursor, StoreError> {
    Ok(Cursor {
        file: row.get("file")?,
        device: row.get::<_, i64>("device")?.cast_unsigned(),
        inode: row.get::<_, i64>("inode")?.cast_unsigned(),
        place: unsigned(row, "place")?,
        model: row.get("model")?,
        root: row.get("root")?,
    })
}

/// Returns whether a row of sums can be read.
pub(crate) fn reads_sums(row: &Row<'_>) -> bool {
    read_usage(row, unsigned).is_ok()
}

type Number = fn(&Row<'_>, &str) -> rusqlite::Result<u64>;

fn read_usage(row: &Row<'_>, number: Number) -> rusqlite::Result<Usage> {
    let tokens = read_tokens(row, number)?;
    let (cost, unpriced) = (number(row, "cost")?, number(row, "unpriced")?);
    Ok(Usage { tokens, cost: Money(cost), unpriced })
}

fn read_tokens(row: &Row<'_>, number: Number) -> rusqlite::Result<Tokens> {
    Ok(Tokens {
        input: number(row, "input")?,
        output: number(row, "output")?,
        cache_read: number(row, "cache_read")?,
        cache_write: number(row, "cache_write")?,
        cache_write_long: number(row, "cache_write_long")?,
        searches: number(row, "searches")?,
    })
}

fn unsigned(row: &Row<'_>, name: &str) -> rusqlite::Result<u64> {
    row.get::<_, u64>(name)
}

/// Returns a number as SQLite holds it, or the most that it does.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
