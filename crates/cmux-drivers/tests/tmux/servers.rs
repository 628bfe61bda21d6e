//! Servers: started once, found, told from none, and ended.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use cmux_drivers::process::Process;
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::command::Command;
use cmux_drivers::tmux::control::{Control, Heard};
use cmux_drivers::tmux::loan::{self, Borrower};
use cmux_drivers::tmux::pane::{self, Life, Pane, PaneId, Size};
use cmux_drivers::tmux::screen::{self, Colours};
use cmux_drivers::tmux::server::Server;
use cmux_drivers::tmux::version;
use cmux_testkit::wait::eventually;
use rustix::process::Signal;

use crate::world::{WITHIN, World, is_unknown};

#[test]
fn a_server_is_started_once_and_for_nobody_else() {
    let world = World::new();
    let pid = world.wait(world.server.pid()).unwrap();
    assert_eq!(world.wait(world.server.start(None)).unwrap(), pid);
    let control = world.control();
    assert_eq!(control.generation().pid, pid);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o077;
    let socket = world.server.socket();
    assert_eq!((mode(socket), mode(socket.parent().unwrap())), (0, 0));
    // It is known to be cmux's by how it was started.
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    let expected = format!("-S\0{}\0", socket.display());
    assert!(String::from_utf8_lossy(&line).contains(&expected));
}

#[test]
fn no_server_is_told_from_one_that_does_not_answer() {
    let world = World::asleep();
    check_none(&world);
    world.wait(world.server.start(None)).unwrap();
    let control = world.control();
    let pid = control.generation().pid;
    let server = Process::find(pid).unwrap();
    server.signal(Signal::STOP).unwrap();
    // It stands still: that says nothing about whether it is there.
    let short = std::time::Duration::from_millis(200);
    let look = world.wait(pane::survey(&control, short));
    assert!(matches!(look, Err(TmuxError::Late)), "{look:?}");
    let connected = world.wait(Control::connect(&world.server, short));
    assert!(matches!(connected, Err(TmuxError::Late)), "{connected:?}");
    assert_eq!(world.wait(world.server.pid()).unwrap(), pid);
    server.signal(Signal::CONT).unwrap();
    assert_eq!(world.survey(&control).len(), 1);
    world.wait(world.server.kill()).unwrap();
    assert!(!server.is_alive());
    eventually("the end of the connection", || control.is_gone().then_some(()));
    let look = world.wait(pane::survey(&control, WITHIN));
    assert!(matches!(look, Err(TmuxError::Gone)), "{look:?}");
    check_none(&world);
    world.wait(world.server.kill()).unwrap();
}

#[test]
fn a_socket_that_nobody_listens_at_is_no_server_and_in_nobodys_way() {
    let world = World::asleep();
    fs::create_dir(world.path("tmux")).unwrap();
    drop(UnixListener::bind(world.server.socket()).unwrap());
    check_none(&world);
    world.wait(world.server.start(None)).unwrap();
    assert_eq!(world.survey(&world.control()).len(), 1);
}

#[test]
fn a_server_that_was_killed_begins_another_life() {
    let world = World::new();
    let control = world.control();
    let before = control.generation();
    Process::find(before.pid).unwrap().signal(Signal::KILL).unwrap();
    let look = world.wait(pane::survey(&control, WITHIN));
    assert!(is_unknown(&look), "{look:?}");
    eventually("no server", || {
        matches!(world.wait(world.server.pid()), Err(TmuxError::NoServer)).then_some(())
    });
    world.wait(world.server.start(None)).unwrap();
    let control = world.control();
    assert_ne!(control.generation(), before);
}

#[test]
fn a_session_that_somebody_ended_is_made_anew() {
    let world = World::new();
    let control = world.control();
    let kill = Command::new("kill-session").with("-t", "=cmux");
    let _ = world.wait(control.command(&kill, WITHIN));
    eventually("the end of the connection", || control.is_gone().then_some(()));
    let again = world.control();
    assert_eq!((again.generation(), world.survey(&again).len()), (control.generation(), 1));
}

#[test]
fn a_persons_configuration_changes_nothing() {
    let world = World::asleep();
    fs::write(world.path(".tmux.conf"), "set -s @persons yes\nset -g status on\n").unwrap();
    let tmux = version::find(&std::env::var_os("PATH").unwrap()).unwrap();
    let home = ("HOME".into(), world.path("").into_os_string());
    let variables = std::env::vars_os().filter(|(name, _)| name != "HOME").chain([home]);
    let server = Server::at(&tmux, &world.path("tmux"), "shop", variables).unwrap();
    world.wait(server.start(None)).unwrap();
    let control = world.control();
    let show = Command::new("display-message").with("-p", "<#{@persons}> #{status} #{@now}");
    assert_eq!(world.tell(&control, &show).trim(), "<> off %s");
}

#[test]
fn a_pane_that_is_not_there_is_told_by_its_number() {
    let world = World::new();
    let control = world.control();
    let absent = PaneId(77);
    let size = Size { columns: 80, rows: 24 };
    let captured = screen::capture(&control, absent, 0, Colours::Without, WITHIN);
    for refused in [
        world.wait(captured).map(|_| ()),
        world.wait(pane::kill(&control, absent, WITHIN)),
        world.wait(loan::lend(&control, absent, Borrower::new(), size, WITHIN)),
    ] {
        assert!(matches!(refused, Err(TmuxError::NoPane(pane)) if pane == absent), "{refused:?}");
    }
    let nonsense = world.wait(control.command(&Command::new("no-such-command"), WITHIN));
    assert!(matches!(nonsense, Err(TmuxError::Refused(_))), "{nonsense:?}");
    // What was refused is not in the way of what follows.
    assert_eq!(world.survey(&control).len(), 1);
}

#[test]
fn a_server_and_its_panes_may_have_as_much_open_as_is_said() {
    let world = World::asleep();
    let pid = world.wait(world.server.start(Some(321))).unwrap();
    assert_eq!(files_max(pid), Some(321));
    let control = world.control();
    let (agent, _) = world.agent(&control, "ulimit -Sn; exec cat");
    world.see(&control, agent.pane, "321");
}

#[test]
fn what_changes_in_panes_is_told() {
    let world = World::new();
    let (control, mut heard) = world.connect();
    let script = "printf '\\033]2;a title\\007'; read line; exit 3";
    let (agent, _) = world.agent(&control, script);
    let pane = agent.pane;
    // A tmux that cannot be subscribed to only has it said that panes should be looked at.
    let mut wait_for = |expected: Heard, is_so: &dyn Fn(&Pane) -> bool| {
        let has_come = |heard: &Heard| {
            *heard == expected || *heard == Heard::Survey && is_so(&world.pane(&control, pane))
        };
        while !has_come(&world.wait(heard.recv()).unwrap()) {}
    };
    wait_for(Heard::Title { pane, title: "a title".into() }, &|it| it.title == "a title");
    let copy = Command::new("copy-mode").with("-t", &pane.to_string());
    world.tell(&control, &copy);
    wait_for(Heard::Mode { pane, is_in_mode: true }, &|it| it.is_in_mode);
    let back = Command::new("copy-mode").flag("-q").with("-t", &pane.to_string());
    let enter = Command::new("send-keys").with("-t", &pane.to_string()).word("Enter");
    world.tell(&control, &back.then(enter));
    wait_for(Heard::Dead { pane, is_dead: true }, &|it| it.life != Life::Running);
    assert_eq!(world.see_end(&control, pane), Life::Exited { code: 3 });
    world.wait(pane::kill(&control, pane, WITHIN)).unwrap();
    while world.wait(heard.recv()).unwrap() != Heard::Survey {}
}

/// Checks that all ways to ask for the server tell that there is none.
#[track_caller]
fn check_none(world: &World) {
    let pid = world.wait(world.server.pid());
    assert!(matches!(pid, Err(TmuxError::NoServer)), "{pid:?}");
    let connected = world.wait(Control::connect(&world.server, WITHIN));
    assert!(matches!(connected, Err(TmuxError::NoServer)), "{connected:?}");
}

/// Returns how many files a process may have open.
fn files_max(pid: u32) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find(|it| it.starts_with("Max open files"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}
