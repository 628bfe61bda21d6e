//! The daemon over HTTP: how it is, and the end of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use cmux_core::id::EventId;
use cmux_core::snapshot::{SnapshotKind, SnapshotState};
use cmux_core::time::Timestamp;
use cmux_drivers::home::Home;
use cmux_drivers::{clock, disk, lock};
use cmux_store::events::{self, Filter, Row};
use cmux_store::messages::{self, Numbers, Waits};
use cmux_store::{StoreError, View, agents, logs, projects, snapshots};
use cmux_wire::agent::Agent;
use cmux_wire::daemon::{DaemonStatus, Notice, Status, Stopping, StoreStatus};
use cmux_wire::message::{EvidenceCount, MailCounts, MailStatus};
use cmux_wire::project::Project;
use cmux_wire::time::Time;
use cmux_wire::usage::Usage;

use crate::http::gate::Caller;
use crate::http::problem::Oops;
use crate::http::{App, health};
use crate::tally::Tally;

/// How long a person is reminded of what befell the store.
const NOTICE_DAYS: i64 = 7;

/// How many agents are read at once.
const AGENTS_PAGE: u32 = 500;

/// What befalls a store and must not go unnoticed.
const NOTICES: [&str; 3] = ["store.repaired", "store.restored", FAILED];

/// Worth a notice until the next one is taken.
const FAILED: &str = "snapshot.failed";

pub(crate) async fn daemon(State(app): State<Arc<App>>) -> Result<Json<DaemonStatus>, Oops> {
    let files = look(&app.facts.home).await?;
    Ok(Json(say_daemon(&app, &files)))
}

/// What is found in the home's files.
struct Files {
    guard_pid: Option<u32>,
    bytes: u64,
    free_bytes: u64,
}

/// Looks at the home's files, on a thread that may wait for the disk.
async fn look(home: &Home) -> Result<Files, Oops> {
    let home = home.clone();
    let looked = tokio::task::spawn_blocking(move || Files {
        guard_pid: lock::holder(&home.guard_lock()).ok().flatten().map(|it| it.process.pid),
        bytes: store_bytes(&home),
        free_bytes: disk::free_bytes(home.root()).unwrap_or(0),
    });
    looked.await.map_err(|error| Oops::internal("files", &error))
}

fn say_daemon(app: &App, files: &Files) -> DaemonStatus {
    let facts = &app.facts;
    DaemonStatus {
        running: true,
        starting: app.awake().is_none(),
        ready: health::kernel(app).why.is_none() && health::store(app).why.is_none(),
        pid: Some(facts.pid),
        guard_pid: files.guard_pid,
        version: facts.version.clone(),
        port: Some(facts.port),
        address: Some(app.address.clone()),
        home: facts.home.root().display().to_string(),
        started_at: Some(Time::from_millis(facts.started_at.0)),
        safe_mode: facts.safe_mode.clone(),
    }
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Caller(principal): Caller,
) -> Result<Json<Status>, Oops> {
    let found = app.read(glance).await;
    let (glance, unread) = match found {
        Ok(glance) => (glance, None),
        Err(oops) => (Glance::default(), Some(oops.detail())),
    };
    let Glance { head, log, mut projects, mut agents, mail, last_snapshot_at, notices } = glance;
    let is_known =
        |project: &str| principal.confined_to().is_none_or(|own| own.to_string() == project);
    projects.retain(|project| is_known(&project.id));
    agents.retain(|agent| is_known(&agent.project));
    let mail = say_mail(&app, &mail, &agents, principal.confined_to().is_some());
    let usage = agents.iter().fold(Usage::default(), |sum, agent| sum.plus(agent.usage));
    let trouble = health::store(&app).why.or(unread);
    let files = look(&app.facts.home).await?;
    Ok(Json(Status {
        daemon: say_daemon(&app, &files),
        store: StoreStatus {
            status: if trouble.is_none() { "healthy" } else { "degraded" }.to_owned(),
            why: trouble,
            log,
            head: head.map_or(0, |head| head.0),
            bytes: files.bytes,
            free_bytes: files.free_bytes,
            last_snapshot_at,
            notices,
        },
        projects,
        agents,
        mail,
        usage,
    }))
}

/// Returns how the mail of these agents is. Of the person's, and of what became of all of it, one who is
/// confined to a project is told nothing.
fn say_mail(app: &App, found: &Numbers, agents: &[Agent], is_confined: bool) -> MailStatus {
    let is_theirs = |waits: &&Waits| {
        let id = waits.agent.to_string();
        agents.iter().any(|agent| agent.id == id)
    };
    let oldest = found.agents.iter().filter(is_theirs).map(|waits| waits.oldest).min();
    let tally = app.awake().filter(|_| !is_confined).map(|awake| &awake.tally);
    MailStatus {
        waiting: agents.iter().map(|agent| agent.queue).sum(),
        oldest_at: oldest.map(|at| Time::from_millis(at.0)),
        unread: if is_confined { 0 } else { found.unread },
        counted: tally.map_or_else(MailCounts::default, |tally| say_counts(tally)),
    }
}

fn say_counts(tally: &Tally) -> MailCounts {
    let delivered = tally.delivered().filter(|(_, messages)| *messages > 0);
    let named = |(evidence, messages): (&str, u64)| EvidenceCount {
        evidence: evidence.to_owned(),
        messages,
    };
    MailCounts {
        attempts: tally.attempts.load(Ordering::Relaxed),
        duplicates_blocked: tally.blocked.load(Ordering::Relaxed),
        delivered: delivered.map(named).collect(),
        mean_ms: tally.sum_ms().checked_div(tally.count()),
    }
}

/// Returns how long the store is, with what is not yet in its place.
pub(crate) fn store_bytes(home: &Home) -> u64 {
    let length = |file: &PathBuf| std::fs::metadata(file).map_or(0, |file| file.len());
    [home.database(), home.write_ahead_log()].iter().map(length).sum()
}

/// What one look at the store shows.
#[derive(Default)]
struct Glance {
    head: Option<EventId>,
    log: Option<String>,
    projects: Vec<Project>,
    agents: Vec<Agent>,
    mail: Numbers,
    last_snapshot_at: Option<Time>,
    notices: Vec<Notice>,
}

fn glance(view: View<'_>) -> Result<Glance, StoreError> {
    let newest = snapshots::newest(view, SnapshotKind::Daily)?.map(|snapshot| snapshot.state);
    let failed = matches!(newest, Some(SnapshotState::Failed { .. }));
    let taken_at = snapshots::taken_at(view)?.map(|at| Time::from_millis(at.0));
    let since = Timestamp(clock::wall().0 - NOTICE_DAYS * 86_400_000);
    let mut notices = Vec::new();
    for kind in NOTICES.into_iter().filter(|&kind| kind != FAILED || failed) {
        let filter = Filter { kind: Some(kind.to_owned()), ..Filter::default() };
        let rows = events::newest(view, 1, &filter)?;
        notices.extend(rows.into_iter().filter(|row| row.at >= since).map(say_notice));
    }
    Ok(Glance {
        head: Some(events::head(view)?.id),
        log: logs::current(view)?.map(|log| log.to_string()),
        projects: projects::all(view)?.iter().map(crate::http::projects::say).collect(),
        agents: all_agents(view)?,
        mail: messages::numbers(view)?,
        last_snapshot_at: taken_at,
        notices,
    })
}

fn all_agents(view: View<'_>) -> Result<Vec<Agent>, StoreError> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let page = agents::page(view, None, after, AGENTS_PAGE)?;
        let Some(last) = page.last() else { return Ok(all) };
        after = Some(last.id);
        for agent in &page {
            all.push(crate::http::agents::say_in(view, agent)?);
        }
    }
}

/// Returns an event in words for a person.
fn say_notice(row: Row) -> Notice {
    let data: serde_json::Value = serde_json::from_str(&row.data).unwrap_or_default();
    let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
    let said = match row.kind.as_str() {
        "store.repaired" => format!(
            "the store was damaged ({}) and mended from {}: {} events kept, {} known to be missing. \
             The damaged file is at {}",
            text("what_was_wrong"),
            text("source"),
            data["events_kept"],
            data["events_missing"],
            text("kept_at")
        ),
        "store.restored" => format!("the store was restored from {}", text("from")),
        _ => format!("a snapshot could not be taken: {}", text("why")),
    };
    Notice { at: Time::from_millis(row.at.0), kind: row.kind, text: said }
}

pub(crate) async fn stop(State(app): State<Arc<App>>) -> (StatusCode, Json<Stopping>) {
    // If the place is taken, somebody has asked already.
    let _ = app.ways_out.stop.try_send(());
    (StatusCode::ACCEPTED, Json(Stopping { pid: app.facts.pid }))
}
