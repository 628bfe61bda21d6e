//! Kills cmux at every step, loses every report, delays and drops every action, refuses every commit,
//! and sees it recover.
//!
//! The same short story is told again and again: projects are added, a folder goes and comes back, a
//! project is forgotten, copies of the store are taken, a script and a browser are let in, webhooks are
//! delivered, and an agent lives, reads its mail, dies, comes back and is stopped. In each telling one thing goes wrong,
//! one thing later than in the telling before, until the story ends before anything could.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agent;
mod doors;
mod mail;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cmux_core::digest::Digest;
use cmux_core::event::Actor;
use cmux_core::id::{EventId, LogId, NewIds};
use cmux_core::plan::Action;
use cmux_core::project::{Found, Look, ProjectId};
use cmux_core::report::{Answer, Ask, Report};
use cmux_core::settings::{Settings, StoreSettings};
use cmux_core::snapshot::{Copied, RETRY_AFTER, SnapshotKind, SnapshotState};
use cmux_core::time::Timestamp;
use cmux_daemon::kernel::{Denied, Kernel};
use cmux_store::events::{self, Filter, Row};
use cmux_store::{Reader, StoreError, chain, projects, repair, snapshots};
use tempfile::TempDir;
use ulid::Ulid;

use crate::agent::Lives;
use crate::doors::{create_token, deliver, follow};
use crate::mail::Desk;

/// How long the story is, in seconds: longer than a copy that was lost is waited for.
const END_S: i64 = 3_000;

/// How long a look and a copy take.
const LAG: Duration = Duration::from_secs(2);

/// How long one takes that comes too late.
const LATE: Duration = Duration::from_secs(45);

/// How often a copy of the store is due.
const SNAPSHOT_EVERY: Duration = Duration::from_secs(400);

#[test]
fn nothing_is_done_twice_while_nothing_goes_wrong() {
    let world = tell(Fault::None);
    assert_eq!(world.copies, 7);
    assert!(world.turns < 200, "it turned {} times", world.turns);
}

#[test]
fn it_recovers_from_a_crash_at_any_moment() {
    assert!(tell_all(Fault::CrashAt) >= 100);
}

#[test]
fn it_recovers_from_the_loss_of_any_report() {
    assert!(tell_all(Fault::LoseReport) >= 15);
}

#[test]
fn it_recovers_from_the_loss_of_any_action() {
    assert!(tell_all(Fault::LoseAction) >= 15);
}

#[test]
fn it_recovers_from_any_action_that_comes_too_late() {
    assert!(tell_all(Fault::DelayAction) >= 15);
}

#[test]
fn it_recovers_from_any_commit_that_the_disk_does_not_take() {
    assert!(tell_all(Fault::RefuseCommit) >= 30);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    CrashAt(usize),
    LoseReport(usize),
    LoseAction(usize),
    DelayAction(usize),
    RefuseCommit(usize),
}

/// Tells the story once for each place the fault can strike, and returns how many there are.
fn tell_all(fault: impl Fn(usize) -> Fault) -> usize {
    (1..).take_while(|&n| tell(fault(n)).went_wrong).count()
}

/// Tells the story with one fault, and checks that it ends well.
fn tell(fault: Fault) -> World {
    let mut world = World::new(fault);
    let mut life = None;
    for second in 0..END_S {
        let now = Timestamp(second * 1_000);
        world.happen(second);
        world.pass_to(now);
        // A crash ends this life, and the next second begins another on the same file.
        if world.live_through(&mut life, now).is_err() {
            life = None;
        }
    }
    drop(life);
    world.check_all_is_well();
    world
}

/// A world in which things take their time and one thing goes wrong.
struct World {
    fault: Fault,
    went_wrong: bool,
    folder: TempDir,
    now: Timestamp,
    folders: BTreeSet<String>,
    /// What people want and have no answer to yet: they ask again until they have one.
    wanted: Vec<Ask>,
    answered: Vec<(Ask, Result<Answer, Denied>)>,
    /// What is on its way, and when it happens.
    ahead: Vec<(Timestamp, Happening)>,
    news: Vec<Report>,
    wake_at: Option<Timestamp>,
    moments: usize,
    reports: usize,
    actions: usize,
    commits: usize,
    turns: usize,
    copies: usize,
    lives: Lives,
    desk: Desk,
    ids: Ids,
}

/// The end of a life.
struct Crash;

#[derive(Clone)]
enum Happening {
    Act(Action),
    News(Box<Report>),
}

/// Names things by counting.
#[derive(Clone, Copy)]
struct Ids(u128);

impl NewIds for Ids {
    fn ulid(&mut self) -> Ulid {
        self.0 += 1;
        Ulid::from(self.0)
    }
}

impl World {
    fn new(fault: Fault) -> World {
        World {
            fault,
            went_wrong: false,
            folder: folder(),
            now: Timestamp(0),
            folders: ["/a".to_owned(), "/b".to_owned()].into(),
            wanted: Vec::new(),
            answered: Vec::new(),
            ahead: Vec::new(),
            news: Vec::new(),
            wake_at: None,
            moments: 0,
            reports: 0,
            actions: 0,
            commits: 0,
            turns: 0,
            copies: 0,
            lives: Lives::default(),
            desk: Desk::default(),
            ids: Ids(1_000),
        }
    }

    /// What people and the world do of their own accord.
    fn happen(&mut self, second: i64) {
        self.happen_to_mail(second);
        let add = |root: &str| Ask::AddProject { root: root.to_owned(), name: None };
        match second {
            5 => self.wanted.push(add("/a")),
            6 => self.wanted.push(add("/b")),
            7 => self.wanted.push(add("not absolute")),
            10 => self.wanted.push(create_token()),
            11 => self.wanted.push(Ask::MakeLink { secret: Digest::of(b"link") }),
            13 => self.wanted.push(follow("browser")),
            15 => self.wanted.push(deliver("1", "body")),
            // The same, by another name; and another one by the same.
            17 => self.wanted.extend([deliver("2", "body"), deliver("1", "other")]),
            20 => self.wanted.push(follow("thief")),
            100 => assert!(self.folders.remove("/a")),
            250 => assert!(self.folders.insert("/a".to_owned())),
            300 => self.wanted.push(Ask::RemoveProject { id: ProjectId::of("/b") }),
            // From here on there are only copies to be taken.
            430 => self.wanted.push(Ask::RemoveProject { id: ProjectId::of("/a") }),
            _ => self.happen_to_agent(second),
        }
    }

    /// Lives through one second: hears what is new, does what is due, until there is nothing more.
    fn live_through(&mut self, life: &mut Option<Kernel>, now: Timestamp) -> Result<(), Crash> {
        let is_due = self.wake_at.is_none_or(|at| at <= now);
        if life.is_some() && !is_due && self.news.is_empty() && self.wanted.is_empty() {
            return Ok(());
        }
        let mut reports: Vec<Report> = self.news.drain(..).collect();
        let kernel = match life {
            Some(kernel) => kernel,
            None => life.insert(self.awaken(now)?),
        };
        let asked = self.wanted.clone();
        reports.extend(
            asked.iter().map(|ask| Report::Asked { actor: Actor::Operator, ask: ask.clone() }),
        );
        self.moment()?;
        self.commits += 1;
        kernel.refuse_commits(self.strikes(Fault::RefuseCommit(self.commits))).unwrap();
        self.turns += 1;
        let turned = kernel.turn(&reports, now, &mut self.ids);
        kernel.refuse_commits(false).unwrap();
        let turn = match turned {
            Ok(turn) => turn,
            // Nothing was stored: the reports are lost, and whoever asked asks again.
            Err(StoreError::Sqlite(_)) => {
                self.wake_at = Some(now + Duration::from_secs(1));
                return Ok(());
            }
            Err(error) => panic!("{:?}: {error}", self.fault),
        };
        assert_eq!(turn.left, [], "{:?}", self.fault);
        self.wake_at = turn.wake_at;
        self.moment()?;
        let answers = turn.answers.into_iter().skip(reports.len() - asked.len());
        self.answered.extend(asked.into_iter().zip(answers));
        self.wanted.clear();
        for action in turn.actions {
            self.moment()?;
            self.check_it_is_stored(&action);
            self.hand_out(action);
        }
        self.moment()
    }

    fn awaken(&mut self, now: Timestamp) -> Result<Kernel, Crash> {
        self.moment()?;
        let log = LogId::new(self.ids.ulid());
        let opened = repair::open(&self.database(), self.folder.path(), log, now).unwrap();
        assert_eq!(opened.news, [], "{:?}", self.fault);
        self.moment()?;
        Ok(Kernel::new(opened.store, settings(), started()))
    }

    /// Nothing is done before its record can be read from the disk.
    fn check_it_is_stored(&self, action: &Action) {
        let stored = self.read(|view| match action {
            Action::LookAtProject { project, .. } => {
                let look = projects::find(view, project)?.map(|project| project.look);
                Ok(matches!(look, Some(Look::Underway { .. })))
            }
            Action::TakeSnapshot { snapshot, .. } => {
                let state = snapshots::find(view, *snapshot)?.map(|snapshot| snapshot.state);
                Ok(matches!(state, Some(SnapshotState::Underway { .. })))
            }
            Action::LaunchAgent { agent, run } => agent::is_in(view, agent.id, *run, "launching"),
            Action::InterruptAgent { .. }
            | Action::OfferMail { .. }
            | Action::Deliver { .. }
            | Action::SettleDelivery { .. }
            | Action::Recall { .. } => mail::is_stored(view, action),
            Action::ForgetAgent { agent } => {
                Ok(cmux_store::agents::find(view, agent.id)?.is_none())
            }
            Action::EndAgent { agent, run } => agent::is_in(view, agent.id, *run, "ending"),
            Action::ClearRun { agent, run } => agent::is_in(view, agent.id, *run, "ended"),
        });
        assert!(stored, "{:?}: {action:?} was not stored first", self.fault);
    }

    fn hand_out(&mut self, action: Action) {
        self.actions += 1;
        if self.strikes(Fault::LoseAction(self.actions)) {
            return;
        }
        let late = self.strikes(Fault::DelayAction(self.actions));
        let at = self.now + if late { LATE } else { Duration::ZERO };
        self.ahead.push((at, Happening::Act(action)));
    }

    fn pass_to(&mut self, now: Timestamp) {
        self.now = now;
        let due: Vec<(Timestamp, Happening)> =
            self.ahead.extract_if(.., |(at, _)| *at <= now).collect();
        for (_, happening) in due {
            match happening {
                Happening::Act(action) => self.act(action),
                Happening::News(report) => self.news.push(*report),
            }
        }
    }

    fn act(&mut self, action: Action) {
        let reports = match action {
            Action::LookAtProject { project, root } => {
                let there = self.folders.contains(&root);
                let found = if there { Found::Folder } else { Found::Nothing };
                vec![Report::ProjectLooked { project, found }]
            }
            Action::TakeSnapshot { snapshot, .. } => {
                self.copies += 1;
                let file = format!("copy {}", self.copies);
                let head = EventId(1);
                let copied = Copied { file, bytes: 1, sha256: String::new(), head };
                vec![Report::SnapshotDone { snapshot, outcome: Ok(copied) }]
            }
            Action::LaunchAgent { agent, run } => self.lives.launch(&agent, run, self.now),
            Action::InterruptAgent { .. } | Action::ForgetAgent { .. } => Vec::new(),
            Action::OfferMail { .. }
            | Action::Deliver { .. }
            | Action::SettleDelivery { .. }
            | Action::Recall { .. } => self.act_on_mail(action),
            Action::EndAgent { agent, run } => {
                self.desk.clear();
                self.lives.end(agent.id, run)
            }
            Action::ClearRun { agent, run } => self.lives.clear(agent.id, run),
        };
        self.report(reports);
    }

    /// Sends `reports` on their way, on which each may be lost.
    fn report(&mut self, reports: Vec<Report>) {
        for report in reports {
            self.reports += 1;
            if !self.strikes(Fault::LoseReport(self.reports)) {
                self.ahead.push((self.now + LAG, Happening::News(Box::new(report))));
            }
        }
    }

    /// A moment at which cmux may die.
    fn moment(&mut self) -> Result<(), Crash> {
        self.moments += 1;
        if self.strikes(Fault::CrashAt(self.moments)) { Err(Crash) } else { Ok(()) }
    }

    fn strikes(&mut self, fault: Fault) -> bool {
        let strikes = self.fault == fault;
        self.went_wrong |= strikes;
        strikes
    }

    fn check_all_is_well(&self) {
        let fault = self.fault;
        assert_eq!(self.wanted, [], "{fault:?}: somebody has no answer");
        self.check_projects();
        self.check_doors();
        self.check_agent();
        self.check_mail();
        self.check_copies();
        self.check_log();
    }

    fn check_projects(&self) {
        let fault = self.fault;
        assert_eq!(self.read(projects::all), [], "{fault:?}");
        let of_projects =
            |ask: &Ask| matches!(ask, Ask::AddProject { .. } | Ask::RemoveProject { .. });
        let answered = self.answered.iter().filter(|(ask, _)| of_projects(ask));
        let refusals = answered.filter(|(_, answer)| answer.is_err()).count();
        // Who asks again to forget what is forgotten is told so, and so is who leaves an agent without it.
        assert!((2..=3).contains(&refusals), "{fault:?}: {:?}", self.answered);
        // Asking twice is asking once: who adds what is there is given it.
        let is_add =
            |ask: &Ask| matches!(ask, Ask::AddProject { root, .. } if root.starts_with('/'));
        let mut added = self.answered.iter().filter(|(ask, _)| is_add(ask));
        assert!(added.all(|(_, answer)| answer.is_ok()), "{fault:?}: {:?}", self.answered);
        for (kind, times) in [
            ("project.added", 2),
            ("project.removed", 2),
            ("project.missing", 1),
            ("project.found", 1),
        ] {
            assert_eq!(self.rows(kind).len(), times, "{fault:?}: {kind}");
        }
    }

    fn check_answer(&self, ask: &Ask, expected: &Result<Answer, Denied>) {
        let answers = self.answered.iter().filter(|(asked, _)| asked == ask);
        let answers: Vec<_> = answers.map(|(_, answer)| answer).collect();
        assert_eq!(answers, [expected], "{:?}: {ask:?}", self.fault);
    }

    /// A copy is never older than it may be, a lost one and its successor included.
    fn check_copies(&self) {
        let fault = self.fault;
        let newest = self.read(|view| snapshots::newest(view, SnapshotKind::Daily)).unwrap();
        let is_over = match newest.state {
            SnapshotState::Taken { .. } => true,
            SnapshotState::Underway { deadline } => deadline > self.now,
            SnapshotState::Failed { at, .. } => at + RETRY_AFTER > self.now,
        };
        assert!(is_over, "{fault:?}: {newest:?}");
        let least = match fault {
            Fault::None | Fault::DelayAction(_) => 7,
            // A copy that was lost is waited for half an hour, and then taken again.
            Fault::LoseReport(_) | Fault::LoseAction(_) | Fault::RefuseCommit(_) => 2,
            Fault::CrashAt(_) => 6,
        };
        assert!(self.rows("snapshot.taken").len() >= least, "{fault:?}");
    }

    fn check_log(&self) {
        let fault = self.fault;
        let rows = self.read(|view| events::after(view, EventId(0), 1000, &Filter::default()));
        let ids: Vec<i64> = rows.iter().map(|row| row.id.0).collect();
        let count = i64::try_from(ids.len()).unwrap();
        assert_eq!(ids, (1..=count).collect::<Vec<i64>>(), "{fault:?}");
        assert!(rows.is_sorted_by_key(|row| row.at), "{fault:?}: time went back");
        let walk = self.read(|view| chain::verify(view, &[]));
        assert_eq!(walk.misfit, None, "{fault:?}");
    }

    fn rows(&self, kind: &str) -> Vec<Row> {
        let filter = Filter { kind: Some(kind.to_owned()), ..Filter::default() };
        self.read(|view| events::after(view, EventId(0), 1000, &filter))
    }

    fn read<T>(&self, work: impl FnOnce(cmux_store::View<'_>) -> Result<T, StoreError>) -> T {
        Reader::open(&self.database()).unwrap().read(work).unwrap()
    }

    fn database(&self) -> PathBuf {
        Path::new(self.folder.path()).join("cmux.db")
    }
}

/// Returns a folder in memory, if that can be: it is the process that dies here, and not the disk.
fn folder() -> TempDir {
    let (mut folder, memory) = (tempfile::Builder::new(), Path::new("/dev/shm"));
    let folder = folder.prefix("crashes-");
    let folder = if memory.is_dir() { folder.tempdir_in(memory) } else { folder.tempdir() };
    folder.unwrap()
}

fn started() -> Report {
    Report::Started { version: "1".to_owned(), pid: 1, guarded: false, news: Vec::new() }
}

fn settings() -> StoreSettings {
    StoreSettings { snapshot_every: SNAPSHOT_EVERY, ..Settings::default().store }
}
