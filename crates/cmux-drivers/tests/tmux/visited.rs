//! A tmux server of a person's own: it is looked at and typed into, and nothing else of it changes.

use std::fs;
use std::process::Command as Program;
use std::time::{Duration, SystemTime};

use cmux_drivers::private;
use cmux_drivers::process::{Process, foreground};
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::control::Control;
use cmux_drivers::tmux::guard::{Ends, Key, Outcome, Step, Unmet, What};
use cmux_drivers::tmux::pane::{Pane, PaneId, Tags};
use cmux_drivers::tmux::server::Server;
use cmux_drivers::tmux::{version, visit};
use cmux_testkit::wait::eventually;
use rustix::process::Signal;

use crate::world::{WITHIN, World, is_unknown, text};

/// What there is in a server, and what is set in it, as far as a person could tell.
const ALL: &[&[&str]] = &[
    &["list-sessions", "-F", "#{session_id} #{session_name} #{session_attached}"],
    &["list-panes", "-a", "-F", "#{pane_id} #{window_width} #{window_height} #{pane_in_mode}"],
    &["list-clients"],
    &["list-buffers"],
    &["show-options", "-s"],
    &["show-options", "-g"],
    &["show-options"],
    &["show-options", "-w"],
    &["show-options", "-p"],
    &["show-hooks", "-g"],
    &["show-environment"],
    &["show-environment", "-g"],
];

/// A person's server, and how cmux comes to it.
struct Person {
    world: World,
    socket: String,
    server: Server,
}

/// What is pasted.
const LINE: &str = "~ $HOME; #{pane_id} 'x";

#[test]
fn a_visit_changes_nothing_but_the_tags_and_they_are_taken_back() {
    let person = Person::new("cat");
    let before = person.all();
    let pane = person.find(0).unwrap();
    assert_eq!(pane.tags, None);
    assert_eq!(person.all(), before);
    let control = Control::visiting(&person.server);
    let tags = tags(1);
    for _ in 0..2 {
        assert!(person.tag(&pane, &tags).unwrap());
    }
    let set = person.tmux(&["show-options", "-p"]);
    let options: Vec<&str> = set.lines().filter_map(|it| it.split(' ').next()).collect();
    assert_eq!(options, ["@cmux_agent", "@cmux_kind", "@cmux_name", "@cmux_run"]);
    assert_eq!(person.find(0).unwrap().tags, Some(tags.clone()));
    person.type_into(&pane, &tags);
    // Another's tags are not replaced, nor taken away.
    assert!(!person.tag(&pane, &self::tags(2)).unwrap());
    let untag = |run| person.world.wait(visit::untag(&control, pane.id, run, WITHIN));
    untag(self::tags(2).run).unwrap();
    assert_eq!(person.find(0).unwrap().tags, Some(tags.clone()));
    for _ in 0..2 {
        untag(tags.run).unwrap();
    }
    assert_eq!(person.all(), before);
}

#[test]
fn what_is_not_there_is_told_apart() {
    let person = Person::new("cat");
    assert!(matches!(person.find(7), Err(TmuxError::NoPane(PaneId(7)))));
    let pane = Pane { id: PaneId(7), ..person.find(0).unwrap() };
    assert!(!person.tag(&pane, &tags(1)).unwrap());
    let control = Control::visiting(&person.server);
    let untag = || person.world.wait(visit::untag(&control, PaneId(7), tags(1).run, WITHIN));
    untag().unwrap();
    person.tmux(&["kill-server"]);
    eventually("the server is gone", || {
        matches!(person.find(0), Err(TmuxError::NoServer)).then_some(())
    });
    untag().unwrap();
}

#[test]
fn a_step_that_a_stalled_server_does_late_is_not_done() {
    let person = Person::new("stty -echo; cat");
    let (pane, tags) = (person.find(0).unwrap(), tags(1));
    assert!(person.tag(&pane, &tags).unwrap());
    let server = Process::find(person.world.wait(person.server.pid()).unwrap()).unwrap();
    let step = |token: &str, seconds| Step {
        pane: pane.id,
        pane_pid: pane.pid.unwrap(),
        run: tags.run,
        token: token.to_owned(),
        deadline: SystemTime::now() + Duration::from_secs(seconds),
        untouched_since: None,
        what: What::Keys(vec![Key::Letter('x'), Key::Enter]),
    };
    let control = Control::visiting(&person.server);
    let late = step("late", 1);
    server.signal(Signal::STOP).unwrap();
    let taken = person.world.wait(late.take(&control, Duration::from_secs(3)));
    server.signal(Signal::CONT).unwrap();
    assert!(is_unknown(&taken), "{taken:?}");
    let again = person.world.wait(late.take(&control, WITHIN)).unwrap();
    assert_eq!(again, Outcome::NotMet(Unmet::PastDeadline));
    assert_eq!(person.world.screen(&control, pane.id), "");
    let done = person.world.wait(step("soon", 100).take(&control, WITHIN)).unwrap();
    assert_eq!(done, Outcome::Done);
    person.world.see(&control, pane.id, "x");
}

#[test]
fn who_has_the_terminal_is_found_below_a_shell() {
    let person = Person::new("bash --norc");
    let shell = person.find(0).unwrap().pid.unwrap();
    assert_eq!(foreground(shell).unwrap().pid, shell);
    person.tmux(&["send-keys", "cat", "Enter"]);
    eventually("it has the terminal", || {
        let found = foreground(shell).filter(|it| it.pid != shell)?;
        // It is the shell's own copy until it has become the program.
        let name = fs::read_to_string(format!("/proc/{}/comm", found.pid)).ok()?;
        (name.trim() == "cat").then_some(())
    });
}

impl Person {
    /// Starts a server with a script in its only pane.
    fn new(script: &str) -> Person {
        let world = World::asleep();
        let socket = text(&world.path("person"));
        let tmux = version::find(&std::env::var_os("PATH").unwrap()).unwrap();
        let server = Server::of_person(&tmux, socket.as_ref(), std::env::vars_os()).unwrap();
        let person = Person { world, socket, server };
        person.tmux(&["new-session", "-d", "-x", "100", "-y", "30", script]);
        person
    }

    fn tmux(&self, words: &[&str]) -> String {
        let mut tmux = Program::new("tmux");
        let ran = tmux.args(["-S", &self.socket, "-f", "/dev/null"]).args(words).output().unwrap();
        String::from_utf8(ran.stdout).unwrap()
    }

    fn all(&self) -> Vec<String> {
        ALL.iter().map(|words| self.tmux(words)).collect()
    }

    fn find(&self, pane: u32) -> Result<Pane, TmuxError> {
        self.world.wait(visit::find(&self.server, PaneId(pane), WITHIN))
    }

    fn tag(&self, pane: &Pane, tags: &Tags) -> Result<bool, TmuxError> {
        let control = Control::visiting(&self.server);
        self.world.wait(visit::tag(&control, pane, tags, WITHIN))
    }

    /// Pastes a text, presses a key, and sees both.
    #[track_caller]
    fn type_into(&self, pane: &Pane, tags: &Tags) {
        let control = Control::visiting(&self.server);
        let file = self.world.path("text");
        private::write(&file, LINE.as_bytes()).unwrap();
        for (token, what) in [
            ("paste", What::Paste { file, ends: Ends::IfAsked }),
            ("enter", What::Keys(vec![Key::Enter])),
            ("typed", What::Typed(b"typed".to_vec())),
        ] {
            let step = Step {
                pane: pane.id,
                pane_pid: pane.pid.unwrap(),
                run: tags.run,
                token: token.to_owned(),
                deadline: SystemTime::now() + WITHIN,
                untouched_since: None,
                what,
            };
            assert_eq!(self.world.wait(step.take(&control, WITHIN)).unwrap(), Outcome::Done);
            // What is typed next is shown at once, and what the program says when it gets to it.
            let shown = if token == "paste" { LINE.to_owned() } else { format!("{LINE}\n{LINE}") };
            self.world.see(&control, pane.id, &shown);
        }
        self.world.see(&control, pane.id, &format!("{LINE}\n{LINE}\ntyped"));
        let set = self.tmux(&["show-options", "-p"]);
        assert!(!set.contains("@cmux_now"), "{set}");
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

fn tags(number: u32) -> Tags {
    Tags {
        agent: format!("agt_{number:026}").parse().unwrap(),
        run: format!("run_{number:026}").parse().unwrap(),
        name: "api".into(),
        kind: "demo".into(),
    }
}
