//! The start: from flags, variables and files to a session that runs.

use std::env;
use std::fs::{self, DirBuilder, File};
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::fault::Faults;
use super::flags::Flags;
use super::hook::Settings;
use super::permission::Mode;
use super::persona;
use super::runner::{Place, Runner};
use super::script::{SCRIPT_MAX, Script};
use super::session::{Session, Setup};
use super::terminal::Terminal;
use super::transcript::Transcript;

/// The file that names the folders that are trusted, one a line.
pub(crate) const TRUSTED: &str = "trusted";

/// Plays the agent to its end, and returns its exit code.
pub(crate) fn start(flags: &Flags) -> Result<u8, String> {
    let (script, faults) = script_and_faults(flags)?;
    if let Some(code) = faults.exit_at_start {
        return Ok(code);
    }
    let settings = match &flags.settings {
        Some(path) => Settings::parse(&read(path)?).map_err(|error| wrong(path, &error))?,
        None => Settings::default(),
    };
    let mode = flags.mode.as_deref().or(settings.mode.as_deref());
    let mode = mode.map_or(Ok(Mode::default()), Mode::parse)?;
    let folder = env::current_dir().map_err(|error| format!("there is no folder here: {error}"))?;
    let state = state_folder(flags)?;
    let id = flags.resume.clone().or_else(|| flags.session.clone());
    let id = id.map_or_else(new_id, Ok)?;
    let shown = folder.display().to_string();
    let mut transcript = Transcript::new(&state, &id, &shown);
    let found = transcript.read().map_err(|error| wrong(&transcript.path, &error.to_string()))?;
    match (&found, &flags.resume, &flags.session) {
        (None, Some(id), _) => return Err(format!("No conversation found with session ID: {id}")),
        (Some(_), _, Some(id)) => return Err(format!("Session ID {id} is already in use.")),
        _ => {}
    }
    let name = flags.name.clone().or_else(|| variable("CMUX_AGENT_NAME"));
    let name = name.unwrap_or_else(|| "demo".into());
    let trusted = fs::read_to_string(state.join(TRUSTED)).unwrap_or_default();
    let wall_ms = wall_ms();
    let place = Place {
        agent: variable("CMUX_AGENT").unwrap_or_else(|| name.clone()),
        record: env::var_os("CMUX_DEMO_RECORD").filter(|it| !it.is_empty()).map(PathBuf::from),
        approvals: env::var_os("CMUX_DEMO_APPROVALS")
            .filter(|it| !it.is_empty())
            .map(PathBuf::from),
        state,
        folder,
        name: name.clone(),
        wall_ms,
        mode: mode.name(),
    };
    let first = flags.prompt.clone().or_else(|| own_idea(flags, place.record.is_some()));
    let allow = [flags.allow.as_slice(), &settings.allow].concat();
    let session = Session::new(Setup {
        id,
        // Without chance there is no other session to be had; the old one goes on.
        new_id: Box::new(|| new_id().unwrap_or_else(|_| format!("clear-{}", std::process::id()))),
        name,
        is_trusted: trusted.lines().any(|line| line == shown),
        folder: shown,
        script,
        faults: faults.clone(),
        mode,
        allow,
        gap_ms: flags.gap_ms,
        resumed: found.filter(|_| flags.resume.is_some()),
        first,
        wall_ms,
    });
    let terminal = Terminal::take()?;
    let runner = Runner::new(session, place, transcript, settings, faults)?;
    if let Some(path) = &flags.listen {
        runner
            .open_door(path)
            .map_err(|error| format!("it cannot listen at {}: {error}", path.display()))?;
    }
    let code = runner.run();
    drop(terminal);
    Ok(code)
}

/// Returns what it does first though nobody asked for it: in a new session that cmux began, with no script
/// but its own. Whoever has prompts recorded wants to read their own.
fn own_idea(flags: &Flags, is_recorded: bool) -> Option<String> {
    let is_new = flags.resume.is_none() && variable("CMUX_RUN").is_some();
    let is_free = is_new && script_file(flags).is_none() && !is_recorded;
    persona::opening(flags.role.as_deref()).filter(|_| is_free)
}

fn script_file(flags: &Flags) -> Option<PathBuf> {
    flags.script.clone().or_else(|| variable("CMUX_DEMO_SCRIPT").map(PathBuf::from))
}

fn script_and_faults(flags: &Flags) -> Result<(Script, Faults), String> {
    let script = match &script_file(flags) {
        Some(path) => {
            let is_toml = path.extension().is_some_and(|it| it == "toml");
            Script::parse(&read(path)?, is_toml).map_err(|error| wrong(path, &error))?
        }
        None => persona::script(),
    };
    let mut faults = script.faults.clone();
    faults.add_lines(&variable("CMUX_DEMO_FAULTS").unwrap_or_default())?;
    flags.faults.iter().try_for_each(|fault| faults.add(fault))?;
    Ok((script, faults))
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn read(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| wrong(path, &error.to_string()))?;
    let read = file.take(SCRIPT_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| wrong(path, &error.to_string()))?;
    let is_long = u64::try_from(text.len()).is_ok_and(|length| length > SCRIPT_MAX);
    if is_long { Err(wrong(path, "it is longer than 1 MiB")) } else { Ok(text) }
}

fn wrong(path: &Path, why: &str) -> String {
    format!("{} cannot be read: {why}", path.display())
}

/// Returns the folder of transcripts, made if it is not there.
fn state_folder(flags: &Flags) -> Result<PathBuf, String> {
    let given = flags.state.clone().or_else(|| variable("CMUX_DEMO_STATE").map(PathBuf::from));
    let usual = || {
        let state = variable("XDG_STATE_HOME").map(PathBuf::from);
        let state = state.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".local/state")));
        state.map(|state| state.join("cmux-demo"))
    };
    let folder = given
        .or_else(usual)
        .ok_or("there is no $HOME: say where to keep transcripts, with --state")?;
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
    folder.canonicalize().map_err(|error| wrong(&folder, &error.to_string()))
}

/// Returns a new session's id, a UUID by chance.
fn new_id() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| format!("there is no chance to be had: {error}"))?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

pub(crate) fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
