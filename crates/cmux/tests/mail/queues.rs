//! Mail that waits: for whom, for how long, and what becomes of it when somebody changes their mind.

use cmux_testkit::wait::eventually;
use cmux_wire::agent::Phase;
use cmux_wire::client::ClientError;
use cmux_wire::client::MessageQuery;
use cmux_wire::message::{Message, MessageState};

use crate::post::Post;

#[test]
fn the_mail_of_an_agent_that_is_removed_fails_and_its_sender_is_told() {
    let post = Post::new();
    post.reader("worker", &[]);
    stop(&post, "worker");
    let message = post.send("worker", "one");
    let project = post.world.project.clone();
    let removed = post
        .world
        .home
        .ask(|client| async move { client.remove_agent("worker", Some(&project)).await });
    removed.unwrap();
    let failed = post.wait(&message, MessageState::Failed);
    assert!(failed.reason.as_deref().unwrap().contains("forgotten"), "{failed:?}");
    let query = MessageQuery { to: Some("user".to_owned()), ..MessageQuery::default() };
    let letters = post.world.home.ask(|client| async move { client.messages(&query).await });
    let letters = letters.unwrap().messages;
    let told = letters.iter().find(|it| it.reply_to.as_deref() == Some(&*message.id)).unwrap();
    assert!(told.body.contains(&message.id) && told.body.contains("is failed: "), "{}", told.body);
    assert_eq!(post.record("worker"), [""; 0]);
}

#[test]
fn mail_waits_for_an_agent_that_is_stopped_or_paused_and_is_read_when_it_goes_on() {
    let post = Post::new();
    let mut sent: Vec<Message> = Vec::new();
    post.reader("worker", &[]);
    for (verb, waits, again) in [("stop", "stopped", "restart"), ("pause", "paused", "resume")] {
        match verb {
            "stop" => stop(&post, "worker"),
            _ => drop(post.world.have("worker", verb)),
        }
        for body in ["one", "two\nlines"] {
            sent.push(post.send("worker", body));
        }
        let last = post.message(&sent[sent.len() - 1].id);
        assert_eq!((last.state, last.waiting_for.as_deref()), (MessageState::Queued, Some(waits)));
        post.world.have("worker", again);
        post.arrived("worker", &sent.iter().collect::<Vec<_>>());
    }
}

#[test]
fn what_is_out_of_time_is_not_read_and_comes_again_when_it_is_asked_for() {
    let post = Post::new();
    post.reader("worker", &[]);
    post.world.have("worker", "pause");
    let late = post.send_as("worker", "late", |new| new.ttl_s = Some(1));
    let other = post.send("worker", "other");
    post.wait(&late, MessageState::Expired);
    post.world.have("worker", "resume");
    post.arrived("worker", &[&other]);
    // It may be on its way by the time that is answered.
    let retried = post.have(&late, "retry");
    assert_eq!((retried.state == MessageState::Expired, retried.expires_at), (false, None));
    post.arrived("worker", &[&other, &late]);
}

#[test]
fn a_message_that_is_cancelled_in_time_is_never_read_and_holds_nothing_up() {
    let post = Post::new();
    for (number, (state, fault)) in [
        (MessageState::Queued, None),
        (MessageState::Typing, Some("late-paste-ms=1500")),
        (MessageState::Submitted, Some("late-hook=UserPromptSubmit:1500")),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("worker-{number}");
        post.reader(&name, fault.as_slice());
        if state == MessageState::Queued {
            post.world.have(&name, "pause");
        }
        let first = post.send(&name, "one");
        post.wait(&first, state);
        post.have(&first, "cancel");
        let second = post.send(&name, "two\nlines");
        if state == MessageState::Queued {
            post.world.have(&name, "resume");
        }
        post.wait(&first, MessageState::Cancelled);
        post.arrived(&name, &[&second]);
        post.have(&first, "retry");
        post.arrived(&name, &[&second, &first]);
    }
}

#[test]
fn what_its_reader_has_taken_is_read_all_the_same_if_it_does_not_come_back() {
    let post = Post::new();
    post.reader("worker", &["late-answer=UserPromptSubmit:1500"]);
    let message = post.send("worker", "one");
    post.wait(&message, MessageState::Claimed);
    let id = &message.id;
    let cancel =
        || post.world.home.ask(|client| async move { client.have_message(id, "cancel").await });
    assert!(matches!(cancel().unwrap().state, MessageState::Claimed | MessageState::Delivered));
    post.wait(&message, MessageState::Delivered);
    match cancel() {
        Err(ClientError::Refused(problem)) => assert_eq!(problem.status, 409, "{problem:?}"),
        other => panic!("{other:?}"),
    }
    post.check("worker", &[&message]);
}

#[test]
fn a_busy_agent_is_interrupted_for_what_cannot_wait() {
    let post = Post::new();
    post.reader("worker", &[]);
    let slow = post.send("worker", "say something and take your time");
    post.wait(&slow, MessageState::Delivered);
    post.world.in_phase("worker", Phase::Busy);
    let waits = post.send("worker", "when you can");
    let now = post.send_as("worker", "at once", |new| new.interrupt = true);
    post.wait(&now, MessageState::Delivered);
    post.arrived("worker", &[&slow, &waits, &now]);
}

fn stop(post: &Post, name: &str) {
    post.world.have(name, "stop");
    eventually("it is stopped", || {
        let agent = post.world.agent(name);
        (agent.phase == Phase::Offline && agent.run.is_none()).then_some(())
    });
}
