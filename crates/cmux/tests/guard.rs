//! The guard: whatever becomes of the daemon, somebody sees to it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use cmux_testkit::daemon::Daemon;
use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;
use cmux_wire::client::ClientError;
use cmux_wire::project::NewProject;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");

/// Waits so short that a test need not.
const SETTINGS: &str = "[guard]\ndelay_first_ms = 50\ndelay_max_s = 1\nheartbeat_s = 2\nexits_max = 5\nwindow_s = 60\n";

/// The same, as the guard's own flags.
const FLAGS: [&str; 6] = [
    "guard",
    "--exits-max=5",
    "--window-s=60",
    "--delay-first-ms=50",
    "--delay-max-s=1",
    "--heartbeat-s=2",
];

/// As long as the daemon may be silent.
const HEARTBEAT: Duration = Duration::from_secs(2);

#[test]
fn a_killed_daemon_comes_back_with_all_that_was_acknowledged() {
    let home = home();
    let (mut daemon, guard) = start(&home);
    for round in 1..=3 {
        add(&home, &format!("p{round}"));
        daemon = kill(&home, daemon);
        assert_eq!(guard_of(&home), Some(guard));
        assert_eq!(projects(&home).len(), round);
        assert_eq!(starts(&home), round + 1);
    }
    let log = home.log();
    assert_eq!(log.matches("the daemon ended (signal: 9 (SIGKILL)); next start in").count(), 3);
}

#[test]
fn five_kills_in_a_minute_end_in_safe_mode_which_a_restart_leaves() {
    let home = home();
    let (mut daemon, guard) = start(&home);
    add(&home, "before");
    for _ in 0..5 {
        assert_eq!(home.json(&["daemon", "status"])["safe_mode"], Value::Null);
        daemon = kill(&home, daemon);
    }
    assert_eq!(guard_of(&home), Some(guard));
    says_that_it_is_in_safe_mode(&home);
    can_be_read_and_not_written(&home);

    let restarted = home.json(&["daemon", "restart"]);
    assert_eq!(restarted["safe_mode"], Value::Null);
    add(&home, "after");
    assert_eq!(projects(&home), ["after", "before"]);
}

fn says_that_it_is_in_safe_mode(home: &TestHome) {
    let why = "it ended 5 times in 60 s, last: signal: 9 (SIGKILL)";
    let status = home.run(&["status"]);
    assert_eq!(status.code, Some(0), "{status:?}");
    assert!(status.stdout.contains(&format!("nothing can be changed: {why}")), "{status:?}");
    assert!(status.stdout.contains("`cmux daemon restart`"), "{status:?}");
    assert_eq!(home.json(&["daemon", "status"])["safe_mode"], why);

    let doctor = home.run(&["doctor", "--json"]);
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    let check = checked(&doctor.stdout, "daemon");
    assert_eq!(check["status"], "bad");
    assert!(check["detail"].as_str().unwrap().contains(why), "{check}");
    assert!(check["remedy"].as_str().unwrap().contains("cmux daemon restart"), "{check}");
}

fn can_be_read_and_not_written(home: &TestHome) {
    assert_eq!(projects(home), ["before"]);
    // The start in safe mode itself is not in the log, which nobody writes to.
    assert_eq!(starts(home), 5);
    let root = home.folder("refused").display().to_string();
    let refused = home.run(&["project", "add", &root]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
    for told in ["safe mode", "nothing can be changed", "`cmux daemon restart`"] {
        assert!(refused.stderr.contains(told), "{refused:?}");
    }
    let new = NewProject { root, name: None };
    match home.ask(|client| async move { client.add_project(&new).await }) {
        Err(ClientError::Refused(problem)) => {
            assert_eq!((problem.slug(), problem.status), ("safe-mode", 503));
        }
        answer => panic!("{answer:?}"),
    }
}

#[test]
fn a_daemon_that_hangs_is_replaced() {
    let home = home();
    let (daemon, guard) = start(&home);
    add(&home, "kept");
    signal(daemon, Signal::STOP);
    let next = comes_back(&home, daemon);
    assert_eq!((guard_of(&home), is_alive(daemon)), (Some(guard), false));
    assert_ne!(next, daemon);
    assert_eq!(projects(&home), ["kept"]);
    assert!(home.log().contains("no sign of life"), "{}", home.log());
}

#[test]
fn a_guard_that_was_asleep_does_not_take_the_daemon_for_hung() {
    let home = home();
    let (daemon, guard) = start(&home);
    for _ in 0..3 {
        signal(guard, Signal::STOP);
        let_pass(HEARTBEAT);
        signal(guard, Signal::CONT);
    }
    // What the guard does about this comes after all that it may have done before.
    kill(&home, daemon);
    let log = home.log();
    assert_eq!(
        log.matches("the daemon ended (signal: 9 (SIGKILL)); next start").count(),
        1,
        "{log}"
    );
    assert!(!log.contains("no sign of life"), "{log}");
}

#[test]
fn a_daemon_beats_as_its_guard_expects_whatever_the_file_says_by_now() {
    let home = home();
    let (daemon, _) = start(&home);
    configure(&home, &SETTINGS.replace("heartbeat_s = 2", "heartbeat_s = 3600"));
    let next = kill(&home, daemon);
    let_pass(HEARTBEAT * 2);
    assert_eq!(daemon_of(&home), Some(next), "{}", home.log());
}

#[test]
fn a_daemon_goes_on_without_its_guard_and_a_restart_brings_one_back() {
    let home = home();
    let (daemon, guard) = start(&home);
    signal(guard, Signal::KILL);
    eventually("the guard is gone", || (!is_alive(guard)).then_some(()));
    add(&home, "unguarded");
    assert_eq!((daemon_of(&home), guard_of(&home)), (Some(daemon), None));
    let status = home.run(&["status"]);
    assert!(status.stdout.contains("no guard"), "{status:?}");
    let check = checked(&home.run(&["doctor", "--json"]).stdout, "daemon");
    assert_eq!(check["status"], "warning", "{check}");
    assert!(check["remedy"].as_str().unwrap().contains("cmux daemon restart"), "{check}");

    home.json(&["daemon", "restart"]);
    let (next, next_guard) = (daemon_of(&home).unwrap(), guard_of(&home).unwrap());
    assert_eq!(projects(&home), ["unguarded"]);
    assert!(!is_alive(daemon));
    home.json(&["daemon", "stop"]);
    assert_eq!([next, next_guard].map(is_alive), [false, false]);
}

#[test]
fn a_guard_that_is_told_to_end_takes_the_daemon_with_it() {
    let home = home();
    let mut guard = launch(&home);
    let status = home.json(&["daemon", "status"]);
    let daemon = pid(&status["pid"]).unwrap();
    guard.signal(Signal::TERM);
    assert_eq!(guard.wait().code(), Some(0), "{}", guard.said());
    assert!(!is_alive(daemon));
    assert!(!home.root().join("cmux.sock").exists());
    let port = u16::try_from(status["port"].as_u64().unwrap()).unwrap();
    assert!(TcpListener::bind(("127.0.0.1", port)).is_ok());
    assert!(home.log().contains("stopping"), "{}", home.log());
}

#[test]
fn both_outlive_the_terminal_they_were_started_in() {
    let home = home();
    let socket = home.folder("terminal").join("tmux");
    let tmux = |arguments: &[&str]| {
        let mut tmux = Command::new("tmux");
        home.equip(&mut tmux);
        tmux.arg("-S").arg(&socket).args(["-f", "/dev/null"]).args(arguments);
        let done = tmux.output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    // A shell without job control: all that it starts shares the terminal with it.
    tmux(&["new-session", "-d", &format!("'{PROGRAM}' daemon start; cat")]);
    let server = tmux(&["display-message", "-p", "#{pid}"]).trim().parse().unwrap();
    let daemon = eventually("the daemon is there", || daemon_of(&home));
    let guard = guard_of(&home).unwrap();
    tmux(&["kill-server"]);
    eventually("the terminal is gone", || (!is_alive(server)).then_some(()));
    add(&home, "afterwards");
    assert_eq!((daemon_of(&home), guard_of(&home)), (Some(daemon), Some(guard)));
    assert!(!home.log().contains("the daemon ended"), "{}", home.log());
}

#[test]
fn a_wrong_configuration_is_told_and_not_tried_again() {
    let home = home();
    let mut guard = launch(&home);
    configure(&home, "prot = 8000\n");
    signal(daemon_of(&home).unwrap(), Signal::KILL);
    assert_eq!(guard.wait().code(), Some(78), "{}", guard.said());
    let log = home.log();
    assert_eq!(log.matches("there is no setting `prot`. Did you mean `port`?").count(), 1, "{log}");
    let said = guard.said();
    assert!(said.contains("(exit status: 78) and is not started again"), "{said}");
}

#[test]
fn a_port_taken_meanwhile_is_waited_out_and_never_counted() {
    let home = home();
    let port = free_port();
    configure(&home, &format!("port = {port}\n{SETTINGS}"));
    let started = home.command(&["daemon", "start"]).env_remove("CMUX_PORT").output().unwrap();
    assert!(started.status.success(), "{started:?}");
    let (daemon, guard) = (daemon_of(&home).unwrap(), guard_of(&home).unwrap());

    // Asleep, the guard does not put a new daemon there before the port is taken.
    signal(guard, Signal::STOP);
    signal(daemon, Signal::KILL);
    let taken = eventually("the port is free", || TcpListener::bind(("127.0.0.1", port)).ok());
    signal(guard, Signal::CONT);
    let faults = || home.log().matches("the daemon ended (exit status: 75); next start in").count();
    eventually("more faults than would be crashes", || (faults() >= 7).then_some(()));
    let status = home.run(&["daemon", "status"]);
    assert_eq!(status.code, Some(3), "{status:?}");
    assert!(status.stderr.contains(&format!("its guard {guard} is to start it")), "{status:?}");
    let told = format!("port {port} on 127.0.0.1 is taken by");
    assert!(home.log().contains(&told), "{}", home.log());

    drop(taken);
    comes_back(&home, daemon);
    let status = home.json(&["daemon", "status"]);
    assert_eq!((&status["safe_mode"], pid(&status["guard_pid"])), (&Value::Null, Some(guard)));
    add(&home, "afterwards");
}

#[test]
fn a_guard_is_smaller_than_what_it_guards() {
    let home = home();
    let (daemon, guard) = start(&home);
    let (small, large) = (resident_kb(guard), resident_kb(daemon));
    assert!(small < large, "{small} KB against {large} KB");
}

#[test]
fn the_log_is_kept_within_bounds() {
    let home = home();
    start(&home);
    let path = home.root().join("logs/daemon.log");
    let mut log = OpenOptions::new().append(true).open(&path).unwrap();
    log.write_all(&b"what was said before\n".repeat(11 << 20 >> 4)).unwrap();
    let length = |path: &std::path::Path| fs::metadata(path).map_or(0, |file| file.len());
    eventually("the log is short again", || (length(&path) < 1 << 20).then_some(()));
    assert!(length(&path.with_extension("log.1")) > 11 << 20);
    home.json(&["daemon", "stop"]);
    assert!(home.log().contains("stopping"), "{}", home.log());
    assert!(length(&path) < 1 << 20);
}

/// Returns a home whose guard has little patience.
fn home() -> TestHome {
    let home = TestHome::new(PROGRAM);
    configure(&home, SETTINGS);
    home
}

fn configure(home: &TestHome, text: &str) {
    fs::write(home.root().join("config.toml"), text).unwrap();
}

/// Starts a guarded daemon, and returns its process and the guard's.
#[track_caller]
fn start(home: &TestHome) -> (i32, i32) {
    let status = home.json(&["daemon", "start"]);
    (pid(&status["pid"]).unwrap(), pid(&status["guard_pid"]).unwrap())
}

/// Starts a guard as a child, whose exit code can be seen, and waits for its daemon.
fn launch(home: &TestHome) -> Daemon {
    fs::create_dir_all(home.root().join("logs")).unwrap();
    let mut guard = Daemon::launch(home, home.command(&FLAGS));
    eventually("the daemon is there", || {
        assert_eq!(guard.ended(), None, "{}", home.log());
        daemon_of(home)
    });
    guard
}

/// Kills the daemon as a power cut would, and returns the one that takes its place.
#[track_caller]
fn kill(home: &TestHome, daemon: i32) -> i32 {
    signal(daemon, Signal::KILL);
    comes_back(home, daemon)
}

/// Waits for another daemon than `before` to answer.
#[track_caller]
fn comes_back(home: &TestHome, before: i32) -> i32 {
    let other = || daemon_of(home).filter(|&daemon| daemon != before);
    eventually("the daemon is back", other)
}

/// Returns the daemon that answers for its store, if one does.
fn daemon_of(home: &TestHome) -> Option<i32> {
    let status = home.ask(|client| async move { client.daemon().await }).ok()?;
    status.pid.filter(|_| !status.starting).map(u32::cast_signed)
}

fn guard_of(home: &TestHome) -> Option<i32> {
    let status = home.ask(|client| async move { client.daemon().await }).ok()?;
    status.guard_pid.map(u32::cast_signed)
}

fn pid(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|pid| i32::try_from(pid).ok())
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Returns whether the process lives. One that has ended may still wait to be noticed by its parent.
fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn resident_kb(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Lets time pass, where time itself is what the guard goes by.
fn let_pass(time: Duration) {
    let begun = Instant::now();
    eventually("time has passed", || (begun.elapsed() > time).then_some(()));
}

#[track_caller]
fn add(home: &TestHome, name: &str) {
    let root = home.folder(name).display().to_string();
    home.json(&["project", "add", &root]);
}

/// Returns the names of the projects, sorted.
#[track_caller]
fn projects(home: &TestHome) -> Vec<String> {
    let list = home.json(&["project", "list"]);
    let projects = list["projects"].as_array().unwrap();
    let mut names: Vec<String> =
        projects.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// Returns how often the log says that a daemon has started.
#[track_caller]
fn starts(home: &TestHome) -> usize {
    let ran = home.run(&["events", "--kind", "daemon.started", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout.lines().count()
}

/// Returns what the doctor found of `name`.
#[track_caller]
fn checked(report: &str, name: &str) -> Value {
    let report: Value = serde_json::from_str(report).unwrap();
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap().clone()
}

/// Returns a port that nobody has just now.
fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}
