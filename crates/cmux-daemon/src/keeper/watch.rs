//! Watching over one life of an agent: what its witnesses say, and what that is taken to mean.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cmux_core::agent::{Agent, Doing, Pid, Place, Sighting};
use cmux_core::clock::Clock;
use cmux_core::id::{AgentId, RunId, TurnId};
use cmux_core::kind::{Channel, Unconfirmed, Witness};
use cmux_core::limit::{self, Limit};
use cmux_core::look::Answered;
use cmux_core::phase::Phase;
use cmux_core::plan::agents::START_WITHIN;
use cmux_core::project::ProjectId;
use cmux_core::screen::{Screen, Seen, Sight};
use cmux_core::time::Timestamp;
use cmux_core::witness::{SETTLE, Said, Statements, judge};
use cmux_drivers::clock;
use cmux_drivers::kinds;
use cmux_drivers::process::{Ending, Process, children};
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::pane::{Life, Pane, PaneId};
use cmux_drivers::tmux::screen::{self, Colours};
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};

use super::desk::Desk;
use super::house::{ANSWER_WITHIN, House};
use super::mail::Mail;
use super::prepare::{UNSAID, mail_of};
use super::starting;
use super::status::Status;
use super::telling::{doing_of, how, screen_of, told};
use super::usage::Ledger;

/// How often the screen is looked at while an agent starts: soon at first, and then less and less often.
const LOOK_FIRST: Duration = Duration::from_millis(25);
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long what a CLI left behind may keep its launcher before the agent counts as ended.
const LEFT_WITHIN: Duration = Duration::from_secs(15);

/// How often it is in a person's server, where each look is a process.
const VISIT_EVERY: Duration = Duration::from_secs(2);

/// How often tmux is asked how a program ended, and how long apart.
const ASKED_MAX: u32 = 10;
const ASKED_APART: Duration = Duration::from_millis(100);

/// How many lines that have scrolled off the screen may have been the last.
const TOLD_HISTORY: u32 = 20;

/// One life of an agent that is watched over.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) agent: AgentId,
    pub(super) run: RunId,
    pub(super) house: House,
    pub(super) pane: PaneId,
    /// What was started in the pane: the launcher, or the CLI itself if a person started it.
    pub(super) process: Process,
    /// The process that tmux knows the pane by: a person may have started the CLI from a shell.
    pub(super) pane_pid: u32,
    pub(super) is_adopted: bool,
    /// By which its end is heard of, if it can be.
    ending: Option<Ending>,
    pub(super) kind: Arc<kinds::Known>,
    /// Where what is written for this life lies.
    pub(super) folder: PathBuf,
    pub(super) project: ProjectId,
    /// The folder that it works in.
    pub(super) cwd: String,
    /// Where what is kept for its agent lies.
    pub(super) state: PathBuf,
    /// Where the CLI itself says how it is.
    status: Status,
    pub(super) mail: Mail,
    /// How messages get to it, and what is done with one that nobody confirms.
    pub(super) channel: Channel,
    pub(super) unconfirmed: Unconfirmed,
    /// The provider's name for the conversation, as the kernel knows it.
    pub(super) session: Option<String>,
    /// What the CLI's first screen calls the conversation, until something is said in it: one in which nothing was
    /// said cannot be gone on with.
    named: Option<String>,
    /// By when it must have started, until it has.
    pub(super) starts_by: Option<Timestamp>,
    pub(super) statements: Statements,
    /// What the kernel was last told, or has stored.
    pub(super) told: Option<Doing>,
    /// What its terminal was called at the last look.
    title: String,
    /// When its program had last written something, at the last look.
    active_s: Option<u64>,
    pub(super) answered: Option<Answered>,
    pub(super) keys_pressed: u32,
    /// How often its screen was looked at.
    looks: u32,
    /// What it is to be told first, if that could not be done when it was launched.
    pub(super) unsaid: Option<String>,
    pub(super) look_at: Option<Instant>,
    /// The CLI itself, below the launcher, and since when it has been gone without it.
    cli: Option<Process>,
    cli_gone_at: Option<Instant>,
    /// The limit that its screen tells of.
    limit: Limit,
    clock: Clock,
    /// How far it was read what it uses.
    pub(super) ledger: Ledger,
    /// The turn that it is in, as the kernel knows it.
    turn: Option<TurnId>,
    /// Whether it was told to end.
    pub(super) is_ending: bool,
}

/// What is known of how an agent is.
#[derive(Debug)]
pub(crate) struct Known {
    /// What each witness said last, in the order in which they are believed.
    pub(crate) said: Vec<Said>,
    pub(crate) decided: Option<Said>,
    /// The number of the process that lives, and when that was known.
    pub(crate) process: (u32, Timestamp),
}

impl Watch {
    pub(super) fn new(
        desk: &Desk,
        agent: &Agent,
        run: RunId,
        house: House,
        pane: PaneId,
        process: Pid,
    ) -> Result<Watch, String> {
        let starts_by = match agent.phase {
            Phase::Starting { deadline } => Some(deadline),
            // It may be a dialog from before its prompt.
            Phase::Asking => Some(desk.now() + START_WITHIN),
            Phase::Offline
            | Phase::Idle
            | Phase::Busy
            | Phase::Limited { .. }
            | Phase::Down { .. }
            | Phase::Failed => None,
        };
        let (kind, folder) = (desk.kind(&agent.kind)?, desk.home.run(&run.to_string()));
        let state = desk.home.agent_state(&agent.id.to_string());
        let status = Status::of(&kind.manifest, &folder, state.clone());
        let (channel, unconfirmed) = mail_of(&folder, agent.adopted);
        let unsaid = std::fs::read_to_string(folder.join(UNSAID)).ok();
        let process = Process { pid: process.pid, start: process.start };
        let ending = process.ending().inspect_err(|error| {
            warn!(%error, agent = %agent.id, "its process cannot be watched; surveys tell of it");
        });
        let ending = ending.ok();
        Ok(Watch {
            agent: agent.id,
            run,
            house,
            pane,
            pane_pid: process.pid,
            is_adopted: agent.adopted,
            process,
            ending,
            kind,
            folder,
            project: agent.project.clone(),
            cwd: agent.setup.cwd.clone(),
            state,
            status,
            mail: Mail::default(),
            channel,
            unconfirmed,
            session: agent.session.clone(),
            named: None,
            starts_by,
            statements: Statements::default(),
            told: doing_of(agent),
            title: String::new(),
            active_s: None,
            answered: None,
            keys_pressed: 0,
            looks: 0,
            unsaid,
            look_at: Some(Instant::now()),
            cli: None,
            cli_gone_at: None,
            limit: Limit::default(),
            clock: desk.clock,
            ledger: Ledger::default(),
            turn: agent.talk.turn,
            is_ending: false,
        })
    }

    /// Takes note of the process that tmux knows the pane of an adopted agent by.
    pub(super) fn in_pane(&mut self, pane: &Pane) {
        if let Some(pid) = pane.pid.filter(|_| self.is_adopted) {
            self.pane_pid = pid;
        }
    }

    fn look_every(&self) -> Duration {
        if self.house.is_persons() { VISIT_EVERY } else { LOOK_EVERY }
    }

    pub(super) fn place(&self) -> Place {
        let server = self.house.socket().display().to_string();
        Place { server, pane: self.pane.to_string() }
    }

    pub(super) fn pid(&self) -> Pid {
        Pid { pid: self.process.pid, start: self.process.start }
    }

    /// Returns the time by the clock that the kernel lives by.
    pub(super) fn now(&self) -> Timestamp {
        let mut clock = self.clock;
        clock.read(clock::read()).0
    }

    /// Returns what is known of how the agent is.
    pub(super) fn known(&self) -> Known {
        let (now, ranking) = (self.now(), &self.kind.manifest.witnesses);
        let said = ranking.iter().filter_map(|witness| self.statements.of(*witness));
        Known {
            said: said.cloned().collect(),
            decided: judge(ranking, &self.statements, now).cloned(),
            process: (self.process.pid, now),
        }
    }

    /// Waits until the process has ended.
    pub(super) async fn ended(&self) {
        let is_heard_of = match &self.ending {
            Some(ending) => ending.wait().await.is_ok(),
            None => false,
        };
        if !is_heard_of {
            std::future::pending::<()>().await;
        }
    }

    /// Returns when to look without having been told that there is something to see.
    pub(super) fn look_at(&self) -> Option<Instant> {
        self.look_at
    }

    /// Takes note of how its pane is, and looks at the screen if something was written to it.
    pub(super) async fn seen(&mut self, pane: &Pane, desk: &Desk) {
        if !self.is_it(pane) || pane.life != Life::Running {
            return;
        }
        self.in_pane(pane);
        self.check_cli(desk);
        let is_quiet = self.active_s == Some(pane.active_s) && self.title == pane.title;
        if is_quiet && self.starts_by.is_none() && self.repeat() {
            self.ask_cli(desk);
            self.decide(desk);
            return;
        }
        // What is written in the same second as the look is seen at the next.
        let now_s = u64::try_from(clock::wall().0 / 1000).unwrap_or(0);
        let active_s = Some(pane.active_s).filter(|&active_s| active_s + 1 < now_s);
        self.active_s = None;
        if self.look(desk).await {
            self.active_s = active_s;
        }
    }

    /// Tells that the CLI has ended, if only what it left behind keeps its launcher.
    fn check_cli(&mut self, desk: &Desk) {
        if self.starts_by.is_some() || self.is_adopted {
            return;
        }
        let cli = self.cli.or_else(|| children(self.process.pid).first().copied());
        self.cli = cli;
        if cli.is_none_or(|cli| cli.is_alive()) || !self.process.is_alive() {
            self.cli_gone_at = None;
            return;
        }
        let gone_at = *self.cli_gone_at.get_or_insert_with(Instant::now);
        if gone_at.elapsed() > LEFT_WITHIN {
            let how = "it has ended, and something that it left behind does not".to_owned();
            desk.see(self.agent, self.run, Sighting::Ended { how });
        }
    }

    /// Hears what a look at the screen says. What it does not say again is taken back.
    pub(super) fn hear(&mut self, sight: &Sight, now: Timestamp) {
        self.statements.forget(Witness::Title);
        self.statements.forget(Witness::Screen);
        let Some(said) = Said::of_sight(sight, now) else { return };
        // One that comes up later is not answered: what an agent shows may look like it.
        let doing = match &sight.seen {
            Some(Seen::Dialog { name }) => {
                Doing::Asking { what: starting::asked(&self.kind.manifest.dialogs, name) }
            }
            Some(_) | None => self.limit.seen(said.doing, said.line.as_deref(), now),
        };
        self.statements.hear(Said { doing, ..said });
    }

    /// Says again what the screen said, as it is the same. Returns whether it said anything.
    fn repeat(&mut self) -> bool {
        let spoke = [Witness::Title, Witness::Screen].map(|witness| self.statements.of(witness));
        let Some(said) = spoke.into_iter().flatten().next().cloned() else { return false };
        let now = self.now();
        let doing = limit::held(said.doing, now);
        self.statements.hear(Said { at: now, doing, ..said });
        true
    }

    /// Asks the CLI itself how it is, where it says so.
    pub(super) fn ask_cli(&mut self, desk: &Desk) {
        let Some((said, session)) = self.status.read(self.process, self.now()) else { return };
        self.statements.hear(said);
        self.in_session(session, desk);
    }

    /// Reads from its first screen what it calls the conversation, if nothing else tells. What is found first
    /// counts: what is said later may look like it.
    fn read_session(&mut self, screen: &Screen) {
        let mark = self.kind.manifest.launch.session_after.as_ref();
        if let Some(mark) = mark.filter(|_| self.session.is_none() && self.named.is_none()) {
            self.named = screen.word_after(mark).map(ToOwned::to_owned);
        }
    }

    /// Tells the kernel what its first screen called the conversation: something was said in it.
    pub(super) fn goes_on(&mut self, desk: &Desk) {
        let named = self.named.take();
        self.in_session(named, desk);
    }

    /// Tells the kernel which conversation it is in, if that is news.
    fn in_session(&mut self, session: Option<String>, desk: &Desk) {
        if let Some(id) = session.filter(|id| self.session.as_ref() != Some(id)) {
            self.session = Some(id.clone());
            desk.see(self.agent, self.run, Sighting::Session { id });
        }
    }

    /// Compares what the kernel has stored with what is seen here, and tells it again if it differs. What
    /// hooks have told comes this way.
    pub(super) fn compare(&mut self, stored: &Agent, desk: &Desk) {
        if stored.live_life().is_none_or(|life| life.run != self.run) {
            return;
        }
        self.session.clone_from(&stored.session);
        let doing = doing_of(stored);
        let rank = self.kind.manifest.witnesses.iter().position(|it| *it == Witness::Hooks);
        let by_hooks = stored.word.filter(|word| rank == Some(usize::from(word.rank)));
        if let (Some(word), Some(doing)) = (by_hooks, doing.clone()) {
            let (witness, at) = (Witness::Hooks, word.at);
            self.statements.hear(Said { witness, doing, rule: None, line: None, at });
        }
        if matches!(doing, Some(Doing::AtPrompt | Doing::Working | Doing::Limited { .. })) {
            self.starts_by = None;
        }
        if self.told != doing || self.turn != stored.talk.turn {
            self.turn = stored.talk.turn;
            self.ledger.soon();
        }
        if self.told != doing && self.starts_by.is_none() {
            self.look_at = Some(Instant::now() + SETTLE);
        }
        self.told = doing;
        self.ask_cli(desk);
        self.decide(desk);
        self.nudge_mail();
    }

    /// Looks at the screen, and does what it asks for while the agent starts. Returns whether it was seen.
    pub(super) async fn look(&mut self, desk: &Desk) -> bool {
        let pause = LOOK_FIRST.saturating_mul(1 << self.looks.min(8)).min(self.look_every());
        self.looks += 1;
        self.look_at = self.starts_by.map(|_| Instant::now() + pause);
        let screen = match self.screen().await {
            Ok(screen) => screen,
            Err(error) => {
                debug!(%error, agent = %self.agent, "its screen was not seen");
                // The CLI may say how it is all the same.
                self.ask_cli(desk);
                self.decide(desk);
                return false;
            }
        };
        self.title.clone_from(&screen.title);
        let now = self.now();
        let sight = self.kind.manifest.eyes.look(&screen, now, clock::east_min());
        self.ask_cli(desk);
        let is_dialog = matches!(sight.seen, Some(Seen::Dialog { .. }));
        if !is_dialog && self.statements.stands(Witness::Status, now) {
            // Whoever says how it is has started, whatever its screen looks like.
            self.starts_by = None;
        }
        self.read_session(&screen);
        if let Some(starts_by) = self.starts_by {
            starting::start(self, &screen, &sight, starts_by, desk).await;
            return true;
        }
        self.hear(&sight, now);
        self.decide(desk);
        self.say_first(&sight, desk).await;
        true
    }

    /// Tells the kernel what the witnesses say, if that is news.
    pub(super) fn decide(&mut self, desk: &Desk) {
        let ranking = &self.kind.manifest.witnesses;
        let Some(said) = judge(ranking, &self.statements, self.now()) else { return };
        if self.told.as_ref() == Some(&said.doing) {
            return;
        }
        let rank = ranking.iter().position(|it| *it == said.witness);
        let rank = rank.and_then(|rank| u8::try_from(rank).ok()).unwrap_or(u8::MAX);
        self.tell(said.doing.clone(), rank, desk);
    }

    pub(super) fn tell(&mut self, doing: Doing, rank: u8, desk: &Desk) {
        if doing == Doing::Working {
            self.goes_on(desk);
        }
        self.told = Some(doing.clone());
        self.ledger.soon();
        desk.see(self.agent, self.run, Sighting::Doing { doing, rank });
    }

    /// Returns what is on the screen now.
    pub(super) async fn screen(&self) -> Result<Screen, TmuxError> {
        self.screen_after(0).await
    }

    /// Returns what is on the screen now, and so many lines that have scrolled off it.
    async fn screen_after(&self, history: u32) -> Result<Screen, TmuxError> {
        let control = self.house.control().await?;
        let seen = screen::capture(&control, self.pane, history, Colours::Without, ANSWER_WITHIN);
        let seen = seen.await?;
        Ok(screen_of(&seen))
    }

    /// Returns how it ended, with what was on its screen last if that was not wanted; nothing if its
    /// whole server is gone.
    pub(super) async fn how_it_ended(&self) -> Option<String> {
        if self.is_adopted {
            return Some(self.how_it_ended_there().await);
        }
        for _ in 0..ASKED_MAX {
            match self.house.panes().await {
                Ok(panes) => {
                    let Some(pane) = panes.iter().find(|it| self.is_it(it)) else {
                        return Some("its window is gone".to_owned());
                    };
                    if let Some(how) = how(&pane.life) {
                        return Some(self.with_screen(how).await);
                    }
                }
                Err(TmuxError::NoServer) => return None,
                Err(error) => debug!(%error, agent = %self.agent, "tmux did not tell how it ended"),
            }
            sleep(ASKED_APART).await;
        }
        Some(self.with_screen("it ended, and it is not known how".to_owned()).await)
    }

    fn is_it(&self, pane: &Pane) -> bool {
        pane.id == self.pane && pane.tags.as_ref().is_some_and(|tags| tags.run == self.run)
    }

    /// Returns how an adopted agent ended. Its pane may go on with the shell that it was started from.
    async fn how_it_ended_there(&self) -> String {
        let panes = self.house.panes().await.unwrap_or_default();
        match panes.iter().find(|it| it.id == self.pane).map(|pane| &pane.life) {
            Some(Life::Killed { signal }) => format!("it was ended by signal {signal}"),
            Some(life @ Life::Exited { .. }) => how(life).unwrap_or_default(),
            Some(Life::Running | Life::Ended) | None => "it ended".to_owned(),
        }
    }

    async fn with_screen(&self, how: String) -> String {
        if self.is_ending {
            return how;
        }
        // To say that it is dead, tmux scrolls the last words off the screen.
        match self.screen_after(TOLD_HISTORY).await.map(|screen| told(&screen)) {
            Ok(told) if !told.is_empty() => format!("{how}; on its screen was last: {told}"),
            Ok(_) | Err(_) => how,
        }
    }
}
