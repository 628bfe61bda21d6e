//! A daemon that stands still for a while, as a laptop's lid or a debugger makes it.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use cmux_testkit::daemon::Daemon;
use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;
use rustix::process::Signal;

use crate::PROGRAM;
use crate::caller::{Caller, get};

/// How long it stands still: longer than its kernel may be silent.
const STILL: Duration = Duration::from_secs(20);

#[test]
fn a_daemon_that_stood_still_goes_on_where_it_was() {
    let home = TestHome::new(PROGRAM);
    let daemon = home.daemon();
    let caller = Caller::new(home.client());
    caller.add("/before").unwrap();
    let before = caller.read_all().unwrap();
    stop(&daemon);
    let begun = Instant::now();
    // Whoever asks meanwhile waits.
    let asked = thread::spawn({
        let client = home.client();
        move || Caller::new(client).add("/during").map(|project| project.root)
    });
    let status = home.json(&["daemon", "status"]);
    assert_eq!((&status["running"], &status["ready"]), (&true.into(), &false.into()), "{status}");
    assert_eq!(status["pid"], daemon.pid());
    let told = home.run(&["daemon", "status"]);
    assert!(told.stdout.contains("running, but not ready"), "{told:?}");
    assert!(begun.elapsed() < STILL, "it should have answered for the daemon before it goes on");
    thread::sleep(STILL.saturating_sub(begun.elapsed()));
    daemon.signal(Signal::CONT);

    assert_eq!(asked.join().unwrap().unwrap(), "/during");
    caller.add("/after").unwrap();
    let after = caller.read_all().unwrap();
    assert_eq!(after.events[..before.events.len()], before.events);
    for root in ["/before", "/during", "/after"] {
        assert!(after.knows(root), "{root}");
    }
    assert_eq!(caller.count("clock.jumped"), 0, "the time went on as it should");
    let port = caller.status().unwrap().daemon.port.unwrap();
    eventually("it is healthy", || (get(port, "/api/webhooks/health").0 == 200).then_some(()));
    assert!(caller.audit().unwrap().ok);
    assert!(daemon.stop().success());
}

/// Stops `daemon` in its tracks.
fn stop(daemon: &Daemon) {
    daemon.signal(Signal::STOP);
    eventually("it stands still", || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", daemon.pid())).unwrap();
        stat.rsplit_once(") ").unwrap().1.starts_with('T').then_some(())
    });
}
