//! Processes: which one is meant, whether it lives, what came of it, and who holds a port.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use procfs::ProcResult;
use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::{FDTarget, all_processes};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

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
        let stat = procfs::process::Process::new(pid.cast_signed()).ok()?.stat().ok()?;
        // A zombie has ended; only its parent has not noticed. But while it has threads, the last of
        // them still holds all that the process held: locks, sockets, ports.
        let has_ended = matches!(stat.state, 'Z' | 'X') && stat.num_threads <= 1;
        (!has_ended).then_some(Process { pid, start: stat.starttime })
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

/// Returns the process on this machine that is at the other end of a connection which was accepted at
/// `local` from `remote`, if it can be found out: one of another user cannot.
pub fn tcp_client(local: SocketAddr, remote: SocketAddr) -> Option<Process> {
    let (here, there) = (place(local), place(remote));
    let process = tcp_holder(|entry| {
        place(entry.local_address) == there && place(entry.remote_address) == here
    })?;
    Process::find(process.pid().cast_unsigned())
}

/// Returns what two names of one place have in common. A socket for both kinds of address calls an
/// IPv4 one by its IPv6 name.
fn place(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

/// Returns a process that holds a TCP socket which `is_meant`.
fn tcp_holder(is_meant: impl Fn(&TcpNetEntry) -> bool) -> Option<procfs::process::Process> {
    let tables: [fn() -> ProcResult<Vec<TcpNetEntry>>; 2] = [procfs::net::tcp, procfs::net::tcp6];
    // To read a table takes longer than all the rest: the second only if it must be.
    tables.into_iter().find_map(|table| {
        let sockets = table().unwrap_or_default().into_iter();
        // A socket that nobody holds any more, as one that was closed, has no number.
        let meant = sockets.filter(|entry| entry.inode != 0 && is_meant(entry));
        let inodes: Vec<u64> = meant.map(|entry| entry.inode).collect();
        socket_holder(&inodes)
    })
}

/// Returns a process that holds a socket of one of these numbers.
fn socket_holder(inodes: &[u64]) -> Option<procfs::process::Process> {
    if inodes.is_empty() {
        return None;
    }
    let holds = |process: &procfs::process::Process| {
        let Ok(mut files) = process.fd() else { return false };
        files.any(|file| {
            matches!(file.map(|file| file.target), Ok(FDTarget::Socket(inode)) if inodes.contains(&inode))
        })
    };
    all_processes().ok()?.filter_map(Result::ok).find(holds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::process::{Command, Stdio};

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
            assert_eq!(tcp_client(local, remote), Some(Process::myself()), "{listens}");
            // By the names that the other end has for both, too.
            assert_eq!(tcp_client(theirs, mine), Some(Process::myself()), "{listens}");
            drop(client);
            assert_eq!(tcp_client(local, remote), None, "{listens}");
        }
    }

    #[test]
    fn a_client_of_another_process_is_told_from_this_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let mut curl =
            Command::new("curl").arg("-s").arg(format!("http://{local}/")).spawn().unwrap();
        let (_accepted, remote) = listener.accept().unwrap();
        let client = tcp_client(local, remote);
        assert_eq!(client, Process::find(curl.id()));
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
}
