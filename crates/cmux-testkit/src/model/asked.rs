//! What a model is asked, whatever the API: who asks, what was said so far, and whether it is part of the
//! conversation or something that a CLI asks beside it.

use serde_json::Value;

/// The API that is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Anthropic's Messages, which Claude Code speaks.
    Messages,
    /// OpenAI's Responses, which Codex speaks.
    Responses,
    /// OpenAI's chat completions, which OpenCode, Hermes and many others speak.
    Chat,
    /// Google's generateContent, which Gemini CLI speaks.
    Gemini,
}

/// One request for an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub dialect: Dialect,
    /// The CLI's session, if it tells.
    pub session: Option<String>,
    /// Which of its own subagents asks, if it tells and one does.
    pub subagent: Option<String>,
    pub model: String,
    /// What it is told to be.
    pub system: String,
    /// What was said so far, the oldest first.
    pub said: Vec<Said>,
    /// The names of the tools that it may call.
    pub tools: Vec<String>,
    /// What its answer must look like, if that is JSON.
    pub schema: Option<Value>,
    /// Whether the answer is to come in pieces.
    pub streams: bool,
}

/// A piece of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// A text by the user, or that the CLI gives out as theirs. Each block is one, as texts that were not
    /// answered are put together into one message.
    User(String),
    Model(String),
    Call {
        id: String,
        tool: String,
        input: Value,
    },
    /// What came of a call.
    Result {
        id: String,
        text: String,
    },
}

/// What a CLI asks for itself, beside the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A shorter conversation to go on with.
    Summary,
    /// What the session is to be called.
    Title,
    /// Something in JSON, such as which model to take.
    Shaped,
}

/// What a request for a summary says: Claude Code, Codex, Gemini CLI, OpenCode.
const SUMMARIES: &[&str] = &[
    "Your task is to create a detailed summary",
    "CONTEXT CHECKPOINT COMPACTION",
    "<state_snapshot>",
    "summarizing conversations",
];

/// What a request for a title says: Claude Code, Codex, OpenCode.
const TITLES: &[&str] =
    &["sentence-case title", "short title for a task", "You are a title generator"];

impl Asked {
    /// Returns what the user asked last, and where that is in the conversation. What a CLI adds of its own
    /// is not taken for it, unless there is a directive in it.
    pub fn prompt(&self) -> Option<(usize, &str)> {
        let mut texts = self.said.iter().enumerate().filter_map(|(index, said)| match said {
            Said::User(text) => Some((index, text.as_str())),
            Said::Model(_) | Said::Call { .. } | Said::Result { .. } => None,
        });
        let is_theirs =
            |text: &str| !is_reminder(text) || super::directive::directive(text).is_some();
        texts.rfind(|(_, text)| is_theirs(text))
    }

    /// Returns what the user asked so far, the oldest first.
    pub fn prompts(&self) -> Vec<&str> {
        let texts = self.said.iter().filter_map(|said| match said {
            Said::User(text) => Some(text.as_str()),
            Said::Model(_) | Said::Call { .. } | Said::Result { .. } => None,
        });
        texts.filter(|text| !is_reminder(text)).collect()
    }

    /// Returns what came of calls so far, the oldest first.
    pub fn results(&self) -> Vec<&str> {
        let results = self.said.iter().filter_map(|said| match said {
            Said::Result { text, .. } => Some(text.as_str()),
            Said::User(_) | Said::Model(_) | Said::Call { .. } => None,
        });
        results.collect()
    }

    /// Returns how many turns of the model came after the last prompt.
    pub fn turn(&self) -> usize {
        let begun = self.prompt().map_or(0, |(index, _)| index + 1);
        let mut turns = 0;
        let mut within = false;
        for said in &self.said[begun..] {
            let is_model = match said {
                Said::Model(_) | Said::Call { .. } => true,
                Said::User(_) | Said::Result { .. } => false,
            };
            turns += usize::from(is_model && !within);
            within = is_model;
        }
        turns
    }

    /// Returns what the CLI asks for itself, if it does.
    pub fn side(&self) -> Option<Side> {
        let last = self.prompts().last().copied().unwrap_or_default();
        let says = |marks: &[&str]| {
            marks.iter().any(|mark| self.system.contains(mark) || last.contains(mark))
        };
        // The whole system prompt may speak of summaries and titles; one for a side call is short of tools.
        let is_bare = self.tools.is_empty();
        if SUMMARIES.iter().take(2).any(|mark| last.contains(mark)) || (is_bare && says(SUMMARIES))
        {
            return Some(Side::Summary);
        }
        if is_bare && says(TITLES) {
            return Some(Side::Title);
        }
        self.schema.is_some().then_some(Side::Shaped)
    }
}

/// Whether a CLI wrote this text, though it is given out as the user's.
fn is_reminder(text: &str) -> bool {
    let Some(tag) = text.trim_start().strip_prefix('<') else { return false };
    [
        "system-reminder",
        "environment_context",
        "user_instructions",
        "permissions",
        "session_context",
        "turn_aborted",
    ]
    .iter()
    .any(|name| tag.starts_with(name))
}

#[cfg(test)]
pub(super) fn asked(said: Vec<Said>) -> Asked {
    Asked {
        dialect: Dialect::Messages,
        session: None,
        subagent: None,
        model: "scripted".into(),
        system: String::new(),
        said,
        tools: vec!["Bash".into()],
        schema: None,
        streams: true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn turns_are_counted_from_the_last_prompt() {
        let mut said = vec![user("first"), model("ok"), user("second")];
        check(&said, "second", 0);
        said.push(user("<system-reminder>the date</system-reminder>"));
        check(&said, "second", 0);
        said.extend([model("I call two"), call("a"), call("b"), result("a"), result("b")]);
        check(&said, "second", 1);
        said.push(user("<system-reminder>be quick</system-reminder>"));
        said.push(call("c"));
        check(&said, "second", 2);
        said.extend([result("c"), user("third")]);
        check(&said, "third", 0);
        said.extend([model("x"), user("<system-reminder>\n@@ say y\n</system-reminder>")]);
        check(&said, "<system-reminder>\n@@ say y\n</system-reminder>", 0);
    }

    #[test]
    fn a_request_beside_the_conversation_is_known() {
        let side = |text: &str, change: fn(&mut Asked)| {
            let mut asked = asked(vec![user(text)]);
            change(&mut asked);
            asked.side()
        };
        assert_eq!(side("hello", |_| {}), None);
        let summary = "CRITICAL: text only. Your task is to create a detailed summary of it";
        assert_eq!(side(summary, |_| {}), Some(Side::Summary));
        let title = |asked: &mut Asked| {
            asked.tools.clear();
            asked.system = "You are a title generator.".into();
        };
        assert_eq!(side("hello", title), Some(Side::Title));
        assert_eq!(side("hello", |it| it.system = "You are a title generator.".into()), None);
        assert_eq!(side("route", |it| it.schema = Some(json!({}))), Some(Side::Shaped));
    }

    #[track_caller]
    fn check(said: &[Said], prompt: &str, turn: usize) {
        let asked = asked(said.to_vec());
        assert_eq!(asked.prompt().map(|(_, text)| text), Some(prompt));
        assert_eq!(asked.turn(), turn);
    }

    fn user(text: &str) -> Said {
        Said::User(text.into())
    }

    fn model(text: &str) -> Said {
        Said::Model(text.into())
    }

    fn call(id: &str) -> Said {
        Said::Call { id: id.into(), tool: "Bash".into(), input: json!({}) }
    }

    fn result(id: &str) -> Said {
        Said::Result { id: id.into(), text: String::new() }
    }
}
