//! How the user has a kind of agent started: `[kinds.claude]`.

use std::collections::BTreeMap;
use std::fmt;

use super::{BadValue, Value, text, wrong};
use crate::kind::{Channel, Kind, Permissions, Unconfirmed};

/// How many kinds there may be.
pub const KINDS_MAX: usize = 64;

/// What can be said of a kind.
pub const KIND_KEYS: [&str; 6] =
    ["command", "args", "env", "permissions", "channel", "unconfirmed"];

/// How many words a command may have.
const WORDS_MAX: usize = 256;

/// What the variables that cmux sets itself begin with.
const OWN_VARIABLES: &str = "CMUX_";

/// How a kind of agent is started and written to, where the user wants it otherwise than its manifest has it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KindSettings {
    /// What is run instead of the program that its manifest names, with its first arguments.
    pub command: Option<Vec<String>>,
    /// What is added to the arguments.
    pub args: Vec<String>,
    /// What is added to the environment. There may be keys to a provider in it.
    pub env: BTreeMap<String, String>,
    pub permissions: Permissions,
    /// How messages get to it, if not as its manifest has it.
    pub channel: Option<Channel>,
    pub unconfirmed: Unconfirmed,
}

impl KindSettings {
    /// Sets one of `KIND_KEYS` for `kind`.
    pub fn set(&mut self, kind: &Kind, key: &str, value: &Value) -> Result<(), BadValue> {
        let full = format!("kinds.{kind}.{key}");
        match key {
            "command" => {
                let words = words(&full, value)?;
                if words.first().is_none_or(String::is_empty) {
                    return Err(wrong(&full, "a program and its arguments, such as [\"claude\"]"));
                }
                self.command = Some(words);
            }
            "args" => self.args = words(&full, value)?,
            "env" => self.env = variables(&full, value)?,
            "permissions" => {
                self.permissions = one_of(&full, value, &Permissions::ALL, Permissions::name)?;
            }
            "channel" => {
                self.channel = Some(one_of(&full, value, &Channel::ALL, Channel::name)?);
            }
            "unconfirmed" => {
                self.unconfirmed = one_of(&full, value, &Unconfirmed::ALL, Unconfirmed::name)?;
            }
            _ => return Err(BadValue::Unknown { key: full }),
        }
        Ok(())
    }
}

/// Returns the one of `all` that is named.
fn one_of<T: Copy>(
    key: &str,
    value: &Value,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, BadValue> {
    let said = text(key, value)?;
    let found = all.iter().copied().find(|it| name(*it) == said);
    found.ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|it| format!("\"{}\"", name(*it))).collect();
        let (last, others) = names.split_last().map_or(("", &[][..]), |(last, all)| (last, all));
        wrong(key, format!("{} or {last}", others.join(", ")))
    })
}

fn words(key: &str, value: &Value) -> Result<Vec<String>, BadValue> {
    let is_word = |word: &String| !word.contains('\0');
    match value {
        Value::List(list) if list.len() <= WORDS_MAX && list.iter().all(is_word) => {
            Ok(list.clone())
        }
        Value::List(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::Table(_)
        | Value::Flag(_)
        | Value::Other => {
            Err(wrong(key, format!("a list of at most {WORDS_MAX} words, such as [\"-v\"]")))
        }
    }
}

fn variables(key: &str, value: &Value) -> Result<BTreeMap<String, String>, BadValue> {
    let Value::Table(table) = value else {
        return Err(wrong(key, "variables with text, such as { LANG = \"C\" }"));
    };
    for (name, text) in table {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let key = format!("{key}.{}", name.chars().take(64).collect::<String>());
        if !begins_well || !name.chars().all(allowed) {
            return Err(wrong(&key, "named by letters, digits and _, with no digit first"));
        }
        if name.starts_with(OWN_VARIABLES) {
            return Err(wrong(&key, "called something else: cmux sets what begins with CMUX_"));
        }
        if text.contains('\0') {
            return Err(wrong(&key, "text without a zero byte"));
        }
    }
    Ok(table.clone())
}

impl fmt::Debug for KindSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KindSettings { command, args, env, permissions, channel, unconfirmed } = self;
        f.debug_struct("KindSettings")
            .field("program", &command.as_ref().and_then(|words| words.first()))
            .field("args", &args.len())
            .field("env", &env.keys().collect::<Vec<_>>())
            .field("permissions", permissions)
            .field("channel", channel)
            .field("unconfirmed", unconfirmed)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_started_as_its_keys_say() {
        let env = BTreeMap::from([("TOKEN".to_owned(), "s3cret".to_owned())]);
        let set = [
            ("command", list(&["/x/claude", "-y"])),
            ("args", list(&["--model", "m"])),
            ("env", Value::Table(env.clone())),
            ("permissions", Value::Text("all".to_owned())),
            ("channel", Value::Text("paste".to_owned())),
            ("unconfirmed", Value::Text("leave".to_owned())),
        ];
        let mut settings = KindSettings::default();
        assert_eq!(settings.permissions, Permissions::Edits);
        assert_eq!((settings.channel, settings.unconfirmed), (None, Unconfirmed::Again));
        for (key, value) in set {
            settings.set(&kind(), key, &value).unwrap();
        }
        assert_eq!(
            settings.command.as_deref(),
            Some(&["/x/claude".to_owned(), "-y".to_owned()][..])
        );
        assert_eq!(settings.args, ["--model", "m"]);
        assert_eq!(settings.env, env);
        assert_eq!(settings.permissions, Permissions::All);
        assert_eq!(settings.channel, Some(Channel::Paste));
        assert_eq!(settings.unconfirmed, Unconfirmed::Leave);
        let shown = format!("{settings:?}");
        assert!(shown.contains("TOKEN") && !shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let variable = |name: &str, text: &str| {
            Value::Table(BTreeMap::from([(name.to_owned(), text.to_owned())]))
        };
        for (key, value, expected) in [
            ("command", list(&[]), "`kinds.claude.command` must be a program"),
            ("command", list(&[""]), "`kinds.claude.command` must be a program"),
            ("command", Value::Text("claude -y".to_owned()), "must be a list of at most 256 words"),
            ("args", list(&["a\0b"]), "must be a list of at most 256 words"),
            ("env", list(&[]), "`kinds.claude.env` must be variables with text"),
            ("env", variable("A B", ""), "`kinds.claude.env.A B` must be named by letters"),
            ("env", variable("2A", ""), "`kinds.claude.env.2A` must be named by letters"),
            ("env", variable("CMUX_TOKEN", "x"), "must be called something else"),
            ("env", variable("A", "s3cret\0"), "must be text without a zero byte"),
            ("permissions", Value::Text("some".to_owned()), "must be \"ask\", \"edits\" or"),
            ("channel", Value::Text("mail".to_owned()), "must be \"paste\" or \"api\""),
            ("channel", Value::Flag(true), "`kinds.claude.channel` must be text"),
            ("unconfirmed", Value::Text("no".to_owned()), "must be \"again\" or \"leave\""),
            ("zzz", Value::Number(1), "`kinds.claude.zzz` cannot be set here"),
        ] {
            let refused =
                KindSettings::default().set(&kind(), key, &value).unwrap_err().to_string();
            assert!(refused.contains(expected) && !refused.contains("s3cret"), "{refused}");
        }
    }

    fn kind() -> Kind {
        "claude".parse().unwrap()
    }

    fn list(words: &[&str]) -> Value {
        Value::List(words.iter().map(ToString::to_string).collect())
    }
}
