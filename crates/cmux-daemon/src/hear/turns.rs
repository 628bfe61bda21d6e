//! What hooks tell of turns.

use cmux_core::agent::Agent;
use cmux_core::event::{Actor, Event, What};
use cmux_core::hook::{Hook, Whose};
use cmux_core::id::{EventId, RunId, TurnId};
use cmux_core::plan::agents::event;
use cmux_core::time::Timestamp;
use cmux_core::turn::{Turn, TurnEnd, Turned};
use cmux_core::usage::Usage;
use cmux_store::{StoreError, Tx, View, turns, usage};

/// What a hook told, and of whom.
pub(super) struct Told<'a> {
    /// The agent as it is after that.
    pub(super) agent: &'a Agent,
    pub(super) run: RunId,
    pub(super) hook: &'a Hook,
    pub(super) whose: &'a Whose,
    /// The event that tells of the hook.
    pub(super) cause: EventId,
}

impl Told<'_> {
    /// Stores what becomes of the turn `of`, if `open` is the one that the agent was in, and tells of it.
    pub(super) fn tell(
        &self,
        tx: &mut Tx<'_>,
        of: TurnId,
        open: Option<Turn>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let at = self.hook.stamp(now);
        if let Some(left) = open.as_ref().filter(|open| open.id != of) {
            // Another began, and nothing has told how this one ended.
            let over = left.over(TurnEnd::Interrupted, at);
            turns::save(tx, &over)?;
            self.ended(tx, &over, now)?;
        }
        let known = match open.filter(|open| open.id == of) {
            Some(open) => Some(open),
            None => turns::find(tx.view(), of)?,
        };
        let is_new = known.is_none();
        let begun = || Turn::begun(of, self.agent.id, self.run, self.hook, at);
        let before = known.unwrap_or_else(begun);
        let after = before.after(self.hook, self.whose, at);
        if is_new || after != before {
            turns::save(tx, &after)?;
        }
        if is_new {
            self.append(tx, after.started(), now)?;
        }
        self.tool(tx, of, now)?;
        if self.agent.talk.turn != Some(of) {
            self.ended(tx, &after, now)?;
        }
        Ok(())
    }

    fn tool(&self, tx: &mut Tx<'_>, turn: TurnId, now: Timestamp) -> Result<(), StoreError> {
        let Some((tool, Some(ok))) = self.hook.means.tool() else { return Ok(()) };
        let (call, subagent) = (self.hook.ids.call.clone(), self.hook.ids.subagent.clone());
        let used = Turned::ToolUsed { turn, tool: tool.to_owned(), call, subagent, ok };
        self.append(tx, What::Turned(used), now)
    }

    fn ended(&self, tx: &mut Tx<'_>, turn: &Turn, now: Timestamp) -> Result<(), StoreError> {
        match turn.ended(usage::of_turn(tx.view(), turn)?) {
            Some(told) => self.append(tx, told, now),
            None => Ok(()),
        }
    }

    fn append(&self, tx: &mut Tx<'_>, what: What, now: Timestamp) -> Result<(), StoreError> {
        let (actor, cause) = (Actor::Agent(self.agent.id), Some(self.cause));
        tx.append(&Event { actor, cause, run: Some(self.run), ..event(self.agent, what) }, now)?;
        Ok(())
    }
}

/// Returns the turn that `agent` is in, and what it has used as far as that was read.
pub(crate) fn open(view: View<'_>, agent: &Agent) -> Result<Option<(Turn, Usage)>, StoreError> {
    let Some(id) = agent.talk.turn else { return Ok(None) };
    let Some(turn) = turns::find(view, id)? else { return Ok(None) };
    let usage = usage::of_turn(view, &turn)?;
    Ok(Some((turn, usage)))
}
