//! A tmux that stands still for longer than anybody waits for it, at each step of a delivery.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use cmux_testkit::wait::eventually;
use cmux_wire::message::{Message, MessageState};
use rustix::process::{Pid, Signal, kill_process};

use crate::post::Post;

/// How long it stands still: longer than anybody waits for an answer of its.
const STILL: Duration = Duration::from_secs(7);

/// The steps with which tmux has to do, or after which it is looked at.
const STEPS: &[&str] = &["mail.lay", "mail.paste", "mail.pasted", "mail.press", "mail.pressed"];

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
        post.arm(&format!("{step}=stop:{}", server.0.as_raw_nonzero()));
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

fn server(post: &Post) -> Server {
    Server(Pid::from_raw(post.world.tmux().unwrap().cast_signed()).unwrap())
}

/// Waits until a server stands still.
#[track_caller]
fn is_still(server: &Server) {
    eventually("tmux stands still", || server.is_still().then_some(()));
}
