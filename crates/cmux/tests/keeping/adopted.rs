//! Panes that a person started in a tmux of their own, and that become agents.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;
use cmux_wire::agent::{Agent, Phase, Register};
use cmux_wire::client::ClientError;

use crate::PROGRAM;
use crate::world::{World, kill};

/// The tags, and all that cmux may set in a person's tmux.
const TAGS: [&str; 4] = ["@cmux_agent", "@cmux_kind", "@cmux_name", "@cmux_run"];

/// A tmux of a person's own, in which the scripted agent was started by hand.
struct Person {
    socket: PathBuf,
}

#[test]
fn a_pane_that_a_person_started_is_watched_over_and_left_as_it_is() {
    let world = World::new();
    let person = Person::new(&world.home);
    let before = person.all();
    let agent = person.adopt(&world, "mine").unwrap();
    assert_eq!((agent.pane.as_deref(), agent.pid), (Some("%0"), Some(person.pid())));
    assert_eq!(person.options(), TAGS);
    let expected = format!("{} {} mine demo", agent.id, agent.run.clone().unwrap());
    let tags = "#{@cmux_agent} #{@cmux_run} #{@cmux_name} #{@cmux_kind}";
    assert_eq!(person.tmux(&["display-message", "-p", "-t", "%0", tags]), expected);
    assert_eq!(person.all(), before);
    let idle = world.in_phase("mine", Phase::Idle);
    // To ask for it again is to ask once, and nobody else gets it.
    assert_eq!(person.adopt(&world, "mine").unwrap().id, agent.id);
    assert_eq!(slug(&person.adopt(&world, "other").unwrap_err()), "pane-taken");
    assert_eq!(world.events_of("agent.adopted").len(), 1);
    // It works when it is told something, and that is seen.
    person.tmux(&["send-keys", "-t", "%0", "work", "Enter"]);
    world.in_phase("mine", Phase::Busy);
    world.have("mine", "interrupt");
    let back = world.in_phase("mine", Phase::Idle);
    assert_eq!((back.run, back.pid), (idle.run, idle.pid));
    let (name, project) = ("mine".to_owned(), world.project.clone());
    let shown = world
        .home
        .ask(|client| async move { client.terminal(&name, Some(&project), None).await })
        .unwrap();
    assert_eq!(shown.size, [100, 30]);
    let (name, project) = ("mine".to_owned(), world.project.clone());
    let followed = world
        .home
        .ask(|client| async move { client.follow_terminal(&name, Some(&project)).await.map(drop) });
    assert!(followed.is_err());
    let refused = try_have(&world, "mine", "restart").unwrap_err();
    assert_eq!(slug(&refused), "adopted");
    assert_eq!(person.all(), before);
}

#[test]
fn an_adopted_agent_that_is_forgotten_goes_on_without_its_tags() {
    let world = World::new();
    let person = Person::new(&world.home);
    let (before, pid) = (person.all(), person.pid());
    for _ in 0..2 {
        person.adopt(&world, "mine").unwrap();
        world.in_phase("mine", Phase::Idle);
        forget(&world, "mine");
        assert_eq!(person.options(), [""; 0]);
        assert_eq!((person.all(), person.pid()), (before.clone(), pid));
        assert_eq!(world.agents()["agents"].as_array().unwrap().len(), 0);
    }
    assert_eq!(world.events_of("agent.exited").len(), 0);
}

#[test]
fn an_adopted_agent_outlives_the_daemon_and_its_end_is_seen() {
    let mut world = World::new();
    let person = Person::new(&world.home);
    person.adopt(&world, "mine").unwrap();
    let before = world.in_phase("mine", Phase::Idle);
    world.reborn();
    let after = world.in_phase("mine", Phase::Idle);
    assert_eq!((after.run, after.pid, &after.pane), (before.run, before.pid, &before.pane));
    person.tmux(&["set-option", "-g", "remain-on-exit", "on"]);
    kill(before.pid.unwrap());
    let over = world.wait("mine", "over", |it| it.phase == Phase::Offline && it.run.is_none());
    // Whether tmux knows how by then is another matter.
    assert!(over.reason.unwrap().contains("ended"));
    assert_eq!(person.options(), [""; 0]);
    // It is never launched, whoever asks.
    for verb in ["resume", "restart"] {
        assert_eq!(slug(&try_have(&world, "mine", verb).unwrap_err()), "adopted");
    }
    forget(&world, "mine");
}

#[test]
fn what_ended_while_no_daemon_ran_is_seen_by_the_next() {
    let mut world = World::new();
    let person = Person::new(&world.home);
    person.adopt(&world, "mine").unwrap();
    world.in_phase("mine", Phase::Idle);
    world.daemon.take().unwrap().kill();
    person.tmux(&["kill-server"]);
    world.reborn();
    world.wait("mine", "over", |it| it.phase == Phase::Offline && it.run.is_none());
}

#[test]
fn a_tmux_of_a_persons_that_dies_takes_the_agent_and_it_does_not_come_back() {
    let world = World::new();
    let person = Person::new(&world.home);
    person.adopt(&world, "mine").unwrap();
    world.in_phase("mine", Phase::Idle);
    person.tmux(&["kill-server"]);
    world.wait("mine", "over", |it| it.phase == Phase::Offline && it.run.is_none());
    forget(&world, "mine");
}

#[test]
fn a_cli_that_was_started_from_a_shell_is_stopped_and_the_shell_stays() {
    let world = World::new();
    let person = Person::with(&world.home, "bash --norc");
    let shell = person.pid();
    person.tmux(&["send-keys", "-t", "%0", &demo(&world.home), "Enter"]);
    eventually("it has the terminal", || {
        let screen = person.tmux(&["capture-pane", "-p", "-t", "%0"]);
        screen.contains("explain this folder").then_some(())
    });
    let agent = person.adopt(&world, "mine").unwrap();
    assert_ne!(agent.pid, Some(shell));
    world.in_phase("mine", Phase::Idle);
    world.have("mine", "stop");
    world.wait("mine", "over", |it| it.phase == Phase::Offline && it.run.is_none());
    assert_eq!(person.options(), [""; 0]);
    assert_eq!(person.pid(), shell);
}

#[test]
fn what_cannot_be_adopted_is_refused_and_nothing_is_stored() {
    let world = World::new();
    let person = Person::new(&world.home);
    let socket = person.socket.display().to_string();
    let own = format!("{}/tmux/{}", world.home.root().display(), world.project);
    world.idle("own");
    for (pane, kind, status, expected) in [
        (format!("{socket}:%7"), "demo", 404, "not-found"),
        (format!("{socket}-not:%0"), "demo", 404, "not-found"),
        (format!("{socket}:%0"), "dmeo", 400, "bad-request"),
        (format!("{own}:%0"), "demo", 422, "not-adoptable"),
        (format!("{}/config.toml:%0", world.home.root().display()), "demo", 404, "not-found"),
    ] {
        let refused = register(&world, &pane, "mine", kind).unwrap_err();
        let ClientError::Refused(problem) = &refused else { panic!("{pane}: {refused:?}") };
        assert_eq!((problem.status, problem.slug()), (status, expected), "{pane}: {problem:?}");
    }
    // Tags that are of no agent here may be another home's.
    let other = "agt_00000000000000000000000001";
    let run = "run_00000000000000000000000001";
    let tags = [("agent", other), ("run", run), ("name", "x"), ("kind", "demo")];
    for (tag, value) in tags {
        person.tmux(&["set-option", "-p", "-t", "%0", &format!("@cmux_{tag}"), value]);
    }
    assert_eq!(slug(&person.adopt(&world, "mine").unwrap_err()), "pane-taken");
    assert!(person.tmux(&["show-options", "-p", "-t", "%0"]).contains(other));
    assert_eq!(world.agents()["agents"].as_array().unwrap().len(), 1);
}

impl Person {
    /// Starts a tmux with the scripted agent in its only pane.
    fn new(home: &TestHome) -> Person {
        Person::with(home, &format!("exec {}", demo(home)))
    }

    /// Starts a tmux with `script` in its only pane.
    fn with(home: &TestHome, script: &str) -> Person {
        let person = Person { socket: home.folder("person").join("tmux") };
        person.tmux(&["new-session", "-d", "-x", "100", "-y", "30", script]);
        person
    }

    fn tmux(&self, words: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]).args(words);
        for variable in ["TMUX", "TMUX_PANE", "CMUX_RUN", "CMUX_TOKEN"] {
            tmux.env_remove(variable);
        }
        let said = tmux.output().unwrap().stdout;
        String::from_utf8_lossy(&said).trim_end().to_owned()
    }

    /// Returns the number of what was started in the pane.
    fn pid(&self) -> u32 {
        self.tmux(&["display-message", "-p", "-t", "%0", "#{pane_pid}"]).parse().unwrap()
    }

    /// Returns the names of what is set on the pane.
    fn options(&self) -> Vec<String> {
        let set = self.tmux(&["show-options", "-p", "-t", "%0"]);
        set.lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect()
    }

    /// Returns what there is in the person's tmux, but for the tags.
    fn all(&self) -> Vec<String> {
        let asked: [&[&str]; 9] = [
            &["list-sessions", "-F", "#{session_id} #{session_name} #{session_attached}"],
            &["list-windows", "-a", "-F", "#{window_id} #{window_width}"],
            &["list-panes", "-a", "-F", "#{pane_id} #{pane_pid} #{pane_in_mode}"],
            &["list-clients"],
            &["list-buffers"],
            &["show-options", "-s"],
            &["show-options", "-g"],
            &["show-environment"],
            &["show-hooks", "-g"],
        ];
        asked.iter().map(|words| self.tmux(words)).collect()
    }

    fn adopt(&self, world: &World, name: &str) -> Result<Agent, ClientError> {
        register(world, &format!("{}:%0", self.socket.display()), name, "demo")
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Returns how the scripted agent is started by hand. Once it is told to work, it does so for an hour.
fn demo(home: &TestHome) -> String {
    let state = home.folder("demo");
    let script = state.join("script.json");
    let rules = r#"{"rules":[{"when":{"contains":"work"},"steps":[{"think_ms":3600000}]}]}"#;
    fs::write(&script, rules).unwrap();
    format!("{PROGRAM} demo --state {} --script {}", state.display(), script.display())
}

fn register(world: &World, pane: &str, name: &str, kind: &str) -> Result<Agent, ClientError> {
    let [pane, name, kind] = [pane, name, kind].map(ToOwned::to_owned);
    let register = Register { pane, name, kind, project: world.project.clone() };
    world.home.ask(|client| async move { client.register_agent(&register).await })
}

fn try_have(world: &World, name: &str, verb: &str) -> Result<Agent, ClientError> {
    let [name, verb, project] = [name, verb, &world.project].map(ToOwned::to_owned);
    world.home.ask(|client| async move { client.have_agent(&name, &verb, Some(&project)).await })
}

#[track_caller]
fn forget(world: &World, name: &str) {
    let (name, project) = (name.to_owned(), world.project.clone());
    let forgotten =
        world.home.ask(|client| async move { client.remove_agent(&name, Some(&project)).await });
    forgotten.unwrap();
}

fn slug(error: &ClientError) -> String {
    let ClientError::Refused(problem) = error else { panic!("{error:?}") };
    problem.slug().to_owned()
}
