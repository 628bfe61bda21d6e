//! Payloads as the CLIs sent them, and as nobody should.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cmux_core::hook::{Beginning, redact};
use cmux_core::kind::Permissions;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::manifest::{BUILT_IN, Manifest, parse};

#[test]
fn what_was_recorded_is_understood() {
    let of = |kind: &str, name: &str| {
        let file = recordings().join(kind).join(format!("{name}.json"));
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    let mut told = Vec::new();
    for (kind, shape, meanings) in [
        ("claude", HookShape::Claude, claude()),
        ("codex", HookShape::Codex, codex()),
        ("gemini", HookShape::Gemini, gemini()),
    ] {
        for (name, expected) in meanings {
            let event = name.split('-').next().unwrap();
            let payload = of(kind, name);
            check(shape, event, &payload, &expected);
            if shape == HookShape::Claude {
                check(HookShape::Demo, event, &payload, &expected);
            }
            let body: Value = serde_json::from_str(&payload).unwrap();
            assert_eq!(body["hook_event_name"], event, "{kind} {name}");
            let session = read(shape, event, &payload).ids.session;
            assert_eq!(session.as_deref(), body["session_id"].as_str(), "{kind} {name}");
            let is_prompt = expected == Meaning::Prompted;
            let prompt = prompt(&payload).filter(|text| text.starts_with("[cmux dlv_"));
            assert!(!is_prompt || prompt.is_some(), "{kind} {name}");
            told.push(format!("{kind}/{name}.json"));
        }
    }
    told.sort();
    assert_eq!(told, recorded(), "each recording means something, and each meaning is recorded");
}

#[test]
fn nothing_of_a_machine_is_recorded() {
    for file in recorded() {
        let text = fs::read_to_string(recordings().join(&file)).unwrap();
        // A folder of Gemini CLI's own, and what stands for a person's home.
        let text = text.replace(".gemini/tmp/", "").replace("/srv/home/", "");
        for trace in ["/tmp/", "/home/", "/root", "/work", "/Users/", "/target/debug", "dlv_01"] {
            assert!(!text.contains(trace), "{file} has {trace} in it");
        }
    }
}

/// What each recording of Claude Code's says.
fn claude() -> Vec<(&'static str, Meaning)> {
    vec![
        ("SessionStart", Meaning::SessionBegan { how: Beginning::New }),
        ("UserPromptSubmit", Meaning::Prompted),
        ("PreToolUse", Meaning::ToolBegan { tool: "Bash".to_owned() }),
        ("PermissionRequest", asking("permission")),
        ("PermissionRequest-question", asking("question")),
        ("PostToolUse", ended("Bash", true)),
        ("PostToolUseFailure", ended("Bash", false)),
        ("Stop", OVER),
        ("StopFailure", Meaning::TurnFailed),
        ("StopFailure-limit", Meaning::Limited { until: None }),
        ("SubagentStart", Meaning::SubagentBegan),
        ("SubagentStop", Meaning::SubagentEnded),
        ("PreCompact", Meaning::Compacting),
        ("PostCompact", Meaning::Notice),
        ("SessionEnd", Meaning::SessionEnded),
    ]
}

/// What each recording of Codex's says.
fn codex() -> Vec<(&'static str, Meaning)> {
    vec![
        ("SessionStart", Meaning::SessionBegan { how: Beginning::New }),
        ("UserPromptSubmit", Meaning::Prompted),
        ("PreToolUse", Meaning::ToolBegan { tool: "Bash".to_owned() }),
        ("PermissionRequest", asking("permission")),
        ("PostToolUse", ended("Bash", true)),
        ("Stop", OVER),
    ]
}

/// What each recording of Gemini CLI's says.
fn gemini() -> Vec<(&'static str, Meaning)> {
    let shell = "run_shell_command";
    vec![
        ("SessionStart", Meaning::SessionBegan { how: Beginning::New }),
        ("BeforeAgent", Meaning::Prompted),
        ("BeforeTool", Meaning::ToolBegan { tool: shell.to_owned() }),
        ("Notification", asking("permission")),
        ("AfterTool", ended(shell, true)),
        ("AfterAgent", OVER),
    ]
}

/// A turn is over, and nothing goes on behind it.
const OVER: Meaning = Meaning::TurnEnded { in_background: false };

fn asking(what: &str) -> Meaning {
    Meaning::Asking { what: what.to_owned() }
}

fn ended(tool: &str, ok: bool) -> Meaning {
    Meaning::ToolEnded { tool: tool.to_owned(), ok }
}

/// Returns where the recordings are.
fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hooks")
}

/// Returns all recordings, as `kind/file`.
fn recorded() -> Vec<String> {
    let mut all = Vec::new();
    for kind in ["claude", "codex", "gemini"] {
        let files = fs::read_dir(recordings().join(kind)).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        all.extend(names.map(|name| format!("{kind}/{name}")));
    }
    all.sort();
    all
}

#[test]
fn what_was_not_recorded_is_understood() {
    for (event, payload, expected) in [
        (
            "PostToolUse",
            r#"{"tool_name":"Bash","tool_response":{"interrupted":true}}"#,
            ended("Bash", false),
        ),
        (
            "Stop",
            r#"{"background_tasks":[{"id":"a","status":"running"}]}"#,
            Meaning::TurnEnded { in_background: true },
        ),
        (
            "Stop",
            r#"{"background_tasks":[{"id":"a"}]}"#,
            Meaning::TurnEnded { in_background: true },
        ),
        ("Stop", r#"{"background_tasks":[{"id":"a","status":"completed"}]}"#, OVER),
        ("Stop", "{}", OVER),
        ("Notification", r#"{"notification_type":"idle_prompt"}"#, Meaning::Notice),
        ("FileChanged", "{}", Meaning::Other),
    ] {
        check(HookShape::Claude, event, payload, &expected);
        check(HookShape::Demo, event, payload, &expected);
    }
    check(HookShape::Codex, "Interrupt", "{}", &OVER);
    for (event, payload, expected) in [
        ("AfterAgent", r#"{"prompt_response":"[no response text]"}"#, OVER),
        (
            "AfterTool",
            r#"{"tool_name":"run_shell_command","tool_response":{"error":"no"}}"#,
            ended("run_shell_command", false),
        ),
        ("AfterTool", r#"{"tool_name":"x","tool_response":{"error":null}}"#, ended("x", true)),
        ("Notification", r#"{"notification_type":"Other"}"#, Meaning::Notice),
        ("PreCompress", r#"{"trigger":"auto"}"#, Meaning::Compacting),
    ] {
        check(HookShape::Gemini, event, payload, &expected);
    }
}

#[test]
fn how_a_session_began_is_told() {
    for (source, how) in [
        ("startup", Beginning::New),
        ("resume", Beginning::Resumed),
        ("fork", Beginning::Resumed),
        ("clear", Beginning::Cleared),
        ("compact", Beginning::Compacted),
        ("tomorrow", Beginning::New),
    ] {
        for shape in [HookShape::Claude, HookShape::Codex, HookShape::Gemini, HookShape::Demo] {
            let payload = format!(r#"{{"source":"{source}"}}"#);
            check(shape, "SessionStart", &payload, &Meaning::SessionBegan { how });
        }
    }
}

#[test]
fn what_belongs_together_is_named() {
    let payload = r#"{"session_id":"s","prompt_id":"p","turn_id":"t","tool_use_id":"c",
                      "agent_id":"a","agent_type":"x"}"#;
    let ids = |shape| read(shape, "PreToolUse", payload).ids;
    let some = |text: &str| Some(text.to_owned());
    let claude =
        Ids { session: some("s"), subagent: some("a"), prompt: some("p"), call: some("c") };
    assert_eq!(ids(HookShape::Claude), claude);
    assert_eq!(ids(HookShape::Codex), Ids { prompt: some("t"), ..claude });
}

#[test]
fn what_makes_no_sense_means_nothing_and_harms_nobody() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let nested = format!("{}1{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000));
    let long = format!(r#"{{"tool_name":"{}"}}"#, "x".repeat(5 << 20));
    for payload in ["", "not JSON", "[]", "null", "7", "\"x\"", "{", &deep, &nested, &long] {
        for shape in HookShape::ALL {
            check(*shape, "PreToolUse", payload, &Meaning::Other);
        }
    }
    let wrong = r#"{"session_id":7,"tool_name":["x"],"tool_use_id":{},"background_tasks":"no"}"#;
    let understood = read(HookShape::Claude, "PreToolUse", wrong);
    let expected = Meaning::ToolBegan { tool: String::new() };
    assert_eq!(understood, Understood { means: expected, ids: Ids::default() });
    check(HookShape::Claude, "Stop", wrong, &Meaning::TurnEnded { in_background: false });
    let loud = json!({ "session_id": format!("a\n\u{1b}[2J{}", "b".repeat(500)) }).to_string();
    let session = read(HookShape::Claude, "Stop", &loud).ids.session.unwrap();
    assert!(session.chars().count() == TEXT_MAX && session.starts_with("a[2Jbb"), "{session}");
}

#[test]
fn a_prompt_is_taken_from_what_was_told_in_full() {
    let long = "[cmux dlv_x\n\t".repeat(10_000);
    let told = json!({ "session_id": "s", "prompt": long }).to_string();
    assert_eq!(prompt(&told), Some(long));
    for none in ["", "x", "[]", "{}", r#"{"prompt":7}"#, r#"{"prompt":["x"]}"#, &told[..99]] {
        assert_eq!(prompt(none), None, "{none}");
    }
}

#[test]
fn two_calls_are_for_one_prompt_only_if_the_cli_says_so() {
    let (one, two) = ("hk_00000000000000000000000001", "hk_00000000000000000000000002");
    let payload = r#"{"prompt":"x","prompt_id":"p","turn_id":"t","timestamp":"2026-01-01"}"#;
    for (shape, expected) in [
        (HookShape::Claude, false),
        (HookShape::Codex, false),
        (HookShape::Demo, false),
        (HookShape::Gemini, true),
    ] {
        let event = |own: &str| event_of(shape, payload, own.parse().unwrap());
        assert_eq!(event(one) == event(two), expected, "{shape:?}");
        assert_eq!(event(one), event(one));
    }
}

#[test]
fn what_is_shortened_still_means_the_same() {
    let long = json!({ "tool_response": { "stdout": ["x".repeat(1 << 20)] }, "tool_name": "T" });
    let short = shorten(long.to_string(), 64 << 10);
    assert!(short.len() < 8 << 10, "{}", short.len());
    let ended = Meaning::ToolEnded { tool: "T".to_owned(), ok: true };
    check(HookShape::Claude, "PostToolUse", &short, &ended);
    assert_eq!(shorten("{}".to_owned(), 64), "{}");
    for none in ["x".repeat(1 << 20), json!(vec![1; 1 << 20]).to_string()] {
        assert!(shorten(none, 1 << 10).len() <= 1 << 10);
    }
}

#[test]
fn each_reply_is_said_in_the_words_of_the_cli() {
    use HookShape::{Claude, Codex, Gemini};
    let why = || "R".to_owned();
    let (block, deny) = (Reply::Block { why: why() }, Reply::Deny { why: why() });
    let context = Reply::Context { text: "C".to_owned() };
    let denied = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"R"}}"#;
    let blocked = r#"{"decision":"block","reason":"R"}"#;
    for (shape, event, reply, expected) in [
        (Claude, "Stop", &Reply::Pass, ""),
        (Claude, "UserPromptSubmit", &block, blocked),
        (Claude, "Stop", &block, blocked),
        (Claude, "PreToolUse", &deny, denied),
        (
            Claude,
            "PreToolUse",
            &Reply::Allow,
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#,
        ),
        (
            Claude,
            "PermissionRequest",
            &deny,
            r#"{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"R"},"hookEventName":"PermissionRequest"}}"#,
        ),
        (
            Claude,
            "SessionStart",
            &context,
            r#"{"hookSpecificOutput":{"additionalContext":"C","hookEventName":"SessionStart"}}"#,
        ),
        (Claude, "SessionEnd", &block, ""),
        (Claude, "Stop", &Reply::Ask, ""),
        (Codex, "PreToolUse", &deny, denied),
        (Codex, "PreToolUse", &Reply::Allow, ""),
        (Gemini, "BeforeTool", &deny, r#"{"decision":"deny","reason":"R"}"#),
        (Gemini, "BeforeTool", &Reply::Ask, r#"{"decision":"ask"}"#),
        (Gemini, "BeforeTool", &Reply::Allow, ""),
        (Gemini, "AfterAgent", &block, blocked),
        (HookShape::Hermes, "x", &block, ""),
    ] {
        let said = answer(shape, event, reply);
        assert_eq!((said.stdout.as_str(), said.code), (expected, 0), "{shape:?} {event} {reply:?}");
    }
    let said = answer(Claude, "PreCompact", &block);
    assert_eq!(said, Said { stdout: String::new(), stderr: why(), code: 2 });
}

#[test]
fn settings_have_every_event_call_cmux_and_allow_it() {
    let cmux = Path::new("/opt/it's here/cmux");
    for kind in ["claude", "codex", "gemini", "demo"] {
        let manifest = built_in(kind);
        let folder = tempfile::tempdir().unwrap();
        let (ours, home) = (folder.path().join("ours"), folder.path().join("home"));
        let files = settings(&manifest, cmux, Path::new("/a b/repo"), Permissions::Edits);
        let written = files.write(&ours, &home).unwrap();
        assert_eq!(written, files.write(&ours, &home).unwrap(), "twice is once");
        assert!(!home.exists(), "nothing of the person's is touched");
        let file = match kind {
            "codex" => written.join("hooks.json"),
            "gemini" => written.join(".gemini/settings.json"),
            _ => written,
        };
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{kind}");
        let text: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        for event in &manifest.hooks.as_ref().unwrap().events {
            let hook = &text["hooks"][event][0]["hooks"][0];
            let command = format!(r"'/opt/it'\''s here/cmux' hook {kind} {event}");
            assert_eq!(hook["command"], command, "{kind}");
            assert_eq!(hook["timeout"], if kind == "gemini" { 10_000 } else { 10 });
        }
        match kind {
            "claude" | "demo" => {
                let expected = json!({
                    "defaultMode": "acceptEdits",
                    "allow": ["Bash(cmux *)", "Read(//a b/repo/.cmux/mail/**)"],
                });
                assert_eq!(text["permissions"], expected);
            }
            _ => assert!(text.get("permissions").is_none()),
        }
    }
    for kind in ["hermes", "opencode", "shell", "agy"] {
        assert_eq!(
            settings(&built_in(kind), cmux, Path::new("/r"), Permissions::All).files,
            [],
            "{kind}"
        );
    }
}

#[test]
fn mail_may_be_read_where_the_project_s_path_means_only_itself() {
    for (root, expected) in [
        ("/home/ada/repo", Some("Read(//home/ada/repo/.cmux/mail/**)")),
        ("/home/ada/repo/", Some("Read(//home/ada/repo/.cmux/mail/**)")),
        ("/home/ada/a (copy)", None),
        ("/home/*/repo", None),
        ("/home/ada/x) Bash(rm *", None),
        ("repo", None),
    ] {
        let files =
            settings(&built_in("claude"), Path::new("/c"), Path::new(root), Permissions::Ask);
        let Content::Text(text) = &files.files[0].content else { panic!("{files:?}") };
        let text: Value = serde_json::from_str(text).unwrap();
        assert_eq!(text["permissions"]["allow"][1].as_str(), expected, "{root}");
    }
}

#[test]
fn codex_has_a_folder_of_its_own_with_links_to_what_is_the_persons() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (folder.path().join("ours"), folder.path().join("theirs"));
    fs::create_dir_all(theirs.join("prompts")).unwrap();
    fs::write(theirs.join("auth.json"), "s3cret").unwrap();
    fs::write(theirs.join("config.toml"), "model = 'm'\n[projects.\"/a\"]\nx = 1\n").unwrap();
    let files = settings(&built_in("codex"), Path::new("/cmux"), Path::new("/r"), Permissions::Ask);
    assert_eq!(files.lasts, Lasts::Agent);
    files.write(&ours, &theirs).unwrap();
    assert_eq!(fs::read_link(ours.join("auth.json")).unwrap(), theirs.join("auth.json"));
    assert_eq!(fs::read_link(ours.join("prompts")).unwrap(), theirs.join("prompts"));
    assert!(fs::symlink_metadata(ours.join("skills")).is_err(), "there is nothing to link to");
    assert!(fs::read_to_string(ours.join("rules/cmux.rules")).unwrap().contains("[\"cmux\"]"));
    // What Codex notes in ours is kept, and what the person changes is taken over.
    let config = ours.join("config.toml");
    let noted = "\n[hooks.state.\"x:stop:0:0\"]\ntrusted_hash = 'h'\n\n[projects.\"/a\"]\nx = 2\n\n\
                 [projects.\"/b\"]\ny = 1\n[other]\nz = 1\n";
    let before = fs::read_to_string(&config).unwrap();
    fs::write(&config, before.replace("[projects.\"/a\"]\nx = 1\n", noted)).unwrap();
    fs::write(theirs.join("config.toml"), "model = 'n'\n[projects.\"/a\"]\nx = 1\n").unwrap();
    files.write(&ours, &theirs).unwrap();
    let expected = "model = 'n'\n[projects.\"/a\"]\nx = 1\n\n[hooks.state.\"x:stop:0:0\"]\n\
                    trusted_hash = 'h'\n\n[projects.\"/b\"]\ny = 1\n";
    assert_eq!(fs::read_to_string(&config).unwrap(), expected);
    let again = fs::read_to_string(theirs.join("config.toml")).unwrap();
    assert_eq!(again, "model = 'n'\n[projects.\"/a\"]\nx = 1\n");
    assert_eq!(fs::read_to_string(theirs.join("auth.json")).unwrap(), "s3cret");
}

#[test]
fn gemini_has_a_home_of_its_own_with_what_the_person_set_and_links_to_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (folder.path().join("ours"), folder.path().join("theirs"));
    fs::create_dir_all(theirs.join(".gemini/extensions")).unwrap();
    fs::write(theirs.join(".gemini/oauth_creds.json"), "s3cret").unwrap();
    let said = r#"{ // Mine.
        "security": { "auth": { "selectedType": "x // y /* z */ \" w" } }, /* Not
        theirs. */ "hooks": { "AfterAgent": [1] }, "policyPaths": ["a"] }"#;
    fs::write(theirs.join(".gemini/settings.json"), said).unwrap();
    let files =
        settings(&built_in("gemini"), Path::new("/cmux"), Path::new("/r"), Permissions::Ask);
    assert_eq!(files.lasts, Lasts::Agent);
    for _ in 0..2 {
        assert_eq!(files.write(&ours, &theirs).unwrap(), ours);
    }
    for name in [".gemini/oauth_creds.json", ".gemini/extensions"] {
        assert_eq!(fs::read_link(ours.join(name)).unwrap(), theirs.join(name));
    }
    let text = fs::read_to_string(ours.join(".gemini/settings.json")).unwrap();
    let text: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(text["security"]["auth"]["selectedType"], "x // y /* z */ \" w");
    let policies = json!(["a", "~/.gemini/policies", "~/.gemini/cmux.toml"]);
    assert_eq!(text["policyPaths"], policies);
    let rule = fs::read_to_string(ours.join(".gemini/cmux.toml")).unwrap();
    assert!(rule.contains("commandPrefix = \"cmux\""), "{rule}");
    assert_eq!(text["hooks"]["AfterAgent"].as_array().unwrap().len(), 2);
    fs::write(theirs.join(".gemini/settings.json"), "{ no").unwrap();
    let refused = files.write(&ours, &theirs).unwrap_err().to_string();
    assert!(refused.contains("theirs/.gemini/settings.json is not JSON: "), "{refused}");
}

#[test]
fn where_the_person_has_a_cli_is_as_the_person_says() {
    let home = Path::new("/home/ada");
    for (kind, expected) in [("codex", "/home/ada/.codex"), ("gemini", "/home/ada")] {
        let manifest = built_in(kind);
        assert_eq!(theirs(&manifest, home, |_| None), Path::new(expected), "{kind}");
        assert_eq!(theirs(&manifest, home, |_| Some("".into())), Path::new(expected), "{kind}");
        assert_eq!(theirs(&manifest, home, |_| Some("/x".into())), Path::new("/x"), "{kind}");
    }
}

proptest! {
    #[test]
    fn json_without_its_secrets_is_still_json(
        key in "[a-z_]{0,8}(token|password|api_key|x)",
        value in "[ -~]{0,24}",
        command in r#"[ -~äß"\\=:'\n]{0,60}"#,
    ) {
        let payload = json!({ key: value, "command": command, "end": 1 });
        let inner = json!({ "tool_input": payload.to_string(), "end": 1 }).to_string();
        for text in [payload.to_string(), inner] {
            let clean: Value = serde_json::from_str(&redact(&text)).unwrap();
            prop_assert_eq!(&clean["end"], 1);
        }
    }

    #[test]
    fn no_payload_makes_reading_fail(payload in ".{0,200}", event in "[A-Za-z]{1,20}") {
        for shape in HookShape::ALL {
            read(*shape, &event, &payload);
        }
    }
}

/// Checks what a payload means.
#[track_caller]
fn check(shape: HookShape, event: &str, payload: &str, expected: &Meaning) {
    let start: String = payload.chars().take(80).collect();
    assert_eq!(read(shape, event, payload).means, *expected, "{shape:?} {event} {start}");
}

fn built_in(kind: &str) -> Manifest {
    let file = format!("agents/{kind}.toml");
    let (_, text) = BUILT_IN.iter().find(|(path, _)| *path == file).unwrap();
    parse(Path::new(&file), text).unwrap()
}
