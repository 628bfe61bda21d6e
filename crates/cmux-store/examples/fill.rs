//! Fills a new home's store with a long log, for tests of what is shown of it: `fill HOME EVENTS`.
//!
//! It tells of agents that are gone, in the projects `north` and `south` beside the home. The event in the middle is
//! the only one that says `needle`.

#![expect(clippy::unwrap_used, reason = "it is for tests, and fails by panicking")]

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use cmux_core::event::{Actor, Event, What};
use cmux_core::id::{AgentId, LogId, TurnId};
use cmux_core::project::ProjectId;
use cmux_core::time::Timestamp;
use cmux_core::turn::Turned;
use cmux_store::Store;
use ulid::Ulid;

/// How far apart events are: a hundred thousand of them are of less than three hours.
const APART_MS: i64 = 100;

/// How many are written at once.
const BATCH: usize = 10_000;

const AGENTS: i64 = 5;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [home, events] = args.as_slice() else { panic!("usage: fill HOME EVENTS") };
    fill(Path::new(home), events.parse().unwrap());
}

fn fill(home: &Path, events: i64) {
    let path = home.join("cmux.db");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = i64::try_from(now.as_millis()).unwrap();
    let first = now - events * APART_MS;
    let log = LogId::new(Ulid::from_parts(now.unsigned_abs(), 1));
    let (mut store, _) = Store::open(&path, &path, log, Timestamp(first)).unwrap();
    let projects = ["north", "south"].map(|name| project(home, name));
    let all: Vec<i64> = (1..=events).collect();
    for batch in all.chunks(BATCH) {
        let turn = store.turn(|tx| {
            for &n in batch {
                let event = if n == events / 2 { needle() } else { told(n, &projects) };
                tx.append(&event, Timestamp(first + n * APART_MS))?;
            }
            Ok(())
        });
        turn.unwrap();
    }
    store.checkpoint().unwrap();
}

fn project(home: &Path, name: &str) -> ProjectId {
    ProjectId::of(home.parent().unwrap().join(name).to_str().unwrap())
}

/// Returns the `n`-th event, of which each tells something else.
fn told(n: i64, [north, south]: &[ProjectId; 2]) -> Event {
    let agent = n % AGENTS;
    let project = if agent % 2 == 0 { north } else { south };
    let turn = TurnId::new(ulid(n));
    let what = match n % 8 {
        0 => return Event::own(refused(n)),
        1 => phase("busy", "idle", format!("at its end {n}")),
        2 => phase("idle", "busy", format!("it began {n}")),
        3 => What::Turned(Turned::Started { turn, deliveries: Vec::new() }),
        _ => What::Turned(Turned::ToolUsed {
            turn,
            tool: ["Read", "Edit", "Bash"][usize::try_from(n % 3).unwrap()].to_owned(),
            call: Some(format!("call {n}")),
            subagent: None,
            ok: true,
        }),
    };
    let agent = AgentId::new(ulid(agent));
    Event {
        what,
        actor: Actor::Agent(agent),
        project: Some(project.clone()),
        agent: Some(agent),
        run: None,
        cause: None,
    }
}

fn phase(from: &'static str, to: &'static str, reason: String) -> What {
    What::AgentPhase { from, to, reason: Some(reason), until: None }
}

fn ulid(n: i64) -> Ulid {
    Ulid::from(u128::from(n.unsigned_abs()))
}

fn refused(n: i64) -> What {
    let word = str::to_owned;
    What::DoorRefused {
        reason: word("no-credentials"),
        door: word("port"),
        method: word("GET"),
        path: format!("/api/some/{n}"),
        from: word("127.0.0.1"),
        count: 1,
    }
}

fn needle() -> Event {
    Event::own(What::WebhookReceived {
        source: "hay".to_owned(),
        delivery: "needle".to_owned(),
        event: None,
        content_type: None,
        bytes: 1,
    })
}
