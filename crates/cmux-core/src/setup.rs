//! How an agent is launched, as far as people say it.

use std::fmt;

use crate::project::ROOT_MAX;

/// The longest role or kind that is taken, in characters.
pub const WORD_MAX: usize = 32;

/// The longest first task, in characters.
pub const TASK_MAX: usize = 64 << 10;

/// The most arguments and variables, and the longest of either, in characters.
pub const ARGS_MAX: usize = 64;
pub const ENV_MAX: usize = 64;
pub const VALUE_MAX: usize = 8 << 10;

/// The longest name of a variable, in characters.
pub const VARIABLE_MAX: usize = 128;

/// Variables that tell an agent who it is. Only cmux sets them.
pub const OWN_VARIABLES: [&str; 6] =
    ["CMUX_AGENT", "CMUX_AGENT_NAME", "CMUX_RUN", "CMUX_PROJECT", "CMUX_SOCKET", "CMUX_TOKEN"];

/// How an agent is launched.
#[derive(Clone, PartialEq, Eq)]
pub struct Setup {
    pub cwd: String,
    /// What it is to do first.
    pub task: Option<String>,
    /// Added to the command's own arguments.
    pub args: Vec<String>,
    /// Set besides what cmux sets. It may hold secrets.
    pub env: Vec<(String, String)>,
    /// Whether it is kept when its task is done.
    pub permanent: bool,
}

/// Shows the names of the variables and not what they hold.
impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("Setup")
            .field("cwd", &self.cwd)
            .field("task", &self.task)
            .field("args", &self.args)
            .field("env", &names)
            .field("permanent", &self.permanent)
            .finish()
    }
}

/// Why nothing can be launched so. What a variable holds is never told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSetup {
    #[error(
        "the {what} `{said}` is not a word: letters, digits, `-`, `_` and `.`, {WORD_MAX} at most, \
         beginning with a letter"
    )]
    Word { what: &'static str, said: String },
    #[error(
        "the folder `{0}` is not an absolute path without `.`, `..`, `//` or a slash at its end"
    )]
    Folder(String),
    #[error("the task is longer than {TASK_MAX} characters; put it in a file, and name that")]
    Task,
    #[error(
        "there are more than {ARGS_MAX} arguments, or one is longer than {VALUE_MAX} characters"
    )]
    Args,
    #[error(
        "there are more than {ENV_MAX} variables, or what one holds is longer than {VALUE_MAX} characters"
    )]
    Env,
    #[error(
        "`{0}` cannot be set: a variable's name has letters, digits and `_`, {VARIABLE_MAX} at most, \
         begins with no digit, and is said once"
    )]
    Variable(String),
    #[error("`{0}` is set by cmux itself, and by nobody else")]
    OwnVariable(String),
    #[error("a zero byte cannot be handed to a program: take it out")]
    Zero,
}

impl Setup {
    /// Returns whether an agent may have another launched so: what it may do itself it may have done, and
    /// arguments and variables can allow more than that.
    pub fn is_modest(&self) -> bool {
        self.args.is_empty() && self.env.is_empty()
    }

    /// Returns why nothing can be launched so, if it cannot.
    pub fn check(&self) -> Result<(), BadSetup> {
        if !is_folder(&self.cwd) {
            return Err(BadSetup::Folder(beginning(&self.cwd)));
        }
        let length = |text: &String| text.chars().count();
        if self.task.as_ref().is_some_and(|task| length(task) > TASK_MAX) {
            return Err(BadSetup::Task);
        }
        if self.args.len() > ARGS_MAX || self.args.iter().any(|arg| length(arg) > VALUE_MAX) {
            return Err(BadSetup::Args);
        }
        if self.env.len() > ENV_MAX || self.env.iter().any(|(_, it)| length(it) > VALUE_MAX) {
            return Err(BadSetup::Env);
        }
        for (at, (name, _)) in self.env.iter().enumerate() {
            let is_said_before = self.env.iter().take(at).any(|(before, _)| before == name);
            if is_said_before || !is_variable(name) {
                return Err(BadSetup::Variable(beginning(name)));
            }
            if OWN_VARIABLES.contains(&name.as_str()) {
                return Err(BadSetup::OwnVariable(name.clone()));
            }
        }
        let values = self.env.iter().map(|(_, value)| value);
        let mut texts = self.args.iter().chain(&self.task).chain(values);
        if texts.any(|text| text.contains('\0')) { Err(BadSetup::Zero) } else { Ok(()) }
    }
}

/// Returns why `said` cannot be an agent's role or kind, whichever `what` is, if it cannot.
pub fn check_word(what: &'static str, said: &str) -> Result<(), BadSetup> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_word = said.len() <= WORD_MAX
        && said.starts_with(|c: char| c.is_ascii_alphabetic())
        && said.chars().all(allowed);
    if is_word { Ok(()) } else { Err(BadSetup::Word { what, said: beginning(said) }) }
}

fn is_folder(path: &str) -> bool {
    let is_plain = |part: &str| !matches!(part, "" | "." | "..");
    let is_plain = path == "/" || path.split('/').skip(1).all(is_plain);
    is_plain
        && path.starts_with('/')
        && path.len() <= ROOT_MAX
        && !path.chars().any(char::is_control)
}

fn is_variable(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (1..=VARIABLE_MAX).contains(&name.len())
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(allowed)
}

/// Returns so much of `text` as is worth showing.
fn beginning(text: &str) -> String {
    text.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_launched_is_taken() {
        for setup in [
            setup(),
            Setup { cwd: "/".to_owned(), ..setup() },
            Setup { task: Some("ü\n".repeat(TASK_MAX / 2)), ..setup() },
            Setup { args: vec![String::new(); ARGS_MAX], ..setup() },
            with_env(&[("_A1", "a=b\n"), ("a", ""), ("CMUX_DEMO_RECORD", "/r")]),
        ] {
            assert_eq!(setup.check(), Ok(()), "{setup:?}");
        }
    }

    #[test]
    fn what_cannot_be_launched_is_refused_with_its_reason() {
        let with_args = |args: Vec<String>| Setup { args, ..setup() };
        for cwd in ["", "a", "/a/", "/a//b", "/a/../b", "/./a", "/a\n", &"/a".repeat(ROOT_MAX)] {
            let bad = Setup { cwd: cwd.to_owned(), ..setup() }.check();
            assert!(matches!(bad, Err(BadSetup::Folder(_))), "{cwd}");
        }
        let long = "x".repeat(VALUE_MAX + 1);
        let many: Vec<String> = (0..=ENV_MAX).map(|n| format!("A{n}")).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "")).collect();
        check(&Setup { task: Some("x".repeat(TASK_MAX + 1)), ..setup() }, BadSetup::Task);
        check(&Setup { task: Some("a\0".to_owned()), ..setup() }, BadSetup::Zero);
        check(&with_args(vec![String::new(); ARGS_MAX + 1]), BadSetup::Args);
        check(&with_args(vec![long.clone()]), BadSetup::Args);
        check(&with_args(vec!["\0".to_owned()]), BadSetup::Zero);
        check(&with_env(&many), BadSetup::Env);
        check(&with_env(&[("A", &long)]), BadSetup::Env);
        check(&with_env(&[("A", "\0")]), BadSetup::Zero);
        for name in ["", "1A", "A-B", "A=B", "Ä"] {
            check(&with_env(&[(name, "")]), BadSetup::Variable(name.to_owned()));
        }
        check(&with_env(&[("A", "1"), ("A", "2")]), BadSetup::Variable("A".to_owned()));
        for name in OWN_VARIABLES {
            check(&with_env(&[(name, "")]), BadSetup::OwnVariable(name.to_owned()));
        }
    }

    #[test]
    fn a_role_or_kind_is_a_word() {
        for word in ["a", "Worker", "claude-code", "gpt_4.1", &"x".repeat(WORD_MAX)] {
            assert_eq!(check_word("role", word), Ok(()), "{word}");
        }
        for word in ["", "1a", "-a", "a b", "ä", "a/b", "a\n", &"x".repeat(WORD_MAX + 1)] {
            assert!(check_word("kind", word).is_err(), "{word}");
        }
    }

    #[test]
    fn no_secret_of_the_environment_is_shown() {
        let secret = with_env(&[("KEY", "hush"), ("KEY", "hush")]);
        let shown = format!("{secret:?} {:?}", secret.check());
        assert!(shown.contains("KEY") && !shown.contains("hush"), "{shown}");
    }

    /// Checks why `setup` is refused.
    #[track_caller]
    fn check(setup: &Setup, expected: BadSetup) {
        assert_eq!(setup.check(), Err(expected));
    }

    fn with_env(env: &[(&str, &str)]) -> Setup {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Setup { env: env.iter().map(owned).collect(), ..setup() }
    }

    fn setup() -> Setup {
        let (args, env) = (Vec::new(), Vec::new());
        Setup { cwd: "/a".to_owned(), task: None, args, env, permanent: false }
    }
}
