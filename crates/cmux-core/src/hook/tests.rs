//! What hooks say of agents, as tables.

use ulid::Ulid;

use super::*;
use crate::agent::{AgentName, Life, LifeState, Setup, Word};
use crate::phase::Phase;
use crate::report::NewAgent;

const NOW: Timestamp = Timestamp(100_000);

#[test]
fn a_hook_tells_what_its_agent_does() {
    let tool = || "Bash".to_owned();
    let asking = || Meaning::Asking { what: "permission".to_owned() };
    for (means, expected) in [
        (Meaning::Prompted, Some(Doing::Working)),
        (Meaning::ToolBegan { tool: tool() }, Some(Doing::Working)),
        (Meaning::ToolEnded { tool: tool(), ok: false }, Some(Doing::Working)),
        (asking(), Some(Doing::Asking { what: "permission".to_owned() })),
        (Meaning::TurnEnded { in_background: false }, Some(Doing::AtPrompt)),
        (Meaning::TurnEnded { in_background: true }, Some(Doing::Working)),
        (Meaning::TurnFailed, Some(Doing::AtPrompt)),
        (Meaning::Limited { until: Some(NOW) }, Some(Doing::Limited { until: Some(NOW) })),
        (Meaning::SessionBegan { how: Beginning::New }, None),
        (Meaning::SubagentEnded, None),
        (Meaning::Compacting, None),
        (Meaning::Other, None),
    ] {
        assert_eq!(hook(means.clone()).says(&agent(), &Whose::Own, NOW), expected, "{means:?}");
        assert_eq!(hook(means).says(&agent(), &Whose::Another, NOW), None);
    }
}

#[test]
fn a_hook_that_is_older_than_the_last_word_says_nothing() {
    for (age_ms, word_at, is_heard) in [
        (0, None, true),
        (50_000, None, true),
        (0, Some(NOW), true),
        (1, Some(NOW), false),
        (1_000, Some(Timestamp(NOW.0 - 1_000)), true),
        (1_001, Some(Timestamp(NOW.0 - 1_000)), false),
    ] {
        let word = word_at.map(|at| Word { rank: 1, at });
        let agent = Agent { word, ..agent() };
        let hook = Hook { age: Duration::from_millis(age_ms), ..hook(Meaning::Prompted) };
        let said = hook.says(&agent, &Whose::Own, NOW);
        assert_eq!(said.is_some(), is_heard, "{age_ms} {word_at:?}");
    }
}

#[test]
fn the_agents_own_session_is_told_from_those_that_it_started() {
    use Beginning::{Cleared, Compacted, New, Resumed};
    let began = |how| Meaning::SessionBegan { how };
    let becomes = &Whose::Becomes("b".to_owned());
    check(None, false, began(New), becomes);
    check(None, false, Meaning::Prompted, becomes);
    check(Some("b"), true, Meaning::Prompted, &Whose::Own);
    check(Some("b"), true, began(Compacted), &Whose::Own);
    check(Some("a"), true, began(New), &Whose::Another);
    check(Some("a"), true, Meaning::TurnEnded { in_background: false }, &Whose::Another);
    check(Some("a"), true, began(Cleared), becomes);
    check(Some("a"), true, began(Resumed), becomes);
    // Another run may have begun anew.
    check(Some("a"), false, began(New), becomes);
    check(Some("a"), false, Meaning::Prompted, &Whose::Another);
}

#[test]
fn a_subagent_is_another_even_in_the_agents_own_session() {
    let ids = Ids { session: Some("a".into()), subagent: Some("x".into()), ..Ids::default() };
    let hook = Hook { ids, ..hook(Meaning::TurnEnded { in_background: false }) };
    assert_eq!(hook.whose(Some("a"), true), Whose::Another);
    let silent = Hook { ids: Ids::default(), ..hook };
    assert_eq!(silent.whose(Some("a"), true), Whose::Own);
}

#[test]
fn what_is_told_between_a_prompt_and_its_end_belongs_to_one_turn() {
    let (open, new) = (Some(turn(1)), Some(turn(2)));
    let tool = || Meaning::ToolBegan { tool: "Bash".to_owned() };
    let ended = |in_background| Meaning::TurnEnded { in_background };
    for (means, before, phase, of, after) in [
        (Meaning::Prompted, None, Phase::Idle, new, new),
        // One that nobody saw end, by Escape, is over.
        (Meaning::Prompted, open, Phase::Idle, new, new),
        // One that waits is told of before its turn.
        (Meaning::Prompted, open, Phase::Busy, open, open),
        (tool(), open, Phase::Busy, open, open),
        (tool(), None, Phase::Busy, new, new),
        (ended(false), open, Phase::Busy, open, None),
        (ended(false), None, Phase::Busy, None, None),
        (ended(true), open, Phase::Busy, open, open),
        (Meaning::TurnFailed, open, Phase::Busy, open, None),
        (Meaning::Notice, open, Phase::Asking, open, open),
    ] {
        let turns = hook(means.clone()).turns(&Whose::Own, before, &phase, turn(2));
        assert_eq!(turns, Turns { of, after }, "{means:?} {before:?} {phase:?}");
        let turns = hook(means).turns(&Whose::Another, before, &phase, turn(2));
        assert_eq!(turns, Turns { of: before, after: before });
    }
}

#[test]
fn without_a_reply_a_gate_is_open_unless_it_says_otherwise() {
    assert_eq!(Gate::ORDINARY.without_reply("x"), Reply::Pass);
    let closed = Gate { fails_open: false, ..Gate::ORDINARY };
    let Reply::Block { why } = closed.without_reply("nobody is there") else { panic!() };
    assert_eq!(why, "cmux could not be asked: nobody is there");
}

#[test]
fn a_hook_that_is_shown_does_not_tell_what_it_was_told() {
    let hook = Hook { payload: "a long story".to_owned(), ..hook(Meaning::Prompted) };
    let shown = format!("{hook:?}");
    assert!(shown.contains("bytes: 12") && !shown.contains("story"), "{shown}");
}

/// Checks whose a hook of the session `b` is, if the agent's is `known` and has been `heard` of.
#[track_caller]
fn check(known: Option<&str>, heard: bool, means: Meaning, expected: &Whose) {
    let ids = Ids { session: Some("b".to_owned()), ..Ids::default() };
    let hook = Hook { ids, ..hook(means) };
    assert_eq!(hook.whose(known, heard), *expected, "{known:?} {heard} {hook:?}");
}

fn hook(means: Meaning) -> Hook {
    Hook {
        id: HookId::new(Ulid::from(1_u128)),
        name: "Some".to_owned(),
        means,
        ids: Ids::default(),
        at: NOW,
        age: Duration::ZERO,
        payload: String::new(),
        claim: None,
    }
}

fn turn(n: u128) -> TurnId {
    TurnId::new(Ulid::from(n))
}

fn agent() -> Agent {
    let setup = Setup { cwd: "/".into(), task: None, args: vec![], env: vec![], permanent: false };
    let new = NewAgent {
        project: ProjectId::of("/a"),
        name: AgentName::new("w").unwrap(),
        role: "worker".into(),
        kind: "demo".into(),
        parent: None,
        setup,
    };
    let run = RunId::new(Ulid::from(2_u128));
    let life = Life { run, began_at: Timestamp(0), state: LifeState::Launching };
    let agent = Agent::new(AgentId::new(Ulid::from(3_u128)), new, Timestamp(0));
    Agent { life: Some(life), ..agent }
}
