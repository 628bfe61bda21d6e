//! What is seen of an agent that mail is for, in one look.

use std::time::Duration;

use cmux_core::agent::Doing;
use cmux_core::delivery::{Confirm, Delivery, Holds, Look, Pace, Record, Signs, Ticket, Traces};
use cmux_core::id::{AgentId, DeliveryId};
use cmux_core::kind::{Channel, Unconfirmed, Witness};
use cmux_core::message::Evidence;
use cmux_core::screen::prompt::{Composer, Whose};
use cmux_core::screen::{self, Sight};
use cmux_core::time::Timestamp;
use cmux_core::witness::judge;
use cmux_drivers::clock;
use cmux_drivers::process::foreground;
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::glance::{self, Glance};
use cmux_drivers::typing_lock::is_dialog_near;
use cmux_store::turns;
use tokio::time::Instant;
use tracing::debug;

use super::super::desk::Desk;
use super::super::house::ANSWER_WITHIN;
use super::super::telling::screen_of;
use super::super::watch::Watch;
use super::UnderWay;

/// How long apart looks are at least in a person's server, where each is a process.
const VISIT_APART: Duration = Duration::from_millis(500);

/// How many times as long as a look takes it is left alone after it, and how long at most.
const LOOK_SHARE: u32 = 2;
const APART_MAX: Duration = Duration::from_millis(250);

/// In how many of an agent's last turns it is looked for whether a delivery was read.
const TURNS_LOOKED_AT: u32 = 20;

/// Returns the second that a moment is in, since 1970.
pub(in super::super) fn second(at: Timestamp) -> u64 {
    u64::try_from(at.0 / 1000).unwrap_or(0)
}

/// What a dialog asks for that is about to open.
const NEAR: &str = "permission";

/// What was done in a pane of a delivery.
struct Steps<'a> {
    attempt: u32,
    done: Vec<&'a str>,
}

impl Steps<'_> {
    fn has_any_paste(&self) -> bool {
        self.done.iter().any(|it| it.ends_with("-paste"))
    }

    fn is_pasted(&self) -> bool {
        self.done.contains(&format!("{}-paste", self.attempt).as_str())
    }

    /// Returns how often something was done in this attempt.
    fn count(&self, what: &str) -> u32 {
        let prefix = format!("{}-{what}-", self.attempt);
        let numbers = self.done.iter().filter_map(|it| it.strip_prefix(&prefix)?.parse().ok());
        numbers.max().unwrap_or(0)
    }
}

/// A look at a pane, and what it says.
pub(in super::super) struct Seen {
    pub(in super::super) glance: Glance,
    pub(in super::super) sight: Sight,
    doing: Option<Doing>,
    is_person_here: bool,
}

impl Seen {
    /// Returns whether a person may have typed in the pane from that second on.
    pub(in super::super) fn is_touched_since(&self, second: u64) -> bool {
        self.glance.person_s.is_some_and(|at| at >= second)
    }

    /// Returns whether a delivery is to be seen, be it at the prompt.
    fn shows(&self, delivery: DeliveryId) -> bool {
        let content = String::from_utf8_lossy(&self.glance.screen.content);
        content.contains(&delivery.to_string())
    }

    /// Returns what the agent does.
    pub(super) fn doing(&self) -> Option<Doing> {
        self.doing.clone()
    }
}

impl Watch {
    /// Looks at the pane, and hears what it says of the agent.
    pub(in super::super) async fn glance(&mut self, desk: &Desk) -> Result<Seen, TmuxError> {
        let begun = Instant::now();
        let control = self.house.control().await?;
        let lock = desk.home.typing_lock(&self.run.to_string());
        let glance = glance::glance(&control, self.pane, ANSWER_WITHIN);
        let (glance, is_near) = between_marks(|| is_dialog_near(&lock), glance).await;
        self.mail.look_took = begun.elapsed();
        let glance = glance?;
        if glance.is_dead || glance.run != Some(self.run) {
            return Err(TmuxError::NoPane(self.pane));
        }
        let screen = screen_of(&glance.screen);
        let now = self.now();
        let sight = self.kind.manifest.eyes.look(&screen, now, clock::east_min());
        self.ask_cli(desk);
        self.hear(&sight, now);
        self.decide(desk);
        // A hook has gone on, and what it asks for is not drawn yet.
        let doing = match self.doing_as_seen(&sight) {
            Some(Doing::AtPrompt) if is_near => Some(Doing::Asking { what: NEAR.to_owned() }),
            doing => doing,
        };
        let at = |second: u64| Timestamp(i64::try_from(second).unwrap_or(0) * 1000);
        let (key, written) = (glance.person_s.map(at), at(glance.written_s));
        // tmux tells whole seconds.
        let is_person_here = self.mail.person.is_here(key, written, at(second(clock::wall())));
        Ok(Seen { glance, sight, doing, is_person_here })
    }

    /// Returns whether the agent does that, with nobody else at its terminal.
    pub(super) fn is_alone(&self, seen: &Seen, doing: &Doing) -> bool {
        let look = self.looks(seen, Holds::Unknown, Ticket::Absent);
        let is_free = !look.is_person_here && !look.is_scrolled && !look.is_deaf;
        seen.doing.as_ref() == Some(doing) && look.is_in_front && is_free
    }

    /// Returns whether the agent is at its prompt and nobody else is.
    pub(in super::super) fn is_at_rest(&self, seen: &Seen) -> bool {
        self.is_alone(seen, &Doing::AtPrompt)
    }

    /// Returns what the agent does, if its screen does not speak against it.
    fn doing_as_seen(&self, sight: &Sight) -> Option<Doing> {
        let ranking = &self.kind.manifest.witnesses;
        let judged = judge(ranking, &self.statements, self.now()).map(|said| said.doing.clone());
        as_seen(sight.seen.as_ref(), judged, self.channel)
    }

    /// Returns how the agent takes what is typed.
    pub(super) fn pace(&self) -> Pace {
        let manifest = &self.kind.manifest;
        let hooks = manifest.hooks.as_ref().filter(|it| it.prompt.is_some() && it.blocks);
        Pace {
            submit_after: Duration::from_millis(manifest.keys.submit_after_ms),
            confirm: match hooks {
                Some(_) if !self.is_adopted => Confirm::Hook,
                Some(_) | None => Confirm::Sight,
            },
            has_prompt: !manifest.eyes.prompt.frames.is_empty(),
            is_repeated: self.unconfirmed == Unconfirmed::Again,
        }
    }

    /// Returns how long apart looks are at least. In a crowd a look takes long, and who looks less often leaves
    /// more to the others.
    pub(super) fn look_apart(&self) -> Duration {
        let least = if self.house.is_persons() { VISIT_APART } else { Duration::ZERO };
        least.max(self.mail.look_took.saturating_mul(LOOK_SHARE).min(APART_MAX))
    }

    /// Returns what is seen of an agent to which nothing is being typed.
    pub(super) fn free_look(&self, seen: &Seen) -> Look {
        let holds = match &seen.sight.composer {
            Composer::Absent => Holds::Unknown,
            Composer::Empty => Holds::Nothing,
            Composer::Holds(_) if self.is_left(seen) => Holds::Stale,
            Composer::Holds(_) => Holds::Other,
        };
        if self.channel == Channel::Api {
            // Nothing is typed: only whether it is at rest matters.
            let look = self.looks(seen, Holds::Nothing, Ticket::Absent);
            let (is_person_here, is_scrolled, is_deaf) = (false, false, false);
            return Look { is_person_here, is_scrolled, is_deaf, ..look };
        }
        let last = self.mail.before.last();
        let empties = last.map_or(0, |last| self.steps_of(last, seen).count("empty"));
        Look { empties, ..self.looks(seen, holds, Ticket::Absent) }
    }

    /// Returns whether what is at the prompt is exactly what is left of a delivery to this life.
    fn is_left(&self, seen: &Seen) -> bool {
        let prompt = &self.kind.manifest.eyes.prompt;
        self.mail.before.iter().any(|it| match prompt.whose(&seen.sight.composer, &it.text) {
            Whose::Ours => true,
            Whose::Folded | Whose::Repeated => !seen.is_touched_since(second(it.made_at)),
            Whose::Unknown | Whose::Nobodys | Whose::Somebodys => false,
        })
    }

    fn steps_of<'a>(&self, delivery: &Delivery, seen: &'a Seen) -> Steps<'a> {
        let prefix = format!("{}.{}-", self.run, delivery.id);
        let done = seen.glance.steps.iter().filter_map(|step| step.strip_prefix(&prefix));
        Steps { attempt: delivery.attempt, done: done.collect() }
    }

    /// Returns what is seen of a delivery. Its ticket is looked at after the screen, and what shows that it
    /// was read after that: what is seen later is never older.
    pub(super) async fn look_of(
        &mut self,
        way: &mut UnderWay,
        seen: &Seen,
        desk: &Desk,
    ) -> std::io::Result<Look> {
        let steps = self.steps_of(&way.delivery, seen);
        way.was_pasted |= steps.has_any_paste();
        let prompt = &self.kind.manifest.eyes.prompt;
        let is_pasted_alone = steps.is_pasted() && !seen.is_touched_since(way.pasted_s());
        let traces = Traces {
            is_pasted_alone,
            was_pasted: way.was_pasted,
            is_untouched: !seen.is_touched_since(second(way.delivery.made_at)),
            is_left: self.is_left(seen),
        };
        let whose = prompt.whose(&seen.sight.composer, &way.delivery.text);
        let holds = Holds::of(&whose, traces);
        let shown = Look {
            is_pasted: steps.is_pasted(),
            presses: steps.count("enter"),
            empties: steps.count("empty"),
            is_recalled: way.is_recalled,
            ..self.looks(seen, holds, Ticket::Absent)
        };
        let id = way.delivery.id;
        let mut look = shown.seen_through(|| self.process.is_alive(), || desk.claims.state(id))?;
        let is_out = look.presses > 0 || way.delivery.attempt > 1;
        if is_out || look.ticket == Ticket::Claimed {
            let record = self.in_transcript(way).await;
            let is_shown = is_pasted_alone && look.presses > 0 && look.holds == Holds::Nothing;
            look.is_shown = is_shown && record.may_be_read() && seen.shows(id);
            look.used = self.proven(way, record, seen, &look, desk).await;
        }
        Ok(look)
    }

    /// Returns by what it is known that a delivery was read, if it is.
    async fn proven(
        &self,
        way: &mut UnderWay,
        record: Record,
        seen: &Seen,
        look: &Look,
        desk: &Desk,
    ) -> Option<Evidence> {
        let is_taken = look.ticket == Ticket::Claimed && look.holds == Holds::Nothing;
        // Not every CLI shows its prompt while it works.
        let is_left = look.presses > 0 && matches!(look.holds, Holds::Nothing | Holds::Unknown);
        let is_open = record.may_be_read() && record != Record::Read;
        let is_over = is_taken && seen.doing != Some(Doing::Working) && is_open;
        let said = self.statements.of(Witness::Hooks);
        let signs = Signs {
            confirm: self.pace().confirm,
            record,
            is_answered: is_over && answered(self.agent, way.delivery.id, desk).await == Some(true),
            rests_since: said.filter(|it| it.doing == Doing::AtPrompt).map(|it| it.at),
            is_taken,
            is_left,
            is_shown: seen.shows(way.delivery.id),
            is_answering: seen.sight.seen == Some(screen::Seen::Busy { answers: true }),
            doing: seen.doing(),
        };
        way.proof.signed.by(&signs, self.now())
    }

    fn looks(&self, seen: &Seen, holds: Holds, ticket: Ticket) -> Look {
        let front = foreground(self.pane_pid);
        let is_in_front = !self.is_adopted || front.is_none_or(|it| it == self.process);
        Look {
            is_alive: true,
            ticket,
            used: None,
            is_pasted: false,
            presses: 0,
            empties: 0,
            holds,
            is_shown: false,
            doing: seen.doing.clone(),
            is_person_here: seen.is_person_here,
            is_scrolled: seen.glance.is_in_mode,
            is_deaf: seen.glance.is_input_off,
            is_in_front,
            is_recalled: false,
            is_paused: self.mail.is_paused,
        }
    }
}

/// Returns whether a turn of an agent that a delivery began has run its course, as the store has it, if that can be
/// told: it knows what a daemon before this one heard. A model may well answer nothing.
pub(in super::super) async fn answered(
    agent: AgentId,
    delivery: DeliveryId,
    desk: &Desk,
) -> Option<bool> {
    let found = desk.readers.read(move |view| turns::last(view, agent, TURNS_LOOKED_AT)).await;
    let found = found.inspect_err(|error| debug!(%error, "turns could not be looked at"));
    Some(found.ok()?.iter().any(|turn| turn.has_read(delivery)))
}

/// Returns what comes of a look, and whether a dialog was about to open before it or after it: the mark of one
/// that is drawn meanwhile goes, and would not be found after a look that was too early for it.
async fn between_marks<T>(is_near: impl Fn() -> bool, look: impl Future<Output = T>) -> (T, bool) {
    let was_near = is_near();
    let seen = look.await;
    (seen, was_near || is_near())
}

/// Returns what an agent does, where `judged` is what its witnesses say together, and its screen says `seen`. Where
/// messages come by keys, a screen that nobody knows is not at its prompt, whoever says so: keys go to the screen.
fn as_seen(seen: Option<&screen::Seen>, judged: Option<Doing>, channel: Channel) -> Option<Doing> {
    match seen {
        Some(screen::Seen::Asking { what }) => Some(Doing::Asking { what: what.clone() }),
        Some(screen::Seen::Dialog { name }) => Some(Doing::Asking { what: name.clone() }),
        Some(screen::Seen::Busy { .. }) => Some(Doing::Working),
        Some(screen::Seen::Limited { until }) => Some(Doing::Limited { until: *until }),
        Some(screen::Seen::Idle | screen::Seen::Draft { .. }) => judged.or(Some(Doing::AtPrompt)),
        None => match channel {
            Channel::Paste => judged.filter(|doing| *doing != Doing::AtPrompt),
            Channel::Api => judged,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn a_dialog_that_is_about_to_open_at_either_end_of_a_look_is_known() {
        for (before, after) in [(false, false), (false, true), (true, false), (true, true)] {
            let mark = Cell::new(before);
            let look = async {
                mark.set(after);
                "the screen"
            };
            let seen = between_marks(|| mark.get(), look).await;
            assert_eq!(seen, ("the screen", before || after));
        }
    }

    #[test]
    fn a_screen_that_nobody_knows_holds_up_what_is_typed_and_nothing_else() {
        let rest = || Some(Doing::AtPrompt);
        let idle = screen::Seen::Idle;
        for (seen, judged, channel, expected) in [
            (None, rest(), Channel::Paste, None),
            (None, rest(), Channel::Api, rest()),
            (None, Some(Doing::Working), Channel::Paste, Some(Doing::Working)),
            (None, None, Channel::Api, None),
            (Some(&idle), None, Channel::Paste, rest()),
            (Some(&idle), Some(Doing::Working), Channel::Api, Some(Doing::Working)),
            (
                Some(&screen::Seen::Busy { answers: false }),
                rest(),
                Channel::Api,
                Some(Doing::Working),
            ),
        ] {
            assert_eq!(as_seen(seen, judged, channel), expected, "{seen:?} {channel:?}");
        }
    }
}
