//! A tmux that stands still for longer than anybody waits for it, at each step of a delivery.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use cmux_testkit::wait::eventually;
use cmux_wire::agent::Phase;
use cmux_wire::client::Client;
use cmux_wire::message::{Message, MessageState};
use rustix::process::{Pid, Signal, kill_process};

use crate::post::Post;
use crate::steps::{is_over, is_read};

/// How long it stands still: longer than anybody waits for an answer of its.
const STILL: Duration = Duration::from_secs(7);

/// The steps with which tmux has to do, or after which it is looked at.
const STEPS: &[&str] = &["mail.lay", "mail.paste", "mail.pasted", "mail.press", "mail.pressed"];

/// Those of one that has to be typed again, as its reader did not hear the first.
const AGAIN: &[&str] = &["mail.again", "mail.paste:2", "mail.pasted:2"];

/// Those of one that is taken back while it is typed, and those after an interrupt, when its prompt is tidied up.
const EMPTIED: &[&str] = &["mail.empty", "mail.emptied"];
const TIDIED: &[&str] = &["mail.tidy", "mail.tidied"];

/// How often it is tried to take something back in time.
const TRIES: u32 = 5;

/// A tmux server that goes on when this is dropped, however that comes to be.
struct Server(Pid);

impl Server {
    fn is_still(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.as_raw_nonzero()));
        // Its name may hold anything; its state comes after that.
        stat.is_ok_and(|it| it.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

#[test]
fn a_tmux_that_stands_still_at_any_step_has_all_of_it_read_once_and_in_order() {
    let mut post = Post::new();
    post.reader("worker", &[]);
    let server = server(&post);
    let mut sent: Vec<Message> = Vec::new();
    for step in STEPS {
        arm(&mut post, step, &server);
        sent.push(post.send("worker", &format!("one at {step}")));
        let under_way = sent.len() - 1;
        is_still(&server);
        let begun = Instant::now();
        post.wait_until(&sent[under_way], "held", |it| it.waiting_for.as_deref() == Some("tmux"));
        sent.push(post.send("worker", &format!("two\nlines at {step}")));
        thread::sleep(STILL.saturating_sub(begun.elapsed()));
        kill_process(server.0, Signal::CONT).unwrap();
        post.arrived("worker", &sent.iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_tmux_that_stands_still_before_or_after_all_keys_has_it_read_once_and_in_order() {
    let post = Post::new();
    for (name, fault) in [("before", None), ("after", Some("late-answer=UserPromptSubmit:1500"))] {
        post.reader(name, fault.as_slice());
        let server = server(&post);
        let is_first = fault.is_none();
        if is_first {
            kill_process(server.0, Signal::STOP).unwrap();
        }
        let sent = [post.send(name, "one"), post.send(name, "two\nlines")];
        if !is_first {
            post.wait(&sent[0], MessageState::Claimed);
            kill_process(server.0, Signal::STOP).unwrap();
        }
        thread::sleep(STILL);
        kill_process(server.0, Signal::CONT).unwrap();
        post.arrived(name, &[&sent[0], &sent[1]]);
    }
}

#[test]
fn a_tmux_that_stands_still_while_something_is_typed_again_has_it_read_once_and_in_order() {
    let mut post = Post::new();
    for (number, step) in AGAIN.iter().enumerate() {
        let name = format!("worker-{number}");
        post.reader(&name, &["deaf-ms=6000"]);
        let server = server(&post);
        arm(&mut post, step, &server);
        let sent = ["one", "two"].map(|body| post.send(&name, &format!("{body} at {step}")));
        stands_still(&server);
        post.arrived(&name, &[&sent[0], &sent[1]]);
    }
}

#[test]
fn a_tmux_that_stands_still_while_something_is_taken_back_never_has_it_read() {
    let mut post = Post::new();
    // What is typed is seen late, so that there is time to take it back.
    post.reader("worker", &["late-paste-ms=1500"]);
    let server = server(&post);
    let mut read: Vec<Message> = Vec::new();
    for step in EMPTIED {
        let cancelled = (0..TRIES).find_map(|_| {
            arm(&mut post, step, &server);
            let sent = post.send("worker", &format!("cancelled at {step}"));
            post.wait_until(&sent, "typed", |it| it.attempts > 0);
            let id = &sent.id;
            // It may be read by then.
            let cancel = |client: Client| async move { client.have_message(id, "cancel").await };
            let _ = post.world.home.ask(cancel);
            let is_in_time = eventually("tmux stands still, or it is too late", || {
                let is_too_late = || is_over(post.message(&sent.id).state).then_some(false);
                server.is_still().then_some(true).or_else(is_too_late)
            });
            if !is_in_time {
                read.extend(Some(sent).filter(|it| is_read(&post, it)));
                return None;
            }
            stands_still(&server);
            Some(sent)
        });
        let cancelled = cancelled.unwrap_or_else(|| panic!("all were read before {step}"));
        read.push(post.send("worker", &format!("not cancelled at {step}")));
        post.wait(&cancelled, MessageState::Cancelled);
        post.arrived("worker", &read.iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_tmux_that_stands_still_while_its_prompt_is_tidied_up_holds_nothing_up() {
    let mut post = Post::new();
    post.reader("worker", &[]);
    let server = server(&post);
    let mut sent: Vec<Message> = Vec::new();
    for step in TIDIED {
        arm(&mut post, step, &server);
        sent.push(post.send("worker", &format!("take your time at {step}")));
        post.wait(&sent[sent.len() - 1], MessageState::Delivered);
        post.world.in_phase("worker", Phase::Busy);
        sent.push(post.send_as("worker", "at once", |new| new.interrupt = true));
        stands_still(&server);
        post.arrived("worker", &sent.iter().collect::<Vec<_>>());
    }
}

/// Has a daemon that stops the server when it comes to this step.
fn arm(post: &mut Post, step: &str, server: &Server) {
    post.arm(&format!("{step}=stop:{}", server.0.as_raw_nonzero()));
}

/// Waits until a server stands still, and has it go on after longer than anybody waits for it.
#[track_caller]
fn stands_still(server: &Server) {
    is_still(server);
    thread::sleep(STILL);
    kill_process(server.0, Signal::CONT).unwrap();
}

fn server(post: &Post) -> Server {
    Server(Pid::from_raw(post.world.tmux().unwrap().cast_signed()).unwrap())
}

/// Waits until a server stands still.
#[track_caller]
fn is_still(server: &Server) {
    eventually("tmux stands still", || server.is_still().then_some(()));
}
