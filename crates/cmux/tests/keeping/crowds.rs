//! More agents in a project than one tmux server holds.

use std::collections::BTreeMap;
use std::time::Duration;

use cmux_testkit::wait::eventually;
use cmux_wire::agent::{Agent, Phase};

use crate::world::World;

/// How many agents live in one tmux server.
const SERVER_AGENTS_MAX: usize = 100;

#[test]
fn from_the_hundred_and_first_on_agents_live_in_a_second_server_even_after_a_crash() {
    let mut world = World::new();
    let all = SERVER_AGENTS_MAX + 1;
    for number in 0..all {
        world.spawn(&format!("a{number}"), "shell", &[]);
    }
    wait_idle(&world, all);
    let places = places(&world);
    let mut crowds: BTreeMap<&str, usize> = BTreeMap::new();
    for server in places.values() {
        *crowds.entry(server.as_str()).or_default() += 1;
    }
    let mut sizes: Vec<usize> = crowds.values().copied().collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, SERVER_AGENTS_MAX], "{crowds:?}");

    // Whoever comes after a crash of the daemon knows how full each of them is.
    world.reborn();
    world.spawn("late", "shell", &[]);
    wait_idle(&world, all + 1);
    let after = self::places(&world);
    let small = crowds.iter().find(|(_, count)| **count == 1).map(|(server, _)| *server);
    assert_eq!(after.get("late").map(String::as_str), small);
    for (name, server) in &places {
        assert_eq!(after.get(name), Some(server), "{name} stayed where it was");
    }
}

/// Waits until so many agents are at their prompt.
fn wait_idle(world: &World, count: usize) {
    eventually("all are at their prompt", || {
        // Whoever asks all the time takes it from those who are waited for.
        std::thread::sleep(Duration::from_millis(100));
        let idle = agents(world).iter().filter(|agent| agent.phase == Phase::Idle).count();
        (idle >= count).then_some(())
    });
}

/// Returns all agents, from as many pages as they take.
fn agents(world: &World) -> Vec<Agent> {
    let (mut all, mut after): (Vec<Agent>, Option<String>) = (Vec::new(), None);
    loop {
        let cursor = after.clone();
        let page = world.home.ask(|it| async move { it.agents(None, cursor.as_deref()).await });
        let page = page.unwrap();
        all.extend(page.agents);
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

/// Returns the server that each agent lives in, by its name.
fn places(world: &World) -> BTreeMap<String, String> {
    let place = |agent: Agent| {
        let id = agent.id.clone();
        let place = world.home.ask(|client| async move { client.place(&id, None).await });
        (agent.name, place.unwrap().server)
    };
    agents(world).into_iter().map(place).collect()
}
