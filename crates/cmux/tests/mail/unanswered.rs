//! Whoever writes by command and is not answered asks again by itself, and what it has to say is read once.

use std::process::Stdio;

use cmux_testkit::home::Ran;

use crate::post::Post;

#[test]
fn a_message_is_sent_once_though_the_daemon_is_killed_before_or_after_it_is_stored() {
    let mut post = Post::new();
    post.reader("worker", &[]);
    let mut sent = Vec::new();
    for place in ["sent.heard", "sent.stored"] {
        post.arm(place);
        let body = format!("killed at {place}");
        let project = post.world.project.clone();
        let arguments = ["--json", "send", "--project", &project, "worker", &body];
        let mut command = post.world.home.command(&arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let asking = command.spawn().unwrap();
        post.strike(place);
        let ran = Ran::from(asking.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{place}: {ran:?}");
        sent.push(serde_json::from_str(&ran.stdout).unwrap());
    }
    post.arrived("worker", &sent.iter().collect::<Vec<_>>());
}

#[test]
fn where_no_daemon_comes_back_it_is_said_how_to_send_it_once() {
    let mut post = Post::new();
    post.reader("worker", &[]);
    post.arm("sent.stored");
    let project = post.world.project.clone();
    let say = |key: &[&str]| {
        let words = ["--json", "send", "--project", &project, "worker", "hello"];
        let mut command = post.world.home.command(&[&words[..], key].concat());
        Ran::from(command.output().unwrap())
    };
    let ran = say(&[]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("may have been taken all the same"), "{ran:?}");
    let (_, key) = ran.stderr.split_once("`--key ").unwrap();
    let (key, _) = key.split_once('`').unwrap();
    let _daemon = post.world.home.daemon();
    let again = say(&["--key", key]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let message = serde_json::from_str(&again.stdout).unwrap();
    post.arrived("worker", &[&message]);
}
