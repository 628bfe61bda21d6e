//! A store that was restored: what was read is not read again.

use std::fs;

use cmux_testkit::wait::eventually;
use cmux_wire::message::{Message, MessageState};

use crate::post::Post;

/// The moments at which it is stored what was read in the life of another store.
pub(crate) const READ_BACK: &[&str] = &["read.heard", "read.stored"];

#[test]
fn what_was_read_since_the_snapshot_is_not_read_again() {
    let (mut post, first, sent) = read_and_restored();
    post.world.reborn();
    check(&post, &first, &sent);
}

#[test]
fn a_daemon_killed_while_it_hears_what_was_read_leaves_that_to_the_next() {
    for step in READ_BACK {
        let (mut post, first, sent) = read_and_restored();
        post.arm(step);
        post.strike(step);
        check(&post, &first, &sent);
    }
}

#[test]
fn nothing_is_typed_until_it_is_known_what_was_read() {
    let mut post = Post::new();
    post.reader("worker", &[]);
    post.world.have("worker", "pause");
    let sent = post.send("worker", "one");
    let backup = post.world.home.folder("backup").join("before.db").display().to_string();
    let made = post.world.home.run(&["db", "backup", &backup]);
    assert_eq!(made.code, Some(0), "{made:?}");
    post.world.have("worker", "resume");
    post.arrived("worker", &[&sent]);

    post.world.daemon.take().unwrap().kill();
    let restored = post.world.home.run(&["db", "restore", &backup]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    // Which log the tickets belong to cannot be read.
    let noted = post.world.home.root().join("claims/tickets-log");
    fs::remove_file(&noted).unwrap();
    fs::create_dir(&noted).unwrap();
    post.world.reborn();
    post.world.have("worker", "resume");
    eventually("it is told that no mail is typed", || {
        post.told().contains("no mail is typed").then_some(())
    });
    fs::remove_dir(&noted).unwrap();
    let now = post.wait(&sent, MessageState::Delivered);
    assert_eq!(now.evidence.as_deref(), Some("ledger"), "{now:?}");
    let last = post.send("worker", "two");
    post.wait(&last, MessageState::Delivered);
    let read = post.record("worker");
    for message in [&sent, &last] {
        let count = read.iter().filter(|prompt| prompt.contains(&message.id)).count();
        assert_eq!(count, 1, "{read:?}");
    }
}

/// Has messages read after a snapshot, and that restored, with no daemon. Returns what was read before the snapshot,
/// and what after it.
fn read_and_restored() -> (Post, Message, [Message; 2]) {
    let mut post = Post::new();
    post.reader("worker", &[]);
    let first = post.send("worker", "zero");
    post.arrived("worker", &[&first]);
    post.world.have("worker", "pause");
    let sent = [post.send("worker", "one"), post.send("worker", "two\nlines")];
    let backup = post.world.home.folder("backup").join("before.db").display().to_string();
    let made = post.world.home.run(&["db", "backup", &backup]);
    assert_eq!(made.code, Some(0), "{made:?}");
    post.world.have("worker", "resume");
    post.arrived("worker", &[&first, &sent[0], &sent[1]]);

    post.world.daemon.take().unwrap().kill();
    let restored = post.world.home.run(&["db", "restore", &backup]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    (post, first, sent)
}

/// Sees that what was read after the snapshot is known to be, and that each message is read once.
#[track_caller]
fn check(post: &Post, first: &Message, sent: &[Message; 2]) {
    for message in sent {
        let now = post.wait(message, MessageState::Delivered);
        assert_eq!(now.evidence.as_deref(), Some("ledger"), "{now:?}");
    }
    post.world.have("worker", "resume");
    let last = post.send("worker", "three");
    post.wait(&last, MessageState::Delivered);
    let read = post.record("worker");
    let of = |id: &str| read.iter().filter(|prompt| prompt.contains(id)).count();
    for message in [first, &sent[0], &sent[1], &last] {
        assert_eq!(of(&message.id), 1, "{read:?}");
    }
}
