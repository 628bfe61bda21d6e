//! Keeps an eye on a project's folder.

use crate::plan::{Action, Plan, Record, Step};
use crate::project::{LOOK_WITHIN, Look, Project};
use crate::time::Timestamp;

/// Returns what is due for `project` at `now`.
pub fn plan(project: &Project, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    // A look that was not answered in time is simply done again: it changes nothing.
    let (Look::Due { at } | Look::Underway { deadline: at }) = project.look;
    if now < at {
        plan.wake(at);
        return plan;
    }
    let deadline = now + LOOK_WITHIN;
    plan.steps.push(Step {
        record: Some(Record::Project(Project {
            look: Look::Underway { deadline },
            ..project.clone()
        })),
        event: None,
        action: Some(Action::LookAtProject {
            project: project.id.clone(),
            root: project.root.clone(),
        }),
    });
    plan.wake(deadline);
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(100_000);

    #[test]
    fn a_folder_is_looked_at_when_it_is_due_or_the_last_look_was_lost() {
        for (look, looks) in [
            (Look::Due { at: NOW }, true),
            (Look::Due { at: Timestamp(100_001) }, false),
            (Look::Underway { deadline: NOW }, true),
            (Look::Underway { deadline: Timestamp(100_001) }, false),
        ] {
            let project = Project { look, ..Project::new("/a", None, NOW).unwrap() };
            let plan = plan(&project, NOW);
            assert_eq!(!plan.steps.is_empty(), looks, "{look:?}");
            assert!(plan.wake_at > Some(NOW), "{look:?}");
        }
    }
}
