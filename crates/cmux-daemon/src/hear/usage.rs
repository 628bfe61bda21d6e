//! What agents use, as it is read.

use cmux_core::event::What;
use cmux_core::id::{AgentId, RunId};
use cmux_core::plan::agents::event;
use cmux_core::time::Timestamp;
use cmux_core::turn::Turned;
use cmux_core::usage::{Read, Usage};
use cmux_store::{StoreError, Tx, agents, turns, usage};

use crate::hear::Heard;

/// Stores what was new in an agent's files, with how far they were read: what is read once more because that
/// was lost changes nothing.
pub(super) fn read(
    tx: &mut Tx<'_>,
    id: AgentId,
    reads: &[Read],
    last_of: Option<RunId>,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    let Some(agent) = agents::find(tx.view(), id)? else { return Ok(Heard::new([])) };
    let (mut before, mut after, mut newest) = (Usage::default(), Usage::default(), None);
    for read in reads {
        for spent in &read.spent {
            let known = usage::find(tx.view(), id, &spent.key)?;
            let joined = known.as_ref().map_or_else(|| spent.clone(), |known| known.and(spent));
            if known.as_ref() == Some(&joined) {
                continue;
            }
            usage::save(tx, id, &joined, now)?;
            newest = newest.max(Some(joined.at));
            after = after.plus(Usage::of(&joined));
            before = before.plus(known.as_ref().map(Usage::of).unwrap_or_default());
        }
        usage::save_cursor(tx, id, &read.cursor)?;
    }
    if let Some(at) = newest {
        let in_all = usage::of_agent(tx.view(), id)?.plus(after).minus(before);
        let of_kind = usage::of_kind(tx.view(), &agent.kind)?.plus(after).minus(before);
        usage::save_sums(tx, id, &agent.kind, in_all, of_kind)?;
        let turn = turns::at(tx.view(), id, at)?;
        let in_turn = turn.as_ref().map(|turn| usage::of_turn(tx.view(), turn)).transpose()?;
        let used = Turned::Used {
            turn: turn.map(|turn| turn.id),
            more: after.minus(before),
            in_turn: in_turn.unwrap_or_default(),
            in_all,
        };
        tx.append(&event(&agent, What::Turned(used)), now)?;
    }
    if let Some(run) = last_of {
        usage::set_read(tx, id, run)?;
    }
    Ok(Heard::new([]))
}

#[cfg(test)]
mod tests;
