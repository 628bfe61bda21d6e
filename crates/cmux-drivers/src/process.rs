//! Processes: which one is meant, whether it lives, what came of it, and who holds a port.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::Duration;

use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::all_processes;
use procfs::{ProcError, ProcResult};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Dir, Mode, OFlags, open, readlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How many descriptors of one process are looked at.
const FILES_MAX: usize = 1 << 16;

/// How many parents of one process are looked at.
const LINE_MAX: usize = 256;

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
        // It is asked for so often that nothing but this one file is opened.
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        // Before it stands what the process calls itself, which may look like anything.
        let end = stat.iter().rposition(|&byte| byte == b')')?;
        let fields: Vec<&str> = str::from_utf8(&stat[end + 1..]).ok()?.split_whitespace().collect();
        let (state, threads) = (fields.first()?.chars().next()?, fields.get(17)?.parse().ok()?);
        Process { pid, start: fields.get(19)?.parse().ok()? }.unless_ended(state, threads)
    }

    fn of(process: &procfs::process::Process) -> Option<Process> {
        let stat = process.stat().ok()?;
        let process = Process { pid: stat.pid.cast_unsigned(), start: stat.starttime };
        process.unless_ended(stat.state, stat.num_threads)
    }

    /// Returns this process, unless it has ended.
    fn unless_ended(self, state: char, threads: i64) -> Option<Process> {
        // A zombie has ended; only its parent has not noticed. But while it has threads, the last of
        // them still holds all that the process held: locks, sockets, ports.
        let has_ended = matches!(state, 'Z' | 'X') && threads <= 1;
        (!has_ended).then_some(self)
    }

    /// Returns this process.
    pub fn myself() -> Process {
        let pid = std::process::id();
        Process::find(pid).unwrap_or(Process { pid, start: 0 })
    }

    /// Returns the number of the process's parent, if it lives and has one.
    pub fn parent(&self) -> Option<u32> {
        let stat = procfs::process::Process::new(self.pid.cast_signed()).ok()?.stat().ok()?;
        (stat.starttime == self.start && stat.ppid > 0).then(|| stat.ppid.cast_unsigned())
    }

    /// Returns whether the process comes from `above`, or is it. What cannot be looked at is not known to.
    pub fn is_below(&self, above: &Process) -> bool {
        let mut process = *self;
        for _ in 0..LINE_MAX {
            if process == *above {
                return true;
            }
            let parent = process.parent().and_then(Process::find);
            // No child is older than its parent: the number has passed to another.
            match parent.filter(|parent| parent.start <= process.start) {
                Some(parent) => process = parent,
                None => return false,
            }
        }
        false
    }

    /// Returns whether it was seen that the process has ended. A look that failed says nothing.
    pub fn is_gone(&self) -> bool {
        let found = procfs::process::Process::new(self.pid.cast_signed()).and_then(|it| it.stat());
        match found {
            Ok(stat) => stat.starttime != self.start || matches!(stat.state, 'Z' | 'X'),
            Err(ProcError::NotFound(_)) => true,
            Err(_) => false,
        }
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

/// A handle on a process, by which its end is heard of. There is none for one that has ended.
#[derive(Debug)]
pub struct Ending(Option<AsyncFd<OwnedFd>>);

impl Process {
    /// Returns a handle by which the end of the process is heard of, without a thread that waits for it.
    #[expect(
        deprecated,
        reason = "the other way to watch a handle is unsafe, and this one is owned"
    )]
    pub fn ending(&self) -> io::Result<Ending> {
        let gone = |error: &Errno| matches!(*error, Errno::SRCH | Errno::INVAL);
        let Some(pid) = Pid::from_raw(self.pid.cast_signed()) else { return Ok(Ending(None)) };
        let handle = match pidfd_open(pid, PidfdFlags::NONBLOCK) {
            Ok(handle) => AsyncFd::with_interest(handle, Interest::READABLE)?,
            Err(error) if gone(&error) => return Ok(Ending(None)),
            Err(error) => return Err(error.into()),
        };
        // The handle is of whoever has the number now. What cannot be looked at is taken to be it.
        Ok(Ending((!self.is_gone()).then_some(handle)))
    }
}

impl Ending {
    /// Waits until the process has ended. It may be asked again and again.
    pub async fn wait(&self) -> io::Result<()> {
        if let Some(handle) = &self.0 {
            drop(handle.readable().await?);
        }
        Ok(())
    }
}

/// Returns every process that has `name=value` in its environment, or had it when it started.
///
/// Those that may not be looked into are not among them.
pub fn with_variable(name: &str, value: &str) -> io::Result<Vec<Process>> {
    let wanted = format!("{name}={value}");
    let mut found = Vec::new();
    for process in all_processes().map_err(io::Error::other)? {
        let process = match process {
            Ok(process) => process,
            Err(ProcError::NotFound(_) | ProcError::PermissionDenied(_)) => continue,
            Err(error) => return Err(io::Error::other(error)),
        };
        let environ = match std::fs::read(format!("/proc/{}/environ", process.pid())) {
            Ok(environ) => environ,
            // It ended meanwhile, or is somebody else's.
            Err(error) if is_nothing(&error) => continue,
            Err(error) => return Err(error),
        };
        if environ.split(|&byte| byte == 0).any(|it| it == wanted.as_bytes()) {
            found.extend(Process::of(&process));
        }
    }
    Ok(found)
}

/// Returns whether there was nothing to read, and not that reading failed.
fn is_nothing(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, PermissionDenied};
    let is_over = error.raw_os_error() == Some(Errno::SRCH.raw_os_error());
    matches!(error.kind(), NotFound | PermissionDenied) || is_over
}

/// Returns what a process had in the variable `name` when it started, if that can be seen.
pub fn variable(pid: u32, name: &str) -> Option<String> {
    let environ = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let begin = format!("{name}=");
    let found = environ.split(|&byte| byte == 0).find_map(|it| it.strip_prefix(begin.as_bytes()));
    found.and_then(|it| String::from_utf8(it.to_vec()).ok())
}

/// Returns the children of the process `pid`, as far as the kernel tells.
pub fn children(pid: u32) -> Vec<Process> {
    let told = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let told = told.unwrap_or_default();
    told.split_whitespace().filter_map(|pid| Process::find(pid.parse().ok()?)).collect()
}

/// Returns the process that has the terminal of `pid`: the first of those in the foreground there, such as
/// what a shell was told to run, or else the process itself.
pub fn foreground(pid: u32) -> Option<Process> {
    let own = procfs::process::Process::new(pid.cast_signed()).ok()?;
    let stat = own.stat().ok()?;
    let front = Some(stat.tpgid.cast_unsigned()).filter(|_| stat.tpgid > 0);
    front.and_then(Process::find).or_else(|| Process::of(&own))
}

/// Returns the folder that a process works in, if that can be seen and told.
pub fn folder_of(pid: u32) -> Option<String> {
    let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    folder.into_os_string().into_string().ok()
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
    /// It is of this process's user, and nobody is seen to hold it. The suspects are those of the same
    /// user who may not be looked into, and those who keep files where they cannot be told apart.
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
        return TcpClient::Found { holders };
    }
    if sockets.iter().all(|entry| entry.uid != me) {
        return TcpClient::Elsewhere;
    }
    for process in all_processes().into_iter().flatten().filter_map(Result::ok) {
        // It may have been taken back meanwhile.
        if keeps_aside(&process) || holds(&process, &inodes) == Some(true) {
            suspects.extend(Process::of(&process));
        }
    }
    TcpClient::Hidden { suspects }
}

/// Returns whether a process keeps open files elsewhere than among its descriptors: in a message that came
/// to one of its sockets and was not taken, or registered with a ring of the kernel's.
fn keeps_aside(process: &procfs::process::Process) -> bool {
    let Ok(files) = std::fs::read_dir(format!("/proc/{}/fdinfo", process.pid())) else {
        return false;
    };
    let infos = files.take(FILES_MAX).filter_map(|file| std::fs::read(file.ok()?.path()).ok());
    infos.into_iter().any(|info| {
        let lines = info.split(|&byte| byte == b'\n');
        let mut counts = lines.filter_map(|line| {
            line.strip_prefix(b"scm_fds:").or_else(|| line.strip_prefix(b"UserFiles:"))
        });
        counts.any(|count| count.trim_ascii() != b"0")
    })
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
mod tests;
