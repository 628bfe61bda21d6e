//! What runs and is not known, and what is known and does not run.

use cmux_testkit::wait::eventually;
use cmux_wire::agent::Phase;

use crate::world::World;

#[test]
fn an_agent_that_the_store_forgot_is_registered_again_from_its_tags_and_never_ended() {
    let mut world = World::new();
    let backup = world.home.folder("backup").join("before.db");
    world.home.run(&["db", "backup", backup.to_str().unwrap()]);
    let agent = world.idle("worker");
    restore(&mut world, &backup);
    let found = eventually("it is known again", || {
        let agents = world.agents();
        let agents = agents["agents"].as_array().unwrap().clone();
        agents.into_iter().find(|it| it["phase"] == "idle")
    });
    assert_eq!(found["id"], agent.id);
    assert_eq!(found["run"], agent.run.clone().unwrap());
    assert_eq!(found["pid"], agent.pid.unwrap());
    assert_eq!((&found["name"], &found["kind"]), (&"worker".into(), &"demo".into()));
    assert_eq!(world.events_of("agent.found").len(), 1);
    assert_eq!(world.of_run(&agent.run.unwrap()).len(), 2);
}

#[test]
fn an_agent_that_the_store_knows_in_an_earlier_life_is_found_in_its_present_one() {
    let mut world = World::new();
    let first = world.idle("worker");
    let backup = world.home.folder("backup").join("before.db");
    world.home.run(&["db", "backup", backup.to_str().unwrap()]);
    world.have("worker", "restart");
    let second = world.back(&first);
    restore(&mut world, &backup);
    let found = world.wait("worker", "found", |it| {
        it.run == second.run && it.phase == Phase::Idle && it.pid == second.pid
    });
    assert_eq!(found.id, first.id);
    assert_eq!(world.of_run(&second.run.unwrap()).len(), 2);
    assert_eq!(world.of_run(&first.run.unwrap()), [0; 0]);
}

#[test]
fn a_window_of_a_persons_own_is_never_an_agent() {
    let world = World::new();
    let agent = world.idle("worker");
    let own = world.at_tmux(&["new-window", "-d", "-n", "worker", "-P", "-F", "#{pane_id}", "cat"]);
    // Two surveys have passed when the second of two agents that die after it is back.
    for _ in 0..2 {
        let before = world.agent("worker");
        world.at_tmux(&["kill-pane", "-t", before.pane.as_deref().unwrap()]);
        world.back(&before);
    }
    let panes = world.at_tmux(&["list-panes", "-a", "-F", "#{pane_id} #{pane_dead}"]);
    assert!(panes.lines().any(|line| line == format!("{} 0", own.trim())), "{panes}");
    let agents = world.agents();
    assert_eq!(agents["agents"].as_array().unwrap().len(), 1, "{agents}");
    drop(agent);
}

/// Puts `backup` in the store's place while no daemon runs.
fn restore(world: &mut World, backup: &std::path::Path) {
    world.daemon.take().unwrap().kill();
    let restored = world.home.run(&["db", "restore", backup.to_str().unwrap()]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    world.reborn();
}
