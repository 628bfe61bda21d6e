//! A client of a tmux server in control mode: a process that hands its pipes to the server.
//!
//! tmux before 3.7 dies if a client of this kind comes in the very moment in which another goes: it
//! tells the one of the other before it is ready to. So they come and go one at a time, by the server's
//! door, and none comes before the server has seen off those before.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::timeout;

use super::TmuxError;
use super::line::{BLOCK_MAX, Block, Garbled, Notice, Parser, Said};
use super::server::Server;

/// The session that all agents' windows are in, and that every connection for commands is attached to.
pub(super) const SESSION: &str = "cmux";

/// What runs in a window that only keeps its session from being empty. It ends at once, and the pane
/// stays. Two words, since a single one would be given to a shell.
pub(super) const HOLDER: [&str; 3] = ["--", "true", "cmux"];

/// How much is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// How long a client that ends may take to say why.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(2);

/// How long a client may take to go.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);

/// The most that is read of why a client ended, in bytes.
const LAST_WORDS_MAX: u64 = 4096;

/// A client that is attached to a session.
///
/// It is to be closed. The process is never killed: when its pipes are closed, tmux ends it.
pub(super) struct Client {
    pub(super) mouth: Mouth,
    pub(super) ears: Ears,
    words: ChildStderr,
    child: Child,
    door: Arc<Mutex<()>>,
    farewell: String,
}

impl Client {
    /// Starts a client that does `command`, and waits until that has put it into a session, `within`
    /// some time. What is said to it before that would be done before that. When it goes, `farewell` is
    /// said last; an empty line is enough.
    pub(super) async fn open(
        server: &Server,
        command: &[&str],
        farewell: String,
        within: Duration,
    ) -> Result<Client, TmuxError> {
        let coming = timeout(within, async {
            let coming = server.door().lock_owned().await;
            server.settle().await.map(|()| coming)
        });
        let coming = coming.await.unwrap_or(Err(TmuxError::Late))?;
        let mut client = Client::start(server, command, farewell)?;
        let settled = timeout(within, client.settle()).await.unwrap_or(Err(TmuxError::Late));
        if let Err(error) = settled {
            tokio::spawn(client.see_off(coming));
            return Err(error);
        }
        Ok(client)
    }

    fn start(server: &Server, command: &[&str], farewell: String) -> Result<Client, TmuxError> {
        let mut child = server
            .client()
            .arg("-C")
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| server.unstartable(error))?;
        let (Some(input), Some(output), Some(words)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(TmuxError::Gone);
        };
        let mouth = Mouth { input, outgoing: VecDeque::new() };
        let ears = Ears {
            output,
            parser: Parser::default(),
            heard: Vec::new(),
            ready: VecDeque::new(),
            buffer: vec![0; CHUNK],
        };
        Ok(Client { mouth, ears, words, child, door: server.door(), farewell })
    }

    /// Lets the client go.
    pub(super) async fn close(self) {
        let going = Arc::clone(&self.door).lock_owned().await;
        self.see_off(going).await;
    }

    /// Lets the client go, and keeps the door until it is gone. tmux sees that nothing more is asked, and
    /// ends it when it has said all that it has to say.
    async fn see_off(self, _going: OwnedMutexGuard<()>) {
        let Client { mut mouth, mut ears, mut child, farewell, .. } = self;
        let gone = async {
            mouth.say(&farewell);
            while mouth.waiting() > 0 && mouth.send().await.is_ok() {}
            drop(mouth);
            while !matches!(ears.next().await, Err(TmuxError::Gone)) {}
            let _ = child.wait().await;
        };
        // Not for ever: whoever wants to come next has to wait as long.
        let _ = timeout(CLOSE_WITHIN, gone).await;
    }

    /// Returns the number of the client's process.
    pub(super) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits until the client is in a session, or told why it is not.
    async fn settle(&mut self) -> Result<(), TmuxError> {
        loop {
            match self.ears.next().await {
                Ok(Said::Notice(Notice::Session { .. })) => return Ok(()),
                Ok(Said::Block(block)) if block.is_error => {
                    return Err(TmuxError::refused(&String::from_utf8_lossy(&block.body)));
                }
                Ok(Said::Notice(Notice::Exit { .. })) | Err(TmuxError::Gone) => {
                    return Err(self.last_words().await);
                }
                Ok(Said::Block(_) | Said::Notice(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns why the client has ended.
    async fn last_words(&mut self) -> TmuxError {
        let mut said = Vec::new();
        let mut words = (&mut self.words).take(LAST_WORDS_MAX);
        let _ = timeout(LAST_WORDS_WITHIN, words.read_to_end(&mut said)).await;
        match String::from_utf8_lossy(&said).trim() {
            "" => TmuxError::Gone,
            said => TmuxError::refused(said),
        }
    }
}

/// What is said to tmux.
pub(super) struct Mouth {
    input: ChildStdin,
    outgoing: VecDeque<u8>,
}

impl Mouth {
    /// Puts a line in the queue.
    pub(super) fn say(&mut self, line: &str) {
        self.outgoing.extend(line.as_bytes());
        self.outgoing.push_back(b'\n');
    }

    /// Returns how much waits to be sent, in bytes.
    pub(super) fn waiting(&self) -> usize {
        self.outgoing.len()
    }

    /// Sends some of what waits. It may be given up at any point, and loses nothing by it.
    pub(super) async fn send(&mut self) -> Result<(), TmuxError> {
        let (next, _) = self.outgoing.as_slices();
        let sent = self.input.write(next).await.map_err(|_| TmuxError::Gone)?;
        self.outgoing.drain(..sent);
        Ok(())
    }
}

/// What tmux says.
pub(super) struct Ears {
    output: ChildStdout,
    parser: Parser,
    heard: Vec<Said>,
    ready: VecDeque<Said>,
    buffer: Vec<u8>,
}

impl Ears {
    /// Returns what is said next. It may be given up at any point, and loses nothing by it.
    pub(super) async fn next(&mut self) -> Result<Said, TmuxError> {
        loop {
            if let Some(said) = self.ready.pop_front() {
                return Ok(said);
            }
            let read = self.output.read(&mut self.buffer).await.unwrap_or(0);
            if read == 0 {
                return Err(TmuxError::Gone);
            }
            let fed = self.parser.feed(&self.buffer[..read], &mut self.heard);
            fed.map_err(|Garbled(line)| TmuxError::Garbled(line))?;
            self.ready.extend(self.heard.drain(..));
        }
    }
}

/// What a list of commands answered: a part for each command that said something or nothing.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Reply {
    parts: Vec<Vec<u8>>,
}

impl Reply {
    /// Returns what was said in these parts.
    pub(super) fn of(parts: Vec<Vec<u8>>) -> Reply {
        Reply { parts }
    }

    /// Returns all that was said, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.parts.concat()).into_owned()
    }

    /// Returns what the last command said.
    pub fn last(&self) -> &[u8] {
        self.parts.last().map_or(&[], Vec::as_slice)
    }

    /// Returns what the command before the last said.
    pub(super) fn last_but_one(&self) -> &[u8] {
        self.parts.iter().nth_back(1).map_or(&[], Vec::as_slice)
    }

    /// Returns what the second command said.
    pub(super) fn second(&self) -> &[u8] {
        self.parts.get(1).map_or(&[], Vec::as_slice)
    }

    /// Returns what the first command said.
    pub fn first(&self) -> &[u8] {
        self.parts.first().map_or(&[], Vec::as_slice)
    }
}

impl fmt::Debug for Reply {
    /// What is on screens is not for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: usize = self.parts.iter().map(Vec::len).sum();
        write!(f, "Reply({} parts, {bytes} bytes)", self.parts.len())
    }
}

/// The answer to a list of commands, as far as it has come.
#[derive(Default)]
pub(super) struct Answer {
    reply: Reply,
    bytes: usize,
    refusal: Option<String>,
}

impl Answer {
    /// Adds what the next command of the list said.
    pub(super) fn add(&mut self, block: Block) {
        if block.is_error {
            let said = String::from_utf8_lossy(&block.body).into_owned();
            self.refusal.get_or_insert(said);
            return;
        }
        self.bytes += block.body.len();
        if self.bytes > BLOCK_MAX {
            self.reply.parts.clear();
            self.refusal.get_or_insert("the answer is longer than is taken".to_owned());
            return;
        }
        self.reply.parts.push(block.body);
    }

    /// Returns how many commands of the list were done.
    pub(super) fn parts(&self) -> usize {
        self.reply.parts.len()
    }

    /// Returns whether one of the list was refused, and with it all after it.
    pub(super) fn is_refused(&self) -> bool {
        self.refusal.is_some()
    }

    /// Returns what came of the list.
    pub(super) fn end(self) -> Result<Reply, TmuxError> {
        match self.refusal {
            None => Ok(self.reply),
            Some(said) => Err(TmuxError::refused(&said)),
        }
    }
}

/// Returns a number that nobody in a pane can guess.
pub(super) fn nonce() -> u64 {
    RandomState::new().build_hasher().finish()
}
