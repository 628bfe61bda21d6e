//! Faults on request: what real agents do only on bad days.

use serde_json::{Map, Value};

use super::key::Key;

/// Where it dies, as if its process were killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crash {
    /// After the hook has let a prompt through, and before it is recorded.
    Hooked,
    /// After a prompt is recorded, and before it is in the transcript.
    Recorded,
}

/// When something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// With the first paste.
    Paste,
    /// With the first Enter, whatever becomes of it.
    Enter,
    /// So many milliseconds after it began.
    At(u64),
}

impl Moment {
    /// Returns the moment that a key is.
    pub(crate) fn of(key: &Key) -> Option<Moment> {
        match key {
            Key::Paste(_) => Some(Moment::Paste),
            Key::Enter => Some(Moment::Enter),
            Key::Char(_)
            | Key::Newline
            | Key::TooLong
            | Key::Esc
            | Key::CtrlC
            | Key::CtrlD
            | Key::CtrlL
            | Key::Backspace
            | Key::Delete
            | Key::DeleteWord
            | Key::ClearLine
            | Key::Left
            | Key::Right
            | Key::Up
            | Key::Down
            | Key::Home
            | Key::End
            | Key::Other => None,
        }
    }
}

/// When a prompt comes back that was said, as if somebody had pressed Esc just then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TakeBack {
    /// While its hook runs, which is ended.
    Hooking,
    /// After the hook has let it through, and before it is recorded.
    Hooked,
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
    /// The hooks of an event are begun so much later, …
    pub(crate) late_hook: Vec<(String, u64)>,
    /// … are killed so long after they began, …
    pub(crate) killed_hook: Vec<(String, u64)>,
    /// … and what they answer is heard so much later.
    pub(crate) late_answer: Vec<(String, u64)>,
    /// Other work asks for a permission then, once.
    pub(crate) dialog_after: Option<Moment>,
    /// Other work asks for one so long after each such key.
    pub(crate) dialogs_after: Option<(Moment, u64)>,
    /// Other work asks for one again and again while it rests.
    pub(crate) dialogs_every_ms: u64,
    /// The first prompt comes back.
    pub(crate) take_back: Option<TakeBack>,
    /// Nothing is drawn for so long after a paste.
    pub(crate) late_paste_ms: u64,
    /// Nothing is drawn from then on, until it is to draw all again.
    pub(crate) stale_after: Option<Moment>,
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
    "dialog-after",
    "dialogs-after",
    "dialogs-every-ms",
    "draft",
    "drop-enters",
    "exit-after-prompt",
    "exit-at-start",
    "flood-bytes",
    "hang-after-prompt",
    "hang-at-start",
    "kill-hook",
    "late-answer",
    "late-brackets-ms",
    "late-hook",
    "late-hooks-ms",
    "late-paste-ms",
    "late-redraw-ms",
    "limited-s",
    "lose-hooks",
    "no-status",
    "stale-after",
    "take-back",
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
            "late-hook" => self.late_hook.push(of_event(name, value)?),
            "kill-hook" => self.killed_hook.push(of_event(name, value)?),
            "late-answer" => self.late_answer.push(of_event(name, value)?),
            "dialog-after" => self.dialog_after = Some(moment(name, value)?),
            "dialogs-after" => self.dialogs_after = Some(after_each(name, value)?),
            "dialogs-every-ms" => self.dialogs_every_ms = number()?,
            "late-paste-ms" => self.late_paste_ms = number()?,
            "stale-after" => self.stale_after = Some(moment(name, value)?),
            "take-back" => {
                self.take_back = Some(match value {
                    "hooking" => TakeBack::Hooking,
                    "hooked" => TakeBack::Hooked,
                    _ => {
                        return Err(format!("`take-back` is `hooking` or `hooked`, not `{value}`"));
                    }
                });
            }
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

/// Returns the time of the first that is about `event`.
pub(crate) fn of(faults: &[(String, u64)], event: &str) -> Option<u64> {
    faults.iter().find(|(of, _)| of == event).map(|(_, ms)| *ms)
}

/// Returns the event and the time that are written as `EVENT:MS`.
fn of_event(name: &str, value: &str) -> Result<(String, u64), String> {
    let wrong = || format!("the fault `{name}` needs an event and a time, as in `{name}=Stop:100`");
    let (event, ms) = value.split_once(':').ok_or_else(wrong)?;
    Ok((event.to_owned(), ms.parse().map_err(|_| wrong())?))
}

fn moment(name: &str, value: &str) -> Result<Moment, String> {
    match value {
        "paste" => Ok(Moment::Paste),
        "enter" => Ok(Moment::Enter),
        ms => ms.parse().map(Moment::At).map_err(|_| {
            format!("`{name}` is `paste`, `enter` or a number of milliseconds, not `{value}`")
        }),
    }
}

/// Returns the key and the time after it that are written as `KEY:MS`.
fn after_each(name: &str, value: &str) -> Result<(Moment, u64), String> {
    let (key, ms) = of_event(name, value)?;
    match moment(name, &key)? {
        key @ (Moment::Paste | Moment::Enter) => Ok((key, ms)),
        Moment::At(_) => Err(format!("the fault `{name}` needs `paste:MS` or `enter:MS`")),
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
            ("take-back=now", "`hooking` or `hooked`"),
            ("dialog-after", "`paste`, `enter` or a number"),
            ("dialogs-after=5:5", "`paste:MS` or `enter:MS`"),
            ("kill-hook=Stop", "`kill-hook=Stop:100`"),
            ("late-hook=Stop:x", "`late-hook=Stop:100`"),
        ] {
            let error = Faults::default().add(wrong).unwrap_err();
            assert!(error.contains(told), "{wrong}: {error}");
        }
    }

    #[test]
    fn what_goes_wrong_at_a_moment_or_with_an_event_is_written_with_it() {
        let mut faults = Faults::default();
        let lines = "dialog-after=paste\nstale-after=70\nkill-hook=Stop:5\nlate-hook=Stop:6\n\
                     late-answer=PreToolUse:7\ntake-back=hooked\n";
        faults.add_lines(lines).unwrap();
        assert_eq!(
            (faults.dialog_after, faults.stale_after),
            (Some(Moment::Paste), Some(Moment::At(70)))
        );
        assert_eq!(
            (of(&faults.killed_hook, "Stop"), of(&faults.late_hook, "Stop")),
            (Some(5), Some(6))
        );
        assert_eq!(
            (of(&faults.late_answer, "PreToolUse"), of(&faults.late_hook, "x")),
            (Some(7), None)
        );
        assert_eq!(faults.take_back, Some(TakeBack::Hooked));
        faults.add("dialogs-after=enter:8").unwrap();
        assert_eq!(faults.dialogs_after, Some((Moment::Enter, 8)));
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
