//! Processes: which one is meant, whether it lives, and who holds a port.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use procfs::net::TcpState;
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

/// A process that holds a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortHolder {
    pub pid: u32,
    pub name: String,
}

/// Returns the process that listens where `address` would, if it can be found out.
pub fn port_holder(address: SocketAddr) -> Option<PortHolder> {
    let mut listeners = procfs::net::tcp().unwrap_or_default();
    listeners.extend(procfs::net::tcp6().unwrap_or_default());
    let meets = |local: SocketAddr| {
        local.port() == address.port()
            && (local.ip() == address.ip() || local.ip().is_unspecified())
    };
    let inodes: Vec<u64> = listeners
        .into_iter()
        .filter(|entry| entry.state == TcpState::Listen && meets(entry.local_address))
        .map(|entry| entry.inode)
        .collect();
    let holds = |process: &procfs::process::Process| {
        let Ok(mut files) = process.fd() else { return false };
        files.any(|file| {
            matches!(file.map(|file| file.target), Ok(FDTarget::Socket(inode)) if inodes.contains(&inode))
        })
    };
    let process = all_processes().ok()?.filter_map(Result::ok).find(holds)?;
    let pid = process.pid().cast_unsigned();
    let name = process.stat().map_or_else(|_| "a process".to_owned(), |stat| stat.comm);
    Some(PortHolder { pid, name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
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
}
