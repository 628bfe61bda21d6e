//! Hooks: what they are told, and what they may object to.

use cmux_testkit::wait::eventually;

use crate::pane::Pane;

const EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "Stop",
    "SessionEnd",
];

/// Appends what a hook was told to the file `hooks`, in one go.
const NOTE: &str = "read -r line; printf '%s\\n' \"$line\" >> hooks";

const TOOL: &str = r#"{"rules":[{"steps":[
    {"tool":{"name":"Bash","input":{"command":"echo ran > ran"}}},{"say":"over"}]}]}"#;

#[test]
fn each_event_is_told_in_its_order() {
    let pane = hooked(TOOL, EVENTS, NOTE, 60);
    pane.type_in("go");
    pane.submit();
    pane.shows("❯ 1. Yes");
    // An answer ends the hook that could have given it.
    eventually("all four were told", || (pane.hooks().len() == 4).then_some(()));
    pane.keys(&["1"]);
    pane.shows("● over");
    pane.is("idle");
    pane.type_in("/exit");
    pane.keys(&["Enter"]);
    assert_eq!(pane.exit(), Some(0));
    let hooks = pane.hooks();
    let events: Vec<&str> =
        hooks.iter().map(|hook| hook["hook_event_name"].as_str().unwrap()).collect();
    assert_eq!(events, EVENTS);
    let state = pane.path("state").canonicalize().unwrap();
    for hook in &hooks {
        let session = hook["session_id"].as_str().unwrap();
        let transcript = state.join(format!("{session}.jsonl"));
        assert_eq!(hook["transcript_path"], transcript.to_str().unwrap());
        assert_eq!(hook["cwd"], pane.folder().to_str().unwrap());
    }
    for (index, field, expected) in [
        (0, "source", "startup"),
        (1, "prompt", "go"),
        (2, "tool_name", "Bash"),
        (3, "tool_use_id", "toolu_00000001"),
        (5, "last_assistant_message", "over"),
        (6, "reason", "prompt_input_exit"),
    ] {
        assert_eq!(hooks[index][field], expected, "{}", hooks[index]);
    }
    assert_eq!(hooks[2]["tool_input"]["command"], "echo ran > ran");
}

#[test]
fn a_blocked_prompt_is_back_in_the_composer_and_was_not_taken() {
    for command in [
        "cat >/dev/null; echo 'said twice' >&2; exit 2",
        "cat >/dev/null; echo '{\"decision\":\"block\",\"reason\":\"said twice\"}'",
    ] {
        let pane = hooked("{}", &["UserPromptSubmit"], command, 60);
        pane.type_in("again");
        pane.shows("│ > again ");
        pane.keys(&["Enter"]);
        let screen = pane.shows("said twice");
        assert!(screen.contains("│ > again "), "{screen}");
        pane.is("idle");
        assert_eq!(pane.taken(), Vec::<String>::new());
        assert!(!pane.screen().contains("● echo"));
    }
}

#[test]
fn a_hook_that_fails_in_another_way_holds_up_nothing() {
    for (command, timeout_s) in [("exit 1", 60), ("no-such-command", 60), ("sleep 1000", 1)] {
        let pane = hooked("{}", &["UserPromptSubmit"], command, timeout_s);
        pane.type_in("hello");
        pane.shows("│ > hello ");
        pane.keys(&["Enter"]);
        assert_eq!(pane.takes(1), ["hello"]);
    }
}

#[test]
fn a_hook_may_allow_and_deny_a_tool() {
    let answer = |decision: &str| {
        format!(
            "cat >/dev/null; echo '{{\"hookSpecificOutput\":{{\"permissionDecision\":\"{decision}\",\
             \"permissionDecisionReason\":\"because\"}}}}'"
        )
    };
    let pane = hooked(TOOL, &["PreToolUse"], &answer("allow"), 60);
    pane.type_in("go");
    pane.submit();
    pane.shows("● over");
    assert_eq!(pane.read("ran"), "ran\n");
    let pane = hooked(TOOL, &["PreToolUse"], &answer("deny"), 60);
    pane.type_in("go");
    pane.submit();
    let screen = pane.shows("● over");
    assert!(screen.contains("because") && !pane.path("ran").exists(), "{screen}");
}

#[test]
fn hooks_are_lost_on_request() {
    let pane = Pane::new();
    let settings = pane.settings(EVENTS, NOTE, 60);
    pane.start(&["--settings", &settings, "--fault", "lose-hooks=Stop"], (80, 24));
    pane.shows("╰──");
    pane.type_in("hello");
    pane.submit();
    pane.shows("● echo: hello");
    pane.is("idle");
    let events = pane.hooks();
    assert!(events.iter().all(|hook| hook["hook_event_name"] != "Stop"), "{events:?}");
    assert!(events.iter().any(|hook| hook["hook_event_name"] == "UserPromptSubmit"));
}

#[test]
fn a_prompt_waits_for_a_hook_that_is_late_and_can_be_taken_back() {
    let pane = Pane::new();
    let settings = pane.settings(&["UserPromptSubmit"], NOTE, 60);
    pane.start(&["--settings", &settings, "--fault", "late-hooks-ms=3600000"], (80, 24));
    pane.shows("╰──");
    pane.type_in("hello");
    pane.keys(&["Enter"]);
    pane.shows("esc to interrupt");
    assert_eq!(pane.taken(), Vec::<String>::new());
    pane.keys(&["Escape"]);
    pane.shows("│ > hello ");
    pane.is("idle");
}

#[test]
fn who_is_asked_to_end_tells_its_last_hook() {
    let pane = hooked("{}", &["SessionEnd"], NOTE, 60);
    let pid = pane.tell("#{pane_pid}").parse().ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.unwrap(), rustix::process::Signal::TERM).unwrap();
    assert_eq!(pane.exit(), Some(143));
    assert_eq!(pane.hooks()[0]["reason"], "other");
}

/// Returns an agent with a script, whose hooks of `events` run `command`.
fn hooked(script: &str, events: &[&str], command: &str, timeout_s: u32) -> Pane {
    let pane = Pane::new();
    let script = pane.write("script.json", script).display().to_string();
    let settings = pane.settings(events, command, timeout_s);
    pane.start(&["--script", &script, "--settings", &settings], (80, 24));
    pane.shows("╰──");
    if events.contains(&"SessionStart") {
        eventually("it has begun", || pane.hooks().first().cloned());
    }
    pane
}
