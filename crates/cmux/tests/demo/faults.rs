//! Faults: each goes wrong as it was asked to, and in no other way.

use cmux_testkit::wait::eventually;
use rustix::process::{Pid, Signal, kill_process};

use crate::pane::Pane;

#[test]
fn the_first_enters_are_dropped() {
    let pane = Pane::ready(&["--fault", "drop-enters=2"]);
    pane.type_in("hello");
    pane.keys(&["Enter", "Enter"]);
    pane.type_in("!");
    pane.shows("│ > hello! ");
    assert_eq!(pane.taken(), Vec::<String>::new());
    pane.submit();
    assert_eq!(pane.taken(), ["hello!"]);
}

#[test]
fn it_is_drawn_late() {
    let pane = Pane::ready(&["--fault", "late-redraw-ms=300"]);
    pane.type_in("hello");
    pane.submit();
    pane.shows("● echo: hello");
    let pane = Pane::new();
    pane.start(&["--fault", "late-redraw-ms=3600000"], (80, 24));
    pane.is("idle");
    pane.type_in("hello");
    pane.submit();
    pane.is("idle");
    assert_eq!(pane.screen().trim(), "", "it has long done what the screen does not show");
}

#[test]
fn a_paste_is_drawn_late() {
    let pane = Pane::ready(&["--fault", "late-paste-ms=500"]);
    pane.paste("hello");
    pane.shows("│ > hello ");
    let pane = Pane::ready(&["--fault", "late-paste-ms=3600000"]);
    pane.paste("hello");
    pane.submit_late("hello");
    assert!(pane.screen().contains("│ > Try"), "{}", pane.screen());
}

#[test]
fn its_screen_is_stale_until_it_is_to_draw_all_again() {
    for moment in ["paste", "enter"] {
        let pane = Pane::ready(&["--fault", &format!("stale-after={moment}")]);
        pane.paste("hello");
        if moment == "enter" {
            pane.shows("│ > hello ");
        }
        pane.submit_late("hello");
        pane.is("idle");
        let expected = if moment == "enter" { "│ > hello " } else { "│ > Try" };
        assert!(pane.screen().contains(expected), "{}", pane.screen());
        pane.keys(&["C-l"]);
        pane.shows("● echo: hello");
    }
}

#[test]
fn other_work_asks_between_a_paste_and_the_enter_that_then_allows_it() {
    let pane = Pane::ready(&["--fault", "dialog-after=paste"]);
    pane.paste("hello");
    pane.shows("Do you want to proceed?");
    assert_eq!(pane.is("waiting")["waitingFor"], "permission prompt");
    pane.keys(&["Enter"]);
    pane.shows("│ > hello ");
    assert!(pane.taken().is_empty());
    let approved = pane.approved();
    assert_eq!((approved.len(), &approved[0]["approved"]), (1, &"Bash".into()));
    assert_eq!((&approved[0]["agent"], approved[0]["at"].is_string()), (&"agt_1".into(), true));
    pane.submit();
    assert_eq!((pane.taken().len(), pane.approved().len()), (1, 1));
}

#[test]
fn a_hook_is_killed_or_heard_late_and_the_prompt_goes_on() {
    for fault in ["kill-hook=UserPromptSubmit:50", "late-hook=UserPromptSubmit:50"] {
        let pane = Pane::new();
        let command = "cat >/dev/null; echo ran >> ran; test -e slow && sleep 3600";
        let settings = pane.settings(&["UserPromptSubmit"], command, 60);
        if fault.starts_with("kill") {
            pane.write("slow", "");
        }
        pane.start(&["--settings", &settings, "--fault", fault], (80, 24));
        pane.shows("╰──");
        pane.type_in("hello");
        pane.submit();
        pane.shows("● echo: hello");
    }
    let pane = Pane::new();
    let settings = pane.settings(&["UserPromptSubmit"], "cat >/dev/null; echo ran > ran", 60);
    let fault = "late-answer=UserPromptSubmit:3600000";
    pane.start(&["--settings", &settings, "--fault", fault], (80, 24));
    pane.shows("╰──");
    pane.type_in("hello");
    pane.keys(&["Enter"]);
    eventually("its hook has run", || (pane.read("ran") == "ran\n").then_some(()));
    assert!(pane.taken().is_empty(), "and was not heard");
    pane.keys(&["Escape"]);
    pane.shows("│ > hello ");
}

#[test]
fn it_exits_at_its_start_or_after_a_prompt() {
    let pane = Pane::new();
    pane.start(&["--fault", "exit-at-start=3"], (80, 24));
    assert_eq!(pane.exit(), Some(3));
    let pane = Pane::ready(&["--fault", "exit-after-prompt"]);
    pane.type_in("hello");
    pane.keys(&["Enter"]);
    assert_eq!((pane.exit(), pane.taken()), (Some(1), vec!["hello".to_owned()]));
}

#[test]
fn it_hangs_until_it_is_killed() {
    let pane = Pane::ready(&["--fault", "hang-after-prompt"]);
    pane.type_in("hello");
    pane.keys(&["Enter"]);
    pane.takes(1);
    let pid = Pid::from_raw(pane.tell("#{pane_pid}").parse().unwrap()).unwrap();
    pane.keys(&["C-c", "C-c", "C-d"]);
    for signal in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT, Signal::USR1] {
        kill_process(pid, signal).unwrap();
    }
    // It has heard them when none waits for it any more.
    eventually("the signals are heard", || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_pid())).ok()?;
        let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"))?;
        (pending.trim().trim_matches('0').is_empty()).then_some(())
    });
    assert_eq!(pane.tell("#{pane_dead}"), "0");
    kill_process(pid, Signal::KILL).unwrap();
    assert_eq!(pane.exit(), None);
}

#[test]
fn it_hangs_at_its_start() {
    let pane = Pane::new();
    pane.start(&["--fault", "hang-at-start"], (80, 24));
    pane.type_in("hello");
    eventually("it runs", || (pane.tell("#{pane_current_command}") == "cmux").then_some(()));
    assert!(!pane.screen().contains('╭'));
    assert_eq!(pane.tell("#{pane_dead}"), "0");
}

#[test]
fn it_floods_and_is_there_afterwards() {
    let pane = Pane::ready(&["--fault", "flood-bytes=3000000"]);
    pane.type_in("hello");
    pane.submit();
    pane.shows("● echo: hello");
}

#[test]
fn a_draft_of_a_person_is_in_the_composer() {
    let pane = Pane::ready(&["--fault", "draft=half a thou"]);
    pane.shows("│ > half a thou ");
    pane.type_in("ght");
    pane.shows("│ > half a thought ");
    pane.submit();
    assert_eq!(pane.taken(), ["half a thought"]);
}

#[test]
fn it_asks_whether_the_folder_is_trusted_and_remembers() {
    let pane = Pane::new();
    pane.start(&["--fault", "trust"], (80, 24));
    pane.shows("❯ 1. No, exit");
    assert_eq!(pane.status(), None, "it has not begun");
    pane.keys(&["Enter"]);
    assert_eq!(pane.exit(), Some(1));
    pane.start(&["--fault", "trust"], (40, 10));
    pane.shows("Yes, I trust this folder");
    pane.keys(&["Down", "Enter"]);
    pane.shows("│ > Try");
    pane.start(&["--fault", "trust"], (80, 24));
    pane.shows("│ > Try");
}

#[test]
fn what_is_typed_too_early_is_lost() {
    let pane = Pane::ready(&["--fault", "deaf-ms=3600000"]);
    pane.type_in("lost");
    pane.keys(&["Enter"]);
    // It redraws at its new size, and so has been awake since.
    pane.resize("60", "20");
    let screen = pane.shows(&format!("╰{}╯", "─".repeat(58)));
    assert!(screen.contains("│ > Try") && pane.taken().is_empty(), "{screen}");
}

#[test]
fn it_crashes_before_or_after_it_has_recorded() {
    for (place, recorded) in [("hooked", 0), ("recorded", 1)] {
        let pane = Pane::new();
        pane.start(&["--fault", &format!("crash={place}"), "--session-id", "s"], (80, 24));
        pane.shows("╰──");
        pane.type_in("hello");
        pane.keys(&["Enter"]);
        assert_eq!((pane.exit(), pane.taken().len()), (None, recorded), "{place}");
        assert!(!pane.path("state").join("s.jsonl").exists(), "{place}");
        // As after any crash, its status file is left behind.
        assert!(pane.status().is_some(), "{place}");
    }
}

#[test]
fn it_says_that_its_limit_is_reached_and_until_when() {
    let pane = Pane::ready(&["--fault", "limited-s=3600"]);
    pane.type_in("hello");
    pane.submit();
    let screen = pane.shows("● You've hit your limit · resets ");
    assert!(!screen.contains("echo"), "{screen}");
    pane.is("idle");
}

#[test]
fn no_status_file_is_kept_on_request() {
    let pane = Pane::ready(&["--fault", "no-status"]);
    pane.type_in("hello");
    pane.submit();
    pane.shows("● echo: hello");
    assert_eq!(pane.status(), None);
}
