//! A manifest as it is written, read key by key: what is wrong is told with its line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cmux_core::kind::{Ability, BadKind, Channel, Permissions, Witness};

use super::{
    Added, Api, ApiShape, Find, HookShape, Hooks, Keys, Launch, Manifest, Paste, Place, SessionBy,
    Status, StatusShape, Template, Transcript, TranscriptShape, Usage, UsageShape, ability, prices,
    screen,
};
use crate::config::ConfigError;
use crate::written::{File, Section};

const ROOT: [&str; 17] = [
    "kind",
    "title",
    "witnesses",
    "cannot",
    "find",
    "launch",
    "dialogs",
    "prompt",
    "rules",
    "keys",
    "hooks",
    "transcript",
    "status",
    "api",
    "channel",
    "usage",
    "prices",
];
const FIND: [&str; 5] = ["program", "version", "tested", "install", "built_in"];
const LAUNCH: [&str; 13] = [
    "command",
    "resume",
    "session",
    "session_after",
    "prompt",
    "role",
    "ask",
    "edits",
    "all",
    "trusted",
    "api",
    "env",
    "unset",
];
const ADDED: [&str; 2] = ["args", "env"];
const KEYS: [&str; 8] =
    ["paste", "submit", "submit_after_ms", "interrupt", "empty", "clear", "compact", "exit"];
const HOOKS: [&str; 6] = ["shape", "file", "events", "prompt", "blocks", "silent"];
const TRANSCRIPT: [&str; 2] = ["shape", "path"];
const STATUS: [&str; 2] = ["shape", "at"];
const API: [&str; 2] = ["shape", "at"];
const USAGE: [&str; 2] = ["shape", "also"];

/// All keys, for a test that sees them explained.
#[cfg(test)]
pub(super) const EXPLAINED: [&[&str]; 10] =
    [&ROOT, &FIND, &LAUNCH, &ADDED, &KEYS, &HOOKS, &TRANSCRIPT, &STATUS, &API, &USAGE];

/// The longest wait between a paste and what submits it, in milliseconds.
const SUBMIT_AFTER_MAX_MS: u64 = 10_000;

/// What a key is called.
pub(super) const KEY_NAMES: &str =
    "keys such as Enter, Escape, Tab, Up, Down, Space, C-c, or one letter";

/// Returns the manifest that `text` is, read from `path`.
pub fn parse(path: &Path, text: &str) -> Result<Manifest, ConfigError> {
    let file = File { path, text };
    let table = file.table()?;
    let root = Section::new(file, "", table.get_ref(), 1, &ROOT)?;
    let kind = root.must_text("kind", "what this kind of agent is called")?;
    let kind =
        kind.parse().map_err(|why: BadKind| root.wrong("kind", format!("is none: {why}")))?;
    let (eyes, dialogs) = screen::read(&root)?;
    let api = api(&root)?;
    let mut manifest = Manifest {
        kind,
        title: root.must_text("title", "what its makers call it")?,
        find: find(&root)?,
        launch: launch(&root)?,
        dialogs,
        eyes,
        keys: typed(&root)?,
        hooks: hooks(&root)?,
        transcript: transcript(&root)?,
        status: status(&root)?,
        channel: channel(&root, api.is_some())?,
        api,
        usage: usage(&root)?,
        prices: prices::read(&root)?,
        witnesses: root.some_of("witnesses", &Witness::ALL, Witness::name)?,
        can: BTreeSet::new(),
        cannot: cannot(&root)?,
    };
    manifest.can = ability::abilities(&manifest);
    whole(&root, manifest)
}

/// Returns the manifest if its parts go together.
fn whole(root: &Section<'_>, mut manifest: Manifest) -> Result<Manifest, ConfigError> {
    if manifest.witnesses.is_empty() {
        manifest.witnesses.push(Witness::Screen);
    }
    if let Some(ability) = ability::contradiction(&manifest.can, &manifest.cannot) {
        let why = format!("says that it cannot {0}, and the manifest says how to", ability.name());
        return Err(root.wrong("cannot", why));
    }
    if let Some(witness) = ability::absent(&manifest.can, &manifest.witnesses) {
        let why = format!("names {}, and the manifest does not say where it is", witness.name());
        return Err(root.wrong("witnesses", why));
    }
    Ok(manifest)
}

fn find(root: &Section<'_>) -> Result<Find, ConfigError> {
    let section = must(root, "find", "find", &FIND, "how it is found on a machine")?;
    let built_in = section.flag("built_in")?.unwrap_or(false);
    let program = match (built_in, section.text("program")?) {
        (true, Some(_)) => return Err(section.wrong("program", "is not for what is built in")),
        (true, None) => None,
        (false, Some(program)) if !program.is_empty() => Some(program),
        (false, Some(_) | None) => {
            return Err(section.missing("program", "what it is called on the path"));
        }
    };
    Ok(Find {
        program,
        version: section.text("version")?,
        tested: section.text("tested")?,
        install: section.must_text("install", "what to do if it is not there")?,
    })
}

fn launch(root: &Section<'_>) -> Result<Launch, ConfigError> {
    let section = must(root, "launch", "launch", &LAUNCH, "how it is started")?;
    let resume = templates(&section, "resume")?;
    let mut permissions = BTreeMap::new();
    for level in Permissions::ALL {
        if let Some(said) = section.section(level.name(), "launch.permissions", &ADDED)? {
            permissions.insert(level, added(&said)?);
        }
    }
    if permissions.is_empty() {
        let why = "what makes it ask, as [launch.ask], [launch.edits] or [launch.all]";
        return Err(section.missing("ask", why));
    }
    let trusted = section.section("trusted", "launch.trusted", &ADDED)?;
    let api = section.section("api", "launch.api", &ADDED)?;
    Ok(Launch {
        command: templates(&section, "command")?,
        resume: section.has("resume").then_some(resume),
        session: section
            .one_of("session", SessionBy::ALL, SessionBy::name)?
            .unwrap_or(SessionBy::Theirs),
        session_after: screen::pattern(&section, "session_after")?,
        prompt: telling(&section, "prompt", Place::Prompt)?,
        role: telling(&section, "role", Place::Role)?,
        permissions,
        trusted: trusted.as_ref().map(added).transpose()?.unwrap_or_default(),
        api: api.as_ref().map(added).transpose()?.unwrap_or_default(),
        env: variables(&section)?,
        unset: section.texts("unset")?,
    })
}

/// Returns the arguments that tell what fills `place`. None are needed to keep a role from what has no
/// ears for it, such as a shell.
fn telling(
    section: &Section<'_>,
    key: &str,
    place: Place,
) -> Result<Option<Vec<Template>>, ConfigError> {
    if !section.has(key) {
        return Ok(None);
    }
    let told = templates(section, key)?;
    let may_be_none = place == Place::Role && told.is_empty();
    if may_be_none || told.iter().any(|argument| argument.needs(place)) {
        return Ok(Some(told));
    }
    Err(section.wrong(key, format!("must hold `{{{}}}`, which is what it tells", place.name())))
}

fn added(section: &Section<'_>) -> Result<Added, ConfigError> {
    Ok(Added { args: templates(section, "args")?, env: variables(section)? })
}

fn variables(section: &Section<'_>) -> Result<BTreeMap<String, Template>, ConfigError> {
    let read = |(name, text): (String, String)| {
        let bad = |why| section.wrong("env", format!("has {name}, and {why}"));
        Ok((name.clone(), Template::read(&text).map_err(bad)?))
    };
    section.table("env")?.into_iter().map(read).collect()
}

fn typed(root: &Section<'_>) -> Result<Keys, ConfigError> {
    let section = must(root, "keys", "keys", &KEYS, "what is pressed and typed")?;
    let submit = keys(&section, "submit")?;
    let after_ms = section.number("submit_after_ms", SUBMIT_AFTER_MAX_MS)?;
    Ok(Keys {
        paste: section.one_of("paste", Paste::ALL, Paste::name)?.unwrap_or(Paste::Bracketed),
        submit: if submit.is_empty() { vec!["Enter".to_owned()] } else { submit },
        submit_after_ms: after_ms.unwrap_or(0),
        interrupt: keys(&section, "interrupt")?,
        empty: keys(&section, "empty")?,
        clear: section.text("clear")?,
        compact: section.text("compact")?,
        exit: section.text("exit")?,
    })
}

fn hooks(root: &Section<'_>) -> Result<Option<Hooks>, ConfigError> {
    let Some(section) = root.section("hooks", "hooks", &HOOKS)? else { return Ok(None) };
    let shape = section.one_of("shape", HookShape::ALL, HookShape::name)?;
    let (prompt, blocks) = (section.text("prompt")?, section.flag("blocks")?.unwrap_or(false));
    if blocks && prompt.is_none() {
        return Err(section.missing("prompt", "which event can refuse a prompt"));
    }
    // What a hook took may yet be held back by another one, and nothing else would tell.
    if blocks && !root.has("transcript") {
        return Err(section.wrong("blocks", "needs a [transcript], which tells what was read"));
    }
    Ok(Some(Hooks {
        shape: shape.ok_or_else(|| section.missing("shape", "whose hooks they are like"))?,
        file: section.has("file").then(|| template(&section, "file")).transpose()?,
        events: section.texts("events")?,
        prompt,
        blocks,
        silent: section.texts("silent")?,
    }))
}

fn transcript(root: &Section<'_>) -> Result<Option<Transcript>, ConfigError> {
    let section = root.section("transcript", "transcript", &TRANSCRIPT)?;
    let Some(section) = section else { return Ok(None) };
    let shape = section.one_of("shape", TranscriptShape::ALL, TranscriptShape::name)?;
    let shape = shape.ok_or_else(|| section.missing("shape", "whose transcript it is like"))?;
    Ok(Some(Transcript { shape, path: template(&section, "path")? }))
}

fn status(root: &Section<'_>) -> Result<Option<Status>, ConfigError> {
    let Some(section) = root.section("status", "status", &STATUS)? else { return Ok(None) };
    let shape = section.one_of("shape", StatusShape::ALL, StatusShape::name)?;
    let shape = shape.ok_or_else(|| section.missing("shape", "how it is told"))?;
    Ok(Some(Status { shape, at: template(&section, "at")? }))
}

fn api(root: &Section<'_>) -> Result<Option<Api>, ConfigError> {
    let Some(section) = root.section("api", "api", &API)? else { return Ok(None) };
    let shape = section.one_of("shape", ApiShape::ALL, ApiShape::name)?;
    let shape = shape.ok_or_else(|| section.missing("shape", "how a message is sent"))?;
    Ok(Some(Api { shape, at: template(&section, "at")? }))
}

fn usage(root: &Section<'_>) -> Result<Option<Usage>, ConfigError> {
    let Some(section) = root.section("usage", "usage", &USAGE)? else { return Ok(None) };
    let shape = section.one_of("shape", UsageShape::ALL, UsageShape::name)?;
    let shape = shape.ok_or_else(|| section.missing("shape", "whose transcript tells it so"))?;
    let (from, is_there) = match shape.written() {
        Some(_) => ("is read from the transcript, and there is no [transcript]", "transcript"),
        None => ("is asked for by its API, and there is no [api]", "api"),
    };
    if !root.has(is_there) {
        return Err(root.wrong("usage", from));
    }
    let also = section.has("also").then(|| template(&section, "also")).transpose()?;
    Ok(Some(Usage { shape, also }))
}

/// Returns how messages get to it: by its API, if it has one and the manifest does not say otherwise.
fn channel(root: &Section<'_>, has_api: bool) -> Result<Channel, ConfigError> {
    match root.one_of("channel", &Channel::ALL, Channel::name)? {
        Some(Channel::Api) if !has_api => {
            Err(root.wrong("channel", "is \"api\", and there is no [api] that says where that is"))
        }
        Some(channel) => Ok(channel),
        None if has_api => Ok(Channel::Api),
        None => Ok(Channel::Paste),
    }
}

fn cannot(root: &Section<'_>) -> Result<BTreeMap<Ability, String>, ConfigError> {
    let known = Ability::ALL.map(Ability::name);
    let Some(section) = root.section("cannot", "cannot", &known)? else {
        return Ok(BTreeMap::new());
    };
    let said = Ability::ALL.into_iter().filter(|ability| section.has(ability.name()));
    said.map(|ability| Ok((ability, section.must_text(ability.name(), "why it cannot")?))).collect()
}

fn must<'a>(
    root: &Section<'a>,
    key: &str,
    name: &'static str,
    known: &[&str],
    why: &str,
) -> Result<Section<'a>, ConfigError> {
    root.section(key, name, known)?.ok_or_else(|| root.missing(key, why))
}

fn template(section: &Section<'_>, key: &str) -> Result<Template, ConfigError> {
    let text = section.must_text(key, "a text")?;
    Template::read(&text).map_err(|why| section.wrong(key, format!("is wrong: {why}")))
}

/// Returns the arguments that are listed at `key`. Everybody on the machine can read those.
fn templates(section: &Section<'_>, key: &str) -> Result<Vec<Template>, ConfigError> {
    let told = section.all(key, Template::read)?;
    match told.iter().any(|argument| argument.needs(Place::Secret)) {
        true => Err(section.wrong(
            key,
            "holds `{secret}`, and others on the machine can read arguments: put it into `env`",
        )),
        false => Ok(told),
    }
}

/// Returns the keys that are listed at `key`, by tmux's names for them.
pub(super) fn keys(section: &Section<'_>, key: &str) -> Result<Vec<String>, ConfigError> {
    let named =
        ["Enter", "Escape", "Tab", "BTab", "Up", "Down", "Left", "Right", "Space", "BSpace"];
    let is_key = |name: &str| {
        let letter = name.strip_prefix("C-").or_else(|| name.strip_prefix("M-")).unwrap_or(name);
        let is_letter = letter.chars().count() == 1 && letter.chars().all(|c| c.is_ascii_graphic());
        named.contains(&name) || is_letter
    };
    let read = |name: &str| match is_key(name) {
        true => Ok(name.to_owned()),
        false => Err(format!("a key is one of {KEY_NAMES}")),
    };
    section.all(key, read)
}
