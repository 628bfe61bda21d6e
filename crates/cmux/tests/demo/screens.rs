//! What the scripted agent's manifest sees on its real screen, scene by scene.
//!
//! With `CMUX_RECORD_SCREENS=1` the scenes are written down where the drivers' tests look at them again:
//! `CMUX_RECORD_SCREENS=1 cargo nextest run -p cmux --test demo screens`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cmux_core::screen::{Screen, Seen, Sight};
use cmux_core::time::Timestamp;
use cmux_drivers::kinds::Kinds;
use cmux_drivers::manifest::Manifest;
use cmux_testkit::wait::eventually;

use crate::pane::Pane;

/// Where the scenes are kept, as seen from this crate.
const KEPT: &str = "../cmux-drivers/tests/screens/demo";

/// 2026-11-16 13:20 UTC.
const NOW: Timestamp = Timestamp(1_794_835_200_000);

const SCRIPT: &str = r##"{"rules":[
    {"when":{"contains":"wait"},"steps":[{"think_ms":3600000}]},
    {"when":{"contains":"make"},"steps":[{"tool":{"name":"Bash","input":
        {"command":"make all","description":"Build everything"},"ask":true}}]},
    {"when":{"contains":"draw"},"steps":[{"tool":{"name":"Bash","input":
        {"command":"cat <<X\n╭────╮\n│ >  │\n╰────╯\n  ⏸ manual mode on\nX"},"ask":true}}]},
    {"when":{"contains":"limit"},"steps":[{"limit_s":3600}]},
    {"when":{"contains":"quote a dialog"},"steps":[{"say":
        "It asked:\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. No, and stop\n Esc to cancel"}]},
    {"when":{"contains":"quote a start"},"steps":[{"say":
        "Quick safety check: do you trust it?\n   1. No\n ❯ 2. Yes, I trust this folder\n Enter to confirm · Esc to exit"}]},
    {"when":{"contains":"quote a spinner"},"steps":[{"say":
        "It showed:\n✻ Thinking… (3s · esc to interrupt)\nand\n· Thinking… (4s · esc to interrupt)"}]},
    {"when":{"contains":"quote an end"},"steps":[{"say":
        "It said:\nYou've hit your limit · resets 15:00 (UTC)"}]}
]}"##;

#[test]
fn at_its_prompt() {
    let pane = begun(&[]);
    see(&pane, "idle-empty", "idle", "footer");
    say(&pane, "hello");
    pane.shows("● echo: hello");
    see(&pane, "idle-finished", "idle", "footer");
    let pane = begun(&["--permission-mode", "acceptEdits"]);
    see(&pane, "idle-edits", "idle", "footer");
    let pane = begun(&["--permission-mode", "bypassPermissions"]);
    see(&pane, "idle-all", "idle", "footer");
}

#[test]
fn with_text_in_its_composer() {
    for (name, text, shown) in [
        ("draft-text", "please wait", "> please wait"),
        ("draft-shell", "!ls", "! for shell mode"),
        ("draft-like-placeholder", "Try \"explain this folder\"", "Try"),
    ] {
        let pane = begun(&[]);
        pane.type_in(text);
        pane.shows(shown);
        see(&pane, name, "draft", "footer");
    }
    for (name, text, shown) in [
        ("draft-lines", "one line\nand another", "and another"),
        ("draft-folded", &"a line\n".repeat(11), "[Pasted text #1 +11 lines]"),
    ] {
        let pane = begun(&[]);
        pane.paste(text);
        pane.shows(shown);
        see(&pane, name, "draft", "footer");
    }
}

#[test]
fn at_work() {
    let pane = begun(&[]);
    say(&pane, "wait for me");
    see(&pane, "busy-thinking", "busy", "spinner");
    for text in ["one more thing", "and another", "and a third"] {
        pane.type_in(text);
        pane.keys(&["Enter"]);
        pane.shows(&format!("queued: {text}"));
    }
    see(&pane, "busy-queued", "busy", "spinner");
}

#[test]
fn with_a_question() {
    let pane = begun(&[]);
    say(&pane, "make it");
    pane.shows("❯ 1. Yes");
    see(&pane, "asking-command", "asking", "permission");
    pane.keys(&["Down", "Down"]);
    pane.shows("❯ 3. No");
    see(&pane, "asking-marked", "asking", "permission");
    // What is asked about may look like a prompt.
    let pane = begun(&[]);
    say(&pane, "draw");
    pane.shows("❯ 1. Yes");
    see(&pane, "near-idle-drawn", "asking", "permission");
    let pane = Pane::new();
    pane.start(&["--fault", "trust"], (80, 24));
    pane.shows("Esc to exit");
    see(&pane, "dialog-trust", "dialog", "trust");
}

#[test]
fn at_its_limit() {
    let pane = begun(&[]);
    say(&pane, "limit");
    pane.shows("● You've hit your limit");
    see(&pane, "limited-session", "limited", "limit");
}

#[test]
fn in_a_conversation_that_quotes_all_that() {
    for (prompt, quoted, name) in [
        ("quote a dialog", "Esc to cancel", "near-asking-quoted"),
        ("quote a start", "Esc to exit", "near-dialog-quoted"),
        ("quote a spinner", "(4s · esc", "near-busy-quoted"),
        ("quote an end", "resets 15:00", "near-limited-quoted"),
    ] {
        let pane = begun(&[]);
        say(&pane, prompt);
        pane.shows(quoted);
        see(&pane, name, "idle", "footer");
    }
}

/// Starts an agent that knows the script.
fn begun(flags: &[&str]) -> Pane {
    let pane = Pane::new();
    let script = pane.write("script.json", SCRIPT).display().to_string();
    pane.start(&[&["--script", &script], flags].concat(), (80, 24));
    pane.shows("╰──");
    pane
}

fn say(pane: &Pane, text: &str) {
    pane.type_in(text);
    pane.submit();
}

/// Waits until the screen is seen as it should be, and writes it down if that is wanted.
#[track_caller]
fn see(pane: &Pane, name: &str, expected: &str, rule: &str) {
    let manifest = manifest();
    let screen = eventually(&format!("{name} is seen as {expected}"), || {
        let screen = look(pane);
        let sight = manifest.eyes.look(&screen, NOW, 0);
        (said(&sight) == expected && sight.rule.as_deref() == Some(rule)).then_some(screen)
    });
    if std::env::var_os("CMUX_RECORD_SCREENS").is_some() {
        record(name, &screen);
    }
}

/// Returns what is on the screen, without what is another one each time.
fn look(pane: &Pane) -> Screen {
    let cursor = pane.tell("#{cursor_x},#{cursor_y}");
    let (column, line) = cursor.split_once(',').unwrap();
    let folder = pane.folder().display().to_string();
    let shown = pane.screen().replace(&folder, "/repo");
    let shown: Vec<String> = shown.lines().map(with_a_fixed_time).collect();
    Screen {
        cursor: Some((column.parse().unwrap(), line.parse().unwrap())),
        title: pane.tell("#{pane_title}"),
        ..Screen::of(&shown.join("\n"))
    }
}

fn with_a_fixed_time(line: &str) -> String {
    let Some((before, after)) = line.split_once(" · resets ") else { return line.to_owned() };
    format!("{before} · resets 15:00{}", &after["00:00".len()..])
}

fn record(name: &str, screen: &Screen) {
    let (column, line) = screen.cursor.unwrap();
    let head = format!("source: recorded\ntitle: {}\ncursor: {column},{line}\n", screen.title);
    let shown = screen.lines.join("\n");
    let text = format!("{head}---\n{}\n", shown.trim_end());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(KEPT).join(format!("{name}.txt"));
    fs::write(file, text).unwrap();
}

fn manifest() -> Manifest {
    let kinds = Kinds::load(Path::new("/no/such/folder"), &BTreeMap::new());
    kinds.get(&"demo".parse().unwrap()).unwrap().manifest.clone()
}

fn said(sight: &Sight) -> &'static str {
    match sight.seen {
        None => "unknown",
        Some(Seen::Idle) => "idle",
        Some(Seen::Busy { .. }) => "busy",
        Some(Seen::Asking { .. }) => "asking",
        Some(Seen::Limited { .. }) => "limited",
        Some(Seen::Dialog { .. }) => "dialog",
        Some(Seen::Draft { .. }) => "draft",
    }
}
