//! Agents, as rows.

use std::fmt::Display;
use std::str::FromStr;

use cmux_core::agent::{Agent, AgentName, Intent, Life, LifeState, Pid, Place, Setup, Word};
use cmux_core::hook::Talk;
use cmux_core::id::{AgentId, BadId, TurnId};
use cmux_core::mail::Waiting;
use cmux_core::phase::Phase;
use cmux_core::project::ProjectId;
use cmux_core::time::Timestamp;
use rusqlite::{OptionalExtension, Row, named_params, params};
use serde_json::json;

use crate::{StoreError, Tx, View, damaged};

/// How far up it is looked who launched an agent.
const ABOVE_MAX: usize = 64;

/// How far up the topmost is looked for: nobody is above themselves, unless the store is damaged.
const TOP_MAX: usize = 10_000;

/// What is written of each agent. What it was launched with is written once.
const SAVE: &str = "
    INSERT INTO agents (
        id, project, name, role, kind, parent, cwd, task, args, env, permanent, adopted,
        created_at, intent, phase, phase_at, since, reason, life, life_at, run, began_at, server,
        pane, pid, pid_start, word_rank, word_at, exits, session, seen_at, turn, heard_in)
    VALUES (
        :id, :project, :name, :role, :kind, :parent, :cwd, :task, :args, :env, :permanent,
        :adopted, :created_at, :intent, :phase, :phase_at, :since, :reason, :life, :life_at, :run,
        :began_at, :server, :pane, :pid, :pid_start, :word_rank, :word_at, :exits, :session,
        :seen_at, :turn, :heard_in)
    ON CONFLICT (id) DO UPDATE SET
        intent = excluded.intent, phase = excluded.phase, phase_at = excluded.phase_at,
        since = excluded.since, reason = excluded.reason, life = excluded.life,
        life_at = excluded.life_at, run = excluded.run, began_at = excluded.began_at,
        server = excluded.server, pane = excluded.pane, pid = excluded.pid,
        pid_start = excluded.pid_start, word_rank = excluded.word_rank,
        word_at = excluded.word_at, exits = excluded.exits, session = excluded.session,
        seen_at = excluded.seen_at, turn = excluded.turn, heard_in = excluded.heard_in,
        held = CASE WHEN phase = excluded.phase AND run IS excluded.run THEN held END";

/// Remembers `agent` as it is now.
pub fn save(tx: &Tx<'_>, agent: &Agent) -> Result<(), StoreError> {
    let life = agent.life.as_ref();
    let parts = life.map_or_else(LifeParts::default, |life| LifeParts::of(&life.state));
    let exits: Vec<i64> = agent.exits.iter().map(|at| at.0).collect();
    let Setup { cwd, task, args, env, permanent } = &agent.setup;
    let millis = |at: Timestamp| at.0;
    tx.db.prepare_cached(SAVE)?.execute(named_params! {
        ":id": agent.id.to_string(),
        ":project": agent.project.as_str(),
        ":name": agent.name.as_str(),
        ":role": agent.role,
        ":kind": agent.kind,
        ":parent": agent.parent.map(|id| id.to_string()),
        ":cwd": cwd,
        ":task": task,
        ":args": json!(args).to_string(),
        ":env": json!(env).to_string(),
        ":permanent": permanent,
        ":adopted": agent.adopted,
        ":created_at": agent.created_at.0,
        ":intent": agent.intent.name(),
        ":phase": agent.phase.name(),
        ":phase_at": phase_at(&agent.phase).map(millis),
        ":since": agent.since.0,
        ":reason": agent.reason,
        ":life": life.map(|life| life.state.name()),
        ":life_at": parts.at.map(millis),
        ":run": life.map(|life| life.run.to_string()),
        ":began_at": life.map(|life| life.began_at.0),
        ":server": parts.place.map(|place| &place.server),
        ":pane": parts.place.map(|place| &place.pane),
        ":pid": parts.process.map(|process| process.pid),
        ":pid_start": parts.process.map(|process| process.start.cast_signed()),
        ":word_rank": agent.word.map(|word| word.rank),
        ":word_at": agent.word.map(|word| word.at.0),
        ":exits": json!(exits).to_string(),
        ":session": agent.session,
        ":seen_at": agent.seen_at.map(millis),
        ":turn": agent.talk.turn.map(|id| id.to_string()),
        ":heard_in": agent.talk.heard_in.map(|id| id.to_string()),
    })?;
    Ok(())
}

/// Remembers what keeps mail from the agent `id`, until it does something else.
pub fn set_held(tx: &Tx<'_>, id: AgentId, held: Option<Waiting>) -> Result<(), StoreError> {
    let update = "UPDATE agents SET held = ?2 WHERE id = ?1";
    tx.db.prepare_cached(update)?.execute(params![id.to_string(), held.map(Waiting::name)])?;
    Ok(())
}

/// Returns what keeps mail from the agent `id`, as far as that was seen of its terminal.
pub fn held(view: View<'_>, id: AgentId) -> Result<Option<Waiting>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT held FROM agents WHERE id = ?1")?;
    let held = query.query_row([id.to_string()], |row| row.get::<_, Option<String>>(0));
    let Some(held) = held.optional()?.flatten() else { return Ok(None) };
    let known = Waiting::ALL.into_iter().find(|it| it.name() == held);
    known.map(Some).ok_or_else(|| bad_row(&id.to_string(), format!("held {held}")))
}

/// Remembers that the agent `id` is not in the turn `turn` any more, if it was.
pub fn leave_turn(tx: &Tx<'_>, id: AgentId, turn: TurnId) -> Result<(), StoreError> {
    let update = "UPDATE agents SET turn = NULL WHERE id = ?1 AND turn = ?2";
    tx.db.prepare_cached(update)?.execute([id.to_string(), turn.to_string()])?;
    Ok(())
}

/// Forgets the agent called `id`.
pub fn remove(tx: &Tx<'_>, id: AgentId) -> Result<(), StoreError> {
    tx.db.execute("DELETE FROM agents WHERE id = ?1", [id.to_string()])?;
    Ok(())
}

/// Returns the agent with this `id`.
pub fn find(view: View<'_>, id: AgentId) -> Result<Option<Agent>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM agents WHERE id = ?1")?;
    query.query_and_then([id.to_string()], read)?.next().transpose()
}

/// Returns the agent that is called `name` in `project`, whichever letters are capitals.
pub fn find_by_name(
    view: View<'_>,
    project: &ProjectId,
    name: &str,
) -> Result<Option<Agent>, StoreError> {
    let sql = "SELECT * FROM agents WHERE project = ?1 AND name = ?2";
    let mut query = view.db.prepare_cached(sql)?;
    query.query_and_then([project.as_str(), name], read)?.next().transpose()
}

/// Returns the agents that are called so, of all projects.
pub fn called(view: View<'_>, name: &str) -> Result<Vec<Agent>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM agents WHERE name = ?1 ORDER BY id")?;
    query.query_and_then([name], read)?.collect()
}

/// Returns the agents after the one with the id `after` in the order of their ids, `limit` at most: those
/// of `project`, or all.
pub fn page(
    view: View<'_>,
    project: Option<&ProjectId>,
    after: Option<AgentId>,
    limit: u32,
) -> Result<Vec<Agent>, StoreError> {
    let sql = match project {
        Some(_) => "SELECT * FROM agents WHERE id > ?1 AND project = ?3 ORDER BY id LIMIT ?2",
        None => "SELECT * FROM agents WHERE id > ?1 AND ?3 IS NULL ORDER BY id LIMIT ?2",
    };
    let after = after.map_or_else(String::new, |id| id.to_string());
    let mut query = view.db.prepare_cached(sql)?;
    query.query_and_then(params![after, limit, project.map(ProjectId::as_str)], read)?.collect()
}

/// Returns the agents of `project`, by name.
pub fn of_project(view: View<'_>, project: &ProjectId) -> Result<Vec<Agent>, StoreError> {
    let sql = "SELECT * FROM agents WHERE project = ?1 ORDER BY name";
    let mut query = view.db.prepare_cached(sql)?;
    query.query_and_then([project.as_str()], read)?.collect()
}

/// Returns who launched the agent `id`, who launched that one, and so on, as far as it is known.
pub fn above(view: View<'_>, id: AgentId) -> Result<Vec<AgentId>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT parent FROM agents WHERE id = ?1")?;
    let (mut above, mut next) = (Vec::new(), id);
    while above.len() < ABOVE_MAX {
        let mut rows = query.query([next.to_string()])?;
        let Some(row) = rows.next()? else { break };
        let Some(parent) = row.get::<_, Option<String>>(0)? else { break };
        next = parent.parse().map_err(|bad| bad_row(&next.to_string(), bad))?;
        above.push(next);
    }
    Ok(above)
}

/// Returns the topmost agent above `id`, or itself. Nobody, if it or one of those above it is forgotten.
pub fn topmost(view: View<'_>, id: AgentId) -> Result<Option<AgentId>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT parent FROM agents WHERE id = ?1")?;
    let mut next = id;
    for _ in 0..TOP_MAX {
        let mut rows = query.query([next.to_string()])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let Some(parent) = row.get::<_, Option<String>>(0)? else { return Ok(Some(next)) };
        next = parent.parse().map_err(|bad| bad_row(&next.to_string(), bad))?;
    }
    Ok(None)
}

/// Returns how many agents `project` has.
pub fn count(view: View<'_>, project: &ProjectId) -> Result<u64, StoreError> {
    let sql = "SELECT count(*) FROM agents WHERE project = ?1";
    Ok(view.db.prepare_cached(sql)?.query_row([project.as_str()], |row| row.get(0))?)
}

/// Returns how many agents have a process.
pub fn with_process(view: View<'_>) -> Result<u64, StoreError> {
    let mut query = view.db.prepare_cached("SELECT count(*) FROM agents WHERE pid IS NOT NULL")?;
    Ok(query.query_row([], |row| row.get(0))?)
}

/// Returns the agents of whose life something is left, by id.
pub fn living(view: View<'_>) -> Result<Vec<Agent>, StoreError> {
    let sql = "SELECT * FROM agents WHERE life <> 'over' ORDER BY id";
    view.db.prepare_cached(sql)?.query_and_then([], read)?.collect()
}

/// Returns the agents that live in the tmux server at `server`, the oldest first.
pub fn in_server(view: View<'_>, server: &str) -> Result<Vec<Agent>, StoreError> {
    let sql = "SELECT * FROM agents WHERE life IN ('alive', 'ending') AND server = ?1 ORDER BY id";
    view.db.prepare_cached(sql)?.query_and_then([server], read)?.collect()
}

/// Returns every agent, by id.
pub fn all(view: View<'_>) -> Result<Vec<Agent>, StoreError> {
    page(view, None, None, u32::MAX)
}

pub(crate) fn read(row: &Row<'_>) -> Result<Agent, StoreError> {
    let id: String = row.get("id")?;
    let project: String = row.get("project")?;
    let name: String = row.get("name")?;
    let parent: Option<String> = row.get("parent")?;
    let exits: Vec<i64> = list(row, &id, "exits", |text| serde_json::from_str(text))?;
    Ok(Agent {
        id: id.parse().map_err(|bad| bad_row(&id, bad))?,
        project: project.parse().map_err(|bad| bad_row(&id, bad))?,
        name: AgentName::new(&name).map_err(|bad| bad_row(&id, bad))?,
        role: row.get("role")?,
        kind: row.get("kind")?,
        parent: parent.map(|it| it.parse().map_err(|bad| bad_row(&id, bad))).transpose()?,
        setup: Setup {
            cwd: row.get("cwd")?,
            task: row.get("task")?,
            args: list(row, &id, "args", |text| serde_json::from_str(text))?,
            env: list(row, &id, "env", |text| serde_json::from_str(text))?,
            permanent: row.get("permanent")?,
        },
        adopted: flag_if_any(row, "adopted")?,
        created_at: Timestamp(row.get("created_at")?),
        intent: read_intent(row, &id)?,
        phase: read_phase(row, &id)?,
        since: Timestamp(row.get("since")?),
        reason: row.get("reason")?,
        life: read_life(row, &id)?,
        word: read_word(row, &id)?,
        exits: exits.into_iter().map(Timestamp).collect(),
        session: row.get("session")?,
        talk: Talk {
            turn: id_if_any(row, &id, "turn")?,
            heard_in: id_if_any(row, &id, "heard_in")?,
        },
        seen_at: time(row, "seen_at")?,
    })
}

fn read_intent(row: &Row<'_>, id: &str) -> Result<Intent, StoreError> {
    let intent: String = row.get("intent")?;
    match intent.as_str() {
        "run" => Ok(Intent::Run),
        "pause" => Ok(Intent::Pause),
        "stop" => Ok(Intent::Stop),
        intent => Err(bad_row(id, format!("intent {intent}"))),
    }
}

fn phase_at(phase: &Phase) -> Option<Timestamp> {
    match phase {
        Phase::Starting { deadline: at } | Phase::Down { retry_at: at } => Some(*at),
        Phase::Limited { until } => *until,
        Phase::Offline | Phase::Idle | Phase::Busy | Phase::Asking | Phase::Failed => None,
    }
}

fn read_phase(row: &Row<'_>, id: &str) -> Result<Phase, StoreError> {
    let phase: String = row.get("phase")?;
    match (phase.as_str(), time(row, "phase_at")?) {
        ("offline", None) => Ok(Phase::Offline),
        ("starting", Some(deadline)) => Ok(Phase::Starting { deadline }),
        ("idle", None) => Ok(Phase::Idle),
        ("busy", None) => Ok(Phase::Busy),
        ("asking", None) => Ok(Phase::Asking),
        ("limited", until) => Ok(Phase::Limited { until }),
        ("down", Some(retry_at)) => Ok(Phase::Down { retry_at }),
        ("failed", None) => Ok(Phase::Failed),
        (phase, at) => Err(bad_row(id, format!("phase {phase}, {at:?}"))),
    }
}

/// What a life's state is made of, beside its name.
#[derive(Default)]
struct LifeParts<'a> {
    at: Option<Timestamp>,
    place: Option<&'a Place>,
    process: Option<Pid>,
}

impl LifeParts<'_> {
    fn of(state: &LifeState) -> LifeParts<'_> {
        match state {
            LifeState::Launching | LifeState::Over => LifeParts::default(),
            LifeState::Alive { place, process } => {
                LifeParts { at: None, place: Some(place), process: Some(*process) }
            }
            LifeState::Ending { place, process, deadline } => {
                LifeParts { at: Some(*deadline), place: Some(place), process: Some(*process) }
            }
            LifeState::Ended { place, deadline } => {
                LifeParts { at: Some(*deadline), place: place.as_ref(), process: None }
            }
        }
    }
}

fn read_life(row: &Row<'_>, id: &str) -> Result<Option<Life>, StoreError> {
    let Some(life) = row.get::<_, Option<String>>("life")? else { return Ok(None) };
    let run: String = row.get("run")?;
    let place: (Option<String>, Option<String>) = (row.get("server")?, row.get("pane")?);
    let place = match place {
        (Some(server), Some(pane)) => Some(Place { server, pane }),
        (None, None) => None,
        place => return Err(bad_row(id, format!("place {place:?}"))),
    };
    let process: (Option<u32>, Option<i64>) = (row.get("pid")?, row.get("pid_start")?);
    let process = match process {
        (Some(pid), Some(start)) => Some(Pid { pid, start: start.cast_unsigned() }),
        (None, None) => None,
        process => return Err(bad_row(id, format!("process {process:?}"))),
    };
    let state = match (life.as_str(), place, process, time(row, "life_at")?) {
        ("launching", None, None, None) => LifeState::Launching,
        ("alive", Some(place), Some(process), None) => LifeState::Alive { place, process },
        ("ending", Some(place), Some(process), Some(deadline)) => {
            LifeState::Ending { place, process, deadline }
        }
        ("ended", place, None, Some(deadline)) => LifeState::Ended { place, deadline },
        ("over", None, None, None) => LifeState::Over,
        (life, ..) => return Err(bad_row(id, format!("life {life}"))),
    };
    let run = run.parse().map_err(|bad| bad_row(id, bad))?;
    Ok(Some(Life { run, began_at: Timestamp(row.get("began_at")?), state }))
}

fn read_word(row: &Row<'_>, id: &str) -> Result<Option<Word>, StoreError> {
    match (row.get("word_rank")?, time(row, "word_at")?) {
        (Some(rank), Some(at)) => Ok(Some(Word { rank, at })),
        (None, None) => Ok(None),
        (rank, at) => Err(bad_row(id, format!("word {rank:?}, {at:?}"))),
    }
}

/// Returns the id in a column that stores of earlier versions have not.
fn id_if_any<T: FromStr<Err = BadId>>(
    row: &Row<'_>,
    id: &str,
    column: &str,
) -> Result<Option<T>, StoreError> {
    let text = match row.get::<_, Option<String>>(column) {
        Err(rusqlite::Error::InvalidColumnName(_)) => None,
        text => text?,
    };
    text.map(|text| text.parse().map_err(|bad| bad_row(id, bad))).transpose()
}

/// Returns the flag in a column that stores of earlier versions have not.
fn flag_if_any(row: &Row<'_>, column: &str) -> Result<bool, StoreError> {
    match row.get(column) {
        Err(rusqlite::Error::InvalidColumnName(_)) => Ok(false),
        flag => Ok(flag?),
    }
}

fn time(row: &Row<'_>, column: &str) -> Result<Option<Timestamp>, StoreError> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp))
}

/// Returns a list that is kept as JSON. What is wrong with it is not told: it may hold secrets.
fn list<T>(
    row: &Row<'_>,
    id: &str,
    column: &str,
    parse: fn(&str) -> serde_json::Result<Vec<T>>,
) -> Result<Vec<T>, StoreError> {
    let text: String = row.get(column)?;
    parse(&text).map_err(|_| bad_row(id, format!("its {column} make no sense")))
}

fn bad_row(id: &str, what: impl Display) -> StoreError {
    damaged("agent", id, what)
}
