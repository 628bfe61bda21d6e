//! What it uses is what its model told, in each turn and in all.

use std::fs;

use cmux_testkit::model::script::Usage;
use cmux_testkit::model::{Outcome, Visit};
use cmux_wire::agent::Agent;
use cmux_wire::message::{Message, Moment};
use cmux_wire::turn::Turn;
use cmux_wire::usage::{Dollars, Usage as Used};

use super::{Part, heard};
use crate::proof::{Shown, shown};
use crate::stage::{SUPERVISOR, Stage};
use crate::world::kill;

/// What every model costs here: no two sorts of tokens cost the same.
const PRICES: &str = "\n[prices.\"*\"]\ninput = 1\noutput = 5\ncache_read = 0.1\ncache_write = 2\n";

/// What two prompts take, and a third in the next life. The second is thought about.
const SCRIPTED: [Usage; 3] = [
    Usage { input: 1000, output: 50, thought: 0, cache_read: 900, cache_write: 0 },
    Usage { input: 2000, output: 60, thought: 25, cache_read: 0, cache_write: 0 },
    Usage { input: 400, output: 40, thought: 0, cache_read: 4, cache_write: 0 },
];

/// A message, and what each answer took that came of it.
pub(crate) type Took = (Message, Vec<Usage>);

/// Every answer is counted once, over turns, over a life that was killed and went on, and over a daemon that was.
pub(crate) fn counted(part: &Part) {
    let mut stage = Stage::set(&part.cli);
    priced(&mut stage);
    part.begun(&stage);
    let mut known = Vec::new();
    for (number, took) in SCRIPTED.iter().enumerate() {
        if number + 1 == SCRIPTED.len() {
            let before = stage.post.world.agent(SUPERVISOR);
            kill(stage.post.world.cli(before.pid.unwrap()));
            stage.back(&before);
        }
        let Usage { input, output, thought, cache_read, .. } = took;
        let says = match thought {
            0 => format!("@@ say {number}"),
            _ => format!("@@ think Hm.\n@+ say {number}"),
        };
        let usage = format!("@= in={input} out={output} th={thought} cr={cache_read}");
        known.push((stage.tell(&format!("{says}\n{usage}")), vec![*took]));
        heard(&stage);
        check(&stage, &known, Visit::is_main);
    }
    check_again(&mut stage, known, Visit::is_main);
    shown(&stage, part.kind(), Shown::Usage);
}

/// Has the daemon know what tokens cost.
#[track_caller]
pub(crate) fn priced(stage: &mut Stage) {
    let config = stage.post.world.home.root().join("config.toml");
    let written = fs::read_to_string(&config).unwrap();
    fs::write(&config, written + PRICES).unwrap();
    stage.post.world.reborn();
}

/// Has another daemon look, which sees what is written down for the first time, and checks that nothing is
/// counted twice by that. It has read all that was there before once it knows of a further turn.
#[track_caller]
pub(crate) fn check_again(stage: &mut Stage, mut known: Vec<Took>, counts: fn(&Visit) -> bool) {
    stage.post.world.reborn();
    known.push((stage.tell("@@ say the last\n@= in=11 out=7"), vec![usage(11, 7, 0, 0)]));
    heard(stage);
    check(stage, &known, counts);
}

/// Waits until what every answer took is counted, and what it cost: that of each turn in which a message was read,
/// and all together. An answer that counts, and of which nobody says what it takes, takes what is usual.
#[track_caller]
pub(crate) fn check(stage: &Stage, known: &[Took], counts: fn(&Visit) -> bool) -> Agent {
    let mut found = None;
    let all = std::panic::AssertUnwindSafe(|| {
        stage.eventually("all is counted", || {
            let further: Vec<usize> = known.iter().map(|(it, _)| further(stage, it)).collect();
            let answers = known.iter().map(|(_, took)| took.len()).sum();
            let others = stage.model.look(|visits| {
                let is_one = |it: &&Visit| counts(it) && it.outcome == Outcome::Answered;
                visits.iter().filter(is_one).count().checked_sub(answers)
            })?;
            let others = vec![Usage::default(); others];
            let all = known.iter().fold(sum(&others), |all, (_, took)| all.plus(sum(took)));
            let agent = stage.post.world.agent(SUPERVISOR);
            let of: Vec<(String, Used)> = turns(stage).iter().filter_map(of_message).collect();
            // Without hooks, nobody tells of turns.
            let has_turns = !stage.post.world.events_of("hook.received").is_empty();
            let is_each = !has_turns
                || known.len() == of.len()
                    && known.iter().zip(&further).zip(&of).all(|((took, further), of)| {
                        took.0.id == of.0 && may_take(&took.1, *further).any(|it| it == of.1)
                    });
            let is_so = agent.usage == all && is_each;
            found = Some((agent.usage, all, of));
            is_so.then_some(agent)
        })
    });
    std::panic::catch_unwind(all).unwrap_or_else(|why| {
        let why = why.downcast_ref::<String>().map_or("", String::as_str);
        panic!("{why}\n--- of {known:#?}\n--- found {found:#?}")
    })
}

/// Returns how many answers there were to a message of which its script does not tell: a CLI may answer once more
/// when what it had done beside itself is finished.
fn further(stage: &Stage, message: &Message) -> usize {
    let told = message.body.lines().filter(|line| line.starts_with("@@ ")).count();
    let is_further = |visit: &&Visit| {
        let is_of_it = visit.asked.prompt().is_some_and(|(_, text)| text.contains(&message.id));
        is_of_it && visit.outcome == Outcome::Answered && visit.asked.turn() >= told
    };
    stage.model.look(|visits| visits.iter().filter(is_further).count())
}

/// Returns what a turn may take: its answers, and as many of those that came `further` as were part of it. The
/// others began turns of their own.
fn may_take(answers: &[Usage], further: usize) -> impl Iterator<Item = Used> {
    let answers = sum(answers);
    (0..=further).map(move |number| answers.plus(sum(&vec![Usage::default(); number])))
}

/// Returns the message that a turn was about, if it was about one, and what it took.
fn of_message(turn: &Turn) -> Option<(String, Used)> {
    turn.messages.first().map(|id| (id.clone(), turn.usage))
}

/// Returns the supervisor's turns, the oldest first.
fn turns(stage: &Stage) -> Vec<Turn> {
    let world = &stage.post.world;
    let project = world.project.clone();
    let asked = world
        .home
        .ask(|client| async move { client.history(SUPERVISOR, Some(&project), None).await });
    let moments = asked.unwrap().history.into_iter().rev();
    let turn = |moment| match moment {
        Moment::Turn(turn) => Some(*turn),
        Moment::Message(_) => None,
    };
    moments.filter_map(turn).collect()
}

/// Returns what answers took together, as cmux tells it.
fn sum(answers: &[Usage]) -> Used {
    let of = |it: &Usage| Used {
        tokens: it.input + it.output + it.cache_read + it.cache_write,
        input_tokens: it.input,
        output_tokens: it.output,
        cache_read_tokens: it.cache_read,
        cache_write_tokens: it.cache_write,
        cost_usd: Some(Dollars::from_nanos(
            1000 * it.input + 5000 * it.output + 100 * it.cache_read + 2000 * it.cache_write,
        )),
        unpriced_tokens: 0,
    };
    answers.iter().map(of).fold(nothing(), Used::plus)
}

/// Returns what nothing takes: it costs nothing, and that is known.
fn nothing() -> Used {
    Used { cost_usd: Some(Dollars::default()), ..Used::default() }
}

/// Returns what an answer took of which nothing was thought.
pub(crate) fn usage(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Usage {
    Usage { input, output, thought: 0, cache_read, cache_write }
}
