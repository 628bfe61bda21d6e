//! Agents' terminals over HTTP: what is on the screen, and all that is written to it as it is.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::StatusCode;
use axum::response::Response;
use cmux_core::agent::Agent;
use cmux_core::id::RunId;
use cmux_core::principal::{Need, Principal};
use cmux_drivers::clock;
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::guard::{Step, What};
use cmux_drivers::tmux::loan::{self, Borrower};
use cmux_drivers::tmux::pane::{PaneId, Size};
use cmux_drivers::tmux::screen::{self, Colours, Screen};
use cmux_drivers::tmux::stream::{Piece, Stream};
use cmux_wire::terminal::{self as wire, TerminalSaid, TerminalTold};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tracing::debug;

use crate::http::App;
use crate::http::agents::{Where, find, place_of, tended};
use crate::http::extract::{Named, Query};
use crate::http::gate::Caller;
use crate::http::problem::Oops;
use crate::keeper::House;
use crate::readers::Readers;
use crate::serve::closed;
use crate::tenure::is_let_in;

/// How many lines that have scrolled off are shown to a program that begins to watch, and to a page, which is
/// shown all that tmux keeps.
const HISTORY: u32 = 1000;
const HISTORY_OF_PAGES: u32 = screen::LINES_MAX;

/// How long tmux may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// The longest message that is taken from a client, in bytes.
const HEARD_MAX: usize = 64 << 10;

/// How much is typed in one go, in bytes.
const TYPED_MAX: usize = 1 << 10;

/// How long a client may take to accept what it is shown.
const ACCEPT_WITHIN: Duration = Duration::from_secs(10);

/// How often it is looked whether a client may still watch, and whether it is still there.
const CHECK_EVERY: Duration = Duration::from_secs(5);

/// How long nothing may be heard of a client that is asked whether it is there. Its network may be gone, of
/// which nobody tells.
const SILENT_MAX: Duration = Duration::from_secs(25);

/// The smallest and largest terminal that may be asked for.
const COLUMNS: std::ops::RangeInclusive<u32> = 20..=500;
const ROWS: std::ops::RangeInclusive<u32> = 5..=300;

/// Which part of a terminal is wanted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// The project in which the agent has that name. With an id, it need not be said.
    #[schemars(regex(pattern = cmux_wire::project::ID))]
    project: Option<String>,
    /// How many lines, the last of them. Without it, the screen.
    #[schemars(range(min = 1, max = 5000))]
    lines: Option<u32>,
}

/// How a terminal is followed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Following {
    /// The project in which the agent has that name. With an id, it need not be said.
    #[schemars(regex(pattern = cmux_wire::project::ID))]
    project: Option<String>,
    /// For pages, which are not told why a WebSocket was refused: if there is no terminal to follow, it is
    /// opened and closed, by the code 4000 and the status, and with the problem's name as its reason. And
    /// text messages tell how large each whole screen is, `{"size":[columns,rows]}` before it, and every five
    /// seconds that the connection is there, `{"alive":true}`.
    told: Option<bool>,
}

/// The code by which a page is told of a problem with the status 0.
const TOLD: u16 = 4000;

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(name): Named<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<wire::Terminal>, Oops> {
    let lines = wanted.lines;
    if lines.is_some_and(|lines| !(1..=screen::LINES_MAX).contains(&lines)) {
        let detail = format!("`lines` is a number from 1 to {}", screen::LINES_MAX);
        return Err(Oops::bad_request(detail));
    }
    let agent = tended(&app, &caller, &name, &Where { project: wanted.project }).await?;
    let (house, pane, _, _) = home_of(&app, &agent).await?;
    let control = house.control().await.map_err(|error| unseen(&error))?;
    let history = lines.unwrap_or(0);
    let seen = screen::capture(&control, pane, history, Colours::Without, ANSWER_WITHIN).await;
    let seen = seen.map_err(|error| unseen(&error))?;
    Ok(Json(say(&seen, lines)))
}

async fn home_of(app: &App, agent: &Agent) -> Result<Home, Oops> {
    let none = || {
        let detail = format!("`{}` is {}: it has no terminal now", agent.name, agent.phase.name());
        Oops::new(StatusCode::CONFLICT, "no-terminal", detail)
    };
    let place = agent.present_life().and_then(place_of).ok_or_else(none)?;
    let pane = place.pane.parse().map_err(|_| none())?;
    let life = agent.present_life().ok_or_else(none)?;
    let keeper = app.keeper().await?;
    let house = keeper.house(std::path::Path::new(&place.server)).await.ok_or_else(none)?;
    Ok((house, pane, process_of(agent), life.run))
}

/// Returns the number of an agent's process, or 0 if it has ended.
fn process_of(agent: &Agent) -> u32 {
    use cmux_core::agent::LifeState;
    match agent.present_life().map(|life| &life.state) {
        Some(LifeState::Alive { process, .. } | LifeState::Ending { process, .. }) => process.pid,
        Some(LifeState::Launching | LifeState::Ended { .. } | LifeState::Over) | None => 0,
    }
}

fn unseen(error: &TmuxError) -> Oops {
    Oops::new(StatusCode::SERVICE_UNAVAILABLE, "terminal-unseen", error.to_string())
}

/// Says that the terminal of an adopted agent is not streamed: to do so changes the tmux that it is in.
fn unstreamed(agent: &Agent) -> Oops {
    let name = &agent.name;
    let detail = format!(
        "`{name}` was adopted and lives in your own tmux, in which cmux changes nothing, so its terminal \
         cannot be followed here: `cmux agent output {name}` shows it, `cmux agent attach {name}` goes \
         there"
    );
    Oops::new(StatusCode::CONFLICT, "adopted", detail)
}

fn say(seen: &Screen, lines: Option<u32>) -> wire::Terminal {
    let text = String::from_utf8_lossy(&seen.content);
    let all: Vec<&str> = text.lines().collect();
    let used = all.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
    let wanted = lines.and_then(|lines| usize::try_from(lines).ok());
    let shown = match wanted {
        Some(wanted) => &all[used.saturating_sub(wanted)..used],
        None => &all[..],
    };
    wire::Terminal {
        content: shown.iter().flat_map(|line| [line, "\n"]).collect(),
        cursor: [seen.cursor.0, seen.cursor.1],
        size: [seen.size.columns, seen.size.rows],
    }
}

pub(crate) async fn follow(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(name): Named<String>,
    Query(following): Query<Following>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Oops> {
    let is_told = following.told == Some(true);
    // What makes no sense is refused here as it is elsewhere.
    let agent = find(&app, &caller, &name, &Where { project: following.project }).await?;
    let upgrade = upgrade
        .map_err(|why| Oops::new(StatusCode::UPGRADE_REQUIRED, "no-websocket", why.body_text()))?;
    let upgrade = upgrade
        .max_message_size(HEARD_MAX)
        .max_frame_size(HEARD_MAX)
        .write_buffer_size(0)
        .max_write_buffer_size(64 << 20);
    let (closing, counted) = (app.ways_out.closing.clone(), app.ways_out.clients.clone());
    let (stream, home) = match begin(&app, &agent, is_told).await {
        Ok(watched) => watched,
        Err(why) if is_told => {
            return Ok(upgrade.on_upgrade(move |socket| refuse(socket, why, counted)));
        }
        Err(why) => return Err(why),
    };
    let readers = app.awakened().await?.readers.clone();
    Ok(upgrade.on_upgrade(move |socket| {
        let may_type = caller.0.may(Need::Person).is_ok();
        let (house, pane, process, run) = home;
        let (borrower, borrows) = (Borrower::new(), false);
        let typist = Typist { house, pane, process, run, may_type, typed: 0, borrower, borrows };
        let caller = caller.0;
        let heard_at = Instant::now();
        let showing =
            Showing { socket, stream, typist, readers, caller, closing, is_told, heard_at };
        showing.show(counted)
    }))
}

/// Where an agent's terminal is, with the process and the run that is in it.
type Home = (House, PaneId, u32, RunId);

/// Begins to watch an agent's terminal.
async fn begin(app: &App, agent: &Agent, is_told: bool) -> Result<(Stream, Home), Oops> {
    let home = home_of(app, agent).await?;
    let (house, pane, ..) = &home;
    if house.is_persons() {
        return Err(unstreamed(agent));
    }
    let history = if is_told { HISTORY_OF_PAGES } else { HISTORY };
    let stream = Stream::open(house.server(), *pane, history, ANSWER_WITHIN).await;
    Ok((stream.map_err(|error| unseen(&error))?, home))
}

/// Says to a page why there is no terminal.
async fn refuse(mut socket: WebSocket, why: Oops, counted: mpsc::Sender<()>) {
    let (status, slug) = why.named();
    let told = CloseFrame { code: TOLD + status, reason: slug.into() };
    let _ = timeout(ACCEPT_WITHIN, socket.send(Message::Close(Some(told)))).await;
    drop(counted);
}

/// One client, being shown a terminal.
struct Showing {
    socket: WebSocket,
    stream: Stream,
    typist: Typist,
    readers: Readers,
    caller: Principal,
    closing: watch::Receiver<bool>,
    /// Whether the size is told before each whole screen.
    is_told: bool,
    /// When the client was last heard of.
    heard_at: Instant,
}

impl Showing {
    async fn show(mut self, counted: mpsc::Sender<()>) {
        let mut check = interval_at(Instant::now() + CHECK_EVERY, CHECK_EVERY);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (code, reason) = loop {
            let ended = tokio::select! {
                () = closed(self.closing.clone()) => Some((close_code::AWAY, "cmux is stopping".to_owned())),
                heard = self.socket.next() => self.hear(heard).await,
                piece = self.stream.next() => match piece {
                    Ok(piece) => self.tell(piece).await,
                    Err(error) => Some((close_code::NORMAL, format!("the terminal is gone: {error}"))),
                },
                _ = check.tick() => self.check().await,
            };
            if let Some(ended) = ended {
                break ended;
            }
        };
        self.typist.give_back().await;
        let reason = reason.chars().take(100).collect::<String>().into();
        let last = self.socket.send(Message::Close(Some(CloseFrame { code, reason })));
        let _ = timeout(ACCEPT_WITHIN, last).await;
        drop(counted);
    }

    /// Does what the client says. Returns why that was the last, if it was.
    async fn hear(&mut self, heard: Option<Result<Message, axum::Error>>) -> Option<(u16, String)> {
        let ended = match heard {
            Some(Ok(Message::Text(text))) => self.typist.hear(&text).await.err(),
            Some(Ok(Message::Close(_)) | Err(_)) | None => {
                Some((close_code::NORMAL, String::new()))
            }
            Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_))) => None,
        };
        self.heard_at = Instant::now();
        ended
    }

    /// Shows what is seen next. Returns why that was the last, if it was.
    async fn tell(&mut self, piece: Piece) -> Option<(u16, String)> {
        let bytes = match piece {
            Piece::Screen(screen) => {
                if self.is_told {
                    let Size { columns, rows } = screen.size;
                    if let Some(last) = self.say(&TerminalTold::Size([columns, rows])).await {
                        return Some(last);
                    }
                }
                whole(&screen)
            }
            Piece::Bytes(bytes) => bytes,
        };
        self.send(Message::Binary(Bytes::from(bytes))).await
    }

    /// Tells the page something. Returns why that was the last, if it was.
    async fn say(&mut self, told: &TerminalTold) -> Option<(u16, String)> {
        let told = serde_json::to_string(told).unwrap_or_default();
        self.send(Message::Text(told.into())).await
    }

    /// Sends something. Returns why that was the last, if it was.
    async fn send(&mut self, message: Message) -> Option<(u16, String)> {
        match timeout(ACCEPT_WITHIN, self.socket.send(message)).await {
            Ok(Ok(())) => None,
            Ok(Err(_)) => Some((close_code::NORMAL, String::new())),
            Err(_) => Some((close_code::AGAIN, "too slow".to_owned())),
        }
    }

    /// Returns that the client may not watch any more or is not there, if that is so.
    async fn check(&mut self) -> Option<(u16, String)> {
        let (caller, now) = (self.caller.clone(), clock::wall());
        let found = self.readers.read(move |view| is_let_in(view, &caller, now)).await;
        // A store that cannot be read now may be read at the next look.
        let is_in = found.unwrap_or(true);
        if !is_in {
            return Some((close_code::POLICY, "no longer let in".to_owned()));
        }
        // A program that only reads may take its time.
        if !self.is_told && !self.typist.borrows {
            return None;
        }
        if self.heard_at.elapsed() > SILENT_MAX {
            return Some((close_code::AGAIN, "not heard of".to_owned()));
        }
        let asked = self.send(Message::Ping(Bytes::new())).await;
        if asked.is_some() || !self.is_told {
            return asked;
        }
        self.say(&TerminalTold::Alive(true)).await
    }
}

/// Returns what draws a whole screen on a terminal, whatever was there.
fn whole(screen: &Screen) -> Vec<u8> {
    let mut bytes = b"\x1b[0m\x1b[H\x1b[2J\x1b[3J".to_vec();
    let content = screen.content.strip_suffix(b"\n").unwrap_or(&screen.content);
    for (number, line) in content.split(|&byte| byte == b'\n').enumerate() {
        if number > 0 {
            bytes.extend(b"\r\n");
        }
        bytes.extend(line);
    }
    let (column, row) = (screen.cursor.0 + 1, screen.cursor.1 + 1);
    bytes.extend(format!("\x1b[0m\x1b[{row};{column}H").as_bytes());
    bytes
}

/// Who types what a client says.
struct Typist {
    house: House,
    pane: PaneId,
    process: u32,
    run: RunId,
    may_type: bool,
    typed: u64,
    /// Who this is for whom the size of the pane is changed, and whether it was.
    borrower: Borrower,
    borrows: bool,
}

impl Typist {
    /// Does what a client says. What makes no sense, or is not the client's to say, ends the talk.
    async fn hear(&mut self, text: &str) -> Result<(), (u16, String)> {
        let said: TerminalSaid = serde_json::from_str(text).map_err(|_| {
            let what = "say {\"input\":\"…\"}, {\"resize\":[columns,rows]} or {\"restore\":true}"
                .to_owned();
            (close_code::UNSUPPORTED, what)
        })?;
        if !self.may_type {
            return Err((close_code::POLICY, "only a person may type here".to_owned()));
        }
        if let Some([columns, rows]) = said.resize {
            if !COLUMNS.contains(&columns) || !ROWS.contains(&rows) {
                return Err((close_code::UNSUPPORTED, "there is no such size".to_owned()));
            }
            self.resize(Size { columns, rows }).await;
        }
        if said.restore == Some(true) {
            self.give_back().await;
        }
        for piece in said.input.unwrap_or_default().as_bytes().chunks(TYPED_MAX) {
            self.input(piece).await;
        }
        Ok(())
    }

    async fn resize(&mut self, size: Size) {
        self.borrows = true;
        let (pane, borrower) = (self.pane, self.borrower);
        let resized = match self.house.control().await {
            Ok(control) => loan::lend(&control, pane, borrower, size, ANSWER_WITHIN).await,
            Err(error) => Err(error),
        };
        if let Err(error) = resized {
            debug!(%error, "a terminal was not resized");
        }
    }

    /// Has the pane be as large as it was before its size was borrowed.
    async fn give_back(&mut self) {
        if !std::mem::take(&mut self.borrows) {
            return;
        }
        let given = match self.house.control().await {
            Ok(control) => loan::give_back(&control, self.pane, self.borrower, ANSWER_WITHIN).await,
            Err(error) => Err(error),
        };
        if let Err(error) = given {
            debug!(%error, "a terminal was not given its size back");
        }
    }

    async fn input(&mut self, bytes: &[u8]) {
        self.typed += 1;
        let step = Step {
            pane: self.pane,
            pane_pid: self.process,
            run: self.run,
            token: format!("typed-{}", self.typed),
            deadline: SystemTime::now() + ANSWER_WITHIN,
            untouched_since: None,
            what: What::Typed(bytes.to_vec()),
        };
        let taken = match self.house.control().await {
            Ok(control) => {
                step.take(&control, ANSWER_WITHIN).await.map(|outcome| format!("{outcome:?}"))
            }
            Err(error) => Err(error),
        };
        debug!(?taken, "a person typed");
    }
}
