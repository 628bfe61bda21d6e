//! What makes a CLI call cmux: files of cmux's own, which the CLI is pointed to. No file of the person's is
//! changed.
//!
//! Codex and Gemini find their settings, their sessions and their login in one folder, so they get one of
//! cmux's with links to what is the person's. That folder lasts as long as the agent: a session is resumed
//! in the folder that it began in, and two agents that shared one would write over each other's settings.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::iter;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use cmux_core::kind::Permissions;
use serde_json::{Map, Value, json};
use toml::de::DeTable;

use super::{is_event, shape};
use crate::manifest::{HookShape, Hooks, Manifest};

/// How long a hook may take before the CLI goes on without it. Ours take less, or spool what they know.
const TIMEOUT_S: u64 = 10;

/// What of the person's Codex is used as it is, if it is there.
const CODEX_LINKS: [&str; 7] = [
    "auth.json",
    "AGENTS.md",
    "AGENTS.override.md",
    "agents",
    "prompts",
    "skills",
    "rules/default.rules",
];

/// What of the person's Gemini is used as it is, if it is there.
const GEMINI_LINKS: [&str; 17] = [
    ".env",
    ".gemini/.env",
    ".gemini/GEMINI.md",
    ".gemini/a2a-oauth-tokens.json",
    ".gemini/agents",
    ".gemini/commands",
    ".gemini/extension_integrity.json",
    ".gemini/extensions",
    ".gemini/gemini-credentials.json",
    ".gemini/google_accounts.json",
    ".gemini/installation_id",
    ".gemini/keybindings.json",
    ".gemini/mcp-oauth-tokens.json",
    ".gemini/oauth_creds.json",
    ".gemini/policies",
    ".gemini/skills",
    ".gemini/trustedFolders.json",
];

/// What means more than itself in a pattern of Claude Code's, or ends one.
const SPECIAL: [char; 13] = ['*', '?', '[', ']', '{', '}', '(', ')', '!', '#', '\\', '\n', ','];

/// What Codex notes in its settings that another copy of them must not lose.
const CODEX_KEPT: [&str; 2] = ["[hooks.state.", "[projects."];

/// Files that make a CLI call cmux.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    pub lasts: Lasts,
    /// What `{settings}` stands for, seen from their folder. Empty for the folder itself.
    pub settings: &'static str,
    pub files: Vec<File>,
}

/// How long files are of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// They belong to a run.
    Run,
    /// They belong to the agent, and its next run finds them again.
    Agent,
}

/// A file, and where it is seen from its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub path: &'static str,
    pub content: Content,
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Text(String),
    /// What the person has in a file of this name, and this besides.
    Added(Value),
    /// A copy of what the person has in a file of this name, with what the CLI has noted in ours.
    Config,
    /// A link to what the person has there, if anything.
    Link,
}

/// Returns the files that make the CLI of `manifest` call `cmux`, and let it use that command and read the
/// mail of the project at `root`. There are none for a CLI whose hooks run no command.
pub fn settings(manifest: &Manifest, cmux: &Path, root: &Path, permissions: Permissions) -> Files {
    let none = Files { lasts: Lasts::Run, settings: "", files: Vec::new() };
    let hooks = manifest.hooks.as_ref().filter(|hooks| shape(hooks.shape.name()).is_some());
    let Some(hooks) = hooks else { return none };
    match hooks.shape {
        HookShape::Claude | HookShape::Demo => {
            let mode = match permissions {
                Permissions::Ask => "default",
                Permissions::Edits => "acceptEdits",
                Permissions::All => "bypassPermissions",
            };
            let allowed = iter::once("Bash(cmux *)".to_owned()).chain(may_read_mail(root));
            let allowed: Vec<String> = allowed.collect();
            let allow = json!({ "defaultMode": mode, "allow": allowed });
            let json = json!({ "permissions": allow, "hooks": table(hooks, cmux, TIMEOUT_S) });
            let file = File { path: "settings.json", content: Content::Text(written(&json)) };
            Files { lasts: Lasts::Run, settings: "settings.json", files: vec![file] }
        }
        HookShape::Gemini => {
            // It counts in milliseconds.
            let table = table(hooks, cmux, TIMEOUT_S * 1000);
            // What is allowed in its settings would be all that is allowed. Its home is this folder.
            let policies = ["~/.gemini/policies", "~/.gemini/cmux.toml"];
            let json = json!({ "hooks": table, "policyPaths": policies });
            let rule = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"cmux\"\n\
                        decision = \"allow\"\npriority = 100\n";
            let own = [
                File { path: ".gemini/settings.json", content: Content::Added(json) },
                File { path: ".gemini/cmux.toml", content: Content::Text(rule.to_owned()) },
            ];
            let links = GEMINI_LINKS.map(|path| File { path, content: Content::Link });
            let files = own.into_iter().chain(links).collect();
            Files { lasts: Lasts::Agent, settings: "", files }
        }
        HookShape::Codex => {
            let table = json!({ "hooks": table(hooks, cmux, TIMEOUT_S) });
            let rule = "prefix_rule(pattern = [\"cmux\"], decision = \"allow\")\n";
            let own = [
                File { path: "config.toml", content: Content::Config },
                File { path: "hooks.json", content: Content::Text(written(&table)) },
                File { path: "rules/cmux.rules", content: Content::Text(rule.to_owned()) },
            ];
            let links = CODEX_LINKS.map(|path| File { path, content: Content::Link });
            let files = own.into_iter().chain(links).collect();
            Files { lasts: Lasts::Agent, settings: "", files }
        }
        HookShape::Hermes | HookShape::Opencode => none,
    }
}

/// Returns what lets Claude Code read the mail of the project at `root` without a question. In its patterns some
/// letters mean more than themselves: where they are in a path, it asks.
fn may_read_mail(root: &Path) -> Option<String> {
    let is_plain = |root: &&str| root.starts_with('/') && !root.contains(SPECIAL);
    let root = root.to_str().filter(is_plain)?.trim_end_matches('/');
    // One slash would be where the settings are; two are where all begins.
    Some(format!("Read(/{root}/.cmux/mail/**)"))
}

/// Returns the folder where the person has what [`Content`] speaks of.
pub fn theirs(
    manifest: &Manifest,
    home: &Path,
    environment: impl Fn(&str) -> Option<OsString>,
) -> PathBuf {
    let named = |name| environment(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    match manifest.hooks.as_ref().map(|hooks| hooks.shape) {
        Some(HookShape::Codex) => named("CODEX_HOME").unwrap_or_else(|| home.join(".codex")),
        Some(HookShape::Gemini) => named("GEMINI_CLI_HOME").unwrap_or_else(|| home.to_owned()),
        Some(HookShape::Claude | HookShape::Hermes | HookShape::Opencode | HookShape::Demo)
        | None => home.to_owned(),
    }
}

/// Returns the hooks that call `cmux`, one for each event.
fn table(hooks: &Hooks, cmux: &Path, timeout: u64) -> Value {
    let cmux = cmux.to_string_lossy().replace('\'', r"'\''");
    let shape = hooks.shape.name();
    let call = |event: &String| {
        let command = format!("'{cmux}' hook {shape} {event}");
        let hook = json!({ "type": "command", "command": command, "timeout": timeout });
        (event.clone(), json!([{ "hooks": [hook] }]))
    };
    let known = hooks.events.iter().filter(|event| is_event(event));
    Value::Object(known.map(call).collect::<Map<_, _>>())
}

fn written(json: &Value) -> String {
    format!("{json:#}\n")
}

impl Files {
    /// Writes them under `folder`, for nobody else to read, where `theirs` is what the person has. Returns
    /// what `{settings}` stands for.
    pub fn write(&self, folder: &Path, theirs: &Path) -> io::Result<PathBuf> {
        make(folder)?;
        for File { path, content } in &self.files {
            let (ours, theirs) = (folder.join(path), theirs.join(path));
            if let Some(above) = ours.parent() {
                make(above)?;
            }
            match content {
                Content::Text(text) => replace(&ours, text)?,
                Content::Added(json) => {
                    let there = text_of(&theirs)?.map_or(Ok(json!({})), |text| {
                        serde_json::from_str(&without_comments(&text)).map_err(|error| {
                            let why = format!("{} is not JSON: {error}", theirs.display());
                            io::Error::new(ErrorKind::InvalidData, why)
                        })
                    });
                    replace(&ours, &written(&merged(there?, json)))?;
                }
                Content::Config => {
                    let (theirs, noted) = (text_of(&theirs)?, text_of(&ours)?);
                    let theirs = theirs.unwrap_or_default();
                    replace(&ours, &configured(&theirs, &noted.unwrap_or_default()))?;
                }
                Content::Link => link(&ours, &theirs)?,
            }
        }
        Ok(if self.settings.is_empty() { folder.to_owned() } else { folder.join(self.settings) })
    }
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn text_of(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        text => text.map(Some),
    }
}

/// Puts a file in the place of whatever is there, so that what a link leads to stays as it is.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_added_extension("new");
    let _ = fs::remove_file(&new);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&new, path)
}

/// Links `ours` to `theirs`, if that is there. What the CLI has put in the place of a link stays.
fn link(ours: &Path, theirs: &Path) -> io::Result<()> {
    match fs::symlink_metadata(ours) {
        Ok(there) if !there.is_symlink() => return Ok(()),
        Ok(_) => fs::remove_file(ours)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if theirs.exists() { symlink(theirs, ours) } else { Ok(()) }
}

/// Returns JSON without the comments that some CLIs let people write into it.
fn without_comments(text: &str) -> String {
    let (mut clean, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' => end_of_string(rest),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |at| at + 4),
            other => other.len_utf8(),
        };
        let (piece, after) = rest.split_at(end);
        let is_comment = piece.starts_with('/') && piece.len() > 1;
        clean.push_str(if is_comment { " " } else { piece });
        rest = after;
    }
    clean
}

/// Returns where the string ends that `text` begins with.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            '"' if !is_escaped => return at + 1,
            letter => is_escaped = letter == '\\' && !is_escaped,
        }
    }
    text.len()
}

/// Returns `there` with all of `ours`. Lists go on where they end; what both have is as we have it.
fn merged(there: Value, ours: &Value) -> Value {
    match (there, ours) {
        (Value::Object(mut there), Value::Object(ours)) => {
            for (key, value) in ours {
                let before = there.remove(key);
                let after = before.map_or_else(|| value.clone(), |before| merged(before, value));
                there.insert(key.clone(), after);
            }
            Value::Object(there)
        }
        (Value::Array(mut there), Value::Array(ours)) => {
            there.extend(ours.iter().cloned());
            Value::Array(there)
        }
        (_, ours) => ours.clone(),
    }
}

/// Returns the person's settings, with those sections that the CLI has `noted` in ours and theirs have not.
fn configured(theirs: &str, noted: &str) -> String {
    let has = |header: &str| theirs.lines().any(|line| line.trim() == header);
    let (mut text, mut is_kept) = (theirs.to_owned(), false);
    for line in noted.lines() {
        let header = line.trim();
        if header.starts_with('[') {
            is_kept = CODEX_KEPT.iter().any(|kept| header.starts_with(kept)) && !has(header);
        }
        if is_kept {
            text = format!("{}{}{line}\n", text.trim_end_matches('\n'), blank(header, &text));
        }
    }
    // Better to ask again than to start with settings that cannot be read.
    if DeTable::parse(&text).is_ok() { text } else { theirs.to_owned() }
}

/// Returns what stands before a line: a header has an empty line above it.
fn blank(line: &str, before: &str) -> &'static str {
    match (before.is_empty(), line.starts_with('[')) {
        (true, _) => "",
        (false, true) => "\n\n",
        (false, false) => "\n",
    }
}
