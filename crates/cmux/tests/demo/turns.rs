//! Turns: what its script makes it do, what interrupts it, and what it remembers.

use std::fs;

use crate::pane::Pane;

const TOUCH: &str = r#"{"rules":[
    {"when":{"contains":"make"},"steps":[
        {"tool":{"name":"Bash","input":{"command":"echo made | tee made","description":"Make a file"}}},
        {"write":{"path":"notes/a.txt","text":"written"}},
        {"say":"all done"}]},
    {"when":{"contains":"sleep"},"steps":[
        {"tool":{"name":"Bash","input":{"command":"echo begun > begun; exec sleep 1000"},"ask":false}}]},
    {"when":{"contains":"wait"},"steps":[{"think_ms":3600000}]},
    {"when":{"contains":"break"},"steps":[
        {"tool":{"name":"Bash","input":{"command":"exit 3"},"ask":false}},{"fail":"overloaded"}]},
    {"when":{"contains":"count"},"steps":[{"stream":{"lines":100,"every_ms":1}},{"say":"counted"}]}
]}"#;

#[test]
fn a_tool_waits_for_permission_and_really_runs() {
    let pane = scripted(&[]);
    pane.type_in("make it");
    pane.submit();
    let screen = pane.shows("❯ 1. Yes");
    for line in ["Bash command", "echo made | tee made", "Do you want to proceed?", "3. No"] {
        assert!(screen.contains(line), "{line} is not in:\n{screen}");
    }
    assert_eq!(pane.is("waiting")["waitingFor"], "permission prompt");
    assert!(!pane.path("made").exists());
    pane.keys(&["1"]);
    pane.shows("Write file");
    pane.keys(&["Down", "Up", "Enter"]);
    pane.shows("● all done");
    assert_eq!(
        (pane.read("made").as_str(), pane.read("notes/a.txt").as_str()),
        ("made\n", "written")
    );
    pane.is("idle");
}

#[test]
fn what_was_meant_for_the_composer_approves_the_tool() {
    let pane = scripted(&[]);
    pane.type_in("make it");
    pane.submit();
    pane.shows("❯ 1. Yes");
    pane.paste("do not do it");
    pane.keys(&["Enter"]);
    pane.shows("Write file");
    assert_eq!((pane.read("made").as_str(), pane.taken().len()), ("made\n", 1));
}

#[test]
fn a_refusal_ends_the_turn() {
    for key in ["3", "Escape"] {
        let pane = scripted(&[]);
        pane.type_in("make it");
        pane.submit();
        pane.shows("❯ 1. Yes");
        pane.keys(&[key]);
        pane.shows("Interrupted · What should the agent do instead?");
        pane.is("idle");
        assert!(!pane.path("made").exists());
    }
}

#[test]
fn whoever_may_do_all_is_not_asked() {
    let pane = scripted(&["--permission-mode", "bypassPermissions"]);
    pane.type_in("make it");
    pane.submit();
    pane.shows("● all done");
    assert_eq!(pane.read("made"), "made\n");
}

#[test]
fn esc_interrupts_and_the_prompt_comes_back() {
    let pane = scripted(&[]);
    pane.type_in("wait for me");
    pane.submit();
    pane.shows("esc to interrupt");
    assert_eq!(pane.is("busy")["waitingFor"], serde_json::Value::Null);
    assert!(pane.tell("#{pane_title}").starts_with('⠂'));
    pane.keys(&["Escape"]);
    let screen = pane.shows("│ > wait for me ");
    assert!(!screen.contains("esc to interrupt"), "{screen}");
    pane.is("idle");
}

#[test]
fn esc_ends_a_tool_that_runs() {
    let pane = scripted(&[]);
    pane.type_in("sleep");
    pane.submit();
    cmux_testkit::wait::eventually("it runs", || pane.path("begun").exists().then_some(()));
    pane.keys(&["Escape"]);
    pane.shows("Interrupted");
    // nextest sees whether anything is left.
    pane.is("idle");
}

#[test]
fn what_fails_is_told() {
    let pane = scripted(&[]);
    pane.type_in("break");
    pane.submit();
    let screen = pane.shows("● API Error: overloaded");
    assert!(screen.contains("⎿  Exit code 3"), "{screen}");
}

#[test]
fn it_streams_more_than_a_screen() {
    let pane = scripted(&[]);
    pane.type_in("count");
    pane.submit();
    let screen = pane.shows("● counted");
    assert!(screen.contains("line 100") && !screen.contains("line 50\n"), "{screen}");
}

#[test]
fn what_is_said_meanwhile_waits_its_turn() {
    let pane = scripted(&[]);
    pane.type_in("wait");
    pane.submit();
    pane.shows("esc to interrupt");
    pane.type_in("next");
    pane.shows("│ > next ");
    pane.keys(&["Enter"]);
    pane.shows("queued: next");
    pane.keys(&["Escape"]);
    assert_eq!(pane.takes(2), ["wait", "next"]);
    pane.shows("● echo: next");
}

#[test]
fn a_session_goes_on_with_what_was_said() {
    let pane = Pane::ready(&["--session-id", "s-1"]);
    pane.type_in("remember this");
    pane.submit();
    pane.shows("● echo: remember this");
    let refused = pane.refused(&["--session-id", "s-1"]);
    assert_eq!(
        refused,
        "error: Session ID s-1 is already in use.
"
    );
    // What a crash has torn harms nothing else.
    let transcript = pane.path("state").join("s-1.jsonl");
    let torn = format!("{}{{\"type\":\"us", fs::read_to_string(&transcript).unwrap());
    fs::write(&transcript, torn).unwrap();
    pane.start(&["--resume", "s-1"], (80, 24));
    let screen = pane.shows("╰──");
    assert!(screen.contains("> remember this\n"), "{screen}");
    pane.type_in("more");
    pane.submit();
    pane.shows("● echo: more");
    assert_eq!(pane.is("idle")["sessionId"], "s-1");
    let lines = fs::read_to_string(&transcript).unwrap();
    let whole =
        lines.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok());
    assert_eq!((lines.lines().count(), whole.count()), (5, 4), "{lines}");
    let refused = pane.refused(&["--resume", "s-2"]);
    assert_eq!(
        refused,
        "error: No conversation found with session ID: s-2
"
    );
}

#[test]
fn a_prompt_may_be_given_at_the_start() {
    let pane = Pane::ready(&["first words"]);
    assert_eq!(pane.takes(1), ["first words"]);
}

#[test]
fn what_it_cannot_begin_with_is_refused_with_the_reason() {
    let pane = Pane::new();
    let bad = pane.write("bad.json", r#"{"rules":[{"steps":[{"shout":"x"}]}]}"#);
    let bad = bad.display().to_string();
    for (flags, told) in [
        (
            &["--script", &bad][..],
            "bad.json cannot be read: rule 1: step 1: there is no step `shout`",
        ),
        (&["--script", "/no/such"], "/no/such cannot be read: No such file"),
        (&["--settings", "/no/such"], "/no/such cannot be read: No such file"),
        (&["--permission-mode", "any"], "`any` is no permission mode"),
        (&["--fault", "any"], "there is no fault `any`"),
        (&[], "run it in a terminal, or in a tmux pane"),
    ] {
        let refused = pane.refused(flags);
        assert!(refused.starts_with("error: ") && refused.contains(told), "{flags:?}: {refused}");
    }
}

fn scripted(flags: &[&str]) -> Pane {
    let pane = Pane::new();
    let script = pane.write("script.json", TOUCH).display().to_string();
    pane.start(&[&["--script", &script], flags].concat(), (80, 24));
    pane.shows("╰──");
    pane
}
