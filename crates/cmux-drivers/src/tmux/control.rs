//! The connection over which a server is commanded, and tells what changes in its panes.
//!
//! It takes no output of panes, so that answers wait for nothing, and it always reads, so that nothing
//! waits for it. A server of a person's own is not connected to, but [visited](super::visit).

use std::collections::VecDeque;
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::TmuxError;
use super::client::{Answer, Client, HOLDER, Reply, SESSION, nonce};
use super::command::Command;
use super::line::{Block, Notice, Said};
use super::pane::PaneId;
use super::server::{Generation, Server};
use super::version::Version;
use super::visit;
use crate::process::Process;

/// How many commands may wait to be sent.
const REQUESTS_MAX: usize = 256;

/// How many commands may be sent without having been answered.
const PENDING_MAX: usize = 64;

/// How much may wait in the queue to tmux before more is added, in bytes.
const OUTGOING_MAX: usize = 256 << 10;

/// How many notices may wait to be taken.
const NOTICES_MAX: usize = 1024;

/// How often it is said that panes should be looked at, where tmux does not tell what changes.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What is subscribed to for all panes. Programs choose their titles and names, and could end a line.
const SUBSCRIPTIONS: [(&str, &str); 4] = [
    ("title", "#{s/[\u{1}-\u{1f}\u{7f}]/ /:pane_title}"),
    ("command", "#{s/[\u{1}-\u{1f}\u{7f}]/ /:pane_current_command}"),
    ("mode", "#{?pane_in_mode,1,0}"),
    ("dead", "#{?pane_dead,1,0}"),
];

/// A way to command a server. All copies of it are one connection, which ends with the last of them.
#[derive(Clone, Debug)]
pub struct Control {
    way: Way,
    generation: Generation,
    server: Option<Process>,
    client_pid: Option<u32>,
}

/// How commands get to a server.
#[derive(Clone, Debug)]
enum Way {
    Connection(mpsc::Sender<Request>),
    /// Each with a client of its own, which is gone when it is done.
    Visits(Server),
}

/// What a server tells unasked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    Title {
        pane: PaneId,
        title: String,
    },
    /// Another program is in the foreground of a pane.
    Command {
        pane: PaneId,
        command: String,
    },
    Mode {
        pane: PaneId,
        is_in_mode: bool,
    },
    Dead {
        pane: PaneId,
        is_dead: bool,
    },
    /// Windows came or went, more was told than was taken, or tmux does not tell what changes and it is
    /// time again: look at all panes.
    Survey,
}

struct Request {
    line: String,
    answer: oneshot::Sender<Result<Reply, TmuxError>>,
}

impl Control {
    /// Connects to a server that runs. Each step of that may take as long as `within`. The notices end when the connection does.
    pub async fn connect(
        server: &Server,
        within: Duration,
    ) -> Result<(Control, mpsc::Receiver<Heard>), TmuxError> {
        // The session is made if somebody ended it.
        let attach = ["new-session", "-A", "-s", SESSION, "-n", "cmux"];
        let flags = ["-f", "no-output,ignore-size"];
        let words = [&attach[..], &flags, &HOLDER].concat();
        let client = Client::open(server, &words, String::new(), within).await?;
        let (requests, waiting) = mpsc::channel(REQUESTS_MAX);
        let (notices, heard) = mpsc::channel(NOTICES_MAX);
        let (client_pid, ticking) = (client.pid(), notices.downgrade());
        tokio::spawn(Worker::new(client, waiting, notices).run());
        let generation = Generation { pid: 0, started_s: 0 };
        let way = Way::Connection(requests);
        let control = Control { way, generation, server: None, client_pid };
        let (generation, version) = control.introduce(within).await?;
        if version.may_subscribe() {
            control.command(&subscribe(), within).await?;
        } else {
            tokio::spawn(tick(ticking));
        }
        let server = Process::find(generation.pid);
        Ok((Control { generation, server, ..control }, heard))
    }

    /// Returns the way to command a `server` of a person's own, in which nothing is left behind: see
    /// [`super::visit`]. Whether it runs shows when it is commanded.
    pub fn visiting(server: &Server) -> Control {
        let generation = Generation { pid: 0, started_s: 0 };
        Control { way: Way::Visits(server.clone()), generation, server: None, client_pid: None }
    }

    /// Returns whether the server is a person's own.
    pub fn is_visit(&self) -> bool {
        match self.way {
            Way::Connection(_) => false,
            Way::Visits(_) => true,
        }
    }

    /// Returns which life of the server this is, and of which version.
    async fn introduce(&self, within: Duration) -> Result<(Generation, Version), TmuxError> {
        let who = "#{pid} #{start_time} #{version}";
        let hello = Command::new("display-message").with("-p", who);
        let said = self.command(&hello, within).await?.text();
        let mut words = said.split_whitespace();
        let mut read = || {
            let (pid, started_s) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            Some((Generation { pid, started_s }, Version::parse(words.next()?)?))
        };
        read().ok_or_else(|| TmuxError::Garbled(super::shorten(&said)))
    }

    /// Does `command`, and returns what it answered.
    ///
    /// Without an answer `within` that time it is [`TmuxError::Late`], and if the connection ends
    /// first, [`TmuxError::Gone`]: it may have been done, or be done yet, and what must not happen
    /// late or twice goes by [`super::guard`].
    pub async fn command(&self, command: &Command, within: Duration) -> Result<Reply, TmuxError> {
        let asked = async {
            let requests = match &self.way {
                Way::Visits(server) => return visit::run(server, command).await,
                Way::Connection(requests) => requests,
            };
            let (answer, answered) = oneshot::channel();
            let request = Request { line: command.line()?, answer };
            requests.send(request).await.map_err(|_| TmuxError::Gone)?;
            answered.await.map_err(|_| TmuxError::Gone)?
        };
        timeout(within, asked).await.unwrap_or(Err(TmuxError::Late))
    }

    /// Returns which life of the server this is a connection to. Visits are to no certain one.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Has the server see which of its children have ended.
    ///
    /// While tmux notes in the system's list of logins that a pane is gone, it is deaf to the news that
    /// a child ended, and may miss just that of the pane's program: then it is not known how it ended,
    /// until the news of another child comes.
    pub(super) fn nudge(&self) {
        if let Some(server) = self.server {
            let _ = server.signal(Signal::CHILD);
        }
    }

    /// Returns the number of the process that made the connection.
    pub fn client_pid(&self) -> Option<u32> {
        self.client_pid
    }

    /// Returns whether the connection has ended.
    pub fn is_gone(&self) -> bool {
        match &self.way {
            Way::Connection(requests) => requests.is_closed(),
            Way::Visits(_) => false,
        }
    }
}

/// Returns what subscribes to what changes in all panes.
fn subscribe() -> Command {
    let each = SUBSCRIPTIONS.iter().map(|(name, format)| {
        Command::new("refresh-client").with("-B", &format!("{name}:%*:{format}"))
    });
    each.reduce(Command::then).unwrap_or_else(|| Command::new("refresh-client"))
}

/// Says now and then that panes should be looked at, until the connection ends.
async fn tick(notices: mpsc::WeakSender<Heard>) {
    let mut pace = tokio::time::interval(LOOK_EVERY);
    loop {
        pace.tick().await;
        let Some(notices) = notices.upgrade() else { return };
        // Whoever has not taken what waits will look anyway.
        let _ = notices.try_send(Heard::Survey);
    }
}

/// A list of commands that was sent.
struct Pending {
    /// What tmux is told to say when it has done all of it.
    mark: String,
    answer: Answer,
    asker: oneshot::Sender<Result<Reply, TmuxError>>,
}

/// What a worker has come to do.
enum Turn {
    Said(Said),
    /// Something was passed on.
    Sent,
    Asked(Request),
}

/// Carries commands to tmux, and what it says to whom it is meant for.
struct Worker {
    client: Client,
    requests: mpsc::Receiver<Request>,
    outbox: Outbox,
    pending: VecDeque<Pending>,
    /// Nobody in a pane can guess it, and so make an answer look like the end of one.
    nonce: u64,
    sent: u64,
}

/// Where notices wait to be taken. What there is no room for is told as one look at everything.
struct Outbox {
    notices: mpsc::Sender<Heard>,
    owes_survey: bool,
}

impl Outbox {
    fn tell(&mut self, heard: Heard) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.notices.try_send(heard) {
            self.owes_survey = true;
        }
    }

    /// Tells what is owed as soon as there is room. It may be given up at any point.
    async fn settle(&mut self) {
        // If nobody listens any more, nothing is owed.
        if let Ok(room) = self.notices.reserve().await {
            room.send(Heard::Survey);
        }
        self.owes_survey = false;
    }
}

impl Worker {
    fn new(
        client: Client,
        requests: mpsc::Receiver<Request>,
        notices: mpsc::Sender<Heard>,
    ) -> Worker {
        let outbox = Outbox { notices, owes_survey: false };
        Worker { client, requests, outbox, pending: VecDeque::new(), nonce: nonce(), sent: 0 }
    }

    /// Works until the connection ends, or nobody needs it any more. Whoever still waits is told so.
    async fn run(mut self) {
        let why = self.work().await;
        if let TmuxError::Garbled(line) = why {
            for pending in self.pending.drain(..) {
                let _ = pending.asker.send(Err(TmuxError::Garbled(line.clone())));
            }
        }
        // Whoever waits is told that it is gone before the client is seen off.
        drop((self.pending, self.requests, self.outbox));
        self.client.close().await;
    }

    async fn work(&mut self) -> TmuxError {
        loop {
            let waiting = self.client.mouth.waiting();
            let may_ask = self.pending.len() < PENDING_MAX && waiting < OUTGOING_MAX;
            let turn = tokio::select! {
                said = self.client.ears.next() => said.map(Turn::Said),
                sent = self.client.mouth.send(), if waiting > 0 => sent.map(|()| Turn::Sent),
                request = self.requests.recv(), if may_ask => {
                    request.map(Turn::Asked).ok_or(TmuxError::Gone)
                }
                () = self.outbox.settle(), if self.outbox.owes_survey => Ok(Turn::Sent),
            };
            let done = match turn {
                Ok(Turn::Said(said)) => self.hear(said),
                Ok(Turn::Asked(request)) => {
                    self.ask(request);
                    Ok(())
                }
                Ok(Turn::Sent) => Ok(()),
                Err(why) => Err(why),
            };
            if let Err(why) = done {
                return why;
            }
        }
    }

    /// Sends a list of commands, and after it, by itself, what tells its end: a list is left off at the
    /// first command that is refused.
    fn ask(&mut self, request: Request) {
        // Whoever has stopped waiting must not have it done yet.
        if request.answer.is_closed() {
            return;
        }
        self.sent += 1;
        let mark = format!("cmux-{:016x}-{}", self.nonce, self.sent);
        self.client.mouth.say(&request.line);
        self.client.mouth.say(&format!("display-message -p {mark}"));
        let pending = Pending { mark, answer: Answer::default(), asker: request.answer };
        self.pending.push_back(pending);
    }

    fn hear(&mut self, said: Said) -> Result<(), TmuxError> {
        match said {
            Said::Block(block) => {
                self.hear_block(block);
                Ok(())
            }
            Said::Notice(Notice::Exit { .. }) => Err(TmuxError::Gone),
            Said::Notice(Notice::Changed { name, pane: Some(pane), value }) => {
                if let Some(heard) = changed(&name, pane, value) {
                    self.outbox.tell(heard);
                }
                Ok(())
            }
            Said::Notice(Notice::Windows) => {
                self.outbox.owes_survey = true;
                Ok(())
            }
            Said::Notice(
                Notice::Output { .. }
                | Notice::Changed { .. }
                | Notice::Paused { .. }
                | Notice::Continued { .. }
                | Notice::Layout
                | Notice::Session { .. }
                | Notice::Other { .. },
            ) => Ok(()),
        }
    }

    fn hear_block(&mut self, block: Block) {
        let Some(first) = self.pending.front_mut() else { return };
        let is_end = block.body.strip_suffix(b"\n") == Some(first.mark.as_bytes());
        if !is_end {
            first.answer.add(block);
        } else if let Some(first) = self.pending.pop_front() {
            // Nobody listens any more if it took too long.
            let _ = first.asker.send(first.answer.end());
        }
    }
}

/// Returns what it means that a subscription has a new value.
fn changed(name: &str, pane: PaneId, value: String) -> Option<Heard> {
    match name {
        "title" => Some(Heard::Title { pane, title: value }),
        "command" => Some(Heard::Command { pane, command: value }),
        "mode" => Some(Heard::Mode { pane, is_in_mode: value != "0" }),
        "dead" => Some(Heard::Dead { pane, is_dead: value != "0" }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_there_is_no_room_for_is_told_as_one_look_at_everything() {
        let (notices, mut heard) = mpsc::channel(2);
        let mut outbox = Outbox { notices, owes_survey: false };
        let told = |number| Heard::Mode { pane: PaneId(number), is_in_mode: true };
        for number in 0..2 {
            outbox.tell(told(number));
        }
        assert!(!outbox.owes_survey);
        for number in 2..9 {
            outbox.tell(told(number));
        }
        assert!(outbox.owes_survey);
        assert_eq!(heard.recv().await, Some(told(0)));
        outbox.settle().await;
        assert!(!outbox.owes_survey);
        assert_eq!((heard.recv().await, heard.recv().await), (Some(told(1)), Some(Heard::Survey)));
        outbox.owes_survey = true;
        drop(heard);
        outbox.settle().await;
        assert!(!outbox.owes_survey);
    }

    #[test]
    fn a_subscription_is_known_by_its_name() {
        let pane = PaneId(5);
        for (name, value, expected) in [
            ("title", "x", Some(Heard::Title { pane, title: "x".into() })),
            ("command", "sh", Some(Heard::Command { pane, command: "sh".into() })),
            ("mode", "0", Some(Heard::Mode { pane, is_in_mode: false })),
            ("dead", "1", Some(Heard::Dead { pane, is_dead: true })),
            ("other", "1", None),
        ] {
            assert_eq!(changed(name, pane, value.to_owned()), expected, "{name}");
        }
    }
}
