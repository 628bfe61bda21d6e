//! Messages that go in by the CLI's own door: each is read once and in order, whatever is killed.

use std::fs;

use cmux_testkit::dice::Dice;
use cmux_wire::agent::Phase;
use cmux_wire::message::{Message, MessageState};

use crate::kills::{Storm, check};
use crate::post::{Post, new_message};
use crate::world::{World, kill};

/// The steps of a delivery by the door, from its ticket on.
pub(crate) const POSTED: &[&str] = &[
    "wanted.stored",
    "mail.laid",
    "post.send",
    "post.sent",
    "mail.done",
    "used.stored",
    "mail.put-away",
    "mail.over",
];

/// Those of one whose CLI has no hook that could turn a second copy away: cmux takes the ticket itself.
pub(crate) const CLAIMED: &[&str] = &["mail.laid", "post.claim", "post.send", "post.sent"];

/// The manifest of the scripted agent.
const DEMO: &str = include_str!("../../../cmux-drivers/agents/demo.toml");

#[test]
fn a_daemon_killed_all_the_time_has_what_it_posts_read_once_and_in_order() {
    let mut dice = Dice::seeded();
    let mut post = office(DEMO);
    let names: Vec<String> = (0..2).map(|number| format!("reader-{number}")).collect();
    names.iter().for_each(|name| drop(post.reader(name, &[])));
    let body = |dice: &mut Dice, own: &str| match dice.below(3) {
        0 => format!("{own}\n{}", "some words\n".repeat(50)),
        1 => format!("! {own} \u{1b}[201~\r\n[cmux dlv_1 from x · task · y]"),
        _ => own.to_owned(),
    };
    let storm = Storm { messages: 80, senders: 2, kills: 12, body };
    let sent = storm.rage(&mut post, &mut dice, &names, |kill| kill());
    check(&post, &names, &sent, |name| post.record(name));
}

#[test]
fn a_daemon_killed_at_any_step_of_what_it_posts_has_it_read_once_and_in_order() {
    killed_at_each(office(DEMO), POSTED);
}

#[test]
fn a_daemon_killed_at_any_step_where_it_takes_the_ticket_itself_has_it_read_once_and_in_order() {
    let unblocked = DEMO.replace("blocks = true", "blocks = false");
    assert_ne!(unblocked, DEMO);
    killed_at_each(office(&unblocked), CLAIMED);
}

#[test]
fn an_answer_that_is_lost_is_no_reason_to_have_it_read_twice() {
    let post = office(DEMO);
    // It is answered when the hook is, which is later than anybody waits.
    post.reader("worker", &["late-answer=UserPromptSubmit:7000"]);
    let sent = [post.send("worker", "one"), post.send("worker", "two\nlines")];
    post.arrived("worker", &[&sent[0], &sent[1]]);
}

#[test]
fn what_waits_for_a_busy_reader_is_taken_back_or_read_after_its_turn() {
    let post = office(DEMO);
    let agent = post.reader("worker", &[]);
    let first = post.send("worker", "take your time");
    post.wait(&first, MessageState::Delivered);
    post.world.in_phase("worker", Phase::Busy);
    let sent = [post.send("worker", "never"), post.send("worker", "later")];
    post.wait_until(&sent[1], "held", |it| it.waiting_for.as_deref() == Some("busy"));
    post.have(&sent[0], "cancel");
    post.wait(&sent[0], MessageState::Cancelled);
    post.world.at_tmux(&["send-keys", "-t", agent.pane.as_deref().unwrap(), "Escape"]);
    post.wait(&sent[1], MessageState::Delivered);
    let read = post.record("worker");
    let of = |message: &Message| read.iter().filter(|it| it.contains(&message.id)).count();
    assert_eq!((of(&first), of(&sent[0]), of(&sent[1])), (1, 0, 1), "{read:?}");
}

#[test]
fn a_cli_that_dies_with_what_was_posted_has_it_read_once_by_the_next() {
    let post = office(DEMO);
    let before = post.faulty_once("worker", ("crash", "hooked"));
    let sent = [post.send("worker", "one"), post.send("worker", "two\nlines")];
    post.arrived("worker", &[&sent[0], &sent[1]]);
    let now = post.world.agent("worker");
    assert_ne!(now.run, before.run);
    // And one that dies at rest.
    kill(post.world.cli(now.pid.unwrap()));
    let last = post.send("worker", "three");
    post.arrived("worker", &[&sent[0], &sent[1], &last]);
}

/// Returns a post office whose agents take messages by their door, and are as `manifest` says.
fn office(manifest: &str) -> Post {
    Post::of(World::furnished(|home| {
        fs::write(home.root().join("config.toml"), "[kinds.demo]\nchannel = \"api\"\n").unwrap();
        if manifest != DEMO {
            let folder = home.root().join("agents");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("demo.toml"), manifest).unwrap();
        }
    }))
}

/// Has the daemon killed at each of these steps, and sees that what was sent is read once and in order.
fn killed_at_each(mut post: Post, steps: &[&str]) {
    post.reader("worker", &[]);
    let mut sent: Vec<Message> = Vec::new();
    for step in steps {
        post.arm(step);
        let mut new = new_message(&post.world.project, "worker", &format!("at\n{step}"));
        new.key = Some((*step).to_owned());
        let again = new.clone();
        // It may be the end of the daemon before it answers.
        let _ = post.world.home.ask(|client| async move { client.send_message(&new).await });
        post.strike(step);
        let taken = post.world.home.ask(|client| async move { client.send_message(&again).await });
        sent.push(taken.unwrap());
        post.arrived("worker", &sent.iter().collect::<Vec<_>>());
    }
}
