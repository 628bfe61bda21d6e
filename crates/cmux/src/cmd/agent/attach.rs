//! `cmux agent attach`: an agent's window, in the person's terminal.
//!
//! The window is shown in a session of its own that it is linked into, and keeps its size: for the agent
//! and for whoever else looks, nothing changes. The session ends with the visit.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Args;
use cmux_drivers::tmux::version;
use cmux_wire::agent::Place;
use cmux_wire::client::Client;

use crate::cmd::agent::find::Called;
use crate::fail::{Code, Fail};
use crate::say::{Say, aside};

/// The prefix of cmux's own servers, as tmux calls it.
const PREFIX: &str = "C-b";

#[derive(Debug, Args)]
pub(crate) struct Attach {
    #[command(flatten)]
    called: Called,
}

impl Attach {
    /// Waits for the person and nothing else meanwhile: there is nothing else to do.
    pub(crate) async fn run(self, client: &Client, say: Say) -> Result<(), Fail> {
        let agent = self.called.find(client).await?;
        let is_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
        if !is_terminal && !say.json {
            return Err(no_terminal(&agent.name));
        }
        let place = client.place(&agent.id, None).await?;
        if say.json {
            return say.json(&place);
        }
        let around = env::var_os("TMUX").filter(|it| !it.is_empty());
        if around.as_deref().and_then(|it| socket(it.to_str()?)) == Some(&place.server) {
            let what = "this terminal is in the agent's own tmux server";
            return Err(Fail::new(Code::Refused, what).hint("attach from another one"));
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let tmux = version::find(&path).map_err(|error| Fail::failed(error.to_string()))?;
        let leave =
            leave(around.is_some().then(|| outer_prefix(&tmux.program)).flatten().as_deref());
        aside(&format!("{leave} leaves `{}` again; it goes on", agent.name));
        visit(&tmux.program, &place, &agent.name, leave)
    }
}

fn no_terminal(name: &str) -> Fail {
    Fail::new(Code::Refused, "there is no terminal to attach to: standard input or output is none")
        .hint(format!("`cmux agent output {name}` prints its screen, `--json` where it is in tmux"))
}

/// The run of a program of which only that is known, that it is below some agent.
const NOBODYS: &str = "run_00000000000000000000000000";

/// Shows the window, and returns when the person has left it.
fn visit(tmux: &Path, place: &Place, name: &str, leave: &str) -> Result<(), Fail> {
    let mut dice = [0; 8];
    getrandom::fill(&mut dice).map_err(|error| Fail::failed(error.to_string()))?;
    // A name of those that the daemon clears away, should this be killed.
    let session = format!("view-{:016x}", u64::from_ne_bytes(dice));
    let tell = |error: io::Error| Fail::failed(format!("tmux could not be run: {error}"));
    let ended = client(tmux, place).args(words(place, name, leave, &session)).status();
    let ended = ended.map_err(tell)?;
    // If its window has ended, so has the session.
    let mut clear = client(tmux, place);
    clear.args(["kill-session", "-t", &format!("={session}")]);
    let _ = clear.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if ended.success() {
        return Ok(());
    }
    Err(Fail::failed(format!("tmux could not show `{name}` ({ended})"))
        .hint(format!("`cmux agent show {name}` tells whether it still runs")))
}

/// Returns tmux, about to be run as a client of the agent's server. It starts none.
fn client(tmux: &Path, place: &Place) -> Command {
    let mut client = Command::new(tmux);
    client.arg("-N").arg("-S").arg(&place.server).env_remove("TMUX").env_remove("TMUX_PANE");
    // An agent can have a client that is attached become another program: that is not the person then.
    client.env("CMUX_RUN", NOBODYS);
    client
}

/// Returns what tmux is told: to make the session, link the window in its only place, and say in its
/// last line whose it is and how to leave.
fn words(place: &Place, name: &str, leave: &str, session: &str) -> Vec<OsString> {
    let target = format!("={session}:");
    let only = format!("{target}0");
    let line = format!("#[reverse] {name} #[noreverse]#[align=right]{leave} leaves ");
    let words = [
        // What runs in it first ends at once, and goes when the window comes.
        ["new-session", "-s", session, "-f", "ignore-size", "--", "true", "cmux"].as_slice(),
        // A size that does not count would count if nobody else's did.
        &[";", "set-option", "-w", "-t", &place.pane, "window-size", "manual"],
        &[";", "link-window", "-k", "-s", &place.pane, "-t", &only],
        &[";", "set-option", "-t", &target, "status", "on"],
        &[";", "set-option", "-t", &target, "status-format[0]", &line],
    ]
    .concat();
    words.into_iter().map(OsString::from).collect()
}

/// Returns which keys leave, for whoever is in another tmux with this prefix, if in any.
fn leave(outer: Option<&str>) -> &'static str {
    // The outer one takes its prefix for itself, and passes it on if it is pressed twice.
    if outer == Some(PREFIX) { "Ctrl-b Ctrl-b d" } else { "Ctrl-b d" }
}

/// Returns the prefix of the tmux that this runs in. One that does not tell has the usual one.
fn outer_prefix(tmux: &Path) -> Option<String> {
    let said = Command::new(tmux).args(["show-options", "-gv", "prefix"]).output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    Some(said.trim().to_owned()).filter(|it| !it.is_empty()).or_else(|| Some(PREFIX.to_owned()))
}

/// Returns the socket in what tmux sets `TMUX` to: `SOCKET,PID,SESSION`.
pub(crate) fn socket(variable: &str) -> Option<&str> {
    let (rest, _session) = variable.rsplit_once(',')?;
    let (socket, _pid) = rest.rsplit_once(',')?;
    Some(socket).filter(|socket| !socket.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_is_pressed_twice_in_a_tmux_that_has_the_same() {
        for (outer, expected) in
            [(None, "Ctrl-b d"), (Some("C-a"), "Ctrl-b d"), (Some("C-b"), "Ctrl-b Ctrl-b d")]
        {
            assert_eq!(leave(outer), expected);
        }
    }

    #[test]
    fn the_socket_is_told_apart_from_what_follows() {
        for (variable, expected) in [
            ("/tmp/tmux-1000/default,123,0", Some("/tmp/tmux-1000/default")),
            ("/a,b/c,1,2", Some("/a,b/c")),
            (",1,2", None),
            ("/tmp/x", None),
            ("", None),
        ] {
            assert_eq!(socket(variable), expected, "{variable}");
        }
    }
}
