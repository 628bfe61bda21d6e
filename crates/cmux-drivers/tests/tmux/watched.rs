//! Panes that are watched: first the screen, then every byte.

use std::fs;

use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::command::Command;
use cmux_drivers::tmux::control::Control;
use cmux_drivers::tmux::pane::{self, Life, PaneId};
use cmux_drivers::tmux::stream::{self, Piece, Stream};
use cmux_testkit::wait::eventually;

use crate::world::{WITHIN, World, text};

#[test]
fn the_screen_and_what_follows_it_join_without_a_gap() {
    let world = World::new();
    let control = world.control();
    // It writes numbers without end, slowly enough to be followed.
    let script = "n=0; while :; do n=$((n+1)); echo \"<$n>\"; sleep 0.002; done";
    let (agent, _) = world.agent(&control, script);
    world.agent(&control, "while :; do echo noise; sleep 0.01; done");
    world.see(&control, agent.pane, "<20>");
    let mut stream = world.wait(Stream::open(&world.server, agent.pane, 1000, WITHIN)).unwrap();
    let mut seen = Vec::new();
    let mut screens = 0;
    while numbers(&seen).len() < 400 {
        match world.wait(stream.next()).unwrap() {
            Piece::Screen(screen) => {
                screens += 1;
                // On a machine that stands still one may be too slow: then it begins anew.
                seen = screen.content;
            }
            Piece::Bytes(bytes) => seen.extend(bytes),
        }
    }
    let numbers = numbers(&seen);
    let expected: Vec<u32> = (numbers[0]..).take(numbers.len()).collect();
    assert_eq!(numbers, expected, "after {screens} screens");
    assert!(!String::from_utf8_lossy(&seen).contains("noise"));
}

#[test]
fn a_watcher_that_does_not_read_holds_up_nobody_and_sees_the_screen_again() {
    let world = World::new();
    let control = world.control();
    let go = world.path("go");
    let script = format!(
        "until [ -e '{}' ]; do sleep 0.01; done; yes 'a long line of a long text' | head -c 50000000; \
         echo the end; exec cat",
        text(&go)
    );
    let (agent, _) = world.agent(&control, &script);
    let mut stream = world.wait(Stream::open(&world.server, agent.pane, 0, WITHIN)).unwrap();
    assert!(matches!(world.wait(stream.next()).unwrap(), Piece::Screen(_)));
    fs::write(&go, "").unwrap();
    // Nobody reads, and it is written all the same.
    world.see(&control, agent.pane, "the end");
    let (mut seen, mut screens) = (Vec::new(), 0);
    while !String::from_utf8_lossy(&seen).contains("the end") {
        match world.wait(stream.next()).unwrap() {
            Piece::Screen(screen) => {
                screens += 1;
                seen = screen.content;
            }
            Piece::Bytes(bytes) => {
                seen.extend(bytes);
                let old = seen.len().saturating_sub(100);
                seen.drain(..old);
            }
        }
    }
    // And it goes on from there.
    let type_it = Command::new("send-keys").with("-t", &agent.pane.to_string());
    world.tell(&control, &type_it.flag("-l").word("typed"));
    while !String::from_utf8_lossy(&seen).contains("typed") {
        match world.wait(stream.next()).unwrap() {
            Piece::Screen(screen) => seen = screen.content,
            Piece::Bytes(bytes) => seen.extend(bytes),
        }
    }
    assert!(screens <= 1000, "{screens}");
}

#[test]
fn nothing_is_left_of_a_watcher() {
    let world = World::new();
    let control = world.control();
    let (agent, _) = world.agent(&control, "exec cat");
    let size = world.pane(&control, agent.pane).size;
    let first = world.wait(Stream::open(&world.server, agent.pane, 0, WITHIN)).unwrap();
    let second = world.wait(Stream::open(&world.server, agent.pane, 0, WITHIN)).unwrap();
    assert_eq!(sessions(&world, &control), 3);
    // A pane that is watched is seen once, as it was.
    let panes = world.survey(&control);
    assert_eq!(panes.iter().filter(|it| it.id == agent.pane).count(), 1);
    assert_eq!(world.pane(&control, agent.pane).size, size);
    drop((first, second));
    eventually("no session but one", || (sessions(&world, &control) == 1).then_some(()));
    let pane = world.pane(&control, agent.pane);
    assert_eq!((pane.life, world.survey(&control).len()), (Life::Running, 2));
    // One whose watcher was killed with all it had is cleared away, and one that is watched is not.
    let make = Command::new("new-session").flag("-d").with("-s", "view-lost").word("exec cat");
    world.tell(&control, &make);
    let _watching = world.wait(Stream::open(&world.server, agent.pane, 0, WITHIN)).unwrap();
    assert_eq!(sessions(&world, &control), 3);
    world.wait(stream::clear(&control, WITHIN)).unwrap();
    assert_eq!(sessions(&world, &control), 2);
}

#[test]
fn watchers_come_and_go_all_at_once_and_the_server_lives() {
    let world = World::new();
    let control = world.control();
    let (agent, _) = world.agent(&control, "while :; do echo noise; sleep 0.01; done");
    for _ in 0..10 {
        let coming: Vec<_> = (0..4)
            .map(|_| {
                let server = world.server.clone();
                world.begin(async move {
                    let mut stream = Stream::open(&server, agent.pane, 0, WITHIN).await.unwrap();
                    stream.next().await.unwrap();
                    // Others look for the server meanwhile, and others command it.
                    server.pid().await.unwrap();
                    drop(stream);
                    Control::connect(&server, WITHIN).await.unwrap().0.generation()
                })
            })
            .collect();
        for came in coming {
            assert_eq!(world.wait(came).unwrap(), control.generation());
        }
    }
    assert!(!control.is_gone());
    eventually("no session but one", || (sessions(&world, &control) == 1).then_some(()));
}

#[test]
fn a_pane_that_is_not_there_cannot_be_watched_and_one_that_goes_is_told() {
    let world = World::new();
    let control = world.control();
    let absent = PaneId(77);
    let opened = world.wait(async {
        let mut stream = Stream::open(&world.server, absent, 0, WITHIN).await?;
        stream.next().await
    });
    assert!(matches!(opened, Err(TmuxError::NoPane(pane)) if pane == absent), "{opened:?}");
    let (agent, _) = world.agent(&control, "exec cat");
    let mut stream = world.wait(Stream::open(&world.server, agent.pane, 0, WITHIN)).unwrap();
    assert!(matches!(world.wait(stream.next()).unwrap(), Piece::Screen(_)));
    world.wait(pane::kill(&control, agent.pane, WITHIN)).unwrap();
    let ended = world.wait(async {
        loop {
            if let Err(error) = stream.next().await {
                return error;
            }
        }
    });
    assert!(matches!(ended, TmuxError::Gone | TmuxError::NoPane(_)), "{ended:?}");
    drop(stream);
    eventually("no session but one", || (sessions(&world, &control) == 1).then_some(()));
    world.wait(world.server.kill()).unwrap();
    let opened = world.wait(Stream::open(&world.server, agent.pane, 0, WITHIN));
    assert!(matches!(opened, Err(TmuxError::NoServer)), "{opened:?}");
}

/// Returns the numbers in what was written that are there whole.
fn numbers(bytes: &[u8]) -> Vec<u32> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let inside = |part: &str| part.strip_prefix('<')?.strip_suffix('>')?.parse().ok();
    text.split_whitespace().filter_map(inside).collect()
}

fn sessions(world: &World, control: &Control) -> usize {
    world.tell(control, &Command::new("list-sessions")).lines().count()
}
