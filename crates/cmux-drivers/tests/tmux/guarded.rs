//! Guarded steps: done once, in time, and only where they were meant to be done.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cmux_drivers::process::Process;
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::command::Command;
use cmux_drivers::tmux::control::Control;
use cmux_drivers::tmux::guard::{Ends, Key, Outcome, Step, Unmet, What};
use cmux_drivers::tmux::pane::{Life, PaneId};
use cmux_testkit::wait::eventually;
use rustix::process::Signal;

use crate::world::{WITHIN, World, is_unknown, text};

/// Notes all that is typed, byte by byte as it comes, and asks for pastes to be marked.
const NOTE: &str = "stty raw -echo; printf '\\033[?2004hready'; exec dd bs=1 status=none of=typed";

/// A pane whose program notes what is typed into it.
struct Typist {
    world: World,
    control: Control,
    step: Step,
}

#[test]
fn a_text_is_pasted_whole_and_once() {
    let typist = Typist::new();
    let body = "one\ntwo; #{pane_id} #(id) $HOME ~ - \"x\" 'y' \\ é🦀\n".repeat(200);
    let step = typist.paste("dlv_1.1.paste", &body);
    assert_eq!(typist.take(&step), Outcome::Done);
    typist.see(&format!("\u{1b}[200~{body}\u{1b}[201~"));
    // Sent again, as after a lost answer, it is known to be done, whoever sends it.
    assert_eq!(typist.take(&step), Outcome::NotMet(Unmet::AlreadyDone));
    let again = typist.world.control();
    let taken = typist.world.wait(step.take(&again, WITHIN)).unwrap();
    assert_eq!(taken, Outcome::NotMet(Unmet::AlreadyDone));
    let enter = typist.keys("dlv_1.1.enter", vec![Key::Enter]);
    assert_eq!(typist.take(&enter), Outcome::Done);
    assert_eq!(typist.take(&step), Outcome::NotMet(Unmet::AlreadyDone));
    assert_eq!(typist.take(&enter), Outcome::NotMet(Unmet::AlreadyDone));
    typist.see(&format!("\u{1b}[200~{body}\u{1b}[201~\r"));
    let pane = typist.world.pane(&typist.control, step.pane);
    assert_eq!(pane.steps, [enter.key(), step.key()]);
    assert_eq!(typist.buffers(), "");
}

#[test]
fn a_program_that_has_not_asked_for_it_is_told_where_a_paste_ends_all_the_same() {
    let typist = Typist::running(&NOTE.replace("\\033[?2004h", ""));
    assert_eq!(typist.take(&typist.paste("a", "one\ntwo?")), Outcome::Done);
    let mut step = typist.paste("b", "three\nfour?");
    let What::Paste { ends, .. } = &mut step.what else { panic!() };
    *ends = Ends::Always;
    assert_eq!(typist.take(&step), Outcome::Done);
    assert_eq!(typist.take(&step), Outcome::NotMet(Unmet::AlreadyDone));
    typist.see("one\ntwo?\u{1b}[200~three\nfour?\u{1b}[201~");
}

#[test]
fn keys_are_typed_as_keys() {
    let typist = Typist::new();
    let keys = vec![
        Key::Letter('y'),
        Key::Letter('1'),
        Key::Escape,
        Key::Tab,
        Key::Ctrl('c'),
        Key::Ctrl('u'),
        Key::Up,
        Key::ShiftTab,
        Key::Backspace,
        Key::Enter,
    ];
    assert_eq!(typist.take(&typist.keys("a", keys)), Outcome::Done);
    typist.see("y1\u{1b}\t\u{3}\u{15}\u{1b}[A\u{1b}[Z\u{7f}\r");
    for key in [Key::Letter(';'), Key::Letter('é'), Key::Ctrl('C'), Key::Ctrl('[')] {
        let step = typist.keys("b", vec![key]);
        let taken = typist.world.wait(step.take(&typist.control, WITHIN));
        assert!(matches!(taken, Err(TmuxError::Refused(_))), "{taken:?}");
    }
}

#[test]
fn a_step_is_not_done_where_anything_is_not_as_expected() {
    let typist = Typist::new();
    let run = "run_00000000000000000000000099".parse().unwrap();
    let now = SystemTime::now();
    for what in [What::Keys(vec![Key::Letter('x')]), typist.paste("p", "x").what] {
        let step = Step { what, ..typist.step.clone() };
        typist.refuse(&Step { run, ..step.clone() }, Unmet::OtherRun);
        typist.refuse(&Step { pane_pid: 1, ..step.clone() }, Unmet::OtherProcess);
        for deadline in [now, now - Duration::from_hours(1), UNIX_EPOCH] {
            typist.refuse(&Step { deadline, ..step.clone() }, Unmet::PastDeadline);
        }
        let absent = Step { pane: PaneId(77), ..step.clone() };
        let taken = typist.world.wait(absent.take(&typist.control, WITHIN));
        assert!(matches!(taken, Err(TmuxError::NoPane(PaneId(77)))), "{taken:?}");

        typist.tell(Command::new("copy-mode"), &[]);
        typist.refuse(&step, Unmet::InMode);
        typist.tell(Command::new("copy-mode"), &["-q"]);
        typist.tell(Command::new("select-pane"), &["-d"]);
        typist.refuse(&step, Unmet::InputOff);
        typist.tell(Command::new("select-pane"), &["-e"]);
    }
    // None of it was typed, and no text was left behind.
    assert_eq!(typist.buffers(), "");
    assert_eq!(typist.take(&typist.keys("last", vec![Key::Letter('z')])), Outcome::Done);
    typist.see("z");
}

#[test]
fn a_paste_into_a_dead_pane_is_refused_and_the_server_lives() {
    let typist = Typist::new();
    let step = typist.paste("p", "x");
    let other = typist.world.agent(&typist.control, "exec cat").0;
    Process::find(step.pane_pid).unwrap().signal(Signal::KILL).unwrap();
    typist.world.see_end(&typist.control, step.pane);
    for step in [step.clone(), typist.keys("k", vec![Key::Enter])] {
        let taken = typist.take(&step);
        // Some versions forget the number of a process that has ended.
        let expected = [Unmet::Dead, Unmet::OtherProcess].map(Outcome::NotMet);
        assert!(expected.contains(&taken), "{taken:?}");
    }
    assert_eq!(typist.world.pane(&typist.control, other.pane).life, Life::Running);
    // While programs die, too: each time at another moment.
    for _ in 0..30 {
        let (agent, tags) = typist.world.agent(&typist.control, "exec sleep 1000");
        let step = Step { pane: agent.pane, pane_pid: agent.pid, run: tags.run, ..step.clone() };
        Process::find(agent.pid).unwrap().signal(Signal::KILL).unwrap();
        typist.take(&step);
    }
    assert_eq!(typist.world.pane(&typist.control, other.pane).life, Life::Running);
}

#[test]
fn a_server_that_stood_still_does_nothing_late_and_nothing_twice() {
    let typist = Typist::new();
    let server = Process::find(typist.control.generation().pid).unwrap();
    server.signal(Signal::STOP).unwrap();
    let late = Step { deadline: soon(), ..typist.keys("late", vec![Key::Letter('l')]) };
    let late_paste = Step { deadline: soon(), ..typist.paste("late-paste", "late") };
    let once = typist.paste("once", "once");
    let short = Duration::from_millis(50);
    for step in [&late, &late_paste, &once, &once, &once] {
        let taken = typist.world.wait(step.take(&typist.control, short));
        assert!(is_unknown(&taken), "{taken:?}");
    }
    let over = late.deadline.max(late_paste.deadline);
    eventually("the deadline", || (SystemTime::now() > over).then_some(()));
    server.signal(Signal::CONT).unwrap();
    // All that was sent before has been dealt with when this is answered.
    assert_eq!(typist.take(&once), Outcome::NotMet(Unmet::AlreadyDone));
    assert_eq!(typist.take(&late), Outcome::NotMet(Unmet::PastDeadline));
    assert_eq!(typist.take(&typist.keys("end", vec![Key::Letter('e')])), Outcome::Done);
    typist.see("\u{1b}[200~once\u{1b}[201~e");
}

#[test]
fn a_text_that_others_can_read_or_that_is_not_there_is_not_pasted() {
    let typist = Typist::new();
    let step = typist.paste("p", "x");
    let What::Paste { file, ends } = &step.what else { panic!() };
    fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
    typist.check_refused(&step, "chmod 600");
    fs::remove_file(file).unwrap();
    typist.check_refused(&step, "No such file");
    let relative =
        Step { what: What::Paste { file: "Cargo.toml".into(), ends: *ends }, ..step.clone() };
    typist.check_refused(&relative, "cannot be used for tmux");
    for token in ["", "a b", "a,b", "a|b", "*", "#{pane_id}", &"x".repeat(101)] {
        typist.check_refused(&Step { token: token.into(), ..typist.keys("", vec![]) }, "token");
    }
}

#[test]
fn a_pane_remembers_its_last_steps_and_no_more() {
    let typist = Typist::new();
    let mut typed = String::new();
    for number in 0..120 {
        let step = typist.keys(&format!("step-{number}"), vec![Key::Letter('a')]);
        assert_eq!(typist.take(&step), Outcome::Done);
        typed.push('a');
    }
    for number in 90..120 {
        typist.refuse(&typist.keys(&format!("step-{number}"), vec![]), Unmet::AlreadyDone);
    }
    typist.see(&typed);
    let steps = typist.world.pane(&typist.control, typist.step.pane).steps;
    assert!(steps.concat().len() < 5000 && steps[0].ends_with("step-119"), "{steps:?}");
}

impl Typist {
    fn new() -> Typist {
        Typist::running(NOTE)
    }

    fn running(program: &str) -> Typist {
        let world = World::new();
        let control = world.control();
        let (agent, tags) = world.agent(&control, program);
        world.see(&control, agent.pane, "ready");
        let step = Step {
            pane: agent.pane,
            pane_pid: agent.pid,
            run: tags.run,
            token: "t".into(),
            deadline: SystemTime::now() + Duration::from_hours(1),
            untouched_since: None,
            what: What::Keys(Vec::new()),
        };
        Typist { world, control, step }
    }

    fn paste(&self, token: &str, body: &str) -> Step {
        let file: PathBuf = self.world.path(&format!("text-{token}"));
        fs::write(&file, body).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        Step {
            token: token.into(),
            what: What::Paste { file, ends: Ends::IfAsked },
            ..self.step.clone()
        }
    }

    fn keys(&self, token: &str, keys: Vec<Key>) -> Step {
        Step { token: token.into(), what: What::Keys(keys), ..self.step.clone() }
    }

    #[track_caller]
    fn take(&self, step: &Step) -> Outcome {
        self.world.wait(step.take(&self.control, WITHIN)).unwrap()
    }

    #[track_caller]
    fn refuse(&self, step: &Step, expected: Unmet) {
        assert_eq!(self.take(step), Outcome::NotMet(expected));
    }

    /// Checks that a step fails, and what is told of it.
    #[track_caller]
    fn check_refused(&self, step: &Step, expected: &str) {
        let told = self.world.wait(step.take(&self.control, WITHIN)).unwrap_err().to_string();
        assert!(told.contains(expected), "{told}");
    }

    /// Tells tmux something about the pane.
    fn tell(&self, command: Command, flags: &[&'static str]) {
        let command = flags.iter().fold(command, |command, flag| command.flag(flag));
        self.world.tell(&self.control, &command.with("-t", &self.step.pane.to_string()));
    }

    /// Waits until exactly this has been typed.
    #[track_caller]
    fn see(&self, expected: &str) {
        let file = self.world.path("typed");
        let typed = eventually(&text(&file), || {
            fs::read(&file).ok().filter(|typed| typed.len() >= expected.len())
        });
        assert_eq!(String::from_utf8_lossy(&typed), expected);
    }

    fn buffers(&self) -> String {
        self.world.tell(&self.control, &Command::new("list-buffers"))
    }
}

/// Returns a moment that is soon over, and not yet.
fn soon() -> SystemTime {
    SystemTime::now() + Duration::from_secs(2)
}
