//! Sizes of panes that are lent, and go back.

use cmux_drivers::tmux::command::Command;
use cmux_drivers::tmux::control::Control;
use cmux_drivers::tmux::loan::{self, Borrower};
use cmux_drivers::tmux::pane::{PaneId, Size};
use cmux_drivers::tmux::screen::{self, Colours};
use cmux_drivers::tmux::stream::{Piece, Stream};
use cmux_testkit::wait::PATIENCE;
use tokio::time::timeout;

use crate::world::{WITHIN, World};

const HOME: Size = Size { columns: 200, rows: 50 };
const SMALL: Size = Size { columns: 91, rows: 17 };
const OTHER: Size = Size { columns: 80, rows: 24 };

#[test]
fn a_pane_has_the_size_that_it_is_lent_and_then_the_one_before() {
    let (world, control, pane) = begin();
    let borrower = Borrower::new();
    lend(&world, &control, pane, borrower, SMALL);
    let screen = screen::capture(&control, pane, 0, Colours::With, WITHIN);
    assert_eq!(world.wait(screen).unwrap().size, SMALL);
    lend(&world, &control, pane, borrower, OTHER);
    check(&world, &control, pane, borrower, HOME);
    // There is nothing more to give back.
    lend(&world, &control, pane, Borrower::new(), SMALL);
    check(&world, &control, pane, borrower, SMALL);
}

#[test]
fn only_who_borrowed_it_last_gives_it_back() {
    let (world, control, pane) = begin();
    let (first, second) = (Borrower::new(), Borrower::new());
    lend(&world, &control, pane, first, SMALL);
    lend(&world, &control, pane, second, OTHER);
    check(&world, &control, pane, first, OTHER);
    check(&world, &control, pane, second, HOME);
}

#[test]
fn a_size_that_a_person_gave_it_meanwhile_stays() {
    let (world, control, pane) = begin();
    let borrower = Borrower::new();
    lend(&world, &control, pane, borrower, SMALL);
    let resize = Command::new("resize-window").with("-t", &pane.to_string());
    world.tell(&control, &resize.with("-x", "120").with("-y", "40"));
    let persons = Size { columns: 120, rows: 40 };
    check(&world, &control, pane, borrower, persons);
    // And it is what the next loan goes back to.
    lend(&world, &control, pane, borrower, SMALL);
    check(&world, &control, pane, borrower, persons);
}

#[test]
fn loans_that_nobody_is_left_to_end_are_called_in() {
    let (world, control, pane) = begin();
    let (other, _) = world.agent(&control, "exec cat");
    for pane in [pane, other.pane] {
        lend(&world, &control, pane, Borrower::new(), SMALL);
    }
    // One that is watched is in two sessions.
    let _watching = world.wait(Stream::open(&world.server, pane, 0, WITHIN)).unwrap();
    world.wait(loan::call_in(&control, WITHIN)).unwrap();
    for pane in [pane, other.pane] {
        assert_eq!(world.pane(&control, pane).size, HOME);
    }
}

#[test]
fn whoever_watches_is_shown_the_screen_again_in_its_new_size() {
    let (world, control, pane) = begin();
    let mut stream = world.wait(Stream::open(&world.server, pane, 0, WITHIN)).unwrap();
    let borrower = Borrower::new();
    for size in [HOME, SMALL, OTHER] {
        if size != HOME {
            lend(&world, &control, pane, borrower, size);
        }
        let shown = async {
            loop {
                match stream.next().await.unwrap() {
                    Piece::Screen(screen) if screen.size == size => return,
                    Piece::Screen(_) | Piece::Bytes(_) => {}
                }
            }
        };
        assert!(
            world.wait(async { timeout(PATIENCE, shown).await }).is_ok(),
            "{size:?} is never shown"
        );
    }
}

fn begin() -> (World, Control, PaneId) {
    let world = World::new();
    let control = world.control();
    let (agent, _) = world.agent(&control, "exec cat");
    assert_eq!(world.pane(&control, agent.pane).size, HOME);
    (world, control, agent.pane)
}

#[track_caller]
fn lend(world: &World, control: &Control, pane: PaneId, to: Borrower, size: Size) {
    world.wait(loan::lend(control, pane, to, size, WITHIN)).unwrap();
    assert_eq!(world.pane(control, pane).size, size);
}

/// Checks the size of a pane after `from` has given it back.
#[track_caller]
fn check(world: &World, control: &Control, pane: PaneId, from: Borrower, expected: Size) {
    world.wait(loan::give_back(control, pane, from, WITHIN)).unwrap();
    assert_eq!(world.pane(control, pane).size, expected);
}
