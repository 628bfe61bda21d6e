//! What is killed comes back, and nothing is lost or read twice by that.

use std::thread;
use std::time::Duration;

use cmux_testkit::dice::Dice;
use cmux_testkit::model::Visit;
use cmux_testkit::model::asked::Asked;
use cmux_wire::event::Event;
use cmux_wire::message::Message;

use super::{Confirms, Part, asked, check_heard, heard};
use crate::post::new_message;
use crate::proof::{Shown, shown};
use crate::stage::{SUPERVISOR, Stage};
use crate::world::kill;

const MESSAGES: u64 = 10;

/// How often the daemon is killed for each message.
const KILLS: u64 = 2;

/// How long a daemon may live once it is ready, in milliseconds.
const LIVES_MS: u64 = 1500;

/// A CLI that is killed comes back with its session, and knows what was said before.
pub(crate) fn resumes(part: &Part) {
    let (stage, _) = part.supervised();
    let first = stage.tell("Remember the number 4711.");
    heard(&stage);
    let before = stage.post.world.agent(SUPERVISOR);
    kill(stage.post.world.cli(before.pid.unwrap()));
    let back = stage.back(&before);
    assert_eq!(back.session_id, before.session_id);
    let second = stage.tell("Which number was it?");
    check_heard(&stage, &[&first, &second]);
    shown(&stage, part.kind(), Shown::Resume);
}

/// Killed before its model answers, it reads what it was given once in the end. It is not called delivered by then:
/// that its hook has claimed it, and that it is in its transcript, is not enough. What an API has taken is in the
/// session that its next life goes on with.
pub(crate) fn before_answer(part: &Part) {
    let (stage, _) = part.supervised();
    let warm = stage.tell("Hello.");
    heard(&stage);
    let first = stage.post.send(SUPERVISOR, "@@ say read\n@= hold=answer");
    asked(&stage);
    let before = stage.post.world.agent(SUPERVISOR);
    kill(stage.post.world.cli(before.pid.unwrap()));
    stage.back(&before);
    stage.model.release("answer");
    let (first, second) = (stage.delivered(&first), stage.tell("And this."));
    check_heard(&stage, &[&warm, &first, &second]);
    check_not_asked_again(&stage, &first);
    let events = stage.post.world.events();
    let exited = events.iter().position(|it| it.kind == "agent.exited").unwrap();
    let is_delivered =
        |it: &&Event| it.kind == "message.delivered" && it.data["message"] == first.id.as_str();
    let early = events[..exited].iter().find(is_delivered).map(|it| &it.data["evidence"]);
    match part.confirms {
        Confirms::Hook(_) => assert_eq!(early, None, "{}", stage.post.told()),
        Confirms::Screen => assert!(early.is_none_or(|it| it == "screen"), "{early:?}"),
        Confirms::Api => assert!(early.is_none_or(|it| it == "answer"), "{early:?}"),
    }
}

/// Checks that a CLI that was killed over a message has not asked its model about it again by itself, but only as often
/// as it was given to it: as the page of compatibility tells, its model reads it with what is said next.
#[track_caller]
pub(crate) fn check_not_asked_again(stage: &Stage, message: &Message) {
    let is_about = |it: &&Visit| {
        let prompt = it.asked.prompt();
        it.is_main() && prompt.is_some_and(|(_, text)| text.contains(&message.id))
    };
    let asked = stage.model.look(|visits| visits.iter().filter(is_about).count());
    let given = usize::try_from(message.attempts).unwrap();
    assert!((1..=given).contains(&asked), "asked {asked} times, given {given} times");
}

/// The daemon is killed again and again while messages are typed and read: each is read once, in order.
pub(crate) fn storm(part: &Part) {
    let (mut stage, _) = part.supervised();
    let mut dice = Dice::seeded();
    let mut sent: Vec<Message> = Vec::new();
    for n in 0..MESSAGES {
        let mut new = new_message(
            &stage.post.world.project,
            SUPERVISOR,
            &format!("@@ say {n}\n@= delay=0.2"),
        );
        new.key = Some(n.to_string());
        let asked =
            stage.post.world.home.ask(|client| async move { client.send_message(&new).await });
        sent.push(asked.unwrap());
        for _ in 0..KILLS {
            // Each time at another moment.
            thread::sleep(Duration::from_millis(dice.below(LIVES_MS)));
            stage.post.world.reborn();
        }
    }
    let sent: Vec<Message> = sent.iter().map(|it| stage.delivered(it)).collect();
    check_once(&stage, &sent);
}

/// Checks that these were read once, in this order, and nothing else: and that no request had anything in it that
/// was forgotten later. There must be no other agent.
#[track_caller]
fn check_once(stage: &Stage, sent: &[Message]) {
    check_heard(stage, &sent.iter().collect::<Vec<_>>());
    stage.model.look(|visits| {
        let visits: Vec<&Asked> =
            visits.iter().filter(|it| it.is_main()).map(|it| &it.asked).collect();
        let last = visits.last().unwrap();
        for asked in &visits {
            let before = asked.prompts();
            assert_eq!(asked.session, last.session, "{before:?}");
            assert_eq!(before, last.prompts()[..before.len().min(last.prompts().len())]);
        }
    });
}
