//! Permissions: which tools are used without a question.

use serde_json::Value;

/// What is allowed without a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    #[default]
    Ask,
    /// Files may be written.
    Edits,
    All,
}

impl Mode {
    /// Reads a mode as Claude Code or cmux calls it.
    pub(crate) fn parse(name: &str) -> Result<Mode, String> {
        match name {
            "ask" | "default" | "manual" => Ok(Mode::Ask),
            "edits" | "acceptEdits" => Ok(Mode::Edits),
            "all" | "bypassPermissions" => Ok(Mode::All),
            _ => Err(format!(
                "`{name}` is no permission mode: default, acceptEdits, bypassPermissions"
            )),
        }
    }

    /// Returns its name, as hooks are told it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Ask => "default",
            Mode::Edits => "acceptEdits",
            Mode::All => "bypassPermissions",
        }
    }

    pub(crate) fn shown(self) -> &'static str {
        match self {
            Mode::Ask => "⏸ manual mode on",
            Mode::Edits => "⏵⏵ accept edits on",
            Mode::All => "⏵⏵ bypass permissions on",
        }
    }
}

/// Whether `tool` may be used with `input` without a question, by its mode or by one of the patterns,
/// such as `Write` or `Bash(cmux *)`.
pub(crate) fn is_allowed(mode: Mode, patterns: &[String], tool: &str, input: &Value) -> bool {
    match mode {
        Mode::All => return true,
        Mode::Edits if tool == "Write" => return true,
        Mode::Edits | Mode::Ask => {}
    }
    let command = input.get("command").and_then(Value::as_str).unwrap_or_default();
    patterns.iter().any(|pattern| fits(pattern, tool, command))
}

fn fits(pattern: &str, tool: &str, command: &str) -> bool {
    let Some((name, rest)) = pattern.split_once('(') else { return pattern == tool };
    let Some(wanted) = rest.strip_suffix(')').filter(|_| name == tool) else { return false };
    let start = wanted.strip_suffix(":*").or_else(|| wanted.strip_suffix(" *"));
    let Some(start) = start else { return wanted == command };
    // What the shell would take for more than one command is more than the pattern speaks of.
    let is_one = !command.contains(|letter: char| ";|&$`<>()\n\\".contains(letter));
    let rest = command.strip_prefix(start);
    is_one && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn modes_and_patterns_allow() {
        for (mode, pattern, tool, command, expected) in [
            (Mode::Ask, "", "Bash", "ls", false),
            (Mode::All, "", "Bash", "ls", true),
            (Mode::Edits, "", "Bash", "ls", false),
            (Mode::Edits, "", "Write", "", true),
            (Mode::Ask, "Bash", "Bash", "ls", true),
            (Mode::Ask, "Bash(ls)", "Bash", "ls", true),
            (Mode::Ask, "Bash(ls)", "Bash", "ls -l", false),
            (Mode::Ask, "Bash(cmux *)", "Bash", "cmux send a b", true),
            (Mode::Ask, "Bash(cmux:*)", "Bash", "cmux", true),
            (Mode::Ask, "Bash(cmux *)", "Bash", "cmuxx", false),
            (Mode::Ask, "Bash(cmux *)", "Bash", "cmux x; rm y", false),
            (Mode::Ask, "Bash(cmux *)", "Bash", "cmux \"$(rm y)\"", false),
            (Mode::Ask, "Bash(cmux *)", "Write", "cmux x", false),
        ] {
            let allowed = is_allowed(mode, &[pattern.into()], tool, &json!({ "command": command }));
            assert_eq!(allowed, expected, "{mode:?} {pattern} {tool} {command}");
        }
    }
}
