//! What a pane's program writes, as it writes it, for whoever watches.
//!
//! It has a connection of its own, in a session of its own that only this pane's window is in. It lasts
//! for as long as somebody watches; what is left of one whose daemon was killed is cleared away by
//! [`clear`]. Whoever is too slow is shown the screen again instead of all that
//! was missed, so that nothing is kept for anybody, and nobody holds up the pane.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use tokio::runtime::Handle;

use super::TmuxError;
use super::client::{Answer, Client, HOLDER, nonce};
use super::command::Command;
use super::control::Control;
use super::line::{Block, Notice, Said};
use super::pane::PaneId;
use super::screen::{self, Colours, Screen};
use super::server::Server;

/// How many commands a look at the screen is, and with going on before it.
const LOOK_PARTS: usize = 2;

/// A pane that is watched. It is left alone when this is dropped.
pub struct Stream {
    /// There until this is dropped.
    client: Option<Client>,
    runtime: Handle,
    pane: PaneId,
    history: u32,
    /// The looks that were asked for and not seen yet. What is written before the last is in it.
    looks: VecDeque<Look>,
}

struct Look {
    parts: usize,
    answer: Answer,
}

/// What is seen of a pane next.
#[derive(Clone, PartialEq, Eq)]
pub enum Piece {
    /// All that there is to see: first of all, and whenever something was missed or the size is another.
    Screen(Screen),
    /// What was written since.
    Bytes(Vec<u8>),
}

impl Stream {
    /// Begins to watch a pane. The first screen is preceded by `history` lines that have scrolled off.
    pub async fn open(
        server: &Server,
        pane: PaneId,
        history: u32,
        within: Duration,
    ) -> Result<Stream, TmuxError> {
        let session = format!("view-{:016x}", nonce());
        let (target, source) = (format!("={session}:"), pane.to_string());
        let place = format!("{target}0");
        let make = ["new-session", "-s", &session, "-f", "pause-after=1,ignore-size"];
        let link = [";", "link-window", "-k", "-s", &source, "-t", &place];
        let words = [&make[..], &HOLDER, &link].concat();
        // Not by `destroy-unattached`: tmux may die of it when others go at the same time.
        let farewell = format!("kill-session -t \"={session}\"");
        let client = Client::open(server, &words, farewell, within).await?;
        let mut stream = Stream {
            client: Some(client),
            runtime: Handle::current(),
            pane,
            history,
            looks: VecDeque::new(),
        };
        stream.look(None);
        Ok(stream)
    }

    /// Returns what is seen next. It may be given up at any point, and loses nothing by it. When the
    /// pane is gone, it is [`TmuxError::Gone`] or [`TmuxError::NoPane`].
    pub async fn next(&mut self) -> Result<Piece, TmuxError> {
        loop {
            let Some(client) = &mut self.client else { return Err(TmuxError::Gone) };
            while client.mouth.waiting() > 0 {
                client.mouth.send().await?;
            }
            match client.ears.next().await? {
                Said::Block(block) => {
                    if let Some(screen) = self.see(block)? {
                        return Ok(Piece::Screen(screen));
                    }
                }
                Said::Notice(Notice::Output { pane, bytes }) => {
                    if pane == self.pane && self.looks.is_empty() {
                        return Ok(Piece::Bytes(bytes));
                    }
                }
                Said::Notice(Notice::Paused { pane }) if pane == self.pane => {
                    // In one go with the look, or what is written between the two would be missed.
                    let going_on = format!("{pane}:continue");
                    self.look(Some(Command::new("refresh-client").with("-A", &going_on)));
                }
                // No other window is in this session. A look that is still to come was done after this was said.
                Said::Notice(Notice::Layout) => {
                    if self.looks.is_empty() {
                        self.look(None);
                    }
                }
                Said::Notice(Notice::Exit { .. }) => return Err(TmuxError::Gone),
                Said::Notice(
                    Notice::Changed { .. }
                    | Notice::Paused { .. }
                    | Notice::Continued { .. }
                    | Notice::Windows
                    | Notice::Session { .. }
                    | Notice::Other { .. },
                ) => {}
            }
        }
    }

    /// Takes a part of the answer to the first look. Returns the screen if that was the last part of the last.
    fn see(&mut self, block: Block) -> Result<Option<Screen>, TmuxError> {
        let Some(look) = self.looks.front_mut() else { return Ok(None) };
        look.answer.add(block);
        if !look.answer.is_refused() && look.answer.parts() < look.parts {
            return Ok(None);
        }
        let answer = self.looks.pop_front().map(|look| look.answer).unwrap_or_default();
        let screen = screen::parse(&answer.end()?)?;
        Ok(self.looks.is_empty().then_some(screen))
    }

    /// Asks for the screen, after another command if there is one.
    fn look(&mut self, before: Option<Command>) {
        let look = screen::look(self.pane, self.history, Colours::With);
        let parts = LOOK_PARTS + usize::from(before.is_some());
        let command = match before {
            Some(before) => before.then(look),
            None => look,
        };
        // There is nothing in it that cannot be said.
        if let (Ok(line), Some(client)) = (command.line(), &mut self.client) {
            client.mouth.say(&line);
            self.looks.push_back(Look { parts, answer: Answer::default() });
        }
    }
}

/// Ends the sessions of streams that nobody watches any more, as after the daemon was killed.
pub async fn clear(control: &Control, within: Duration) -> Result<(), TmuxError> {
    let list = Command::new("list-sessions").with("-F", "#{session_attached} #{session_name}");
    let sessions = control.command(&list, within).await?.text();
    for name in sessions.lines().filter_map(|line| line.strip_prefix("0 view-")) {
        let kill = Command::new("kill-session").with("-t", &format!("=view-{name}"));
        match control.command(&kill, within).await {
            // It has ended meanwhile.
            Ok(_) | Err(TmuxError::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            self.runtime.spawn(client.close());
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({})", self.pane)
    }
}

impl fmt::Debug for Piece {
    /// What is on screens is not for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Piece::Screen(screen) => write!(f, "{screen:?}"),
            Piece::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
        }
    }
}
