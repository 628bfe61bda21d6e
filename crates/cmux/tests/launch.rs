//! The launcher: nothing that an agent starts gets away from it, and all of it ends with the agent.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use cmux_core::descent::{Forebear, Standing, Unreadable, judge};
use cmux_drivers::peer::{self, Peer};
use cmux_drivers::process::{Process, TcpClient, tcp_client};
use cmux_testkit::home::{Ran, TestHome};
use cmux_testkit::wait::eventually;
use rustix::process::{Pid, Signal, getuid, kill_process, kill_process_group};

const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");

const RUN: &str = "run_01JZZZZZZZZZZZZZZZZZZZZZZZ";

/// Another agent's run.
const OTHER: &str = "run_01JYYYYYYYYYYYYYYYYYYYYYYY";

#[test]
fn it_ends_as_the_program_does() {
    for (script, code) in [
        ("exit 0", 0),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -TERM $$", 143),
        ("kill -INT $$", 130),
        ("kill -KILL $$", 137),
    ] {
        let ran = run(&["sh", "-c", script]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), ""), "{script}: {ran:?}");
    }
}

#[test]
fn what_an_agent_may_always_run_runs_nothing_else() {
    for words in [&["launch", "--", "echo", "got away"][..], &["demo", "--name", "another"]] {
        let script = format!("{PROGRAM} {}; true", words.join(" "));
        let ran = run(&["sh", "-c", &script]);
        assert!(ran.stderr.contains("an agent may not"), "{words:?}: {ran:?}");
        assert_eq!(ran.stdout, "", "{words:?}");
    }
}

#[test]
fn what_cannot_be_started_is_told_with_the_code_that_shells_have_for_it() {
    let home = TestHome::new(PROGRAM);
    let folder = home.folder("programs");
    let (plain, orphan) = (folder.join("plain"), folder.join("orphan"));
    fs::write(&plain, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&orphan, "#!/no/such/shell\n").unwrap();
    fs::set_permissions(&orphan, fs::Permissions::from_mode(0o755)).unwrap();
    for (program, code, told) in [
        ("no-such-program-here".into(), 127, "is it installed"),
        ("/no/such/program".into(), 127, "is it installed"),
        (orphan, 127, "what its first line names"),
        (plain, 126, "may you run it"),
        (folder, 126, "may you run it"),
    ] as [(PathBuf, _, _); 5]
    {
        let name = program.display().to_string();
        let ran = run(&[&name]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:?}");
        let what = format!("error: cannot start `{name}`: ");
        assert!(ran.stderr.starts_with(&what) && ran.stderr.contains(told), "{ran:?}");
    }
    let ran = TestHome::new(PROGRAM).run(&["launch"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn the_program_has_its_own_words_and_the_launchers_input_and_output() {
    let words = ["--json", "--home", "-x", "--", "a b", ""];
    let script = "for word; do echo \"<$word>\"; done; cat; echo aside >&2";
    let mut launched = launch(&[&["sh", "-c", script, "sh"][..], &words].concat());
    launched.stdin.take().unwrap().write_all(b"typed\n").unwrap();
    let ran: Ran = launched.wait_with_output().unwrap().into();
    let expected = "<--json>\n<--home>\n<-x>\n<-->\n<a b>\n<>\ntyped\n";
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), (expected, "aside\n"));
}

#[test]
fn what_is_typed_at_the_terminal_is_the_programs_business() {
    for (signal, code) in [(Signal::INT, 130), (Signal::QUIT, 131)] {
        // One that does nothing about it ends by it: it has not learned to ignore it.
        let (mut launched, _said) = ready(&["sh", "-c", "ulimit -c 0; echo ready; exec cat"]);
        kill_process_group(pid(&launched), signal).unwrap();
        assert_eq!(end(&mut launched), Some(code));

        // One that does goes on for as long as it likes, and so does the launcher.
        let script = "ulimit -c 0; trap 'echo heard' INT QUIT; trap 'exit 3' TERM; echo ready
                      while :; do sleep 0.01; done";
        let (mut launched, mut said) = ready(&["sh", "-c", script]);
        for _ in 0..2 {
            kill_process_group(pid(&launched), signal).unwrap();
            assert_eq!(line(&mut said), "heard\n");
        }
        kill_process(pid(&launched), Signal::TERM).unwrap();
        assert_eq!(end(&mut launched), Some(3));
    }
}

#[test]
fn what_the_launcher_is_told_the_program_is_told() {
    for (signal, name, code) in [(Signal::TERM, "TERM", 143), (Signal::HUP, "HUP", 129)] {
        let (mut launched, _said) = ready(&["sh", "-c", "echo ready; exec cat"]);
        kill_process(pid(&launched), signal).unwrap();
        assert_eq!(end(&mut launched), Some(code), "{name}");

        let script = format!("trap 'exit 4' {name}; echo ready; while :; do sleep 0.1; done");
        let (mut launched, _said) = ready(&["sh", "-c", &script]);
        kill_process(pid(&launched), signal).unwrap();
        assert_eq!(end(&mut launched), Some(4), "{name}");
    }
}

#[test]
fn orphans_that_end_are_let_go_of_while_the_program_lives() {
    let (mut launched, mut said) = ready(&["sh", "-c", "echo ready; (sh -c 'echo $$' &); cat"]);
    let orphan: u32 = line(&mut said).trim().parse().unwrap();
    let is_gone = || (!PathBuf::from(format!("/proc/{orphan}")).exists()).then_some(());
    eventually("the orphan is gone", is_gone);
    drop(launched.stdin.take());
    assert_eq!(end(&mut launched), Some(0));
}

#[test]
fn nothing_that_the_program_leaves_behind_outlives_the_launcher() {
    let home = TestHome::new(PROGRAM);
    let folder = home.folder("left behind");
    // One in a session of its own, one that is deaf and has a child, one that is stopped, and one that
    // hands over to another when it is asked to end.
    let script = "cd \"$1\"
        (setsid env -i sh -c 'echo >a; exec sleep 1000' &)
        (setsid sh -c 'trap \"\" TERM; sleep 1001 & echo >b; while :; do sleep 1; done' &)
        (sh -c 'echo >c; kill -STOP $$; exec sleep 1002' &)
        (sh -c 'trap \"setsid sleep 1003 & exit\" TERM; echo >d; while :; do sleep 0.1; done' &)
        for file in a b c d; do while ! [ -s $file ]; do sleep 0.01; done; done
        exit 5";
    let mut launched = launch(&["sh", "-c", script, "sh", &folder.display().to_string()]);
    assert_eq!(end(&mut launched), Some(5));
    let all = fs::read_dir("/proc").unwrap().map(|it| it.unwrap().path());
    let left: Vec<PathBuf> =
        all.filter(|it| fs::read_link(it.join("cwd")).is_ok_and(|cwd| cwd == folder)).collect();
    assert_eq!(left, Vec::<PathBuf>::new());
}

#[test]
fn nothing_shakes_off_the_launcher() {
    let door = Door::new();
    // Below a shell that claims to be another, two forks and a session away, and with nothing that it
    // was given.
    let script =
        format!("CMUX_RUN={OTHER} sh -c '( ( setsid env -i {} & ) & ); cat'", door.knock());
    let mut launched = launch(&["sh", "-c", &script]);
    let (socket, peer) = door.open();
    let launcher = launched.id();
    eventually("it is adopted", || (door.line(&peer).ok()?[1].pid == launcher).then_some(()));
    assert_eq!(door.standing(&peer), Standing::Below { run: Some(RUN.parse().unwrap()) });
    drop((launched.stdin.take(), socket));
    assert_eq!(end(&mut launched), Some(0));
}

#[test]
fn without_a_launcher_it_would_be_shaken_off() {
    let door = Door::new();
    let script = format!("( ( setsid env -i {} & ) & ); cat", door.knock());
    let mut shell = Command::new("sh");
    door.home.equip(shell.args(["-c", &script]).env("CMUX_RUN", RUN));
    let mut shell =
        shell.env("CMUX_RUN", RUN).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let (socket, peer) = door.open();
    let run = Some(RUN.parse().unwrap());
    eventually("it is nobody's child", || {
        door.line(&peer).ok()?.iter().all(|it| it.run != run).then_some(())
    });
    // As whoever runs this test: the person, unless that is itself an agent.
    let line = peer::line_of(Process::myself(), &door.tmux());
    assert_eq!(door.standing(&peer), stands(&line));
    drop((shell.stdin.take(), socket));
    shell.wait().unwrap();
}

#[test]
fn what_the_agent_says_of_itself_is_not_believed() {
    let door = Door::new();
    let script = format!("CMUX_RUN={OTHER} {}", door.knock());
    let mut launched = launch(&["sh", "-c", &script]);
    let (socket, peer) = door.open();
    assert_eq!(door.line(&peer).unwrap()[0].run, Some(OTHER.parse().unwrap()));
    assert_eq!(door.standing(&peer), Standing::Below { run: Some(RUN.parse().unwrap()) });
    drop(socket);
    end(&mut launched);
}

#[test]
fn an_agent_is_known_over_tcp_too() {
    let door = Door::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let local = listener.local_addr().unwrap();
    let script = format!("env -i curl -s http://{local}/");
    let mut launched = launch(&["sh", "-c", &script]);
    let (socket, remote) = listener.accept().unwrap();
    let TcpClient::Found { holders } = tcp_client(local, remote) else { panic!("nobody is found") };
    assert!(!holders.is_empty());
    for holder in holders {
        let line = peer::line_of(holder, &door.tmux());
        assert_eq!(stands(&line), Standing::Below { run: Some(RUN.parse().unwrap()) });
    }
    drop(socket);
    end(&mut launched);
}

#[test]
fn whoever_lives_in_a_server_of_cmuxs_is_not_the_person() {
    let door = Door::new();
    let server = Server::new(&door.home);
    server.tmux(&["new-session", "-d", &format!("env -i {}", door.knock())]);
    let (_socket, peer) = door.open();
    assert_eq!(door.standing(&peer), Standing::Below { run: None });
}

#[test]
fn an_agent_in_tmux_is_known_by_its_run_and_knows_no_server() {
    let door = Door::new();
    let server = Server::new(&door.home);
    let seen = door.home.folder("seen").join("environment");
    let script = format!("env >{}; exec {}", seen.display(), door.knock());
    let named = format!("CMUX_RUN={RUN}");
    let words = [PROGRAM, "launch", "--", "sh", "-c", &script];
    server.tmux(&[&["new-session", "-d", "-e", &named, "--"], &words[..]].concat());
    let (_socket, peer) = door.open();
    assert_eq!(door.standing(&peer), Standing::Below { run: Some(RUN.parse().unwrap()) });
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.lines().any(|line| line == named), "{seen}");
    assert!(!seen.lines().any(|line| line.starts_with("TMUX")), "{seen}");
    // What tmux tells the launcher when the window is closed ends the agent.
    server.tmux(&["kill-server"]);
    eventually("the agent is gone", || (!peer.is_alive()).then_some(()));
}

/// A socket that others connect to, in a home of its own.
struct Door {
    home: TestHome,
    listener: UnixListener,
}

impl Door {
    fn new() -> Door {
        let home = TestHome::new(PROGRAM);
        let listener = UnixListener::bind(home.root().join("door")).unwrap();
        listener.set_nonblocking(true).unwrap();
        Door { home, listener }
    }

    /// Returns the command that connects, and waits for an answer until the connection is closed.
    fn knock(&self) -> String {
        format!("curl -s --unix-socket {}/door http://x/", self.home.root().display())
    }

    /// Waits for somebody to connect.
    #[track_caller]
    fn open(&self) -> (UnixStream, Peer) {
        let (socket, _) = eventually("somebody connects", || self.listener.accept().ok());
        let peer = Peer::of(&socket).unwrap();
        (socket, peer)
    }

    /// Returns the folder of the home's tmux servers.
    fn tmux(&self) -> PathBuf {
        self.home.root().join("tmux")
    }

    fn line(&self, peer: &Peer) -> Result<Vec<Forebear>, Unreadable> {
        peer::line(peer, &self.tmux())
    }

    fn standing(&self, peer: &Peer) -> Standing {
        stands(&self.line(peer))
    }
}

/// Returns whom a daemon of this user's sees in whoever comes from `line`.
fn stands(line: &Result<Vec<Forebear>, Unreadable>) -> Standing {
    let me = getuid().as_raw();
    judge(me, me, line.as_deref().map_err(|&why| why))
}

/// A real tmux server in a home's own folder. It is gone with the test.
struct Server<'a> {
    home: &'a TestHome,
    socket: PathBuf,
}

impl<'a> Server<'a> {
    fn new(home: &'a TestHome) -> Server<'a> {
        let folder = home.root().join("tmux");
        fs::create_dir_all(&folder).unwrap();
        Server { home, socket: folder.join("shop") }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut tmux = Command::new("tmux");
        self.home.equip(&mut tmux);
        tmux.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]).args(words);
        tmux
    }

    #[track_caller]
    fn tmux(&self, words: &[&str]) {
        let done = self.command(words).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).output();
    }
}

/// Starts the launcher with a program, in a group of its own as in a terminal.
fn launch(words: &[&str]) -> Child {
    let home = TestHome::new(PROGRAM);
    let mut command = home.command(&[&["launch", "--"], words].concat());
    command.current_dir("/").env("CMUX_RUN", RUN).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs a program to its end through the launcher.
fn run(words: &[&str]) -> Ran {
    launch(words).wait_with_output().unwrap().into()
}

/// Starts a program through the launcher, and waits until it says that it is ready.
#[track_caller]
fn ready(words: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut launched = launch(words);
    let mut said = BufReader::new(launched.stdout.take().unwrap());
    assert_eq!(line(&mut said), "ready\n");
    (launched, said)
}

/// Waits for the launcher to end, without closing its input, and returns its exit code.
#[track_caller]
fn end(launched: &mut Child) -> Option<i32> {
    eventually("the launcher ends", || launched.try_wait().unwrap()).code()
}

/// Returns the next line that is said.
#[track_caller]
fn line(said: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    line
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}
