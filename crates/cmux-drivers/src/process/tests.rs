//! Real processes, and who holds what among them.

use super::*;
use rustix::io::IoSlice;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{DumpableBehavior, Uid, set_dumpable_behavior};
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

/// Tells a test that it was started anew without root's powers.
const POWERLESS: &str = "CMUX_TEST_POWERLESS";

/// Tells a client where to connect to.
const CONNECT_TO: &str = "CMUX_TEST_CONNECT_TO";

#[test]
fn a_process_is_below_those_that_it_comes_from() {
    let me = Process::myself();
    let mut child = Command::new("cat");
    let mut child = child.stdin(Stdio::piped()).spawn().unwrap();
    let below = Process::find(child.id()).unwrap();
    let first = Process::find(1).unwrap();
    for (one, other, expected) in [
        (me, me, true),
        (below, me, true),
        (below, first, true),
        (me, below, false),
        (below, Process { start: me.start + 1, ..me }, false),
        (Process { start: below.start + 1, ..below }, me, false),
    ] {
        assert_eq!(one.is_below(&other), expected, "{one:?} {other:?}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_number_that_was_taken_over_is_another_process() {
    let me = Process::myself();
    assert!(me.is_alive());
    assert!(!Process { start: me.start + 1, ..me }.is_alive());
    let stranger = Process { start: me.start + 1, ..me };
    assert!(stranger.signal(Signal::TERM).is_err());
}

#[test]
fn a_child_is_ended_by_name_and_gone() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let process = Process::find(child.id()).unwrap();
    assert!(!process.wait_end(Duration::ZERO));
    process.signal(Signal::TERM).unwrap();
    assert!(process.wait_end(Duration::from_mins(1)));
    child.wait().unwrap();
    assert!(!process.is_alive());
}

#[test]
fn whoever_holds_a_port_is_found() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    assert_eq!(port_holder(address).map(|holder| holder.pid), Some(std::process::id()));
    drop(listener);
    assert_eq!(port_holder(address), None);
}

#[test]
fn whoever_is_at_the_other_end_of_a_connection_is_found() {
    for (listens, connects) in
        [("127.0.0.1", "127.0.0.1"), ("[::1]", "[::1]"), ("[::]", "127.0.0.1")]
    {
        // A machine without IPv6 has nothing to find there.
        let Ok(listener) = TcpListener::bind(format!("{listens}:0")) else { continue };
        let port = listener.local_addr().unwrap().port();
        let client = TcpStream::connect(format!("{connects}:{port}")).unwrap();
        let (accepted, remote) = listener.accept().unwrap();
        let local = accepted.local_addr().unwrap();
        let (mine, theirs) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
        let found = TcpClient::Found { holders: vec![Process::myself()] };
        assert_eq!(tcp_client(local, remote), found, "{listens}");
        // By the names that the other end has for both, too.
        assert_eq!(tcp_client(theirs, mine), found, "{listens}");
        drop(client);
        assert_eq!(tcp_client(local, remote), TcpClient::Gone, "{listens}");
    }
}

#[test]
fn whoever_is_on_another_machine_is_elsewhere() {
    // These addresses are nobody's.
    for remote in ["192.0.2.7:9", "[2001:db8::7]:9", "[::ffff:192.0.2.7]:9"] {
        let local = "192.0.2.8:8000".parse().unwrap();
        assert_eq!(tcp_client(local, remote.parse().unwrap()), TcpClient::Elsewhere, "{remote}");
    }
}

#[test]
fn whoever_has_yet_to_take_a_socket_out_of_a_message_is_suspected() {
    let (local, remote, accepted, client) = connection();
    let (left, right) = UnixStream::pair().unwrap();
    put_away(&left, &client);
    drop(client);
    let hidden = tcp_client(local, remote);
    let TcpClient::Hidden { suspects } = &hidden else { panic!("{hidden:?}") };
    assert!(suspects.contains(&Process::myself()), "{suspects:?}");
    // Whoever throws the message away closes what is in it.
    drop((left, right));
    assert_eq!(tcp_client(local, remote), TcpClient::Gone);
    drop(accepted);
}

#[test]
fn a_socket_of_another_user_is_elsewhere() {
    if !geteuid().is_root() {
        return;
    }
    let (local, remote, _accepted, client) = connection();
    rustix::fs::fchown(&client, Some(Uid::from_raw(65_534)), None).unwrap();
    // Found all the same by whoever may look into everybody.
    let found = TcpClient::Found { holders: vec![Process::myself()] };
    assert_eq!(tcp_client(local, remote), found);
    let (left, _right) = UnixStream::pair().unwrap();
    put_away(&left, &client);
    drop(client);
    assert_eq!(tcp_client(local, remote), TcpClient::Elsewhere);
}

#[test]
fn whoever_holds_a_socket_with_others_is_found_among_them() {
    let (local, remote, _accepted, client) = connection();
    let copy = OwnedFd::from(client.try_clone().unwrap());
    let mut cat = Command::new("cat").stdin(copy).spawn().unwrap();
    let all = [Process::myself(), Process::find(cat.id()).unwrap()];
    let TcpClient::Found { holders } = tcp_client(local, remote) else { panic!("nobody") };
    assert!(holders.len() == 2 && all.iter().all(|it| holders.contains(it)), "{holders:?}");
    drop(client);
    assert_eq!(tcp_client(local, remote), TcpClient::Found { holders: vec![all[1]] });
    cat.kill().unwrap();
    cat.wait().unwrap();
}

#[test]
fn whoever_hides_is_suspected() {
    // Root sees everything, so it looks without its powers.
    if geteuid().is_root() && std::env::var_os(POWERLESS).is_none() {
        let mut powerless = Command::new("setpriv");
        powerless.args(["--bounding-set=-all", "--inh-caps=-all", "--"]);
        powerless.arg(std::env::current_exe().unwrap()).env(POWERLESS, "1");
        powerless.args(["--exact", "process::tests::whoever_hides_is_suspected"]);
        let ran = powerless.output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let local = listener.local_addr().unwrap();
    let mut hidden = Command::new(std::env::current_exe().unwrap());
    hidden.args(["--exact", "process::tests::a_client_that_hides"]);
    hidden.env(CONNECT_TO, local.to_string()).stdout(Stdio::null());
    let mut hidden = hidden.stdin(Stdio::piped()).spawn().unwrap();
    let (mut accepted, remote) = listener.accept().unwrap();
    accepted.read_exact(&mut [0]).unwrap();
    let client = tcp_client(local, remote);
    let TcpClient::Hidden { suspects } = &client else { panic!("{client:?}") };
    assert!(suspects.contains(&Process::find(hidden.id()).unwrap()), "{suspects:?}");
    drop(hidden.stdin.take());
    hidden.wait().unwrap();
    assert_eq!(tcp_client(local, remote), TcpClient::Gone);
}

/// Is a test by itself only in that others start it: it connects, hides, and says so.
#[test]
fn a_client_that_hides() {
    let Ok(address) = std::env::var(CONNECT_TO) else { return };
    let mut client = TcpStream::connect(address).unwrap();
    set_dumpable_behavior(DumpableBehavior::NotDumpable).unwrap();
    client.write_all(b"x").unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn a_client_of_another_process_is_told_from_this_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let local = listener.local_addr().unwrap();
    let mut curl = Command::new("curl").arg("-s").arg(format!("http://{local}/")).spawn().unwrap();
    let (_accepted, remote) = listener.accept().unwrap();
    let client = tcp_client(local, remote);
    let holders = Process::find(curl.id()).into_iter().collect();
    assert_eq!(client, TcpClient::Found { holders });
    curl.kill().unwrap();
    curl.wait().unwrap();
}

#[test]
fn children_and_theirs_are_found_and_nobody_else() {
    let mut shell = Command::new("sh")
        .args(["-c", "cat; :"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut beside = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let me = std::process::id();
    // What comes back was said by the shell's own child, so that is there.
    shell.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let below = descendants(shell.id()).unwrap();
    assert_eq!(below.len(), 1, "{below:?}");
    let mine: Vec<u32> = descendants(me).unwrap().iter().map(|it| it.pid).collect();
    for pid in [shell.id(), beside.id(), below[0].pid] {
        assert!(mine.contains(&pid), "{pid} is not in {mine:?}");
    }
    assert!(!mine.contains(&me));
    drop((shell.stdin.take(), beside.stdin.take()));
    shell.wait().unwrap();
    beside.wait().unwrap();
    assert_eq!(descendants(shell.id()).unwrap(), []);
}

/// Returns a connection: both its places, the end that was accepted, and the client's.
fn connection() -> (SocketAddr, SocketAddr, TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (accepted, remote) = listener.accept().unwrap();
    (accepted.local_addr().unwrap(), remote, accepted, client)
}

/// Puts `socket` into a message to the other end of `way`.
fn put_away(way: &UnixStream, socket: &TcpStream) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let files = [socket.as_fd()];
    assert!(rights.push(SendAncillaryMessage::ScmRights(&files)));
    sendmsg(way, &[IoSlice::new(b"x")], &mut rights, SendFlags::empty()).unwrap();
}

#[test]
fn the_end_of_a_process_is_heard_of_as_often_as_it_is_asked_for() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let process = Process::find(child.id()).unwrap();
        let ending = process.ending().unwrap();
        let soon = Duration::from_millis(50);
        assert!(tokio::time::timeout(soon, ending.wait()).await.is_err(), "it lives");
        // Another one that had the number before is gone.
        Process { start: process.start + 1, ..process }.ending().unwrap().wait().await.unwrap();
        child.kill().unwrap();
        for _ in 0..2 {
            ending.wait().await.unwrap();
        }
        child.wait().unwrap();
        process.ending().unwrap().wait().await.unwrap();
    });
}

#[test]
fn a_process_is_found_as_the_whole_table_has_it_whatever_it_calls_itself() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join(") R 1 (\n");
    std::fs::copy("/bin/sleep", &odd).unwrap();
    let mut child = Command::new(&odd).arg("1000").spawn().unwrap();
    let ids = [child.id(), std::process::id()];
    let found = ids.map(|pid| Process::find(pid).unwrap());
    let all = all_processes().unwrap().filter_map(|it| Process::of(&it.ok()?));
    let listed: Vec<Process> = all.filter(|it| ids.contains(&it.pid)).collect();
    assert!(found.iter().all(|it| listed.contains(it)), "{found:?} {listed:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(Process::find(ids[0]), None);
}
