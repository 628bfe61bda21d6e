//! Commands for tmux: a list of them is done in one go, or until one is refused.

use std::fmt;

use super::TmuxError;
use super::quote::{self, BadText};

/// The longest list of commands that is sent, in bytes. Long texts are loaded from files.
pub const COMMAND_MAX: usize = 1 << 20;

/// A list of commands, quoted as tmux's command language wants it.
///
/// What is in it may be secret: it is shown without its words.
#[derive(Clone, PartialEq, Eq)]
pub struct Command {
    /// The commands of the list, each as it is said.
    list: Result<Vec<String>, BadText>,
    verbs: Vec<&'static str>,
}

impl Command {
    /// Begins a list with one command, such as `new-window`.
    pub fn new(verb: &'static str) -> Command {
        Command { list: Ok(vec![verb.to_owned()]), verbs: vec![verb] }
    }

    /// Adds a word as it is, such as a flag.
    #[must_use]
    pub fn flag(mut self, flag: &'static str) -> Command {
        self.push(flag);
        self
    }

    /// Adds a word that may be anything.
    #[must_use]
    pub fn word(mut self, text: &str) -> Command {
        match quote::word(text) {
            Ok(quoted) => self.push(&quoted),
            Err(bad) => self.list = self.list.and(Err(bad)),
        }
        self
    }

    /// Adds a flag and its value.
    #[must_use]
    pub fn with(self, flag: &'static str, value: &str) -> Command {
        self.flag(flag).word(value)
    }

    /// Adds a list to do as it is said here, in braces.
    #[must_use]
    pub fn block(mut self, list: Command) -> Command {
        self.verbs.extend(list.verbs);
        match list.list {
            Ok(list) => self.push(&format!("{{ {} }}", list.join(" ; "))),
            Err(bad) => self.list = self.list.and(Err(bad)),
        }
        self
    }

    /// Adds the commands of `next`. They are not done if one before is refused.
    #[must_use]
    pub fn then(mut self, next: Command) -> Command {
        self.verbs.extend(next.verbs);
        match (&mut self.list, next.list) {
            (Ok(list), Ok(next)) => list.extend(next),
            (Ok(_), Err(bad)) => self.list = Err(bad),
            (Err(_), _) => {}
        }
        self
    }

    fn push(&mut self, part: &str) {
        if let Ok(Some(command)) = self.list.as_mut().map(|list| list.last_mut()) {
            command.push(' ');
            command.push_str(part);
        }
    }

    /// Returns the whole list as one line without its end.
    pub(super) fn line(&self) -> Result<String, TmuxError> {
        self.line_with("")
    }

    /// Returns the whole list as one line without its end, in which `between` is done after each command
    /// but the last.
    pub(super) fn line_with(&self, between: &str) -> Result<String, TmuxError> {
        let list = self.list.as_ref().map_err(BadText::clone)?;
        let between = if between.is_empty() { " ; " } else { &format!(" ; {between} ; ") };
        let line = list.join(between);
        if line.len() > COMMAND_MAX {
            let what = "a command for tmux";
            return Err(BadText::Long { what, bytes: line.len(), most: COMMAND_MAX }.into());
        }
        Ok(line)
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Command({})", self.verbs.join(" ; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_one_line() {
        let command = Command::new("if-shell")
            .flag("-F")
            .word("#{x}")
            .block(Command::new("display-message").with("-p", "a\nb").then(Command::new("x")))
            .then(Command::new("list-panes").flag("-a"));
        let expected =
            r##"if-shell -F "#{x}" { display-message -p "a\012b" ; x } ; list-panes -a"##;
        assert_eq!(command.line().unwrap(), expected);
        let marked = expected.replace("} ; list", "} ; x mark ; list");
        assert_eq!(command.line_with("x mark").unwrap(), marked);
    }

    #[test]
    fn a_command_that_is_shown_does_not_tell_its_words() {
        let command = Command::new("new-window")
            .with("-e", "TOKEN=secret")
            .block(Command::new("send-keys").word("secret"));
        assert_eq!(format!("{command:?}"), "Command(new-window ; send-keys)");
    }

    #[test]
    fn what_cannot_be_said_is_refused_before_it_is_sent() {
        let nul = Command::new("a").word("x\0").word("y");
        for command in [
            nul.clone(),
            Command::new("b").then(nul.clone()),
            Command::new("b").block(nul.clone()).flag("-x"),
            Command::new("b").word(&"x".repeat(COMMAND_MAX)),
        ] {
            assert!(matches!(command.line(), Err(TmuxError::Text(_))), "{command:?}");
        }
    }
}
