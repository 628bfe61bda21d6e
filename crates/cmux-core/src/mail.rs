//! Mail: in which order messages are read, which go together, what they wait for, and how many may wait.

mod waiting;

use crate::agent::{Agent, Intent};
use crate::delivery::{
    ATTEMPTS_MAX, Delivery, DeliveryState, Part, Said, Sighted, Unused, room_for, text,
};
use crate::event::{Actor, MessageTold, What};
use crate::id::{DeliveryId, RunId};
use crate::message::{Body, Message, MessageKind, MessageState, NewMessage, Recipient, Sender};
use crate::pace::Pace;
use crate::phase::Phase;
use crate::time::Timestamp;

pub use self::waiting::Waiting;

/// How many messages go in one delivery at most, and how many bytes of text.
pub const BATCH_MAX: usize = 32;
pub const BATCH_BYTES_MAX: usize = 32 << 10;

/// How many messages may wait for one reader, and how many bytes: from one sender, from an agent together with
/// those above and below it, and from all. What cmux itself says is not counted: it follows from what was admitted.
pub const SENDER_MAX: Load = Load { messages: 200, bytes: 32 << 20 };
pub const TEAM_MAX: Load = Load { messages: 1000, bytes: 128 << 20 };
pub const READER_MAX: Load = Load { messages: 2000, bytes: 256 << 20 };

/// How much may be sent on one account, in KiB: so much at once, and so much a minute in the long run. What is
/// over is kept for a while, so that who takes back all they send fills a disk with it all the same.
pub const SENT_MAX: Pace = Pace { per_min: (1 << 20) / (24 * 60), burst: 256 << 10 };

/// How cmux calls itself in what it says.
pub const CMUX: &str = "cmux";

/// How much waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    pub messages: u64,
    pub bytes: u64,
}

impl Load {
    fn takes(self, bytes: u64, max: Load) -> bool {
        self.messages < max.messages && self.bytes.saturating_add(bytes) <= max.bytes
    }
}

/// What waits for a reader from one of those who wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    pub from: Actor,
    pub account: Account,
    pub load: Load,
}

/// On whose account mail waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Account {
    /// Of a sender by themselves. Of an agent, it is that of the topmost one above it: whoever launches others
    /// gets no more room by that than a team has.
    Of(Actor),
    /// Of agents of which it is not known any more who was above them.
    Orphans,
}

impl Account {
    /// Returns whether what is on the `other` account counts on this one. What orphans sent may be from
    /// below any agent.
    fn counts(&self, other: &Account) -> bool {
        match (self, other) {
            (Account::Of(Actor::Agent(_)), Account::Orphans) => true,
            (Account::Of(_), _) | (Account::Orphans, _) => self == other,
        }
    }
}

/// Why no more mail is taken for a reader.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    #[error(
        "`{to}` has {} messages from {from} that it has not read, and takes no more from there: try again when \
         some are read, or cancel some",
        load.messages
    )]
    OfSender { to: String, from: String, load: Load },
    #[error("{} messages wait for `{to}`, and no more may: try again when some are read", load.messages)]
    OfReader { to: String, load: Load },
}

/// Returns why a message on this `account` may not wait beside what waits for the same reader. Whoever sends too
/// much has their own room filled by that, and not that of the others of their team. The person is not kept waiting
/// by what others sent, and may have as much wait as all of them together.
pub fn admit(new: &NewMessage, account: &Account, waiting: &[Share]) -> Result<(), Full> {
    let bytes = new.body.bytes;
    let by_itself = sum(waiting.iter().filter(|it| it.from == new.from.actor));
    let of_team = sum(waiting.iter().filter(|it| account.counts(&it.account)));
    let full = |from, load| Full::OfSender { to: new.to.name().to_owned(), from, load };
    let name = &new.from.name;
    match new.from.actor {
        Actor::Cmux => return Ok(()),
        Actor::Operator => {
            let takes = by_itself.takes(bytes, READER_MAX);
            return if takes { Ok(()) } else { Err(full(format!("`{name}`"), by_itself)) };
        }
        Actor::Agent(_) | Actor::Token(_) | Actor::Webhook(_) => {}
    }
    if !by_itself.takes(bytes, SENDER_MAX) {
        return Err(full(format!("`{name}`"), by_itself));
    }
    if !of_team.takes(bytes, TEAM_MAX) {
        return Err(full(format!("`{name}` and the agents above and below it"), of_team));
    }
    let of_all = sum(waiting);
    if !of_all.takes(bytes, READER_MAX) {
        return Err(Full::OfReader { to: new.to.name().to_owned(), load: of_all });
    }
    Ok(())
}

fn sum<'a>(shares: impl IntoIterator<Item = &'a Share>) -> Load {
    let counted = shares.into_iter().filter(|it| it.from != Actor::Cmux);
    counted.fold(Load::default(), |sum, Share { load, .. }| Load {
        messages: sum.messages.saturating_add(load.messages),
        bytes: sum.bytes.saturating_add(load.bytes),
    })
}

/// Returns whether what `from` says may be run as a command. Of a script, that was found out when it was
/// taken.
pub fn may_command(from: &Actor) -> bool {
    match from {
        Actor::Operator | Actor::Token(_) => true,
        Actor::Agent(_) | Actor::Webhook(_) | Actor::Cmux => false,
    }
}

/// Returns why not everybody may write to the agent that is called so.
pub fn commanded(to: &str) -> String {
    format!(
        "`{to}` runs what it is told as a command, so only the person, and scripts that may operate, write to \
         it: ask the person to, with `cmux send user`"
    )
}

/// Returns what keeps an agent from being given mail, as far as its life tells.
pub fn obstacle(agent: &Agent) -> Option<Waiting> {
    match agent.intent {
        Intent::Stop => return Some(Waiting::Stopped),
        Intent::Pause => return Some(Waiting::Paused),
        Intent::Run => {}
    }
    match agent.phase {
        Phase::Idle => None,
        Phase::Offline if agent.adopted => Some(Waiting::Stopped),
        Phase::Offline | Phase::Starting { .. } => Some(Waiting::Starting),
        Phase::Busy => Some(Waiting::Busy),
        Phase::Asking => Some(Waiting::Asking),
        Phase::Limited { .. } => Some(Waiting::Limited),
        Phase::Down { .. } => Some(Waiting::Down),
        Phase::Failed => Some(Waiting::Failed),
    }
}

/// Returns what `message` waits for, if it does, where `held` is what its reader's terminal was last seen to
/// be in the way by, and `is_next` whether nothing is to be read before it.
pub fn waiting(
    message: &Message,
    agent: Option<&Agent>,
    held: Option<Waiting>,
    is_next: bool,
) -> Option<Waiting> {
    if message.state.is_over() {
        return None;
    }
    let agent = agent?;
    let now = obstacle(agent).or(held);
    match message.state {
        MessageState::Queued if !is_next => now.or(Some(Waiting::Earlier)),
        MessageState::Queued | MessageState::Typing | MessageState::InDoubt => {
            now.or(Some(Waiting::Reading))
        }
        // Whoever has it and works is at it.
        MessageState::Submitted | MessageState::Claimed => {
            now.filter(|it| *it != Waiting::Busy).or(Some(Waiting::Reading))
        }
        MessageState::Delivered
        | MessageState::Failed
        | MessageState::Cancelled
        | MessageState::Expired => None,
    }
}

/// Returns `messages` in the order in which they are read: as they were sent, but whoever interrupts comes
/// first, after what they themselves sent before.
pub fn in_order(messages: Vec<Message>) -> Vec<Message> {
    let mut ordered = with_lateness(messages);
    ordered.sort_by_key(|(is_late, it)| (*is_late, it.seq));
    ordered.into_iter().map(|(_, it)| it).collect()
}

/// Returns each message with whether it is not among those that come first because of an interruption.
fn with_lateness(messages: Vec<Message>) -> Vec<(bool, Message)> {
    let last = |from: &Actor| {
        let of = messages.iter().filter(|it| it.interrupt && it.from.actor == *from);
        of.map(|it| it.seq).max()
    };
    let is_late = |it: &Message| last(&it.from.actor).is_none_or(|last| it.seq > last);
    let lateness: Vec<bool> = messages.iter().map(is_late).collect();
    lateness.into_iter().zip(messages).collect()
}

/// Returns `messages`, of which not all are read at once, such that their senders take turns: nobody waits for
/// all that another has sent. What one sender has sent stays in its order.
fn in_turns(messages: Vec<Message>) -> Vec<Message> {
    let mut ordered = with_lateness(messages);
    ordered.sort_by_key(|(is_late, it)| (*is_late, it.seq));
    let mut placed: Vec<((bool, usize, i64), Message)> = Vec::new();
    for (late, message) in ordered {
        let is_before = |((is_late, ..), it): &&((bool, usize, i64), Message)| {
            *is_late == late && it.from.actor == message.from.actor
        };
        let turn = placed.iter().filter(is_before).count();
        placed.push(((late, turn, message.seq), message));
    }
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, it)| it).collect()
}

/// Returns how many of `messages`, the first of them, go in one delivery. What is read in a file goes alone:
/// what becomes of the file is then nobody else's trouble.
fn fitting(messages: &[Message]) -> usize {
    let (mut taken, mut bytes) = (0, 0);
    for message in messages {
        bytes += room_for(message.body.bytes);
        let is_full = taken >= BATCH_MAX || bytes > BATCH_BYTES_MAX;
        let is_long = message.body.is_long();
        if (is_full || is_long) && taken > 0 {
            break;
        }
        taken += 1;
        if is_long {
            break;
        }
    }
    taken
}

/// Returns the next delivery to the life `run` of `agent`, of those that wait and whose time is not over;
/// `root` is the folder of its project. Nothing, if nothing waits. If they do not all fit, their senders take
/// turns.
pub fn make(
    id: DeliveryId,
    agent: &Agent,
    run: RunId,
    waiting: Vec<Message>,
    root: &str,
    mark: u64,
    now: Timestamp,
) -> Option<Delivery> {
    let in_time = |it: &Message| it.expires_at.is_none_or(|at| now < at);
    let mut taken = in_order(waiting.into_iter().filter(in_time).collect());
    if fitting(&taken) < taken.len() {
        taken = in_turns(taken);
    }
    taken.truncate(fitting(&taken));
    let files: Vec<String> = taken.iter().map(|it| file_of(root, it)).collect();
    let parts: Vec<Part<'_>> = taken.iter().zip(&files).map(|(it, path)| part(it, path)).collect();
    let messages: Vec<_> = taken.iter().map(|it| it.id).collect();
    let text = text(id, &parts);
    let state = DeliveryState::Typing;
    let agent = agent.id;
    let made = Delivery {
        id,
        agent,
        run,
        messages,
        text,
        attempt: 1,
        state,
        mark,
        made_at: now,
        since: now,
    };
    (!taken.is_empty()).then_some(made)
}

/// Returns where the body of a message is that is too long to be typed.
pub fn file_of(root: &str, message: &Message) -> String {
    format!("{}/.cmux/mail/{}", root.trim_end_matches('/'), message.id)
}

fn part<'a>(message: &'a Message, path: &'a str) -> Part<'a> {
    let Body { bytes, sha256, text } = &message.body;
    let body = match text {
        Some(text) if !message.body.is_long() => Said::Text(text),
        Some(_) | None => Said::File { path, bytes: *bytes, sha256: *sha256 },
    };
    Part { id: message.id, from: &message.from.name, kind: message.kind, body }
}

/// Returns `message` as it is once this was seen of its delivery, which is as it is after that.
pub fn after(message: &Message, delivery: &Delivery, seen: &Sighted, now: Timestamp) -> Message {
    let message = Message { delivery: Some(delivery.id), ..message.clone() };
    let attempts = |message: Message| Message { attempts: message.attempts + 1, ..message };
    match seen {
        Sighted::Typing => message.in_state(MessageState::Typing, None),
        Sighted::Submitted => message.in_state(MessageState::Submitted, None),
        Sighted::Claimed => message.in_state(MessageState::Claimed, None),
        Sighted::Again { why } => {
            attempts(message).in_state(MessageState::Typing, Some(why.clone()))
        }
        Sighted::Used(evidence) => {
            let read = message.in_state(MessageState::Delivered, None);
            Message { evidence: Some(*evidence), delivered_at: Some(now), recall: None, ..read }
        }
        Sighted::Unused(why) => unread(&message, why),
    }
}

/// Returns a message as it is once its delivery is not read: taken back if that was wanted and is certain, else
/// waiting again, unless it never will be read.
fn unread(message: &Message, why: &Unused) -> Message {
    let (state, why) = match (why, message.recall) {
        (Unused::Failed { why }, _) => (MessageState::Failed, Some(why.clone())),
        (Unused::RunOver | Unused::Recalled, Some(recall)) => (recall.state(), None),
        (Unused::PerhapsRead, Some(recall)) => {
            let was = recall.state().name();
            let why = format!(
                "unconfirmed: it was {was} too late, and its reader ended, which may have read it"
            );
            (MessageState::Failed, Some(why))
        }
        (Unused::RunOver | Unused::PerhapsRead, None) if message.attempts >= ATTEMPTS_MAX => {
            let why = format!("it was typed {ATTEMPTS_MAX} times, and its reader ended each time");
            (MessageState::Failed, Some(why))
        }
        (Unused::RunOver | Unused::PerhapsRead, None) => {
            (MessageState::Queued, Some("its reader ended before it was read".to_owned()))
        }
        (Unused::Recalled, None) => (MessageState::Queued, None),
    };
    Message { recall: None, ..message.in_state(state, why) }
}

/// Returns a message as it is once it is typed for the first time in this delivery.
pub fn typed(message: &Message, delivery: DeliveryId) -> Message {
    let typed = message.in_state(MessageState::Typing, None);
    Message { delivery: Some(delivery), attempts: message.attempts + 1, ..typed }
}

/// Returns what its sender is told of a message that will not be read, if they are to be told. An agent
/// is told by its present name, if it is still there.
pub fn bad_news(message: &Message, sender: Option<&Agent>) -> Option<NewMessage> {
    let (to, project) = match (&message.from.actor, sender) {
        (Actor::Cmux, _) => return None,
        (Actor::Agent(_), None) => return None,
        (Actor::Agent(id), Some(agent)) => {
            (Recipient::Agent { id: *id, name: agent.name.to_string() }, agent.project.clone())
        }
        (Actor::Operator | Actor::Token(_) | Actor::Webhook(_), _) => {
            (Recipient::User, message.project.clone())
        }
    };
    let why = message.reason.as_deref().unwrap_or("its time was over");
    let (id, state, name) = (message.id, message.state.name(), message.to.name());
    let text = format!("Your message {id} to {name} is {state}: {why}");
    Some(NewMessage {
        project,
        from: Sender { actor: Actor::Cmux, name: CMUX.to_owned() },
        to,
        kind: MessageKind::Error,
        body: Body::new(text),
        reply_to: Some(message.id),
        interrupt: false,
        key: None,
        ttl: None,
    })
}

/// Returns what the log tells of a message as it is now.
pub fn told(message: &Message) -> What {
    What::MessageIs { state: message.state, told: MessageTold::of(message) }
}

#[cfg(test)]
mod tests;
