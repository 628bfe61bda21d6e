//! The birth of a pane: a program in a window of its own, tagged before anybody sees it.

use std::fmt;
use std::time::Duration;

use super::client::SESSION;
use super::command::Command;
use super::control::Control;
use super::pane::{PaneId, Tags};
use super::quote::literal;
use super::{TmuxError, shorten};

/// Goes to the folder and becomes the program, with the words as they are given. tmux itself would
/// start the program somewhere else if the folder is gone, and give a single word to a shell.
const BECOME: [&str; 4] = ["/bin/sh", "-c", "cd -- \"$1\" && shift && exec \"$@\"", "cmux"];

/// The longest name and kind, in characters.
const TAG_MAX: usize = 200;

/// A pane that is to be.
#[derive(Clone, PartialEq, Eq)]
pub struct Spawn {
    pub tags: Tags,
    /// Where the program runs: an absolute path. If it is not there, the pane dies and says so.
    pub folder: String,
    /// What the program has besides the server's environment. Only it has it.
    pub environment: Vec<(String, String)>,
    /// The program and its arguments.
    pub words: Vec<String>,
}

/// A pane that has come to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spawned {
    pub pane: PaneId,
    /// The program's process.
    pub pid: u32,
}

impl Spawn {
    /// Makes the pane. If it is not known whether that was done, a survey tells by the run.
    pub async fn make(&self, control: &Control, within: Duration) -> Result<Spawned, TmuxError> {
        let said = control.command(&self.command()?, within).await?.text();
        let spawned = said.trim().split_once(' ').and_then(|(pane, pid)| {
            Some(Spawned { pane: pane.parse().ok()?, pid: pid.parse().ok()? })
        });
        spawned.ok_or_else(|| TmuxError::Garbled(shorten(&said)))
    }

    /// Returns what makes the pane. tmux takes the window that was just made for the one that is meant
    /// by what follows in the same list, so that nobody sees it without its tags.
    fn command(&self) -> Result<Command, TmuxError> {
        self.check()?;
        let Tags { agent, run, name, kind } = &self.tags;
        // Some versions refuse a window whose name could be read as the name of a pane.
        let shown = literal(&name.replace([':', '.'], "_"));
        let target = format!("={SESSION}:");
        let mut window = Command::new("new-window").with("-t", &target).with("-n", &shown);
        for (name, value) in &self.environment {
            window = window.with("-e", &format!("{name}={value}"));
        }
        window = window.flag("--");
        for word in BECOME.iter().copied().chain([self.folder.as_str()]) {
            window = window.word(word);
        }
        for word in &self.words {
            window = window.word(word);
        }
        let (agent, run) = (agent.to_string(), run.to_string());
        for (tag, value) in [
            ("@cmux_agent", &agent),
            ("@cmux_run", &run),
            ("@cmux_name", name),
            ("@cmux_kind", kind),
        ] {
            window = window.then(Command::new("set-option").flag("-p").flag(tag).word(value));
        }
        Ok(window.then(Command::new("display-message").with("-p", "#{pane_id} #{pane_pid}")))
    }

    /// Refuses what would not come back as it was given.
    fn check(&self) -> Result<(), TmuxError> {
        let refuse = |why: String| Err(TmuxError::Refused(why));
        for (what, text) in [("name", &self.tags.name), ("kind", &self.tags.kind)] {
            if text.is_empty() || text.chars().count() > TAG_MAX {
                return refuse(format!("the agent's {what} must have 1 to {TAG_MAX} characters"));
            }
            if text.chars().any(char::is_control) {
                return refuse(format!("the agent's {what} has a control character in it"));
            }
        }
        if !self.folder.starts_with('/') {
            return refuse("the folder that an agent works in must be an absolute path".to_owned());
        }
        if self.words.first().is_none_or(String::is_empty) {
            return refuse("there is no program to start".to_owned());
        }
        match self.environment.iter().find(|(name, _)| !is_variable(name)) {
            Some((name, _)) => refuse(format!("`{}` is no name for a variable", shorten(name))),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Spawn {
    /// What is in the environment is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.environment.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Spawn")
            .field("tags", &self.tags)
            .field("folder", &self.folder)
            .field("environment", &names)
            .field("program", &self.words.first())
            .finish_non_exhaustive()
    }
}

fn is_variable(name: &str) -> bool {
    let is_letter = |it: char| it.is_ascii_alphanumeric() || it == '_';
    name.chars().all(is_letter) && name.starts_with(|it: char| !it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_not_come_back_as_it_was_given_is_refused() {
        check(|_| {}, None);
        check(|spawn| spawn.tags.name = String::new(), Some("the agent's name must have"));
        check(|spawn| spawn.tags.name = "x".repeat(201), Some("1 to 200 characters"));
        check(|spawn| spawn.tags.name = "a\nb".into(), Some("a control character"));
        check(|spawn| spawn.tags.kind = "a\tb".into(), Some("a control character"));
        check(|spawn| spawn.folder = "src".into(), Some("absolute path"));
        check(|spawn| spawn.words.clear(), Some("no program"));
        check(|spawn| spawn.words = vec![String::new()], Some("no program"));
        check(|spawn| spawn.environment.push(("A B".into(), "x".into())), Some("`A B` is no name"));
        check(|spawn| spawn.environment.push(("1A".into(), "x".into())), Some("`1A` is no name"));
        check(|spawn| spawn.environment.push((String::new(), "x".into())), Some("`` is no name"));
        check(|spawn| spawn.environment.push(("A".into(), "\0".into())), Some("NUL"));
        check(|spawn| spawn.words.push("a\0b".into()), Some("NUL"));
    }

    #[test]
    fn a_pane_that_is_shown_does_not_tell_its_secrets() {
        let shown = format!("{:?}", spawn());
        assert!(shown.contains("CMUX_TOKEN") && !shown.contains("unmistakable"), "{shown}");
    }

    /// Checks what is said against a pane that differs from the usual.
    #[track_caller]
    fn check(change: impl FnOnce(&mut Spawn), expected: Option<&str>) {
        let mut spawn = spawn();
        change(&mut spawn);
        let command = spawn.command();
        let refusal = command.and_then(|it| it.line().map(|_| ())).err().map(|it| it.to_string());
        match expected {
            None => assert_eq!(refusal, None),
            Some(why) => {
                assert!(refusal.as_ref().is_some_and(|it| it.contains(why)), "{refusal:?}");
            }
        }
    }

    fn spawn() -> Spawn {
        Spawn {
            tags: Tags {
                agent: "agt_00000000000000000000000001".parse().unwrap(),
                run: "run_00000000000000000000000002".parse().unwrap(),
                name: "api".into(),
                kind: "claude".into(),
            },
            folder: "/".into(),
            environment: vec![("CMUX_TOKEN".into(), "unmistakable".into())],
            words: vec!["cat".into()],
        }
    }
}
