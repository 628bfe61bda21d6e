//! A real daemon in the foreground, which can be killed.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::home::TestHome;
use crate::wait::eventually;

/// A daemon that a test runs. It is killed with the test.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    said: PathBuf,
}

impl Daemon {
    /// Starts `cmux daemon run` in `home`, and waits until it is ready.
    pub(crate) fn start(home: &TestHome) -> Daemon {
        let mut daemon = Daemon::launch(home, home.command(&["daemon", "run"]));
        eventually("the daemon is ready", || {
            assert_eq!(daemon.ended(), None, "it ended: {}", daemon.said());
            let status = home.ask(|client| async move { client.daemon().await }).ok()?;
            let is_it = status.pid == Some(daemon.pid().cast_unsigned());
            (is_it && !status.starting).then_some(())
        });
        daemon
    }

    /// Starts `command`, which is some way to run a daemon in `home`, without waiting for it.
    pub fn launch(home: &TestHome, mut command: Command) -> Daemon {
        let said = home.folder("said").join(format!("{:?}.log", std::time::Instant::now()));
        let log = File::create(&said).unwrap();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        Daemon { child, said }
    }

    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Returns what it has said so far.
    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.said).unwrap_or_default()
    }

    /// Returns how it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Waits for it to end.
    pub fn wait(&mut self) -> ExitStatus {
        eventually("the daemon ends", || self.child.try_wait().unwrap())
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid()).unwrap(), signal).unwrap();
    }

    /// Kills it as a power cut would: at once, wherever it is.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
