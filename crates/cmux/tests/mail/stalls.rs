//! A tmux that stands still for longer than anybody waits for it, at each step of a delivery.

use std::thread;
use std::time::Duration;

use cmux_wire::message::MessageState;
use rustix::process::{Pid, Signal, kill_process};

use crate::post::Post;

/// How long it stands still: longer than anybody waits for an answer of its.
const STILL: Duration = Duration::from_secs(7);

#[test]
fn a_tmux_that_stood_still_at_any_step_has_all_of_it_read_once_and_in_order() {
    let post = Post::new();
    // Each is slow in what it does after the step.
    for (number, (state, fault)) in [
        (MessageState::Queued, None),
        (MessageState::Typing, Some("late-paste-ms=1500")),
        (MessageState::Submitted, Some("late-hook=UserPromptSubmit:1500")),
        (MessageState::Claimed, Some("late-answer=UserPromptSubmit:1500")),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("worker-{number}");
        post.reader(&name, fault.as_slice());
        let server = Pid::from_raw(post.world.tmux().unwrap().cast_signed()).unwrap();
        let is_first = state == MessageState::Queued;
        if is_first {
            kill_process(server, Signal::STOP).unwrap();
        }
        let sent = [post.send(&name, "one"), post.send(&name, "two\nlines")];
        if !is_first {
            post.wait(&sent[0], state);
            kill_process(server, Signal::STOP).unwrap();
        }
        thread::sleep(STILL);
        kill_process(server, Signal::CONT).unwrap();
        post.arrived(&name, &[&sent[0], &sent[1]]);
    }
}
