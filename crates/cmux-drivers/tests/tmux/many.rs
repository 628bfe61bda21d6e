//! As many panes as a server may have to hold, and more.

use std::collections::BTreeSet;

use cmux_drivers::process::Process;
use cmux_drivers::tmux::pane::{Life, PaneId};
use rustix::process::Signal;

use crate::world::{WITHIN, World};

const MANY: usize = 200;

#[test]
fn two_hundred_panes_are_seen_and_one_that_dies_tells_how() {
    let world = World::new();
    let control = world.control();
    let spawns: Vec<_> = (0..MANY).map(|_| world.script("exec sleep 1000")).collect();
    // All at once: answers come in the order in which was asked.
    let asked: Vec<_> = spawns
        .iter()
        .map(|spawn| {
            let (spawn, control) = (spawn.clone(), control.clone());
            world.begin(async move { spawn.make(&control, WITHIN).await.unwrap() })
        })
        .collect();
    let spawned: Vec<_> = asked.into_iter().map(|it| world.wait(it).unwrap()).collect();
    let ids: BTreeSet<PaneId> = spawned.iter().map(|it| it.pane).collect();
    assert_eq!(ids.len(), MANY);
    let panes = world.survey(&control);
    for (spawn, spawned) in spawns.iter().zip(&spawned) {
        let pane = panes.iter().find(|pane| pane.id == spawned.pane).unwrap();
        assert_eq!((&pane.tags, pane.pid), (&Some(spawn.tags.clone()), Some(spawned.pid)));
        assert_eq!(pane.life, Life::Running);
    }
    let victim = spawned[MANY / 2];
    Process::find(victim.pid).unwrap().signal(Signal::KILL).unwrap();
    let life = world.see_end(&control, victim.pane);
    let Life::Killed { signal } = life else { panic!("{life:?}") };
    assert!(["9", "KILL"].contains(&signal.as_str()), "{signal}");
    let panes = world.survey(&control);
    assert_eq!(panes.iter().filter(|it| it.life == Life::Running).count(), MANY - 1);
}
