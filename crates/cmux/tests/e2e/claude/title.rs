//! What its title tells, and what not.

use cmux_wire::agent::{Agent, Phase};

use super::supervised;
use crate::stage::{SUPERVISOR, Stage};

/// How its title begins at its prompt.
const AT_REST: &str = "✳ ";

/// This is why no rule looks at it: whoever went by it would type into a dialog.
#[test]
fn it_has_the_same_mark_at_a_question_as_at_its_prompt_and_another_while_it_works() {
    let (stage, supervisor) = supervised();
    titled(&stage, &supervisor, true);
    let message = stage.post.send(SUPERVISOR, "@@ say done with it\n@= hold=answer");
    stage.in_phase(SUPERVISOR, Phase::Busy);
    titled(&stage, &supervisor, false);
    stage.model.release("answer");
    stage.delivered(&message);
    stage.tell("@@ tool Bash {\"command\":\"sh -c 'touch made-by-bash'\"}\n@@ say made");
    stage.in_phase(SUPERVISOR, Phase::Asking);
    titled(&stage, &supervisor, true);
    stage.answer(&supervisor, "Do you want to proceed?", "Enter");
    stage.in_phase(SUPERVISOR, Phase::Idle);
}

/// Waits until its title has the mark of its prompt, or another.
#[track_caller]
fn titled(stage: &Stage, agent: &Agent, is_at_rest: bool) {
    let pane = agent.pane.as_deref().unwrap();
    stage.eventually("its title", || {
        let title =
            stage.post.world.at_tmux(&["display-message", "-p", "-t", pane, "#{pane_title}"]);
        (title.starts_with(AT_REST) == is_at_rest).then_some(())
    });
}
