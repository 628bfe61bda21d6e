//! What screens say, by a few rules made up for it.

use std::time::Duration;

use super::prompt::Frame;
use super::*;

const NOW: Timestamp = Timestamp(1_794_835_200_000);

#[test]
fn the_first_rule_that_fits_is_right() {
    check("✢ Working… (5s)\n───\n❯\n───", Some(Seen::Busy { answers: false }), "spinner");
    check("● Done.\n───\n❯\n───", Some(Seen::Idle), "prompt");
    check("● Done.\n───\n❯ wait\n───", Some(Seen::Draft { text: "wait".to_owned() }), "prompt");
    let asking = Seen::Asking { what: "a permission".to_owned() };
    check("Proceed?\n ❯ 1. Yes\n Esc to cancel", Some(asking), "permission");
    check("Trust?\n ❯ No", Some(Seen::Dialog { name: "trust".to_owned() }), "trust");
}

#[test]
fn a_screen_that_no_rule_knows_is_unknown_and_not_idle() {
    for text in ["", "$ ", "● Done.", "───\nhalf"] {
        check(text, None, "");
    }
}

#[test]
fn what_a_conversation_quotes_is_further_up() {
    let quoted = "Proceed?\n ❯ 1. Yes\n Esc to cancel\n● So it said.\n───\n❯\n───\n  footer";
    check(quoted, Some(Seen::Idle), "prompt");
    let quoted = "● It said:\n  ✢ Working… (5s)\n───\n❯\n───\n  footer";
    check(quoted, Some(Seen::Idle), "prompt");
    let above = "✢ Working… (5s)\n1\n2\n3\n───\n❯\n───\n  footer";
    check(above, Some(Seen::Idle), "prompt");
}

#[test]
fn a_limit_is_read_from_the_line_that_tells_of_it() {
    let until = Some(NOW + Duration::from_hours(2));
    check("limit, again in 2 h\n───\n❯\n───", Some(Seen::Limited { until }), "limit");
    check("limit, sorry\n───\n❯\n───", Some(Seen::Limited { until: None }), "limit");
}

#[test]
fn a_title_is_a_region_of_its_own() {
    let screen = Screen { title: "⠸ work".to_owned(), ..Screen::of("───\n❯\n───") };
    let sight = eyes().look(&screen, NOW, 0);
    assert_eq!((sight.rule.as_deref(), sight.line.as_str()), (Some("title"), "⠸ work"));
    assert_eq!(sight.seen, Some(Seen::Busy { answers: false }));
}

#[test]
fn an_option_of_a_question_is_no_text_in_a_prompt() {
    let text = "───\n❯ 1. Yes\n───\n Esc to cancel";
    let sight = eyes().look(&Screen::of(text), NOW, 0);
    assert_eq!(sight.composer, Composer::Absent);
    assert!(matches!(sight.seen, Some(Seen::Asking { .. })), "{sight:?}");
}

fn eyes() -> Eyes {
    let rule = |name: &str, says, region, all: &[&str]| Rule {
        name: name.to_owned(),
        says,
        region,
        prompt: None,
        all: all.iter().map(|text| text.parse().unwrap()).collect(),
        any: Vec::new(),
        none: Vec::new(),
    };
    let asking = Says::Asking { what: "a permission".to_owned() };
    let trust = Says::Dialog { name: "trust".to_owned() };
    let prompt = Rule { prompt: Some(true), ..rule("prompt", Says::Idle, Region::Prompt, &[]) };
    Eyes {
        prompt: PromptShape {
            frames: vec![Frame::Rules],
            marks: vec!["❯".to_owned()],
            placeholders: Vec::new(),
            has_cursor: false,
            folds: Vec::new(),
            footer: Vec::new(),
            below_max: 6,
        },
        rules: vec![
            rule("trust", trust, Region::Last(3), &["^Trust?", "^ ❯ No$"]),
            rule("permission", asking, Region::Last(3), &["❯ #. ", "^ Esc to cancel$"]),
            rule("title", Says::Busy { answers: false }, Region::Title, &["^[⠁-⣿] "]),
            rule("spinner", Says::Busy { answers: false }, Region::Above(2), &["^✢ *… ("]),
            rule("limit", Says::Limited, Region::Above(1), &["^limit, "]),
            prompt,
        ],
    }
}

#[track_caller]
fn check(text: &str, seen: Option<Seen>, rule: &str) {
    let sight = eyes().look(&Screen::of(text), NOW, 0);
    assert_eq!((sight.seen, sight.rule.as_deref().unwrap_or("")), (seen, rule), "{text}");
}
