//! What is not an agent's to know: the person's environment, and other agents' secrets.

use std::fs;

use cmux_drivers::tmux::command::Command;
use cmux_drivers::tmux::control::Control;
use cmux_drivers::tmux::server::Server;
use cmux_drivers::tmux::version;
use cmux_testkit::wait::eventually;

use crate::world::{WITHIN, World, text};

#[test]
fn the_environment_of_the_person_is_not_in_panes() {
    let world = World::asleep();
    let tmux = version::find(&std::env::var_os("PATH").unwrap()).unwrap();
    let persons = [("PERSONS_KEY", "unmistakable"), ("TMUX", "/tmp/x,1,0"), ("CMUX_HOME", "/h")];
    let all = std::env::vars_os().chain(persons.map(|(name, value)| (name.into(), value.into())));
    let folder = world.path("tmux");
    let server = Server::at(&tmux, &folder, "shop", all).unwrap();
    world.wait(server.start(None)).unwrap();
    let (control, _heard) = world.wait(Control::connect(&server, WITHIN)).unwrap();
    let environment = environment(&world, &control);
    for (name, _) in persons.iter().filter(|(name, _)| *name != "TMUX") {
        assert!(!environment.contains(name), "{environment}");
    }
    assert!(!environment.contains("unmistakable") && !environment.contains("/tmp/x,1,0"));
    assert!(environment.contains("PATH=") && environment.contains("HOME="), "{environment}");
    // Nor is anything of whoever attaches.
    let look = Command::new("show-environment").with("-t", "=cmux:");
    assert_eq!(world.tell(&control, &look), "");
}

#[test]
fn a_secret_is_only_its_panes() {
    let world = World::new();
    let control = world.control();
    let mut spawn = world.script("echo \"<$TOKEN>\"; exec cat");
    spawn.environment.push(("TOKEN".into(), "unmistakable".into()));
    let spawned = world.wait(spawn.make(&control, WITHIN)).unwrap();
    world.see(&control, spawned.pane, "<unmistakable>");
    for look in [
        Command::new("show-environment").flag("-g"),
        Command::new("show-environment").with("-t", "=cmux:"),
        Command::new("show-environment").flag("-h").with("-t", "=cmux:"),
        Command::new("show-messages"),
        Command::new("show-options").flag("-g"),
        Command::new("show-options").flag("-s"),
        Command::new("list-panes").flag("-a").with("-F", "#{pane_start_command}"),
    ] {
        let said = world.tell(&control, &look);
        assert!(!said.contains("unmistakable"), "{look:?}: {said}");
    }
    assert!(!environment(&world, &control).contains("unmistakable"));
    // Nor does it stand on the command line of any process.
    for process in fs::read_dir("/proc").unwrap() {
        let line = fs::read(process.unwrap().path().join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&line).contains("unmistakable"));
    }
}

/// Returns the environment that an agent has which is given nothing.
fn environment(world: &World, control: &Control) -> String {
    let file = world.path("environment");
    let script = format!("env > '{0}.new'; mv '{0}.new' '{0}'; exec cat", text(&file));
    world.agent(control, &script);
    eventually("the environment", || fs::read_to_string(&file).ok())
}
