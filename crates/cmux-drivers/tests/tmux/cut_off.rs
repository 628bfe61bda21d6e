//! Connections that end in the middle: what was asked is then unknown, and never wrong.

use std::time::Duration;

use cmux_drivers::process::Process;
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::command::Command;
use cmux_drivers::tmux::control::Control;
use cmux_drivers::tmux::pane;
use cmux_testkit::wait::eventually;
use rustix::process::Signal;

use crate::world::{WITHIN, World, is_unknown};

/// How many commands are asked before or while the connection is cut.
const COMMANDS: usize = 12;

#[test]
fn a_connection_cut_at_any_command_gives_no_wrong_answer() {
    let world = World::new();
    let (mut made, mut lost) = (0, 0);
    for cut in 0..COMMANDS {
        let control = world.control();
        let before = world.survey(&control).len();
        let client = Process::find(control.client_pid().unwrap()).unwrap();
        let mut done = 0;
        let mut unknown = 0;
        for number in 0..COMMANDS {
            if number == cut {
                client.signal(Signal::KILL).unwrap();
            }
            // Answers carry what was asked, so that another's would be known for one.
            let word = format!("{cut}-{number}");
            let echo = Command::new("display-message").with("-p", &word);
            match world.wait(control.command(&echo, WITHIN)) {
                Ok(reply) => assert_eq!(reply.text(), format!("{word}\n")),
                Err(error) => assert!(is_unknown::<()>(&Err(error))),
            }
            let spawn = world.script("exec cat");
            match world.wait(spawn.make(&control, WITHIN)) {
                Ok(_) => done += 1,
                Err(TmuxError::Gone | TmuxError::Late) => unknown += 1,
                Err(error) => panic!("{error}"),
            }
        }
        eventually("the end of the connection", || control.is_gone().then_some(()));
        // Whoever looks again sees what came of it.
        let panes = world.survey(&world.control()).len();
        assert!((before + done..=before + done + unknown).contains(&panes), "{cut}: {panes}");
        assert!(done >= cut, "{cut}: {done}, {unknown}");
        made += done;
        lost += unknown;
    }
    // The server may hear what was written before it hears that the client is gone.
    assert!(made >= COMMANDS * (COMMANDS - 1) / 2 && lost >= COMMANDS, "{made}, {lost}");
}

#[test]
fn whoever_waits_when_the_connection_is_cut_is_told() {
    let world = World::new();
    let control = world.control();
    let server = Process::find(control.generation().pid).unwrap();
    server.signal(Signal::STOP).unwrap();
    let asked: Vec<_> = (0..300)
        .map(|_| {
            let control = control.clone();
            world.begin(async move { pane::survey(&control, WITHIN).await })
        })
        .collect();
    server.signal(Signal::KILL).unwrap();
    for answer in asked {
        let answer = world.wait(answer).unwrap();
        assert!(matches!(answer, Err(TmuxError::Gone)), "{answer:?}");
    }
}

#[test]
fn what_was_given_up_before_it_was_sent_is_not_done() {
    let world = World::new();
    let control = world.control();
    let server = Process::find(control.generation().pid).unwrap();
    server.signal(Signal::STOP).unwrap();
    // Far more than tmux has room for while it stands still.
    let body = "x".repeat(100_000);
    let set = |name: &str| Command::new("set-option").flag("-s").flag("--").word(name).word(&body);
    let short = Duration::from_millis(20);
    for number in 0..20 {
        let late = world.wait(control.command(&set(&format!("@cmux_{number}")), short));
        assert!(matches!(late, Err(TmuxError::Late)), "{late:?}");
    }
    server.signal(Signal::CONT).unwrap();
    let show = Command::new("show-options").flag("-s");
    let options = world.tell(&control, &show);
    assert!(!options.contains("@cmux_19"), "what nobody waited for was sent");
}

#[test]
fn an_answer_is_not_cut_short_by_what_looks_like_its_end() {
    let world = World::new();
    let control = world.control();
    let script =
        "for n in 1 2 3 4 5 6 7 8 9; do echo \"%end $n $n 1\"; echo '%exit'; done; exec cat";
    let (agent, _) = world.agent(&control, script);
    world.see(&control, agent.pane, "%end 9 9 1");
    let screen = world.screen(&control, agent.pane);
    assert_eq!(screen.lines().filter(|line| *line == "%exit").count(), 9, "{screen}");
    assert!(!control.is_gone());
}

#[test]
fn a_connection_ends_with_the_last_who_holds_it() {
    let world = World::new();
    let (control, heard) = world.connect();
    let client = Process::find(control.client_pid().unwrap()).unwrap();
    let copy: Control = control.clone();
    drop(control);
    assert_eq!(world.survey(&copy).len(), 1);
    // Nobody listens to what is told unasked, and that is in nobody's way.
    drop(heard);
    world.agent(&copy, "exec cat");
    assert_eq!(world.survey(&copy).len(), 2);
    drop(copy);
    eventually("the end of the client", || (!client.is_alive()).then_some(()));
}
