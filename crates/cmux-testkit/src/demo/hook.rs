//! Hooks: who else is told of what happens, and may object.
//!
//! They are configured and spoken to as Claude Code's are, so that what answers one answers the other.

use std::time::Duration;

use serde_json::{Map, Value, json};

/// How long a hook may take that says nothing else.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A command that is run when something happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HookCommand {
    pub(crate) command: String,
    pub(crate) timeout: Duration,
}

/// What is configured in the file of `--settings`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    hooks: Map<String, Value>,
    /// What `permissions` allows, as patterns.
    pub(crate) allow: Vec<String>,
    pub(crate) mode: Option<String>,
}

/// What a hook's process did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Nothing if it was killed, or ran out of time.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// What hooks decided about a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allow,
    Ask,
    Deny(String),
}

/// What all the hooks of one event said together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    /// Why it is not to go on.
    pub(crate) block: Option<String>,
    pub(crate) verdict: Option<Verdict>,
    pub(crate) input: Option<Value>,
    /// What the model is to know besides.
    pub(crate) context: Vec<String>,
}

impl Settings {
    /// Reads the file's text.
    pub(crate) fn parse(text: &str) -> Result<Settings, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let table = value.as_object().ok_or("settings are a JSON object")?;
        let hooks = match table.get("hooks") {
            None => Map::new(),
            Some(hooks) => hooks.as_object().cloned().ok_or("`hooks` is an object")?,
        };
        let permissions = table.get("permissions");
        let allow = permissions.and_then(|it| it.get("allow")?.as_array().cloned());
        let allow = allow.into_iter().flatten().filter_map(|it| it.as_str().map(str::to_owned));
        let mode = permissions.and_then(|it| it.get("defaultMode")?.as_str());
        Ok(Settings { hooks, allow: allow.collect(), mode: mode.map(str::to_owned) })
    }

    /// Returns the commands to run when `event` happens, of a tool or of none.
    pub(crate) fn commands(&self, event: &str, tool: Option<&str>) -> Vec<HookCommand> {
        let groups = self.hooks.get(event).and_then(Value::as_array).into_iter().flatten();
        let meant = groups.filter(|group| is_meant(group, tool));
        let hooks = meant.filter_map(|group| group.get("hooks")?.as_array()).flatten();
        hooks.filter_map(command).collect()
    }
}

fn is_meant(group: &Value, tool: Option<&str>) -> bool {
    let matcher = group.get("matcher").and_then(Value::as_str).unwrap_or("*");
    let Some(tool) = tool else { return true };
    matches!(matcher, "" | "*") || matcher.split('|').any(|name| name == tool)
}

fn command(hook: &Value) -> Option<HookCommand> {
    let is_command = hook.get("type").and_then(Value::as_str) == Some("command");
    let command = hook.get("command").and_then(Value::as_str).filter(|_| is_command)?;
    let seconds = hook.get("timeout").and_then(Value::as_f64);
    let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Some(HookCommand { command: command.to_owned(), timeout: timeout.unwrap_or(TIMEOUT) })
}

/// Returns what `outcomes` come to. What failed in another way than to object says nothing.
pub(crate) fn answer(event: &str, outcomes: &[Outcome]) -> Answer {
    outcomes.iter().fold(Answer::default(), |mut answer, outcome| {
        match outcome.code {
            Some(2) => answer.object(event, outcome.stderr.trim()),
            Some(0) => answer.hear(event, outcome.stdout.trim()),
            Some(_) | None => {}
        }
        answer
    })
}

impl Answer {
    fn object(&mut self, event: &str, why: &str) {
        if matches!(event, "PreToolUse" | "PermissionRequest") {
            self.decide(Verdict::Deny(why.to_owned()));
        } else {
            self.block.get_or_insert_with(|| why.to_owned());
        }
    }

    fn hear(&mut self, event: &str, said: &str) {
        let Ok(Value::Object(said)) = serde_json::from_str(said) else {
            if matches!(event, "UserPromptSubmit" | "SessionStart") && !said.is_empty() {
                self.context.push(said.to_owned());
            }
            return;
        };
        let text = |value: Option<&Value>| {
            value.and_then(Value::as_str).map(str::to_owned).unwrap_or_default()
        };
        if said.get("decision").and_then(Value::as_str) == Some("block") {
            self.object(event, &text(said.get("reason")));
        }
        let Some(specific) = said.get("hookSpecificOutput") else { return };
        if let Some(context) = specific.get("additionalContext").and_then(Value::as_str) {
            self.context.push(context.to_owned());
        }
        let decision = specific.get("decision");
        let word = specific.get("permissionDecision").or_else(|| decision?.get("behavior"));
        let why = specific.get("permissionDecisionReason").or_else(|| decision?.get("message"));
        match word.and_then(Value::as_str) {
            Some("allow") => self.decide(Verdict::Allow),
            Some("ask") => self.decide(Verdict::Ask),
            Some("deny") => self.decide(Verdict::Deny(text(why))),
            Some(_) | None => {}
        }
        let input = specific.get("updatedInput").or_else(|| decision?.get("updatedInput"));
        if let Some(input) = input {
            self.input = Some(input.clone());
        }
    }

    /// Takes the stricter of two verdicts.
    fn decide(&mut self, verdict: Verdict) {
        let rank = |verdict: &Verdict| match verdict {
            Verdict::Allow => 0,
            Verdict::Ask => 1,
            Verdict::Deny(_) => 2,
        };
        if self.verdict.as_ref().is_none_or(|before| rank(&verdict) > rank(before)) {
            self.verdict = Some(verdict);
        }
    }
}

/// Returns the JSON that a hook is given: what is `common` to all, the event's name, and its own `fields`.
pub(crate) fn body(common: &Value, event: &str, fields: &Value) -> Value {
    let mut body = json!({});
    if let Some(all) = body.as_object_mut() {
        for part in [common, &json!({ "hook_event_name": event }), fields] {
            all.extend(part.as_object().cloned().unwrap_or_default());
        }
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_by_event_and_tool() {
        let settings = Settings::parse(
            r#"{"hooks":{
                "PreToolUse":[
                    {"matcher":"Bash|Edit","hooks":[{"type":"command","command":"a","timeout":5}]},
                    {"matcher":"*","hooks":[{"type":"command","command":"b"}]},
                    {"hooks":[{"type":"http","url":"c"}]}],
                "Stop":[{"matcher":"never asked","hooks":[{"type":"command","command":"d"}]}]},
              "permissions":{"allow":["Bash(cmux *)"],"defaultMode":"acceptEdits"}}"#,
        );
        let settings = settings.unwrap();
        for (event, tool, expected) in [
            ("PreToolUse", Some("Bash"), &["a", "b"][..]),
            ("PreToolUse", Some("Write"), &["b"]),
            ("Stop", None, &["d"]),
            ("SessionEnd", None, &[]),
        ] {
            let commands = settings.commands(event, tool);
            let commands: Vec<&str> = commands.iter().map(|it| it.command.as_str()).collect();
            assert_eq!(commands, expected, "{event} {tool:?}");
        }
        assert_eq!(settings.commands("PreToolUse", Some("Edit"))[0].timeout.as_secs(), 5);
        assert_eq!(settings.allow, ["Bash(cmux *)"]);
        assert_eq!(settings.mode.as_deref(), Some("acceptEdits"));
        for wrong in ["", "[]", r#"{"hooks":[]}"#] {
            assert!(Settings::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_objection_is_heard_and_any_other_failure_is_not() {
        let block = |why: &str| Answer { block: Some(why.into()), ..Answer::default() };
        let verdict = |verdict| Answer { verdict: Some(verdict), ..Answer::default() };
        let deny = |why: &str| verdict(Verdict::Deny(why.into()));
        let context = |text: &str| Answer { context: vec![text.into()], ..Answer::default() };
        for (event, code, out, err, expected) in [
            ("UserPromptSubmit", 2, "", "no\n", block("no")),
            ("UserPromptSubmit", 0, r#"{"decision":"block","reason":"twice"}"#, "", block("twice")),
            ("UserPromptSubmit", 0, "know this\n", "", context("know this")),
            ("UserPromptSubmit", 1, r#"{"decision":"block"}"#, "no", Answer::default()),
            ("PreToolUse", 2, "", "no", deny("no")),
            (
                "PreToolUse",
                0,
                &specific(r#""permissionDecision":"allow""#),
                "",
                verdict(Verdict::Allow),
            ),
            (
                "PreToolUse",
                0,
                &specific(r#""permissionDecision":"ask""#),
                "",
                verdict(Verdict::Ask),
            ),
            (
                "PreToolUse",
                0,
                &specific(r#""permissionDecision":"deny","permissionDecisionReason":"R""#),
                "",
                deny("R"),
            ),
            (
                "PermissionRequest",
                0,
                &specific(r#""decision":{"behavior":"deny","message":"M"}"#),
                "",
                deny("M"),
            ),
            ("PostToolUse", 0, &specific(r#""additionalContext":"C""#), "", context("C")),
            ("Stop", 0, "not JSON", "", Answer::default()),
        ] {
            let outcome = Outcome { code: Some(code), stdout: out.into(), stderr: err.into() };
            assert_eq!(answer(event, &[outcome]), expected, "{event} {code} {out}");
        }
        assert_eq!(answer("Stop", &[Outcome::default()]), Answer::default(), "it was killed");
    }

    #[test]
    fn the_stricter_of_two_verdicts_holds() {
        let outcome = |verdict: &str| Outcome {
            code: Some(0),
            stdout: specific(&format!(r#""permissionDecision":"{verdict}""#)),
            stderr: String::new(),
        };
        let both = answer("PreToolUse", &[outcome("deny"), outcome("allow")]);
        assert_eq!(both.verdict, Some(Verdict::Deny(String::new())));
        let both = answer("PreToolUse", &[outcome("allow"), outcome("ask")]);
        assert_eq!(both.verdict, Some(Verdict::Ask));
    }

    fn specific(fields: &str) -> String {
        format!(r#"{{"hookSpecificOutput":{{{fields}}}}}"#)
    }
}
