//! Peers: which process is at the other end of a socket, and which ones it comes from.
//!
//! Who that makes it is decided in [`cmux_core::descent`].

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use cmux_core::descent::{Forebear, Unreadable};
use cmux_core::id::RunId;
use nix::errno::Errno as SocketErrno;
use nix::sys::socket::{getsockopt, sockopt};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, fstat, open, openat};
use rustix::io::{Errno, read};
use rustix::process::{Pid, PidfdFlags, geteuid, pidfd_open, test_kill_process};

use crate::process::Process;

/// How often a line is read anew because somebody in it vanished.
const TRIES: usize = 5;

/// The longest line that is read. Nobody comes from so many in good faith.
const LINE_MAX: usize = 256;

/// The most that is read of one file, in bytes. Common environments have a few thousand.
const FILE_MAX: usize = 256 << 10;

/// The most that is read of a whole line, in bytes, however often it is read anew.
const LINE_BYTES_MAX: usize = 2 << 20;

/// The variable by which an agent's launcher, and all that is started below it, names its run.
const RUN: &[u8] = b"CMUX_RUN=";

/// The process that connected to a socket, as it was when the connection was accepted.
#[derive(Debug)]
pub struct Peer {
    /// Nought if the process is outside of what can be seen, as from within a container.
    pub pid: u32,
    pub uid: u32,
    /// Holds on to the process itself, as its number may pass to another. None if it has ended.
    handle: Option<OwnedFd>,
}

impl Peer {
    /// Returns who connected to the unix `socket`. To be asked when the connection is accepted: the
    /// kernel noted who it was when it was made, whatever becomes of the socket afterwards.
    pub fn of(socket: &impl AsFd) -> io::Result<Peer> {
        // Not by rustix, whose process numbers cannot be nought.
        let who = getsockopt(socket, sockopt::PeerCredentials)?;
        let handle = match getsockopt(socket, sockopt::PeerPidfd) {
            Ok(handle) => Some(handle),
            // A kernel before 6.5. It holds on to whoever has the number now, which is another process
            // only if the peer ended before it was accepted and all numbers were used up since.
            Err(SocketErrno::ENOPROTOOPT) => {
                Pid::from_raw(who.pid()).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
            }
            // The process is gone, and has been waited for.
            Err(_) => None,
        };
        Ok(Peer { pid: who.pid().cast_unsigned(), uid: who.uid(), handle })
    }

    /// Returns whether the process still lives.
    pub fn is_alive(&self) -> bool {
        let Some(handle) = &self.handle else { return false };
        // A handle becomes readable when its process ends.
        let mut handles = [PollFd::new(handle, PollFlags::IN)];
        poll(&mut handles, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(0)
    }
}

/// Returns the line that a `peer` comes from, itself first. `tmux` is the folder of the home's servers.
///
/// It reads much, though never without end, and touches no path that another process names.
pub fn line(peer: &Peer, tmux: &Path) -> Result<Vec<Forebear>, Unreadable> {
    read_line(peer.pid, tmux, || peer.is_alive())
}

/// Returns the line that a `process` comes from, as [`line`] does for a peer.
pub fn line_of(process: Process, tmux: &Path) -> Result<Vec<Forebear>, Unreadable> {
    read_line(process.pid, tmux, || process.is_alive())
}

fn read_line(
    pid: u32,
    tmux: &Path,
    is_alive: impl Fn() -> bool,
) -> Result<Vec<Forebear>, Unreadable> {
    let mut glass = Glass { buffer: Vec::new(), left: LINE_BYTES_MAX };
    let mut line = walk(pid, tmux, &mut glass);
    for _ in 1..TRIES {
        if line != Err(Unreadable::Restless) || !is_alive() {
            break;
        }
        line = walk(pid, tmux, &mut glass);
    }
    // Whoever lives now has had its number all the while, so that the line is its own.
    if is_alive() { line } else { Err(Unreadable::Ended) }
}

/// Goes from the process `pid` to its parent, and so on to the first process of all.
fn walk(pid: u32, tmux: &Path, glass: &mut Glass) -> Result<Vec<Forebear>, Unreadable> {
    let mut line = Vec::new();
    let (mut next, mut born) = (pid, u64::MAX);
    while line.len() < LINE_MAX {
        let seen = look(next, tmux, glass).map_err(|error| unseen(next, error))?;
        // No child is older than its parent: the number has passed to another.
        if seen.start > born {
            return Err(Unreadable::Restless);
        }
        line.push(seen.forebear);
        match (seen.parent, next) {
            (0, 1) => return Ok(line),
            // It was put here from outside, as into a container.
            (0, _) => {
                line.push(Forebear { pid: 0, uid: 0, run: None, serves_agents: false });
                return Ok(line);
            }
            (parent, _) => (next, born) = (parent, seen.start),
        }
    }
    Err(Unreadable::TooLong)
}

/// Returns why the process `pid` could not be looked at.
fn unseen(pid: u32, error: Errno) -> Unreadable {
    if error == Errno::TOOBIG {
        return Unreadable::TooMuch { pid };
    }
    let has_vanished = matches!(error, Errno::NOENT | Errno::SRCH)
        && Pid::from_raw(pid.cast_signed())
            .is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH));
    if has_vanished { Unreadable::Restless } else { Unreadable::Hidden { pid } }
}

/// A process as it was seen.
struct Seen {
    forebear: Forebear,
    parent: u32,
    /// In clock ticks since boot.
    start: u64,
}

/// Looks at the process `pid`.
fn look(pid: u32, tmux: &Path, glass: &mut Glass) -> Result<Seen, Errno> {
    // All is read through one handle, which never passes to another process of the same number.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = open(format!("/proc/{pid}"), flags, Mode::empty())?;
    let uid = fstat(&folder)?.st_uid;
    let stat = parse_stat(glass.read(&folder, "stat")?).ok_or(Errno::IO)?;
    let serves_agents = stat.is_tmux && serves(glass.read(&folder, "cmdline")?, tmux);
    let run = if uid == geteuid().as_raw() { run_of(&folder, glass)? } else { None };
    let forebear = Forebear { pid, uid, run, serves_agents };
    Ok(Seen { forebear, parent: stat.parent, start: stat.start })
}

/// Returns the run that a process's environment names.
fn run_of(folder: &OwnedFd, glass: &mut Glass) -> Result<Option<RunId>, Errno> {
    match glass.read(folder, "environ") {
        Ok(environ) => Ok(find_run(environ)),
        // What may not be read names no run, and that is no reason to turn it away, or nobody could
        // come in by ssh. It hides no agent: the launcher above one is of this user, and sees to it
        // that it can be read.
        Err(Errno::ACCESS | Errno::PERM) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What files of processes are read with.
struct Glass {
    buffer: Vec<u8>,
    /// How much more may be read, in bytes.
    left: usize,
}

impl Glass {
    /// Reads the file `name` of a process. One that is too large is not cut: what is sought may be in
    /// the rest.
    fn read(&mut self, folder: &OwnedFd, name: &str) -> Result<&[u8], Errno> {
        let file = openat(folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let most = FILE_MAX.min(self.left);
        let mut filled = 0;
        loop {
            if filled == self.buffer.len() {
                self.buffer.resize((filled * 2).clamp(16 << 10, FILE_MAX + 1), 0);
            }
            match read(&file, &mut self.buffer[filled..])? {
                0 => break,
                more => filled += more,
            }
            if filled > most {
                return Err(Errno::TOOBIG);
            }
        }
        self.left -= filled;
        Ok(&self.buffer[..filled])
    }
}

/// What is of interest in a process's `stat`.
struct Stat {
    is_tmux: bool,
    parent: u32,
    start: u64,
}

fn parse_stat(stat: &[u8]) -> Option<Stat> {
    // The name is in brackets, and may have brackets and spaces in it.
    let opened = stat.iter().position(|&byte| byte == b'(')?;
    let closed = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = str::from_utf8(stat.get(closed + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    Some(Stat { is_tmux: stat.get(opened + 1..closed)?.starts_with(b"tmux"), parent, start })
}

/// Returns the run that an environment names. One that is not the name of a run counts as none: the
/// launcher's always is.
fn find_run(environ: &[u8]) -> Option<RunId> {
    let run = environ.split(|&byte| byte == 0).find_map(|it| it.strip_prefix(RUN))?;
    str::from_utf8(run).ok()?.parse().ok()
}

/// Returns whether the tmux that was started by this command line keeps its socket in the `tmux` folder
/// of this home. The agents of other homes are known by their launchers alone: to ask the disk whether a
/// path that somebody names is a home may take as long as that disk likes.
fn serves(cmdline: &[u8], tmux: &Path) -> bool {
    let words: Vec<&[u8]> = cmdline.split(|&byte| byte == 0).collect();
    let mut sockets =
        words.iter().enumerate().filter_map(|(at, word)| match word.strip_prefix(b"-S")? {
            [] => words.get(at + 1).copied(),
            joined => Some(joined),
        });
    sockets.any(|socket| Path::new(OsStr::from_bytes(socket)).starts_with(tmux))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmux_core::descent::{Standing, StrangerWhy, judge};
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::process::{Child, Command, Stdio};

    const NAMED: &str = "run_00000000000000000000000007";

    #[test]
    fn a_process_is_found_at_the_head_of_its_own_line() {
        let (left, _right) = UnixStream::pair().unwrap();
        let peer = Peer::of(&left).unwrap();
        let me = geteuid().as_raw();
        assert_eq!((peer.pid, peer.uid, peer.is_alive()), (std::process::id(), me, true));
        let found = line(&peer, Path::new("/h/tmux")).unwrap();
        assert_eq!((found[0].pid, found[0].uid), (peer.pid, me));
        assert_eq!(found[1].pid, std::os::unix::process::parent_id());
        assert!(found.last().unwrap().pid <= 1, "{found:?}");
        assert_eq!(line_of(Process::myself(), Path::new("/h/tmux")).unwrap(), found);
    }

    #[test]
    fn a_child_is_known_by_the_run_it_was_started_with() {
        let (folder, listener) = door();
        let mut curl = connect(&folder, Some(NAMED));
        let (accepted, _) = listener.accept().unwrap();
        let peer = Peer::of(&accepted).unwrap();
        assert_eq!(peer.pid, curl.id());
        let found = line(&peer, folder.path()).unwrap();
        assert_eq!(found[0].run, Some(NAMED.parse().unwrap()));
        assert_eq!(found[1].pid, std::process::id());
        end(&mut curl);
    }

    #[test]
    fn a_forebear_that_hides_its_memory_is_no_reason_to_turn_somebody_away() {
        let (folder, listener) = door();
        // As sshd and ssh-agent do. Root sees it nevertheless.
        set_dumpable_behavior(DumpableBehavior::NotDumpable).unwrap();
        let mut curl = connect(&folder, Some(NAMED));
        let (accepted, _) = listener.accept().unwrap();
        let peer = Peer::of(&accepted).unwrap();
        let found = line(&peer, folder.path()).unwrap();
        assert_eq!((found[0].run, found[1].pid), (NAMED.parse().ok(), std::process::id()));
        assert!(found.last().unwrap().pid <= 1, "{found:?}");
        set_dumpable_behavior(DumpableBehavior::Dumpable).unwrap();
        end(&mut curl);
    }

    #[test]
    fn a_peer_that_has_ended_is_a_stranger() {
        let (folder, listener) = door();
        let mut curl = connect(&folder, None);
        let accepted = listener.accept().unwrap().0;
        let (before, process) = (Peer::of(&accepted).unwrap(), Process::find(curl.id()).unwrap());
        assert!(before.is_alive());
        end(&mut curl);
        // The kernel may give a handle of one that has ended, or none at all.
        let after = Peer::of(&accepted).unwrap();
        assert_eq!((after.pid, after.uid), (before.pid, before.uid));
        for peer in [before, after] {
            assert!(!peer.is_alive());
            let found = line(&peer, folder.path());
            let why = StrangerWhy::Unreadable(Unreadable::Ended);
            let standing = judge(peer.uid, peer.uid, found.as_deref().map_err(|&why| why));
            assert_eq!(standing, Standing::Stranger(why));
        }
        assert_eq!(line_of(process, folder.path()), Err(Unreadable::Ended));
    }

    #[test]
    fn a_number_that_has_passed_to_another_is_of_one_that_has_ended() {
        let me = Process::myself();
        let before = Process { start: me.start + 1, ..me };
        assert_eq!(line_of(before, Path::new("/h/tmux")), Err(Unreadable::Ended));
    }

    #[test]
    fn a_process_outside_of_what_can_be_seen_is_hidden() {
        assert_eq!(read_line(0, Path::new("/h/tmux"), || true), Err(Unreadable::Hidden { pid: 0 }));
    }

    #[test]
    fn an_environment_is_read_whole_or_not_at_all() {
        // The kernel takes no variable that is longer than 128 KiB.
        let large = "x".repeat(100 << 10);
        for (variables, is_read) in [(0, true), (1, true), (2, true), (3, false), (15, false)] {
            let mut cat = Command::new("cat");
            cat.env_clear().env("CMUX_RUN", NAMED);
            cat.envs((0..variables).map(|n| (format!("A{n}"), &large)));
            let mut cat = cat.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
            let found = line_of(Process::find(cat.id()).unwrap(), Path::new("/h/tmux"));
            let found = found.map(|line| line[0].run.map(|run| run.to_string()));
            let too_much = Unreadable::TooMuch { pid: cat.id() };
            let expected = if is_read { Ok(Some(NAMED.to_owned())) } else { Err(too_much) };
            assert_eq!(found, expected, "{variables}");
            end(&mut cat);
        }
    }

    #[test]
    fn only_so_much_is_read_of_a_line() {
        let me = Process::myself();
        let folder = open("/proc/self", OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let mut glass = Glass { buffer: Vec::new(), left: LINE_BYTES_MAX };
        let length = glass.read(&folder, "stat").unwrap().len();
        assert_eq!(glass.left, LINE_BYTES_MAX - length);
        glass.left = length - 1;
        assert_eq!(glass.read(&folder, "stat").err(), Some(Errno::TOOBIG));
        let found = walk(me.pid, Path::new("/h/tmux"), &mut glass);
        assert_eq!(found, Err(Unreadable::TooMuch { pid: me.pid }));
    }

    #[test]
    fn a_name_with_brackets_does_not_hide_a_parent() {
        for (name, is_tmux) in
            [("sh", false), ("tmux: server", true), ("a) R 1 (b", false), ("tmux) S 9 (", true)]
        {
            let text = format!("7 ({name}) S 5 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 99 1000 1\n");
            let stat = parse_stat(text.as_bytes()).unwrap();
            assert_eq!((stat.is_tmux, stat.parent, stat.start), (is_tmux, 5, 99), "{name}");
        }
        for nonsense in
            ["", "7", "7 (sh", "7 sh)", ") 7 (", "7 (sh) S", "7 (sh) S 5 7", "7 (sh) S x"]
        {
            assert!(parse_stat(nonsense.as_bytes()).is_none(), "{nonsense}");
        }
    }

    #[test]
    fn a_run_is_found_by_its_whole_name() {
        let other = "run_00000000000000000000000008";
        for (environ, is_found) in [
            (format!("CMUX_RUN={NAMED}\0"), true),
            (format!("A=1\0CMUX_RUN={NAMED}\0B=2\0"), true),
            // The first of two is what a program reads.
            (format!("CMUX_RUN={NAMED}\0CMUX_RUN={other}\0"), true),
            (format!("CMUX_RUN={NAMED}"), true),
            (format!("MY_CMUX_RUN={NAMED}\0"), false),
            (format!("CMUX_RUN_ID={NAMED}\0A=CMUX_RUN={NAMED}\0"), false),
            (format!("CMUX_RUN={NAMED}x\0"), false),
            ("CMUX_RUN=\0".to_owned(), false),
            ("CMUX_RUN=agt_00000000000000000000000007\0".to_owned(), false),
            (String::new(), false),
        ] {
            let expected = is_found.then(|| NAMED.parse().unwrap());
            assert_eq!(find_run(environ.as_bytes()), expected, "{environ:?}");
        }
        assert_eq!(find_run(b"CMUX_RUN=\xff\0"), None);
    }

    #[test]
    fn a_server_is_cmuxs_by_where_its_socket_is() {
        for (cmdline, is_cmuxs) in [
            ("tmux\0-S\0/h/tmux/shop\0new-session\0-d\0", true),
            ("tmux\0-f\0/dev/null\0-S/h/tmux/shop\0", true),
            ("tmux\0", false),
            ("tmux\0-S\0", false),
            ("tmux\0-L\0/h/tmux/shop\0", false),
            ("tmux\0-S\0/h/tmux-of-mine/shop\0", false),
            ("tmux\0-S\0/somewhere/tmux/shop\0", false),
            ("tmux\0-S\0/tmp/tmux-1000/default\0attach\0", false),
            ("", false),
        ] {
            assert_eq!(serves(cmdline.as_bytes(), Path::new("/h/tmux")), is_cmuxs, "{cmdline:?}");
        }
    }

    /// Returns a socket to connect to, and the folder that it is in.
    fn door() -> (tempfile::TempDir, UnixListener) {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("door")).unwrap();
        (folder, listener)
    }

    /// Starts a process that connects to the door, and waits for an answer that never comes.
    fn connect(folder: &tempfile::TempDir, run: Option<&str>) -> Child {
        let mut curl = Command::new("curl");
        curl.args(["-s", "http://x/", "--unix-socket"]).arg(folder.path().join("door"));
        curl.env_remove("CMUX_RUN").envs(run.map(|run| ("CMUX_RUN", run)));
        curl.stdout(Stdio::null()).spawn().unwrap()
    }

    fn end(child: &mut Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
