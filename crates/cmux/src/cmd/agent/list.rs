//! `cmux agent list`: the team, those first who need somebody.

use std::io;

use clap::Args;
use cmux_wire::agent::{Agent, Agents, Phase};
use cmux_wire::client::Client;
use unicode_width::UnicodeWidthStr;

use crate::cmd::agent::find::{Within, all};
use crate::cmd::agent::show::{mail, phase_for, spent, tone};
use crate::fail::Fail;
use crate::place;
use crate::say::{Cell, Say, Tone, cut, plain, toned, width};

/// The least of a reason that is worth showing, in columns.
const REASON_MIN: usize = 12;

/// The rank of those who need nobody.
const OTHERS: u8 = 3;

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    within: Within,
    /// Those of all projects
    #[arg(long, conflicts_with = "project")]
    all: bool,
}

impl List {
    pub(crate) async fn run(self, client: &Client, say: Say) -> Result<(), Fail> {
        let project = if self.all {
            None
        } else {
            let found = place::project_id(client, self.within.project.as_deref()).await;
            Some(found.map_err(suggest_all)?)
        };
        let mut agents = all(client, project.as_deref()).await?;
        agents.sort_by(|a, b| order(a).cmp(&order(b)));
        say.show(&Agents { agents, next: None }, |it| tell(&it.agents, self.all, say))
    }
}

fn suggest_all(fail: Fail) -> Fail {
    let hint = fail.hint.as_deref().map_or_else(String::new, |hint| format!("{hint}; "));
    Fail {
        hint: Some(format!("{hint}`cmux agent list --all` lists agents wherever they are")),
        ..fail
    }
}

/// Returns by what agents are sorted: those who need a person first, then supervisors, then by name.
pub(crate) fn order(agent: &Agent) -> (u8, &str, bool, &str) {
    let rank = match agent.phase {
        Phase::Failed => 0,
        Phase::Asking => 1,
        Phase::Limited => 2,
        Phase::Offline | Phase::Starting | Phase::Idle | Phase::Busy | Phase::Down => OTHERS,
    };
    (rank, &agent.project, agent.role != "supervisor", &agent.name)
}

/// Returns whether an agent gets no further without somebody.
pub(crate) fn needs_person(agent: &Agent) -> bool {
    order(agent).0 < OTHERS
}

fn tell(agents: &[Agent], with_project: bool, say: Say) -> String {
    if agents.is_empty() {
        return "no agents yet: `cmux agent spawn NAME` launches one".to_owned();
    }
    let rows: Vec<Vec<Cell>> = agents.iter().map(|agent| row(agent, with_project)).collect();
    say.table(&fit(rows, width(&io::stdout())))
}

fn row(agent: &Agent, with_project: bool) -> Vec<Cell> {
    let project = with_project.then(|| plain(&agent.project));
    let pid = agent.pid.map_or_else(String::new, |pid| format!("pid {pid}"));
    let cells = [
        toned(&agent.name, Tone::Strong),
        plain(&agent.role),
        plain(&agent.kind),
        toned(phase_for(agent), tone(agent)),
        plain(mail(agent)),
        toned(spent(agent), Tone::Faint),
        toned(pid, Tone::Faint),
        plain(agent.reason.as_deref().unwrap_or_default()),
    ];
    project.into_iter().chain(cells).collect()
}

/// Cuts the last cell of each row to what is left of `width`, if that is known.
fn fit(mut rows: Vec<Vec<Cell>>, width: Option<usize>) -> Vec<Vec<Cell>> {
    let Some(width) = width else { return rows };
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|(text, _)| text.width()).max().unwrap_or(0)
    };
    let taken: usize = (0..columns.saturating_sub(1)).map(|column| widest(column) + 2).sum();
    let room = width.saturating_sub(taken).max(REASON_MIN);
    for (text, _) in rows.iter_mut().filter_map(|row| row.last_mut()) {
        *text = cut(text, room);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::agent::show::tests::agent;

    #[test]
    fn those_who_need_a_person_come_first_then_the_supervisor_then_the_others_by_name() {
        let named = |name: &str, role: &str, phase| Agent {
            name: name.to_owned(),
            role: role.to_owned(),
            phase,
            ..agent()
        };
        let mut agents = [
            named("b", "worker", Phase::Busy),
            named("a", "worker", Phase::Down),
            named("boss", "supervisor", Phase::Idle),
            named("y", "worker", Phase::Limited),
            named("x", "worker", Phase::Failed),
            named("z", "worker", Phase::Asking),
        ];
        agents.sort_by(|a, b| order(a).cmp(&order(b)));
        let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(names, ["x", "z", "y", "boss", "a", "b"]);
    }

    #[test]
    fn a_reason_has_the_room_that_is_left() {
        let rows = || vec![vec![plain("name"), plain("a long reason indeed")]];
        let reason = |width| fit(rows(), width).remove(0).remove(1).0;
        assert_eq!(reason(None), "a long reason indeed");
        assert_eq!(reason(Some(80)), "a long reason indeed");
        assert_eq!(reason(Some(20)), "a long reason…");
        // A terminal that narrow breaks the line.
        assert_eq!(reason(Some(3)), "a long reas…");
    }

    #[test]
    fn what_an_agent_says_plays_no_tricks() {
        let reason = Some("\u{1b}[2J".to_owned());
        let told = tell(&[Agent { reason, ..agent() }], true, Say::new(false));
        assert!(told.starts_with("shop  worker  worker  demo  offline for "), "{told}");
        assert!(!told.contains('\u{1b}'), "{told}");
    }
}
