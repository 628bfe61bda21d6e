//! A token of the person's in an agent's hands: at neither door does it count for more than `send`, however
//! the agent hides.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use cmux_testkit::daemon::Daemon;
use cmux_testkit::home::{Ran, TestHome};
use cmux_testkit::wait::eventually;
use rustix::net::sockopt::set_tcp_cork;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::{DumpableBehavior, geteuid, set_dumpable_behavior};

const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");

const RUN: &str = "run_01JZZZZZZZZZZZZZZZZZZZZZZZ";

/// Say to this program, when it is started anew, how to ask, where, with what token, what for, and where
/// to write the answer.
const WAY: &str = "TEST_WAY";
const DOOR: &str = "TEST_DOOR";
const TOKEN: &str = "TEST_TOKEN";
const ASKED: &str = "TEST_ASKED";
const ANSWER: &str = "TEST_ANSWER";

/// Starts the rest of its words with so many shells above them that nobody looks at them all.
const CHAIN: &str = r#"
n=$1; shift
if [ "$n" -gt 0 ]; then sh "$0" $((n - 1)) "$@"; exit $?; fi
"$@"; exit $?
"#;

/// How many connections somebody makes who wants to hold up others.
const CROWD: usize = 40;

#[test]
fn an_agent_with_a_token_of_the_persons_never_gets_more_than_send() {
    let yard = Yard::open(false);
    for door in [&yard.port, &yard.socket] {
        for way in ["plain", "hidden", "handed over"] {
            yard.check(way, door, &[]);
        }
        let chain = yard.home.folder("chain").join("chain");
        fs::write(&chain, CHAIN).unwrap();
        yard.check("plain", door, &["sh", chain.to_str().unwrap(), "260"]);
    }
    yard.check("put away", &yard.port, &[]);
}

#[test]
fn an_agent_that_may_not_be_looked_into_never_gets_more_than_send() {
    let yard = Yard::open(true);
    for door in [&yard.port, &yard.socket] {
        yard.check("hidden", door, &[]);
    }
    yard.check("put away", &yard.port, &[]);
}

#[test]
fn somebody_with_much_to_read_holds_up_nobody() {
    let yard = Yard::open(false);
    let answer = yard.home.folder("answers").join("crowd");
    let mut crowd = Command::new(std::env::current_exe().unwrap());
    // As much as the kernel takes, in pieces as large as it takes.
    crowd.envs((0..14).map(|n| (format!("LARGE{n}"), "x".repeat(120 << 10))));
    let mut crowd = yard.play(crowd, "crowd", &yard.socket, "GET", &answer).spawn().unwrap();
    eventually("they have all asked", || answer.exists().then_some(()));
    let answered = ask(connect(&yard.socket), &request(&yard.socket, "/livez", "GET", "x"));
    assert!(answered.starts_with("200 "), "{answered}");
    drop(crowd.stdin.take());
    assert!(crowd.wait().unwrap().success());
    let answers = fs::read_to_string(&answer).unwrap();
    assert_eq!(answers.lines().count(), CROWD, "{answers}");
    for line in answers.lines() {
        assert!(line.starts_with("403 ") && line.contains("larger than is looked at"), "{line}");
    }
}

/// Is a test only in that the others start it: it asks as it is told to, and writes down the answer.
#[test]
fn what_an_agent_runs() {
    let Ok(way) = std::env::var(WAY) else { return };
    let [door, token, asked, answer] =
        [DOOR, TOKEN, ASKED, ANSWER].map(|name| std::env::var(name).unwrap());
    let request = request(&door, "/api/projects", &asked, &token);
    let answered = match way.as_str() {
        "plain" => ask(connect(&door), &request),
        "hidden" => {
            set_dumpable_behavior(DumpableBehavior::NotDumpable).unwrap();
            ask(connect(&door), &request)
        }
        "handed over" => {
            let (mine, theirs) = UnixStream::pair().unwrap();
            let mut other = Command::new(std::env::current_exe().unwrap());
            other.args(["--exact", "what_an_agent_runs"]).env(WAY, "hand over");
            let ended = other.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).status();
            assert!(ended.unwrap().success());
            ask(take_back(&mine), &request)
        }
        "hand over" => {
            put_away(std::io::stdin(), &connect(&door));
            return;
        }
        "put away" => ask_from_nowhere(&door, &request),
        "crowd" => {
            let request = request.replace("authorization", "not-shown");
            let mut crowd: Vec<File> = (0..CROWD).map(|_| connect(&door)).collect();
            crowd.iter_mut().for_each(|it| it.write_all(request.as_bytes()).unwrap());
            fs::write(&answer, "").unwrap();
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
            crowd.into_iter().map(hear).collect::<Vec<_>>().join("\n")
        }
        _ => panic!("{way}"),
    };
    fs::write(answer, answered).unwrap();
}

/// A real daemon, both its doors, and a token with which everything may be changed.
struct Yard {
    home: TestHome,
    daemon: Daemon,
    port: String,
    socket: String,
    token: String,
    is_powerless: bool,
}

impl Yard {
    /// Opens one. If it is `powerless`, everybody in it is held back by permissions, root too.
    fn open(is_powerless: bool) -> Yard {
        let home = TestHome::new(PROGRAM);
        let mut command = held_back(is_powerless, PROGRAM);
        home.equip(command.args(["daemon", "run"]));
        let mut daemon = Daemon::launch(&home, command);
        let status = eventually("the daemon is ready", || {
            assert_eq!(daemon.ended(), None, "it ended: {}", daemon.said());
            let status = home.ask(|client| async move { client.daemon().await }).ok()?;
            (!status.starting).then_some(status)
        });
        let port = format!("127.0.0.1:{}", status.port.unwrap());
        let socket = home.root().join("cmux.sock").display().to_string();
        let made = home.run(&["token", "create", "ci", "--scope", "operate", "--expires", "1h"]);
        assert_eq!(made.code, Some(0), "{made:?}");
        let token = made.stdout.trim().to_owned();
        let yard = Yard { home, daemon, port, socket, token, is_powerless };
        for door in [&yard.port, &yard.socket] {
            let answered = yard.ask("plain", door, &[], "POST");
            assert!(answered.starts_with("20"), "the person at {door}: {answered}");
        }
        yard
    }

    /// Checks that whoever an agent starts, `below` other words and in this `way`, may read and change
    /// nothing.
    #[track_caller]
    fn check(&self, way: &str, door: &str, below: &[&str]) {
        let below = [&[PROGRAM, "launch", "--"], below].concat();
        let read = self.ask(way, door, &below, "GET");
        assert!(read.starts_with("200 "), "{way} {below:?} at {door}: {read}");
        let changed = self.ask(way, door, &below, "POST");
        assert!(changed.starts_with("403 "), "{way} {below:?} at {door}: {changed}");
        assert!(changed.contains("counts for `send` at most"), "{changed}");
    }

    /// Asks in this `way`, with the token and by a process that `words` start, and returns the answer.
    #[track_caller]
    fn ask(&self, way: &str, door: &str, words: &[&str], asked: &str) -> String {
        let answer = self.home.folder("answers").join("answer");
        let _ = fs::remove_file(&answer);
        let myself = std::env::current_exe().unwrap();
        let mut all = words.iter().map(Path::new).chain([myself.as_path()]);
        let mut command = held_back(self.is_powerless, all.next().unwrap());
        command.args(all);
        if !words.is_empty() {
            command.env("CMUX_RUN", RUN);
        }
        let ran: Ran = self.play(command, way, door, asked, &answer).output().unwrap().into();
        assert_eq!(ran.code, Some(0), "{way} {words:?} at {door}: {ran:?} {}", self.daemon.said());
        fs::read_to_string(answer).unwrap()
    }

    /// Tells `command`, which starts this program anew, how to ask.
    fn play(
        &self,
        mut command: Command,
        way: &str,
        door: &str,
        asked: &str,
        answer: &Path,
    ) -> Command {
        command.args(["--exact", "what_an_agent_runs"]).stdin(Stdio::piped()).stdout(Stdio::null());
        command.env(WAY, way).env(DOOR, door).env(TOKEN, &self.token);
        command.env(ASKED, asked).env(ANSWER, answer);
        command
    }
}

/// Returns a program, about to be run by somebody whom permissions hold back if that is asked for. For
/// root that is root without its powers.
fn held_back(is_powerless: bool, program: impl AsRef<Path>) -> Command {
    if !is_powerless || !geteuid().is_root() {
        return Command::new(program.as_ref());
    }
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", "--"]).arg(program.as_ref());
    command
}

fn connect(door: &str) -> File {
    let socket: OwnedFd = if door.starts_with('/') {
        UnixStream::connect(door).unwrap().into()
    } else {
        TcpStream::connect(door).unwrap().into()
    };
    socket.into()
}

/// Returns a request that reads, or that adds a project.
fn request(door: &str, path: &str, method: &str, token: &str) -> String {
    let host = if door.starts_with('/') { "localhost" } else { door };
    let body = if method == "POST" { r#"{"root":"/somewhere"}"# } else { "" };
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
         connection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn ask(mut socket: File, request: &str) -> String {
    socket.write_all(request.as_bytes()).unwrap();
    hear(socket)
}

/// Returns the status of an answer, and its body.
fn hear(mut socket: File) -> String {
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    format!("{} {}", head.split(' ').nth(1).unwrap(), body.trim())
}

/// Asks at the port over a connection that nobody holds while it is asked, and returns the answer.
fn ask_from_nowhere(door: &str, request: &str) -> String {
    let mut client = TcpStream::connect(door).unwrap();
    let port = client.local_addr().unwrap().port();
    let (left, right) = UnixStream::pair().unwrap();
    // What is written leaves by itself a moment later, when the socket is away.
    set_tcp_cork(&client, true).unwrap();
    client.write_all(request.as_bytes()).unwrap();
    put_away(&left, &client);
    drop(client);
    eventually("there is an answer", || has_answer(port).then_some(()));
    hear(take_back(&right))
}

/// Returns whether something waits to be read by the client that has `port`.
fn has_answer(port: u16) -> bool {
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| row[1].ends_with(&format!(":{port:04X}"))).unwrap();
    !row[4].ends_with(":00000000")
}

/// Puts `socket` into a message to the other end of `way`.
fn put_away(way: impl AsFd, socket: &impl AsFd) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let files = [socket.as_fd()];
    assert!(rights.push(SendAncillaryMessage::ScmRights(&files)));
    sendmsg(way, &[IoSlice::new(b"x")], &mut rights, SendFlags::empty()).unwrap();
}

/// Takes a socket out of the message that has come to `way`.
fn take_back(way: &UnixStream) -> File {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(way, &mut [IoSliceMut::new(&mut byte)], &mut rights, RecvFlags::empty()).unwrap();
    let taken = rights.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        RecvAncillaryMessage::ScmCredentials(_) | _ => None,
    });
    taken.unwrap().into()
}
