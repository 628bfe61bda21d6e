//! Panes: which there are, whose they are, and how they fare.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use cmux_core::id::{AgentId, RunId};

use super::command::Command;
use super::control::Control;
use super::{TmuxError, shorten};

/// The pane option that lists the guarded steps which were done in a pane: see [`super::guard`].
pub(super) const STEPS: &str = "@cmux_dlv";

/// A pane, for one life of its server. No other has it in that life, even after it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaneId(pub u32);

impl fmt::Display for PaneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// Text that should have been a pane's id.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a pane of the form `%5`")]
pub struct BadPaneId(String);

impl FromStr for PaneId {
    type Err = BadPaneId;

    fn from_str(text: &str) -> Result<PaneId, BadPaneId> {
        let number = text.strip_prefix('%').filter(|it| it.bytes().all(|it| it.is_ascii_digit()));
        number
            .and_then(|number| number.parse().ok())
            .map(PaneId)
            .ok_or_else(|| BadPaneId(shorten(text)))
    }
}

/// Whose a pane is. A pane has these from its birth on, and one without them is nobody's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tags {
    pub agent: AgentId,
    pub run: RunId,
    pub name: String,
    pub kind: String,
}

/// A pane as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pane {
    pub id: PaneId,
    /// The process that was started in it. Some versions forget it when it has ended.
    pub pid: Option<u32>,
    pub life: Life,
    /// A person scrolls in it, or chooses something: what is typed does not reach the program.
    pub is_in_mode: bool,
    pub is_input_off: bool,
    pub title: String,
    pub tags: Option<Tags>,
    pub size: Size,
    /// The column and the row that the cursor is in, from nought.
    pub cursor: (u32, u32),
    /// When its program last wrote something, in seconds since 1970.
    pub active_s: u64,
    /// The guarded steps that were done in it last, newest first.
    pub steps: Vec<String>,
}

/// Whether the program in a pane still runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Life {
    Running,
    Exited {
        code: i32,
    },
    /// A signal ended it, called by its name or number.
    Killed {
        signal: String,
    },
    /// It has ended, and how is not known yet. Where tmux never tells (3.2, of signals), it stays so.
    Ended,
}

/// How large a pane is, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub columns: u32,
    pub rows: u32,
}

/// What is asked of each pane, in the order in which it is parsed.
///
/// What others choose has no control characters in it, so that no title can look like another pane.
const FIELDS: [&str; 18] = [
    "#{pane_id}",
    "#{pane_pid}",
    "#{?pane_dead,1,0}",
    "#{pane_dead_status}",
    "#{pane_dead_signal}",
    "#{?pane_in_mode,1,0}",
    "#{?pane_input_off,1,0}",
    "#{pane_width}",
    "#{pane_height}",
    "#{cursor_x}",
    "#{cursor_y}",
    "#{window_activity}",
    "#{s/[\u{1}-\u{1f}\u{7f}]/ /:@cmux_agent}",
    "#{s/[\u{1}-\u{1f}\u{7f}]/ /:@cmux_run}",
    "#{s/[\u{1}-\u{1f}\u{7f}]/ /:@cmux_name}",
    "#{s/[\u{1}-\u{1f}\u{7f}]/ /:@cmux_kind}",
    "#{s/[\u{1}-\u{1f}\u{7f}]/ /:@cmux_dlv}",
    "#{s/[\u{1}-\u{1f}\u{7f}]/ /:pane_title}",
];

/// Looks at all panes of a server.
pub async fn survey(control: &Control, within: Duration) -> Result<Vec<Pane>, TmuxError> {
    let look = Command::new("list-panes").flag("-a").with("-F", &FIELDS.join("\t"));
    let panes = parse(&control.command(&look, within).await?.text())?;
    if panes.iter().any(|pane| pane.life == Life::Ended) {
        // The next survey tells how.
        control.nudge();
    }
    Ok(panes)
}

/// Reads a whole survey, or nothing of it: half of one would make panes look absent.
fn parse(text: &str) -> Result<Vec<Pane>, TmuxError> {
    let mut seen = BTreeSet::new();
    let mut panes = Vec::new();
    for line in text.lines() {
        let pane = parse_pane(line).ok_or_else(|| TmuxError::Garbled(shorten(line)))?;
        // A pane that is watched is in two sessions.
        if seen.insert(pane.id) {
            panes.push(pane);
        }
    }
    Ok(panes)
}

fn parse_pane(line: &str) -> Option<Pane> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [id, pid, dead, code, signal, mode, input_off, columns, rows, x, y, active, rest @ ..] =
        &fields[..]
    else {
        return None;
    };
    let [agent, run, name, kind, steps, title] = rest else { return None };
    Some(Pane {
        id: id.parse().ok()?,
        pid: if pid.is_empty() { None } else { Some(pid.parse().ok()?) },
        life: parse_life(parse_flag(dead)?, code, signal)?,
        is_in_mode: parse_flag(mode)?,
        is_input_off: parse_flag(input_off)?,
        title: (*title).to_owned(),
        tags: parse_tags(agent, run, name, kind),
        size: Size { columns: columns.parse().ok()?, rows: rows.parse().ok()? },
        cursor: (x.parse().ok()?, y.parse().ok()?),
        active_s: active.parse().ok()?,
        steps: steps.split('|').filter(|it| !it.is_empty()).map(ToOwned::to_owned).collect(),
    })
}

fn parse_flag(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

fn parse_life(is_dead: bool, code: &str, signal: &str) -> Option<Life> {
    match (is_dead, code, signal) {
        (false, _, _) => Some(Life::Running),
        (true, "", "") => Some(Life::Ended),
        (true, "", signal) => Some(Life::Killed { signal: signal.to_owned() }),
        (true, code, _) => Some(Life::Exited { code: code.parse().ok()? }),
    }
}

/// Reads whose a pane is. What only looks like tags makes it nobody's.
fn parse_tags(agent: &str, run: &str, name: &str, kind: &str) -> Option<Tags> {
    let (agent, run) = (agent.parse().ok()?, run.parse().ok()?);
    let is_named = !name.is_empty() && !kind.is_empty();
    is_named.then(|| Tags { agent, run, name: name.to_owned(), kind: kind.to_owned() })
}

/// Ends a pane and all that runs in it, and forgets how it ended.
pub async fn kill(control: &Control, pane: PaneId, within: Duration) -> Result<(), TmuxError> {
    let kill = Command::new("kill-pane").with("-t", &pane.to_string());
    control.command(&kill, within).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const AGENT: &str = "agt_00000000000000000000000001";
    const RUN: &str = "run_00000000000000000000000002";

    #[test]
    fn a_pane_is_called_by_its_number() {
        assert_eq!("%17".parse(), Ok(PaneId(17)));
        assert_eq!(PaneId(17).to_string(), "%17");
        for bad in ["", "%", "17", "%-1", "%+1", "%1 ", "@1", "%99999999999", "%1x"] {
            assert!(bad.parse::<PaneId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_end_of_a_pane_is_read() {
        for (dead, code, signal, expected) in [
            ("0", "", "", Some(Life::Running)),
            ("1", "7", "", Some(Life::Exited { code: 7 })),
            ("1", "", "9", Some(Life::Killed { signal: "9".into() })),
            ("1", "", "KILL", Some(Life::Killed { signal: "KILL".into() })),
            ("1", "", "", Some(Life::Ended)),
            ("1", "seven", "", None),
            ("2", "", "", None),
            ("", "", "", None),
        ] {
            let line = row(&[(2, dead), (3, code), (4, signal)]);
            assert_eq!(parse_pane(&line).map(|pane| pane.life), expected, "{line}");
        }
    }

    #[test]
    fn only_whole_tags_make_a_pane_somebodys() {
        let run: RunId = RUN.parse().unwrap();
        check_tags(&[], Some(run));
        check_tags(&[(12, "")], None);
        check_tags(&[(13, AGENT)], None);
        check_tags(&[(14, "")], None);
        check_tags(&[(15, "")], None);
        check_tags(&[(14, "a name: with | things")], Some(run));
    }

    #[test]
    fn a_survey_is_read_whole_or_not_at_all() {
        let two = format!("{}\n{}\n", row(&[]), row(&[(0, "%6"), (1, "")]));
        let panes = parse(&two).unwrap();
        assert_eq!(
            panes.iter().map(|it| (it.id.0, it.pid)).collect::<Vec<_>>(),
            [(5, Some(99)), (6, None)]
        );
        assert_eq!(panes[0].steps, ["b.2", "a.1"]);
        assert_eq!(parse(&format!("{two}{two}")).unwrap(), panes);
        assert_eq!(parse("").unwrap(), []);
        for bad in ["", "%5", &row(&[(0, "5")]), &row(&[(7, "wide")]), &format!("{}\tx", row(&[]))]
        {
            let read = parse(&format!("{two}{bad}\n"));
            assert!(matches!(read, Err(TmuxError::Garbled(_))), "{bad}: {read:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange_to_be_refused(text in any::<String>()) {
            let _ = parse(&text);
        }
    }

    /// Checks whose a pane is whose fields differ from the usual.
    #[track_caller]
    fn check_tags(fields: &[(usize, &str)], expected: Option<RunId>) {
        let pane = parse_pane(&row(fields)).unwrap();
        assert_eq!(pane.tags.map(|tags| tags.run), expected);
    }

    /// Returns the usual line of a survey, with some fields changed.
    fn row(changes: &[(usize, &str)]) -> String {
        let mut fields = [
            "%5",
            "99",
            "0",
            "",
            "",
            "0",
            "0",
            "200",
            "50",
            "0",
            "1",
            "1700000000",
            AGENT,
            RUN,
            "api",
            "claude",
            "|b.2|a.1|",
            "a title",
        ];
        for &(index, value) in changes {
            fields[index] = value;
        }
        fields.join("\t")
    }
}
