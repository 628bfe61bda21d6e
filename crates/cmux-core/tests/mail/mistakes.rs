//! Mistakes that cmux could make, one at a time: each is found out in some schedule, so whoever takes one of
//! these cares away has a test that fails.

use cmux_core::agent::Doing;
use cmux_core::delivery::{Delivery, DeliveryState, Holds, Look, Sighted, Step, Ticket};
use cmux_core::message::Evidence;

use crate::world::World;

/// In how many schedules a mistake is looked for.
const TRIED: u64 = 100_000;

/// What cmux does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// A delivery is typed before it is recorded, and forgotten with whoever typed it.
    TypesUnrecorded,
    /// It is typed without a ticket.
    TypesUnticketed,
    /// The hook lets a prompt pass without taking its ticket.
    PassesUnclaimed,
    /// What the hook has taken counts as read.
    TrustsClaims,
    /// What the hook has taken counts as read as soon as its agent is seen at work.
    TrustsWork,
    /// What is asked of a model counts as read once its agent was seen at work for a while, …
    TrustsWorkOnWhatIsSaid,
    /// … or once a hook has told of the end of any turn since it was made.
    TrustsAnyRest,
    /// tmux does what it is sent, whatever has become of the pane, …
    TypesUnguarded,
    /// … or however late it is, …
    TypesLate,
    /// … or though a person has typed since the last look, …
    IgnoresKeys,
    /// … or though another life of the agent is in the pane.
    IgnoresRun,
    /// Whatever is at the prompt is submitted once something was pasted.
    SubmitsAnything,
    /// It is pasted to whatever is at the prompt.
    IgnoresDrafts,
    /// After a crash the prompt is looked at, and not who took the ticket or what was read.
    RecoversByPrompt,
    /// The ticket of what was not read goes though a copy may still come.
    ForgetsAtOnce,
    /// It types without the pane's lock.
    TypesUnlocked,
    /// It looks only after the screen whether a dialog is about to come, which may be drawn in between.
    LooksForDialogsLast,
}

#[test]
fn keys_before_their_record_are_found_out() {
    check(Mistake::TypesUnrecorded, "a message was read twice");
}

#[test]
fn keys_without_a_ticket_are_found_out() {
    check(Mistake::TypesUnticketed, "a message was read twice");
}

#[test]
fn a_hook_that_claims_nothing_is_found_out() {
    check(Mistake::PassesUnclaimed, "a message was read twice");
}

#[test]
fn a_claim_that_counts_as_use_is_found_out() {
    check(Mistake::TrustsClaims, "it is told that something was read that was not");
}

#[test]
fn work_that_counts_as_use_is_found_out() {
    check(Mistake::TrustsWork, "it is told that something was read that was not");
}

#[test]
fn work_on_what_is_not_answered_that_counts_as_use_is_found_out() {
    check(Mistake::TrustsWorkOnWhatIsSaid, "it is told that something was read that was not");
}

#[test]
fn an_end_of_another_turn_that_counts_as_use_is_found_out() {
    check(Mistake::TrustsAnyRest, "it is told that something was read that was not");
}

#[test]
fn keys_without_a_guard_in_the_server_are_found_out() {
    check(Mistake::TypesUnguarded, "cmux typed into a dialog");
}

#[test]
fn keys_that_come_late_are_found_out() {
    check(Mistake::TypesLate, "cmux typed into a dialog");
}

#[test]
fn keys_among_those_of_a_person_are_found_out() {
    check(Mistake::IgnoresKeys, "cmux pasted into a draft");
}

#[test]
fn keys_for_another_life_are_found_out() {
    check(Mistake::IgnoresRun, "something was typed to another life of the agent");
}

#[test]
fn a_prompt_that_is_submitted_unseen_is_found_out() {
    check(Mistake::SubmitsAnything, "cmux submitted a draft");
}

#[test]
fn a_draft_that_is_overlooked_is_found_out() {
    check(Mistake::IgnoresDrafts, "cmux pasted into a draft");
}

#[test]
fn a_recovery_that_begins_with_the_prompt_is_found_out() {
    check(Mistake::RecoversByPrompt, "a message was read twice");
}

#[test]
fn a_ticket_that_goes_before_its_last_copy_has_come_is_found_out() {
    check(Mistake::ForgetsAtOnce, "a message was read that was over");
}

#[test]
fn keys_without_the_lock_are_found_out() {
    check(Mistake::TypesUnlocked, "cmux typed into a dialog");
}

#[test]
fn a_dialog_that_comes_while_it_is_looked_for_is_found_out() {
    check(Mistake::LooksForDialogsLast, "cmux answered a dialog");
}

impl World {
    pub(crate) fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    /// Returns a look as whoever makes a mistake takes it.
    pub(crate) fn mistaken(&self, look: Look) -> Look {
        let is_taken = look.ticket == Ticket::Claimed;
        match self.mistake {
            Some(Mistake::TypesUnticketed) if look.ticket == Ticket::Absent => {
                Look { ticket: Ticket::Open, ..look }
            }
            Some(Mistake::TrustsClaims) if is_taken => {
                Look { used: Some(Evidence::Transcript), ..look }
            }
            // Before it is typed again, nobody asks whether it was read.
            Some(Mistake::RecoversByPrompt) if self.lives > 1 && !look.is_pasted => {
                Look { used: None, ..look }
            }
            Some(Mistake::SubmitsAnything) if look.is_pasted && look.holds == Holds::Other => {
                Look { holds: Holds::Ours, ..look }
            }
            Some(Mistake::IgnoresDrafts) if !look.is_pasted && look.holds == Holds::Other => {
                Look { holds: Holds::Nothing, ..look }
            }
            Some(_) | None => look,
        }
    }

    /// Loses what was not recorded, when whoever knew of it dies.
    pub(crate) fn lose_unrecorded(&mut self) {
        if self.makes(Mistake::TypesUnrecorded) {
            self.store.lose_untold();
        }
    }

    /// Returns what whoever recovers by the prompt alone does with a delivery in doubt: as the prompt is empty, it
    /// is typed again.
    pub(crate) fn recovers_blindly(&mut self, delivery: &Delivery, look: &Look) -> Option<Step> {
        let is_free = look.holds == Holds::Nothing && look.doing == Some(Doing::AtPrompt);
        let is_blind = self.makes(Mistake::RecoversByPrompt)
            && delivery.state == DeliveryState::InDoubt
            && is_free;
        is_blind.then(|| {
            self.claims.give_back(delivery.id);
            Step::Tell(Sighted::Again { why: "the prompt is empty".to_owned() })
        })
    }
}

/// Checks that a mistake is found out, by the harm that it does.
#[track_caller]
fn check(mistake: Mistake, harm: &str) {
    let is_found = (0..TRIED).any(|seed| {
        let mut world = World::new(seed, false);
        world.mistake = Some(mistake);
        world.run().is_err_and(|(why, _)| why == harm)
    });
    assert!(is_found, "{mistake:?} does no harm in {TRIED} schedules");
}
