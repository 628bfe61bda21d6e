//! Its hook holds back what was claimed before.

use cmux_wire::agent::Phase;

use super::{asked, left, supervised};
use crate::proof::{self, Shown};
use crate::stage::SUPERVISOR;

#[test]
fn a_second_copy_is_refused_by_its_hook_and_comes_back_to_its_prompt() {
    let (mut stage, supervisor) = supervised();
    let first = stage.post.send(SUPERVISOR, "Read this once.\n@@ say read\n@= hold=answer");
    asked(&stage);
    // Nobody is there to see that it is read, so that its ticket stays claimed.
    stage.post.world.daemon.take().unwrap().kill();
    stage.model.release("answer");
    left(&stage);
    let copy = stage.prompts(&supervisor).remove(0);
    let pane = supervisor.pane.as_deref().unwrap();
    let at_pane = |words: &[&str]| stage.post.world.at_tmux(words);
    let shows = |text: &str| {
        stage.eventually(text, || {
            at_pane(&["capture-pane", "-p", "-t", pane]).contains(text).then_some(())
        });
    };
    shows("● read");
    at_pane(&["set-buffer", "-b", "copy", "--", &copy]);
    at_pane(&["paste-buffer", "-p", "-d", "-b", "copy", "-t", pane]);
    shows("[Pasted text #");
    // What is drawn does not yet take keys.
    let told = "was submitted before, and this is a second copy of it";
    let is_untold = || !at_pane(&["capture-pane", "-p", "-t", pane]).contains(told);
    stage.press_until_gone("it is refused", is_untold, || {
        at_pane(&["send-keys", "-t", pane, "Enter"]);
    });

    stage.post.world.reborn();
    stage.delivered(&first);
    // Who pasted it is to take it away again.
    let second = stage.post.send(SUPERVISOR, "And this.");
    stage.post.wait_until(&second, "held", |it| it.waiting_for.as_deref() == Some("draft"));
    let screen = stage.screen(SUPERVISOR);
    assert_eq!(screen.matches("Read this once.").count(), 3, "{screen}");
    stage.post.world.at_tmux(&["send-keys", "-t", pane, "C-c"]);
    stage.delivered(&second);
    stage.in_phase(SUPERVISOR, Phase::Idle);
    stage.post.check_read(&stage.prompts(&supervisor), &[&first, &second]);
    proof::shown(&stage, "claude", Shown::Block);
}
