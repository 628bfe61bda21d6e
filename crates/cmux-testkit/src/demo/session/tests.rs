//! What the agent does about keys, answers and time.

use serde_json::json;

use super::played::{Played, setup};
use super::{Effect, Input, Note, Resumed, Session, Status};
use crate::demo::hook::{Answer, Verdict};
use crate::demo::key::Key;
use crate::demo::screen::Said;

#[test]
fn a_prompt_passes_its_hook_is_taken_and_answered() {
    let mut agent = Played::new("", &[]);
    agent.type_in("hello\r");
    assert_eq!(agent.hooks(), ["SessionStart", "UserPromptSubmit"]);
    assert_eq!(agent.taken, Vec::<String>::new(), "its hook has not answered");
    agent.answer_all();
    assert_eq!(agent.taken, ["hello"]);
    assert_eq!(agent.session.status(), Status::Busy);
    agent.pass(300);
    assert!(agent.said().contains(&Said::Agent("echo: hello".into())));
    agent.answer_all();
    assert_eq!((agent.hooks().last(), agent.session.status()), (Some(&"Stop"), Status::Idle));
}

#[test]
fn a_blocked_prompt_is_back_in_the_composer() {
    let mut agent = Played::new("", &[]);
    agent.type_in("again\r");
    agent.answer("UserPromptSubmit", Answer { block: Some("twice".into()), ..Answer::default() });
    assert_eq!((agent.composed(), agent.taken.len()), ("again".to_owned(), 0));
    assert!(agent.said_text().contains("UserPromptSubmit blocked by a hook: twice"));
    // Nobody's draft is overwritten, and nothing is lost.
    agent.type_in("\r");
    agent.type_in("draft");
    agent.answer("UserPromptSubmit", Answer { block: Some("no".into()), ..Answer::default() });
    assert_eq!(agent.composed(), "draft");
    assert!(agent.said_text().contains("Original prompt: again"));
}

#[test]
fn other_work_asks_at_its_moment_and_takes_the_key_that_was_meant_for_the_prompt() {
    for (fault, typed) in
        [("dialog-after=paste", "\u{1b}[200~hello\u{1b}[201~"), ("dialog-after=0", "hello")]
    {
        let mut agent = Played::new("", &[fault]);
        agent.type_in(typed);
        assert_eq!(agent.session.status(), Status::Idle, "its hook has not answered");
        agent.answer_all();
        assert_eq!(agent.session.status(), Status::Waiting);
        assert!(agent.shown().contains("Do you want to proceed?"), "{}", agent.shown());
        agent.pass(100);
        agent.press(Key::Enter);
        assert_eq!((agent.approved.len(), agent.taken.len()), (1, 0), "{fault}");
        assert_eq!((agent.composed().as_str(), agent.session.status()), ("hello", Status::Idle));
        // It was once, and the prompt is as it was.
        agent.press(Key::Enter);
        agent.answer_all();
        assert_eq!((agent.approved.len(), agent.taken.len()), (1, 1), "{fault}");
    }
}

#[test]
fn other_work_that_asks_after_an_enter_is_answered_by_the_next() {
    for (swallowed, taken) in [(&[][..], 1), (&["drop-enters=1"][..], 0)] {
        let mut agent = Played::new("", &[&["dialog-after=enter"], swallowed].concat());
        agent.type_in("hello\r");
        agent.answer_all();
        assert_eq!((agent.session.status(), agent.taken.len()), (Status::Waiting, taken));
        agent.press(Key::Char('3'));
        assert_eq!(agent.approved, Vec::<String>::new(), "it was refused");
        assert_ne!(agent.session.status(), Status::Waiting);
    }
}

#[test]
fn other_work_asks_again_and_again_while_the_agent_rests() {
    let mut agent = Played::new("", &["dialogs-every-ms=50"]);
    for number in 1..=3 {
        agent.pass(60);
        agent.answer_all();
        assert_eq!(agent.session.status(), Status::Waiting, "{number}");
        agent.press(Key::Char('1'));
        assert_eq!((agent.session.status(), agent.approved.len()), (Status::Idle, number));
    }
    // A hook may answer in a person's place, and that is no key.
    agent.pass(60);
    let deny = Answer { verdict: Some(Verdict::Deny("no".into())), ..Answer::default() };
    agent.answer("PreToolUse", deny);
    assert_eq!((agent.session.status(), agent.approved.len()), (Status::Idle, 3));
}

#[test]
fn the_first_prompt_comes_back_as_if_esc_were_pressed_before_it_is_used() {
    for fault in ["take-back=hooking", "take-back=hooked"] {
        let mut agent = Played::new("", &[fault]);
        agent.type_in("hello\r");
        agent.answer_all();
        assert_eq!((agent.composed().as_str(), agent.taken.len()), ("hello", 0), "{fault}");
        assert_eq!(agent.session.status(), Status::Idle);
        agent.press(Key::Enter);
        agent.answer_all();
        assert_eq!((agent.composed().as_str(), agent.taken.len()), ("", 1), "{fault}");
    }
}

#[test]
fn prompts_are_taken_in_the_order_in_which_they_were_said() {
    let mut agent = Played::new("", &[]);
    agent.type_in("one\rtwo\rthree\r");
    // The first hook is the last to answer.
    for token in agent.tokens("UserPromptSubmit").into_iter().rev() {
        agent.hear(Input::Hooked { token, answer: Answer::default() });
    }
    assert_eq!(agent.taken, ["one"]);
    for _ in 0..4 {
        agent.pass(300);
        agent.answer_all();
    }
    assert_eq!(agent.taken, ["one", "two", "three"]);
}

#[test]
fn esc_interrupts_without_a_hook_and_gives_an_unanswered_prompt_back() {
    for (think_first, back) in [(true, "hello"), (false, "")] {
        let say = r#"{"say":"well"}"#;
        let think = r#"{"think_ms":9999}"#;
        let steps = if think_first { [think, say] } else { [say, think] }.join(",");
        let mut agent = Played::new(&format!(r#"{{"rules":[{{"steps":[{steps}]}}]}}"#), &[]);
        agent.type_in("hello\r");
        agent.answer_all();
        agent.press(Key::Esc);
        assert_eq!((agent.composed().as_str(), agent.session.status()), (back, Status::Idle));
        assert_eq!(agent.hooks().last(), Some(&"UserPromptSubmit"), "none tells of it");
        assert!(agent.notes.contains(&Note::Interrupted));
    }
}

#[test]
fn esc_takes_back_a_prompt_whose_hook_still_runs() {
    let mut agent = Played::new("", &[]);
    agent.type_in("hello\r");
    agent.press(Key::Esc);
    assert_eq!(agent.composed(), "hello");
    agent.answer_all();
    assert_eq!(agent.taken, Vec::<String>::new());
}

#[test]
fn keys_of_a_person_do_what_they_do_in_claude_code() {
    for (typed, composed, exits) in [
        ("abc\x03", "", false),
        ("abc\x15x", "x", false),
        ("one\\\rtwo", "one\ntwo", false),
        ("ab\x7fc", "ac", false),
        ("\x03", "", false),
        ("\x03\x03", "", true),
        ("\x04\x04", "", true),
        ("\x03a\x03\x03", "", false),
        ("/exit\r", "", true),
        ("/nosuch\r", "", false),
        ("!ls\r", "!ls", false),
        ("  \r", "  ", false),
    ] {
        let mut agent = Played::new("", &[]);
        agent.type_in(typed);
        agent.answer_all();
        assert_eq!(
            (agent.composed().as_str(), agent.exit),
            (composed, exits.then_some(0)),
            "{typed:?}"
        );
        assert_eq!(agent.taken, Vec::<String>::new(), "{typed:?}");
    }
}

#[test]
fn a_draft_goes_with_two_escs() {
    let mut agent = Played::new("", &["draft=mine"]);
    agent.press(Key::Esc);
    assert_eq!(agent.composed(), "mine");
    agent.press(Key::Esc);
    assert_eq!(agent.composed(), "");
}

#[test]
fn a_tool_is_asked_for_and_the_person_decides() {
    for (key, used, status) in [
        (Key::Char('1'), true, Status::Busy),
        (Key::Enter, true, Status::Busy),
        (Key::Char('2'), true, Status::Busy),
        (Key::Char('3'), false, Status::Idle),
        (Key::Esc, false, Status::Idle),
    ] {
        let mut agent = asking();
        assert_eq!(agent.session.status(), Status::Waiting);
        agent.press(key.clone());
        assert_eq!(
            (agent.tools.len(), agent.session.status()),
            (usize::from(used), status),
            "{key:?}"
        );
        if used {
            agent.finish_tool("made");
            agent.answer_all();
            let expected = ["PreToolUse", "PermissionRequest", "PostToolUse", "Stop"];
            assert_eq!(agent.hooks()[2..], expected);
            assert!(agent.said().contains(&Said::Agent("done".into())));
        } else {
            assert_eq!(agent.hooks().last(), Some(&"PermissionRequest"), "none tells of a no");
        }
    }
}

#[test]
fn a_hook_may_answer_the_dialog_too() {
    let verdict = |verdict| Answer { verdict: Some(verdict), ..Answer::default() };
    let mut agent = asking();
    agent.answer("PermissionRequest", verdict(Verdict::Allow));
    assert_eq!(agent.tools.len(), 1);
    let mut agent = asking();
    agent.answer("PermissionRequest", verdict(Verdict::Deny("not here".into())));
    assert_eq!(agent.tools.len(), 0);
    assert!(agent.said_text().contains("not here"));
    let mut agent = asking();
    agent.answer("PermissionRequest", Answer::default());
    assert_eq!(agent.session.status(), Status::Waiting, "the person is still asked");
    agent.pass(6_000);
    assert_eq!(agent.hooks().last(), Some(&"Notification"));
    agent.press(Key::Char('1'));
    assert_eq!(agent.tools.len(), 1);
}

#[test]
fn a_hook_before_a_tool_decides_before_anybody_is_asked() {
    for (verdict, used, waits) in [
        (Some(Verdict::Allow), 1, false),
        (Some(Verdict::Deny("R".into())), 0, false),
        (Some(Verdict::Ask), 0, true),
        (None, 0, true),
    ] {
        let mut agent = Played::new(TOOL, &[]);
        agent.type_in("go\r");
        agent.answer("UserPromptSubmit", Answer::default());
        agent.answer("PreToolUse", Answer { verdict, ..Answer::default() });
        assert_eq!(agent.tools.len(), used);
        assert_eq!(agent.session.status() == Status::Waiting, waits);
    }
}

#[test]
fn a_hook_may_keep_a_turn_from_its_end_eight_times() {
    let mut agent = Played::new(r#"{"rules":[{"steps":[{"say":"{prompt}"}]}]}"#, &[]);
    agent.type_in("go\r");
    agent.answer("UserPromptSubmit", Answer::default());
    for _ in 0..20 {
        agent.answer("Stop", Answer { block: Some("more".into()), ..Answer::default() });
    }
    let said = agent.said();
    assert_eq!(said.iter().filter(|it| **it == Said::Agent("more".into())).count(), 8);
    assert_eq!(agent.session.status(), Status::Idle);
}

#[test]
fn a_message_through_the_door_is_taken_once() {
    let mut agent = Played::new("", &[]);
    agent.type_in("busy\r");
    agent.answer_all();
    agent.hear(Input::message(1, "m1", "whole\nmessage"));
    agent.hear(Input::message(2, "m1", "whole\nmessage"));
    agent.answer_all();
    assert_eq!(agent.doors, [(2, "queued".to_owned())]);
    agent.pass(300);
    agent.answer_all();
    agent.hear(Input::message(3, "m1", "whole\nmessage"));
    let expected = [(2, "queued"), (1, "taken"), (3, "taken")];
    assert_eq!(agent.doors, expected.map(|(door, state)| (door, state.to_owned())));
    assert_eq!(agent.taken, ["busy", "whole\nmessage"]);
    agent.hear(Input::message(4, "m2", " "));
    assert_eq!(agent.doors.last(), Some(&(4, "refused".to_owned())));
}

#[test]
fn what_was_taken_before_is_not_taken_again_after_a_resume() {
    let resumed = Resumed { turns: 3, taken: ["m1".to_owned()].into(), ..Resumed::default() };
    let mut agent = Played::with(setup("", &[], Some(resumed)));
    agent.hear(Input::message(1, "m1", "again"));
    agent.answer_all();
    assert_eq!((agent.taken.len(), agent.doors.len()), (0, 1));
}

#[test]
fn a_prompt_that_cannot_be_recorded_is_not_taken() {
    let mut agent = Played::new("", &[]);
    agent.is_full = true;
    agent.type_in("hello\r");
    agent.answer_all();
    assert_eq!((agent.composed().as_str(), agent.session.status()), ("hello", Status::Idle));
    assert!(agent.said_text().contains("could not be recorded: full"));
}

#[test]
fn faults_are_what_they_are_called() {
    let mut agent = Played::new("", &["drop-enters=2"]);
    agent.type_in("hi\r\r");
    assert_eq!(agent.composed(), "hi");
    agent.type_in("\r");
    assert_eq!(agent.composed(), "");

    let mut agent = Played::new("", &["deaf-ms=100"]);
    agent.type_in("lost");
    agent.pass(100);
    agent.type_in("kept");
    assert_eq!(agent.composed(), "kept");

    let mut agent = Played::new("", &["exit-after-prompt=7"]);
    agent.type_in("hi\r");
    agent.answer_all();
    assert_eq!((agent.exit, agent.taken.len()), (Some(7), 1));

    let mut agent = Played::new("", &["crash=hooked"]);
    agent.type_in("hi\r");
    agent.answer_all();
    assert_eq!((agent.crashed, agent.taken.len()), (true, 0));

    let mut agent = Played::new("", &["hang-after-prompt"]);
    agent.type_in("hi\r");
    agent.answer_all();
    assert_eq!((agent.hung, agent.taken.len()), (true, 1));
}

#[test]
fn a_limit_holds_until_its_time() {
    let mut agent = Played::new("", &["limited-s=60"]);
    agent.type_in("hi\r");
    agent.answer_all();
    let line = "You've hit your limit · resets 00:01 (UTC)";
    assert!(agent.said().contains(&Said::Agent(line.into())), "{:?}", agent.said());
    assert!(agent.shown().contains(line));
    assert_eq!(agent.hooks().last(), Some(&"StopFailure"));
    agent.pass(60_000);
    assert!(!agent.shown().contains(line));
    agent.type_in("hi\r");
    agent.answer_all();
    agent.pass(300);
    assert!(agent.said().contains(&Said::Agent("echo: hi".into())));
}

#[test]
fn a_folder_is_trusted_before_anything_begins() {
    let mut agent = Played::new("", &["trust"]);
    assert_eq!((agent.session.status(), agent.hooks().len()), (Status::Unborn, 0));
    agent.type_in("\r");
    assert_eq!(agent.exit, Some(1), "a blind Enter trusts nothing");
    let mut agent = Played::new("", &["trust"]);
    agent.type_in("2");
    assert_eq!((agent.session.status(), agent.hooks()), (Status::Idle, vec!["SessionStart"]));
}

#[test]
fn clear_and_compact_tell_the_hooks() {
    let mut agent = Played::new("", &[]);
    agent.type_in("/clear\r");
    assert_eq!(agent.hooks(), ["SessionStart", "SessionEnd", "SessionStart"]);
    assert_eq!(agent.session.id(), "next");
    agent.type_in("/compact\r");
    agent.answer_all();
    assert_eq!(agent.hooks()[3..], ["PreCompact", "SessionStart", "PostCompact"]);
    agent.type_in("/compact\r");
    agent.answer("PreCompact", Answer { block: Some("no".into()), ..Answer::default() });
    assert!(agent.said_text().contains("Compaction blocked by PreCompact hook: no"));
    assert_eq!(agent.session.status(), Status::Idle);
}

#[test]
fn at_rest_it_says_so_once_and_needs_no_time() {
    let mut agent = Played::new("", &[]);
    assert_eq!(agent.session.next_wake(0), None, "an idle agent costs nothing");
    agent.type_in("hi\r");
    agent.answer_all();
    agent.pass(300);
    agent.answer_all();
    agent.pass(60_000);
    assert_eq!(agent.hooks().last(), Some(&"Notification"));
    assert_eq!(agent.session.next_wake(agent.now), None);
}

#[test]
fn it_streams_line_by_line_and_shows_that_it_is_busy() {
    let mut agent =
        Played::new(r#"{"rules":[{"steps":[{"stream":{"lines":3,"every_ms":10}}]}]}"#, &[]);
    agent.type_in("go\r");
    agent.answer_all();
    assert!(agent.shown().contains("esc to interrupt") && agent.session.title().starts_with('⠂'));
    agent.pass(20);
    assert!(agent.said().contains(&Said::Line("line 3".into())));
    agent.answer_all();
    assert!(!agent.shown().contains("esc to interrupt") && agent.session.title().starts_with('✳'));
}

const TOOL: &str = r#"{"rules":[{"steps":[
    {"tool":{"name":"Bash","input":{"command":"touch made"}}},{"say":"done"}]}]}"#;

/// Returns an agent that asks whether it may use a tool.
fn asking() -> Played {
    let mut agent = Played::new(TOOL, &[]);
    agent.type_in("go\r");
    agent.answer("UserPromptSubmit", Answer::default());
    agent.answer("PreToolUse", Answer::default());
    agent
}

#[test]
fn a_hooks_fields_are_claude_codes() {
    let mut session = Session::new(setup("", &[], None));
    session.hear(Input::Begin, 0);
    let effects = "hi\r".chars().flat_map(|letter| {
        let key = if letter == '\r' { Key::Enter } else { Key::Char(letter) };
        session.hear(Input::Key(key), 0)
    });
    let effects: Vec<Effect> = effects.collect();
    let [Effect::Hook { session, event, fields, .. }] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!((session.as_str(), *event), ("first", "UserPromptSubmit"));
    assert_eq!(*fields, json!({ "prompt": "hi" }));
}
