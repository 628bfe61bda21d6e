//! Kinds of the user's beside those that cmux comes with, and what is found of them.

use std::os::unix::fs::PermissionsExt;

use cmux_core::kind::{Ability, Channel, Permissions, Witness};
use cmux_core::screen::{Screen, Seen};
use cmux_core::time::Timestamp;

use super::*;

/// A CLI that nobody has heard of.
const MADE_UP: &str = "kind = 'askme'\ntitle = 'Ask me'\n\
    [find]\nprogram = 'askme'\nversion = '-v'\ninstall = 'write it'\n\
    [launch]\ncommand = ['--as', '{name}']\n[launch.ask]\nargs = []\n\
    [prompt]\nmark = ['ask>']\n\
    [[rules]]\nname = 'prompt'\nphase = 'idle'\nregion = 'last 1'\nall = ['^ask>']\n\
    [keys]\n";

#[test]
fn all_that_cmux_comes_with_can_be_read() {
    let kinds = Kinds::load(Path::new("/no/such/folder"), &BTreeMap::new());
    assert_eq!(kinds.refused, Vec::<String>::new());
    let names: Vec<_> = kinds.all().map(|it| it.manifest.kind.as_str()).collect();
    let expected = ["agy", "claude", "codex", "demo", "gemini", "hermes", "opencode", "shell"];
    assert_eq!(names, expected);
}

#[test]
fn what_a_kind_cannot_do_is_said_with_the_reason() {
    for known in Kinds::load(Path::new("/no/such/folder"), &BTreeMap::new()).all() {
        let Manifest { kind, can, cannot, .. } = &known.manifest;
        for ability in Ability::ALL {
            let is_said = can.contains(&ability) != cannot.contains_key(&ability);
            assert!(is_said, "{kind}: can it {}, or why not?", ability.name());
        }
    }
}

#[test]
fn witnesses_are_ranked_as_was_measured() {
    use Witness::{Hooks, Screen, Status, Title};
    let kinds = Kinds::load(Path::new("/no/such/folder"), &BTreeMap::new());
    for (kind, expected) in [
        ("claude", &[Status, Hooks, Screen][..]),
        ("codex", &[Title, Hooks, Screen]),
        ("gemini", &[Title, Hooks, Screen]),
        ("opencode", &[Status, Screen]),
        ("shell", &[Screen]),
    ] {
        let known = kinds.get(&kind.parse().unwrap()).unwrap();
        assert_eq!(known.manifest.witnesses, expected, "{kind}");
    }
}

#[test]
fn the_user_adds_kinds_and_has_known_ones_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.toml"), MADE_UP).unwrap();
    let other = MADE_UP.replace("'askme'\ntitle = 'Ask me'", "'claude'\ntitle = 'My Claude'");
    fs::write(folder.path().join("other.toml"), other).unwrap();
    fs::write(folder.path().join("notes.txt"), "no manifest").unwrap();
    let kinds = Kinds::load(folder.path(), &BTreeMap::new());
    assert_eq!(kinds.refused, Vec::<String>::new());
    assert_eq!(kinds.all().count(), BUILT_IN.len() + 1);
    let claude = kinds.get(&"claude".parse().unwrap()).unwrap();
    assert_eq!(claude.manifest.title, "My Claude");
    assert_eq!(claude.file, Some(folder.path().join("other.toml")));
}

#[test]
fn the_screens_of_a_made_up_cli_are_read_by_its_manifest() {
    let manifest = parse(Path::new("mine.toml"), MADE_UP).unwrap();
    let draft = Seen::Draft { text: "wait".to_owned() };
    for (text, expected) in [
        ("Hello.\nask> ", Some(Seen::Idle)),
        ("Hello.\nask> wait", Some(draft)),
        ("ask> hello\nthinking", None),
        ("", None),
    ] {
        let sight = manifest.eyes.look(&Screen::of(text), Timestamp(0), 0);
        assert_eq!(sight.seen, expected, "{text}");
    }
}

#[test]
fn a_bad_manifest_is_refused_with_its_line_and_the_others_still_work() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("a.toml", &MADE_UP.replace("[keys]", "[keyz]"));
    write("b.toml", MADE_UP);
    write("c.toml", MADE_UP);
    write("d.toml", "kind = ");
    fs::create_dir(folder.path().join("e.toml")).unwrap();
    let kinds = Kinds::load(folder.path(), &BTreeMap::new());
    assert!(kinds.get(&"askme".parse().unwrap()).is_some());
    assert!(kinds.get(&"claude".parse().unwrap()).is_some());
    let told = [
        "a.toml:18: there is no setting `keyz`. Did you mean `keys`?",
        "b.toml is about `askme` already",
        "d.toml:1: ",
        "e.toml: Is a directory",
    ];
    assert_eq!(kinds.refused.len(), told.len(), "{:?}", kinds.refused);
    for (refused, expected) in kinds.refused.iter().zip(told) {
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn settings_for_a_kind_there_is_none_of_are_told() {
    let all = KindSettings { permissions: Permissions::All, ..KindSettings::default() };
    let settings = ["claude", "claud"].map(|name| (name.parse().unwrap(), all.clone()));
    let kinds = Kinds::load(Path::new("/no/such/folder"), &BTreeMap::from(settings));
    assert_eq!(kinds.get(&"claude".parse().unwrap()).unwrap().settings, all);
    let expected = "config.toml: [kinds.claud] is about no kind there is. Did you mean `claude`?";
    assert_eq!(kinds.refused, [expected]);
}

#[test]
fn a_channel_that_a_kind_does_not_have_is_told_and_not_used() {
    let wanted = KindSettings { channel: Some(Channel::Api), ..KindSettings::default() };
    let settings = ["claude", "demo"].map(|name| (name.parse().unwrap(), wanted.clone()));
    let kinds = Kinds::load(Path::new("/no/such/folder"), &BTreeMap::from(settings));
    for (name, channel) in [("claude", Channel::Paste), ("demo", Channel::Api)] {
        let known = kinds.get(&name.parse().unwrap()).unwrap();
        assert_eq!(known.manifest.channel(&known.settings), channel);
    }
    let expected = "config.toml: [kinds.claude] has channel = \"api\", and Claude Code takes messages at its \
                    prompt alone: they are pasted";
    assert_eq!(kinds.refused, [expected]);
}

#[test]
fn a_kind_is_found_where_it_is_with_its_version() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.toml"), MADE_UP).unwrap();
    program(&folder.path().join("askme"), "#!/bin/sh\necho \"askme 3.2 ($1)\"\n");
    let mine: Kind = "askme".parse().unwrap();
    let kinds = Kinds::load(folder.path(), &BTreeMap::new());
    let found = kinds.look(folder.path().as_os_str());
    let of = |name: &str| found.iter().find(|it| it.kind.as_str() == name).unwrap();
    assert_eq!(of("askme").version.as_deref(), Some("askme 3.2 (-v)"));
    assert_eq!(of("askme").program, Some(folder.path().join("askme")));
    assert_eq!((&of("claude").program, &of("claude").version), (&None, &None));
    assert!(of("demo").program.is_some(), "cmux itself is always there");

    let elsewhere = folder.path().join("elsewhere");
    program(&elsewhere, "#!/bin/sh\necho 4\n");
    let command = Some(vec![elsewhere.display().to_string()]);
    let settings = KindSettings { command, ..KindSettings::default() };
    let kinds = Kinds::load(folder.path(), &BTreeMap::from([(mine.clone(), settings)]));
    assert_eq!(kinds.get(&mine).unwrap().program(OsStr::new("")), Some(elsewhere));
}

fn program(path: &Path, script: &str) {
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
