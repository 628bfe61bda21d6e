//! Health while the store hangs: it is told, and it does not hang with it.

use std::process::Command;
use std::sync::mpsc::{self, TryRecvError};
use std::thread;

use cmux_testkit::daemon::Daemon;
use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;
use serde_json::json;

use crate::PROGRAM;
use crate::knock::{Answer, Door, Request};

/// From which write on the disk answers no more: later than the daemon is ready.
const LAST_WRITE: &str = "when=60+";

#[test]
fn while_no_write_reaches_the_disk_health_says_so_and_all_else_that_reads_goes_on() {
    let home = TestHome::new(PROGRAM);
    let mut daemon = Daemon::launch(&home, on_a_disk_that_hangs(&home));
    let (socket, port) = ready(&home, &mut daemon);
    let doors = [socket, Door::Port(port)];
    let health = Request::get("/api/webhooks/health");
    assert_eq!(doors[0].ask(&health).status, 200);

    let (sender, added) = mpsc::channel();
    let writer = doors[0].clone();
    // It waits for the disk until the daemon is gone.
    thread::spawn(move || {
        let add = |n| {
            let new = json!({ "root": format!("/{n}") }).to_string();
            writer.try_send(&Request::new("POST", "/api/projects").with_json(new).bytes("cmux"))
        };
        for answer in (0..).map(add) {
            let is_last = answer.is_none();
            let _ = sender.send(answer.map(|answer| answer.status));
            if is_last {
                return;
            }
        }
    });
    let told = eventually("health tells of it", || {
        let answer = doors[0].ask(&health);
        (answer.status == 503).then_some(answer)
    });
    is_told(&told);
    for door in &doors {
        is_told(&door.ask(&health));
        assert_eq!(door.ask(&Request::get("/livez")).status, 200, "{door:?}");
        assert_eq!(door.ask(&Request::get("/api/openapi.json")).status, 200, "{door:?}");
    }
    let listed = doors[0].ask(&Request::get("/api/projects"));
    assert_eq!(listed.status, 200, "{listed:?}");
    // What was acknowledged was stored, and whoever asked last has had no answer.
    let stored = added.try_iter().take_while(|status| *status == Some(201)).count();
    assert!(stored > 0 && listed.json()["projects"].as_array().unwrap().len() >= stored.min(100));
    assert_eq!(added.try_recv(), Err(TryRecvError::Empty));
}

/// Checks that `answer` says that the store is at fault, and nothing else.
#[track_caller]
fn is_told(answer: &Answer) {
    let health = answer.json();
    assert_eq!((answer.status, &health["status"]), (503, &json!("degraded")), "{health}");
    assert_eq!(
        (&health["api"], &health["kernel"]["status"]),
        (&json!("healthy"), &json!("healthy"))
    );
    let why = health["store"]["why"].as_str().unwrap();
    assert!(why.contains("no write has reached the disk"), "{health}");
}

/// Returns a way to run a daemon whose disk hangs at some time.
fn on_a_disk_that_hangs(home: &TestHome) -> Command {
    let mut command = Command::new("strace");
    home.equip(&mut command);
    let hang = format!("inject=?fsync,?fdatasync:delay_enter=3600s:{LAST_WRITE}");
    command.args(["-qq", "-f", "--seccomp-bpf", "-o", "/dev/null"]);
    command.args(["-e", "trace=?fsync,?fdatasync", "-e", "signal=none", "-e", &hang]);
    command.arg(home.program()).args(["daemon", "run"]);
    command
}

/// Waits until the daemon is ready, and returns its doors.
fn ready(home: &TestHome, daemon: &mut Daemon) -> (Door, u16) {
    let port = eventually("the daemon is ready", || {
        assert_eq!(daemon.ended(), None, "it ended: {}", daemon.said());
        let status = home.ask(|client| async move { client.daemon().await }).ok()?;
        status.ready.then_some(status.port?)
    });
    (Door::Socket(home.root().join("cmux.sock")), port)
}
