//! The daemon is killed all the time, in the middle of real turns.

use cmux_testkit::dice::Dice;
use cmux_testkit::model::{Model, Outcome, Visit};
use cmux_wire::agent::Phase;
use serde_json::json;

use super::supervised;
use crate::kills::{Storm, check};
use crate::stage::Stage;

/// How many kills have to come in the middle of a turn of one of the agents.
const STRUCK_MIN: u64 = 100;

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
    let storm = Storm { messages: 50, senders: 3, kills: 120, body };
    let mut struck = 0;
    let sent = storm.rage(&mut stage.post, &mut dice, &names, |kill| {
        let before = turns(&stage.model);
        kill();
        let still = turns(&stage.model);
        struck += u64::from(before.iter().any(|turn| still.contains(turn)));
    });
    assert!(struck >= STRUCK_MIN, "{struck} of {} kills came in the middle of a turn", storm.kills);
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
    format!("{own}{more}\n{call}@@ say {answer}\n@= delay=0.{} stream={stream}", dice.below(10))
}
