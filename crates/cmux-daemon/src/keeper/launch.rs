//! The launch of an agent: what it needs is written, it is named, and started in a pane of its own.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cmux_core::agent::{Agent, Pid};
use cmux_core::digest::Digest;
use cmux_core::id::RunId;
use cmux_core::plan::agents::START_WITHIN;
use cmux_core::report::Report;
use cmux_core::run::RunToken;
use cmux_drivers::clock;
use cmux_drivers::kinds::Known;
use cmux_drivers::manifest::{Manifest, Place, SessionBy, Start, Started, Told};
use cmux_drivers::process::Process;
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::pane::Tags;
use cmux_drivers::tmux::spawn::{Spawn, Spawned};
use tokio::task::spawn_blocking;

use super::desk::{Desk, path};
use super::house::House;
use super::watch::Watch;

/// How long tmux may take to make a pane.
const SPAWN_WITHIN: Duration = Duration::from_secs(20);

/// What begins the secret of a run.
const TOKEN_PREFIX: &str = "cmux_run_";

/// What agents do not inherit of the daemon's environment: it is of another terminal, another agent, or
/// set anew.
const NOT_INHERITED: [&str; 16] = [
    "_",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "OLDPWD",
    "PATH",
    "PWD",
    "SHLVL",
    "STY",
    "TERM",
    "TERMCAP",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "VTE_VERSION",
    "WINDOWID",
];

/// What begins the names of variables that are not inherited, either.
const NOT_INHERITED_OF: [&str; 3] = ["CMUX_", "TMUX", "LISTEN_"];

/// Launches `run` of `agent` in `house`, unless it is too late for that or it is there already. Returns why it cannot be, in words.
pub(super) async fn launch(
    desk: &Arc<Desk>,
    agent: &Agent,
    run: RunId,
    house: &House,
) -> Result<Option<Watch>, String> {
    let Some(life) = agent.live_life().filter(|life| life.run == run) else { return Ok(None) };
    if clock::wall().since(life.began_at) > START_WITHIN {
        return Ok(None);
    }
    if let Some(spawned) = already(house, run).await? {
        return watch(desk, agent, run, house, spawned, None).map(Some);
    }
    let (ready_desk, ready_agent) = (desk.clone(), agent.clone());
    let prepared = spawn_blocking(move || prepare(&ready_desk, &ready_agent, run));
    let prepared = prepared.await.map_err(|error| error.to_string())??;
    name(desk, agent, run, &prepared).await?;
    let spawn = Spawn {
        tags: Tags { agent: agent.id, run, name: agent.name.to_string(), kind: agent.kind.clone() },
        folder: agent.setup.cwd.clone(),
        environment: prepared.environment.into_iter().collect(),
        words: prepared.words,
    };
    let control = house.started().await.map_err(|error| error.to_string())?;
    let spawned = match spawn.make(&control, SPAWN_WITHIN).await {
        Ok(spawned) => spawned,
        // It is not known whether it was made.
        Err(TmuxError::Late | TmuxError::Gone) => {
            let found = already(house, run).await?;
            found.ok_or("tmux did not answer when it was to make its window")?
        }
        Err(error) => return Err(error.to_string()),
    };
    watch(desk, agent, run, house, spawned, prepared.unsaid).map(Some)
}

/// Returns the pane in which `run` is already, if it is.
async fn already(house: &House, run: RunId) -> Result<Option<Spawned>, String> {
    let panes = match house.panes().await {
        Ok(panes) => panes,
        Err(TmuxError::NoServer) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let is_it = |tags: &Tags| tags.run == run;
    let found = panes.iter().find(|pane| pane.tags.as_ref().is_some_and(is_it));
    Ok(found.and_then(|pane| Some(Spawned { pane: pane.id, pid: pane.pid? })))
}

fn watch(
    desk: &Desk,
    agent: &Agent,
    run: RunId,
    house: &House,
    spawned: Spawned,
    unsaid: Option<String>,
) -> Result<Watch, String> {
    // A process that has ended already had some beginning.
    let start = Process::find(spawned.pid).map_or(0, |process| process.start);
    let pid = Pid { pid: spawned.pid, start };
    let watch = Watch::new(desk, agent, run, house.clone(), spawned.pane, pid)?;
    Ok(watch.saying(unsaid))
}

/// Has the kernel know by what a run is known, before it can show it.
async fn name(desk: &Desk, agent: &Agent, run: RunId, ready: &Prepared) -> Result<(), String> {
    let secret = Digest::of(ready.token.as_bytes());
    let token = RunToken::new(secret, run, agent.id, agent.project.clone(), clock::wall());
    let session = ready.session.clone();
    let named = desk.inbox.ask(Report::RunNamed { token, session }).await;
    named.map(|_| ()).map_err(|denied| denied.to_string())
}

/// All that a launch needs.
struct Prepared {
    words: Vec<String>,
    environment: BTreeMap<String, String>,
    token: String,
    session: Option<String>,
    unsaid: Option<String>,
}

/// Finds the program, writes its settings, and fills in what it is started with.
fn prepare(desk: &Desk, agent: &Agent, run: RunId) -> Result<Prepared, String> {
    let known = desk.kind(&agent.kind)?;
    let manifest = &known.manifest;
    let cwd = Path::new(&agent.setup.cwd);
    if !cwd.is_dir() {
        return Err(format!("its folder {} is not there", cwd.display()));
    }
    let program = program(desk, &known)?;
    let folder = make_folder(&desk.home.run(&run.to_string()))?;
    let state = make_folder(&desk.home.agent_state(&agent.id.to_string()))?;
    let (start, session) = session(manifest, agent, &state);
    let port = free_port();
    let home = env::var("HOME").unwrap_or_default();
    let filled = |place: Place| match place {
        Place::Program => Some(program.display().to_string()),
        Place::Cmux => Some(desk.cmux.display().to_string()),
        Place::Session => session.clone(),
        Place::Cwd | Place::Root => Some(agent.setup.cwd.clone()),
        Place::Settings => Some(folder.join("settings.json").display().to_string()),
        Place::Name => Some(agent.name.to_string()),
        Place::Run => Some(run.to_string()),
        Place::Home => Some(home.clone()),
        Place::State => Some(state.display().to_string()),
        Place::Port => port.map(|port| port.to_string()),
        Place::Prompt | Place::Role | Place::Pid => None,
    };
    let told = Told { role: None, prompt: agent.setup.task.as_deref() };
    let told = if start == Start::New { told } else { Told { prompt: None, ..told } };
    let started = manifest.start(start, &known.settings, told, filled);
    let mut started = started.map_err(|error| error.to_string())?;
    started.argv.extend(agent.setup.args.iter().cloned());
    let token = secret()?;
    let environment = environment(desk, agent, run, &token, &started);
    let mut words = vec![desk.cmux.display().to_string(), "launch".into(), "--".into()];
    words.extend(started.argv);
    Ok(Prepared { words, environment, token, session, unsaid: started.unsaid })
}

/// Returns the program of a kind, or how it is had.
fn program(desk: &Desk, known: &Known) -> Result<PathBuf, String> {
    let manifest = &known.manifest;
    if manifest.find.program.is_none() && known.settings.command.is_none() {
        return Ok(desk.cmux.clone());
    }
    known.program(&path()).ok_or_else(|| {
        let (title, install) = (&manifest.title, &manifest.find.install);
        format!("{title} is not on this machine: {install}")
    })
}

/// Returns whether the agent's session begins or goes on, and which it is, if that is for cmux to say.
/// One of which the CLI has written nothing cannot be gone on with.
fn session(manifest: &Manifest, agent: &Agent, _state: &Path) -> (Start, Option<String>) {
    match (&agent.session, manifest.launch.session) {
        (Some(session), _) if manifest.launch.resume.is_some() => {
            (Start::Resume, Some(session.clone()))
        }
        (_, SessionBy::Ours) => (Start::New, uuid()),
        (_, SessionBy::Theirs) => (Start::New, None),
    }
}

/// Returns what the agent has for its environment, besides what every program has.
fn environment(
    desk: &Desk,
    agent: &Agent,
    run: RunId,
    token: &str,
    started: &Started,
) -> BTreeMap<String, String> {
    let inherited = env::vars_os().filter_map(text).filter(|(name, _)| is_inherited(name));
    let mut all: BTreeMap<String, String> = inherited.collect();
    for name in &started.unset {
        all.remove(name);
    }
    all.extend(started.env.clone());
    all.extend(agent.setup.env.iter().cloned());
    let home = desk.home.root().display().to_string();
    let path = match path().into_string() {
        Ok(path) if !path.is_empty() => format!("{}:{path}", desk.home.bin().display()),
        Ok(_) | Err(_) => desk.home.bin().display().to_string(),
    };
    let own = [
        ("CMUX_AGENT", agent.id.to_string()),
        ("CMUX_AGENT_NAME", agent.name.to_string()),
        ("CMUX_RUN", run.to_string()),
        ("CMUX_PROJECT", agent.project.to_string()),
        ("CMUX_SOCKET", desk.home.socket().display().to_string()),
        ("CMUX_TOKEN", token.to_owned()),
        ("CMUX_HOME", home),
        ("PATH", path),
    ];
    all.extend(own.map(|(name, value)| (name.to_owned(), value)));
    all
}

/// Returns a variable as text, if it is.
fn text((name, value): (OsString, OsString)) -> Option<(String, String)> {
    Some((name.into_string().ok()?, value.into_string().ok()?))
}

fn is_inherited(name: &str) -> bool {
    let is_name = name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    is_name
        && !name.is_empty()
        && !name.starts_with(|it: char| it.is_ascii_digit())
        && !NOT_INHERITED.contains(&name)
        && !NOT_INHERITED_OF.iter().any(|beginning| name.starts_with(beginning))
}

/// Returns a port that nobody listens at.
fn free_port() -> Option<u16> {
    TcpListener::bind(("127.0.0.1", 0)).and_then(|it| it.local_addr()).ok().map(|it| it.port())
}

fn make_folder(folder: &Path) -> Result<PathBuf, String> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map(|()| folder.to_owned()).map_err(|error| format!("{}: {error}", folder.display()))
}

fn chance<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

fn secret() -> Result<String, String> {
    Ok(format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(chance::<32>()?)))
}

/// Returns a name for a session, as RFC 9562 has them (version 4).
fn uuid() -> Option<String> {
    let mut bytes = chance::<16>().ok()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    Some(parts.join("-"))
}
