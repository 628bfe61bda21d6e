//! What each screen in `screens/` says, by the rules of its kind.
//!
//! A file is called by what it shows. One that begins with `near-` looks like something that it is not:
//! a conversation that quotes a dialog, a prompt that is not drawn to its end. What a CLI really shows is recorded by
//! the tests that run it; `drawn.txt` lists the screens that are not, and may only become shorter.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cmux_core::kind::Witness;
use cmux_core::screen::rule::{Rule, Says};
use cmux_core::screen::{Screen, Seen, Sight};
use cmux_core::time::Timestamp;
use cmux_drivers::kinds::Kinds;
use cmux_drivers::manifest::{Manifest, Reply};

/// 2026-11-16 13:20 UTC.
const NOW: Timestamp = Timestamp(1_794_835_200_000);

#[test]
fn every_screen_says_what_the_table_says() {
    let kinds = kinds();
    let mut wrong = Vec::new();
    let (mut told, mut shown) = (BTreeSet::new(), BTreeSet::new());
    for line in include_str!("screens/expected.txt").lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[file, expected, rule] = words.as_slice() else { panic!("{line}") };
        assert!(told.insert(file.to_owned()), "{file} is told twice");
        let (kind, _) = file.split_once('/').unwrap();
        let sight = look(&kinds[kind], file);
        let fit = kinds[kind].eyes.all_that_fit(&screen(file));
        let fit: Vec<&str> = fit.iter().map(|rule| &*rule.name).collect();
        let fit = if fit.is_empty() { "-".to_owned() } else { fit.join(",") };
        let found = (said(sight.seen.as_ref()), &*fit);
        if found != (expected, rule) {
            wrong.push(format!("{file} {} {}\n    {sight:?}", found.0, found.1));
        }
    }
    for kind in kinds.keys() {
        shown.extend(files(kind));
    }
    assert_eq!(wrong, Vec::<String>::new(), "{}", wrong.join("\n"));
    assert_eq!(told, shown);
}

#[test]
fn every_rule_has_a_screen_that_it_knows() {
    for (kind, manifest) in kinds() {
        let of = |file: &String| {
            let fit = manifest.eyes.all_that_fit(&screen(file)).into_iter();
            fit.map(|rule| rule.name.clone()).collect::<Vec<_>>()
        };
        let known: BTreeSet<String> = files(&kind).iter().flat_map(of).collect();
        for rule in &manifest.eyes.rules {
            assert!(known.contains(&rule.name), "{kind}: nothing shows what {} knows", rule.name);
        }
    }
}

#[test]
fn without_a_title_the_same_is_seen() {
    for (kind, manifest) in kinds() {
        for file in files(&kind) {
            let (with, mut screen) = (look(&manifest, &file), screen(&file));
            // A draft is not known by its title, nor by what stands in an empty prompt.
            let is_draft = matches!(with.seen, Some(Seen::Draft { .. }));
            if with.witness == Some(Witness::Title) && is_recorded(&file) && !is_draft {
                screen.title.clear();
                let without = manifest.eyes.look(&screen, NOW, 0);
                assert_eq!(said(without.seen.as_ref()), said(with.seen.as_ref()), "{file}");
            }
        }
    }
}

#[test]
fn what_is_not_recorded_is_listed() {
    let listed: BTreeSet<String> = include_str!("screens/drawn.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(ToOwned::to_owned)
        .collect();
    let kinds = kinds();
    let drawn: BTreeSet<String> =
        kinds.keys().flat_map(|kind| files(kind)).filter(|file| !is_recorded(file)).collect();
    let new: Vec<_> = drawn.difference(&listed).collect();
    assert!(new.is_empty(), "record them, as is told in CONTRIBUTING.md: {new:?}");
    let old: Vec<_> = listed.difference(&drawn).collect();
    assert!(old.is_empty(), "they need not be listed any more: {old:?}");
}

#[test]
fn nothing_of_a_machine_is_recorded() {
    for kind in kinds().keys() {
        for file in files(kind).iter().filter(|file| is_recorded(file)) {
            let text = fs::read_to_string(folder().join(file)).unwrap();
            // What stands for a person's home.
            let text = text.replace("/srv/home/", "");
            for trace in ["/tmp/", "/home/", "/root", "/work", "/Users/", "/target/debug"] {
                assert!(!text.contains(trace), "{file} has {trace} in it");
            }
            for prefix in ["dlv_", "msg_", "agt_"] {
                for id in text.split(prefix).skip(1) {
                    assert!(!id.starts_with("01"), "{file} has an id of a store in it: {prefix}");
                }
            }
        }
    }
}

#[test]
fn nothing_of_a_phase_fits_what_only_looks_like_it() {
    for (kind, manifest) in kinds() {
        for file in files(&kind) {
            let Some(phase) = file.split_once("/near-").map(|(_, rest)| rest) else { continue };
            let phase = phase.split('-').next().unwrap();
            let fits = manifest.eyes.all_that_fit(&screen(&file));
            let wrong: Vec<_> = fits.into_iter().filter(|rule| phase_of(rule) == phase).collect();
            assert!(wrong.is_empty(), "{file}: {wrong:?}");
        }
    }
}

#[test]
fn every_phase_of_a_kind_has_something_that_only_looks_like_it() {
    for (kind, manifest) in kinds() {
        let files = files(&kind);
        for rule in &manifest.eyes.rules {
            let near = format!("{kind}/near-{}-", phase_of(rule));
            assert!(files.iter().any(|file| file.starts_with(&near)), "there is no {near}…");
        }
    }
}

#[test]
fn what_is_in_the_composer_is_told() {
    for (file, expected) in [
        ("claude/draft.txt", "please wait,\n  I am still typing"),
        ("claude/draft-folded.txt", "[Pasted text #1 +12 lines]"),
        ("codex/draft.txt", "please wait,\n  I am still typing"),
        ("codex/draft-like-placeholder.txt", "Ask Codex to do anything"),
        ("gemini/draft.txt", "please wait,\n   I am still typing"),
        ("opencode/draft.txt", "please wait,\n  I am still typing"),
        ("hermes/draft.txt", "please wait,\nI am still typing"),
        ("demo/draft-text.txt", "please wait"),
        ("demo/draft-folded.txt", "[Pasted text #1 +11 lines]"),
        ("demo/draft-like-placeholder.txt", "Try \"explain this folder\""),
        ("shell/draft-text.txt", "rm -r"),
    ] {
        let (kind, _) = file.split_once('/').unwrap();
        let text = expected.to_owned();
        assert_eq!(look(&kinds()[kind], file).seen, Some(Seen::Draft { text }), "{file}");
    }
}

#[test]
fn when_a_limit_is_over_is_told() {
    for (file, minutes) in [
        ("claude/limited-session.txt", Some(100)),
        ("claude/limited-zone.txt", Some(100)),
        ("claude/limited.txt", None),
        ("codex/limited.txt", None),
        ("codex/limited-usage.txt", Some(151)),
        ("gemini/limited-usage.txt", Some(105)),
        ("gemini/limited-quota.txt", Some(5 * 60 + 12)),
        ("opencode/limited-retrying.txt", Some(2)),
        ("demo/limited-session.txt", Some(100)),
    ] {
        let (kind, _) = file.split_once('/').unwrap();
        let until = minutes.map(|minutes| NOW + Duration::from_mins(minutes));
        assert_eq!(look(&kinds()[kind], file).seen, Some(Seen::Limited { until }), "{file}");
    }
}

#[test]
fn the_way_through_a_dialog_is_seen_on_its_screen() {
    use cmux_core::screen::menu::Press::{Down, Enter};
    for (file, name, expected) in [
        ("claude/dialog-trust.txt", "trust", &[Down, Enter][..]),
        ("claude/dialog-trust-older.txt", "trust", &[Enter]),
        ("claude/dialog-bypass.txt", "bypass", &[Down, Enter]),
        ("codex/dialog-trust.txt", "trust", &[Enter]),
        ("codex/dialog-hooks.txt", "hooks-review", &[Down, Enter]),
        ("codex/dialog-update.txt", "update", &[Down, Enter]),
        ("demo/dialog-trust.txt", "trust", &[Down, Enter]),
    ] {
        let (kind, _) = file.split_once('/').unwrap();
        let manifest = &kinds()[kind];
        let dialog = manifest.dialogs.iter().find(|dialog| dialog.name == name).unwrap();
        let Reply::Choose { option, mark } = &dialog.answer else { panic!("{file}") };
        let presses = cmux_core::screen::menu::choose(&screen(file), mark, option);
        assert_eq!(presses.as_deref(), Some(expected), "{file}");
        assert_eq!(dialog.consent.is_some(), name != "update", "{file}");
    }
}

fn kinds() -> BTreeMap<String, Manifest> {
    let kinds = Kinds::load(Path::new("/no/such/folder"), &BTreeMap::new());
    kinds.all().map(|it| (it.manifest.kind.to_string(), it.manifest.clone())).collect()
}

fn look(manifest: &Manifest, file: &str) -> Sight {
    manifest.eyes.look(&screen(file), NOW, 0)
}

/// Returns the screens of a kind, as `kind/file`.
fn files(kind: &str) -> Vec<String> {
    let entries = fs::read_dir(folder().join(kind)).unwrap().map(|entry| entry.unwrap());
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    names.map(|name| format!("{kind}/{name}")).collect()
}

/// Whether a file shows what a program really showed.
fn is_recorded(file: &str) -> bool {
    let text = fs::read_to_string(folder().join(file)).unwrap();
    text.lines().next().is_some_and(|line| line.starts_with("source: recorded"))
}

/// Returns the screen in a file: what is known of it, a line, and what it shows.
fn screen(file: &str) -> Screen {
    let text = fs::read_to_string(folder().join(file)).unwrap();
    let (head, shown) = text.split_once("---\n").unwrap();
    let mut screen = Screen::of(shown);
    for line in head.lines() {
        match line.split_once(": ").unwrap() {
            ("title", title) => title.clone_into(&mut screen.title),
            ("cursor", at) => {
                let (column, line) = at.split_once(',').unwrap();
                screen.cursor = Some((column.parse().unwrap(), line.parse().unwrap()));
            }
            ("source", _) => {}
            (other, _) => panic!("{file}: {other}"),
        }
    }
    screen
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/screens")
}

fn said(seen: Option<&Seen>) -> &'static str {
    match seen {
        None => "unknown",
        Some(Seen::Idle) => "idle",
        Some(Seen::Busy { .. }) => "busy",
        Some(Seen::Asking { .. }) => "asking",
        Some(Seen::Limited { .. }) => "limited",
        Some(Seen::Dialog { .. }) => "dialog",
        Some(Seen::Draft { .. }) => "draft",
    }
}

fn phase_of(rule: &Rule) -> &'static str {
    match rule.says {
        Says::Idle => "idle",
        Says::Busy { .. } => "busy",
        Says::Asking { .. } => "asking",
        Says::Limited => "limited",
        Says::Dialog { .. } => "dialog",
    }
}
