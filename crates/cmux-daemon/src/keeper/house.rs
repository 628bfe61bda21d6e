//! A tmux server that agents live in: the connection to it, made again when it drops, and looks at it. A
//! person's own is not connected to, but visited now and then.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cmux_core::project::ProjectId;
use cmux_drivers::process::Process;
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::control::{Control, Heard};
use cmux_drivers::tmux::loan;
use cmux_drivers::tmux::pane::{self, Pane};
use cmux_drivers::tmux::server::{Generation, Server};
use cmux_drivers::tmux::stream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval, sleep_until};
use tracing::{debug, warn};

use super::{Desk, Order, Orders};

/// How long each step of connecting to a server may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// How long a server may take to answer.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// How often panes are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// How long apart looks are at least, however much is heard.
const LOOK_APART: Duration = Duration::from_millis(300);

/// How often panes in a person's server are: each look is a process there.
const VISIT_EVERY: Duration = Duration::from_secs(5);

/// How many wishes may wait.
const WISHES_MAX: usize = 256;

/// A tmux server that agents live in. All copies are the same.
#[derive(Clone, Debug)]
pub(crate) struct House {
    server: Server,
    /// Whose agents live in it. A person's own server is no project's.
    pub(crate) project: Option<ProjectId>,
    wishes: mpsc::Sender<Wish>,
    /// The connection, if there is one: who looks often does not wait for whoever keeps it.
    current: watch::Receiver<Option<Control>>,
    /// Whether it is being surveyed.
    surveyed: Arc<AtomicBool>,
}

/// What is wanted of a house.
#[derive(Debug)]
enum Wish {
    /// The connection, with the server started if that is wanted and none runs.
    Control { start: bool, reply: oneshot::Sender<Result<Control, TmuxError>> },
}

/// That a house is being surveyed, until it is dropped.
#[derive(Debug)]
pub(crate) struct Surveying(Arc<AtomicBool>);

impl Drop for Surveying {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl House {
    /// Opens a server of `project`, or one that is a person's own.
    pub(super) fn open(
        server: Server,
        project: Option<ProjectId>,
        desk: &Desk,
        orders: Orders,
    ) -> House {
        let (wishes, asked) = mpsc::channel(WISHES_MAX);
        let (shown, current) = watch::channel(None);
        let house = Keep {
            server: server.clone(),
            is_persons: project.is_none(),
            files_max: desk.files_max,
            orders,
            line: None,
            shown,
            process: None,
            is_lost: false,
            looked_at: Instant::now() - VISIT_EVERY,
            generation: None,
        };
        tokio::spawn(house.keep(asked));
        House { server, project, wishes, current, surveyed: Arc::default() }
    }

    /// Returns whether it is a person's own, in which nothing but the tags of agents may be changed.
    pub(crate) fn is_persons(&self) -> bool {
        self.project.is_none()
    }

    pub(crate) fn socket(&self) -> &Path {
        self.server.socket()
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// Returns the connection to the server that runs. If none runs, it is [`TmuxError::NoServer`].
    pub(crate) async fn control(&self) -> Result<Control, TmuxError> {
        let current = self.current.borrow().clone().filter(|control| !control.is_gone());
        match current {
            Some(control) => Ok(control),
            None => self.wish(false).await,
        }
    }

    /// Returns the connection to the server, which is started if none runs.
    pub(crate) async fn started(&self) -> Result<Control, TmuxError> {
        self.wish(true).await
    }

    async fn wish(&self, start: bool) -> Result<Control, TmuxError> {
        let (reply, answer) = oneshot::channel();
        let wish = Wish::Control { start, reply };
        self.wishes.send(wish).await.map_err(|_| TmuxError::Gone)?;
        answer.await.map_err(|_| TmuxError::Gone)?
    }

    /// Returns all panes as they are now.
    pub(crate) async fn panes(&self) -> Result<Vec<Pane>, TmuxError> {
        pane::survey(&self.control().await?, ANSWER_WITHIN).await
    }

    /// Returns the right to survey, unless somebody has it.
    pub(super) fn begin_survey(&self) -> Option<Surveying> {
        let was = self.surveyed.swap(true, Ordering::AcqRel);
        (!was).then(|| Surveying(self.surveyed.clone()))
    }
}

/// A connection, and what is heard over it.
struct Line {
    control: Control,
    heard: mpsc::Receiver<Heard>,
}

/// Who keeps the connection.
struct Keep {
    server: Server,
    is_persons: bool,
    files_max: Option<u64>,
    orders: Orders,
    line: Option<Line>,
    /// What others know of it.
    shown: watch::Sender<Option<Control>>,
    /// Who a person's server was when it was last visited.
    process: Option<Process>,
    /// Whether it was told that there is no server.
    is_lost: bool,
    looked_at: Instant,
    /// Which life of the server there was last.
    generation: Option<Generation>,
}

impl Keep {
    async fn keep(mut self, mut asked: mpsc::Receiver<Wish>) {
        let look_every = if self.is_persons { VISIT_EVERY } else { LOOK_EVERY };
        let mut tick = interval(look_every);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut look_at = None;
        loop {
            tokio::select! {
                wish = asked.recv() => match wish {
                    Some(Wish::Control { start, reply }) => {
                        let control = self.control(start).await;
                        let _ = reply.send(control);
                    }
                    None => return,
                },
                is_open = hear(&mut self.line) => {
                    if !is_open {
                        self.hang_up();
                    }
                    // What comes at once is looked at in one go. Nobody waits for that meanwhile.
                    look_at = look_at.or(Some(self.looked_at + LOOK_APART));
                }
                () = due(look_at) => {
                    look_at = None;
                    self.look().await;
                }
                _ = tick.tick() => {
                    if self.looked_at.elapsed() > look_every / 2 {
                        self.look().await;
                    }
                }
            }
        }
    }

    async fn control(&mut self, start: bool) -> Result<Control, TmuxError> {
        if self.is_persons {
            return self.visit().await;
        }
        if let Some(line) = self.line.as_ref().filter(|line| !line.control.is_gone()) {
            return Ok(line.control.clone());
        }
        self.hang_up();
        if start {
            if matches!(self.server.pid().await, Err(TmuxError::NoServer)) {
                self.lose().await;
            }
            self.server.start(self.files_max).await?;
        } else {
            self.server.pid().await?;
        }
        let (control, heard) = Control::connect(&self.server, CONNECT_WITHIN).await?;
        let before = self.generation.replace(control.generation());
        if before.is_none() {
            clear(&control).await;
        }
        if before.is_some_and(|before| before != control.generation()) {
            self.lose().await;
        }
        self.line = Some(Line { control: control.clone(), heard });
        self.shown.send_replace(Some(control.clone()));
        self.is_lost = false;
        Ok(control)
    }

    fn hang_up(&mut self) {
        self.line = None;
        self.shown.send_replace(None);
    }

    /// Tells that the server is gone, once.
    async fn lose(&mut self) {
        self.generation = None;
        if !std::mem::replace(&mut self.is_lost, true) {
            let server = self.server.socket().to_owned();
            self.orders.give(Order::Lost { server }).await;
        }
    }

    /// Returns the way to a person's server that runs.
    async fn visit(&mut self) -> Result<Control, TmuxError> {
        if !self.process.is_some_and(|process| process.is_alive()) {
            self.process = Process::find(self.server.pid().await?);
        }
        self.is_lost = false;
        Ok(Control::visiting(&self.server))
    }

    /// Returns whether there may be a person's server that nobody answers for: its socket can be removed
    /// while it goes on.
    fn may_be_hidden(&self) -> bool {
        self.is_persons
            && match self.process {
                Some(process) => process.is_alive(),
                None => !self.server.socket().exists(),
            }
    }

    /// Looks at all panes, and tells how they are.
    async fn look(&mut self) {
        self.looked_at = Instant::now();
        let panes = match self.control(false).await {
            Ok(control) => pane::survey(&control, ANSWER_WITHIN).await,
            Err(error) => Err(error),
        };
        let server = self.server.socket().to_owned();
        match panes {
            Ok(panes) => self.orders.give(Order::Seen { server, panes }).await,
            Err(TmuxError::NoServer) if self.may_be_hidden() => {}
            Err(TmuxError::NoServer) => self.lose().await,
            // Nothing is known then, and nothing is said.
            Err(error @ (TmuxError::Late | TmuxError::Gone)) => debug!(%error, "tmux was not seen"),
            Err(error) => warn!(%error, "tmux could not be looked at"),
        }
    }
}

/// Clears away what the daemon before this one left of those who watched and typed, if it was killed.
async fn clear(control: &Control) {
    let cleared = match stream::clear(control, ANSWER_WITHIN).await {
        Ok(()) => loan::call_in(control, ANSWER_WITHIN).await,
        Err(error) => Err(error),
    };
    if let Err(error) = cleared {
        debug!(%error, "what was left of watchers was not cleared away");
    }
}

/// Waits until it is time to look at what was heard of, if anything was.
async fn due(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// Waits for something to be heard, and returns whether the line is still open.
async fn hear(line: &mut Option<Line>) -> bool {
    match line {
        Some(line) => line.heard.recv().await.is_some(),
        None => std::future::pending().await,
    }
}
