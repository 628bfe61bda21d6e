//! What hooks make of a turn.

use ulid::Ulid;

use super::*;
use crate::hook::{ClaimOutcome, HookClaim, Ids};
use crate::id::HookId;

const NOW: Timestamp = Timestamp(100_000);

#[test]
fn a_turn_knows_what_began_it_what_was_called_and_how_it_ended() {
    let mut turn = begun();
    assert_eq!((turn.began_at, turn.wall_at), (NOW, Timestamp(99)));
    turn = turn.after(&claimed(7, ClaimOutcome::Claimed), &Whose::Own, NOW);
    turn = turn.after(&claimed(7, ClaimOutcome::Again), &Whose::Own, NOW);
    turn = turn.after(&claimed(8, ClaimOutcome::Blocked), &Whose::Own, NOW);
    turn = turn.after(&claimed(9, ClaimOutcome::Second), &Whose::Own, NOW);
    assert_eq!(turn.deliveries, [delivery(7)]);
    for tool in ["Bash", "Read", "Bash"] {
        turn = turn.after(&hook(Meaning::ToolBegan { tool: tool.into() }), &Whose::Own, NOW);
    }
    assert_eq!((turn.tools.join(" ").as_str(), turn.calls), ("Bash Read Bash", 3));
    let done = hook(Meaning::TurnEnded { in_background: false });
    turn = turn.after(&done, &Whose::Own, Timestamp(NOW.0 + 7));
    let usage = Usage { unpriced: 5, ..Usage::default() };
    let expected = Turned::Ended { turn: turn.id, how: TurnEnd::Done, calls: 3, took_ms: 7, usage };
    assert_eq!(turn.ended(usage), Some(What::Turned(expected)));
}

#[test]
fn each_end_is_told_apart() {
    for (means, expected) in [
        (Meaning::TurnEnded { in_background: false }, Some(TurnEnd::Done)),
        (Meaning::TurnEnded { in_background: true }, Some(TurnEnd::Done)),
        (Meaning::TurnFailed, Some(TurnEnd::Failed)),
        (Meaning::Limited { until: None }, Some(TurnEnd::Limited)),
        (Meaning::SessionEnded, Some(TurnEnd::Left)),
        (Meaning::SubagentEnded, None),
        (Meaning::Notice, None),
    ] {
        let turn = begun().after(&hook(means.clone()), &Whose::Own, NOW);
        assert_eq!(turn.end.map(|end| end.how), expected, "{means:?}");
        let turn = begun().after(&hook(means.clone()), &Whose::Another, NOW);
        assert_eq!(turn.end, None, "{means:?} of another");
    }
}

#[test]
fn a_turn_of_whose_end_a_hook_told_has_read_what_began_it() {
    for (how, expected) in [
        (None, false),
        (Some(TurnEnd::Done), true),
        (Some(TurnEnd::Failed), true),
        (Some(TurnEnd::Limited), true),
        (Some(TurnEnd::Interrupted), false),
        (Some(TurnEnd::Left), false),
        (Some(TurnEnd::Died), false),
    ] {
        let turn = begun().after(&claimed(7, ClaimOutcome::Claimed), &Whose::Own, NOW);
        let turn = how.map_or(turn.clone(), |how| turn.over(how, NOW));
        assert_eq!(turn.has_read(delivery(7)), expected, "{how:?}");
        assert!(!turn.has_read(delivery(8)), "{how:?}");
    }
}

#[test]
fn what_comes_after_an_end_takes_it_back() {
    let stopped =
        begun().after(&hook(Meaning::TurnEnded { in_background: true }), &Whose::Own, NOW);
    let tool = hook(Meaning::ToolBegan { tool: "Bash".into() });
    assert_eq!(stopped.after(&tool, &Whose::Own, NOW).end, None);
    assert_eq!(stopped.after(&hook(Meaning::Notice), &Whose::Own, NOW).end, stopped.end);
    let left = stopped.after(&hook(Meaning::SessionEnded), &Whose::Own, NOW);
    assert_eq!(left.end, stopped.end);
    assert_eq!(stopped.over(TurnEnd::Died, Timestamp(0)).end, stopped.end);
}

#[test]
fn a_turn_that_calls_without_end_names_no_more_than_some() {
    let tool = hook(Meaning::ToolBegan { tool: "Bash".into() });
    let turn = (0..500).fold(begun(), |turn, _| turn.after(&tool, &Whose::Another, NOW));
    assert_eq!((turn.tools.len(), turn.calls), (NAMED_MAX, 500));
}

fn begun() -> Turn {
    let (id, agent) = (TurnId::new(Ulid::from(1_u128)), AgentId::new(Ulid::from(2_u128)));
    Turn::begun(id, agent, RunId::new(Ulid::from(3_u128)), &hook(Meaning::Prompted), NOW)
}

fn claimed(n: u128, outcome: ClaimOutcome) -> Hook {
    let claim = Some(HookClaim { delivery: delivery(n), outcome });
    Hook { claim, ..hook(Meaning::Prompted) }
}

fn delivery(n: u128) -> DeliveryId {
    DeliveryId::new(Ulid::from(n))
}

fn hook(means: Meaning) -> Hook {
    Hook {
        id: HookId::new(Ulid::from(4_u128)),
        name: "Some".into(),
        means,
        ids: Ids::default(),
        at: Timestamp(99),
        age: Duration::ZERO,
        payload: String::new(),
        claim: None,
    }
}
