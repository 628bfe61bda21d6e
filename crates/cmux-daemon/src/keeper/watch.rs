//! Watching over one life of an agent: what its witnesses say, and what that is taken to mean.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cmux_core::agent::{Agent, Doing, Pid, Place, Sighting};
use cmux_core::id::{AgentId, RunId};
use cmux_core::kind::Witness;
use cmux_core::look::Answered;
use cmux_core::phase::Phase;
use cmux_core::project::ProjectId;
use cmux_core::screen::prompt::Composer;
use cmux_core::screen::{Screen, Seen, Sight};
use cmux_core::time::Timestamp;
use cmux_core::witness::{Said, Statements, judge};
use cmux_drivers::clock;
use cmux_drivers::kinds;
use cmux_drivers::manifest::Paste;
use cmux_drivers::private;
use cmux_drivers::process::Process;
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::guard::{self, Key, Outcome};
use cmux_drivers::tmux::pane::{Life, Pane, PaneId};
use cmux_drivers::tmux::screen::{self, Colours};
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};

use super::desk::Desk;
use super::house::{ANSWER_WITHIN, House};
use super::prepare::UNSAID;
use super::starting;
use super::status::Status;
use super::telling::{doing_of, how, told};

/// How often the screen is looked at while an agent starts.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long after a key its effect is looked for.
const LOOK_AFTER_KEY: Duration = Duration::from_millis(400);

/// How long a key may wait in a server that stands still.
const KEY_WITHIN: Duration = Duration::from_secs(3);

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
    /// What was started in the pane: the launcher.
    pub(super) process: Process,
    pub(super) kind: Arc<kinds::Known>,
    /// Where what is written for this life lies.
    pub(super) folder: PathBuf,
    pub(super) project: ProjectId,
    /// The folder that it works in.
    pub(super) cwd: String,
    /// Where the CLI itself says how it is.
    status: Status,
    /// The provider's name for the conversation, as the kernel knows it.
    session: Option<String>,
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
    keys_pressed: u32,
    /// What it is to be told first, if that could not be done when it was launched.
    unsaid: Option<String>,
    pub(super) look_at: Option<Instant>,
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
            Phase::Offline
            | Phase::Idle
            | Phase::Busy
            | Phase::Asking
            | Phase::Limited { .. }
            | Phase::Down { .. }
            | Phase::Failed => None,
        };
        let (kind, folder) = (desk.kind(&agent.kind)?, desk.home.run(&run.to_string()));
        let state = desk.home.agent_state(&agent.id.to_string());
        let status = Status::of(&kind.manifest, &folder, state);
        let unsaid = std::fs::read_to_string(folder.join(UNSAID)).ok();
        Ok(Watch {
            agent: agent.id,
            run,
            house,
            pane,
            process: Process { pid: process.pid, start: process.start },
            kind,
            folder,
            project: agent.project.clone(),
            cwd: agent.setup.cwd.clone(),
            status,
            session: agent.session.clone(),
            starts_by,
            statements: Statements::default(),
            told: doing_of(agent),
            title: String::new(),
            active_s: None,
            answered: None,
            keys_pressed: 0,
            unsaid,
            look_at: Some(Instant::now()),
            is_ending: false,
        })
    }

    pub(super) fn place(&self) -> Place {
        let server = self.house.socket().display().to_string();
        Place { server, pane: self.pane.to_string() }
    }

    pub(super) fn pid(&self) -> Pid {
        Pid { pid: self.process.pid, start: self.process.start }
    }

    /// Returns what is known of how the agent is.
    pub(super) fn known(&self) -> Known {
        let (now, ranking) = (clock::wall(), &self.kind.manifest.witnesses);
        let said = ranking.iter().filter_map(|witness| self.statements.of(*witness));
        Known {
            said: said.cloned().collect(),
            decided: judge(ranking, &self.statements, now).cloned(),
            process: (self.process.pid, now),
        }
    }

    /// Waits until the process has ended.
    pub(super) async fn ended(&self) {
        if let Err(error) = self.process.ended().await {
            warn!(%error, agent = %self.agent, "its process cannot be watched; surveys tell of it");
            std::future::pending::<()>().await;
        }
    }

    /// Returns when to look without having been told that there is something to see.
    pub(super) fn look_at(&self) -> Option<Instant> {
        self.look_at
    }

    /// Takes note of how its pane is, and looks at the screen if something was written to it.
    pub(super) async fn seen(&mut self, pane: &Pane, desk: &Desk) {
        if pane.id != self.pane || pane.life != Life::Running {
            return;
        }
        let is_quiet = self.active_s == Some(pane.active_s) && self.title == pane.title;
        if is_quiet && self.starts_by.is_none() && self.repeat() {
            self.ask_cli(desk);
            self.decide(desk);
            return;
        }
        // What is written in the same second as the look is seen at the next.
        let now_s = u64::try_from(clock::wall().0 / 1000).unwrap_or(0);
        self.active_s = Some(pane.active_s).filter(|&active_s| active_s + 1 < now_s);
        self.look(desk).await;
    }

    /// Hears what a look at the screen says. A title that says nothing more has taken back what it said.
    pub(super) fn hear(&mut self, sight: &Sight, now: Timestamp) {
        let said = Said::of_sight(sight, now);
        if said.as_ref().is_none_or(|said| said.witness != Witness::Title) {
            self.statements.forget(Witness::Title);
        }
        if let Some(said) = said {
            self.statements.hear(said);
        }
    }

    /// Says again what the screen said, as it is the same. Returns whether it said anything.
    fn repeat(&mut self) -> bool {
        // Whoever reads the title does not look at the screen.
        let spoke = [Witness::Title, Witness::Screen].map(|witness| self.statements.of(witness));
        let Some(said) = spoke.into_iter().flatten().next().cloned() else { return false };
        self.statements.hear(Said { at: clock::wall(), ..said });
        true
    }

    /// Asks the CLI itself how it is, where it says so.
    pub(super) fn ask_cli(&mut self, desk: &Desk) {
        let Some((said, session)) = self.status.read(self.process, clock::wall()) else { return };
        self.statements.hear(said);
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
        if self.told != doing && self.starts_by.is_none() {
            self.look_at = Some(Instant::now() + LOOK_AFTER_KEY);
        }
        self.told = doing;
        self.decide(desk);
    }

    /// Looks at the screen, and does what it asks for while the agent starts.
    pub(super) async fn look(&mut self, desk: &Desk) {
        self.look_at = self.starts_by.map(|_| Instant::now() + LOOK_EVERY);
        let screen = match self.screen().await {
            Ok(screen) => screen,
            Err(error) => {
                debug!(%error, agent = %self.agent, "its screen was not seen");
                return;
            }
        };
        self.title.clone_from(&screen.title);
        let now = clock::wall();
        let sight = self.kind.manifest.eyes.look(&screen, now, clock::east_min());
        if let Some(starts_by) = self.starts_by {
            starting::start(self, &screen, &sight, starts_by, desk).await;
            return;
        }
        self.hear(&sight, now);
        self.ask_cli(desk);
        self.decide(desk);
        self.say_first(&sight).await;
    }

    /// Says what is to be said first, once the agent is at its prompt with nothing in it.
    pub(super) async fn say_first(&mut self, sight: &Sight) {
        let is_free =
            sight.seen == Some(Seen::Idle) && !matches!(sight.composer, Composer::Holds(_));
        let Some(text) = self.unsaid.take_if(|_| is_free) else { return };
        // A CLI takes some first letters for a command of its own, or of a shell.
        let text = if text.starts_with(['/', '!']) { format!(" {text}") } else { text };
        if !self.say(&text, "first").await {
            warn!(agent = %self.agent, "it could not be told its task");
        }
        let _ = std::fs::remove_file(self.folder.join(UNSAID));
    }

    /// Pastes a text and submits it. Returns whether that was done.
    pub(super) async fn say(&mut self, text: &str, what: &str) -> bool {
        let file = self.folder.join(what);
        // Where each line would be submitted by itself, it is one line.
        let text = match self.kind.manifest.keys.paste {
            Paste::Bracketed => text.to_owned(),
            Paste::Plain => text.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        let is_text = |it: &char| !it.is_control() || matches!(it, '\n' | '\t');
        let text: String = text.chars().filter(is_text).collect();
        if let Err(error) = private::write(&file, text.as_bytes()) {
            warn!(%error, agent = %self.agent, "nothing can be said to it");
            return false;
        }
        let is_pasted = self.take(format!("{what}-paste"), guard::What::Paste { file }).await;
        if !is_pasted {
            return false;
        }
        let keys = &self.kind.manifest.keys;
        let (submit, pause) = (keys.submit.clone(), keys.submit_after_ms);
        sleep(Duration::from_millis(pause)).await;
        self.press(&submit, Some(format!("{what}-submit"))).await
    }

    /// Tells the kernel what the witnesses say, if that is news.
    pub(super) fn decide(&mut self, desk: &Desk) {
        let ranking = &self.kind.manifest.witnesses;
        let Some(said) = judge(ranking, &self.statements, clock::wall()) else { return };
        if self.told.as_ref() == Some(&said.doing) {
            return;
        }
        let rank = ranking.iter().position(|it| *it == said.witness);
        let rank = rank.and_then(|rank| u8::try_from(rank).ok()).unwrap_or(u8::MAX);
        self.tell(said.doing.clone(), rank, desk);
    }

    pub(super) fn tell(&mut self, doing: Doing, rank: u8, desk: &Desk) {
        self.told = Some(doing.clone());
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
        let text = String::from_utf8_lossy(&seen.content).into_owned();
        let number = |it: u32| u16::try_from(it).unwrap_or(u16::MAX);
        Ok(Screen {
            cursor: Some((number(seen.cursor.0), number(seen.cursor.1))),
            size: (number(seen.size.columns), number(seen.size.rows)),
            title: seen.title,
            ..Screen::of(&text)
        })
    }

    /// Interrupts what it does, at most once for each `step`.
    pub(super) async fn interrupt(&mut self, step: String) {
        let keys = self.kind.manifest.keys.interrupt.clone();
        self.press(&keys, Some(step)).await;
        self.look_at = Some(Instant::now() + LOOK_AFTER_KEY);
    }

    /// Presses keys, if the pane is still this life's. Returns whether they were pressed.
    pub(super) async fn press(&mut self, keys: &[String], token: Option<String>) -> bool {
        self.keys_pressed += 1;
        let number = self.keys_pressed;
        let token = token.unwrap_or_else(|| format!("key-{}-{number}", clock::wall().0));
        let keys: Result<Vec<Key>, _> = keys.iter().map(|key| key.parse()).collect();
        let what = match keys {
            Ok(keys) => guard::What::Keys(keys),
            Err(error) => {
                warn!(%error, agent = %self.agent, "its manifest names a key that there is not");
                return false;
            }
        };
        self.take(token, what).await
    }

    /// Takes a guarded step. Returns whether it was done.
    pub(super) async fn take(&self, token: String, what: guard::What) -> bool {
        let deadline = SystemTime::now() + KEY_WITHIN;
        let (pane, pane_pid, run) = (self.pane, self.process.pid, self.run);
        let step = guard::Step { pane, pane_pid, run, token, deadline, what };
        let taken = match self.house.control().await {
            Ok(control) => step.take(&control, ANSWER_WITHIN).await,
            Err(error) => Err(error),
        };
        match taken {
            Ok(Outcome::Done) => true,
            Ok(Outcome::NotMet(unmet)) => {
                debug!(?unmet, agent = %self.agent, "nothing was typed");
                false
            }
            Err(error) => {
                warn!(%error, agent = %self.agent, "it is not known whether it was typed");
                false
            }
        }
    }

    /// Returns how it ended, with what was on its screen last if that was not wanted; nothing if its
    /// whole server is gone.
    pub(super) async fn how_it_ended(&self) -> Option<String> {
        for _ in 0..ASKED_MAX {
            match self.house.panes().await {
                Ok(panes) => {
                    let Some(pane) = panes.iter().find(|it| it.id == self.pane) else {
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
