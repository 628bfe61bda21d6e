//! Its phases follow what really happens, and `cmux agent why` says by what.

use cmux_wire::agent::Phase;
use cmux_wire::message::MessageState;

use super::rules::know;
use super::{Part, asked};
use crate::proof::{Shown, shown};
use crate::record;
use crate::stage::SUPERVISOR;

/// It is busy while its model thinks, and idle when that is over.
pub(crate) fn busy_and_idle(part: &Part) {
    let (stage, supervisor) = part.supervised();
    let message = stage.post.send(SUPERVISOR, "@@ say done with it\n@= hold=answer");
    stage.in_phase(SUPERVISOR, Phase::Busy);
    stage.explained(SUPERVISOR, Phase::Busy, part.witnesses);
    asked(&stage);
    know(&stage, &supervisor, "busy");
    stage.model.release("answer");
    stage.in_phase(SUPERVISOR, Phase::Idle);
    stage.explained(SUPERVISOR, Phase::Idle, part.witnesses);
    know(&stage, &supervisor, "idle");
    stage.delivered(&message);
}

/// It asks at a real dialog, or at several one after the other, nothing is given to it meanwhile, and it goes on when
/// they are answered.
pub(crate) fn asks(part: &Part) {
    let (stage, supervisor) = part.supervised();
    let made = stage.post.world.home.folder("elsewhere").join("made");
    let command = (part.asks)(&format!("touch {}", made.display()));
    stage.tell(&format!("{command}\n@@ say made"));
    stage.in_phase(SUPERVISOR, Phase::Asking);
    stage.explained(SUPERVISOR, Phase::Asking, part.witnesses);
    let next = stage.post.send(SUPERVISOR, "Go on.");
    stage.post.wait_until(&next, "held", |it| it.waiting_for.as_deref() == Some("asking"));
    assert!(!made.exists());
    for (words, screen) in part.questions {
        // It is known that it asks before that is drawn.
        stage.eventually(words, || stage.screen(SUPERVISOR).contains(words).then_some(()));
        stage.in_phase(SUPERVISOR, Phase::Asking);
        know(&stage, &supervisor, screen);
        let waits = stage.post.message(&next.id);
        assert_eq!(waits.state, MessageState::Queued, "{}", stage.post.told());
        assert!(!made.exists(), "nobody has said yes to {words}");
        // Yes is marked. At a prompt that has come meanwhile, this key does nothing.
        stage.answer(&supervisor, words, "Enter");
    }
    stage.eventually("it is made", || made.exists().then_some(()));
    stage.delivered(&next);
    let hooks: Vec<(&str, &str)> = part.hooks.iter().map(|name| (*name, *name)).collect();
    record::hooks(&stage, part.kind(), &hooks);
    shown(&stage, part.kind(), Shown::Asking);
}

/// It is limited when its model refuses for now.
pub(crate) fn limited(part: &Part) {
    let (stage, supervisor) = part.supervised();
    stage.post.send(SUPERVISOR, part.limit.unwrap());
    stage.in_phase(SUPERVISOR, Phase::Limited);
    stage.explained(SUPERVISOR, Phase::Limited, part.witnesses);
    know(&stage, &supervisor, "limited");
}
