//! The daemon is killed all the time, in the middle of real turns.

use std::collections::BTreeMap;

use cmux_testkit::dice::Dice;
use cmux_testkit::model::{Model, Outcome, Visit};
use cmux_wire::agent::Phase;
use serde_json::json;

use super::supervised;
use crate::kills::{Storm, check};
use crate::stage::Stage;

/// What is sent, by how many, and how often the daemon is killed meanwhile.
const STORM: Storm = Storm { messages: 50, senders: 3, kills: 120, body };

/// How many kills have to come in the middle of a turn of one of the agents.
const STRUCK_MIN: u64 = 100;

/// How many kills a turn waits for before its model answers, so that a slow machine kills in as many turns as a
/// fast one.
const STRUCK_EACH: u64 = 4;

#[test]
fn fifty_messages_under_a_hundred_kills_are_each_read_once_and_in_order() {
    let mut dice = Dice::seeded();
    let (mut stage, supervisor) = supervised();
    let mut names = vec![supervisor.name];
    for name in ["one", "two"] {
        stage.post.world.spawn_as(name, &json!({ "kind": "claude" }));
        names.push(name.to_owned());
    }
    for name in &names {
        stage.in_phase(name, Phase::Idle);
    }
    let (mut kills, mut struck) = (0, 0);
    let mut strikes = BTreeMap::new();
    let sent = STORM.rage(&mut stage.post, &mut dice, &names, |kill| {
        let before = turns(&stage.model);
        kill();
        kills += 1;
        let mut still = turns(&stage.model);
        still.retain(|turn| before.contains(turn));
        struck += u64::from(!still.is_empty());
        for turn in still {
            let count: &mut u64 = strikes.entry(turn).or_default();
            *count += 1;
            if *count == STRUCK_EACH {
                answer(&stage.model, turn);
            }
        }
        if kills == STORM.kills {
            answer_all(&stage.model);
        }
    });
    assert!(struck >= STRUCK_MIN, "{struck} of {kills} kills came in the middle of a turn");
    for name in &names {
        stage.in_phase(name, Phase::Idle);
    }
    check(&stage.post, &names, &sent, |name| all_prompts(&stage, name));
    let sessions: Vec<_> =
        names.iter().map(|name| stage.post.world.agent(name).session_id).collect();
    stage.model.look(|visits| {
        for visit in visits.iter().filter(|visit| visit.is_main()) {
            assert!(sessions.contains(&visit.asked.session), "nobody's session: {visit:?}");
        }
    });
    assert_eq!(stage.model.strays(), [""; 0]);
}

/// Returns the numbers of the turns that are under way.
fn turns(model: &Model) -> Vec<usize> {
    let is_one = |(_, it): &(usize, &Visit)| it.is_main() && it.outcome == Outcome::Underway;
    model
        .look(|visits| visits.iter().enumerate().filter(is_one).map(|(number, _)| number).collect())
}

/// Has the model go on with a turn that it holds back.
fn answer(model: &Model, turn: usize) {
    let prompt = model.look(|visits| visits[turn].asked.prompt().map(|(_, text)| text.to_owned()));
    let prompt = prompt.unwrap_or_default();
    prompt
        .split_whitespace()
        .filter_map(|it| it.strip_prefix("hold="))
        .for_each(|it| model.release(it));
}

/// Has the model hold back nothing any more.
fn answer_all(model: &Model) {
    for sender in 0..STORM.senders {
        (0..STORM.messages).for_each(|n| model.release(&held(&format!("{n} of {sender}"))));
    }
}

/// Returns by which name the answer to a message is held back that only it says.
fn held(own: &str) -> String {
    own.replace(' ', "-")
}

/// Returns what an agent's model was asked, having seen that each request has what was in those before: nothing
/// was asked that was forgotten later.
fn all_prompts(stage: &Stage, name: &str) -> Vec<String> {
    let agent = stage.post.world.agent(name);
    let prompts = stage.prompts(&agent);
    let is_its = |visit: &&Visit| visit.is_main() && visit.asked.session == agent.session_id;
    stage.model.look(|visits| {
        for visit in visits.iter().filter(is_its) {
            let before = visit.asked.prompts();
            assert!(prompts.iter().map(String::as_str).take(before.len()).eq(before), "{name}");
        }
    });
    prompts
}

/// Returns something to say that nobody else says, which its reader answers for a while, and some of it after a call
/// of a tool.
fn body(dice: &mut Dice, own: &str) -> String {
    let more = match dice.below(4) {
        0 => "\n\n  - one\n  - two: Zürich 東京 🦀\n".to_owned(),
        1 => format!("\n{}", "some words\n".repeat(20)),
        _ => String::new(),
    };
    let call = match dice.below(3) {
        0 => "@@ tool Bash {\"command\":\"cmux agent show nobody\"}\n@= delay=0.5\n",
        _ => "",
    };
    // Long enough for a daemon to begin and be killed meanwhile, on a slow machine, too.
    let stream = format!("{}.{}", 3 + dice.below(4), dice.below(10));
    let answer = format!("I heard of {own}. {}", "And I go on. ".repeat(20));
    let held = held(own);
    format!("{own}{more}\n{call}@@ say {answer}\n@= hold={held} stream={stream}")
}
