//! What is seen of an agent that mail is for, in one look.

use std::time::Duration;

use cmux_core::agent::Doing;
use cmux_core::delivery::{Confirm, Delivery, Holds, Look, Pace, Ticket};
use cmux_core::kind::{Channel, Unconfirmed};
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
use tokio::time::Instant;

use super::super::desk::Desk;
use super::super::house::ANSWER_WITHIN;
use super::super::telling::screen_of;
use super::super::watch::Watch;
use super::UnderWay;

/// How long after a person's key nothing is typed in their way, in seconds.
const PERSON_FOR_S: u64 = 3;

/// How long it is waited for the program to answer a person's key, in seconds.
const UNANSWERED_FOR_S: u64 = 30;

/// How long apart looks are at least in a person's server, where each is a process.
const VISIT_APART: Duration = Duration::from_millis(500);

/// How many times as long as a look takes it is left alone after it, and how long at most.
const LOOK_SHARE: u32 = 2;
const APART_MAX: Duration = Duration::from_millis(250);

/// Returns the second that a moment is in, since 1970.
pub(super) fn second(at: Timestamp) -> u64 {
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
pub(super) struct Seen {
    pub(super) glance: Glance,
    pub(super) sight: Sight,
    doing: Option<Doing>,
}

impl Seen {
    /// Returns whether a person may have typed in the pane from that second on.
    fn is_touched_since(&self, second: u64) -> bool {
        self.glance.person_s.is_some_and(|at| at >= second)
    }

    /// Returns what the agent does.
    pub(super) fn doing(&self) -> Option<Doing> {
        self.doing.clone()
    }
}

impl Watch {
    /// Looks at the pane, and hears what it says of the agent.
    pub(super) async fn glance(&mut self, desk: &Desk) -> Result<Seen, TmuxError> {
        let begun = Instant::now();
        let control = self.house.control().await?;
        let glance = glance::glance(&control, self.pane, ANSWER_WITHIN).await;
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
        let is_near = is_dialog_near(&desk.home.typing_lock(&self.run.to_string()));
        let doing = match self.doing_as_seen(&sight) {
            Some(Doing::AtPrompt) if is_near => Some(Doing::Asking { what: NEAR.to_owned() }),
            doing => doing,
        };
        Ok(Seen { glance, sight, doing })
    }

    /// Returns whether the agent is seen to work at this moment, with nobody at its keyboard.
    pub(in super::super) async fn is_seen_working(&mut self, desk: &Desk) -> bool {
        let Ok(seen) = self.glance(desk).await else { return false };
        let look = self.looks(&seen, Holds::Unknown, Ticket::Absent);
        let is_alone = !look.is_person_here && !look.is_scrolled && !look.is_deaf;
        seen.doing == Some(Doing::Working) && is_alone
    }

    /// Returns what the agent does, if its screen does not speak against it: what is typed goes to the screen.
    fn doing_as_seen(&self, sight: &Sight) -> Option<Doing> {
        let ranking = &self.kind.manifest.witnesses;
        let judged = judge(ranking, &self.statements, self.now()).map(|said| said.doing.clone());
        match &sight.seen {
            Some(screen::Seen::Asking { what }) => Some(Doing::Asking { what: what.clone() }),
            Some(screen::Seen::Dialog { name }) => Some(Doing::Asking { what: name.clone() }),
            Some(screen::Seen::Busy) => Some(Doing::Working),
            Some(screen::Seen::Limited { until }) => Some(Doing::Limited { until: *until }),
            Some(screen::Seen::Idle | screen::Seen::Draft { .. }) => {
                judged.or(Some(Doing::AtPrompt))
            }
            None => judged.filter(|doing| *doing != Doing::AtPrompt),
        }
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
            Whose::Folded => !seen.is_touched_since(second(it.made_at)),
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
        let is_alive = self.process.is_alive();
        let id = way.delivery.id;
        let ticket = desk.claims.state(id)?;
        let steps = self.steps_of(&way.delivery, seen);
        way.was_pasted |= steps.has_any_paste();
        let prompt = &self.kind.manifest.eyes.prompt;
        let holds = match prompt.whose(&seen.sight.composer, &way.delivery.text) {
            Whose::Unknown => Holds::Unknown,
            Whose::Nobodys => Holds::Nothing,
            Whose::Ours => Holds::Ours,
            // What is folded is only as long as ours; it is ours if nobody else can have pasted it.
            Whose::Folded if steps.is_pasted() && !seen.is_touched_since(way.pasted_s()) => {
                Holds::Ours
            }
            Whose::Folded | Whose::Somebodys => match self.is_left(seen) {
                true => Holds::Stale,
                false => Holds::Other,
            },
        };
        let mut look = Look {
            is_alive,
            is_pasted: steps.is_pasted(),
            presses: steps.count("enter"),
            empties: steps.count("empty"),
            is_recalled: way.is_recalled,
            ..self.looks(seen, holds, ticket)
        };
        let is_out = look.presses > 0 || way.delivery.attempt > 1;
        if is_out || ticket == Ticket::Claimed {
            look.used = self.proven(way, seen, &look).await;
        }
        Ok(look)
    }

    /// Returns by what it is known that a delivery was read, if it is.
    async fn proven(&self, way: &mut UnderWay, seen: &Seen, look: &Look) -> Option<Evidence> {
        if let Some(is_used) = self.in_transcript(way).await {
            return is_used.then_some(Evidence::Transcript);
        }
        let is_working = seen.doing == Some(Doing::Working);
        if self.pace().confirm == Confirm::Hook {
            let is_taken = look.ticket == Ticket::Claimed && look.holds == Holds::Nothing;
            return way.proof.works(is_taken, is_working).then_some(Evidence::Turn);
        }
        let shown = String::from_utf8_lossy(&seen.glance.screen.content).into_owned();
        let is_shown = shown.contains(&way.delivery.id.to_string());
        // Not every CLI shows its prompt while it works.
        let is_left = look.presses > 0 && matches!(look.holds, Holds::Nothing | Holds::Unknown);
        (is_left && is_shown && is_working).then_some(Evidence::Screen)
    }

    fn looks(&self, seen: &Seen, holds: Holds, ticket: Ticket) -> Look {
        let now_s = second(clock::wall());
        // What they typed may not be on the screen yet.
        let is_unanswered = seen.glance.person_s.is_some_and(|at| seen.glance.written_s < at);
        let here_for_s = if is_unanswered { UNANSWERED_FOR_S } else { PERSON_FOR_S };
        let is_person_here =
            seen.glance.person_s.is_some_and(|at| now_s.saturating_sub(at) < here_for_s);
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
            doing: seen.doing.clone(),
            is_person_here,
            is_scrolled: seen.glance.is_in_mode,
            is_deaf: seen.glance.is_input_off,
            is_in_front,
            is_recalled: false,
            is_paused: self.mail.is_paused,
        }
    }
}
