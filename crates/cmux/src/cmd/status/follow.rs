//! `cmux status -f`: how everything is, as it changes. A person has it on a screen of its own, which is
//! drawn over; whoever reads it elsewhere gets it anew each time that something is different.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use cmux_wire::client::{Client, ClientError, EventQuery};
use cmux_wire::daemon::Status as Glance;
use cmux_wire::stream::Stream;
use rustix::termios::tcgetwinsize;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::tell;
use crate::cmd::events::passes;
use crate::fail::Fail;
use crate::say::{Say, aside};

/// How often it is looked at if nothing is told: how long things are as they are is shown, too.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often at most.
const LOOK_APART: Duration = Duration::from_millis(200);

/// How long a daemon may be away. Its guard starts it again sooner than that.
const AWAY_MAX: Duration = Duration::from_secs(5);

/// Takes a screen of its own, in which long lines are cut; and gives it back.
const TAKE: &str = "\u{1b}[?1049h\u{1b}[?7l\u{1b}[?25l";
const GIVE_BACK: &str = "\u{1b}[?25h\u{1b}[?7h\u{1b}[?1049l";

/// How many rows a terminal has that does not tell.
const USUAL_ROWS: usize = 24;

const LEAVE: &str = "Ctrl-C leaves, and all goes on; `cmux down` stops this project's agents";

/// Shows how everything is until the person has seen enough, or no daemon is there any more.
pub(super) async fn follow(client: &Client, say: Say) -> Result<(), Fail> {
    let mut status = client.status().await?;
    let mut stops = Stops::new()?;
    let screen = (!say.json && io::stdout().is_terminal()).then(Screen::take);
    let (mut log, mut shown) = (None, None);
    let is_over = loop {
        match &screen {
            Some(Screen) => draw(&tell(&status, say)),
            None => show_if_new(&status, &mut shown, say)?,
        }
        let seen = tokio::select! {
            () = stops.next() => break false,
            seen = next(client, &mut log) => seen,
        };
        match seen {
            Ok(seen) => status = seen,
            Err(error) if passes(&error) => break true,
            Err(error) => return Err(error.into()),
        }
    };
    if screen.is_some() {
        drop(screen);
        say.line(tell(&status, say).trim_end())?;
    }
    if is_over {
        aside("the daemon has stopped, and this was the last that was seen");
    }
    Ok(())
}

/// Waits until something is told or it is time to look again, and returns how everything is then.
async fn next(client: &Client, log: &mut Option<Stream>) -> Result<Glance, ClientError> {
    let again_at = Instant::now() + LOOK_EVERY;
    sleep(LOOK_APART).await;
    if log.is_none() {
        let opened = timeout(LOOK_EVERY, client.follow(&EventQuery::default())).await;
        *log = opened.ok().and_then(Result::ok);
    }
    let told = async {
        match log {
            Some(log) => log.next().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        told = told => if matches!(told, Ok(None) | Err(_)) { *log = None },
        () = sleep_until(again_at) => {}
    }
    let begun = Instant::now();
    loop {
        match client.status().await {
            Err(error) if passes(&error) && begun.elapsed() < AWAY_MAX => sleep(LOOK_APART).await,
            seen => return seen,
        }
    }
}

/// Says how everything is, unless that was said. What only counts up does not make it new.
fn show_if_new(status: &Glance, shown: &mut Option<String>, say: Say) -> Result<(), Fail> {
    let new = essence(status);
    if shown.as_ref() == Some(&new) {
        return Ok(());
    }
    if shown.is_some() && !say.json {
        say.line("")?;
    }
    *shown = Some(new);
    say.show(status, |it| tell(it, say))
}

fn essence(status: &Glance) -> String {
    let agents = status.agents.iter();
    let agents: Vec<_> =
        agents.map(|it| (&it.id, it.phase, it.intent, &it.run, &it.reason, it.queue)).collect();
    let (daemon, store) = (&status.daemon, &status.store);
    let parts = (daemon.pid, daemon.ready, &daemon.safe_mode, &store.why, store.notices.len());
    format!("{agents:?} {parts:?} {:?}", status.projects)
}

/// What asks it to end.
struct Stops {
    interrupt: Signal,
    terminate: Signal,
}

impl Stops {
    fn new() -> Result<Stops, Fail> {
        let listen = |kind| signal(kind).map_err(|error| Fail::failed(error.to_string()));
        let interrupt = listen(SignalKind::interrupt())?;
        Ok(Stops { interrupt, terminate: listen(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// The person's terminal, while it is drawn over. It is as it was when this is dropped.
struct Screen;

impl Screen {
    fn take() -> Screen {
        write(TAKE);
        Screen
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        write(GIVE_BACK);
    }
}

/// Draws as much of `text` as there is room for, and below it how to leave.
fn draw(text: &str) {
    let rows = tcgetwinsize(io::stdout()).map_or(0, |size| usize::from(size.ws_row));
    write(&drawn(text, if rows == 0 { USUAL_ROWS } else { rows }));
}

/// Returns what draws `text` over what is on a screen of so many rows.
fn drawn(text: &str, rows: usize) -> String {
    let lines = text.trim_end().lines().take(rows.saturating_sub(2)).chain(["", LEAVE]);
    let lines: Vec<String> = lines.map(|line| format!("{line}\u{1b}[K")).collect();
    format!("\u{1b}[H{}\u{1b}[J", lines.join("\r\n"))
}

/// Writes to the terminal. One that is gone sees nothing.
fn write(text: &str) {
    let mut place = io::stdout().lock();
    let _ = place.write_all(text.as_bytes()).and_then(|()| place.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_drawn_than_there_is_room_for_and_how_to_leave_is_always_seen() {
        let text = "one\ntwo\nthree\nfour\n";
        for (rows, expected) in [(24, 4), (6, 4), (5, 3), (3, 1), (2, 0), (0, 0)] {
            let drawn = drawn(text, rows);
            let lines: Vec<&str> = drawn.split("\r\n").collect();
            assert_eq!(lines.len(), expected + 2, "{rows}: {drawn:?}");
            assert!(lines.last().unwrap().contains("Ctrl-C leaves"), "{drawn:?}");
        }
    }
}
