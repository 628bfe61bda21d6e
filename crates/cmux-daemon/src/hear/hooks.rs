//! What agents' hooks tell.

use cmux_core::agent::{Agent, Sighting};
use cmux_core::event::{Actor, Event};
use cmux_core::hook::{Caller, Hook, Ranks, Reply, Talk, Turns, Whose};
use cmux_core::id::{AgentId, NewIds, RunId, TurnId};
use cmux_core::plan::Subject;
use cmux_core::plan::agents::news;
use cmux_core::project::ProjectId;
use cmux_core::report::{Answer, Refused};
use cmux_core::restart::RestartPolicy;
use cmux_core::time::Timestamp;
use cmux_core::turn::Turn;
use cmux_store::hooks::{self, Heard as Row};
use cmux_store::{StoreError, Tx, agents, runs, turns};

use crate::hear::Heard;
use crate::hear::agents::remember;
use crate::hear::turns::Told;

/// Stores a hook, unless it was heard before, and what it says of its agent. What is told of another life
/// than the present one is stored, and changes nothing.
pub(super) fn heard(
    tx: &mut Tx<'_>,
    by: &Caller,
    hook: &Hook,
    ranks: &Ranks,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    if let Some(event) = hooks::find(tx.view(), hook.id)? {
        return Ok(Heard::told(answer(event, true)));
    }
    let Some((id, run, project)) = caller(tx, by)? else {
        return Ok(Heard::refused(Refused::NoRun));
    };
    let agent = agents::find(tx.view(), id)?;
    let is_present = |agent: &Agent| agent.live_life().is_some_and(|life| life.run == run);
    let agent = agent.filter(is_present);
    let open = agent.as_ref().and_then(|agent| agent.talk.turn);
    let open = open.map(|turn| turns::find(tx.view(), turn)).transpose()?.flatten();
    let told = agent.map(|agent| {
        let is_shown = matches!(by, Caller::Run { .. });
        let rank = ranks.of(&agent.kind);
        let (after, turn, whose) =
            listen(&agent, open.as_ref(), run, hook, rank, is_shown, now, ids);
        (agent, after, turn, whose)
    });
    let event = Event {
        actor: Actor::Agent(id),
        agent: Some(id),
        run: Some(run),
        ..Event::own_in(&project, hook.told(told.as_ref().and_then(|(_, _, turn, _)| *turn)))
    };
    let event = tx.append_with(&event, hook.payload.as_bytes(), now)?;
    hooks::save(tx, &Row { id: hook.id, event, at: now })?;
    let mut heard = Heard::told(answer(event, false));
    if let Some((before, after, turn, whose)) = told {
        remember(tx, &after, now, ids)?;
        if let Some(of) = turn {
            let told = Told { agent: &after, run, hook, whose: &whose, cause: event };
            told.tell(tx, of, open, now)?;
        }
        if before.talk.turn != after.talk.turn {
            heard.touched.insert(Subject::Agent(id));
        }
        for told in news(&before, &after) {
            tx.append(&Event { cause: Some(event), ..told }, now)?;
            heard.touched.insert(Subject::Agent(id));
        }
    }
    Ok(heard)
}

fn answer(event: cmux_core::id::EventId, duplicate: bool) -> Answer {
    Answer::Hooked { event, duplicate, reply: Reply::Pass }
}

/// Returns which run of which agent calls.
fn caller(tx: &Tx<'_>, by: &Caller) -> Result<Option<(AgentId, RunId, ProjectId)>, StoreError> {
    match by {
        Caller::Run { agent, run, project } => Ok(Some((*agent, *run, project.clone()))),
        Caller::Bearer(secret) => {
            let token = runs::find(tx.view(), secret)?;
            Ok(token.map(|token| (token.agent, token.run, token.project)))
        }
    }
}

/// Returns the agent as it is after what its hook told in its present life, the turn that belongs to, and
/// whose it was. A prompt or an end that is older than the turn that is `open` does not belong to it.
#[expect(clippy::too_many_arguments, reason = "all that it depends on, and nothing is kept")]
fn listen(
    agent: &Agent,
    open: Option<&Turn>,
    run: RunId,
    hook: &Hook,
    rank: u8,
    is_shown: bool,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> (Agent, Option<TurnId>, Whose) {
    let whose = hook.whose(agent.session.as_deref(), agent.talk.heard_in == Some(run));
    let new = TurnId::new(ids.ulid());
    // Calls of tools at the same time are told of in any order, and are of one turn.
    let is_call = hook.means.tool().is_some();
    let Turns { of, after } = match open {
        Some(turn) if !is_call && hook.stamp(now) < turn.began_at => {
            Turns { of: None, after: agent.talk.turn }
        }
        Some(_) | None => hook.turns(&whose, agent.talk.turn, &agent.phase, new),
    };
    // What was told long ago is known to have happened then, and not to be so now.
    let at = hook.stamp(now).max(agent.since);
    let is_late = agent.word.is_some_and(|word| hook.stamp(now) < word.at);
    let session = match &whose {
        // Whoever can read the spool can write to it: it says which session only if none is known.
        Whose::Becomes(id) if agent.session.is_none() => Some(id.clone()),
        Whose::Becomes(id) if !is_late && is_shown => Some(id.clone()),
        Whose::Own => hook.ids.session.clone(),
        Whose::Becomes(_) | Whose::Another => None,
    };
    let session = session.map(|id| Sighting::Session { id });
    let doing = hook.says(agent, &whose, now).map(|doing| Sighting::Told { doing, rank });
    let mut seen = agent.clone();
    for sighting in session.into_iter().chain(doing) {
        if let Ok(after) = seen.after(run, sighting, at, &RestartPolicy::default(), 0) {
            seen = after;
        }
    }
    let talk = Talk { turn: after, ..seen.talk };
    (Agent { talk, seen_at: seen.seen_at.max(Some(at)), ..seen }, of, whose)
}
