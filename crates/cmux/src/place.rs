//! Where this command works: which home, which settings, which project.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cmux_core::settings::Settings;
use cmux_drivers::home::{Home, default_root};
use cmux_drivers::process::Process;
use cmux_drivers::{config, folder};
use cmux_wire::client::Client;
use cmux_wire::project::NewProject;

use crate::cmd;
use crate::fail::{Code, Fail};

/// How long a daemon may take to say how it is.
const GLANCE_WITHIN: Duration = Duration::from_secs(5);

/// Returns the home that `--home` or `CMUX_HOME` names, or the one there is otherwise.
pub(crate) fn home(named: Option<&Path>) -> Result<Home, Fail> {
    let nowhere = || {
        Fail::failed("cannot tell where to keep things: neither HOME nor CMUX_HOME is set")
            .hint("set CMUX_HOME to a folder of your own")
    };
    let named = named.map(PathBuf::from).or_else(|| env::var_os("CMUX_HOME").map(PathBuf::from));
    let root = match named {
        // Whoever meant some folder must not meet the one there is otherwise.
        Some(root) if root.as_os_str().is_empty() => {
            return Err(Fail::failed("CMUX_HOME is set, but to nothing")
                .hint("name a folder of your own, or leave it unset"));
        }
        Some(root) => root,
        None => {
            let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from);
            let user = env::home_dir().filter(|home| home.is_absolute());
            default_root(state.as_deref(), user.as_deref()).ok_or_else(nowhere)?
        }
    };
    Ok(Home::at(absolute(&root)?))
}

/// Returns `path` from the root on, so that the daemon means the same by it.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Fail> {
    std::path::absolute(path).map_err(|error| Fail::failed(format!("{}: {error}", path.display())))
}

/// Returns the settings that hold in `home`.
pub(crate) fn settings(home: &Home) -> Result<Settings, Fail> {
    Ok(config::load(&home.config(), |name| env::var(name).ok())?)
}

/// Returns a way to the daemon of `home`.
pub(crate) fn client(home: &Home) -> Client {
    // An agent is given one, by which the daemon knows it.
    let token = env::var_os("CMUX_TOKEN").filter(|token| !token.is_empty());
    let token = token.map(|token| token.to_string_lossy().into_owned());
    Client::new(&home.socket()).with_token(token)
}

/// How far up the line of descent is looked.
const GENERATIONS_MAX: u32 = 1000;

/// Returns a way to the daemon of `home` for whoever only wants to know how it is.
pub(crate) fn glance(home: &Home) -> Client {
    client(home).patient(GLANCE_WITHIN)
}

/// Returns whether this is below an agent, as far as its environment tells.
pub(crate) fn is_agents() -> bool {
    env::var_os("CMUX_RUN").is_some_and(|value| !value.is_empty())
}

/// Refuses whoever is below an agent what only a person may do.
pub(crate) fn require_person(what: &str) -> Result<(), Fail> {
    if !is_agents() {
        return Ok(());
    }
    let who =
        env::var("CMUX_AGENT_NAME").map_or_else(|_| "an agent".to_owned(), |it| format!("`{it}`"));
    Err(Fail::new(Code::Refused, format!("an agent may not {what}, and this is below {who}"))
        .hint("that is for the person to do, from a terminal that no agent has started"))
}

/// Returns how many generations above this process the nearest launcher of an agent is, if there is one.
/// Agents may always use the `cmux` command, so what runs other programs is not for them.
pub(crate) fn launcher_above() -> Option<u32> {
    let mut pid = std::process::id();
    for above in 1..GENERATIONS_MAX {
        pid = Process::find(pid)?.parent()?;
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let mut words = words.split(|&byte| byte == 0);
        let is_cmux = words.next().is_some_and(|it| it.ends_with(b"cmux"));
        if is_cmux && words.next() == Some(b"launch") {
            return Some(above);
        }
    }
    None
}

/// Returns the id of the project that `named` means: by its id, its name or its folder. Unless it is
/// said, that is the agent's that this is below, or the one here.
pub(crate) async fn project_id(client: &Client, named: Option<&str>) -> Result<String, Fail> {
    let own = env::var("CMUX_PROJECT").ok().filter(|own| !own.is_empty());
    match (named, own) {
        (None, Some(own)) => Ok(own),
        (Some(named), _) => Ok(cmd::project::find(client, named).await?.id),
        (None, None) => Ok(cmd::project::find(client, cmd::project::HERE).await?.id),
    }
}

/// Returns what is to be said of the project that `folder` belongs to, to have it added.
pub(crate) fn project(folder: &Path, name: Option<String>) -> Result<NewProject, Fail> {
    let root = folder::project_root(folder)?;
    let config = config::load_project(Path::new(&root))?;
    Ok(NewProject { root, name: name.or(config.name) })
}
