//! The daemon and the hook, killed at each step of a delivery that has a name.

use std::fs;

use cmux_testkit::wait::eventually;
use cmux_wire::agent::Phase;
use cmux_wire::message::{Message, MessageState};

use crate::post::{Post, new_message};

/// Every step of a delivery that goes well, and the moments before and after each commit.
const STEPS: &[&str] = &[
    "sent.heard",
    "sent.stored",
    "sent.heard:2",
    "sent.stored:2",
    "mail.ask",
    "wanted.heard",
    "wanted.stored",
    "mail.asked",
    "mail.lay",
    "lay.written",
    "lay.named",
    "mail.laid",
    "mail.paste",
    "mail.pasted",
    "mail.press",
    "mail.pressed",
    "mail.done",
    "used.heard",
    "used.stored",
    "mail.put-away",
    "settle.noted",
    "mail.over",
];

/// Those that are passed over if its reader is faster than whoever looks.
const SEEN: &[&str] = &[
    "mail.tell",
    "submitted.heard",
    "submitted.stored",
    "mail.tell:2",
    "claimed.heard",
    "claimed.stored",
];

/// How often it is tried to have such a step taken.
const TRIES: u32 = 5;

/// Those of one that has to be typed again, as its reader did not hear the first.
const AGAIN: &[&str] =
    &["mail.again", "again.heard", "again.stored", "mail.paste:2", "mail.pasted:2"];

/// Those of one that is taken back while it is typed.
const CANCELLED: &[&str] = &[
    "mail.change",
    "void.renamed",
    "mail.changed",
    "mail.empty",
    "mail.emptied",
    "mail.done",
    "unused.heard",
    "unused.stored",
    "mail.over",
];

#[test]
fn a_daemon_killed_at_any_step_of_a_delivery_has_it_read_once_and_in_order() {
    let mut post = Post::new();
    post.reader("worker", &[]);
    let mut sent: Vec<Message> = Vec::new();
    for step in STEPS {
        post.arm(step);
        let (first, second) = (format!("first at {step}"), format!("second\nat {step}"));
        let keys = [format!("1-{step}"), format!("2-{step}")];
        send(&post, "worker", &first, &keys[0]);
        send(&post, "worker", &second, &keys[1]);
        post.strike(step);
        // Whoever was not answered asks again, with the same key.
        for (body, key) in [(&first, &keys[0]), (&second, &keys[1])] {
            sent.push(post.send_as("worker", body, |new| new.key = Some(key.clone())));
        }
        post.arrived("worker", &sent.iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_daemon_killed_while_it_tells_how_far_something_came_has_it_read_once_and_in_order() {
    let mut post = Post::new();
    // Its hook begins late, and is heard late.
    let slow = ["late-hook=UserPromptSubmit:500", "late-answer=UserPromptSubmit:500"];
    post.reader("worker", &slow);
    let mut sent: Vec<Message> = Vec::new();
    for step in SEEN {
        let is_struck = (0..TRIES).any(|_| {
            post.arm(step);
            let first = sent.len();
            for body in ["one", "two\nlines"] {
                sent.extend(send_until_taken(&mut post, &format!("{body} at {step}"), sent.len()));
            }
            let is_struck = is_struck(&mut post, &sent[first..]);
            post.arrived("worker", &sent.iter().collect::<Vec<_>>());
            is_struck
        });
        assert!(is_struck, "it never came to {step}");
    }
}

#[test]
fn a_daemon_killed_while_it_has_something_typed_again_has_it_read_once_and_in_order() {
    let mut post = Post::new();
    for (number, step) in AGAIN.iter().enumerate() {
        let name = format!("worker-{number}");
        // It hears nothing of what is typed first.
        post.reader(&name, &["deaf-ms=6000"]);
        post.arm(step);
        for body in ["one", "two"] {
            send(&post, &name, &format!("{body} at {step}"), &format!("{body}-{step}"));
        }
        post.strike(step);
        let sent = ["one", "two"].map(|body| {
            let (body, key) = (format!("{body} at {step}"), format!("{body}-{step}"));
            post.send_as(&name, &body, |new| new.key = Some(key))
        });
        post.arrived(&name, &[&sent[0], &sent[1]]);
    }
}

#[test]
fn a_daemon_killed_while_it_takes_something_back_never_has_it_read() {
    let mut post = Post::new();
    // What is typed is seen late, so that there is time to take it back.
    post.reader("worker", &["late-paste-ms=1500"]);
    let mut read: Vec<Message> = Vec::new();
    for step in CANCELLED {
        post.arm(step);
        let cancelled = post.send("worker", &format!("cancelled at {step}"));
        post.wait_until(&cancelled, "typed", |it| it.attempts > 0);
        let id = cancelled.id.clone();
        // It may be the end of the daemon before it answers.
        let _ =
            post.world.home.ask(|client| async move { client.have_message(&id, "cancel").await });
        post.strike(step);
        post.have(&cancelled, "cancel");
        read.push(post.send("worker", &format!("not cancelled at {step}")));
        post.wait(&cancelled, MessageState::Cancelled);
        post.arrived("worker", &read.iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_daemon_killed_while_it_tidies_up_after_an_interrupt_holds_nothing_up() {
    let mut post = Post::new();
    post.reader("worker", &[]);
    let mut sent: Vec<Message> = Vec::new();
    for step in ["mail.tidy", "mail.tidied"] {
        post.arm(step);
        sent.push(post.send("worker", &format!("take your time at {step}")));
        post.wait(&sent[sent.len() - 1], MessageState::Delivered);
        post.world.in_phase("worker", Phase::Busy);
        sent.push(post.send_as("worker", "at once", |new| new.interrupt = true));
        post.strike(step);
        post.arrived("worker", &sent.iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_hook_killed_before_or_after_its_claim_has_its_prompt_read_once_and_in_order() {
    let post = Post::new();
    let places = ["claim.before", "claim.renamed", "claim.done", "hook.answer:1"];
    for (number, place) in places.iter().enumerate() {
        let name = format!("worker-{number}");
        let file = post.world.home.folder("once").join(&name);
        let armed = format!("{place}@{}", file.display());
        post.launch(&name, &[], &[("CMUX_FAILPOINT", &armed)]);
        post.world.in_phase(&name, Phase::Idle);
        // From here on, one hook that comes there is killed.
        fs::write(&file, "").unwrap();
        let sent = [post.send(&name, "one"), post.send(&name, "two\nlines")];
        post.arrived(&name, &[&sent[0], &sent[1]]);
        assert!(!file.exists(), "no hook came to {place}");
        assert_eq!(post.message(&sent[0].id).state, MessageState::Delivered);
    }
}

/// Sends the message of this number, and again to the next daemon if it was the end of this one.
fn send_until_taken(post: &mut Post, body: &str, number: usize) -> Option<Message> {
    let mut new = new_message(&post.world.project, "worker", body);
    new.key = Some(number.to_string());
    let again = new.clone();
    let sent = post.world.home.ask(|client| async move { client.send_message(&new).await });
    sent.ok().or_else(|| {
        post.strike("this");
        post.world.home.ask(|client| async move { client.send_message(&again).await }).ok()
    })
}

/// Waits until the daemon is killed, and starts another, or until these messages are read without that. Returns
/// whether it was killed.
fn is_struck(post: &mut Post, sent: &[Message]) -> bool {
    let mut daemon = post.world.daemon.take().unwrap();
    let is_over = eventually("it is killed or they are read", || {
        let is_read = sent.iter().all(|message| {
            let id = message.id.clone();
            let now = post.world.home.ask(|client| async move { client.message(&id).await });
            now.is_ok_and(|it| it.state == MessageState::Delivered)
        });
        daemon.ended().map(|_| true).or(is_read.then_some(false))
    });
    post.world.daemon = Some(if is_over { post.world.home.daemon() } else { daemon });
    is_over
}

/// Sends a message, which may be the end of the daemon before it answers.
fn send(post: &Post, to: &str, body: &str, key: &str) {
    let mut new = new_message(&post.world.project, to, body);
    new.key = Some(key.to_owned());
    let _ = post.world.home.ask(|client| async move { client.send_message(&new).await });
}
