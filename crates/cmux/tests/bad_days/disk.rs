//! Disks that are full, read-only, or fail.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use cmux_testkit::daemon::Daemon;
use cmux_testkit::dice::Dice;
use cmux_testkit::disk::{BLOCK, SmallDisk};
use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;

use crate::PROGRAM;
use crate::caller::{Caller, assert_nothing_runs_in, get, names, processor_time, run_out};

const MB: u64 = 1 << 20;

/// How long a daemon is watched to see whether it spins.
const WATCHED: Duration = Duration::from_secs(2);

#[test]
fn a_full_disk_refuses_writes_and_goes_on_by_itself_when_there_is_room() {
    let disk = disk_with_ballast();
    let mut daemon = disk.daemon();
    let caller = Caller::new(disk.client());
    caller.add("/before").unwrap();
    eventually("ballast is laid in", || disk.root().join("ballast").exists().then_some(()));
    disk.fill(0);
    let before = caller.read_all().unwrap();

    let problem = caller.add_in_vain("/during");
    assert!(problem.detail.contains("no room left"), "{problem:?}");
    eventually("ballast is given up", || (!disk.root().join("ballast").exists()).then_some(()));
    // Whoever filled the disk goes on doing so.
    disk.fill(0);
    let problem = caller.add_in_vain("/during");
    assert_eq!((problem.slug(), problem.status), ("disk-full", 507));
    let status = caller.status().unwrap();
    assert_eq!(status.store.status, "degraded");
    let port = status.daemon.port.unwrap();
    let (code, health) = get(port, "/api/webhooks/health");
    assert_eq!((code, health["status"].as_str()), (503, Some("degraded")));
    assert!(health["store"]["why"].as_str().unwrap().contains("no room left"), "{health}");
    assert_eq!(get(port, "/readyz").0, 503);
    assert_eq!(get(port, "/livez").0, 200);
    assert_does_not_spin(&daemon, || assert_eq!(caller.add_in_vain("/during").status, 507));
    let during = caller.read_all().unwrap();
    assert_eq!(during.events[..before.events.len()], before.events);
    assert!(during.knows("/before") && !during.knows("/during"));

    disk.make_room();
    eventually("a write succeeds", || caller.add("/after").ok());
    eventually("health is back", || (get(port, "/api/webhooks/health").0 == 200).then_some(()));
    let after = caller.read_all().unwrap();
    assert!(after.knows("/before") && after.knows("/after") && !after.knows("/during"));
    for kind in ["store.full", "store.room_again"] {
        assert_eq!(caller.count(kind), 1, "{kind}: {:?}", after.events);
    }
    assert!(caller.audit().unwrap().ok);
    assert_eq!(daemon.ended(), None, "{}", daemon.said());
    assert!(!daemon.said().contains("panicked"), "{}", daemon.said());
}

#[test]
fn a_full_disk_without_ballast_is_tried_now_and_then() {
    let disk = SmallDisk::new(PROGRAM, 12 * MB);
    configure(&disk, 0);
    let daemon = disk.daemon();
    let caller = Caller::new(disk.client());
    caller.add("/before").unwrap();
    disk.fill(0);
    assert_eq!(caller.add_in_vain("/during").slug(), "disk-full");
    assert_does_not_spin(&daemon, || {});
    disk.make_room();
    eventually("a write succeeds", || caller.add("/after").ok());
    let told = caller.read_all().unwrap();
    assert!(told.knows("/before") && told.knows("/after") && !told.knows("/during"));
    for kind in ["store.full", "store.room_again"] {
        assert_eq!(caller.count(kind), 1, "{kind}: {:?}", told.events);
    }
    assert!(daemon.stop().success());
}

#[test]
fn a_guarded_daemon_whose_log_is_on_the_full_disk_goes_on_too() {
    let disk = disk_with_ballast();
    assert_eq!(disk.run(&["daemon", "start"]).code, Some(0));
    let caller = Caller::new(disk.client());
    let pid = caller.status().unwrap().daemon.pid;
    eventually("ballast is laid in", || disk.root().join("ballast").exists().then_some(()));
    disk.fill(0);
    // Not a line more can be written to the log.
    disk.pad("logs/daemon.log");
    for _ in 0..20 {
        assert_eq!(caller.add_in_vain("/during").slug(), "disk-full");
        disk.fill(0);
    }
    disk.make_room();
    eventually("a write succeeds", || caller.add("/after").ok());
    assert_eq!(caller.status().unwrap().daemon.pid, pid, "it is still the same process");
    assert_eq!(caller.count("daemon.started"), 1);
    assert_eq!(disk.run(&["daemon", "stop"]).code, Some(0));
    assert_nothing_runs_in(&disk.inner_root());
}

#[test]
fn a_daemon_killed_on_a_full_disk_comes_back_with_all_that_it_acknowledged() {
    let disk = disk_with_ballast();
    let caller = Caller::new(disk.client());
    let mut dice = Dice::seeded();
    let (mut stored, mut refused) = (Vec::new(), Vec::new());
    for round in 0..8 {
        let daemon = disk.daemon();
        disk.fill(dice.below(300) * BLOCK);
        let roots = (0..).map(|n| format!("/{round}/{n}"));
        stored.extend(roots.take_while(|root| {
            let is_stored = caller.add(root).is_ok();
            refused.extend((!is_stored).then(|| root.clone()));
            is_stored
        }));
        daemon.kill();
        let mut daemon = disk.launch(&["daemon", "run"]);
        if is_served(&disk, &mut daemon) {
            let told = caller.read_all().unwrap();
            assert!(stored.iter().all(|root| told.knows(root)), "round {round}");
        }
        daemon.kill();
        disk.make_room();
    }
    let daemon = disk.daemon();
    let told = caller.read_all().unwrap();
    assert!(stored.iter().all(|root| told.knows(root)));
    assert!(!refused.iter().any(|root| told.knows(root)));
    assert_eq!(caller.count("store.repaired"), 0);
    assert!(caller.audit().unwrap().ok);
    assert!(daemon.stop().success());
}

#[test]
fn a_backup_for_which_there_is_no_room_leaves_nothing_behind() {
    let disk = disk_with_ballast();
    let daemon = disk.daemon();
    let copy = disk.inner_root().join("copy.db").display().to_string();
    for blocks in [0, 1, 5, 20] {
        disk.fill(blocks * BLOCK);
        let ran = disk.run(&["db", "backup", &copy]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("no room left on the disk"), "{ran:?}");
        let left = names(&disk.root());
        assert!(!left.iter().any(|name| name.starts_with("copy")), "{left:?}");
        disk.make_room();
    }
    let ran = disk.run(&["db", "backup", &copy]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(daemon.stop().success());
}

#[test]
fn a_new_home_needs_room_and_says_so() {
    let disk = SmallDisk::new(PROGRAM, 12 * MB);
    let refused = (0..).take_while(|blocks| {
        disk.clear();
        disk.fill(blocks * BLOCK);
        let mut daemon = disk.launch(&["daemon", "run"]);
        let served = is_served(&disk, &mut daemon);
        if !served {
            assert_says_that_there_is_no_room(&disk, &mut daemon);
        }
        daemon.kill();
        disk.make_room();
        assert!(disk.daemon().stop().success());
        !served
    });
    assert!(refused.count() > 10);
}

#[test]
fn a_store_on_a_full_disk_is_served_or_refused_but_never_lost() {
    let disk = SmallDisk::new(PROGRAM, 12 * MB);
    configure(&disk, 0);
    let daemon = disk.daemon();
    Caller::new(disk.client()).add("/before").unwrap();
    assert!(daemon.stop().success());
    let refused = (0..).take_while(|blocks| {
        disk.fill(blocks * BLOCK);
        let mut daemon = disk.launch(&["daemon", "run"]);
        let served = is_served(&disk, &mut daemon);
        if served {
            assert!(Caller::new(disk.client()).read_all().unwrap().knows("/before"));
        } else {
            assert_says_that_there_is_no_room(&disk, &mut daemon);
        }
        daemon.kill();
        disk.make_room();
        !served
    });
    assert!(refused.count() > 0);
    let daemon = disk.daemon();
    let caller = Caller::new(disk.client());
    assert!(caller.read_all().unwrap().knows("/before"));
    assert_eq!(caller.count("store.repaired"), 0);
    assert!(caller.audit().unwrap().ok);
    assert!(daemon.stop().success());
}

#[test]
fn a_disk_that_filled_up_while_no_daemon_ran_gives_up_its_ballast_to_the_next() {
    // The first blocks that are missing are those for the lock, and the next those for the store.
    for blocks in [0, 1, 2, 5] {
        let disk = disk_with_ballast();
        let daemon = disk.daemon();
        let caller = Caller::new(disk.client());
        caller.add("/before").unwrap();
        eventually("ballast is laid in", || disk.root().join("ballast").exists().then_some(()));
        assert!(daemon.stop().success());
        disk.fill(blocks * BLOCK);

        let daemon = disk.daemon();
        assert!(caller.read_all().unwrap().knows("/before"));
        assert_eq!(caller.add_in_vain("/during").slug(), "disk-full");
        eventually("the log tells", || (caller.count("store.full") == 1).then_some(()));
        disk.make_room();
        eventually("a write succeeds", || caller.add("/after").ok());
        eventually("ballast is laid in", || disk.root().join("ballast").exists().then_some(()));
        assert_eq!(caller.count("store.room_again"), 1);
        assert!(daemon.stop().success());
    }
}

#[test]
fn a_start_on_a_full_disk_says_so_and_leaves_nothing_running() {
    let disk = SmallDisk::new(PROGRAM, 12 * MB);
    for blocks in [0, 1, 2, 3, 5, 10] {
        disk.clear();
        disk.fill(blocks * BLOCK);
        let ran = disk.run(&["daemon", "start"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let sentence = format!("no room left on the disk under {}", disk.inner_root().display());
        assert!(ran.stderr.contains(&sentence), "{blocks}: {ran:?}");
        assert_nothing_runs_in(&disk.inner_root());
    }
}

#[test]
fn a_read_only_home_is_refused_by_its_name() {
    let disk = SmallDisk::new(PROGRAM, 12 * MB);
    for is_new in [true, false] {
        if !is_new {
            assert!(disk.daemon().stop().success());
        }
        disk.remount("ro");
        let sentence =
            format!("{} cannot be used: Read-only file system", disk.inner_root().display());
        for (arguments, code) in [(["daemon", "run"], 75), (["daemon", "start"], 1)] {
            let ran = run_out(disk.launch(&arguments));
            assert_eq!(ran.code, Some(code), "{ran:?}");
            assert!(ran.stderr.contains(&sentence), "{ran:?}");
            assert_nothing_runs_in(&disk.inner_root());
        }
        disk.remount("rw");
    }
    assert!(disk.daemon().stop().success());
}

/// The kernel makes no disk read-only that somebody writes to, unless the disk fails. So its answers are
/// made up.
#[test]
fn a_disk_that_fails_under_a_running_daemon_ends_it_and_loses_nothing() {
    for error in ["EROFS", "EIO"] {
        let home = TestHome::new(PROGRAM);
        assert!(home.daemon().stop().success());
        let mut command = Command::new("strace");
        home.equip(&mut command);
        let inject = format!("inject=pwrite64:error={error}:when=100+");
        command.args(["-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64", "-e", &inject]);
        command.arg(PROGRAM).args(["daemon", "run"]);
        let mut daemon = Daemon::launch(&home, command);
        let caller = Caller::new(home.client());
        eventually("the daemon answers", || caller.status().ok());
        let (stored, refused): (Vec<_>, Vec<_>) =
            (0..60).map(|n| format!("/{n}")).partition(|root| caller.add(root).is_ok());
        assert_eq!(daemon.wait().code(), Some(75), "{}", daemon.said());
        assert!(daemon.said().contains("the disk failed"), "{}", daemon.said());
        assert!(!stored.is_empty() && !refused.is_empty());

        let daemon = home.daemon();
        let told = caller.read_all().unwrap();
        assert!(stored.iter().all(|root| told.knows(root)));
        assert!(!refused.iter().any(|root| told.knows(root)));
        assert!(daemon.stop().success());
    }
}

/// What a failed sync has lost, a second one on the same descriptor does not bring back.
#[test]
fn nothing_is_tried_again_on_a_descriptor_whose_sync_failed() {
    let home = TestHome::new(PROGRAM);
    assert!(home.daemon().stop().success());
    let trace = home.folder("trace").join("calls");
    let (path, log) = (trace.display().to_string(), home.root().join("cmux.db-wal"));
    let calls = "trace=fsync,fdatasync,pwrite64,unlink";
    let inject = "inject=fsync,fdatasync:error=EIO:when=20";
    let mut command = Command::new("strace");
    home.equip(&mut command);
    command.args(["-D", "-f", "-qq", "-y", "-s", "1", "-o", &path, "-e", calls, "-e", inject]);
    command.arg(PROGRAM).args(["daemon", "run"]);
    let (stored, refused) = add_until_it_ends(&home, command, 60);
    assert!(!stored.is_empty() && !refused.is_empty());

    let trace = fs::read_to_string(trace).unwrap();
    let after: Vec<&str> = trace.lines().skip_while(|line| !line.contains("INJECTED")).collect();
    let log = log.display().to_string();
    assert!(after[0].contains(&log), "{}", after[0]);
    let again: Vec<&&str> = after[1..].iter().filter(|line| line.contains(&log)).collect();
    assert!(again.is_empty(), "{again:?}");
    check_kept(&home, &stored);
}

#[test]
fn a_log_that_cannot_be_moved_into_the_database_is_not_kept_quiet() {
    let home = TestHome::new(PROGRAM);
    assert!(home.daemon().stop().success());
    let database = home.root().join("cmux.db").display().to_string();
    let inject = "inject=fsync,fdatasync:error=EIO";
    let mut command = Command::new("strace");
    home.equip(&mut command);
    command.args(["-D", "-f", "-qq", "-o", "/dev/null", "-P", &database, "-e", inject]);
    command.arg(PROGRAM).args(["daemon", "run"]);
    let (stored, refused) = add_until_it_ends(&home, command, 2_000);
    assert!(!refused.is_empty());
    check_kept(&home, &stored);
}

/// Adds projects to the daemon that `command` runs, up to so many, and sees it end because the disk
/// failed. Returns those that were stored and those that were not.
fn add_until_it_ends(home: &TestHome, command: Command, most: u32) -> (Vec<String>, Vec<String>) {
    let mut daemon = Daemon::launch(home, command);
    let caller = Caller::new(home.client());
    eventually("the daemon answers", || caller.status().ok());
    let added = (0..most).map(|n| format!("/{n}")).partition(|root| caller.add(root).is_ok());
    assert_eq!(daemon.wait().code(), Some(75), "{}", daemon.said());
    assert!(daemon.said().contains("the disk failed"), "{}", daemon.said());
    added
}

/// Sees that what was acknowledged is there after the next start, and needs no mending.
fn check_kept(home: &TestHome, stored: &[String]) {
    let daemon = home.daemon();
    let told = Caller::new(home.client()).read_all().unwrap();
    assert!(stored.iter().all(|root| told.knows(root)));
    assert!(daemon.stop().success());
}

/// Returns a small disk on which ballast is laid in.
fn disk_with_ballast() -> SmallDisk {
    let disk = SmallDisk::new(PROGRAM, 12 * MB);
    configure(&disk, 2);
    disk
}

fn configure(disk: &SmallDisk, ballast_mb: u32) {
    let config = format!("[store]\nballast_mb = {ballast_mb}\n");
    fs::write(disk.root().join("config.toml"), config).unwrap();
}

/// Returns whether `daemon` comes to answer, rather than to end.
fn is_served(disk: &SmallDisk, daemon: &mut Daemon) -> bool {
    let caller = Caller::new(disk.client());
    eventually("it answers or ends", || match daemon.ended() {
        Some(_) => Some(false),
        None => caller.status().is_ok().then_some(true),
    })
}

#[track_caller]
fn assert_says_that_there_is_no_room(disk: &SmallDisk, daemon: &mut Daemon) {
    let said = daemon.said();
    assert_eq!(daemon.wait().code(), Some(75), "{said}");
    let sentence = format!("no room left on the disk under {}", disk.inner_root().display());
    assert!(said.contains(&sentence), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

/// Sees that `daemon` takes less than half a processor, while `work` is asked of it now and then.
#[track_caller]
fn assert_does_not_spin(daemon: &Daemon, work: impl Fn()) {
    let (begun, before) = (Instant::now(), processor_time(daemon.pid()));
    while begun.elapsed() < WATCHED {
        work();
        std::thread::sleep(WATCHED / 10);
    }
    let used = processor_time(daemon.pid()) - before;
    assert!(used < begun.elapsed() / 2, "it used {used:?} of {:?}", begun.elapsed());
}
