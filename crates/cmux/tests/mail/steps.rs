//! The daemon and the hook, killed at each step of a delivery that has a name.

use std::fs;

use cmux_testkit::wait::eventually;
use cmux_wire::agent::Phase;
use cmux_wire::client::MessageQuery;
use cmux_wire::message::{Message, MessageState};

use crate::post::{Post, new_message};

/// Every step of a delivery that goes well, and the moments before and after each commit.
pub(crate) const STEPS: &[&str] = &[
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
pub(crate) const SEEN: &[&str] = &[
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
pub(crate) const AGAIN: &[&str] =
    &["mail.again", "again.heard", "again.stored", "mail.paste:2", "mail.pasted:2"];

/// Those of one that is taken back while it is typed.
pub(crate) const CANCELLED: &[&str] = &[
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

/// Where a daemon is killed, and where the next one is that goes on.
pub(crate) const RECOVERED: &[(&str, &str)] = &[
    ("mail.paste", "typing.heard"),
    ("mail.paste", "typing.stored"),
    ("mail.pasted", "typing.heard"),
    ("mail.pasted", "typing.stored"),
];

/// Those of one whose reader dies with its ticket.
pub(crate) const SETTLED: &[&str] =
    &["give-back.renamed", "settled.found", "settled.told", "settled.over"];

/// What is asked of a message, and the moments of that.
pub(crate) const ASKED: &[(&str, &str)] = &[
    ("cancel", "cancel.heard"),
    ("cancel", "cancel.stored"),
    ("retry", "retry.heard"),
    ("retry", "retry.stored"),
];

/// The moments of a message whose time is over.
pub(crate) const EXPIRED: &[&str] = &["expiry.heard", "expiry.stored"];

/// Those of what is left at a prompt.
pub(crate) const TIDIED: &[&str] = &["mail.tidy", "mail.tidied"];

/// Where hooks are killed.
pub(crate) const HOOKED: &[&str] =
    &["claim.before", "claim.renamed", "claim.done", "hook.answer:1"];

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
fn a_daemon_killed_after_a_turn_in_which_nothing_was_answered_has_it_read_once() {
    let mut post = Post::new();
    post.reader("worker", &[]);
    post.arm("mail.done");
    let sent = post.send("worker", "say nothing");
    post.strike("mail.done");
    post.arrived("worker", &[&sent]);
    let read = post.message(&sent.id);
    assert_eq!((read.attempts, read.evidence.as_deref()), (1, Some("turn")), "{}", post.told());
}

#[test]
fn a_daemon_killed_while_it_takes_something_back_never_has_it_read() {
    let mut post = Post::new();
    // What is typed is seen late, so that there is time to take it back.
    post.reader("worker", &["late-paste-ms=1500"]);
    let mut read: Vec<Message> = Vec::new();
    for step in CANCELLED {
        let cancelled = (0..TRIES).find_map(|_| {
            let (sent, is_in_time) = taken_back(&mut post, step);
            if !is_in_time {
                read.extend(Some(sent).filter(|it| is_read(&post, it)));
                return None;
            }
            Some(sent)
        });
        let cancelled = cancelled.unwrap_or_else(|| panic!("all were read before {step}"));
        post.have(&cancelled, "cancel");
        read.push(post.send("worker", &format!("not cancelled at {step}")));
        post.wait(&cancelled, MessageState::Cancelled);
        post.arrived("worker", &read.iter().collect::<Vec<_>>());
    }
}

/// Takes a message back while it is typed, by a daemon that is killed at this step. Returns it, and whether that
/// was in time: on a busy machine it may be read before, or be drawn so late that nothing is left to be taken away.
fn taken_back(post: &mut Post, step: &str) -> (Message, bool) {
    post.arm(step);
    let sent = post.send("worker", &format!("cancelled at {step}"));
    post.wait_until(&sent, "typed", |it| it.attempts > 0);
    let id = sent.id.clone();
    // It may be the end of the daemon before it answers.
    let _ = post.world.home.ask(|client| async move { client.have_message(&id, "cancel").await });
    let is_struck = eventually(&format!("it is killed at {step}, or too late"), || {
        if post.world.daemon.as_mut().unwrap().ended().is_some() {
            return Some(true);
        }
        let id = sent.id.clone();
        let found = post.world.home.ask(|client| async move { client.message(&id).await });
        found.is_ok_and(|it| is_over(it.state)).then_some(false)
    });
    if !is_struck {
        return (sent, false);
    }
    post.strike(step);
    let is_in_time = !is_read(post, &sent);
    (sent, is_in_time)
}

/// Returns whether it is settled what became of a message that was taken back.
pub(crate) fn is_over(state: MessageState) -> bool {
    matches!(state, MessageState::Delivered | MessageState::Cancelled)
}

pub(crate) fn is_read(post: &Post, message: &Message) -> bool {
    post.message(&message.id).state == MessageState::Delivered
}

#[test]
fn a_daemon_killed_while_it_tidies_up_after_an_interrupt_holds_nothing_up() {
    let mut post = Post::new();
    post.reader("worker", &[]);
    let mut sent: Vec<Message> = Vec::new();
    for step in TIDIED {
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
fn a_daemon_killed_again_while_it_recovers_has_it_read_once_and_in_order() {
    let mut post = Post::new();
    post.reader("worker", &[]);
    let mut sent: Vec<Message> = Vec::new();
    for (number, (first, second)) in RECOVERED.iter().enumerate() {
        post.arm(first);
        let (body, key) = (format!("at {first},\nat {second}"), number.to_string());
        send(&post, "worker", &body, &key);
        post.strike_and_arm(first, second);
        post.strike(second);
        sent.push(post.send_as("worker", &body, |new| new.key = Some(key)));
        post.arrived("worker", &sent.iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_daemon_killed_while_it_settles_what_a_dead_reader_had_has_it_read_once_by_the_next() {
    let mut post = Post::new();
    for (number, step) in SETTLED.iter().enumerate() {
        let name = format!("worker-{number}");
        post.faulty_once(&name, ("crash", "hooked"));
        post.arm(step);
        send(&post, &name, step, step);
        post.strike(step);
        let sent = post.send_as(&name, step, |new| new.key = Some((*step).to_owned()));
        post.arrived(&name, &[&sent]);
        assert!(post.message(&sent.id).attempts > 1, "{step}: {}", post.told());
    }
}

#[test]
fn a_daemon_killed_while_a_message_is_cancelled_or_sent_after_all_has_done_it_or_not() {
    let mut post = Post::new();
    post.reader("worker", &[]);
    let (mut read, mut cancelled): (Vec<Message>, Vec<Message>) = (Vec::new(), Vec::new());
    for (verb, step) in ASKED {
        post.world.have("worker", "pause");
        let sent = post.send("worker", &format!("at {step}"));
        let (list, wanted) = match *verb {
            "cancel" => (&mut cancelled, MessageState::Cancelled),
            _ => {
                post.have(&sent, "cancel");
                (&mut read, MessageState::Queued)
            }
        };
        post.arm(step);
        let id = sent.id.clone();
        let _ = post.world.home.ask(|client| async move { client.have_message(&id, verb).await });
        post.strike(step);
        let is_done = post.message(&sent.id).state == wanted;
        assert_eq!(is_done, step.ends_with(".stored"), "{step}");
        if !is_done {
            post.have(&sent, verb);
        }
        list.push(sent);
        post.world.have("worker", "resume");
        read.push(post.send("worker", &format!("after {step}")));
        post.arrived("worker", &read.iter().collect::<Vec<_>>());
    }
    for message in &cancelled {
        assert_eq!(post.message(&message.id).state, MessageState::Cancelled);
    }
}

#[test]
fn a_daemon_killed_when_the_time_of_a_message_is_over_tells_its_sender_once() {
    let mut post = Post::new();
    post.reader("worker", &[]);
    post.world.have("worker", "pause");
    for step in EXPIRED {
        post.arm(step);
        let mut new = new_message(&post.world.project, "worker", step);
        (new.key, new.ttl_s) = (Some((*step).to_owned()), Some(1));
        let again = new.clone();
        let _ = post.world.home.ask(|client| async move { client.send_message(&new).await });
        post.strike(step);
        let sent = post.world.home.ask(|client| async move { client.send_message(&again).await });
        let sent = post.wait(&sent.unwrap(), MessageState::Expired);
        let user = MessageQuery { to: Some("user".to_owned()), ..MessageQuery::default() };
        let told = post.world.home.ask(|client| async move { client.messages(&user).await });
        let is_of = |it: &&Message| it.reply_to.as_deref() == Some(&sent.id);
        assert_eq!(told.unwrap().messages.iter().filter(is_of).count(), 1, "{step}");
    }
    post.world.have("worker", "resume");
    let last = post.send("worker", "last");
    post.arrived("worker", &[&last]);
}

#[test]
fn a_hook_killed_before_or_after_its_claim_has_its_prompt_read_once_and_in_order() {
    let post = Post::new();
    for (number, place) in HOOKED.iter().enumerate() {
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
