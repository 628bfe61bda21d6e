//! What cmux itself has to say: that a message will not be read, that an agent failed, that something came
//! from outside.

use cmux_core::agent::Agent;
use cmux_core::delivery::{Sighted, Unused};
use cmux_core::event::Actor;
use cmux_core::id::{AgentId, EventId, NewIds};
use cmux_core::mail::{self, Full};
use cmux_core::message::{Message, MessageState, NewMessage};
use cmux_core::notice;
use cmux_core::phase::Phase;
use cmux_core::plan::Subject;
use cmux_core::project::ProjectId;
use cmux_core::time::Timestamp;
use cmux_core::webhook::Webhook;
use cmux_store::{StoreError, Tx, agents, deliveries, messages, projects, wake};

use super::{add, admit, change, seen};
use crate::hear::kinds;

/// Stores what cmux has to say, and has its reader planned for at once; the person, if its reader would run it.
/// It is never too much for anybody: it follows from what was admitted, and of a conversation in which much more of
/// the same has come to pass than was read of, the last word says that there may be more.
pub(crate) fn notify(
    tx: &mut Tx<'_>,
    new: &NewMessage,
    cause: Option<EventId>,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<(), StoreError> {
    let would_run = match new.to.agent() {
        Some(id) => is_commanded(tx, id)?,
        None => false,
    };
    let instead = would_run.then(|| notice::to_the_person(new));
    let mut new = instead.unwrap_or_else(|| new.clone());
    let answered = match new.reply_to {
        Some(id) => messages::find(tx.view(), id)?,
        None => None,
    };
    if let Some(about) = &answered {
        let (to, most) = (new.to.agent(), notice::TOLD_MAX);
        let told = messages::told(tx.view(), to, about.thread, about.state, most)?;
        match notice::another(new, told) {
            Some(next) => new = next,
            None => return Ok(()),
        }
    }
    add(tx, &new, answered.map(|it| it.thread), cause, now, ids)?;
    match new.to.agent() {
        Some(id) => wake::set(tx, &Subject::Agent(id), Some(now)),
        None => Ok(()),
    }
}

fn is_commanded(tx: &Tx<'_>, id: AgentId) -> Result<bool, StoreError> {
    match agents::find(tx.view(), id)? {
        Some(agent) => kinds::is_commanded(tx.view(), &agent.kind),
        None => Ok(false),
    }
}

/// Tells its sender of a message that will not be read.
pub(super) fn bad_news(
    tx: &mut Tx<'_>,
    message: &Message,
    cause: EventId,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<(), StoreError> {
    let sender = match message.from.actor {
        Actor::Agent(id) => agents::find(tx.view(), id)?,
        Actor::Operator | Actor::Cmux | Actor::Token(_) | Actor::Webhook(_) => None,
    };
    match mail::bad_news(message, sender.as_ref()) {
        Some(news) => notify(tx, &news, Some(cause), now, ids),
        None => Ok(()),
    }
}

/// Gives up all that waits for an agent that is forgotten by now.
pub(in crate::hear) fn reader_forgotten(
    tx: &mut Tx<'_>,
    id: AgentId,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<(), StoreError> {
    let why = || "its reader was forgotten".to_owned();
    if let Some(open) = deliveries::open_of(tx.view(), id)? {
        // A person's own agent goes on without cmux.
        let why = match open.may_be_out() {
            true => "its reader was forgotten, which may have been reading it".to_owned(),
            false => why(),
        };
        let unused = Sighted::Unused(Unused::Failed { why });
        seen(tx, open.id, open.attempt, &unused, now, ids)?;
    }
    for message in messages::open_of(tx.view(), id)? {
        let failed = message.in_state(MessageState::Failed, Some(why()));
        change(tx, &message, &failed, &Actor::Cmux, None, now, ids)?;
    }
    Ok(())
}

/// Tells whoever launched it, or the person, of an agent that has just failed.
pub(in crate::hear) fn agent_failed(
    tx: &mut Tx<'_>,
    agent: &Agent,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<(), StoreError> {
    let before = agents::find(tx.view(), agent.id)?;
    if before.is_none_or(|it| it.phase == Phase::Failed) {
        return Ok(());
    }
    let parent = match agent.parent {
        Some(id) => agents::find(tx.view(), id)?,
        None => None,
    };
    notify(tx, &notice::agent_failed(agent, parent.as_ref()), None, now, ids)
}

/// A webhook's word for its project, if it is known in which project it is to be read.
pub(in crate::hear) fn webhook_taken(
    tx: &Tx<'_>,
    webhook: &Webhook,
) -> Result<Result<Option<NewMessage>, Full>, StoreError> {
    let Some(project) = project_of(tx, webhook)? else { return Ok(Ok(None)) };
    let mut team = Vec::new();
    for agent in agents::of_project(tx.view(), &project)? {
        if !kinds::is_commanded(tx.view(), &agent.kind)? {
            team.push(agent);
        }
    }
    let new = notice::webhook_taken(webhook, &project, notice::supervisor(&team));
    Ok(admit(tx, &new)?.map(|()| Some(new)))
}

/// Returns the project of a webhook: the one that its source is set up for, or else the only one there is.
fn project_of(tx: &Tx<'_>, webhook: &Webhook) -> Result<Option<ProjectId>, StoreError> {
    if webhook.project.is_some() {
        return Ok(webhook.project.clone());
    }
    match <[_; 1]>::try_from(projects::all(tx.view())?) {
        Ok([only]) => Ok(Some(only.id)),
        Err(_) => Ok(None),
    }
}
