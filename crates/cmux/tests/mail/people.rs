//! A person at an agent's keyboard: what they take back comes again, and what they say passes untouched.

use cmux_testkit::person::Person;
use cmux_testkit::wait::eventually;
use cmux_wire::agent::{Agent, Phase};
use cmux_wire::message::MessageState;

use crate::post::Post;

#[test]
fn a_prompt_that_comes_back_before_it_was_read_is_read_once_all_the_same() {
    let post = Post::new();
    for when in ["hooking", "hooked"] {
        post.faulty_once(when, ("take-back", when));
        let sent = [post.send(when, "one"), post.send(when, "two\nlines")];
        post.arrived(when, &[&sent[0], &sent[1]]);
    }
}

#[test]
fn a_person_who_takes_back_what_was_submitted_has_it_read_once_all_the_same() {
    let post = Post::new();
    let agent = post.reader("worker", &["late-hook=UserPromptSubmit:1500"]);
    let person = sit_down(&post, &agent);
    let sent = [post.send("worker", "one"), post.send("worker", "two\nlines")];
    post.wait(&sent[0], MessageState::Submitted);
    person.presses("Escape");
    post.arrived("worker", &[&sent[0], &sent[1]]);
}

#[test]
fn what_was_read_and_comes_back_to_the_prompt_is_the_persons_own() {
    let post = Post::new();
    let agent = post.reader("worker", &[]);
    let person = sit_down(&post, &agent);
    let first = post.send("worker", "take your time");
    post.wait(&first, MessageState::Delivered);
    post.world.in_phase("worker", Phase::Busy);
    person.presses("Escape");
    post.world.in_phase("worker", Phase::Idle);
    // What is at the prompt is a draft now, and nothing is typed into it.
    let second = post.send("worker", "two");
    post.wait_until(&second, "held", |it| it.waiting_for.as_deref() == Some("draft"));
    assert_eq!(post.record("worker").len(), 1);
    for _ in 0..2 {
        person.presses("Escape");
    }
    post.arrived("worker", &[&first, &second]);
}

#[test]
fn a_person_may_quote_an_old_message_alone_or_among_other_words() {
    let post = Post::new();
    let agent = post.reader("worker", &[]);
    let first = post.send("worker", "one\nand more");
    post.arrived("worker", &[&first]);
    let old = post.record("worker").remove(0);
    let person = sit_down(&post, &agent);
    let quoted = [old.clone(), format!("What does this mean:\n{old}\nSay it again.")];
    for (number, quote) in quoted.iter().enumerate() {
        person.types(quote);
        eventually("it is typed", || {
            let last = quote.lines().last()?;
            let pane = agent.pane.as_deref()?;
            post.world.at_tmux(&["capture-pane", "-p", "-t", pane]).contains(last).then_some(())
        });
        person.presses("Enter");
        eventually("it is read", || (post.record("worker").len() == number + 2).then_some(()));
        assert_eq!(post.record("worker")[number + 1], *quote);
    }
    let last = post.send("worker", "last");
    post.wait(&last, MessageState::Delivered);
    let read = post.record("worker");
    post.check_read(&[read[0].clone(), read[3].clone()], &[&first, &last]);
}

/// Has a person look at an agent's pane.
fn sit_down(post: &Post, agent: &Agent) -> Person {
    let pane = agent.pane.as_deref().unwrap();
    let session = post.world.at_tmux(&["display-message", "-p", "-t", pane, "#{session_name}"]);
    let server = post.world.home.root().join("tmux").join(&post.world.project);
    Person::at(&server, session.trim(), pane)
}
