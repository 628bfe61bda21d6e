//! What the agent does that was given no script: a little demonstration, and an echo.

use super::script::Script;

const PERSONA: &str = include_str!("persona.json");

/// Returns the built-in script.
pub(crate) fn script() -> Script {
    // A test sees to it that it can be read.
    Script::parse(PERSONA, false).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::demo::script::Step;

    #[test]
    fn a_supervisor_hires_two_workers_and_they_report() {
        assert!(Script::parse(PERSONA, false).is_ok());
        for (prompt, expected) in [
            (
                "Give a demonstration.",
                &["cmux agent spawn worker-a", "cmux agent spawn worker-b"][..],
            ),
            (
                "[cmux dlv_1 from sup · task · msg_1]\nCount the files here, and report.",
                &["cmux report done"],
            ),
            ("Look at the latest change, and report.", &["cmux report done"]),
            ("[cmux dlv_1 from worker-a · done · msg_1]\nthere are 3", &[]),
            ("hello", &[]),
        ] {
            let steps = script().steps(prompt, 1);
            let commands: Vec<String> = steps.iter().filter_map(command).collect();
            assert_eq!(commands.len(), expected.len(), "{prompt}: {steps:?}");
            for (command, start) in commands.iter().zip(expected) {
                assert!(command.starts_with(start), "{command}");
            }
        }
    }

    fn command(step: &Step) -> Option<String> {
        let Step::Tool(tool) = step else { return None };
        tool.input.get("command").and_then(Value::as_str).map(str::to_owned)
    }
}
