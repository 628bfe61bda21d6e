//! What to do next: the one place where cmux makes up its mind.
//!
//! A plan compares what people want with what was seen of one subject, and names the steps that would
//! bring the two together. It is made anew after every change and remembers nothing, so a plan that was
//! lost in a crash is simply made again. Each concern is a file of this folder.

pub mod agents;
pub mod archives;
pub mod doors;
pub mod mail;
pub mod payloads;
pub mod projects;
pub mod snapshots;
pub mod turns;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::agent::Agent;
use crate::delivery::Delivery;
use crate::event::Event;
use crate::id::{AgentId, DeliveryId, EventId, RunId, SnapshotId};
use crate::message::{Message, NewMessage};
use crate::project::{Project, ProjectId};
use crate::snapshot::{Snapshot, SnapshotKind};
use crate::time::Timestamp;
use crate::turn::Turn;

/// Something that is planned for by itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// cmux itself.
    Daemon,
    Project(ProjectId),
    Agent(AgentId),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Daemon => f.write_str("daemon"),
            Subject::Project(id) => write!(f, "project:{id}"),
            Subject::Agent(id) => write!(f, "agent:{id}"),
        }
    }
}

/// Text that should have named a subject.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names nothing that is planned for")]
pub struct BadSubject(String);

impl FromStr for Subject {
    type Err = BadSubject;

    fn from_str(text: &str) -> Result<Subject, BadSubject> {
        let bad = || BadSubject(text.to_owned());
        match text.split_once(':') {
            None if text == "daemon" => Ok(Subject::Daemon),
            Some(("project", id)) => id.parse().map(Subject::Project).map_err(|_| bad()),
            Some(("agent", id)) => id.parse().map(Subject::Agent).map_err(|_| bad()),
            None | Some(_) => Err(bad()),
        }
    }
}

/// What to do now, and when to look again if nothing happens before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<Step>,
    pub wake_at: Option<Timestamp>,
}

/// What to store, and what to do once it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    pub record: Option<Record>,
    pub event: Option<Event>,
    pub action: Option<Action>,
}

/// A thing as it is once the action is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    Agent(Box<Agent>),
    Project(Project),
    Snapshot(Snapshot),
    Message(Box<Message>),
    /// Something that cmux itself has to say.
    Notice(Box<NewMessage>),
    /// A turn that is over, which its agent is not in any more.
    TurnOver(Box<Turn>),
    /// Archived events up to this one are not in the store any more.
    LogTrimmed {
        through: EventId,
    },
    /// A portion of what is from before then is not there any more: raw payloads, …
    PayloadsPruned {
        before: Timestamp,
    },
    /// … links that expired, …
    LinksCleared {
        before: Timestamp,
    },
    /// … sessions that ended, …
    SessionsCleared {
        before: Timestamp,
    },
    /// … deliveries that were taken, …
    WebhooksCleared {
        before: Timestamp,
    },
    /// … hooks that were heard, …
    HooksCleared {
        before: Timestamp,
    },
    /// … tokens of runs that ended, …
    RunTokensCleared {
        before: Timestamp,
    },
    /// … messages that came to their end, with their deliveries, …
    MessagesCleared {
        before: Timestamp,
    },
    /// … and turns, and what each answer in them took.
    TurnsCleared {
        before: Timestamp,
    },
}

/// Something to do outside. It names what it is for, so that it does no harm if it comes too late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Look whether the project's folder is there.
    LookAtProject { project: ProjectId, root: String },
    /// Launch the agent's next life.
    LaunchAgent { agent: Box<Agent>, run: RunId },
    /// End the agent's life: gently, then firmly.
    EndAgent { agent: Box<Agent>, run: RunId },
    /// Have the agent stop in what it does. It is done at most once, by this `step`.
    InterruptAgent { agent: Box<Agent>, run: RunId, step: String },
    /// Have the agent ask for its mail as soon as it can take it.
    OfferMail { agent: AgentId, run: RunId },
    /// Type a delivery, or go on with it, or take it back if some of its messages are recalled.
    /// To an agent that is paused nothing is typed.
    Deliver { delivery: Box<Delivery>, is_recalled: bool, is_paused: bool },
    /// Find out what became of a delivery to a life that is over.
    SettleDelivery { agent: Box<Agent>, delivery: Box<Delivery> },
    /// Take a delivery back, if that can still be done.
    Recall { agent: AgentId, delivery: DeliveryId },
    /// See to it that nothing is left of a life that has ended.
    ClearRun { agent: Box<Agent>, run: RunId },
    /// Do away with all that was kept for an agent that is forgotten.
    ForgetAgent { agent: Box<Agent> },
    /// Copy the store, check the copy, and drop those that are too many.
    TakeSnapshot { snapshot: SnapshotId, kind: SnapshotKind, at: Timestamp },
}

impl Plan {
    /// Adds what another concern has planned for the same subject.
    #[must_use]
    pub fn and(mut self, other: Plan) -> Plan {
        self.steps.extend(other.steps);
        if let Some(at) = other.wake_at {
            self.wake(at);
        }
        self
    }

    /// Plans to be woken at `at`, if nothing sooner is planned.
    fn wake(&mut self, at: Timestamp) {
        self.wake_at = Some(self.wake_at.map_or(at, |planned| planned.min(at)));
    }

    /// Plans to clear away what is from longer than `keep` ago, once the `oldest` has been so for `lag`.
    /// Only a portion may go in one turn, so the next one looks for more.
    fn clear(
        &mut self,
        oldest: Option<Timestamp>,
        keep: Duration,
        lag: Duration,
        now: Timestamp,
        record: fn(Timestamp) -> Record,
    ) {
        let Some(oldest) = oldest else { return };
        let due = oldest + keep + lag;
        if now < due {
            self.wake(due);
            return;
        }
        self.steps.push(Step { record: Some(record(now - keep)), ..Step::default() });
        self.wake(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ulid::Ulid;

    #[test]
    fn a_subject_is_read_back_as_it_was_written() {
        let agent = AgentId::new(Ulid::from(7_u128));
        for subject in
            [Subject::Daemon, Subject::Project(ProjectId::of("/a")), Subject::Agent(agent)]
        {
            assert_eq!(subject.to_string().parse(), Ok(subject));
        }
        for text in ["", "daemon:", "project:", "project:../x", "agent:x"] {
            assert!(text.parse::<Subject>().is_err(), "{text}");
        }
    }
}
