//! How agents come to be, and how they go.

use cmux_wire::agent::{Intent, Phase};
use serde_json::json;

use crate::world::World;

#[test]
fn an_agent_is_launched_in_a_window_of_its_own_that_carries_its_tags() {
    let world = World::new();
    let agent = world.idle("worker");
    let tags = "#{pane_id} #{@cmux_agent} #{@cmux_run} #{@cmux_name} #{@cmux_kind} #{pane_pid}";
    let panes = world.at_tmux(&["list-panes", "-a", "-F", tags]);
    let (pane, run) = (agent.pane.unwrap(), agent.run.unwrap());
    let expected = format!("{pane} {} {run} worker demo {}", agent.id, agent.pid.unwrap());
    assert!(panes.lines().any(|line| line == expected), "{panes}");
    assert_eq!(world.events_of("agent.spawned").len(), 1);
}

#[test]
fn an_agent_knows_who_it_is_and_its_secret_is_nowhere_else() {
    let world = World::new();
    let out = world.root.join("env");
    let script = format!("env > {0}.new; mv {0}.new {0}; exec bash --norc", out.display());
    world.spawn_as("worker", &json!({ "kind": "shell", "args": ["-c", script] }));
    let text = cmux_testkit::wait::eventually("it wrote what it knows", || {
        std::fs::read_to_string(&out).ok()
    });
    let agent = world.agent("worker");
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
        line.map(ToOwned::to_owned)
    };
    assert_eq!(value("CMUX_AGENT"), Some(agent.id));
    assert_eq!(value("CMUX_AGENT_NAME"), Some("worker".to_owned()));
    assert_eq!(value("CMUX_PROJECT"), Some(world.project.clone()));
    assert_eq!(value("TMUX"), None);
    assert_eq!(value("TMUX_PANE"), None);
    let token = value("CMUX_TOKEN").unwrap();
    let told = [
        world.at_tmux(&["show-environment", "-g"]),
        world.at_tmux(&["show-environment"]),
        world.home.run(&["events", "--json"]).stdout,
        world.daemon.as_ref().unwrap().said(),
    ];
    assert!(told.iter().all(|text| !text.contains(&token)), "{told:?}");
    let database = std::fs::read(world.home.root().join("cmux.db-wal")).unwrap();
    let is_there = database.windows(token.len()).any(|it| it == token.as_bytes());
    assert!(!is_there, "the secret is in the store");
}

#[test]
fn a_stopped_agent_leaves_nothing_behind_and_comes_back_when_it_is_wanted() {
    let world = World::new();
    let agent = world.idle("worker");
    let run = agent.run.clone().unwrap();
    assert!(world.of_run(&run).len() >= 2, "a launcher and a CLI");
    world.have("worker", "stop");
    let gone = world.wait("worker", "gone", |it| it.phase == Phase::Offline && it.run.is_none());
    assert_eq!((gone.intent, gone.pid, gone.pane), (Intent::Stop, None, None));
    assert_eq!(world.of_run(&run), [0; 0]);
    let panes = world.at_tmux(&["list-panes", "-a", "-F", "#{@cmux_run}"]);
    assert!(!panes.contains(&run), "{panes}");
    assert!(!world.home.root().join("runs").join(&run).exists());
    world.have("worker", "resume");
    let back = world.back(&agent);
    assert_eq!(back.session_id, agent.session_id);
}

#[test]
fn what_does_not_end_when_it_is_asked_to_is_ended() {
    let world = World::new();
    let script = "trap '' TERM HUP INT; setsid sleep 1000 & while :; do sleep 1000; done";
    world.spawn_as("deaf", &json!({ "kind": "shell", "args": ["-c", script] }));
    let agent = world.wait("deaf", "launched", |it| it.pid.is_some());
    let run = agent.run.unwrap();
    cmux_testkit::wait::eventually("all of it runs", || {
        (world.of_run(&run).len() >= 3).then_some(())
    });
    world.have("deaf", "stop");
    world.wait("deaf", "gone", |it| it.phase == Phase::Offline && it.run.is_none());
    assert_eq!(world.of_run(&run), [0; 0]);
}

#[test]
fn a_program_that_ends_at_once_is_tried_again_and_then_left_alone_with_its_last_words() {
    let world = World::new();
    let args = ["-c", "echo cannot find my config; exit 3"];
    world.spawn("broken", "shell", &args);
    let agent = world.wait("broken", "told of", |it| it.reason.is_some());
    let reason = agent.reason.unwrap();
    assert!(reason.contains("code 3") && reason.contains("cannot find my config"), "{reason}");
    let exits = |world: &World| world.events_of("agent.exited").len();
    cmux_testkit::wait::eventually("it was tried again", || (exits(&world) >= 2).then_some(()));
    world.have("broken", "stop");
    world.wait("broken", "gone", |it| it.phase == Phase::Offline && it.run.is_none());
}

#[test]
fn a_restart_ends_one_life_and_begins_the_next_with_the_same_session() {
    let world = World::new();
    let agent = world.idle("worker");
    world.have("worker", "restart");
    let back = world.back(&agent);
    assert_eq!(back.session_id, agent.session_id);
    assert_ne!(back.pid, agent.pid);
    assert_eq!(world.of_run(&agent.run.unwrap()), [0; 0]);
}

#[test]
fn without_tmux_it_is_said_that_there_is_none() {
    let home = cmux_testkit::home::TestHome::new(crate::PROGRAM);
    let root = home.folder("project");
    let mut daemon = home.command(&["daemon", "run"]);
    daemon.env("PATH", home.folder("empty"));
    let daemon = cmux_testkit::daemon::Daemon::launch(&home, daemon);
    let project = cmux_testkit::wait::eventually("the project is added", || {
        let ran = home.run(&["--json", "project", "add", root.to_str().unwrap()]);
        let added: serde_json::Value = serde_json::from_str(&ran.stdout).ok()?;
        Some(added["id"].as_str()?.to_owned())
    });
    let world = World { home, daemon: Some(daemon), project, root };
    world.spawn("worker", "demo", &[]);
    let agent = world.wait("worker", "told of", |it| it.reason.is_some());
    let reason = agent.reason.unwrap();
    assert!(reason.contains("there is no tmux on the PATH"), "{reason}");
    assert!(reason.contains("install tmux"), "{reason}");
}
