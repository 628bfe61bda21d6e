//! A tmux server of cmux's own: started if none runs, found by its socket, ended by its number. A person's
//! own server is only found.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::version::Tmux;
use super::{TmuxError, config, quote};
use crate::process::Process;

/// The longest path that the kernel takes for a socket, in bytes.
const SOCKET_PATH_MAX: usize = 107;

/// The longest name of a server, in bytes.
const NAME_MAX: usize = 80;

/// How long a server may take to start.
const START_WITHIN: Duration = Duration::from_secs(20);

/// How long a server may take to take a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);

/// How long a server may take to end when it is asked to, and again when it is killed.
const END_WITHIN: Duration = Duration::from_secs(5);

/// What of the environment a server has, and with it what agents start from. All else that an agent
/// needs is given to it at its birth.
const KEPT: &[&str] = &[
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
    "USER",
];

/// The run of a program of which only that is known, that it is below some agent.
const NOBODYS: &str = "run_00000000000000000000000000";

/// Where a server of cmux's is, whether or not it runs. All copies of it have one door: there should be
/// one of it in a process, and copies.
#[derive(Clone, Debug)]
pub struct Server {
    program: PathBuf,
    folder: PathBuf,
    socket: PathBuf,
    environment: Vec<(OsString, OsString)>,
    /// Held by whoever comes or goes in control mode: see [`super::client`].
    door: Arc<Mutex<()>>,
}

/// One life of a server. The ids of panes are of one life only: the next begins again at `%0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Generation {
    pub pid: u32,
    /// When it started, in seconds since 1970.
    pub started_s: u64,
}

impl Server {
    /// Names the server `name` in the `folder` of a home's servers. Of the `environment` it gets what
    /// is nobody's secret.
    pub fn at(
        tmux: &Tmux,
        folder: &Path,
        name: &str,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Server, TmuxError> {
        quote::plain("the name of a tmux server", name, NAME_MAX)?;
        let socket = folder.join(name);
        let unusable = |why: &str| TmuxError::Unusable {
            path: socket.clone(),
            source: io::Error::other(why.to_owned()),
        };
        if name.starts_with(['.', '-']) || name.starts_with(config::NAME) || name.ends_with(".lock")
        {
            return Err(unusable("no tmux server may be called that"));
        }
        let bytes = socket.as_os_str().as_bytes().len();
        if bytes > SOCKET_PATH_MAX {
            return Err(unusable(&format!(
                "it is too long for a socket: the kernel takes {SOCKET_PATH_MAX} bytes, and this has \
                 {bytes}. Choose a shorter CMUX_HOME"
            )));
        }
        Ok(Server::named(tmux, folder, socket, environment))
    }

    /// Names a server of a person's own, at `socket`. It is only ever [visited](super::visit).
    pub fn of_person(
        tmux: &Tmux,
        socket: &Path,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Server, TmuxError> {
        let bytes = socket.as_os_str().as_bytes().len();
        if !socket.is_absolute() || bytes > SOCKET_PATH_MAX {
            let why = format!("a socket is an absolute path of at most {SOCKET_PATH_MAX} bytes");
            return Err(TmuxError::unusable(socket)(io::Error::other(why)));
        }
        let folder = socket.parent().unwrap_or(socket);
        Ok(Server::named(tmux, folder, socket.to_owned(), environment))
    }

    fn named(
        tmux: &Tmux,
        folder: &Path,
        socket: PathBuf,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Server {
        Server {
            program: tmux.program.clone(),
            folder: folder.to_owned(),
            environment: environment.into_iter().filter(|(name, _)| is_kept(name)).collect(),
            socket,
            door: Arc::default(),
        }
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Starts the server if none runs, and returns its number. What it and its panes may have open at
    /// once is `files_max`, if given, or else as much as this process may.
    pub async fn start(&self, files_max: Option<u64>) -> Result<u32, TmuxError> {
        let config = config::write(&self.folder)?;
        let mut start = self.command(&config);
        timeout(START_WITHIN, self.run(start.arg("start-server")))
            .await
            .unwrap_or(Err(TmuxError::Late))?;
        let pid = self.pid().await?;
        if let (Some(most), Some(process)) = (files_max, Pid::from_raw(pid.cast_signed())) {
            let maximum = getrlimit(Resource::Nofile).maximum;
            let limit = Rlimit { current: Some(most), maximum };
            // With more than it was meant to have, it works as well.
            let _ = prlimit(Some(process), Resource::Nofile, limit);
        }
        Ok(pid)
    }

    /// Returns the number of the server that runs. One that is stopped is found, too.
    pub async fn pid(&self) -> Result<u32, TmuxError> {
        self.listener().await.map(|(pid, _)| pid)
    }

    /// Returns the number of the server that runs, and of the user whose it is.
    pub(super) async fn listener(&self) -> Result<(u32, u32), TmuxError> {
        let connected = timeout(CONNECT_WITHIN, UnixStream::connect(&self.socket)).await;
        let connected = connected.map_err(|_| TmuxError::Late)?;
        // The kernel knows who listens, whether or not it answers.
        let peer = connected.and_then(|socket| socket.peer_cred());
        let error = match peer {
            Ok(peer) => {
                let pid = peer.pid().map(i32::cast_unsigned).ok_or(TmuxError::Late)?;
                return Ok((pid, peer.uid()));
            }
            Err(error) => error,
        };
        if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) {
            Err(TmuxError::NoServer)
        } else if error.kind() == ErrorKind::WouldBlock {
            // So many wait for it already that no more may.
            Err(TmuxError::Late)
        } else {
            Err(TmuxError::unusable(&self.socket)(error))
        }
    }

    /// Ends the server and with it all panes, if it runs. It is asked to, and then killed.
    pub async fn kill(&self) -> Result<(), TmuxError> {
        let pid = match self.pid().await {
            Err(TmuxError::NoServer) => return Ok(()),
            pid => pid?,
        };
        let Some(process) = Process::find(pid) else { return Ok(()) };
        let is_over = tokio::task::spawn_blocking(move || {
            [Signal::TERM, Signal::KILL].into_iter().any(|signal| {
                let _ = process.signal(signal);
                process.wait_end(END_WITHIN)
            })
        });
        match is_over.await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(TmuxError::Late),
        }
    }

    /// Waits until the server has dealt with all that happened to it before.
    pub(super) async fn settle(&self) -> Result<(), TmuxError> {
        self.run(self.client().args(["display-message", "-p", ""])).await
    }

    pub(super) fn door(&self) -> Arc<Mutex<()>> {
        Arc::clone(&self.door)
    }

    /// Runs tmux to its end.
    async fn run(&self, command: &mut Command) -> Result<(), TmuxError> {
        let ran = command.kill_on_drop(true).output().await;
        let ran = ran.map_err(|error| self.unstartable(error))?;
        if ran.status.success() {
            Ok(())
        } else {
            Err(TmuxError::refused(&String::from_utf8_lossy(&ran.stderr)))
        }
    }

    /// Returns tmux, about to be run as a client of this server that starts none.
    pub(super) fn client(&self) -> Command {
        let mut command = self.command(Path::new("/dev/null"));
        command.arg("-N");
        // A server that is not what it seems can have its client become another program, which must not
        // be taken for the person's.
        command.env("CMUX_RUN", NOBODYS);
        command
    }

    fn command(&self, config: &Path) -> Command {
        let mut command = Command::new(&self.program);
        // By the path after `-S` a server is known to be cmux's: see `peer`.
        command.arg("-S").arg(&self.socket).arg("-u").arg("-f").arg(config);
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        // What is typed at the daemon's terminal is not meant for it.
        command.current_dir("/").stdin(Stdio::null()).process_group(0);
        command
    }

    /// Returns why the program itself could not be run.
    pub(super) fn unstartable(&self, error: io::Error) -> TmuxError {
        if error.kind() == ErrorKind::NotFound {
            TmuxError::Absent
        } else {
            TmuxError::unusable(&self.program)(error)
        }
    }
}

fn is_kept(name: &OsStr) -> bool {
    KEPT.iter().any(|kept| name == *kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tmux::version::Version;

    #[test]
    fn only_what_is_nobodys_secret_is_kept_of_the_environment() {
        for (name, kept) in [
            ("PATH", true),
            ("HOME", true),
            ("LANG", true),
            ("TERM", true),
            ("TMUX", false),
            ("TMUX_PANE", false),
            ("CMUX_TOKEN", false),
            ("ANTHROPIC_API_KEY", false),
            ("SSH_AUTH_SOCK", false),
            ("PATHS", false),
            ("", false),
        ] {
            assert_eq!(is_kept(OsStr::new(name)), kept, "{name}");
        }
    }

    #[test]
    fn a_name_that_cannot_be_a_socket_is_refused() {
        check("/h/tmux", "shop-3fa2.2", None);
        check("/h/tmux", "", Some("is empty"));
        check("/h/tmux", "a/b", Some("has `/` in it"));
        check("/h/tmux", "..", Some("called that"));
        check("/h/tmux", "-x", Some("called that"));
        check("/h/tmux", "tmux.conf", Some("called that"));
        check("/h/tmux", "a.lock", Some("called that"));
        let long = format!("/{}", "x".repeat(102));
        check(&long, "abc", None);
        check(&long, "abcd", Some("too long for a socket: the kernel takes 107 bytes"));
        check("/h", &"x".repeat(81), Some("make it shorter"));
    }

    /// Checks what is said against a server `name` in `folder`.
    #[track_caller]
    fn check(folder: &str, name: &str, expected: Option<&str>) {
        let tmux = Tmux { program: "/bin/tmux".into(), version: Version::Master };
        match (Server::at(&tmux, Path::new(folder), name, []), expected) {
            (Ok(_), None) => {}
            (Err(error), Some(expected)) => {
                assert!(error.to_string().contains(expected), "{error}");
            }
            (server, _) => panic!("{name}: {server:?}"),
        }
    }
}
