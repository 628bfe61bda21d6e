//! One turn of the loop: hear all that waits, plan for what it touched, and store both at once.
//!
//! The kernel keeps nothing in memory that is not in the store. A crash therefore loses nothing but
//! actions, and those are planned again.

use std::collections::BTreeSet;
use std::time::Duration;

use cmux_core::event::{Event, What};
use cmux_core::id::{EventId, LogId, NewIds};
use cmux_core::plan::doors::CLEAR_MAX;
use cmux_core::plan::payloads::PRUNE_MAX;
use cmux_core::plan::{self, Action, Plan, Record, Subject};
use cmux_core::report::{Answer, Refused, Report};
use cmux_core::restart::RestartPolicy;
use cmux_core::settings::StoreSettings;
use cmux_core::snapshot::SnapshotKind;
use cmux_core::time::Timestamp;
use cmux_store::{
    Store, StoreError, Tx, View, archive, deliveries, hooks, links, logs, messages, payloads,
    projects, runs, sessions, snapshots, wake, webhooks,
};

use crate::hear::{agents, hear, mail, turns};
use crate::moments;

/// The most subjects that are planned for in one turn because their time has come.
const DUE_MAX: u32 = 256;

/// How long a subject that could not be planned for is left alone.
const LEFT_ALONE: Duration = Duration::from_mins(1);

/// The one writer of the store.
#[derive(Debug)]
pub struct Kernel {
    store: Store,
    settings: StoreSettings,
    /// The first report of this life, until it is stored: it has everything planned for.
    start: Option<Report>,
}

/// What came of a turn. All of it is on the disk.
#[derive(Debug)]
pub struct Turn {
    /// What to answer to each report, in their order.
    pub answers: Vec<Result<Answer, Denied>>,
    pub actions: Vec<Action>,
    /// When something is due again.
    pub wake_at: Option<Timestamp>,
    /// What went wrong with a subject and was left alone.
    pub left: Vec<(Subject, String)>,
}

/// Why a report was not taken. Nothing of it was stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The store did not take its rows, for a reason that concerns it alone.
    #[error("it could not be stored: {0}")]
    Unstored(String),
    #[error("there is no room left on the disk")]
    Full,
    /// The store failed as a whole, and the daemon is about to start again.
    #[error("the store failed: {0}")]
    Broken(String),
    #[error("the daemon is stopping")]
    Stopping,
    #[error("too much is waiting already")]
    Busy,
}

impl Kernel {
    /// Wakes on `store`. The first turn that is stored begins with `start`.
    pub fn new(store: Store, settings: StoreSettings, start: Report) -> Kernel {
        Kernel { store, settings, start: Some(start) }
    }

    /// Returns the newest event, and when it was written if there is one.
    pub fn head(&self) -> (EventId, Option<Timestamp>) {
        (self.store.head().id, self.store.head().at)
    }

    pub fn log(&self) -> LogId {
        self.store.log()
    }

    /// Takes all of `reports` and what is due at `now` into one commit.
    pub fn turn(
        &mut self,
        reports: &[Report],
        now: Timestamp,
        ids: &mut dyn NewIds,
    ) -> Result<Turn, StoreError> {
        let (settings, start) = (self.settings, &self.start);
        let mut expires = false;
        let turn = self.store.quick_turn(|tx| {
            let mut answers = Vec::with_capacity(reports.len());
            let (mut touched, mut actions) = (BTreeSet::new(), Vec::new());
            if let Some(start) = start {
                touched.extend(hear(tx, start, now, ids)?.touched);
            }
            for report in reports {
                let heard = tx.part(|tx| hear(tx, report, now, ids))?;
                answers.push(match heard {
                    Ok(heard) => {
                        touched.extend(heard.touched);
                        actions.extend(heard.actions);
                        heard.answer.map_err(Denied::Refused)
                    }
                    Err(error) => Err(Denied::Unstored(error.to_string())),
                });
            }
            touched.extend(wake::due(tx.view(), now, DUE_MAX)?);
            let mut turn = Turn { answers, actions, wake_at: None, left: Vec::new() };
            for subject in touched {
                let planned = tx.part(|tx| act(tx, &subject, &settings, now, ids))?;
                match planned {
                    Ok(acts) => {
                        turn.actions.extend(acts.actions);
                        expires |= acts.expires;
                    }
                    Err(error) => {
                        wake::set(tx, &subject, Some(now + LEFT_ALONE))?;
                        turn.left.push((subject, error.to_string()));
                    }
                }
            }
            turn.wake_at = wake::next(tx.view())?;
            moments::before(reports, expires);
            Ok(turn)
        })?;
        moments::after(reports, expires);
        self.start = None;
        Ok(turn)
    }

    /// Keeps the write-ahead log from growing without end.
    pub fn shorten(&mut self) -> Result<(), StoreError> {
        self.store.shorten()
    }

    /// Leaves the files as they are when the store is closed: they failed, or are damaged.
    pub fn abandon(&self) {
        self.store.abandon();
    }

    /// Moves what was written into the database itself, as far as readers let it.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        self.store.checkpoint()
    }

    /// Makes every commit fail from now on, for tests of a disk that does not take it.
    pub fn refuse_commits(&mut self, refuse: bool) -> Result<(), StoreError> {
        self.store.refuse_commits(refuse)
    }
}

/// What a plan came to.
#[derive(Debug, Default)]
struct Acts {
    /// What to do once its records are on the disk.
    actions: Vec<Action>,
    /// Whether the time of a message is over.
    expires: bool,
}

/// Plans for `subject`, stores the plan's records, and returns what to do once they are on the disk.
fn act(
    tx: &mut Tx<'_>,
    subject: &Subject,
    settings: &StoreSettings,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Acts, StoreError> {
    let plan = plan_for(tx, subject, settings, now, ids)?;
    wake::set(tx, subject, plan.wake_at)?;
    let mut acts = Acts::default();
    for step in plan.steps {
        if let Some(record) = step.record {
            acts.expires |= matches!(record, Record::Message(_));
            store(tx, record, now, ids)?;
        }
        if let Some(event) = step.event {
            tx.append(&event, now)?;
        }
        acts.actions.extend(step.action);
    }
    Ok(acts)
}

fn store(
    tx: &mut Tx<'_>,
    record: Record,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<(), StoreError> {
    match record {
        Record::Agent(agent) => agents::remember(tx, &agent, now, ids)?,
        Record::Project(project) => projects::save(tx, &project)?,
        Record::Snapshot(snapshot) => snapshots::save(tx, &snapshot)?,
        Record::LogTrimmed { through } => archive::trim(tx, through)?,
        Record::PayloadsPruned { before } => {
            let rows = payloads::prune(tx, before, PRUNE_MAX)?;
            tx.append(&Event::own(What::PayloadsPruned { rows }), now)?;
        }
        Record::LinksCleared { before } => drop(links::prune(tx, before, CLEAR_MAX)?),
        Record::SessionsCleared { before } => drop(sessions::prune(tx, before, CLEAR_MAX)?),
        Record::WebhooksCleared { before } => drop(webhooks::prune(tx, before, CLEAR_MAX)?),
        Record::HooksCleared { before } => drop(hooks::prune(tx, before, CLEAR_MAX)?),
        Record::Message(message) => messages::save(tx, &message, now)?,
        Record::Notice(new) => mail::notify(tx, &new, None, now, ids)?,
        Record::MessagesCleared { before } => {
            messages::prune(tx, before, CLEAR_MAX)?;
            deliveries::prune(tx, before, CLEAR_MAX)?;
        }
        Record::TurnOver(turn) => {
            cmux_store::turns::save(tx, &turn)?;
            cmux_store::agents::leave_turn(tx, turn.agent, turn.id)?;
        }
        Record::TurnsCleared { before } => {
            cmux_store::turns::prune(tx, before, CLEAR_MAX)?;
            cmux_store::usage::prune(tx, before, CLEAR_MAX)?;
        }
        Record::RunTokensCleared { before } => drop(runs::prune(tx, before, CLEAR_MAX)?),
    }
    Ok(())
}

fn plan_for(
    tx: &Tx<'_>,
    subject: &Subject,
    settings: &StoreSettings,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Plan, StoreError> {
    match subject {
        Subject::Daemon => plan_for_daemon(tx.view(), settings, now, ids),
        Subject::Project(id) => {
            let project = projects::find(tx.view(), id)?;
            Ok(project.map_or_else(Plan::default, |it| plan::projects::plan(&it, now)))
        }
        Subject::Agent(id) => {
            let Some(agent) = cmux_store::agents::find(tx.view(), *id)? else {
                return Ok(Plan::default());
            };
            let life = plan::agents::plan(&agent, &RestartPolicy::default(), now, ids);
            let mail = plan::mail::plan(&agent, &mail::world(tx, *id, now)?, now);
            let turn = turns::open(tx.view(), &agent)?;
            let turn = turn.as_ref().map(|(turn, usage)| (turn, *usage));
            Ok(life.and(mail).and(plan::turns::plan(&agent, turn, now)))
        }
    }
}

fn plan_for_daemon(
    view: View<'_>,
    settings: &StoreSettings,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Plan, StoreError> {
    let last = snapshots::newest(view, SnapshotKind::Daily)?;
    let copies = plan::snapshots::World {
        last: last.as_ref(),
        store_since: logs::since(view)?,
        every: settings.snapshot_every,
    };
    let archives = plan::archives::World {
        archived: logs::checkpoint(view)?.map(|(event, _)| event),
        oldest: archive::oldest(view)?,
    };
    let payloads =
        plan::payloads::World { oldest: payloads::oldest(view)?, keep: settings.payloads_keep };
    let doors = plan::doors::World {
        link: links::oldest(view)?,
        session: sessions::oldest(view)?,
        webhook: webhooks::oldest(view)?,
        hook: hooks::oldest(view)?,
        run: runs::oldest(view)?,
        message: oldest_mail(view)?,
        turn: oldest_turn(view)?,
    };
    Ok(plan::snapshots::plan(copies, now, ids)
        .and(plan::archives::plan(archives, now))
        .and(plan::payloads::plan(payloads, now))
        .and(plan::doors::plan(doors, now)))
}

/// Returns when the turn began, or it was noted what an answer took, that did so first.
fn oldest_turn(view: View<'_>) -> Result<Option<Timestamp>, StoreError> {
    let noted = [cmux_store::turns::oldest(view)?, cmux_store::usage::oldest(view)?];
    Ok(noted.into_iter().flatten().min())
}

/// Returns when the message or the delivery came to its end that did so first.
fn oldest_mail(view: View<'_>) -> Result<Option<Timestamp>, StoreError> {
    let ends = [messages::oldest_over(view)?, deliveries::oldest_settled(view)?];
    Ok(ends.into_iter().flatten().min())
}
