//! What is read, and what counts as read.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::shop;
use crate::PROGRAM;
use crate::agents::person::Person;

#[test]
fn an_agents_mail_is_shown_newest_last() {
    let shop = shop();
    for text in ["first\u{1b}[2J", "second"] {
        shop.told(&["send", "worker", text]);
    }
    let shown = shop.here(&["inbox", "worker"]);
    let found = [shown.stdout.find("first"), shown.stdout.find("second")];
    assert!(found[0].is_some() && found[0] < found[1], "{shown:?}");
    assert!(!shown.stdout.contains('\u{1b}'), "{shown:?}");
    assert!(shown.stdout.contains("from user · user · "), "{shown:?}");
    let page = shop.told(&["inbox", "worker"]);
    assert_eq!(page["messages"][0]["body"], "second", "{page}");
}

#[test]
fn what_the_person_saw_on_a_terminal_is_read_and_what_a_script_was_given_is_not() {
    let shop = shop();
    assert_eq!(shop.here(&["inbox"]).stdout, "no mail\n");
    shop.told(&["send", "user", "look here"]);
    let unread = || {
        let page = shop.told(&["inbox"]);
        page["messages"].as_array().unwrap().iter().filter(|it| it["read_at"].is_null()).count()
    };
    assert!(shop.here(&["inbox"]).stdout.contains("\n    look here\n"));
    assert!(shop.here(&["status"]).stdout.contains("1 unread: `cmux inbox`"));
    let kept = format!("'{PROGRAM}' inbox --keep");
    Person::at("keeps.sock", &shop.home, &shop.root, &kept).sees("left with 0");
    assert_eq!(unread(), 1);
    let person = Person::at("reads.sock", &shop.home, &shop.root, &format!("'{PROGRAM}' inbox"));
    person.sees("look here");
    person.sees("left with 0");
    assert_eq!(unread(), 0);
    // What was read comes in a line, after what was not.
    shop.told(&["send", "user", "and here"]);
    let shown = shop.here(&["inbox"]).stdout;
    let found = [shown.find("\n    and here\n"), shown.find("ago  look here\n")];
    assert!(found[0].is_some() && found[0] < found[1], "{shown}");
}

#[test]
fn mail_is_followed_as_it_comes() {
    let shop = shop();
    shop.told(&["send", "user", "before"]);
    let mut command = shop.at(&["--json", "inbox", "-f"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || {
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        line["body"].as_str().unwrap().to_owned()
    };
    assert_eq!(next(), "before");
    shop.told(&["send", "worker", "not for the person"]);
    shop.told(&["send", "user", "after"]);
    assert_eq!(next(), "after");
    child.kill().unwrap();
    child.wait().unwrap();
}
