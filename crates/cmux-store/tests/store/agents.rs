//! What is remembered of agents, and what their rows cannot hold.

use std::time::Duration;

use cmux_core::agent::{Agent, AgentName, Intent, Life, LifeState, Pid, Place, Setup, Word};
use cmux_core::event::{Actor, Event, What};
use cmux_core::hook::Talk;
use cmux_core::id::{AgentId, RunId, TurnId};
use cmux_core::mail::Waiting;
use cmux_core::phase::Phase;
use cmux_core::plan::Subject;
use cmux_core::plan::agents::event;
use cmux_core::report::NewAgent;
use cmux_core::time::Timestamp;
use cmux_store::{Store, StoreError, Tx, View, agents, projects, wake};
use rusqlite::ErrorCode;
use serde_json::{Value, json};
use ulid::Ulid;

use crate::world::{LATER, NOW, World, all, check_whole, project};

/// A row of an agent that is alive, column by column.
const ROW: [(&str, &str); 32] = [
    ("id", "'agt_1'"),
    ("project", "'a'"),
    ("name", "'worker'"),
    ("role", "'worker'"),
    ("kind", "'demo'"),
    ("parent", "NULL"),
    ("cwd", "'/'"),
    ("task", "NULL"),
    ("args", "'[]'"),
    ("env", "'[]'"),
    ("permanent", "0"),
    ("created_at", "0"),
    ("intent", "'run'"),
    ("phase", "'idle'"),
    ("phase_at", "NULL"),
    ("since", "0"),
    ("reason", "NULL"),
    ("life", "'alive'"),
    ("life_at", "NULL"),
    ("run", "'run_1'"),
    ("began_at", "0"),
    ("server", "'/s'"),
    ("pane", "'%1'"),
    ("pid", "7"),
    ("pid_start", "7"),
    ("word_rank", "NULL"),
    ("word_at", "NULL"),
    ("exits", "'[]'"),
    ("session", "NULL"),
    ("seen_at", "NULL"),
    ("turn", "NULL"),
    ("heard_in", "NULL"),
];

#[test]
fn an_agent_is_read_back_in_each_of_its_states() {
    let world = World::new();
    let mut store = open(&world);
    for state in states() {
        let life = Life { run: run(1), began_at: LATER, state };
        check(&mut store, &Agent { life: Some(life), ..agent(1, "worker") });
    }
    for phase in phases() {
        for intent in [Intent::Run, Intent::Pause, Intent::Stop] {
            check(&mut store, &Agent { phase: phase.clone(), intent, ..agent(1, "worker") });
        }
    }
    let full = Agent {
        reason: Some("exit 1".to_owned()),
        word: Some(Word { rank: u8::MAX, at: LATER }),
        exits: [NOW, LATER].into_iter().collect(),
        session: Some("abc".to_owned()),
        talk: Talk { turn: Some(TurnId::new(Ulid::from(9_u128))), heard_in: Some(run(1)) },
        seen_at: Some(LATER),
        since: LATER,
        ..agent(1, "worker")
    };
    check(&mut store, &full);
    for _ in 0..2 {
        do_in_turn(&mut store, |tx| agents::remove(tx, full.id));
        assert_eq!(agents::find(store.view(), full.id).unwrap(), None);
    }
}

#[test]
fn what_an_agent_was_launched_with_does_not_change() {
    let world = World::new();
    let mut store = open(&world);
    let first = agent(1, "worker");
    check(&mut store, &first);
    let (role, kind) = ("other".to_owned(), "other".to_owned());
    do_in_turn(&mut store, |tx| agents::save(tx, &Agent { role, kind, ..first.clone() }));
    assert_eq!(agents::find(store.view(), first.id).unwrap(), Some(first));
}

#[test]
fn a_name_is_one_agent_s_in_a_project_whichever_letters_are_capitals() {
    let world = World::new();
    let mut store = open(&world);
    let (first, elsewhere) = (agent(1, "Api"), of(2, agent(2, "api")));
    do_in_turn(&mut store, |tx| {
        agents::save(tx, &first)?;
        agents::save(tx, &elsewhere)
    });
    let taken = store.turn(|tx| agents::save(tx, &agent(3, "aPI")));
    assert!(taken.is_err(), "{taken:?}");
    for (n, name, expected) in
        [(1, "API", Some(&first)), (2, "Api", Some(&elsewhere)), (1, "ap", None)]
    {
        let found = agents::find_by_name(store.view(), &project(n).id, name).unwrap();
        assert_eq!(found.as_ref(), expected, "{name}");
    }
    assert_eq!(agents::called(store.view(), "API").unwrap(), [first, elsewhere]);
    assert_eq!(agents::called(store.view(), "ap").unwrap(), []);
}

#[test]
fn agents_are_listed_by_project_by_page_and_by_what_is_left_of_them() {
    let world = World::new();
    let mut store = open(&world);
    let over = Agent { life: Some(life(LifeState::Over)), ..agent(2, "b") };
    let ended = LifeState::Ended { place: None, deadline: NOW };
    let ended = Agent { life: Some(life(ended)), ..agent(3, "a") };
    let other = of(2, Agent { life: Some(life(LifeState::Launching)), ..agent(4, "d") });
    let every = [agent(1, "c"), over, ended, other];
    do_in_turn(&mut store, |tx| every.iter().try_for_each(|agent| agents::save(tx, agent)));
    let (one, two, none) = (project(1).id, project(2).id, project(3).id);
    let names = |found: Result<Vec<Agent>, StoreError>| -> String {
        let names = found.unwrap().into_iter().map(|agent| agent.name.to_string());
        names.collect::<Vec<_>>().join(" ")
    };
    let view = store.view();
    assert_eq!(names(agents::all(view)), "c b a d");
    assert_eq!(names(agents::living(view)), "a d");
    assert_eq!(names(agents::of_project(view, &one)), "a b c");
    assert_eq!(names(agents::of_project(view, &none)), "");
    assert_eq!(agents::count(view, &one).unwrap(), 3);
    assert_eq!(agents::count(view, &none).unwrap(), 0);
    for (project, after, limit, expected) in [
        (None, None, 3, "c b a"),
        (None, Some(id(3)), 3, "d"),
        (Some(&one), None, 2, "c b"),
        (Some(&one), Some(id(2)), 2, "a"),
        (Some(&two), None, 9, "d"),
        (Some(&none), None, 9, ""),
    ] {
        assert_eq!(names(agents::page(view, project, after, limit)), expected);
    }
}

#[test]
fn it_is_known_who_is_above_an_agent_as_far_as_they_are_there() {
    let world = World::new();
    let mut store = open(&world);
    do_in_turn(&mut store, |tx| {
        for (n, parent) in [(1, None), (2, Some(1)), (3, Some(2)), (5, Some(4))] {
            let agent = Agent { parent: parent.map(id), ..agent(n, &format!("a{n}")) };
            agents::save(tx, &agent)?;
        }
        Ok(())
    });
    for (n, expected) in [(1, vec![]), (2, vec![1]), (3, vec![2, 1]), (5, vec![4]), (9, vec![])] {
        let expected: Vec<AgentId> = expected.into_iter().map(id).collect();
        assert_eq!(agents::above(store.view(), id(n)).unwrap(), expected, "{n}");
    }
    for (n, expected) in [(1, Some(1)), (2, Some(1)), (3, Some(1)), (5, None), (9, None)] {
        assert_eq!(agents::topmost(store.view(), id(n)).unwrap(), expected.map(id), "{n}");
    }
}

#[test]
fn an_agent_is_woken_for_by_its_own_name() {
    let world = World::new();
    let mut store = open(&world);
    let subject = Subject::Agent(id(7));
    do_in_turn(&mut store, |tx| wake::set(tx, &subject, Some(NOW)));
    assert_eq!(wake::due(store.view(), NOW, 9).unwrap(), [subject]);
}

#[test]
fn what_befalls_an_agent_is_told_with_its_life_and_project() {
    let world = World::new();
    let mut store = open(&world);
    let alive = Agent { life: Some(life(LifeState::Launching)), ..agent(1, "worker") };
    let (agt, prj) = (alive.id.to_string(), alive.project.to_string());
    let text = |text: &str| text.to_owned();
    let parent = Some(id(9));
    let spawned =
        What::AgentSpawned { name: text("w"), role: text("r"), kind: text("demo"), parent };
    let (reason, until) = (Some(text("so")), Some(NOW));
    let phase = What::AgentPhase { from: "idle", to: "limited", reason, until };
    let said: [(What, &str, Value); 7] = [
        (
            spawned,
            "agent.spawned",
            json!({"name": "w", "role": "r", "kind": "demo", "parent": id(9).to_string()}),
        ),
        (What::AgentAsked { intent: "stop" }, "agent.asked", json!({"intent": "stop"})),
        (
            phase,
            "agent.phase",
            json!({
                "from": "idle", "to": "limited", "reason": "so",
                "until": "2026-01-01T00:00:00.000Z",
            }),
        ),
        (What::AgentHeld { held: Some(Waiting::Draft) }, "agent.held", json!({"for": "draft"})),
        (What::AgentHeld { held: None }, "agent.held", json!({"for": null})),
        (What::AgentExited { how: text("exit 1") }, "agent.exited", json!({"how": "exit 1"})),
        (What::AgentRemoved { name: text("w") }, "agent.removed", json!({"name": "w"})),
    ];
    for (what, kind, data) in said {
        let told = Event { actor: Actor::Agent(id(9)), ..event(&alive, what) };
        do_in_turn(&mut store, |tx| tx.append(&told, NOW).map(drop));
        let row = all(store.view()).pop().unwrap();
        assert_eq!((row.kind.as_str(), row.actor), (kind, id(9).to_string()));
        assert_eq!((row.agent, row.project), (Some(agt.clone()), Some(prj.clone())), "{kind}");
        assert_eq!(row.run, Some(run(1).to_string()), "{kind}");
        assert_eq!(row.subject, Some(format!("agent:{agt}")), "{kind}");
        assert_eq!(row.data.parse::<Value>().unwrap(), data);
    }
    check_whole(&world, 7);
}

#[test]
fn a_row_of_an_agent_cannot_hold_what_the_core_cannot_express() {
    let world = World::new();
    drop(world.open());
    let db = world.raw();
    db.pragma_update(None, "foreign_keys", true).unwrap();
    let added = "INSERT INTO projects VALUES ('a', 'x', '/a', 0, 'present', NULL, 'due', 0)";
    db.execute(added, []).unwrap();
    let no_place = [("server", "NULL"), ("pane", "NULL")];
    let no_pid = [("pid", "NULL"), ("pid_start", "NULL")];
    let nothing = [&no_place[..], &no_pid].concat();
    let with = |more: &[(&'static str, &'static str)]| [&nothing[..], more].concat();
    let refused: Vec<Vec<(&str, &str)>> = vec![
        vec![("project", "'b'")],
        vec![("name", "''")],
        vec![("name", "'1'")],
        vec![("name", "'a b'")],
        vec![("args", "'{}'")],
        vec![("env", "'x'")],
        vec![("exits", "'1'")],
        vec![("permanent", "2")],
        vec![("intent", "'rest'")],
        vec![("phase", "'asleep'")],
        vec![("phase", "'down'")],
        vec![("phase", "'starting'")],
        vec![("phase_at", "1")],
        vec![("life", "'undead'")],
        vec![("life", "NULL")],
        vec![("run", "NULL")],
        vec![("began_at", "NULL")],
        vec![("life_at", "1")],
        vec![("life", "'ending'")],
        vec![("life", "'launching'")],
        no_pid.to_vec(),
        no_place.to_vec(),
        vec![("pane", "NULL")],
        vec![("pid_start", "NULL")],
        vec![("pid", "-1")],
        vec![("pid", "4294967296")],
        vec![("word_rank", "1")],
        vec![("word_rank", "256"), ("word_at", "1")],
        with(&[("life", "'ended'")]),
        [&no_pid[..], &[("life", "'over'")]].concat(),
    ];
    for changes in &refused {
        let sql = row(changes);
        let code = db.execute(&sql, []).unwrap_err().sqlite_error_code();
        assert_eq!(code, Some(ErrorCode::ConstraintViolation), "{changes:?}");
    }
    // The refusals are of what they are meant to be of.
    for changes in [
        vec![],
        vec![("life", "'ending'"), ("life_at", "1")],
        [&no_pid[..], &[("life", "'ended'"), ("life_at", "1")]].concat(),
        with(&[("life", "'ended'"), ("life_at", "1")]),
        with(&[("life", "NULL"), ("run", "NULL"), ("began_at", "NULL")]),
        vec![("phase", "'limited'"), ("phase_at", "1")],
        vec![("phase", "'limited'")],
    ] {
        db.execute(&row(&changes), []).unwrap_or_else(|why| panic!("{changes:?}: {why}"));
        db.execute("DELETE FROM agents", []).unwrap();
    }
}

#[test]
fn a_project_with_agents_is_not_removed_beneath_them() {
    let world = World::new();
    let mut store = open(&world);
    let agent = agent(1, "worker");
    do_in_turn(&mut store, |tx| agents::save(tx, &agent));
    assert!(store.turn(|tx| projects::remove(tx, &agent.project)).is_err());
    do_in_turn(&mut store, |tx| {
        agents::remove(tx, agent.id)?;
        projects::remove(tx, &agent.project)
    });
}

/// Puts an agent into the store, in a project that is there.
pub(crate) fn furnish(tx: &Tx<'_>) -> Result<(), StoreError> {
    agents::save(tx, &furniture())
}

/// Checks that the agent was saved unless the `damage`, `UPDATE table …`, was done to it.
#[track_caller]
pub(crate) fn check_salvaged(view: View<'_>, damage: &str) {
    let is_lost = damage.starts_with("UPDATE agents");
    let expected = (!is_lost).then(furniture);
    assert_eq!(agents::find(view, furniture().id).unwrap(), expected, "{damage}");
}

fn furniture() -> Agent {
    let place = Place { server: "/tmux/a".to_owned(), pane: "%1".to_owned() };
    let state = LifeState::Alive { place, process: Pid { pid: 7, start: 9 } };
    of(2, Agent { life: Some(life(state)), ..agent(1, "worker") })
}

/// Checks that `agent` is read back as it was saved.
#[track_caller]
fn check(store: &mut Store, agent: &Agent) {
    do_in_turn(store, |tx| agents::save(tx, agent));
    assert_eq!(agents::find(store.view(), agent.id).unwrap().as_ref(), Some(agent));
}

/// Returns a statement that writes an agent's row with these `changes`.
fn row(changes: &[(&str, &str)]) -> String {
    let changed = |(name, value): &(&str, &str)| {
        let change = changes.iter().find(|(changed, _)| changed == name);
        change.map_or(*value, |(_, value)| *value).to_owned()
    };
    let values: Vec<String> = ROW.iter().map(changed).collect();
    let names: Vec<&str> = ROW.iter().map(|(name, _)| *name).collect();
    format!("INSERT INTO agents ({}) VALUES ({})", names.join(", "), values.join(", "))
}

fn states() -> Vec<LifeState> {
    let place = Place { server: "/tmux/ä".to_owned(), pane: "%7".to_owned() };
    let process = Pid { pid: u32::MAX, start: u64::MAX };
    vec![
        LifeState::Launching,
        LifeState::Alive { place: place.clone(), process },
        LifeState::Ending { place: place.clone(), process, deadline: LATER },
        LifeState::Ended { place: Some(place), deadline: NOW },
        LifeState::Ended { place: None, deadline: NOW },
        LifeState::Over,
    ]
}

fn phases() -> [Phase; 9] {
    let at = NOW + Duration::from_secs(3);
    [
        Phase::Offline,
        Phase::Starting { deadline: at },
        Phase::Idle,
        Phase::Busy,
        Phase::Asking,
        Phase::Limited { until: None },
        Phase::Limited { until: Some(at) },
        Phase::Down { retry_at: Timestamp(-1) },
        Phase::Failed,
    ]
}

fn life(state: LifeState) -> Life {
    Life { run: run(1), began_at: NOW, state }
}

pub(crate) fn agent(n: u128, name: &str) -> Agent {
    let setup = Setup {
        cwd: "/proj/Ä 'x'; --".to_owned(),
        task: Some("a\n\"b\"".to_owned()),
        args: vec!["--x".to_owned(), "ü \u{1}".to_owned()],
        env: vec![("B".to_owned(), "2".to_owned()), ("A".to_owned(), "1\"".to_owned())],
        permanent: true,
    };
    let (role, kind) = ("worker".to_owned(), "demo".to_owned());
    let (name, project) = (AgentName::new(name).unwrap(), project(1).id);
    let new = NewAgent { project, name, role, kind, parent: Some(id(99)), setup };
    Agent::new(id(n), new, NOW)
}

/// Returns the same agent in the project `n`.
fn of(n: u32, agent: Agent) -> Agent {
    Agent { project: project(n).id, ..agent }
}

/// Opens a store in which there are the projects that agents are put into.
pub(crate) fn open(world: &World) -> Store {
    let mut store = world.open();
    do_in_turn(&mut store, |tx| (1..3).try_for_each(|n| projects::save(tx, &project(n))));
    store
}

fn id(n: u128) -> AgentId {
    AgentId::new(Ulid::from(n))
}

fn run(n: u128) -> RunId {
    RunId::new(Ulid::from(n))
}

#[track_caller]
fn do_in_turn(store: &mut Store, work: impl FnOnce(&mut Tx<'_>) -> Result<(), StoreError>) {
    store.turn(work).unwrap();
}
