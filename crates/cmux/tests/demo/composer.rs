//! What is typed and pasted at it arrives as it was meant.

use crate::pane::Pane;

#[test]
fn what_is_typed_is_taken_and_answered() {
    let pane = Pane::ready(&["--name", "worker-a"]);
    pane.type_in("hello wörld");
    pane.shows("│ > hello wörld");
    pane.submit();
    assert_eq!(pane.taken(), ["hello wörld"]);
    let screen = pane.shows("● echo: hello wörld");
    assert!(screen.contains("\n> hello wörld\n"), "{screen}");
    pane.wait_for("the composer is empty", |it| it.contains("│ > Try \"explain this folder\""));
    assert_eq!(pane.tell("#{pane_title} #{alternate_on}"), "✳ worker-a 0");
    let line: serde_json::Value = serde_json::from_str(&pane.read("record")).unwrap();
    assert_eq!((&line["agent"], line.as_object().unwrap().len()), (&"agt_1".into(), 3));
    let at = line["at"].as_str().unwrap();
    assert!(at.ends_with('Z') && at.contains('T') && at.len() == 24, "{at}");
}

#[test]
fn a_long_paste_is_folded_and_taken_to_the_letter() {
    let pane = Pane::ready(&["--paste-gap-ms", "0"]);
    let line = "界 naïve 🦀 `x` $(y) \"z\" 'q' \\n ; # {} é\u{301} -- !";
    let text: String = (0..100).map(|number| format!("{number} {line}\n")).collect();
    let text = text.trim_end();
    assert!(text.len() > 5_000);
    pane.paste(text);
    pane.shows("│ > [Pasted text #1 +99 lines]");
    pane.submit();
    assert_eq!(pane.taken(), [text]);
}

#[test]
fn a_short_paste_is_shown_and_an_enter_at_once_may_belong_to_it() {
    let pane = Pane::ready(&["--paste-gap-ms", "3600000"]);
    pane.paste("one\ntwo");
    pane.shows("│   two");
    pane.keys(&["Enter"]);
    pane.type_in("three");
    pane.shows("│   three");
    assert_eq!(pane.taken(), Vec::<String>::new());
}

#[test]
fn without_brackets_each_line_is_a_prompt_of_its_own() {
    let pane = Pane::new();
    pane.start(&["--fault", "late-brackets-ms=3600000"], (80, 24));
    pane.shows("╰──");
    pane.paste("one\rtwo\r");
    assert_eq!(pane.takes(2), ["one", "two"]);
}

#[test]
fn keys_edit_the_draft() {
    let pane = Pane::ready(&[]);
    pane.type_in("one two");
    pane.shows("│ > one two ");
    pane.keys(&["C-w"]);
    pane.type_in("2\\");
    pane.keys(&["Enter"]);
    pane.type_in("3x");
    pane.keys(&["BSpace", "Home"]);
    pane.type_in("three ");
    let screen = pane.shows("│   three 3 ");
    assert!(screen.contains("│ > one 2 "), "{screen}");
    pane.submit();
    assert_eq!(pane.taken(), ["one 2\nthree 3"]);
    pane.shows("● echo: one 2");
    pane.is("idle");
    pane.type_in("draft");
    pane.shows("│ > draft ");
    pane.keys(&["C-c"]);
    pane.wait_for("it is cleared", |screen| !screen.contains("draft"));
    pane.keys(&["C-c"]);
    pane.shows("Press Ctrl-C again to exit");
    pane.keys(&["C-c"]);
    assert_eq!(pane.exit(), Some(0));
    assert_eq!(pane.status(), None, "its file goes with it");
}

#[test]
fn it_fits_a_small_pane_and_follows_its_size() {
    let pane = Pane::new();
    pane.start(&["--paste-gap-ms", "0"], (40, 10));
    pane.shows("╰──────────────────────────────────────╯");
    pane.paste(&"word ".repeat(40));
    pane.shows("word");
    for (cols, rows) in [("80", "24"), ("40", "10"), ("60", "12")] {
        pane.resize(cols, rows);
        let bar = format!("\n╰{}╯\n", "─".repeat(cols.parse::<usize>().unwrap() - 2));
        let screen = pane.shows(&bar);
        assert_eq!(screen.matches('╰').count(), 1, "{screen}");
    }
    pane.resize("40", "10");
    pane.shows("\n╰──────────────────────────────────────╯\n");
    pane.submit();
    pane.wait_for("it has answered", |screen| screen.contains("word") && screen.contains("> Try"));
    assert_eq!(pane.taken(), ["word ".repeat(40)]);
}

#[test]
fn commands_and_the_shell_are_not_prompts() {
    let pane = Pane::ready(&[]);
    pane.type_in("!touch made");
    pane.shows("! for shell mode");
    pane.keys(&["Enter"]);
    pane.shows("There is no shell here");
    pane.keys(&["C-u"]);
    pane.type_in("/nosuch");
    pane.keys(&["Enter"]);
    pane.shows("Unknown command: /nosuch");
    let before = pane.is("idle")["sessionId"].clone();
    pane.type_in("/clear");
    pane.keys(&["Enter"]);
    pane.shows("(no content)");
    assert_ne!(pane.is("idle")["sessionId"], before);
    pane.type_in("/compact");
    pane.keys(&["Enter"]);
    pane.shows("⎿  Compacted");
    pane.type_in("/exit");
    pane.keys(&["Enter"]);
    assert_eq!(pane.exit(), Some(0));
    assert_eq!(pane.taken(), Vec::<String>::new());
    assert!(!pane.path("made").exists());
}
