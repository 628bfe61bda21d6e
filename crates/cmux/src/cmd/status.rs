//! `cmux status`: everything at a glance.

mod follow;

use clap::Args;
use cmux_wire::agent::Agent;
use cmux_wire::daemon::Status as Glance;
use cmux_wire::message::{MailCounts, MailStatus};
use cmux_wire::project::Project;

use crate::cli::{Common, wait};
use crate::cmd::agent::follow::is_gone;
use crate::cmd::agent::list::{needs_person, order};
use crate::cmd::agent::show::{mail, phase, phase_for, spent, tone, used};
use crate::fail::Fail;
use crate::place;
use crate::say::{Cell, Say, Tone, clean, count, cut, plain, size, span, toned};

/// How many of those who need somebody are named.
const NAMED_MAX: usize = 5;

/// How many agents of a project are shown, each by itself.
const SHOWN_MAX: usize = 10;

/// How much of a reason is shown, in columns.
const REASON_MAX: usize = 60;

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Go on and show how it changes, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
}

impl Status {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let home = place::home(common.home.as_deref())?;
        let client = place::glance(&home);
        wait(async {
            if self.follow {
                return follow::follow(&client, say).await;
            }
            say.show(&client.status().await?, |it| tell(it, say))
        })
    }
}

/// Returns `status` in words.
fn tell(status: &Glance, say: Say) -> String {
    let mut rows = vec![daemon_row(status), store_row(status), mail_row(status)];
    if status.usage.tokens > 0 {
        rows.push(vec![toned("used", Tone::Strong), plain(used(&status.usage))]);
    }
    rows.push(projects_row(status));
    let mut text = say.table(&rows);
    text += &projects(status, say);
    if let Some(why) = &status.daemon.safe_mode {
        text += &notice(say, &format!("safe mode, nothing can be changed: {why}"));
        text += "  look into the log, then `cmux daemon restart`\n";
    }
    for it in &status.store.notices {
        text += &notice(say, &it.text);
    }
    if let Some(address) = &status.daemon.address {
        text += &format!("\ndashboard  {}/\n", clean(address));
    }
    text
}

/// Returns each project with its agents below it.
fn projects(status: &Glance, say: Say) -> String {
    let of = |project: &Project| -> Vec<&Agent> {
        status.agents.iter().filter(|agent| agent.project == project.id).collect()
    };
    let rows: Vec<Vec<Cell>> = status
        .projects
        .iter()
        .map(|project| {
            let missing = project.missing_since.map(|_| toned("folder is missing", Tone::Bad));
            let cells = [plain("  "), toned(&project.id, Tone::Strong), plain(&project.name)];
            let team = team(of(project));
            cells.into_iter().chain([plain(&project.root), team]).chain(missing).collect()
        })
        .collect();
    let mut text = String::new();
    for (line, project) in say.table(&rows).lines().zip(&status.projects) {
        text += &format!("{line}\n{}", members(of(project), say));
    }
    text
}

/// Returns the agents of a project who are there, those first who need somebody.
fn members(mut there: Vec<&Agent>, say: Say) -> String {
    there.retain(|agent| !is_gone(agent));
    there.sort_by_key(|agent| order(agent));
    let row = |agent: &&Agent| {
        let reason = agent.reason.as_deref().unwrap_or_default();
        vec![
            plain("    "),
            plain(&agent.name),
            plain(&agent.kind),
            toned(phase_for(agent), tone(agent)),
            plain(mail(agent)),
            toned(spent(agent), Tone::Faint),
            toned(cut(&clean(reason), REASON_MAX), Tone::Faint),
        ]
    };
    let rows: Vec<Vec<Cell>> = there.iter().take(SHOWN_MAX).map(row).collect();
    let more = match there.len().saturating_sub(SHOWN_MAX) {
        0 => String::new(),
        more => format!("      … and {more} more: `cmux agent list --all`\n"),
    };
    say.table(&rows) + &more
}

fn daemon_row(status: &Glance) -> Vec<Cell> {
    let daemon = &status.daemon;
    let state = match (daemon.ready, &daemon.safe_mode) {
        (_, Some(_)) => toned("safe mode", Tone::Bad),
        (true, None) => toned("ready", Tone::Good),
        (false, None) => toned("degraded", Tone::Bad),
    };
    let up = daemon.started_at.map_or(0, |since| now_ms() - since.millis());
    let guard = daemon.guard_pid.map_or_else(
        || toned("no guard", Tone::Warning),
        |pid| toned(format!("guard {pid}"), Tone::Faint),
    );
    let pid = daemon.pid.map_or_else(String::new, |pid| format!("pid {pid}"));
    vec![
        toned("daemon", Tone::Strong),
        state,
        plain(format!("up {}", span(up))),
        toned(pid, Tone::Faint),
        guard,
        toned(format!("version {}", daemon.version), Tone::Faint),
    ]
}

fn store_row(status: &Glance) -> Vec<Cell> {
    let store = &status.store;
    let state = match &store.why {
        None => toned("healthy", Tone::Good),
        Some(why) => toned(why, Tone::Bad),
    };
    let snapshot = store.last_snapshot_at.map_or_else(
        || "no snapshot yet".to_owned(),
        |at| format!("snapshot {} ago", span(now_ms() - at.millis())),
    );
    vec![
        toned("store", Tone::Strong),
        state,
        plain(count(store.head, "event")),
        toned(size(store.bytes), Tone::Faint),
        toned(format!("{} free", size(store.free_bytes)), Tone::Faint),
        toned(snapshot, Tone::Faint),
    ]
}

fn mail_row(status: &Glance) -> Vec<Cell> {
    let MailStatus { waiting, oldest_at, unread, counted } = &status.mail;
    let waiting = match oldest_at {
        Some(at) => format!("{waiting} waiting, oldest {}", span(now_ms() - at.millis())),
        None => format!("{waiting} waiting"),
    };
    let unread = match unread {
        0 => toned("none unread", Tone::Faint),
        unread => toned(format!("{unread} unread: `cmux inbox`"), Tone::Warning),
    };
    let mut row = vec![toned("mail", Tone::Strong), plain(waiting), unread];
    row.extend(delivered_of(counted).map(|told| toned(told, Tone::Faint)));
    row
}

/// Returns what became of mail since the daemon started, if anything did.
fn delivered_of(counted: &MailCounts) -> Option<String> {
    let MailCounts { attempts, duplicates_blocked, delivered, mean_ms } = counted;
    let read: u64 = delivered.iter().map(|it| it.messages).sum();
    if read == 0 && *attempts == 0 {
        return None;
    }
    let mut told = format!("{read} delivered");
    if let Some(ms) = mean_ms {
        told += &format!(", in {:.1} s on average", *ms as f64 / 1000.0);
    }
    if *duplicates_blocked > 0 {
        told += &format!(", {} held back", count(*duplicates_blocked, "duplicate"));
    }
    Some(told)
}

fn projects_row(status: &Glance) -> Vec<Cell> {
    let count = status.projects.len();
    let text = if count == 0 { "none yet: `cmux up` in one".to_owned() } else { count.to_string() };
    vec![toned("projects", Tone::Strong), plain(text)]
}

/// Returns how the agents of a project are: how many are in each phase, and who needs somebody.
fn team(mut agents: Vec<&Agent>) -> Cell {
    agents.sort_by_key(|agent| order(agent));
    let mut phases: Vec<(String, Vec<&Agent>)> = Vec::new();
    for agent in agents {
        let told = phase(agent);
        match phases.iter_mut().find(|(phase, _)| *phase == told) {
            Some((_, those)) => those.push(agent),
            None => phases.push((told, vec![agent])),
        }
    }
    let tone = phases.first().map_or(Tone::Faint, |(_, those)| {
        if needs_person(those[0]) { Tone::Warning } else { Tone::Plain }
    });
    let told: Vec<String> = phases.iter().map(|(phase, those)| told(phase, those)).collect();
    if told.is_empty() { toned("no agents", tone) } else { toned(told.join(", "), tone) }
}

/// Returns how many are in a phase, by name if they need somebody.
fn told(phase: &str, those: &[&Agent]) -> String {
    let names: Vec<&str> = those.iter().take(NAMED_MAX).map(|agent| agent.name.as_str()).collect();
    let more = if those.len() > NAMED_MAX { ", …" } else { "" };
    if needs_person(those[0]) {
        format!("{} {phase} ({}{more})", those.len(), names.join(", "))
    } else {
        format!("{} {phase}", those.len())
    }
}

fn notice(say: Say, text: &str) -> String {
    format!("{} {}\n", say.paint("note:", Tone::Warning), clean(text))
}

fn now_ms() -> i64 {
    cmux_drivers::clock::wall().0
}

#[cfg(test)]
mod tests {
    use cmux_wire::agent::{Intent, Phase};
    use cmux_wire::message::EvidenceCount;

    use super::*;
    use crate::cmd::agent::show::tests::agent;

    #[test]
    fn a_team_is_counted_and_those_who_need_somebody_are_named() {
        use Phase::{Asking, Busy, Failed, Idle};
        check(&[], "no agents");
        check(&[("a", Idle), ("b", Busy), ("c", Idle)], "2 idle, 1 busy");
        check(&[("a", Idle), ("b", Asking)], "1 asking (b), 1 idle");
        check(&[("b", Asking), ("c", Failed), ("a", Asking)], "1 failed (c), 2 asking (a, b)");
        let many = ["a", "b", "c", "d", "e", "f"].map(|name| (name, Asking));
        check(&many, "6 asking (a, b, c, d, e, …)");
    }

    #[test]
    fn what_became_of_mail_is_told_in_a_few_words() {
        let of = |attempts, messages, mean_ms, duplicates_blocked| {
            let evidence = "transcript".to_owned();
            let delivered = vec![EvidenceCount { evidence, messages }];
            delivered_of(&MailCounts { attempts, duplicates_blocked, delivered, mean_ms })
        };
        assert_eq!(of(0, 0, None, 0), None);
        assert_eq!(of(1, 0, None, 0).unwrap(), "0 delivered");
        assert_eq!(of(3, 4, Some(1240), 0).unwrap(), "4 delivered, in 1.2 s on average");
        let told = of(3, 4, Some(90), 2).unwrap();
        assert_eq!(told, "4 delivered, in 0.1 s on average, 2 duplicates held back");
    }

    #[test]
    fn those_who_are_there_are_shown_and_not_more_than_fit() {
        let named = |name: &str, intent| Agent { name: name.to_owned(), intent, ..agent() };
        let say = Say::new(false);
        let all = [named("b", Intent::Run), named("gone", Intent::Stop), named("a", Intent::Run)];
        let told = members(all.iter().collect(), say);
        let names: Vec<&str> = told.lines().filter_map(|it| it.split_whitespace().next()).collect();
        assert_eq!(names, ["a", "b"], "{told}");
        let many: Vec<Agent> = (10..23).map(|n| named(&format!("w{n}"), Intent::Run)).collect();
        let told = members(many.iter().collect(), say);
        assert_eq!(told.lines().count(), SHOWN_MAX + 1, "{told}");
        assert!(told.ends_with("… and 3 more: `cmux agent list --all`\n"), "{told}");
    }

    #[track_caller]
    fn check(agents: &[(&str, Phase)], expected: &str) {
        let agents: Vec<Agent> = agents
            .iter()
            .map(|(name, phase)| Agent { name: (*name).to_owned(), phase: *phase, ..agent() })
            .collect();
        assert_eq!(team(agents.iter().collect()).0, expected);
    }
}
