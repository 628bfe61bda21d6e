//! A tmux server of a test's own, which ends with the test.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use cmux_core::id::{AgentId, RunId};
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::command::Command;
use cmux_drivers::tmux::control::{Control, Heard};
use cmux_drivers::tmux::pane::{self, Life, Pane, PaneId, Tags};
use cmux_drivers::tmux::screen::{self, Colours};
use cmux_drivers::tmux::server::Server;
use cmux_drivers::tmux::spawn::{Spawn, Spawned};
use cmux_drivers::tmux::version;
use cmux_testkit::wait::{PATIENCE, eventually};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinHandle;

/// How long tmux may take for anything: as long as a test may.
pub(crate) const WITHIN: Duration = PATIENCE;

pub(crate) struct World {
    pub(crate) server: Server,
    folder: TempDir,
    runtime: Runtime,
    count: Mutex<u32>,
}

impl World {
    /// Names a server that does not run yet.
    pub(crate) fn asleep() -> World {
        let folder = tempfile::Builder::new().prefix("cmux-").tempdir().unwrap();
        let tmux = version::find(&std::env::var_os("PATH").unwrap()).unwrap();
        let place = folder.path().join("tmux");
        let server = Server::at(&tmux, &place, "shop", std::env::vars_os()).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        World { server, folder, runtime, count: Mutex::new(0) }
    }

    /// Starts a server.
    pub(crate) fn new() -> World {
        let world = World::asleep();
        world.wait(world.server.start(None)).unwrap();
        world
    }

    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Has something done in the background.
    pub(crate) fn begin<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.runtime.spawn(future)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn control(&self) -> Control {
        self.connect().0
    }

    pub(crate) fn connect(&self) -> (Control, Receiver<Heard>) {
        self.wait(Control::connect(&self.server, WITHIN)).unwrap()
    }

    /// Does a command that is expected to be done, and returns what it said.
    #[track_caller]
    pub(crate) fn tell(&self, control: &Control, command: &Command) -> String {
        self.wait(control.command(command, WITHIN)).unwrap().text()
    }

    /// Starts a shell script as an agent.
    #[track_caller]
    pub(crate) fn agent(&self, control: &Control, script: &str) -> (Spawned, Tags) {
        let spawn = self.script(script);
        (self.wait(spawn.make(control, WITHIN)).unwrap(), spawn.tags)
    }

    /// Returns a shell script that is about to be started as an agent.
    pub(crate) fn script(&self, script: &str) -> Spawn {
        let mut count = self.count.lock().unwrap();
        *count += 1;
        let agent: AgentId = format!("agt_{:026}", *count).parse().unwrap();
        let run: RunId = format!("run_{:026}", *count).parse().unwrap();
        let name = format!("agent-{}", *count);
        Spawn {
            tags: Tags { agent, run, name, kind: "demo".into() },
            folder: text(self.folder.path()),
            environment: Vec::new(),
            words: ["sh", "-c", script].map(ToOwned::to_owned).to_vec(),
        }
    }

    #[track_caller]
    pub(crate) fn survey(&self, control: &Control) -> Vec<Pane> {
        self.wait(pane::survey(control, WITHIN)).unwrap()
    }

    /// Returns how a pane is now.
    #[track_caller]
    pub(crate) fn pane(&self, control: &Control, id: PaneId) -> Pane {
        self.survey(control).into_iter().find(|pane| pane.id == id).unwrap()
    }

    /// Waits until a pane's program has ended, and it is known how.
    #[track_caller]
    pub(crate) fn see_end(&self, control: &Control, id: PaneId) -> Life {
        eventually("the end of the pane's program", || {
            let life = self.pane(control, id).life;
            (!matches!(life, Life::Running | Life::Ended)).then_some(life)
        })
    }

    /// Returns what is on a pane's screen, without the empty lines at its end.
    #[track_caller]
    pub(crate) fn screen(&self, control: &Control, id: PaneId) -> String {
        let screen = screen::capture(control, id, 0, Colours::Without, WITHIN);
        let screen = self.wait(screen).unwrap();
        String::from_utf8(screen.content).unwrap().trim_end().to_owned()
    }

    /// Waits until something is on a pane's screen.
    #[track_caller]
    pub(crate) fn see(&self, control: &Control, id: PaneId, what: &str) {
        eventually(what, || self.screen(control, id).contains(what).then_some(()));
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // A stopped server is ended, too.
        let ended = self.wait(self.server.kill());
        if !std::thread::panicking() {
            ended.unwrap();
        }
    }
}

pub(crate) fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Returns whether something is unknown, and neither done nor not done.
pub(crate) fn is_unknown<T>(result: &Result<T, TmuxError>) -> bool {
    matches!(result, Err(TmuxError::Gone | TmuxError::Late))
}
