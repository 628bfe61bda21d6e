//! Faults on request: what real agents do only on bad days.

use serde_json::{Map, Value};

/// Where it dies, as if its process were killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crash {
    /// After the hook has let a prompt through, and before it is recorded.
    Hooked,
    /// After a prompt is recorded, and before it is in the transcript.
    Recorded,
}

/// Everything that goes wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    /// So many Enters are swallowed.
    pub(crate) drop_enters: u64,
    /// Whatever is drawn is drawn so much later.
    pub(crate) late_redraw_ms: u64,
    /// It asks for brackets around pastes only so long after it began.
    pub(crate) late_brackets_ms: u64,
    /// It reads nothing of what is typed in its first time.
    pub(crate) deaf_ms: u64,
    pub(crate) exit_at_start: Option<u8>,
    pub(crate) exit_after_prompt: Option<u8>,
    /// It does nothing any more, and hears no signal that it can help hearing.
    pub(crate) hang_at_start: bool,
    pub(crate) hang_after_prompt: bool,
    /// It writes so many bytes before anything else.
    pub(crate) flood_bytes: u64,
    /// What "a person" has begun to write.
    pub(crate) draft: Option<String>,
    /// It asks whether the folder is to be trusted, unless it was told so before.
    pub(crate) trust: bool,
    /// Hooks of these events are not run; `*` is all.
    pub(crate) lost_hooks: Vec<String>,
    /// Hooks are begun so much later.
    pub(crate) late_hooks_ms: u64,
    pub(crate) crash: Option<Crash>,
    /// Its provider's limit is reached for so long.
    pub(crate) limited_s: u64,
    /// It keeps no file that tells its status.
    pub(crate) no_status: bool,
}

/// The names that faults are asked for by.
const NAMES: &[&str] = &[
    "crash",
    "deaf-ms",
    "draft",
    "drop-enters",
    "exit-after-prompt",
    "exit-at-start",
    "flood-bytes",
    "hang-after-prompt",
    "hang-at-start",
    "late-brackets-ms",
    "late-hooks-ms",
    "late-redraw-ms",
    "limited-s",
    "lose-hooks",
    "no-status",
    "trust",
];

impl Faults {
    /// Adds the fault that is written as `NAME` or `NAME=VALUE`.
    pub(crate) fn add(&mut self, written: &str) -> Result<(), String> {
        let (name, value) = written.split_once('=').unwrap_or((written, ""));
        let number = || number(name, value);
        let code = || if value.is_empty() { Ok(1) } else { code(name, value) };
        match name {
            "drop-enters" => self.drop_enters = number()?,
            "late-redraw-ms" => self.late_redraw_ms = number()?,
            "late-brackets-ms" => self.late_brackets_ms = number()?,
            "deaf-ms" => self.deaf_ms = number()?,
            "exit-at-start" => self.exit_at_start = Some(code()?),
            "exit-after-prompt" => self.exit_after_prompt = Some(code()?),
            "hang-at-start" => self.hang_at_start = true,
            "hang-after-prompt" => self.hang_after_prompt = true,
            "flood-bytes" => self.flood_bytes = number()?,
            "draft" => self.draft = Some(value.to_owned()),
            "trust" => self.trust = true,
            "lose-hooks" if value.is_empty() => self.lost_hooks.push("*".into()),
            "lose-hooks" => self.lost_hooks.push(value.into()),
            "late-hooks-ms" => self.late_hooks_ms = number()?,
            "limited-s" => self.limited_s = number()?,
            "no-status" => self.no_status = true,
            "crash" => {
                self.crash = Some(match value {
                    "hooked" => Crash::Hooked,
                    "recorded" => Crash::Recorded,
                    _ => return Err(format!("`crash` is `hooked` or `recorded`, not `{value}`")),
                });
            }
            _ => return Err(format!("there is no fault `{name}`: {}", NAMES.join(", "))),
        }
        Ok(())
    }

    /// Adds those in a list, one a line.
    pub(crate) fn add_lines(&mut self, lines: &str) -> Result<(), String> {
        let mut lines = lines.lines().filter(|line| !line.trim().is_empty());
        lines.try_for_each(|line| self.add(line.trim_start()))
    }

    /// Adds those that a script names: a table, in which `true` stands for no value.
    pub(crate) fn add_table(&mut self, table: &Map<String, Value>) -> Result<(), String> {
        for (name, value) in table {
            match value {
                Value::Bool(true) => self.add(name)?,
                Value::Bool(false) | Value::Null => {}
                Value::String(text) => self.add(&format!("{name}={text}"))?,
                Value::Number(number) => self.add(&format!("{name}={number}"))?,
                Value::Array(_) | Value::Object(_) => {
                    return Err(format!("the fault `{name}` needs a text, a number or true"));
                }
            }
        }
        Ok(())
    }

    /// Whether hooks of `event` are not run.
    pub(crate) fn loses(&self, event: &str) -> bool {
        self.lost_hooks.iter().any(|lost| lost == "*" || lost == event)
    }
}

fn number(name: &str, value: &str) -> Result<u64, String> {
    value
        .parse()
        .map_err(|_| format!("the fault `{name}` needs a whole number, as in `{name}=100`"))
}

fn code(name: &str, value: &str) -> Result<u8, String> {
    value.parse().map_err(|_| format!("the fault `{name}` needs an exit code, as in `{name}=3`"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn faults_are_asked_for_by_name() {
        let mut faults = Faults::default();
        faults.add_lines("drop-enters=2\n\n draft=a = b\nexit-at-start\ncrash=hooked\n").unwrap();
        let table = json!({ "late-redraw-ms": 5, "trust": true, "no-status": false });
        faults.add_table(table.as_object().unwrap()).unwrap();
        assert_eq!(
            faults,
            Faults {
                drop_enters: 2,
                draft: Some("a = b".into()),
                exit_at_start: Some(1),
                crash: Some(Crash::Hooked),
                late_redraw_ms: 5,
                trust: true,
                ..Faults::default()
            }
        );
    }

    #[test]
    fn every_name_is_known_and_every_other_refused() {
        for name in NAMES {
            let known = Faults::default().add(name).err().unwrap_or_default();
            assert!(!known.contains("there is no fault"), "{name}");
        }
        for (wrong, told) in [
            ("dropenters=1", "late-redraw-ms"),
            ("drop-enters", "`drop-enters=100`"),
            ("drop-enters=-1", "whole number"),
            ("exit-at-start=256", "exit code"),
            ("crash=now", "`hooked` or `recorded`"),
        ] {
            let error = Faults::default().add(wrong).unwrap_err();
            assert!(error.contains(told), "{wrong}: {error}");
        }
    }

    #[test]
    fn hooks_are_lost_by_event_or_all() {
        let mut faults = Faults::default();
        faults.add("lose-hooks=Stop").unwrap();
        assert!(faults.loses("Stop") && !faults.loses("SessionEnd"));
        faults.add("lose-hooks").unwrap();
        assert!(faults.loses("SessionEnd"));
    }
}
