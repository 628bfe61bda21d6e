//! What the agent does that was given no script: a little demonstration, and an echo.

use super::script::Script;

const PERSONA: &str = include_str!("persona.json");

/// What a supervisor is asked to do whom nobody asked anything.
const OPENING: &str = "Give a demonstration.";

/// How the role of the supervisor begins that `cmux up` launches, as cmux tells it.
const SUPERVISOR: &str = "You are supervisor, the supervisor of ";

/// Returns the built-in script.
pub(crate) fn script() -> Script {
    // A test sees to it that it can be read.
    Script::parse(PERSONA, false).unwrap_or_default()
}

/// Returns what an agent without a script or a prompt begins with: a project's supervisor shows a team at
/// work, unless its project has words of its own for it.
pub(crate) fn opening(role: Option<&str>) -> Option<String> {
    role.filter(|role| role.starts_with(SUPERVISOR)).map(|_| OPENING.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::demo::script::Step;

    #[test]
    fn a_supervisor_shows_two_workers_at_work_and_they_show_themselves() {
        assert!(Script::parse(PERSONA, false).is_ok());
        for (prompt, expected) in [
            (
                OPENING,
                &[
                    "cmux agent spawn worker-1 --kind demo",
                    "cmux agent spawn worker-2 --kind demo",
                    "cmux agent list",
                    "cmux agent list",
                ][..],
            ),
            ("Count what is in this folder.", &["set -- *", "set -- *"]),
            ("Look at the latest commit.", &["git log -1", "cmux report done "]),
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

    #[test]
    fn the_tasks_that_are_given_are_known_to_whoever_gets_them() {
        for step in script().steps(OPENING, 1) {
            let given = command(&step).unwrap_or_default();
            if let Some((_, task)) = given.split_once("--task ") {
                let known = script().steps(task.trim_matches('\''), 1);
                assert!(known.iter().any(|step| command(step).is_some()), "{task}");
            }
        }
    }

    #[test]
    fn workers_report_that_they_are_done_and_the_supervisor_reads_it() {
        for task in ["Count what is in this folder.", "Look at the latest commit."] {
            let commands: Vec<String> =
                script().steps(task, 1).iter().filter_map(command).collect();
            let reports = commands.iter().filter(|it| it.contains("cmux report done "));
            assert_eq!(reports.count(), 1, "{commands:?}");
        }
        // Whatever is reported, it is no task that is to be done again.
        let report =
            "[cmux dlv_1 from worker-1 · response · msg_1]\nDone: Look at the latest commit";
        let steps = script().steps(report, 2);
        assert!(matches!(steps.last(), Some(Step::Say(said)) if said.contains("has reported")));
        assert!(steps.iter().all(|step| command(step).is_none()), "{steps:?}");
    }

    #[test]
    fn only_the_supervisor_that_up_launches_begins_by_itself() {
        for (role, expected) in [
            (Some("You are supervisor, the supervisor of the project x in /x. …"), true),
            (Some("You are boss, the supervisor of the project x in /x. …"), false),
            (Some("You are worker-1, a worker in the project x. …"), false),
            (Some("Lead them well."), false),
            (None, false),
        ] {
            assert_eq!(opening(role).is_some(), expected, "{role:?}");
        }
    }

    fn command(step: &Step) -> Option<String> {
        let Step::Tool(tool) = step else { return None };
        tool.input.get("command").and_then(Value::as_str).map(str::to_owned)
    }
}
