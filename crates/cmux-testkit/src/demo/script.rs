//! The script: what the agent does, in place of a model.
//!
//! A script is JSON or TOML: a list of rules, each with `when` it is meant and the `steps` to take. The
//! first rule that is meant is taken; without any, the prompt is echoed.

use serde_json::{Map, Value};

use super::fault::Faults;

/// The longest script that is read, in bytes.
pub(crate) const SCRIPT_MAX: u64 = 1 << 20;

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Say(String),
    Think {
        ms: u64,
    },
    Tool(ToolUse),
    Stream {
        lines: u64,
        every_ms: u64,
    },
    /// The provider refuses: the turn ends with an error.
    Fail(String),
    /// The provider's limit is reached, and for how long.
    Limit {
        seconds: u64,
    },
    /// The process ends, without a word.
    Exit(u8),
    Hang,
    Flood {
        bytes: u64,
    },
    /// Nothing that is typed is read for a while.
    Deaf {
        ms: u64,
    },
    DropEnters(u64),
}

/// A tool, and what it is given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolUse {
    pub(crate) name: String,
    pub(crate) input: Value,
    /// Whether it is asked for even where it would be allowed, or never; by the mode if it is not said.
    pub(crate) ask: Option<bool>,
}

/// When to do what.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rule {
    contains: Option<String>,
    starts: Option<String>,
    turn: Option<u64>,
    steps: Vec<Step>,
}

/// All that the agent knows to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Script {
    pub(crate) rules: Vec<Rule>,
    pub(crate) faults: Faults,
}

impl Script {
    /// Reads a script, as TOML if its file is called so.
    pub(crate) fn parse(text: &str, is_toml: bool) -> Result<Script, String> {
        let value: Value = if is_toml {
            toml::from_str(text).map_err(|error| error.to_string())?
        } else {
            serde_json::from_str(text).map_err(|error| error.to_string())?
        };
        let table = table(&value, "a script")?;
        known(table, &["rules", "faults"], "a script")?;
        let mut faults = Faults::default();
        if let Some(asked) = table.get("faults") {
            faults.add_table(self::table(asked, "`faults`")?)?;
        }
        let rules = list(table, "rules")?.iter().enumerate();
        let rules = rules.map(|(index, rule)| {
            Rule::parse(rule).map_err(|error| format!("rule {}: {error}", index + 1))
        });
        Ok(Script { rules: rules.collect::<Result<_, _>>()?, faults })
    }

    /// Returns what is to be done about `prompt`, the one of this number from 1.
    pub(crate) fn steps(&self, prompt: &str, turn: u64) -> Vec<Step> {
        let rule = self.rules.iter().find(|rule| rule.is_meant(prompt, turn));
        let steps = rule.map(|rule| rule.steps.clone());
        steps.unwrap_or_else(|| vec![Step::Think { ms: 300 }, Step::Say("echo: {prompt}".into())])
    }
}

impl Rule {
    fn parse(value: &Value) -> Result<Rule, String> {
        let rule = table(value, "a rule")?;
        known(rule, &["when", "steps"], "a rule")?;
        let none = Map::new();
        let when = rule.get("when").map_or(Ok(&none), |when| table(when, "`when`"))?;
        known(when, &["contains", "starts", "turn"], "`when`")?;
        let steps = list(rule, "steps")?.iter().enumerate();
        let steps = steps.map(|(index, step)| {
            parse_step(step).map_err(|error| format!("step {}: {error}", index + 1))
        });
        Ok(Rule {
            contains: optional(when, "contains", text)?,
            starts: optional(when, "starts", text)?,
            turn: optional(when, "turn", number)?,
            steps: steps.collect::<Result<_, _>>()?,
        })
    }

    fn is_meant(&self, prompt: &str, turn: u64) -> bool {
        self.contains.as_ref().is_none_or(|part| prompt.contains(part))
            && self.starts.as_ref().is_none_or(|start| prompt.starts_with(start))
            && self.turn.is_none_or(|only| only == turn)
    }
}

fn parse_step(value: &Value) -> Result<Step, String> {
    let mut fields = table(value, "a step")?.iter();
    let (Some((name, value)), None) = (fields.next(), fields.next()) else {
        return Err("it is one thing to do, as in `{\"say\": \"…\"}`".into());
    };
    Ok(match name.as_str() {
        "say" => Step::Say(text(name, value)?),
        "think_ms" => Step::Think { ms: number(name, value)? },
        "tool" => Step::Tool(parse_tool(value)?),
        "write" => Step::Tool(parse_write(value)?),
        "stream" => {
            let stream = table(value, "`stream`")?;
            known(stream, &["lines", "every_ms"], "`stream`")?;
            let lines = optional(stream, "lines", number)?.unwrap_or(10);
            Step::Stream { lines, every_ms: optional(stream, "every_ms", number)?.unwrap_or(10) }
        }
        "fail" => Step::Fail(text(name, value)?),
        "limit_s" => Step::Limit { seconds: number(name, value)? },
        "exit" => {
            let code = number(name, value)?;
            Step::Exit(u8::try_from(code).map_err(|_| "an exit code is at most 255")?)
        }
        "hang" => Step::Hang,
        "flood" => Step::Flood { bytes: number(name, value)? },
        "deaf_ms" => Step::Deaf { ms: number(name, value)? },
        "drop_enters" => Step::DropEnters(number(name, value)?),
        _ => {
            return Err(format!(
                "there is no step `{name}`: say, think_ms, tool, write, stream, fail, limit_s, exit, \
                 hang, flood, deaf_ms, drop_enters"
            ));
        }
    })
}

fn parse_tool(value: &Value) -> Result<ToolUse, String> {
    let tool = table(value, "`tool`")?;
    known(tool, &["name", "input", "ask"], "`tool`")?;
    let name = tool.get("name").ok_or("a tool needs its `name`, such as \"Bash\"")?;
    let input = tool.get("input").cloned().unwrap_or(Value::Object(Map::new()));
    let ask = optional(tool, "ask", |name, value| {
        value.as_bool().ok_or_else(|| format!("`{name}` is true or false"))
    })?;
    Ok(ToolUse { name: text("name", name)?, input, ask })
}

fn parse_write(value: &Value) -> Result<ToolUse, String> {
    let write = table(value, "`write`")?;
    known(write, &["path", "text", "ask"], "`write`")?;
    let field = |name: &str| {
        let value = write.get(name).ok_or_else(|| format!("`write` needs its `{name}`"))?;
        text(name, value)
    };
    let input = serde_json::json!({ "file_path": field("path")?, "content": field("text")? });
    let ask = write.get("ask").and_then(Value::as_bool);
    Ok(ToolUse { name: "Write".into(), input, ask })
}

fn table<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{what} is a table"))
}

fn list<'a>(table: &'a Map<String, Value>, name: &str) -> Result<&'a [Value], String> {
    match table.get(name) {
        None => Ok(&[]),
        Some(value) => Ok(value.as_array().ok_or_else(|| format!("`{name}` is a list"))?),
    }
}

fn known(table: &Map<String, Value>, names: &[&str], what: &str) -> Result<(), String> {
    match table.keys().find(|key| !names.contains(&key.as_str())) {
        None => Ok(()),
        Some(other) => Err(format!("{what} has {}, and no `{other}`", names.join(", "))),
    }
}

fn optional<T>(
    table: &Map<String, Value>,
    name: &str,
    read: impl Fn(&str, &Value) -> Result<T, String>,
) -> Result<Option<T>, String> {
    table.get(name).map(|value| read(name, value)).transpose()
}

fn text(name: &str, value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("`{name}` is a text"))
}

fn number(name: &str, value: &Value) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| format!("`{name}` is a whole number, and not negative"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_rule_that_is_meant_is_taken() {
        let script = json!({ "rules": [
            { "when": { "contains": "two", "turn": 2 }, "steps": [{ "say": "second two" }] },
            { "when": { "contains": "two" }, "steps": [{ "say": "two" }] },
            { "when": { "starts": "one" }, "steps": [{ "say": "one" }] },
        ]});
        let script = Script::parse(&script.to_string(), false).unwrap();
        for (prompt, turn, expected) in [
            ("one two", 2, "second two"),
            ("one two", 1, "two"),
            ("one", 2, "one"),
            ("none", 2, "echo: {prompt}"),
        ] {
            let steps = script.steps(prompt, turn);
            assert_eq!(steps.last(), Some(&Step::Say(expected.into())), "{prompt} {turn}");
        }
    }

    #[test]
    fn json_and_toml_say_the_same() {
        let json = json!({
            "faults": { "drop-enters": 1 },
            "rules": [{ "steps": [
                { "think_ms": 5 },
                { "tool": { "name": "Bash", "input": { "command": "ls" }, "ask": false } },
                { "write": { "path": "a", "text": "b" } },
                { "stream": { "lines": 3 } },
                { "exit": 3 },
            ]}],
        });
        let toml = "faults = { drop-enters = 1 }\n[[rules]]\nsteps = [{ think_ms = 5 }, \
                    { tool = { name = 'Bash', input = { command = 'ls' }, ask = false } }, \
                    { write = { path = 'a', text = 'b' } }, { stream = { lines = 3 } }, { exit = 3 }]";
        let script = Script::parse(&json.to_string(), false).unwrap();
        assert_eq!(script, Script::parse(toml, true).unwrap());
        assert_eq!(script.faults.drop_enters, 1);
        assert_eq!(script.rules[0].steps.len(), 5);
    }

    #[test]
    fn a_bad_script_is_refused_with_the_place() {
        for (script, told) in [
            ("{", "EOF"),
            ("[]", "a script is a table"),
            (r#"{"rule":[]}"#, "and no `rule`"),
            (r#"{"rules":{}}"#, "`rules` is a list"),
            (r#"{"rules":[{"when":{"matches":"x"}}]}"#, "rule 1: `when` has contains"),
            (r#"{"rules":[{},{"steps":[{"say":1}]}]}"#, "rule 2: step 1: `say` is a text"),
            (r#"{"rules":[{"steps":[{"shout":1}]}]}"#, "there is no step `shout`"),
            (r#"{"rules":[{"steps":[{"exit":256}]}]}"#, "at most 255"),
            (r#"{"rules":[{"steps":[{"say":"a","exit":1}]}]}"#, "one thing to do"),
            (r#"{"rules":[{"steps":[{"tool":{}}]}]}"#, "needs its `name`"),
            (r#"{"faults":{"nosuch":1}}"#, "there is no fault `nosuch`"),
        ] {
            let error = Script::parse(script, false).unwrap_err();
            assert!(error.contains(told), "{script}: {error}");
        }
    }
}
