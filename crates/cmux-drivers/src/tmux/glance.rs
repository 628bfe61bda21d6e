//! A glance at one pane: its screen, what was done in it, and whether a person is at it, all at one moment.

use std::time::Duration;

use cmux_core::id::RunId;

use super::client::Reply;
use super::command::Command;
use super::control::Control;
use super::pane::PaneId;
use super::screen::{self, Colours, Screen};
use super::{TmuxError, shorten};

/// The pane option that tells when a person last typed in it by way of cmux.
pub(super) const TYPED: &str = "@cmux_typed";

/// What is asked of the pane besides its screen, in the order in which it is parsed.
const FIELDS: [&str; 9] = [
    "#{?pane_dead,1,0}",
    "#{pane_pid}",
    "#{?pane_in_mode,1,0}",
    "#{?pane_input_off,1,0}",
    "#{session_activity}",
    "#{window_activity}",
    "#{s/[^0-9]//:@cmux_typed}",
    "#{s/[\u{1}-\u{1f}\u{7f}]/ /:@cmux_run}",
    "#{s/[\u{1}-\u{1f}\u{7f}]/ /:@cmux_dlv}",
];

/// What is asked of each client.
const CLIENT: &str = "#{?client_control_mode,1,0} #{client_activity} #{pane_id}";

/// A pane as it was at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glance {
    pub screen: Screen,
    pub is_dead: bool,
    pub pid: Option<u32>,
    pub run: Option<RunId>,
    /// A person scrolls in it, or chooses something.
    pub is_in_mode: bool,
    pub is_input_off: bool,
    /// The guarded steps that were done in it last, newest first.
    pub steps: Vec<String>,
    /// By what it is known again whether a person has typed since.
    pub touch: Touch,
    /// When a person last typed in it, in seconds since 1970, …
    pub person_s: Option<u64>,
    /// … and when its program last wrote something.
    pub written_s: u64,
}

/// When somebody last touched a key, as far as it can concern a pane: in any session that shows it, or by
/// way of cmux. As long as it is the same, nobody has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touch {
    pub(super) session_s: u64,
    pub(super) typed_s: u64,
}

/// Glances at a pane.
pub async fn glance(
    control: &Control,
    pane: PaneId,
    within: Duration,
) -> Result<Glance, TmuxError> {
    let target = pane.to_string();
    let about = Command::new("display-message").with("-t", &target).with("-p", &FIELDS.join("\t"));
    let clients = Command::new("list-clients").with("-F", CLIENT);
    let look = about.then(clients).then(screen::look(pane, 0, Colours::Without));
    let reply = control.command(&look, within).await?;
    parse(&reply, pane).ok_or_else(|| {
        let said = String::from_utf8_lossy(reply.first()).into_owned();
        TmuxError::Garbled(shorten(&said))
    })
}

fn parse(reply: &Reply, pane: PaneId) -> Option<Glance> {
    let said = String::from_utf8_lossy(reply.first()).into_owned();
    let fields: Vec<&str> = said.trim_end_matches('\n').split('\t').collect();
    let [dead, pid, mode, input_off, session, written, typed, run, steps] = fields[..] else {
        return None;
    };
    let typed_s = typed.parse().unwrap_or(0);
    let clients = String::from_utf8_lossy(reply.second()).into_owned();
    let client_s = clients.lines().filter_map(|line| at_pane(line, pane)).max();
    Some(Glance {
        screen: screen::parse(reply).ok()?,
        is_dead: dead == "1",
        pid: pid.parse().ok(),
        run: run.parse().ok(),
        is_in_mode: mode == "1",
        is_input_off: input_off == "1",
        steps: steps.split('|').filter(|it| !it.is_empty()).map(ToOwned::to_owned).collect(),
        touch: Touch { session_s: session.parse().ok()?, typed_s },
        person_s: client_s.max(Some(typed_s).filter(|&it| it > 0)),
        written_s: written.parse().ok()?,
    })
}

/// Returns when the person at this client last touched a key, if the client shows the pane.
fn at_pane(line: &str, pane: PaneId) -> Option<u64> {
    let mut words = line.split(' ');
    let (is_control, active) = (words.next()? != "0", words.next()?);
    let shown: PaneId = words.next()?.parse().ok()?;
    let active = active.parse().ok()?;
    (!is_control && shown == pane).then_some(active)
}

/// Returns what tells that nobody has touched a key since `touch`, as conditions of tmux.
pub(super) fn untouched(touch: Touch) -> String {
    let Touch { session_s, typed_s } = touch;
    let typed = if typed_s == 0 { String::new() } else { typed_s.to_string() };
    let session = format!("#{{==:#{{session_activity}},{session_s}}}");
    let typed = format!("#{{==:#{{{TYPED}}},{typed}}}");
    format!("#{{&&:{session},{typed}}}")
}
