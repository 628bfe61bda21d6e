//! Processes: which one is meant, whether it lives, what came of it, and who holds a port.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use procfs::ProcResult;
use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::all_processes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Dir, Mode, OFlags, open, readlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};

/// How many descriptors of one process are looked at.
const FILES_MAX: usize = 1 << 16;

/// A process, told apart from a later one of the same number by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    /// In clock ticks since boot.
    pub start: u64,
}

impl Process {
    /// Returns the process that has the number `pid` now.
    pub fn find(pid: u32) -> Option<Process> {
        Process::of(&procfs::process::Process::new(pid.cast_signed()).ok()?)
    }

    fn of(process: &procfs::process::Process) -> Option<Process> {
        let stat = process.stat().ok()?;
        // A zombie has ended; only its parent has not noticed. But while it has threads, the last of
        // them still holds all that the process held: locks, sockets, ports.
        let has_ended = matches!(stat.state, 'Z' | 'X') && stat.num_threads <= 1;
        let process = Process { pid: stat.pid.cast_unsigned(), start: stat.starttime };
        (!has_ended).then_some(process)
    }

    /// Returns this process.
    pub fn myself() -> Process {
        let pid = std::process::id();
        Process::find(pid).unwrap_or(Process { pid, start: 0 })
    }

    /// Returns whether the process still lives.
    pub fn is_alive(&self) -> bool {
        Process::find(self.pid) == Some(*self)
    }

    /// Sends `signal` to the process, and to no other that may have taken its number.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let pid = Pid::from_raw(self.pid.cast_signed()).ok_or_else(gone)?;
        let handle = pidfd_open(pid, PidfdFlags::empty())?;
        // The handle is of whoever has the number now: look who that is before it is used.
        if !self.is_alive() {
            return Err(gone());
        }
        Ok(pidfd_send_signal(&handle, signal)?)
    }
}

impl Process {
    /// Waits until the process has ended. Returns whether it has, when `patience` is over.
    pub fn wait_end(&self, patience: Duration) -> bool {
        let Some(pid) = Pid::from_raw(self.pid.cast_signed()) else { return true };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
        if !self.is_alive() {
            return true;
        }
        let patience = Timespec::try_from(patience).ok();
        let mut handles = [PollFd::new(&handle, PollFlags::IN)];
        // A handle becomes readable when its process ends, whoever its parent is.
        let _ = poll(&mut handles, patience.as_ref());
        !self.is_alive()
    }
}

/// Returns every process that comes from `pid`: its children, theirs, and so on.
///
/// Whoever is born or orphaned meanwhile may be missing.
pub fn descendants(pid: u32) -> io::Result<Vec<Process>> {
    let mut children: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
    let all = all_processes().map_err(io::Error::other)?;
    for stat in all.filter_map(|process| process.ok()?.stat().ok()) {
        let process = Process { pid: stat.pid.cast_unsigned(), start: stat.starttime };
        children.entry(stat.ppid).or_default().push(process);
    }
    let mut found = children.remove(&pid.cast_signed()).unwrap_or_default();
    let mut seen = 0;
    while let Some(parent) = found.get(seen) {
        let theirs = children.remove(&parent.pid.cast_signed());
        found.extend(theirs.unwrap_or_default());
        seen += 1;
    }
    Ok(found)
}

/// A process that holds a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortHolder {
    pub pid: u32,
    pub name: String,
}

/// Returns the process that listens where `address` would, if it can be found out.
pub fn port_holder(address: SocketAddr) -> Option<PortHolder> {
    let process = tcp_holder(|entry| {
        let local = entry.local_address;
        entry.state == TcpState::Listen
            && local.port() == address.port()
            && (local.ip() == address.ip() || local.ip().is_unspecified())
    })?;
    let pid = process.pid().cast_unsigned();
    let name = process.stat().map_or_else(|_| "a process".to_owned(), |stat| stat.comm);
    Some(PortHolder { pid, name })
}

/// Who is at the other end of a TCP connection, as far as it can be found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpClient {
    /// These processes hold it.
    Found { holders: Vec<Process> },
    /// It is of this process's user, and nobody who may be looked into holds it. The suspects are those
    /// of the same user who may not. If there are none, nobody holds it: it is in a message under way.
    Hidden { suspects: Vec<Process> },
    /// It was of this machine, and was let go of.
    Gone,
    /// It is another user's, or another machine's.
    Elsewhere,
}

/// Returns who is at the other end of a connection which was accepted at `local` from `remote`.
pub fn tcp_client(local: SocketAddr, remote: SocketAddr) -> TcpClient {
    let (here, there) = (place(local), place(remote));
    let sockets = tcp_sockets(|entry| {
        place(entry.local_address) == there && place(entry.remote_address) == here
    });
    if sockets.is_empty() {
        let is_here = here.0 == there.0 || is_of_this_machine(there.0);
        return if is_here { TcpClient::Gone } else { TcpClient::Elsewhere };
    }
    let inodes: Vec<u64> = sockets.iter().map(|entry| entry.inode).collect();
    let me = geteuid().as_raw();
    let (mut holders, mut suspects) = (Vec::new(), Vec::new());
    for process in all_processes().into_iter().flatten().filter_map(Result::ok) {
        match holds(&process, &inodes) {
            Some(true) => holders.extend(Process::of(&process)),
            Some(false) => {}
            None if is_of(&process, me) => suspects.extend(Process::of(&process)),
            None => {}
        }
    }
    if !holders.is_empty() {
        TcpClient::Found { holders }
    } else if sockets.iter().any(|entry| entry.uid == me) {
        TcpClient::Hidden { suspects }
    } else {
        TcpClient::Elsewhere
    }
}

/// Returns whether a process has `uid` for one of its users.
fn is_of(process: &procfs::process::Process, uid: u32) -> bool {
    // Not whose its folder is: root's, for one that hides.
    process.status().is_ok_and(|it| [it.ruid, it.euid, it.suid, it.fuid].contains(&uid))
}

/// Returns whether `ip` is an address of this machine.
fn is_of_this_machine(ip: IpAddr) -> bool {
    // With this set, one may bind to any address.
    let may_bind_any = ["ipv4", "ipv6"].iter().any(|kind| {
        std::fs::read_to_string(format!("/proc/sys/net/{kind}/ip_nonlocal_bind"))
            .is_ok_and(|set| set.trim() != "0")
    });
    ip.is_loopback() || (!may_bind_any && UdpSocket::bind((ip, 0)).is_ok())
}

/// Returns what two names of one place have in common. A socket for both kinds of address calls an
/// IPv4 one by its IPv6 name.
fn place(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

/// Returns a process that holds a TCP socket which `is_meant`.
fn tcp_holder(is_meant: impl Fn(&TcpNetEntry) -> bool) -> Option<procfs::process::Process> {
    let inodes: Vec<u64> = tcp_sockets(is_meant).iter().map(|entry| entry.inode).collect();
    if inodes.is_empty() {
        return None;
    }
    let mut all = all_processes().ok()?.filter_map(Result::ok);
    all.find(|process| holds(process, &inodes) == Some(true))
}

/// Returns the TCP sockets which are meant.
fn tcp_sockets(is_meant: impl Fn(&TcpNetEntry) -> bool) -> Vec<TcpNetEntry> {
    let tables: [fn() -> ProcResult<Vec<TcpNetEntry>>; 2] = [procfs::net::tcp, procfs::net::tcp6];
    // To read a table takes long: the second only if it must be.
    let found = tables.into_iter().map(|table| {
        let sockets = table().unwrap_or_default().into_iter();
        // A socket that nobody holds any more, as one that was closed, has no number.
        sockets.filter(|entry| entry.inode != 0 && is_meant(entry)).collect::<Vec<_>>()
    });
    found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

/// Returns whether a process holds a socket of one of these numbers, if that can be seen.
fn holds(process: &procfs::process::Process, inodes: &[u64]) -> Option<bool> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = match open(format!("/proc/{}/fd", process.pid()), flags, Mode::empty()) {
        Ok(folder) => folder,
        Err(Errno::ACCESS | Errno::PERM) => return None,
        // It has ended.
        Err(_) => return Some(false),
    };
    let meant: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let files = Dir::read_from(&folder).ok()?.map_while(Result::ok);
    for (count, file) in files.enumerate() {
        // Who has more than anybody needs is not looked through.
        if count > FILES_MAX {
            return None;
        }
        match readlinkat(&folder, file.file_name(), Vec::new()) {
            Ok(link) if meant.iter().any(|it| it.as_bytes() == link.as_bytes()) => {
                return Some(true);
            }
            Err(Errno::ACCESS | Errno::PERM) => return None,
            // Something else, or it was closed just now.
            Ok(_) | Err(_) => {}
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
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
            assert_eq!(
                tcp_client(local, remote.parse().unwrap()),
                TcpClient::Elsewhere,
                "{remote}"
            );
        }
    }

    #[test]
    fn a_socket_that_is_in_a_message_is_held_by_nobody_and_not_gone() {
        let (local, remote, accepted, client) = connection();
        let (left, right) = UnixStream::pair().unwrap();
        put_away(&left, &client);
        drop(client);
        let hidden = tcp_client(local, remote);
        let TcpClient::Hidden { suspects } = &hidden else { panic!("{hidden:?}") };
        assert!(!suspects.contains(&Process::myself()), "{suspects:?}");
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
        let mut curl =
            Command::new("curl").arg("-s").arg(format!("http://{local}/")).spawn().unwrap();
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
}
