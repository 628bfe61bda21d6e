//! Flags: what the agent is started with.

use std::ffi::OsString;
use std::path::PathBuf;

/// What `--help` says.
pub(crate) const HELP: &str = "\
Play an agent by a script: what the `demo` kind runs

Usage: cmux demo [OPTIONS] [PROMPT]

Options:
      --name NAME              how it is called, in its title and status line
      --session-id ID          the id of the new session
      --resume ID              go on with a session
      --settings FILE          hooks and permissions, as Claude Code has them
      --permission-mode MODE   default, acceptEdits or bypassPermissions
      --allowed-tools LIST     tools to use without a question: Write,Bash(cmux *)
      --append-system-prompt T what it is to be: `cmux up`'s supervisor shows a team
      --script FILE            what to do, as JSON or TOML; or $CMUX_DEMO_SCRIPT
      --state DIR              where transcripts are; or $CMUX_DEMO_STATE
      --listen SOCKET          take messages whole, one JSON line each, at this socket
      --fault NAME[=VALUE]     do something wrong; or $CMUX_DEMO_FAULTS, one a line
      --paste-gap-ms N         an Enter this soon after a paste belongs to it (8)

Each prompt that it takes is appended to $CMUX_DEMO_RECORD, if that is set, and what it is allowed
to do by a key to $CMUX_DEMO_APPROVALS.
";

/// An Enter this soon after a paste belongs to it.
const GAP_MS: u64 = 8;

/// What was asked for on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) name: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) resume: Option<String>,
    pub(crate) settings: Option<PathBuf>,
    pub(crate) mode: Option<String>,
    pub(crate) allow: Vec<String>,
    pub(crate) script: Option<PathBuf>,
    pub(crate) state: Option<PathBuf>,
    pub(crate) listen: Option<PathBuf>,
    pub(crate) faults: Vec<String>,
    pub(crate) gap_ms: u64,
    pub(crate) prompt: Option<String>,
    /// What it was told that it is.
    pub(crate) role: Option<String>,
    pub(crate) help: bool,
}

impl Flags {
    /// Reads the words after `cmux demo`.
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Flags, String> {
        let mut flags = Flags {
            name: None,
            session: None,
            resume: None,
            settings: None,
            mode: None,
            allow: Vec::new(),
            script: None,
            state: None,
            listen: None,
            faults: Vec::new(),
            gap_ms: GAP_MS,
            prompt: None,
            role: None,
            help: false,
        };
        let words = words.into_iter().map(|word| {
            word.into_string().map_err(|word| format!("`{}` is not UTF-8", word.display()))
        });
        let mut words = words.collect::<Result<Vec<String>, String>>()?.into_iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--help" | "-h" => flags.help = true,
                "--" => {
                    for word in words.by_ref() {
                        flags.take_prompt(word)?;
                    }
                }
                flag if flag.starts_with("--") => {
                    let (name, value) = match flag.split_once('=') {
                        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                        None => (flag.to_owned(), words.next()),
                    };
                    let value = value.ok_or_else(|| format!("`{name}` needs a value"))?;
                    flags.set(&name, value)?;
                }
                _ => flags.take_prompt(word)?,
            }
        }
        Ok(flags)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "--name" => self.name = Some(value),
            "--session-id" => self.session = Some(session_id(value)?),
            "--resume" => self.resume = Some(session_id(value)?),
            "--settings" => self.settings = Some(value.into()),
            "--permission-mode" => self.mode = Some(value),
            "--allowed-tools" | "--allowedTools" => {
                self.allow.extend(value.split(',').map(|pattern| pattern.trim().to_owned()));
            }
            "--append-system-prompt" => self.role = Some(value),
            "--script" => self.script = Some(value.into()),
            "--state" => self.state = Some(value.into()),
            "--listen" => self.listen = Some(value.into()),
            "--fault" => self.faults.push(value),
            "--paste-gap-ms" => {
                self.gap_ms =
                    value.parse().map_err(|_| format!("`{name}` needs a whole number"))?;
            }
            _ => return Err(format!("there is no flag `{name}`: see `cmux demo --help`")),
        }
        if self.session.is_some() && self.resume.is_some() {
            return Err("a session is either new (`--session-id`) or goes on (`--resume`)".into());
        }
        Ok(())
    }

    fn take_prompt(&mut self, word: String) -> Result<(), String> {
        match self.prompt.replace(word) {
            None => Ok(()),
            Some(first) => Err(format!("there is one prompt, and `{first}` is it: quote it")),
        }
    }
}

/// Returns the id, if it can be the name of a file.
fn session_id(id: String) -> Result<String, String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if id.is_empty() || id.len() > 64 || !id.chars().all(is_plain) {
        return Err(format!("`{id}` is no session id: letters, digits, `-` and `_`, at most 64"));
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_in_both_ways() {
        let words = ["--name", "a", "--fault=trust", "--fault", "draft=x", "--resume=b-1", "go"];
        let flags = parse(&words).unwrap();
        assert_eq!(flags.name.as_deref(), Some("a"));
        assert_eq!(flags.faults, ["trust", "draft=x"]);
        assert_eq!((flags.resume.as_deref(), flags.prompt.as_deref()), (Some("b-1"), Some("go")));
        assert_eq!(parse(&["--", "--name"]).unwrap().prompt.as_deref(), Some("--name"));
    }

    #[test]
    fn a_wrong_flag_is_refused() {
        for (words, told) in [
            (&["--nmae", "x"][..], "there is no flag `--nmae`"),
            (&["--name"], "needs a value"),
            (&["one", "two"], "there is one prompt"),
            (&["--resume", "../x"], "no session id"),
            (&["--resume", ""], "no session id"),
            (&["--resume", "a", "--session-id", "b"], "either new"),
            (&["--paste-gap-ms", "soon"], "whole number"),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains(told), "{words:?}: {error}");
        }
    }

    #[test]
    fn help_names_every_flag() {
        for flag in ["--name", "--session-id", "--resume", "--settings", "--listen", "--fault"] {
            assert!(HELP.contains(flag), "{flag}");
        }
        let flags = parse(&["--append-system-prompt", "be kind", "--", "go"]).unwrap();
        assert_eq!(flags.prompt.as_deref(), Some("go"));
        assert!(HELP.lines().all(|line| line.chars().count() <= 100));
    }

    fn parse(words: &[&str]) -> Result<Flags, String> {
        Flags::parse(words.iter().map(OsString::from))
    }
}
