//! What an agent is launched with: its program, its settings, its session, its environment.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cmux_core::agent::Agent;
use cmux_core::id::RunId;
use cmux_core::kind::{Channel, Unconfirmed};
use cmux_core::project::Project;
use cmux_core::role::Part;
use cmux_core::trust::Trust;
use cmux_drivers::hooks::{self, Lasts};
use cmux_drivers::kinds::Known;
use cmux_drivers::launch_settings::launch_settings;
use cmux_drivers::manifest::{Manifest, Place, SessionBy, Start, Started, Told};
use cmux_drivers::private;
use cmux_drivers::transcript::is_begun;

use super::desk::{Desk, path};

/// The file in which what is left to be said at an agent's prompt waits for that.
pub(super) const UNSAID: &str = "unsaid";

/// The file of a run that says how messages get to it, and what is done with one that nobody confirms.
const MAIL: &str = "mail";

/// The files of a run that say at which port its CLI is to be asked, and by which secret.
pub(super) const PORT: &str = "port";
pub(super) const SECRET: &str = "secret";

/// The file of an agent that says what `{settings}` stood for last: it is looked for after a run's end, too.
pub(super) const SETTINGS_AT: &str = "settings-at";

/// The file in which it is noted what a run may do without asking.
pub(super) const ALLOWED: &str = "permissions";

/// How much of a session's id names a file, in letters.
pub(super) const SESSION_HEAD: usize = 8;

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

/// What the store knows of an agent's surroundings.
pub(super) struct Around {
    pub(super) project: Project,
    /// The name of whoever launched it, if an agent did.
    pub(super) parent: Option<String>,
    pub(super) trust: Trust,
}

/// All that a launch needs.
pub(super) struct Prepared {
    pub(super) words: Vec<String>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) token: String,
    pub(super) session: Option<String>,
    /// What the project's files say that was not used, and why.
    pub(super) ignored: Vec<String>,
}

/// Finds the program, writes its settings, and fills in what it is started with.
pub(super) fn prepare(
    desk: &Desk,
    agent: &Agent,
    run: RunId,
    around: &Around,
) -> Result<Prepared, String> {
    desk.check_program();
    let known = desk.kind(&agent.kind)?;
    let manifest = &known.manifest;
    let cwd = Path::new(&agent.setup.cwd);
    if !cwd.is_dir() {
        return Err(format!("its folder {} is not there", cwd.display()));
    }
    let (name, role) = (agent.name.as_str(), agent.role.as_str());
    // What the project is called may be the repository's word, which nobody has trusted.
    let (root, project) = (&around.project.root, around.project.id.as_str());
    let part = Part { name, role, project, root, parent: around.parent.as_deref(), task: None };
    let own = launch_settings(&known.settings, &manifest.kind, &part, &around.trust);
    let known = Known { settings: own.kind_settings, ..(*known).clone() };
    let program = program(desk, &known)?;
    let folders = folders(desk, agent, run)?;
    let allowed = known.settings.permissions.name();
    private::write(&folders.run.join(ALLOWED), allowed.as_bytes()).map_err(|it| it.to_string())?;
    let settings = write_settings(desk, &known, Path::new(root), &folders)?;
    let at = settings.display().to_string();
    let noted = private::write(&folders.state.join(SETTINGS_AT), at.as_bytes());
    noted.map_err(|it| it.to_string())?;
    let mail = [manifest.channel(&known.settings).name(), known.settings.unconfirmed.name()];
    private::write(&folders.run.join(MAIL), mail.join(" ").as_bytes())
        .map_err(|it| it.to_string())?;
    let port = free_port();
    // Whoever watches over it after the daemon's end finds it there.
    let opens = URL_SAFE_NO_PAD.encode(chance::<32>()?);
    for (name, text) in [(PORT, port.unwrap_or(0).to_string()), (SECRET, opens.clone())] {
        let noted = private::write(&folders.run.join(name), text.as_bytes());
        noted.map_err(|error| error.to_string())?;
    }
    let home = env::var("HOME").unwrap_or_default();
    let filled = |session: Option<&str>, place: Place| match place {
        Place::Program => Some(program.display().to_string()),
        Place::Cmux => Some(desk.cmux.display().to_string()),
        Place::Session => session.map(ToOwned::to_owned),
        Place::SessionHead => session.map(|id| id.chars().take(SESSION_HEAD).collect()),
        Place::Cwd => Some(agent.setup.cwd.clone()),
        Place::Root => Some(root.clone()),
        Place::Settings => Some(settings.display().to_string()),
        Place::Name => Some(agent.name.to_string()),
        Place::Run => Some(run.to_string()),
        Place::Home => Some(home.clone()),
        Place::State => Some(folders.state.display().to_string()),
        Place::Port => port.map(|port| port.to_string()),
        Place::Secret => Some(opens.clone()),
        Place::Prompt | Place::Role | Place::Pid => None,
    };
    let (start, session) = session(manifest, agent, &filled);
    let prompt = agent.setup.task.as_deref().filter(|_| start == Start::New);
    let told = Told { role: Some(&own.role_prompt), prompt, trusted: own.folder_trusted };
    let filled = |place| filled(session.as_deref(), place);
    let mut settings = known.settings.clone();
    settings.args.extend(agent.setup.args.iter().cloned());
    let started = manifest.start(start, &settings, told, filled);
    let started = started.map_err(|error| error.to_string())?;
    let token = secret()?;
    let environment = environment(desk, agent, run, &token, &started);
    let mut words = vec![desk.cmux.display().to_string(), "launch".into(), "--".into()];
    words.extend(started.argv);
    if let Some(unsaid) = started.unsaid {
        let noted = private::write(&folders.run.join(UNSAID), unsaid.as_bytes());
        noted.map_err(|error| error.to_string())?;
    }
    Ok(Prepared { words, environment, token, session, ignored: own.ignored })
}

/// Returns how messages get to a run, and what is done with one that nobody confirms. What a person started
/// has no door that cmux could know of.
pub(super) fn mail_of(run: &Path, is_adopted: bool) -> (Channel, Unconfirmed) {
    let said = fs::read_to_string(run.join(MAIL)).unwrap_or_default();
    let has = |name: &str| said.split(' ').any(|word| word == name);
    let is_api = has(Channel::Api.name()) && !is_adopted;
    let channel = if is_api { Channel::Api } else { Channel::Paste };
    let is_left = has(Unconfirmed::Leave.name());
    (channel, if is_left { Unconfirmed::Leave } else { Unconfirmed::Again })
}

/// Where what is written for an agent lies.
struct Folders {
    run: PathBuf,
    state: PathBuf,
}

fn folders(desk: &Desk, agent: &Agent, run: RunId) -> Result<Folders, String> {
    Ok(Folders {
        run: make_folder(&desk.home.run(&run.to_string()))?,
        state: make_folder(&desk.home.agent_state(&agent.id.to_string()))?,
    })
}

/// Writes what makes a CLI call cmux, and returns what `{settings}` stands for.
fn write_settings(
    desk: &Desk,
    known: &Known,
    root: &Path,
    folders: &Folders,
) -> Result<PathBuf, String> {
    let (manifest, permissions) = (&known.manifest, known.settings.permissions);
    let files = hooks::settings(manifest, &desk.cmux, root, permissions);
    let folder = match files.lasts {
        Lasts::Run => &folders.run,
        Lasts::Agent => &folders.state,
    };
    let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
    let theirs = hooks::theirs(manifest, &home, |name| env::var_os(name));
    let written = files.write(folder, &theirs);
    written.map_err(|error| format!("its settings could not be written: {error}"))
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

/// Returns whether the agent's session begins or goes on, and which it is, if that is known. One of which
/// the CLI has written nothing cannot be gone on with; if that is not known, it is tried. One that has a name and
/// in which nothing was said can neither be gone on with nor begun again.
fn session(
    manifest: &Manifest,
    agent: &Agent,
    filled: &impl Fn(Option<&str>, Place) -> Option<String>,
) -> (Start, Option<String>) {
    let written = agent.session.as_deref().map(|session| {
        let Some(transcript) = &manifest.transcript else { return Written::Said };
        match transcript.find(|place| filled(Some(session), place)) {
            Ok(Some(found)) => match is_begun(transcript.shape, &found.path) {
                Ok(false) => Written::Named,
                Ok(true) | Err(_) => Written::Said,
            },
            Ok(None) => Written::Nothing,
            Err(_) => Written::Said,
        }
    });
    let own = agent.session.clone();
    match (written, manifest.launch.session) {
        (Some(Written::Said), _) if manifest.launch.resume.is_some() => (Start::Resume, own),
        (Some(Written::Named), SessionBy::Ours) => (Start::New, uuid()),
        (Some(Written::Said | Written::Nothing) | None, SessionBy::Ours) => {
            (Start::New, own.or_else(uuid))
        }
        (_, SessionBy::Theirs) => (Start::New, None),
    }
}

/// What a CLI has written down of a session.
enum Written {
    Nothing,
    /// What it is called.
    Named,
    /// What was said in it.
    Said,
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
        // Its own tmux is not the person's, whose line of descent is another.
        ("TMUX_TMPDIR", desk.home.run(&run.to_string()).display().to_string()),
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

/// Makes a folder that nobody else may look into.
pub(super) fn make_folder(folder: &Path) -> Result<PathBuf, String> {
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
