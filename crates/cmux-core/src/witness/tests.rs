//! Whose word counts, when, and against whose.

use proptest::prelude::*;

use super::*;
use crate::screen::prompt::{Composer, Frame, PromptShape};
use crate::screen::rule::{Rule, Says};
use crate::screen::{Region, Seen};
use Doing::{AtPrompt, Working};
use Witness::{Hooks, Screen as OnScreen, Status, Title, Transcript};

const NOW: Timestamp = Timestamp(1_000_000);
const RANKING: [Witness; 3] = [Status, Hooks, OnScreen];

#[test]
fn the_best_whose_word_stands_decides() {
    check(&[], None);
    check(&[(Status, AtPrompt, 0), (Hooks, Working, 1_000), (OnScreen, Working, 0)], Some(Status));
    check(&[(OnScreen, AtPrompt, 0)], Some(OnScreen));
    // A look that is too old is no look; an event is never too old by itself.
    check(&[(Status, AtPrompt, 5_001), (Hooks, Working, 0)], Some(Hooks));
    check(&[(Status, AtPrompt, 5_000), (Hooks, Working, 6_000)], Some(Status));
    check(&[(Hooks, Working, 3_600_000)], Some(Hooks));
    check(&[(Status, AtPrompt, 5_001), (OnScreen, Working, 5_001)], None);
}

#[test]
fn an_event_stands_until_a_look_that_is_newer_by_more_than_its_lag_says_otherwise() {
    // Escape was pressed, of which no hook tells.
    check(&[(Hooks, Working, 5_000), (OnScreen, AtPrompt, 0)], Some(Hooks));
    check(&[(Hooks, Working, 5_001), (OnScreen, AtPrompt, 0)], Some(OnScreen));
    check(&[(Hooks, Working, 9_000), (OnScreen, AtPrompt, 4_000)], Some(Hooks));
    check(&[(Hooks, Working, 9_000), (OnScreen, Working, 0)], Some(Hooks));
    // What was seen before it happened is no contradiction.
    check(&[(Hooks, Working, 0), (OnScreen, AtPrompt, 4_000)], Some(Hooks));
    // Once denied, it does not come back when the look that denied it has grown old.
    check(&[(Hooks, Working, 60_000), (OnScreen, AtPrompt, 30_000)], None);
}

#[test]
fn a_look_says_nothing_of_what_happened_after_it_or_just_before() {
    for (look_ago, event_ago, expected) in [
        (2_000, 0, Hooks),
        (0, 0, Hooks),
        (0, 999, Hooks),
        (0, 1_000, Status),
        (4_000, 5_000, Status),
    ] {
        check(&[(Status, AtPrompt, look_ago), (Hooks, Working, event_ago)], Some(expected));
        check(&[(Status, Working, look_ago), (Hooks, AtPrompt, event_ago)], Some(expected));
    }
    // What agrees is not overtaken.
    check(&[(Status, Working, 2_000), (Hooks, Working, 0)], Some(Status));
}

#[test]
fn what_a_witness_took_back_is_not_believed() {
    let mut statements = hear(&[said(Title, Working, NOW), said(OnScreen, AtPrompt, NOW)]);
    let decides = |statements: &Statements| judge(&[Title, OnScreen], statements, NOW).cloned();
    assert_eq!(decides(&statements), Some(said(Title, Working, NOW)));
    statements.forget(Title);
    assert_eq!(decides(&statements), Some(said(OnScreen, AtPrompt, NOW)));
}

#[test]
fn what_is_said_in_other_words_is_no_contradiction() {
    let permission = || Doing::Asking { what: "permission".to_owned() };
    let prompt = || Doing::Asking { what: "Bash".to_owned() };
    check(&[(Hooks, prompt(), 60_000), (OnScreen, permission(), 0)], Some(Hooks));
    check(&[(Status, permission(), 0), (OnScreen, prompt(), 0)], Some(Status));
    check(&[(Hooks, prompt(), 60_000), (OnScreen, AtPrompt, 0)], Some(OnScreen));
    check(&[(Status, Working, 0), (OnScreen, permission(), 0)], Some(Status));
}

#[test]
fn a_limit_that_only_the_screen_tells_of_is_believed_while_it_lasts() {
    let limited = |until: Option<i64>| Doing::Limited { until: until.map(Timestamp) };
    check(&[(Status, AtPrompt, 0), (OnScreen, limited(None), 0)], Some(OnScreen));
    check(&[(Status, AtPrompt, 0), (OnScreen, limited(Some(NOW.0 + 1)), 0)], Some(OnScreen));
    check(&[(Status, AtPrompt, 0), (OnScreen, limited(Some(NOW.0)), 0)], Some(Status));
    check(&[(Status, AtPrompt, 0), (OnScreen, limited(None), 5_001)], Some(Status));
    check(&[(Status, Working, 0), (OnScreen, limited(None), 0)], Some(Status));
}

#[test]
fn who_is_not_ranked_is_not_believed() {
    check(&[(Transcript, AtPrompt, 0), (Title, Working, 0)], None);
}

#[test]
fn an_older_word_does_not_take_the_place_of_a_newer_one() {
    let mut statements = Statements::default();
    for (doing, at) in [(Working, 5), (AtPrompt, 4), (AtPrompt, 5)] {
        statements.hear(said(Hooks, doing, Timestamp(at)));
    }
    assert_eq!(statements.of(Hooks), Some(&said(Hooks, Working, Timestamp(5))));
    statements.hear(said(Hooks, AtPrompt, Timestamp(6)));
    assert_eq!(statements.of(Hooks).map(|it| &it.doing), Some(&AtPrompt));
}

#[test]
fn a_screen_says_who_spoke_through_it() {
    let sight = |seen, witness| Sight {
        seen,
        rule: Some("r".to_owned()),
        witness,
        line: String::new(),
        composer: Composer::Absent,
    };
    let draft = Some(Seen::Draft { text: "hm".to_owned() });
    let heard = Said::of_sight(&sight(draft, Some(Title)), NOW).unwrap();
    assert_eq!((heard.witness, heard.doing, heard.line), (Title, AtPrompt, None));
    let trust = Some(Seen::Dialog { name: "trust".to_owned() });
    let heard = Said::of_sight(&sight(trust, Some(OnScreen)), NOW).unwrap();
    assert_eq!(heard.doing, Doing::Asking { what: "trust".to_owned() });
    assert_eq!(Said::of_sight(&sight(None, None), NOW), None);
}

#[test]
fn a_title_says_what_needs_no_prompt() {
    let rule = |name: &str, says, region, prompt, pattern: &str| Rule {
        name: name.to_owned(),
        says,
        region,
        prompt,
        all: vec![pattern.parse().unwrap()],
        any: Vec::new(),
        none: Vec::new(),
    };
    let eyes = Eyes {
        prompt: PromptShape {
            frames: vec![Frame::Rules],
            marks: vec![">".to_owned()],
            placeholders: Vec::new(),
            has_cursor: false,
            folds: Vec::new(),
            footer: Vec::new(),
            below_max: 6,
        },
        rules: vec![
            rule("seen", Says::Busy { answers: false }, Region::Whole, None, "work"),
            rule("spins", Says::Busy { answers: false }, Region::Title, None, "^[⠁-⣿] "),
            rule("ready", Says::Idle, Region::Title, Some(true), "^◇ "),
        ],
    };
    for (title, expected) in
        [("⠸ work", Some((Working, "spins".to_owned()))), ("◇ work", None), ("", None)]
    {
        assert_eq!(title_says(&eyes, title, NOW), expected, "{title}");
    }
}

proptest! {
    #[test]
    fn nobody_whose_word_is_stale_decides_while_another_s_stands(
        heard in proptest::collection::vec(any_said(), 0..12),
        ranking in Just(Witness::ALL.to_vec()).prop_shuffle(),
    ) {
        let statements = hear(&heard);
        let decides = judge(&ranking, &statements, NOW);
        let standing: Vec<Witness> =
            ranking.iter().copied().filter(|it| statements.stands(*it, NOW)).collect();
        prop_assert_eq!(decides.is_some(), !standing.is_empty());
        if let Some(said) = decides {
            prop_assert!(standing.contains(&said.witness));
            let is_limit = matches!(said.doing, Doing::Limited { .. });
            prop_assert!(said.witness == standing[0] || is_limit);
        }
    }

    #[test]
    fn it_does_not_matter_in_which_order_words_arrive(
        (one, other) in proptest::collection::vec(any_said(), 0..12)
            .prop_flat_map(|heard| (Just(heard.clone()), Just(heard).prop_shuffle())),
    ) {
        prop_assert_eq!(hear(&one), hear(&other));
    }
}

/// Returns any word, at few enough moments that some of them are the same.
fn any_said() -> impl Strategy<Value = Said> {
    let doing = prop_oneof![
        Just(AtPrompt),
        Just(Working),
        "[ab]".prop_map(|what| Doing::Asking { what }),
        proptest::option::of(-1..2_i64)
            .prop_map(|at| Doing::Limited { until: at.map(|at| Timestamp(NOW.0 + at)) }),
    ];
    let rule = proptest::option::of("[xy]");
    (proptest::sample::select(Witness::ALL.to_vec()), doing, rule, 0..8_i64).prop_map(
        |(witness, doing, rule, ago_s)| {
            let at = Timestamp(NOW.0 - ago_s * 2_000);
            Said { rule, ..said(witness, doing, at) }
        },
    )
}

fn hear(heard: &[Said]) -> Statements {
    let mut statements = Statements::default();
    heard.iter().cloned().for_each(|said| statements.hear(said));
    statements
}

fn said(witness: Witness, doing: Doing, at: Timestamp) -> Said {
    Said { witness, doing, rule: None, line: None, at }
}

/// Checks who decides, if each said something so many milliseconds ago.
#[track_caller]
fn check(heard: &[(Witness, Doing, i64)], expected: Option<Witness>) {
    let said = |(witness, doing, ago_ms): &(Witness, Doing, i64)| {
        said(*witness, doing.clone(), Timestamp(NOW.0 - ago_ms))
    };
    let heard: Vec<Said> = heard.iter().map(said).collect();
    let statements = hear(&heard);
    let decides = judge(&RANKING, &statements, NOW).map(|said| said.witness);
    assert_eq!(decides, expected, "{heard:?}");
}
