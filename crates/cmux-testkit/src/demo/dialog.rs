//! Dialogs: questions that stand in the composer's place until somebody answers.

use serde_json::Value;

use super::key::Key;
use super::script::ToolUse;

/// What a dialog is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Question {
    /// Whether the folder is to be trusted.
    Trust { folder: String },
    /// Whether a tool may be used.
    Permission(ToolUse),
}

/// What was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Yes,
    /// Yes, and do not ask again for such.
    Always,
    No,
}

/// A question, and which answer is pointed at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dialog {
    pub(crate) question: Question,
    chosen: usize,
}

impl Dialog {
    pub(crate) fn new(question: Question) -> Dialog {
        Dialog { question, chosen: 0 }
    }

    /// Takes a key, and returns the answer if it gave one. A paste is lost on it; an Enter is not.
    pub(crate) fn press(&mut self, key: &Key) -> Option<Choice> {
        let options = self.options();
        match key {
            Key::Enter => return Some(options[self.chosen].1),
            Key::Esc | Key::CtrlC => return Some(Choice::No),
            Key::Up => self.chosen = self.chosen.saturating_sub(1),
            Key::Down => self.chosen = (self.chosen + 1).min(options.len() - 1),
            Key::Char(letter) => {
                let number = letter.to_digit(10).and_then(|digit| usize::try_from(digit).ok())?;
                return options.get(number.checked_sub(1)?).map(|option| option.1);
            }
            Key::Newline
            | Key::Paste(_)
            | Key::TooLong
            | Key::Backspace
            | Key::Delete
            | Key::DeleteWord
            | Key::ClearLine
            | Key::Left
            | Key::Right
            | Key::Home
            | Key::End
            | Key::CtrlD
            | Key::CtrlL
            | Key::Other => {}
        }
        None
    }

    /// Returns what is shown: what it is about, and then the question with its answers.
    pub(crate) fn lines(&self) -> (Vec<String>, Vec<String>) {
        let (about, question, hint) = match &self.question {
            Question::Trust { folder } => (
                vec!["Accessing workspace:".into(), format!("  {folder}")],
                "Quick safety check: Is this a folder that you trust?",
                "Enter to confirm · Esc to exit",
            ),
            Question::Permission(tool) => (about(tool), "Do you want to proceed?", "Esc to cancel"),
        };
        let mut lines = vec![question.to_owned()];
        for (index, (text, _)) in self.options().iter().enumerate() {
            let mark = if index == self.chosen { "❯" } else { " " };
            lines.push(format!("{mark} {}. {text}", index + 1));
        }
        lines.push(hint.to_owned());
        (about, lines)
    }

    fn options(&self) -> Vec<(String, Choice)> {
        match &self.question {
            // As in Claude Code, the first one is not the one that a blind Enter hopes for.
            Question::Trust { .. } => vec![
                ("No, exit".into(), Choice::No),
                ("Yes, I trust this folder".into(), Choice::Yes),
            ],
            Question::Permission(tool) => vec![
                ("Yes".into(), Choice::Yes),
                (format!("Yes, and don't ask again for {}", tool.name), Choice::Always),
                ("No, and tell the agent what to do (esc)".into(), Choice::No),
            ],
        }
    }
}

fn about(tool: &ToolUse) -> Vec<String> {
    let field = |name: &str| tool.input.get(name).and_then(Value::as_str);
    let title = match tool.name.as_str() {
        "Bash" => "Bash command".to_owned(),
        "Write" => "Write file".to_owned(),
        other => format!("Tool {other}"),
    };
    let what = field("command").or(field("file_path")).map(str::to_owned);
    let what = what.unwrap_or_else(|| tool.input.to_string());
    let mut lines = vec![title];
    lines.extend(what.lines().map(|line| format!("  {line}")));
    lines.extend(field("description").map(str::to_owned));
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn digits_answer_at_once_and_enter_takes_what_is_pointed_at() {
        for (keys, expected) in [
            (&[Key::Char('1')][..], Some(Choice::Yes)),
            (&[Key::Char('2')], Some(Choice::Always)),
            (&[Key::Char('3')], Some(Choice::No)),
            (&[Key::Char('4')], None),
            (&[Key::Char('0')], None),
            (&[Key::Char('x')], None),
            (&[Key::Enter], Some(Choice::Yes)),
            (&[Key::Down, Key::Down, Key::Down, Key::Enter], Some(Choice::No)),
            (&[Key::Down, Key::Up, Key::Enter], Some(Choice::Yes)),
            (&[Key::Esc], Some(Choice::No)),
            (&[Key::CtrlC], Some(Choice::No)),
            // The danger: what was meant for the composer approves the tool.
            (&[Key::Paste("3".into()), Key::Enter], Some(Choice::Yes)),
        ] {
            check(&permission(), keys, expected);
        }
    }

    #[test]
    fn a_blind_enter_trusts_nothing() {
        let trust = Dialog::new(Question::Trust { folder: "/repo".into() });
        check(&trust, &[Key::Enter], Some(Choice::No));
        check(&trust, &[Key::Char('2')], Some(Choice::Yes));
        check(&trust, &[Key::Down, Key::Enter], Some(Choice::Yes));
    }

    #[test]
    fn it_shows_what_it_is_about() {
        let (about, lines) = permission().lines();
        assert_eq!(about, ["Bash command", "  touch x", "Make a file"]);
        assert_eq!(lines[..2], ["Do you want to proceed?", "❯ 1. Yes"]);
    }

    fn permission() -> Dialog {
        let input = json!({ "command": "touch x", "description": "Make a file" });
        Dialog::new(Question::Permission(ToolUse { name: "Bash".into(), input, ask: None }))
    }

    #[track_caller]
    fn check(dialog: &Dialog, keys: &[Key], expected: Option<Choice>) {
        let mut dialog = dialog.clone();
        let answers: Vec<Choice> = keys.iter().filter_map(|key| dialog.press(key)).collect();
        assert_eq!(answers.first().copied(), expected, "{keys:?}");
    }
}
