//! Prompts in every frame, and whose text is in them.

use super::*;

#[test]
fn a_prompt_between_rules_is_found_with_its_text() {
    check(RULES, "● Hi.\n\n────────\n❯\u{a0}\n────────\n  manual mode", &Composer::Empty);
    check(
        RULES,
        "──────── alice ─\n❯ fix it\n  now\n────────\n  manual mode",
        &holds("fix it\n  now"),
    );
    check(RULES, "────────\n❯ a\n\n  b\n────────", &holds("a\n\n  b"));
    check(RULES, "────────\nno mark\n────────", &Composer::Absent);
    check(RULES, "  ────────\n  ❯ quoted\n  ────────", &Composer::Absent);
    check(RULES, "────────\n❯ half drawn", &Composer::Absent);
}

#[test]
fn a_prompt_in_a_box_is_found_with_its_text() {
    check(BOX, "╭──────╮\n│ ❯    │\n╰──────╯\n footer", &Composer::Empty);
    check(BOX, "╭──────╮\n│ ❯ a  │\n│   b  │\n╰──────╯", &holds("a  \n   b"));
    check(BOX, "╭──────╮\n│ text │\n╰──────╯", &Composer::Absent);
    check(BOX, "╭──────╮\n│ ❯ torn\n╰──────╯", &Composer::Absent);
    check(BOX, "╭──────╮\n│ ❯ torn\n│   b  │\n│ torn\n╰──────╯", &Composer::Absent);
    // What is wider than its CLI takes it for.
    check(BOX, "╭──────╮\n│ ❯ ｗ │\n│   b\n │\n│   cd\ne│\n╰──────╯", &holds("ｗ \n   b\n   cde"));
}

#[test]
fn a_prompt_beside_a_bar_is_found_with_its_text() {
    let drawn =
        |text: &str| format!("  ┃\n  ┃{text}\n  ┃\n  ┃  Build  Model\n  ╹▀▀▀▀\n   tab agents");
    check(BAR, &drawn(""), &Composer::Empty);
    check(BAR, &drawn("  hello"), &holds("hello"));
    check(BAR, "  ┃  a message of the conversation\n\n  text", &Composer::Absent);
}

#[test]
fn a_prompt_behind_a_mark_ends_where_its_footer_begins() {
    let footer = "\n\n  model default · /repo";
    check(MARK, &format!("• Hi.\n\n❯ a\n\n  b{footer}"), &holds("a\n\n  b"));
    check(MARK, &format!("❯{footer}"), &Composer::Empty);
    check(MARK, "❯ quoted\n\n• and more that follows it\n  and more\n  and more", &holds_all());
    check(MARK, "    ❯ far in\n  model default · /repo", &Composer::Absent);
    check(MARK, "❯x\n  model default · /repo", &Composer::Absent);
}

#[test]
fn a_mark_without_a_footer_is_no_prompt_once_the_cursor_has_left_it() {
    let shape = PromptShape { footer: Vec::new(), has_cursor: true, ..shape(Frame::Mark) };
    for (cursor, is_found) in [
        (None, true),
        (Some((7, 1)), true),
        (Some((3, 2)), true),
        (Some((0, 3)), false),
        (Some((0, 0)), false),
    ] {
        let screen = Screen { cursor, ..Screen::of("hello\n❯ fix it\nand") };
        assert_eq!(shape.find(&screen).is_some(), is_found, "{cursor:?}");
    }
}

#[test]
fn what_a_terminal_does_not_draw_is_not_missed() {
    let ours = "[cmux dlv_1 from a]\nä\u{200b}o\u{300}\u{301}\u{302} \u{10fffe}日";
    for (text, expected) in [
        (ours, Whose::Ours),
        ("[cmux dlv_1 from a] äo\u{300}\u{301} 日", Whose::Ours),
        ("[cmux dlv_1 from a] äo\u{300}\u{200b} 日", Whose::Ours),
        ("[cmux dlv_1 from a] äo\u{300}\u{300} 日", Whose::Somebodys),
        ("[cmux dlv_1 from a] ä 日", Whose::Somebodys),
        ("[cmux dlv_1 from a] äo日ö", Whose::Somebodys),
        ("ö[cmux dlv_1 from a] äo日", Whose::Somebodys),
        ("[cmux dlv_1 from a] 日äo", Whose::Somebodys),
    ] {
        let composer = Composer::Holds(text.to_owned());
        assert_eq!(shape(Frame::Rules).whose(&composer, ours), expected, "{text}");
    }
}

#[test]
fn what_is_too_far_up_is_a_part_of_the_conversation() {
    let screen = format!("────────\n❯ quoted\n────────\n{}", "text\n".repeat(7));
    check(RULES, &screen, &Composer::Absent);
}

#[test]
fn a_placeholder_is_nobodys_text_until_the_cursor_is_behind_it() {
    for (cursor, has_cursor, expected) in [
        (None, true, Composer::Empty),
        (Some((2, 1)), true, Composer::Empty),
        (Some((15, 1)), true, holds("Ask me anything")),
        (Some((15, 1)), false, Composer::Empty),
    ] {
        let shape = PromptShape { has_cursor, ..shape(Frame::Rules) };
        let screen = Screen { cursor, ..Screen::of("───\n❯ Ask me anything\n───") };
        let prompt = shape.find(&screen).unwrap();
        assert_eq!(shape.read(&prompt, &screen), expected, "{cursor:?}");
    }
}

#[test]
fn only_what_is_exactly_ours_is_ours() {
    let ours = "[cmux dlv_1 from a]\nfix\tthe parser, please";
    for (text, expected) in [
        ("[cmux dlv_1 from a]\n  fix    the\n  parser, please", Whose::Ours),
        ("[cmux dlv_1 from a]\n  fix the parser, pleaseX", Whose::Somebodys),
        ("wait, [cmux dlv_1 from a]\n  fix the parser, please", Whose::Somebodys),
        ("[cmux dlv_1 from a]", Whose::Somebodys),
        ("[Pasted text #4 +2 lines]", Whose::Folded),
        ("[Pasted text #4 +1 lines]", Whose::Folded),
        ("[Pasted text #4 +3 lines]", Whose::Somebodys),
        ("[Pasted text #4 +2 lines] and more", Whose::Somebodys),
        ("[Pasted text #4: 2 lines → /home/ada/pastes/4_013102.txt]", Whose::Folded),
        ("[Pasted text #4: 7 lines → /home/ada/pastes/4_000002.txt]", Whose::Somebodys),
    ] {
        let composer = Composer::Holds(text.to_owned());
        assert_eq!(shape(Frame::Rules).whose(&composer, ours), expected, "{text}");
    }
    assert_eq!(shape(Frame::Rules).whose(&Composer::Empty, ours), Whose::Nobodys);
    assert_eq!(shape(Frame::Rules).whose(&Composer::Absent, ours), Whose::Unknown);
}

#[test]
fn an_accent_may_be_drawn_with_its_letter_or_behind_it() {
    let apart = "[cmux dlv_1 from a]\ncafe\u{301} o\u{308}";
    for (ours, text, expected) in [
        (apart, "[cmux dlv_1 from a]\n  caf\u{e9} \u{f6}", Whose::Ours),
        (apart, apart, Whose::Ours),
        ("caf\u{e9}", "cafe\u{301}", Whose::Ours),
        (apart, "[cmux dlv_1 from a]\n  caf\u{e9} \u{f6}X", Whose::Somebodys),
        ("cafe", "caf\u{e9}", Whose::Somebodys),
        ("caf\u{e9}", "cafe", Whose::Somebodys),
        ("cafe\u{301}", "caf", Whose::Somebodys),
    ] {
        assert_eq!(shape(Frame::Rules).whose(&holds(text), ours), expected, "{text}");
    }
}

#[test]
fn copies_of_what_was_typed_are_known_and_nothing_else_is_taken_for_them() {
    let ours = "[cmux dlv_1 from a]\n\thello\nthere";
    let twice = "[cmux dlv_1 from a]\n    hello\n  there[cmux dlv_1 from a]\n      hello\nthere";
    for (text, expected) in [
        (twice, Whose::Repeated),
        (&format!("{twice}{ours}"), Whose::Repeated),
        ("[Pasted text #1 +2 lines][Pasted text #2 +2 lines]", Whose::Repeated),
        ("[Pasted text #9 +3 lines] [Pasted text #10 +3 lines]", Whose::Repeated),
        (&format!("{twice} x"), Whose::Somebodys),
        (&format!("x {twice}"), Whose::Somebodys),
        (&twice[..twice.len() - 1], Whose::Somebodys),
        ("[Pasted text #1 +2 lines][Pasted text #2 +7 lines]", Whose::Somebodys),
        ("[Pasted text #1 +2 lines] x [Pasted text #2 +2 lines]", Whose::Somebodys),
        ("[Pasted text #1 +2 lines]", Whose::Folded),
    ] {
        assert_eq!(shape(Frame::Rules).whose(&holds(text), ours), expected, "{text}");
    }
}

const RULES: Frame = Frame::Rules;
const BOX: Frame = Frame::Box;
const BAR: Frame = Frame::Bar;
const MARK: Frame = Frame::Mark;

fn holds(text: &str) -> Composer {
    Composer::Holds(text.to_owned())
}

/// Without its footer, what follows a mark cannot be told from its text; rules have to.
fn holds_all() -> Composer {
    holds("quoted\n\n• and more that follows it\n  and more\n  and more")
}

fn shape(frame: Frame) -> PromptShape {
    let pattern = |text: &str| text.parse().unwrap();
    PromptShape {
        frames: vec![frame],
        marks: vec!["❯".to_owned()],
        placeholders: vec![pattern("^Ask me anything$")],
        has_cursor: false,
        folds: ["^\\[Pasted text \\## +# lines\\]$", "^\\[Pasted text \\##: # lines → *\\]$"]
            .map(|it| Fold { pattern: pattern(it), counts: Counts::Lines })
            .into(),
        footer: vec![pattern("^ Build "), pattern("^ * default · /")],
        below_max: 6,
    }
}

#[track_caller]
fn check(frame: Frame, text: &str, expected: &Composer) {
    let (shape, screen) = (shape(frame), Screen::of(text));
    let found = shape.find(&screen);
    let composer = found.map_or(Composer::Absent, |prompt| shape.read(&prompt, &screen));
    assert_eq!(&composer, expected, "{text}");
}
