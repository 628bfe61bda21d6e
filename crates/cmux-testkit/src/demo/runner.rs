//! The runner: the one thread that feeds the session, does what it says, and paints what it shows.

use std::collections::{BTreeMap, VecDeque};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use cmux_wire::time::Time;
use rustix::process::{Signal, getpid, kill_process};
use serde_json::{Value, json};
use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH,
};
use signal_hook::iterator::Signals;

use super::door::{self, Call};
use super::fault::{Crash, Faults, Moment};
use super::hook::{Settings, body};
use super::key::{Key, Keys};
use super::painter::Painter;
use super::record::append;
use super::script::ToolUse;
use super::session::{Effect, Input, Session};
use super::start::{TRUSTED, wall_ms};
use super::status::StatusFile;
use super::terminal::{Terminal, Typed};
use super::transcript::Transcript;
use super::worker::Worker;

/// How much may wait to be taken.
const WAITING_MAX: usize = 64;

/// Where the agent is, and who it is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) agent: String,
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) state: PathBuf,
    /// Where the prompts that it takes are recorded.
    pub(crate) record: Option<PathBuf>,
    /// Where it is recorded what somebody allowed it to do, by a key.
    pub(crate) approvals: Option<PathBuf>,
    pub(crate) mode: &'static str,
    pub(crate) wall_ms: i64,
}

/// What wakes the runner.
enum Event {
    Typed(Typed),
    Signal(i32),
    Called(Call),
    Happened(Input),
}

/// A session in a terminal.
pub(crate) struct Runner {
    session: Session,
    place: Place,
    transcript: Transcript,
    faults: Faults,
    worker: Worker,
    keys: Keys,
    painter: Painter,
    status: StatusFile,
    title: String,
    /// Who waits at the door, by number.
    callers: BTreeMap<u64, SyncSender<Value>>,
    calls: u64,
    /// When what is seen is to be drawn, if that is late.
    paint_at: Option<u64>,
    /// Until when nothing is drawn after a paste, and whether nothing is drawn at all.
    held_until: u64,
    is_stale: bool,
    brackets_at: Option<u64>,
    begun: Instant,
    sender: SyncSender<Event>,
    events: Receiver<Event>,
}

impl Runner {
    pub(crate) fn new(
        session: Session,
        place: Place,
        transcript: Transcript,
        settings: Settings,
        faults: Faults,
    ) -> Result<Runner, String> {
        let (sender, events) = sync_channel(WAITING_MAX);
        listen_to_signals(sender.clone()).map_err(|error| error.to_string())?;
        let happened = sender.clone();
        // Who reports from this very thread must not wait for it.
        let report = move |input| {
            if let Err(full) = happened.try_send(Event::Happened(input)) {
                let (happened, event) = (happened.clone(), full);
                thread::spawn(move || drop(happened.send(into_event(event))));
            }
        };
        let worker = Worker {
            settings,
            faults: faults.clone(),
            folder: place.folder.clone(),
            report: Arc::new(report),
            under_way: BTreeMap::new(),
        };
        let shown = place.folder.display().to_string();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
        Ok(Runner {
            painter: Painter::new(Terminal::size(), plain),
            status: StatusFile::new(&place.state, &place.name, &shown, place.wall_ms),
            brackets_at: Some(faults.late_brackets_ms),
            session,
            place,
            transcript,
            faults,
            worker,
            keys: Keys::default(),
            title: String::new(),
            callers: BTreeMap::new(),
            calls: 0,
            paint_at: None,
            held_until: 0,
            is_stale: false,
            begun: Instant::now(),
            sender,
            events,
        })
    }

    /// Lets messages in that come whole, at a socket.
    pub(crate) fn open_door(&self, path: &Path) -> io::Result<()> {
        let sender = self.sender.clone();
        door::open(path, move |call| sender.send(Event::Called(call)).is_ok())
    }

    /// Plays the agent to its end, and returns its exit code.
    pub(crate) fn run(mut self) -> u8 {
        Terminal::listen(self.sender.clone(), Event::Typed);
        let code = self.play();
        Terminal::write(self.painter.leave().as_bytes());
        self.worker.end_all();
        code
    }

    fn play(&mut self) -> u8 {
        if self.faults.hang_at_start {
            hang();
        }
        flood(self.faults.flood_bytes);
        if let Some(code) = self.feed(Input::Begin, self.now()) {
            return code;
        }
        loop {
            self.show();
            let event = self.events.recv_timeout(self.patience());
            let ended = match event {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(1),
            };
            if let Some(code) = ended.or_else(|| self.wake()) {
                self.show();
                return code;
            }
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns how long to wait for something to happen.
    fn patience(&self) -> Duration {
        let now = self.now();
        let held = Some(self.held_until).filter(|until| now < *until);
        let wakes =
            [self.session.next_wake(now), self.keys.wake(), self.paint_at, self.brackets_at, held];
        let at = wakes.into_iter().flatten().min().unwrap_or(now + 3_600_000);
        Duration::from_millis(at.saturating_sub(now))
    }

    fn take(&mut self, event: Event) -> Option<u8> {
        match event {
            Event::Typed(Typed::Bytes(bytes, at)) => {
                let at = at.saturating_duration_since(self.begun).as_millis();
                let at = u64::try_from(at).unwrap_or(u64::MAX);
                let keys = self.keys.feed(&bytes, at);
                keys.into_iter().find_map(|key| self.press(key, at))
            }
            Event::Typed(Typed::Closed) => self.feed(Input::Signal(129), self.now()),
            Event::Signal(SIGWINCH) => {
                self.painter.resize(Terminal::size());
                self.refresh();
                None
            }
            Event::Signal(signal @ (SIGHUP | SIGINT | SIGTERM)) => {
                let code = u8::try_from(128 + signal).unwrap_or(1);
                self.feed(Input::Signal(code), self.now())
            }
            Event::Signal(_) => None,
            Event::Called(Call { id, text, reply }) => {
                self.calls += 1;
                self.callers.insert(self.calls, reply);
                self.feed(Input::Message { door: self.calls, id, text }, self.now())
            }
            Event::Happened(input) => {
                if let Input::Hooked { token, .. } | Input::Tooled { token, .. } = &input {
                    self.worker.is_over(*token);
                }
                self.feed(input, self.now())
            }
        }
    }

    /// Does what its time has come for.
    fn wake(&mut self) -> Option<u8> {
        let now = self.now();
        if self.brackets_at.is_some_and(|at| at <= now) {
            self.brackets_at = None;
            Terminal::write(b"\x1b[?2004h");
        }
        if let Some(code) = self.keys.rest(now).and_then(|key| self.feed(Input::Key(key), now)) {
            return Some(code);
        }
        let effects = self.session.wake(now);
        self.do_all(effects)
    }

    fn press(&mut self, key: Key, at: u64) -> Option<u8> {
        let moment = Moment::of(&key);
        if moment == Some(Moment::Paste) {
            self.held_until = at + self.faults.late_paste_ms;
        }
        // What was there before is drawn, and stays.
        if moment.is_some() && self.faults.stale_after == moment {
            self.show();
            self.is_stale = true;
        }
        self.feed(Input::Key(key), at)
    }

    /// Draws again what is there, from here on.
    fn refresh(&mut self) {
        self.is_stale = false;
        self.faults.stale_after = None;
    }

    fn feed(&mut self, input: Input, now: u64) -> Option<u8> {
        let effects = self.session.hear(input, now);
        self.do_all(effects)
    }

    /// Does what the session says, and what it says about that, and returns how it ends, if it does.
    fn do_all(&mut self, effects: Vec<Effect>) -> Option<u8> {
        let mut waiting = VecDeque::from(effects);
        while let Some(effect) = waiting.pop_front() {
            match effect {
                Effect::Hook { token, session, event, tool, fields } => {
                    let body = body(&self.common(&session), event, &fields);
                    self.worker.hook(token, event, tool.as_deref(), &body);
                }
                Effect::Tool { token, tool } => self.worker.tool(token, tool),
                Effect::Cancel { token } => self.worker.cancel(token),
                Effect::Take { token, prompt, id } => {
                    let done = self.write_down(&prompt, id.as_deref());
                    let done = done.map_err(|error| error.to_string());
                    let now = self.now();
                    waiting.extend(self.session.hear(Input::Taken { token, done }, now));
                }
                Effect::Note(note) => {
                    // A full disk is told by the next prompt, which is not taken then.
                    let _ = self.transcript.note(note, &at());
                }
                Effect::Answer { door, said } => {
                    // Who has hung up is not told.
                    let _ = self.callers.remove(&door).map(|caller| caller.send(said));
                }
                Effect::Trust => self.trust(),
                Effect::Session(id) => {
                    let folder = self.place.folder.display().to_string();
                    self.transcript = Transcript::new(&self.place.state, &id, &folder);
                }
                Effect::Flood { bytes } => {
                    flood(bytes);
                    self.painter.forget();
                }
                Effect::Repaint => {
                    self.painter.forget();
                    self.refresh();
                }
                Effect::Approved(tool) => self.note_approval(&tool),
                Effect::Hang => {
                    self.show();
                    hang();
                }
                Effect::Crash => crash(),
                Effect::Exit(code) => return Some(code),
            }
        }
        None
    }

    /// Records a prompt and writes it into the transcript: from here on it was taken.
    fn write_down(&mut self, prompt: &str, id: Option<&str>) -> io::Result<()> {
        if let Some(record) = &self.place.record {
            let line = json!({ "at": at(), "agent": self.place.agent, "prompt": prompt });
            append(record, &line)?;
        }
        if self.faults.crash == Some(Crash::Recorded) {
            crash();
        }
        self.transcript.prompt(prompt, id, &at())
    }

    fn note_approval(&self, tool: &ToolUse) {
        let Some(approvals) = &self.place.approvals else { return };
        let (agent, name, input) = (&self.place.agent, &tool.name, &tool.input);
        let line = json!({ "at": at(), "agent": agent, "approved": name, "input": input });
        // It is for tests, which miss it.
        let _ = append(approvals, &line);
    }

    fn trust(&self) {
        let path = self.place.state.join(TRUSTED);
        let file = OpenOptions::new().append(true).create(true).open(path);
        // What is not remembered is asked again.
        let _ = file.and_then(|mut file| writeln!(file, "{}", self.place.folder.display()));
    }

    /// Returns what every hook is told.
    fn common(&self, session: &str) -> Value {
        let path = self.place.state.join(format!("{session}.jsonl"));
        json!({
            "session_id": session,
            "transcript_path": path,
            "cwd": self.place.folder,
            "permission_mode": self.place.mode,
        })
    }

    /// Shows what there is to be seen: on the screen, in the title and in the status file.
    fn show(&mut self) {
        let now = self.now();
        if !self.faults.no_status {
            // It is for others, and the agent goes on without.
            let _ = self.status.tell(self.session.id(), self.session.status(), wall_ms());
        }
        if matches!(self.faults.stale_after, Some(Moment::At(at)) if at <= now) {
            self.is_stale = true;
        }
        if self.is_stale || now < self.held_until {
            return;
        }
        let frame = self.session.view(now).frame(self.painter.size());
        let late = self.faults.late_redraw_ms;
        if late > 0 && self.paint_at.is_none_or(|at| now < at) {
            if self.paint_at.is_none() && (self.session.has_said() || !self.painter.shows(&frame)) {
                self.paint_at = Some(now + late);
            }
            return;
        }
        self.paint_at = None;
        let title = self.session.title();
        let mut bytes = String::new();
        if title != self.title {
            bytes = format!("\x1b]0;{title}\x07");
            self.title = title;
        }
        bytes += &self.painter.paint(self.session.take_said(), frame);
        if !bytes.is_empty() {
            // A terminal that is gone tells so by its input, too.
            Terminal::write(bytes.as_bytes());
        }
    }
}

fn into_event(full: std::sync::mpsc::TrySendError<Event>) -> Event {
    use std::sync::mpsc::TrySendError::{Disconnected, Full};
    match full {
        Full(event) | Disconnected(event) => event,
    }
}

/// Passes on every signal that can be heard. Those that mean nothing are heard all the same: who hangs
/// is to be ended by nothing but a kill.
fn listen_to_signals(sender: SyncSender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([
        SIGALRM, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH,
    ])?;
    thread::spawn(move || {
        for signal in &mut signals {
            if sender.send(Event::Signal(signal)).is_err() {
                return;
            }
        }
    });
    Ok(())
}

/// Returns the time as it is written.
fn at() -> String {
    Time::from_millis(wall_ms()).to_string()
}

fn flood(bytes: u64) {
    let line = format!("{}\r\n", "flood ".repeat(12));
    let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
    for _ in 0..bytes.div_ceil(length) {
        if !Terminal::write(line.as_bytes()) {
            return;
        }
    }
}

fn hang() -> ! {
    loop {
        thread::park();
    }
}

/// Ends as if somebody had killed it: nothing is put right.
fn crash() -> ! {
    let _ = kill_process(getpid(), Signal::KILL);
    hang()
}
