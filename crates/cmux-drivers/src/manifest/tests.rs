//! What is wrong with a manifest is told with its line, and what is right is run as it says.

use std::path::Path;

use cmux_core::kind::Permissions;
use cmux_core::settings::KindSettings;

use super::*;
use crate::config::ConfigError;

#[test]
fn what_is_wrong_is_told_with_file_line_and_what_was_meant() {
    check("kind = 'x'", "kind = 'X Y'", ":1: `kind` is none: a kind is named by 1 to 32");
    check("kind = 'x'\n", "", ":1: `kind` must be set: what this kind");
    check("title = 'X'", "titel = 'X'", ":2: there is no setting `titel`. Did you mean `title`?");
    check("program = 'x'", "progam = 'x'", ":5: there is no setting `find.progam`. Did you mean");
    check("program = 'x'\n", "", ":4: `find.program` must be set: what it is called on the path");
    check("'{name}'", "'{nam}'", ":8: `launch.command` holds `{nam}`, and there is no `{nam}`");
    let wrong = "'{name}']\nprompt = ['--prompt']";
    check("'{name}']", wrong, ":9: `launch.prompt` must hold `{prompt}`, which is what it tells");
    check("'{name}']", "'{name}']\nprompt = []", ":9: `launch.prompt` must hold `{prompt}`");
    check("'{name}']", "'{name}']\nrole = ['--be']", ":9: `launch.role` must hold `{role}`");
    check("'{name}'", "'{secret}'", ":8: `launch.command` holds `{secret}`, and others on the");
    check("args = []", "args = 1", ":10: `launch.permissions.args` must be a list of texts");
    check("[launch.ask]", "[launch.env]", ":7: `launch.ask` must be set: what makes it ask");
    check("mark = ['>']", "mark = ['> ']", ":12: `prompt.mark` must hold what stands before");
    check("mark = ['>']", "frame = ['rules']", ":11: `prompt.mark` must be set");
    check("mark = ['>']", "frame = ['ruls']", ":12: `prompt.frame` must be one of rules, box, bar");
    check("mark = ['>']", "mark = ['>']\nframe = ['bar']", "`prompt.footer` must be set");
    check("phase = 'idle'", "phase = 'idel'", ":15: `rules.phase` must be one of idle, busy");
    check("phase = 'idle'", "phase = 'busy'", ":1: `rules` must be set: one of them must have");
    check("phase = 'idle'", "phase = 'asking'", ":13: `rules.what` must be set: what it asks for");
    check("'last 1'", "'last 0'", ":16: `rules.region` must be title, prompt, below, whole, or");
    check("'last 1'", "'top 1'", ":16: `rules.region` must be title, prompt");
    check("['^>']", "['[']", ":17: `rules.all` holds `[`, and `[` is not closed");
    check("all = ['^>']", "none = ['^>']", ":13: `rules.all` must be set: what must be seen");
    check(
        "submit = ['Enter']",
        "submit = ['Return']",
        ":19: `keys.submit` holds `Return`, and a key",
    );
    check("submit = ['Enter']", "submit_after_ms = 99999", ":19: `keys.submit_after_ms` must be a");
}

#[test]
fn parts_that_do_not_go_together_are_refused() {
    add("[cannot]\ninterrupt = 'so'\n", "");
    add("[cannot]\ninterupt = 'so'\n", "there is no setting `cannot.interupt`. Did you mean");
    add("[cannot]\nexit = 'so'\n[hooks]\nshape = 'claude'\nblocks = true\n", "`hooks.prompt` must");
    add(
        "[cannot]\nexit = 'so'\n[hooks]\nshape = 'claude'\nprompt = 'P'\nblocks = true\n",
        "`hooks.blocks` needs a [transcript]",
    );
    add("[hooks]\nshape = 'claud'\n", "`hooks.shape` must be one of claude, codex");
    add("[[dialogs]]\nname = 'd'\nregion = 'whole'\nall = ['x']\n", "`dialogs.choose` must be set");
    add(
        "[[dialogs]]\nname = 'd'\nregion = 'whole'\nall = ['x']\nkeys = ['1']\nleave = 'y'\n",
        "`dialogs.leave` is one too many",
    );
    add("[[dialogs]]\nname = 'p'\nregion = 'whole'\nall = ['x']\nkeys = ['1']\n", "another one");
    add(
        "[[dialogs]]\nname = 'd'\nregion = 'whole'\nall = ['x']\nkeys = ['1']\nconsent = 'trus'\n",
        "`dialogs.consent` must be one of trust, all, and not `trus`. Did you mean `trust`?",
    );
    let text = TEXT.replace("title = 'X'", "title = 'X'\nwitnesses = ['screen', 'hooks']");
    told(&text, ":3: `witnesses` names hooks, and the manifest does not say where it is");
    let text = TEXT.replace("submit =", "exit = 'bye'\nsubmit =") + "[cannot]\nexit = 'so'\n";
    told(&text, "`cannot` says that it cannot exit, and the manifest says how to");
}

#[test]
fn an_agent_is_started_as_its_manifest_and_the_user_say() {
    let manifest = read(BUILT_IN[0].1).unwrap();
    let settings = KindSettings {
        args: vec!["--model".to_owned(), "m".to_owned()],
        env: BTreeMap::from([("KEY".to_owned(), "s3cret".to_owned())]),
        ..KindSettings::default()
    };
    let started = manifest.start(Start::New, &settings, Told::default(), known).unwrap();
    let expected = "<program> --session-id <session> --settings <settings> --name <name> \
                    --allowedTools Bash(cmux *) --permission-mode acceptEdits --model m";
    assert_eq!(started.argv.join(" "), expected);
    assert_eq!(started.env["KEY"], "s3cret");
    assert_eq!(started.env["DISABLE_AUTOUPDATER"], "1");
    let shown = format!("{started:?}");
    assert!(!shown.contains("s3cret") && !shown.contains("acceptEdits"), "{shown}");

    let command = Some(vec!["/x/wrap".to_owned(), "claude".to_owned()]);
    let settings = KindSettings { command, permissions: Permissions::All, ..settings };
    let resumed =
        manifest.start(Start::Resume, &settings, Told::default(), known).unwrap().argv.join(" ");
    assert!(resumed.starts_with("/x/wrap claude --resume <session> "), "{resumed}");
    assert!(resumed.ends_with("--permission-mode bypassPermissions --model m"), "{resumed}");
    let unknown = manifest
        .start(Start::New, &KindSettings::default(), Told::default(), |_| None)
        .unwrap_err();
    assert_eq!(unknown, CannotStart::Unfilled(Unfilled(Place::Program)));
}

#[test]
fn what_an_agent_is_told_first_is_an_argument_where_its_cli_takes_one_and_else_is_left_to_be_said()
{
    let (new, resume) = (Start::New, Start::Resume);
    let to_do = Told { prompt: Some("-do it"), ..Told::default() };
    let to_be = Told { role: Some("be kind"), ..Told::default() };
    let both = Told { role: Some("be kind"), ..to_do };
    let system = ["--append-system-prompt", "be kind"];
    for (kind, start, told, arguments, unsaid) in [
        ("claude", new, to_do, &["--", "-do it"][..], None),
        ("claude", new, to_be, &system, None),
        ("claude", new, both, &[&system[..], &["--", "-do it"]].concat(), None),
        ("claude", resume, both, &[&system[..], &["--", "-do it"]].concat(), None),
        ("codex", new, both, &["-c", "developer_instructions=be kind", "--", "-do it"], None),
        ("codex", resume, to_be, &["-c", "developer_instructions=be kind"], None),
        ("gemini", new, both, &["--prompt-interactive=be kind\n\n-do it"], None),
        ("gemini", new, to_be, &["--prompt-interactive=be kind"], None),
        // What it is has been said when the session began.
        ("gemini", resume, both, &["--prompt-interactive=-do it"], None),
        ("gemini", resume, to_be, &[], None),
        ("gemini", new, to_do, &["--prompt-interactive=-do it"], None),
        ("opencode", new, to_do, &["--prompt=-do it"], None),
        ("demo", new, both, &[&system[..], &["--", "-do it"]].concat(), None),
        ("hermes", new, both, &[], Some("be kind\n\n-do it")),
        ("hermes", resume, both, &[], Some("-do it")),
        // It cannot be resumed, and so begins anew; but there is nobody to be anything.
        ("shell", resume, both, &[], Some("-do it")),
        ("shell", new, to_be, &[], None),
    ] {
        check_told(kind, start, told, arguments, unsaid);
    }
}

#[test]
fn what_is_added_for_a_trusted_folder_is_there_only_if_it_is_trusted() {
    let text =
        format!("{TEXT}[launch.trusted]\nargs = ['--trust', '{{name}}']\nenv.T = '{{run}}'\n");
    let manifest = read(&text).unwrap();
    for (trusted, argv, env) in [
        (false, &["<program>", "<name>"][..], None),
        (true, &["<program>", "<name>", "--trust", "<name>"], Some("<run>")),
    ] {
        let told = Told { trusted, ..Told::default() };
        let started = manifest.start(Start::New, &KindSettings::default(), told, known).unwrap();
        assert_eq!(started.argv, argv);
        assert_eq!(started.env.get("T").map(String::as_str), env);
    }
}

#[test]
fn messages_come_by_an_api_where_there_is_one_and_nobody_wants_it_otherwise() {
    let api =
        "[api]\nshape = 'demo-door'\nat = '{state}/d'\n[launch.api]\nargs = ['--at', '{state}']\n";
    let own = |channel: &str| format!("channel = '{channel}'\n{TEXT}{api}");
    let (paste, whole) = (Some(Channel::Paste), Some(Channel::Api));
    for (text, wanted, is_api) in [
        (TEXT.to_owned(), None, false),
        (TEXT.to_owned(), whole, false),
        (format!("{TEXT}{api}"), None, true),
        (format!("{TEXT}{api}"), paste, false),
        (own("paste"), None, false),
        (own("paste"), whole, true),
        (own("api"), None, true),
    ] {
        let manifest = read(&text).unwrap();
        let settings = KindSettings { channel: wanted, ..KindSettings::default() };
        assert_eq!(manifest.channel(&settings) == Channel::Api, is_api, "{text} {wanted:?}");
        let started = manifest.start(Start::New, &settings, Told::default(), known).unwrap();
        assert_eq!(started.argv.contains(&"--at".to_owned()), is_api, "{started:?}");
    }
    told(
        &format!("channel = 'api'\n{TEXT}"),
        ":1: `channel` is \"api\", and there is no [api] that says where that is",
    );
    told(&format!("channel = 'mail'\n{TEXT}"), ":1: `channel` must be one of paste, api");
    for (kind, channel) in [("opencode", Channel::Api), ("demo", Channel::Paste)] {
        let (_, text) = BUILT_IN.iter().find(|(file, _)| file.contains(kind)).unwrap();
        assert_eq!(read(text).unwrap().channel(&KindSettings::default()), channel);
    }
}

#[test]
fn what_would_not_arrive_as_it_is_becomes_no_argument() {
    let long = "x".repeat((64 << 10) + 1);
    for text in ["/clear", "!rm -r .", "a\0b", &long] {
        let told = Told { prompt: Some(text), ..Told::default() };
        check_told("claude", Start::New, told, &[], Some(text));
    }
    let told = Told { role: Some(&long), prompt: Some("go"), trusted: false };
    check_told("claude", Start::New, told, &[], Some(&format!("{long}\n\ngo")));
    let blank = Told { role: Some(" "), prompt: Some("\n"), trusted: false };
    check_told("claude", Start::New, blank, &[], None);
}

#[test]
fn the_guide_explains_every_key_place_and_word() {
    let keys = read::EXPLAINED
        .iter()
        .chain(&screen::EXPLAINED)
        .chain(&prices::EXPLAINED)
        .flat_map(|keys| keys.iter());
    let places = Place::ALL.map(|place| format!("{{{}}}", place.name()));
    let words = [
        names(HookShape::ALL, HookShape::name),
        names(TranscriptShape::ALL, TranscriptShape::name),
        names(UsageShape::ALL, UsageShape::name),
        names(StatusShape::ALL, StatusShape::name),
        names(ApiShape::ALL, ApiShape::name),
        names(&Channel::ALL, Channel::name),
        names(SessionBy::ALL, SessionBy::name),
        names(Paste::ALL, Paste::name),
        names(&Ability::ALL, Ability::name),
        names(&Witness::ALL, Witness::name),
    ];
    let keys = keys.map(|key| (*key).to_owned());
    for word in keys.chain(places).chain(words.concat()) {
        let is_there = ["`", "`[", "`[launch.", "`[prices.", "`[["]
            .iter()
            .zip(["`", "]`", "]`", "]`", "]]`"])
            .any(|(before, after)| GUIDE.contains(&format!("{before}{word}{after}")));
        assert!(is_there, "the guide says nothing of {word}");
    }
}

#[test]
fn no_agent_is_allowed_more_than_the_user_said() {
    let ask_only = read(TEXT).unwrap();
    let loose =
        read(&TEXT.replace("[launch.ask]\nargs = []", "[launch.all]\nargs = ['-y']")).unwrap();
    for permissions in Permissions::ALL {
        let settings = KindSettings { permissions, ..KindSettings::default() };
        let started = ask_only.start(Start::New, &settings, Told::default(), known).unwrap();
        assert_eq!(started.argv, ["<program>", "<name>"]);
        let started = loose.start(Start::New, &settings, Told::default(), known);
        assert_eq!(started.is_ok(), permissions == Permissions::All, "{permissions:?}");
    }
    let refused = loose
        .start(Start::New, &KindSettings::default(), Told::default(), known)
        .unwrap_err()
        .to_string();
    let expected = "X cannot be held to permissions = \"edits\": the strictest it knows is \"all\"";
    assert_eq!(refused, expected);
}

const GUIDE: &str = include_str!("../../../../docs/agents.md");

const TEXT: &str = "kind = 'x'
title = 'X'

[find]
program = 'x'
install = 'make it'
[launch]
command = ['{name}']
[launch.ask]
args = []
[prompt]
mark = ['>']
[[rules]]
name = 'p'
phase = 'idle'
region = 'last 1'
all = ['^>']
[keys]
submit = ['Enter']
";

fn names<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> Vec<String> {
    all.iter().map(|it| name(*it).to_owned()).collect()
}

/// Checks which arguments are added to a kind's own if it is told something, and what is left to say.
#[track_caller]
fn check_told(kind: &str, start: Start, told: Told<'_>, expected: &[&str], unsaid: Option<&str>) {
    let (_, text) = BUILT_IN.iter().find(|(file, _)| file.contains(kind)).unwrap();
    let manifest = read(text).unwrap();
    let settings = KindSettings::default();
    let plain = manifest.start(start, &settings, Told::default(), known).unwrap();
    let started = manifest.start(start, &settings, told, known).unwrap();
    let (own, added) = started.argv.split_at(plain.argv.len());
    assert_eq!(own, plain.argv, "{kind} {told:?}");
    assert_eq!(added, expected, "{kind} {told:?}");
    assert_eq!(started.unsaid.as_deref(), unsaid, "{kind} {told:?}");
    assert_eq!(plain.unsaid, None);
}

fn known(place: Place) -> Option<String> {
    Some(format!("<{}>", place.name()))
}

fn read(text: &str) -> Result<Manifest, ConfigError> {
    parse(Path::new("x.toml"), text)
}

/// Checks what is told if something in a manifest is written otherwise.
#[track_caller]
fn check(right: &str, wrong: &str, expected: &str) {
    assert!(TEXT.contains(right), "{right}");
    told(&TEXT.replacen(right, wrong, 1), expected);
}

/// Checks what is told if something is added to a manifest; nothing if that is all right.
#[track_caller]
fn add(more: &str, expected: &str) {
    let text = format!("{TEXT}{more}");
    match expected {
        "" => drop(read(&text).unwrap()),
        expected => told(&text, expected),
    }
}

#[track_caller]
fn told(text: &str, expected: &str) {
    let error = read(text).unwrap_err().to_string();
    assert!(error.starts_with("x.toml:") && error.contains(expected), "{error}");
}
