//! A store that was restored: what was read is not read again.

use cmux_wire::message::MessageState;

use crate::post::Post;

#[test]
fn what_was_read_since_the_snapshot_is_not_read_again() {
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
    post.world.reborn();
    for message in &sent {
        let now = post.wait(message, MessageState::Delivered);
        assert_eq!(now.evidence.as_deref(), Some("ledger"), "{now:?}");
    }
    post.world.have("worker", "resume");
    let last = post.send("worker", "three");
    post.wait(&last, MessageState::Delivered);
    let read = post.record("worker");
    let of = |id: &str| read.iter().filter(|prompt| prompt.contains(id)).count();
    for message in [&first, &sent[0], &sent[1], &last] {
        assert_eq!(of(&message.id), 1, "{read:?}");
    }
}
