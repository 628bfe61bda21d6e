//! What everybody who tends agents needs to know.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cmux_core::agent::Sighting;
use cmux_core::clock::Clock;
use cmux_core::id::{AgentId, RunId};
use cmux_core::price::Prices;
use cmux_core::project::ProjectId;
use cmux_core::report::Report;
use cmux_core::settings::Settings;
use cmux_core::time::Timestamp;
use cmux_drivers::claims::Claims;
use cmux_drivers::clock;
use cmux_drivers::home::Home;
use cmux_drivers::kinds::Known;
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::server::Server;
use cmux_drivers::tmux::version::{self, Tmux};
use tracing::warn;

use crate::inbox::Inbox;
use crate::readers::Readers;
use crate::shelf::Shelf;

/// The longest path that the kernel takes for a socket, in bytes.
const SOCKET_PATH_MAX: usize = 107;

/// What everybody who tends agents needs to know.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) home: Home,
    pub(crate) inbox: Inbox,
    pub(crate) readers: Readers,
    pub(crate) kinds: Arc<Shelf>,
    /// What models cost, where the user knows it better than manifests do.
    pub(crate) prices: Prices,
    /// The tickets of what is typed.
    pub(crate) claims: Claims,
    /// The clock that the kernel lives by.
    pub(crate) clock: Clock,
    /// How many files each agent may have open at once, if that is not what the daemon may.
    pub(crate) files_max: Option<u64>,
    /// The program of cmux, by which agents call it.
    pub(crate) cmux: PathBuf,
    /// tmux, once it was found. Held only to look.
    pub(crate) tmux: Mutex<Option<Tmux>>,
    /// The servers that were named, so that there is one of each.
    pub(crate) servers: Mutex<BTreeMap<PathBuf, Server>>,
}

impl Desk {
    pub(crate) fn new(
        home: &Home,
        inbox: &Inbox,
        readers: &Readers,
        kinds: &Arc<Shelf>,
        settings: &Settings,
        files_max: Option<u64>,
        clock: Clock,
    ) -> Desk {
        Desk {
            home: home.clone(),
            inbox: inbox.clone(),
            readers: readers.clone(),
            kinds: kinds.clone(),
            prices: settings.prices.clone(),
            claims: Claims::at(home.claims()),
            files_max,
            clock,
            cmux: own_program(home),
            tmux: Mutex::default(),
            servers: Mutex::default(),
        }
    }

    /// Returns where the tmux server in the `number`th place of `project` listens.
    pub(crate) fn socket(&self, project: &ProjectId, number: usize) -> Result<PathBuf, TmuxError> {
        let folder = self.home.tmux();
        let suffix = if number == 1 { String::new() } else { format!(".{number}") };
        let long = folder.join(format!("{project}{suffix}"));
        if long.as_os_str().len() <= SOCKET_PATH_MAX {
            return Ok(long);
        }
        // What tells projects apart comes last.
        let short = project.as_str().rsplit('-').next().unwrap_or(project.as_str());
        Ok(folder.join(format!("{short}{suffix}")))
    }

    /// Returns the tmux server in the `number`th place of `project`, whether or not it runs.
    pub(crate) fn server(&self, project: &ProjectId, number: usize) -> Result<Server, TmuxError> {
        let socket = self.socket(project, number)?;
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = servers.get(&socket) {
            return Ok(server.clone());
        }
        let (folder, name) = (self.home.tmux(), socket.file_name().unwrap_or_default());
        let server = Server::at(&self.tmux()?, &folder, &name.to_string_lossy(), env::vars_os())?;
        servers.insert(socket, server.clone());
        Ok(server)
    }

    /// Returns the tmux server of a person's own that listens at `socket`, whether or not it runs.
    pub(crate) fn persons_server(&self, socket: &Path) -> Result<Server, TmuxError> {
        if socket.starts_with(self.home.tmux()) {
            let why = "this server is cmux's own: have an agent in it with `cmux agent spawn`";
            return Err(TmuxError::Refused(why.to_owned()));
        }
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = servers.get(socket) {
            return Ok(server.clone());
        }
        let server = Server::of_person(&self.tmux()?, socket, env::vars_os())?;
        servers.insert(socket.to_owned(), server.clone());
        Ok(server)
    }

    /// Returns the tmux of this machine. It may be installed while the daemon runs.
    fn tmux(&self) -> Result<Tmux, TmuxError> {
        let mut known = self.tmux.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tmux) = known.as_ref() {
            return Ok(tmux.clone());
        }
        let found = version::find(&path())?;
        *known = Some(found.clone());
        Ok(found)
    }

    /// Returns what is known of `kind`, as its manifest and the user's settings are now.
    pub(crate) fn kind(&self, kind: &str) -> Result<Arc<Known>, String> {
        self.kinds.find(kind)
    }

    /// Sees to it that agents find this very program by cmux's name.
    pub(crate) fn check_program(&self) {
        own_program(&self.home);
    }

    /// Removes what was written for a run of which nothing is left.
    pub(crate) fn forget_run(&self, run: RunId) {
        remove(&self.home.run(&run.to_string()));
    }

    /// Removes what was kept for an agent that is forgotten. What is only linked there is the person's own
    /// and stays.
    pub(crate) fn forget_agent(&self, agent: AgentId) {
        remove(&self.home.agent_state(&agent.to_string()));
    }

    /// Returns the time by the clock that the kernel lives by.
    pub(crate) fn now(&self) -> Timestamp {
        let mut clock = self.clock;
        clock.read(clock::read()).0
    }

    pub(crate) fn see(&self, agent: AgentId, run: RunId, sighting: Sighting) {
        self.inbox.tell(Report::AgentSeen { agent, run, sighting });
    }

    pub(crate) fn not_launched(&self, agent: AgentId, run: RunId, why: &impl ToString) {
        let why = format!("it could not be launched: {}", why.to_string());
        self.see(agent, run, Sighting::NotLaunched { why });
    }
}

/// Removes a folder of cmux's own, and whatever links it holds, but nothing that they lead to.
fn remove(folder: &Path) {
    if let Err(error) = std::fs::remove_dir_all(folder)
        && error.kind() != io::ErrorKind::NotFound
    {
        warn!(%error, "{} could not be removed", folder.display());
    }
}

/// Returns what the daemon has for its PATH.
pub(crate) fn path() -> OsString {
    env::var_os("PATH").unwrap_or_default()
}

/// Returns cmux's own program under a name that stays the same, in a folder of its own, when it can be
/// put there. Agents have that folder on their PATH.
fn own_program(home: &Home) -> PathBuf {
    let program = env::current_exe().unwrap_or_else(|_| "cmux".into());
    let link = home.bin().join("cmux");
    match put_link(&program, &link) {
        Ok(()) => link,
        Err(error) => {
            warn!(%error, "cmux could not be put into {}", link.display());
            program
        }
    }
}

fn put_link(program: &Path, link: &Path) -> io::Result<()> {
    if std::fs::read_link(link).is_ok_and(|it| it == program) {
        return Ok(());
    }
    let folder = link.parent().unwrap_or(link);
    std::fs::create_dir_all(folder)?;
    let new = folder.join(".cmux.new");
    let _ = std::fs::remove_file(&new);
    symlink(program, &new)?;
    std::fs::rename(&new, link)
}
