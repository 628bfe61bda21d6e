//! The agent's own program, and tmux, killed in the middle of a delivery.

use std::thread;
use std::time::{Duration, Instant};

use cmux_testkit::dice::Dice;
use cmux_wire::agent::Agent;
use cmux_wire::message::{Message, MessageState};

use crate::post::Post;
use crate::world::kill;

/// For how long a hook holds a message back: for longer than whoever works usually takes to have read it.
const HELD_FOR: Duration = Duration::from_secs(8);

#[test]
fn a_cli_killed_between_its_claim_and_its_use_has_it_read_once_by_the_next() {
    for when in ["hooked", "recorded"] {
        let post = Post::new();
        let before = post.faulty_once("worker", ("crash", when));
        let sent = [post.send("worker", "one"), post.send("worker", "two\nlines")];
        for message in &sent {
            read(&post, &before, message);
        }
        assert!(post.message(&sent[0].id).attempts > 1, "{when}: {}", post.told());
        post.check_read(&post.conversation(&before), &[&sent[0], &sent[1]]);
        // What the first noted before it died is not in the conversation that the next goes on with.
        match when {
            "hooked" => post.check("worker", &[&sent[0], &sent[1]]),
            _ => assert!(post.record("worker")[0].contains(&sent[0].id)),
        }
        assert_ne!(post.world.agent("worker").run, before.run);
    }
}

/// A hook of the person's may take longer than cmux's own, and hold it back yet. The agent shows meanwhile that it is
/// at work.
#[test]
fn a_cli_killed_while_a_slow_hook_holds_mail_back_has_it_read_once_by_the_next() {
    let post = Post::new();
    let before = post.faulty_once("worker", ("late-answer", "UserPromptSubmit:600000"));
    let message = post.send("worker", "one");
    post.wait(&message, MessageState::Claimed);
    let claimed_at = Instant::now();
    post.wait_until(&message, "held back for long", |now| {
        assert_eq!(now.state, MessageState::Claimed, "nobody has read it");
        claimed_at.elapsed() > HELD_FOR
    });
    kill(post.world.cli(before.pid.unwrap()));
    read(&post, &before, &message);
    post.check("worker", &[&message]);
    assert_ne!(post.world.agent("worker").run, before.run);
}

#[test]
fn a_tmux_killed_at_any_moment_of_a_delivery_has_it_read_once_by_the_next() {
    let mut dice = Dice::seeded();
    let post = Post::new();
    let agent = post.reader("worker", &[]);
    let mut sent = Vec::new();
    for round in 0..5 {
        sent.push(post.send("worker", &format!("first of {round}")));
        sent.push(post.send("worker", &format!("second\nof {round}")));
        thread::sleep(Duration::from_millis(dice.below(250)));
        post.world.tmux().into_iter().for_each(kill);
        for message in &sent {
            read(&post, &agent, message);
        }
        post.check_read(&post.conversation(&agent), &sent.iter().collect::<Vec<_>>());
        post.world.have("worker", "resume");
    }
}

/// Waits until a message is delivered, and sees that it is not called so before it is in the agent's
/// conversation.
#[track_caller]
fn read(post: &Post, agent: &Agent, message: &Message) {
    post.wait_until(message, "read", |now| {
        let is_told = now.state == MessageState::Delivered;
        let is_read = post.conversation(agent).iter().any(|it| it.contains(&now.id));
        assert!(is_read || !is_told, "it was not read, and is called {now:?}");
        is_told
    });
}
