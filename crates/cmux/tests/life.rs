//! The daemon's life, through the real program: it starts once, stops whole, and leaves nothing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use cmux_core::time::Timestamp;
use cmux_drivers::lock::{Holder, Lock, Role};
use cmux_drivers::process::Process;
use cmux_testkit::home::{Ran, TestHome};
use cmux_wire::client::EventQuery;
use cmux_wire::event::Notice;
use cmux_wire::stream::Told;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");

/// What scripts rely on in `cmux daemon status --json`.
const FIELDS: [&str; 8] =
    ["running", "ready", "pid", "guard_pid", "version", "port", "home", "started_at"];

#[test]
fn a_daemon_that_is_told_to_stop_leaves_nothing_behind() {
    let home = TestHome::new(PROGRAM);
    let daemon = home.daemon();
    assert!(home.root().join("cmux.sock").exists());
    assert!(daemon.stop().success());
    assert!(!home.root().join("cmux.sock").exists());
}

#[test]
fn a_start_returns_when_the_daemon_is_ready_and_may_be_repeated() {
    let home = TestHome::new(PROGRAM);
    let first = home.run(&["daemon", "start"]);
    assert_eq!((first.code, first.stderr.as_str()), (Some(0), ""), "{first:?}");
    let status = home.json(&["daemon", "status"]);
    assert_eq!((&status["running"], &status["ready"]), (&json!(true), &json!(true)));
    let told = format!(
        "daemon ready: process {}, guard {}, port {}, home {}\n",
        status["pid"],
        status["guard_pid"],
        status["port"],
        home.root().display()
    );
    assert_eq!(first.stdout, told);
    assert_eq!(home.run(&["daemon", "start"]).stdout, told);
    assert_eq!(home.json(&["daemon", "start"]), status);
    for process in ["pid", "guard_pid"] {
        let folder = fs::read_link(format!("/proc/{}/cwd", status[process])).unwrap();
        assert_eq!(folder, Path::new("/"), "{process} keeps a folder in use");
    }
}

#[test]
fn of_many_who_start_at_once_all_get_the_same_daemon() {
    let home = TestHome::new(PROGRAM);
    let started: Vec<Value> = thread::scope(|scope| {
        let start = || home.json(&["daemon", "start"]);
        let starts: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    for other in &started {
        assert_eq!(
            (&other["pid"], &other["guard_pid"]),
            (&started[0]["pid"], &started[0]["guard_pid"])
        );
    }
    assert_eq!(in_home(&home).len(), 2);
}

#[test]
fn the_status_has_the_fields_that_scripts_rely_on_whether_a_daemon_runs_or_not() {
    let home = TestHome::new(PROGRAM);
    let none = home.run(&["daemon", "status", "--json"]);
    assert_eq!(none.code, Some(3), "{none:?}");
    let status: Value = serde_json::from_str(&none.stdout).unwrap();
    assert_eq!(missing(&status), [""; 0]);
    let found = ["running", "ready", "pid", "port"].map(|name| status[name].clone());
    assert_eq!(found, [json!(false), json!(false), Value::Null, Value::Null]);

    let said = home.run(&["daemon", "status"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(3), ""), "{said:?}");
    assert!(said.stderr.contains("no daemon is running in"), "{said:?}");
    assert!(said.stderr.contains("`cmux daemon start`"), "{said:?}");

    let daemon = home.daemon();
    let status = home.json(&["daemon", "status"]);
    assert_eq!(missing(&status), [""; 0]);
    assert_eq!(status["pid"], daemon.pid());
    assert_eq!(status["guard_pid"], Value::Null);
    assert_eq!(status["home"], home.root().display().to_string());
    assert!(status["started_at"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn a_stop_says_what_it_stopped_and_may_be_repeated() {
    let home = TestHome::new(PROGRAM);
    let nothing = home.run(&["daemon", "stop"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(0), "no daemon was running\n"));
    let pid = home.json(&["daemon", "start"])["pid"].clone();
    let stopped = home.run(&["daemon", "stop"]);
    let told = format!("the daemon (process {pid}) has stopped\n");
    assert_eq!((stopped.code, stopped.stdout), (Some(0), told));
    assert_eq!(home.json(&["daemon", "stop"]), json!({"pid": null, "forced": false, "left": []}));
}

#[test]
fn a_stop_tells_of_a_port_that_somebody_else_has() {
    let home = TestHome::new(PROGRAM);
    let port = free_port();
    let with_port = |arguments: &[&str]| -> Ran {
        home.command(arguments).env("CMUX_PORT", port.to_string()).output().unwrap().into()
    };
    assert_eq!(with_port(&["daemon", "start"]).code, Some(0));
    let clean = with_port(&["daemon", "stop"]);
    assert!(!clean.stdout.contains("still there"), "{clean:?}");
    let taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let stopped = with_port(&["daemon", "stop"]);
    let told = format!("still there: port {port} is held by");
    assert!(stopped.stdout.contains(&told), "{stopped:?}");
    assert!(stopped.stdout.contains(&format!("(process {})", std::process::id())), "{stopped:?}");

    let refused = with_port(&["daemon", "start"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
    let told = format!("port {port} on 127.0.0.1 is taken by");
    assert!(refused.stderr.contains(&told), "{refused:?}");
    assert!(refused.stderr.contains("CMUX_PORT"), "{refused:?}");
    assert_eq!(in_home(&home), [0; 0]);
    drop(taken);
}

#[test]
fn a_daemon_that_does_not_hear_is_ended_by_force() {
    let home = TestHome::new(PROGRAM);
    let mut daemon = home.daemon();
    daemon.signal(Signal::STOP);
    let stopped = home.run(&["daemon", "stop"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    assert!(stopped.stdout.contains(&format!("process {}", daemon.pid())), "{stopped:?}");
    assert!(stopped.stdout.contains("was ended by force"), "{stopped:?}");
    assert!(daemon.ended().is_some());
    assert!(!home.root().join("cmux.sock").exists());
    home.daemon();
}

#[test]
fn a_restart_is_a_stop_and_a_start() {
    let home = TestHome::new(PROGRAM);
    let before = home.json(&["daemon", "start"]);
    home.json(&["project", "add", &home.folder("kept").display().to_string()]);
    let after = home.json(&["daemon", "restart"]);
    assert_ne!(after["pid"], before["pid"]);
    assert_ne!(after["guard_pid"], before["guard_pid"]);
    assert_eq!(in_home(&home).len(), 2);
    assert_eq!(
        kinds(&home),
        ["daemon.started", "project.added", "daemon.stopping", "daemon.started"]
    );
    home.json(&["daemon", "stop"]);
    let from_nothing = home.json(&["daemon", "restart"]);
    assert_eq!(from_nothing["ready"], true);
}

#[test]
fn what_could_not_be_started_again_is_not_stopped_for_a_restart() {
    let home = TestHome::new(PROGRAM);
    let before = home.json(&["daemon", "start"]);
    fs::write(home.root().join("config.toml"), "prot = 8000\n").unwrap();
    let refused = home.run(&["daemon", "restart"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
    assert!(refused.stderr.contains("Did you mean `port`?"), "{refused:?}");
    assert_eq!(home.json(&["daemon", "status"])["pid"], before["pid"]);
}

#[test]
fn a_second_daemon_is_turned_away_and_told_who_was_first() {
    let home = TestHome::new(PROGRAM);
    let daemon = home.daemon();
    let second = home.run(&["daemon", "run"]);
    assert_eq!(second.code, Some(75), "{second:?}");
    let told = format!("process {} serves {} already", daemon.pid(), home.root().display());
    assert!(second.stderr.contains(&told), "{second:?}");
    assert_eq!(home.json(&["daemon", "status"])["pid"], daemon.pid());
}

#[test]
fn what_a_killed_daemon_left_behind_is_no_obstacle() {
    let home = TestHome::new(PROGRAM);
    let daemon = home.daemon();
    let (dead, lock) = (daemon.pid(), home.root().join("cmux.lock"));
    daemon.kill();
    assert!(home.root().join("cmux.sock").exists());
    assert!(fs::read_to_string(&lock).unwrap().contains(&format!("pid={dead}\n")));
    assert_eq!(home.run(&["daemon", "status"]).code, Some(3));
    assert_eq!(home.run(&["daemon", "stop"]).stdout, "no daemon was running\n");
    assert!(!home.root().join("cmux.sock").exists());
    fs::write(home.root().join("cmux.sock"), "not even a socket").unwrap();
    fs::write(&lock, "not even a note").unwrap();
    home.daemon();
}

#[test]
fn a_stop_ends_no_innocent_process() {
    let home = TestHome::new(PROGRAM);
    let mut innocent = Innocent::new();
    for lock in ["cmux.lock", "guard.lock"] {
        let path = home.root().join(lock);
        fs::write(&path, "").unwrap();
        let file = fs::metadata(&path).unwrap();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let role = if lock == "cmux.lock" { "daemon" } else { "guard" };
        // The number of a daemon that has ended is somebody else's by now.
        let note = format!(
            "boot={}\nfile={}:{}\nrole={role}\npid={}\nstart=1\nsince=1\nversion=0.1.0\nport=1\n",
            boot.trim(),
            file.dev(),
            file.ino(),
            innocent.0.id()
        );
        fs::write(&path, note).unwrap();
    }
    assert_eq!(home.run(&["daemon", "status"]).code, Some(3));
    assert_eq!(home.run(&["daemon", "stop"]).stdout, "no daemon was running\n");
    home.json(&["daemon", "start"]);
    home.json(&["daemon", "stop"]);
    assert!(innocent.lives());
}

#[test]
fn a_stop_leaves_a_command_that_works_on_the_store_alone() {
    let home = TestHome::new(PROGRAM);
    let mut command = Innocent::new();
    let process = Process::find(command.0.id()).unwrap();
    let mut lock = Lock::take(&home.root().join("cmux.lock")).unwrap();
    let (role, version) = (Role::Command, "0.1.0".to_owned());
    lock.note(&Holder { role, process, since: Timestamp(1), version, port: None }).unwrap();
    assert_eq!(home.run(&["daemon", "status"]).code, Some(3));
    let refused = home.run(&["daemon", "stop"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
    let told = format!("process {} works on the store", process.pid);
    assert!(refused.stderr.contains(&told), "{refused:?}");
    assert!(command.lives());
}

#[test]
fn a_stop_in_a_copied_home_leaves_the_daemon_of_the_original_alone() {
    let (home, copy) = (TestHome::new(PROGRAM), TestHome::new(PROGRAM));
    let status = home.json(&["daemon", "start"]);
    for lock in ["cmux.lock", "guard.lock"] {
        fs::copy(home.root().join(lock), copy.root().join(lock)).unwrap();
    }
    assert_eq!(copy.run(&["daemon", "status"]).code, Some(3));
    assert_eq!(copy.run(&["daemon", "stop"]).stdout, "no daemon was running\n");
    assert_eq!(home.json(&["daemon", "status"]), status);
}

#[test]
fn a_daemon_says_goodbye_before_it_ends_and_stores_that_it_did() {
    let home = TestHome::new(PROGRAM);
    let mut daemon = home.daemon();
    let ending = &daemon;
    let told = home.ask(|client| async move {
        let mut followers = Vec::new();
        for _ in 0..30 {
            let mut stream = client.follow(&EventQuery::default()).await?;
            let mut told = vec![stream.next().await?.unwrap()];
            followers.push(tokio::spawn(async move {
                while let Some(next) = stream.next().await? {
                    told.push(next);
                }
                Ok(told)
            }));
        }
        ending.signal(Signal::TERM);
        let mut all = Vec::new();
        for follower in followers {
            all.push(follower.await.unwrap()?);
        }
        Ok(all)
    });
    for told in told.unwrap() {
        let [hello, stopping, goodbye] = told.as_slice() else { panic!("{told:?}") };
        assert!(matches!(hello, Told::Notice(Notice::Hello { .. })), "{told:?}");
        assert!(matches!(goodbye, Told::Notice(Notice::Goodbye { .. })), "{told:?}");
        let Told::Event(event) = stopping else { panic!("{told:?}") };
        assert_eq!(
            (event.kind.as_str(), &event.data["why"]),
            ("daemon.stopping", &json!("signal"))
        );
    }
    assert!(daemon.wait().success());
    let _again = home.daemon();
    assert_eq!(kinds(&home), ["daemon.started", "daemon.stopping", "daemon.started"]);
}

#[test]
fn a_request_under_way_is_answered_before_the_end() {
    let home = TestHome::new(PROGRAM);
    let mut daemon = home.daemon();
    let body = json!({"root": home.folder("late")}).to_string();
    let (begin, rest) = body.split_at(3);
    let mut socket = UnixStream::connect(home.root().join("cmux.sock")).unwrap();
    write!(
        socket,
        "POST /api/projects HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{begin}",
        body.len()
    )
    .unwrap();
    let ending = &daemon;
    let said_goodbye = home.ask(|client| async move {
        let mut stream = client.follow(&EventQuery::default()).await?;
        ending.signal(Signal::TERM);
        while stream.next().await?.is_some() {}
        Ok(())
    });
    said_goodbye.unwrap();
    socket.write_all(rest.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    assert!(daemon.wait().success(), "{}", daemon.said());
    let _again = home.daemon();
    assert_eq!(home.json(&["project", "list"])["projects"][0]["name"], "late");
}

#[test]
fn twenty_starts_and_stops_leave_no_process_no_socket_and_no_port() {
    let home = TestHome::new(PROGRAM);
    for _ in 0..20 {
        let status = home.json(&["daemon", "start"]);
        let found = in_home(&home);
        assert_eq!(found.len(), 2, "{found:?}");
        home.json(&["daemon", "stop"]);
        assert_eq!(in_home(&home), [0; 0]);
        assert!(!home.root().join("cmux.sock").exists());
        let port = u16::try_from(status["port"].as_u64().unwrap()).unwrap();
        assert!(TcpListener::bind(("127.0.0.1", port)).is_ok(), "port {port} is still taken");
    }
}

/// A process that has nothing to do with cmux.
struct Innocent(Child);

impl Innocent {
    fn new() -> Innocent {
        Innocent(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Innocent {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// Returns the processes that run in `home`, by their arguments and environment.
fn in_home(home: &TestHome) -> Vec<u32> {
    let root = home.root().display().to_string();
    let names_home = |file: &Path| {
        let bytes = fs::read(file).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(&root)
    };
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap() {
        let path = entry.unwrap().path();
        let Some(pid) = path.file_name().and_then(|name| name.to_str()?.parse().ok()) else {
            continue;
        };
        // Of a process that has ended, both are empty.
        if names_home(&path.join("cmdline")) || names_home(&path.join("environ")) {
            found.push(pid);
        }
    }
    found
}

/// Returns the fields that should be there and are not.
fn missing(status: &Value) -> Vec<&'static str> {
    FIELDS.into_iter().filter(|name| status.get(name).is_none()).collect()
}

/// Returns the kinds of all events, oldest first.
#[track_caller]
fn kinds(home: &TestHome) -> Vec<String> {
    let ran = home.run(&["events", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let kind = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        event["kind"].as_str().unwrap().to_owned()
    };
    ran.stdout.lines().map(kind).collect()
}

/// Returns a port that nobody has just now.
fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}
