//! It is brought up, and down again.

use cmux_testkit::wait::eventually;
use cmux_wire::agent::Phase;

use super::Part;
use crate::proof::{Shown, shown};
use crate::stage::{SUPERVISOR, Stage};

/// `cmux up` brings it past its dialogs to its prompt with no key of a person's, and `down` leaves nothing.
pub(crate) fn up_and_down(part: &Part) {
    let stage = Stage::brought_up(&part.cli, &["--trust"]);
    let supervisor = stage.in_phase(SUPERVISOR, Phase::Idle);
    assert_eq!((supervisor.kind.as_str(), supervisor.role.as_str()), (part.kind(), "supervisor"));
    stage.explained(SUPERVISOR, Phase::Idle, part.witnesses);
    let asked = stage.model.look(|visits| visits.iter().filter(|it| it.is_main()).count());
    assert!(asked <= usize::from(part.role_is_prompt), "{asked}");
    shown(&stage, part.kind(), Shown::Launch);
    shown(&stage, part.kind(), Shown::Ready);

    stage.told(&["down", "--all"]);
    let home = &stage.post.world.home;
    eventually("nothing is left", || home.processes().is_empty().then_some(()));
}
