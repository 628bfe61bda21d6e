//! A conversation that was begun anew after mail was read, while nobody saw it: it is not read again.

use std::thread::sleep;
use std::time::Duration;

use cmux_testkit::wait::eventually;
use cmux_wire::agent::Agent;
use cmux_wire::message::{Message, MessageState};

use crate::post::Post;
use crate::world::kill;

/// How long the agent has to be at its prompt, and to do as it is told.
const CLEARED_WITHIN: Duration = Duration::from_millis(500);

#[test]
fn what_was_read_before_a_conversation_was_cleared_is_not_read_again() {
    let (post, _, sent) = read_and_cleared();
    let now = post.wait(&sent, MessageState::Delivered);
    assert_eq!(now.evidence.as_deref(), Some("transcript"), "{now:?}");
    let last = post.send("worker", "two");
    post.wait(&last, MessageState::Delivered);
    post.check("worker", &[&sent, &last]);
}

#[test]
fn what_a_life_read_before_its_conversation_was_cleared_is_not_read_by_the_next() {
    let (post, agent, sent) = read_and_cleared_by(|post, agent| {
        kill(post.world.cli(agent.pid.unwrap()));
    });
    let now = post.wait(&sent, MessageState::Delivered);
    assert_eq!(now.evidence.as_deref(), Some("transcript"), "{now:?}");
    let last = post.send("worker", "two");
    post.wait(&last, MessageState::Delivered);
    assert_ne!(post.world.agent("worker").run, agent.run);
    let read = post.record("worker");
    let of = |id: &str| read.iter().filter(|prompt| prompt.contains(id)).count();
    assert_eq!((of(&sent.id), of(&last.id)), (1, 1), "{read:?}");
}

fn read_and_cleared() -> (Post, Agent, Message) {
    read_and_cleared_by(|_, _| {})
}

/// Has a message read, the daemon killed before that is recorded, the conversation begun anew, and something
/// done before the next daemon starts.
fn read_and_cleared_by(more: impl FnOnce(&Post, &Agent)) -> (Post, Agent, Message) {
    let mut post = Post::new();
    let agent = post.reader("worker", &[]);
    post.arm("mail.done");
    let sent = post.send("worker", "one");
    let mut daemon = post.world.daemon.take().unwrap();
    eventually("the daemon has seen that it was read", || daemon.ended());
    let pane = agent.pane.as_deref().unwrap();
    eventually("the conversation is begun anew", || {
        post.world.at_tmux(&["send-keys", "-t", pane, "/clear", "Enter"]);
        // It is busy for a moment, and then only says so.
        sleep(CLEARED_WITHIN);
        post.world
            .at_tmux(&["capture-pane", "-p", "-t", pane])
            .contains("(no content)")
            .then_some(())
    });
    more(&post, &agent);
    post.world.reborn();
    (post, agent, sent)
}
