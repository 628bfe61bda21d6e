//! Below an agent: what only a person may do is refused, and nothing of it is done.

use cmux_testkit::home::Ran;

use crate::agents::Shop;
use crate::{home, refused};

#[test]
fn below_an_agent_nothing_is_started() {
    let home = home();
    for command in [&["up"][..], &["up", "--no-supervisor"], &["daemon", "start"]] {
        let mut below = home.command(command);
        let ran: Ran = below.env("CMUX_RUN", "run_1").output().unwrap().into();
        refused(&ran, 5, &["an agent may not start", "for the person to do"]);
    }
    assert_eq!(std::fs::read_dir(home.root()).unwrap().count(), 0);
    // One that is set to nothing says nothing.
    let mut start = home.command(&["daemon", "start"]);
    let started: Ran = start.env("CMUX_RUN", "").output().unwrap().into();
    assert_eq!(started.code, Some(0), "{started:?}");
}

#[test]
fn below_an_agent_nothing_is_stopped() {
    let shop = Shop::new();
    let pid = shop.json(&["daemon", "status"])["pid"].clone();
    for command in [&["down"][..], &["down", "--all"], &["daemon", "stop"], &["daemon", "restart"]]
    {
        let mut below = shop.command(command);
        below.env("CMUX_RUN", "run_1").env("CMUX_AGENT_NAME", "api").current_dir(&shop.root);
        let ran: Ran = below.output().unwrap().into();
        refused(&ran, 5, &["below `api`"]);
    }
    assert_eq!(shop.json(&["daemon", "status"])["pid"], pid);
}
