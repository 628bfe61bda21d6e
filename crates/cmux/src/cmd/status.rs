//! `cmux status`: everything at a glance.

use cmux_wire::daemon::Status;

use crate::cli::{Common, wait};
use crate::fail::Fail;
use crate::place;
use crate::say::{Cell, Say, Tone, clean, count, plain, size, span, toned};

pub(crate) fn run(common: &Common, say: Say) -> Result<(), Fail> {
    let home = place::home(common.home.as_deref())?;
    let status = wait(async { Ok(place::glance(&home).status().await?) })?;
    say.show(&status, |it| tell(it, say))
}

/// Returns `status` of the daemon of `home` in words.
pub(crate) fn tell(status: &Status, say: Say) -> String {
    let mut text = say.table(&[daemon_row(status), store_row(status), projects_row(status)]);
    let rows: Vec<Vec<Cell>> = status
        .projects
        .iter()
        .map(|project| {
            let missing = project.missing_since.map(|_| toned("folder is missing", Tone::Bad));
            let cells = [plain("  "), toned(&project.id, Tone::Strong), plain(&project.name)];
            cells.into_iter().chain([plain(&project.root)]).chain(missing).collect()
        })
        .collect();
    text += &say.table(&rows);
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

fn daemon_row(status: &Status) -> Vec<Cell> {
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

fn store_row(status: &Status) -> Vec<Cell> {
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

fn projects_row(status: &Status) -> Vec<Cell> {
    let count = status.projects.len();
    let text = if count == 0 { "none yet: `cmux up` in one".to_owned() } else { count.to_string() };
    vec![toned("projects", Tone::Strong), plain(text)]
}

fn notice(say: Say, text: &str) -> String {
    format!("{} {}\n", say.paint("note:", Tone::Warning), clean(text))
}

fn now_ms() -> i64 {
    cmux_drivers::clock::wall().0
}
