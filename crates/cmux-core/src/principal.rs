//! Who is speaking, and what that allows. Every route needs one of [`Need`], and this is the one place
//! that says who has it.

use crate::event::Actor;
use crate::id::{AgentId, RunId, SessionId, TokenId};
use crate::message::{MessageKind, Recipient};
use crate::project::ProjectId;
use crate::token::TokenScope;

/// Somebody who has shown who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Principal {
    /// The person, at the home's own socket.
    Operator,
    /// The person, in a browser that was let in.
    Browser { session: SessionId },
    /// A script, with a token that the person made.
    Token { id: TokenId, scope: TokenScope },
    /// An agent in one of its lives, known by its run's token and by its descent.
    Agent { agent: AgentId, run: RunId, project: ProjectId },
    /// Anybody else.
    Nobody,
}

/// What a route asks of whoever calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Nothing: it tells no secret and changes nothing, or has a lock of its own.
    Nothing,
    /// To see what there is.
    Read,
    /// To speak to agents.
    Send,
    /// To change what there is.
    Operate,
    /// To be the person: what lets others in is not for scripts.
    Person,
}

/// Why somebody may not do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// Nobody in particular: they should say who they are.
    #[error("this needs somebody known")]
    Unknown,
    /// Somebody known, who may not.
    #[error("this is not allowed to whoever asked")]
    Insufficient,
}

impl Need {
    /// Every need there is, the least first.
    pub const ALL: [Need; 5] = [Need::Nothing, Need::Read, Need::Send, Need::Operate, Need::Person];

    /// Returns its name, as clients see it.
    pub fn name(self) -> &'static str {
        match self {
            Need::Nothing => "nothing",
            Need::Read => "read",
            Need::Send => "send",
            Need::Operate => "operate",
            Need::Person => "person",
        }
    }
}

impl Principal {
    /// Returns whether this one may do what needs `need`, or why not.
    pub fn may(&self, need: Need) -> Result<(), Denial> {
        let has = match self {
            Principal::Operator | Principal::Browser { .. } => Need::Person,
            Principal::Token { scope: TokenScope::Operate, .. } => Need::Operate,
            Principal::Token { scope: TokenScope::Send, .. } | Principal::Agent { .. } => {
                Need::Send
            }
            Principal::Token { scope: TokenScope::Read, .. } => Need::Read,
            Principal::Nobody => Need::Nothing,
        };
        match self {
            _ if need <= has => Ok(()),
            Principal::Nobody => Err(Denial::Unknown),
            Principal::Operator
            | Principal::Browser { .. }
            | Principal::Token { .. }
            | Principal::Agent { .. } => Err(Denial::Insufficient),
        }
    }

    /// Returns whether this one may launch agents in `project`, or why not: whoever may change what there
    /// is, and an agent where it lives itself.
    pub fn may_spawn_in(&self, project: &ProjectId) -> Result<(), Denial> {
        match self {
            Principal::Agent { project: own, .. } if own == project => Ok(()),
            Principal::Agent { .. } => Err(Denial::Insufficient),
            Principal::Operator
            | Principal::Browser { .. }
            | Principal::Token { .. }
            | Principal::Nobody => self.may(Need::Operate),
        }
    }

    /// Returns whether this one may tend an agent, or why not: end it and bring it back, forget it, see its
    /// terminal. Whoever may change what there is may, and of agents those `above` it alone: who launched
    /// it, who launched them, and so on.
    pub fn may_tend(&self, above: &[AgentId]) -> Result<(), Denial> {
        match self {
            Principal::Agent { agent, .. } if above.contains(agent) => Ok(()),
            Principal::Agent { .. } => Err(Denial::Insufficient),
            Principal::Operator
            | Principal::Browser { .. }
            | Principal::Token { .. }
            | Principal::Nobody => self.may(Need::Operate),
        }
    }

    /// Returns whether this one may write to agents of `project`, or why not: an agent only where it lives
    /// itself, unless the person lets agents write `across` projects.
    pub fn may_write_in(&self, project: &ProjectId, across: bool) -> Result<(), Denial> {
        match self.confined_to() {
            Some(own) if own != project && !across => Err(Denial::Insufficient),
            Some(_) | None => self.may(Need::Send),
        }
    }

    /// Returns whether this one may write to agents that run what they are told as a command, or why not:
    /// whoever may launch them. It is more than to speak.
    pub fn may_command(&self) -> Result<(), Denial> {
        self.may(Need::Operate)
    }

    /// Returns whether this one may say what is of this `kind`, or why not: nobody speaks for the person
    /// but the person, and nobody for cmux.
    pub fn may_say(&self, kind: MessageKind) -> Result<(), Denial> {
        match kind {
            MessageKind::System => Err(Denial::Insufficient),
            MessageKind::User => self.may(Need::Person),
            MessageKind::Task
            | MessageKind::Status
            | MessageKind::Response
            | MessageKind::Question
            | MessageKind::Error => self.may(Need::Send),
        }
    }

    /// Returns the kind of what this one says, if nothing is said of that.
    pub fn usually_says(&self, is_answer: bool) -> MessageKind {
        match self {
            _ if is_answer => MessageKind::Response,
            Principal::Operator | Principal::Browser { .. } => MessageKind::User,
            Principal::Token { .. } | Principal::Agent { .. } | Principal::Nobody => {
                MessageKind::Status
            }
        }
    }

    /// Returns whether this one may know of a message between these: an agent of its own mail only.
    pub fn may_see_mail(&self, from: &Actor, to: &Recipient) -> Result<(), Denial> {
        match self.only_mail_of() {
            Some(agent) if *from != Actor::Agent(agent) && to.agent() != Some(agent) => {
                Err(Denial::Insufficient)
            }
            Some(_) | None => self.may(Need::Read),
        }
    }

    /// Returns the agent whose mail is the only mail that this one may know of, if there is only one.
    pub fn only_mail_of(&self) -> Option<AgentId> {
        match self {
            Principal::Agent { agent, .. } => Some(*agent),
            Principal::Operator
            | Principal::Browser { .. }
            | Principal::Token { .. }
            | Principal::Nobody => None,
        }
    }

    /// Returns whether this one may know how cmux itself does, or why not: it is nothing to agents.
    pub fn may_watch(&self) -> Result<(), Denial> {
        match self {
            Principal::Agent { .. } => Err(Denial::Insufficient),
            Principal::Operator
            | Principal::Browser { .. }
            | Principal::Token { .. }
            | Principal::Nobody => self.may(Need::Read),
        }
    }

    /// Returns whether this one may take back a message of this sender's, or have it sent again: whoever may
    /// change what there is, and everybody what they sent themselves.
    pub fn may_change_mail(&self, from: &Actor) -> Result<(), Denial> {
        let is_own = match self {
            Principal::Agent { agent, .. } => *from == Actor::Agent(*agent),
            Principal::Token { id, .. } => *from == Actor::Token(*id),
            Principal::Operator | Principal::Browser { .. } | Principal::Nobody => false,
        };
        self.may(if is_own { Need::Send } else { Need::Operate })
    }

    /// Returns whether this one would lose by being seen from below an agent's launcher, so that it matters
    /// who it really is.
    pub fn is_powerful(&self) -> bool {
        match self {
            Principal::Operator | Principal::Browser { .. } => true,
            Principal::Token { scope, .. } => *scope > TokenScope::Send,
            Principal::Agent { .. } | Principal::Nobody => false,
        }
    }

    /// Returns the same one as seen from below an agent's launcher: an agent that found a token of the
    /// person's is still an agent. It can speak with it, and change nothing.
    #[must_use]
    pub fn below_an_agent(self) -> Principal {
        match self {
            Principal::Operator | Principal::Browser { .. } => Principal::Nobody,
            Principal::Token { id, scope } => {
                Principal::Token { id, scope: scope.min(TokenScope::Send) }
            }
            Principal::Agent { .. } | Principal::Nobody => self,
        }
    }

    /// Returns the only project that this one may know of, if there is only one.
    pub fn confined_to(&self) -> Option<&ProjectId> {
        match self {
            Principal::Agent { project, .. } => Some(project),
            Principal::Operator
            | Principal::Browser { .. }
            | Principal::Token { .. }
            | Principal::Nobody => None,
        }
    }

    /// Returns what this one is, in a word.
    pub fn name(&self) -> &'static str {
        match self {
            Principal::Operator => "operator",
            Principal::Browser { .. } => "browser",
            Principal::Token { .. } => "token",
            Principal::Agent { .. } => "agent",
            Principal::Nobody => "nobody",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ulid::Ulid;

    #[test]
    fn each_may_do_what_its_place_allows_and_no_more() {
        use Denial::{Insufficient, Unknown};
        check(&Principal::Operator, Need::Person, None);
        check(
            &Principal::Browser { session: SessionId::new(Ulid::from(1_u128)) },
            Need::Person,
            None,
        );
        check(&token(TokenScope::Operate), Need::Operate, Some(Insufficient));
        check(&token(TokenScope::Send), Need::Send, Some(Insufficient));
        check(&token(TokenScope::Read), Need::Read, Some(Insufficient));
        check(&agent(), Need::Send, Some(Insufficient));
        check(&Principal::Nobody, Need::Nothing, Some(Unknown));
    }

    #[test]
    fn a_token_in_an_agents_hands_changes_nothing() {
        assert_eq!(token(TokenScope::Operate).below_an_agent(), token(TokenScope::Send));
        assert_eq!(token(TokenScope::Read).below_an_agent(), token(TokenScope::Read));
        assert_eq!(Principal::Operator.below_an_agent(), Principal::Nobody);
        assert_eq!(agent().below_an_agent(), agent());
    }

    #[test]
    fn the_powerful_are_those_who_would_lose_by_being_an_agent() {
        let browser = Principal::Browser { session: SessionId::new(Ulid::from(1_u128)) };
        let tokens = [TokenScope::Read, TokenScope::Send, TokenScope::Operate].map(token);
        for who in [Principal::Operator, browser, agent(), Principal::Nobody].iter().chain(&tokens)
        {
            let is_less = who.clone().below_an_agent() != *who;
            assert_eq!(who.is_powerful(), is_less, "{who:?}");
        }
    }

    #[test]
    fn only_an_agent_is_confined() {
        assert_eq!(agent().confined_to(), Some(&ProjectId::of("/a")));
        assert_eq!(Principal::Operator.confined_to(), None);
        assert_eq!(token(TokenScope::Read).confined_to(), None);
    }

    #[test]
    fn an_agent_launches_others_where_it_lives_and_speaking_is_not_enough_elsewhere() {
        use Denial::{Insufficient, Unknown};
        let (own, other) = (ProjectId::of("/a"), ProjectId::of("/b"));
        for (who, project, expected) in [
            (agent(), &own, None),
            (agent(), &other, Some(Insufficient)),
            (Principal::Operator, &other, None),
            (token(TokenScope::Operate), &other, None),
            (token(TokenScope::Send), &own, Some(Insufficient)),
            (token(TokenScope::Operate).below_an_agent(), &own, Some(Insufficient)),
            (Principal::Nobody, &own, Some(Unknown)),
        ] {
            assert_eq!(who.may_spawn_in(project).err(), expected, "{who:?} {project}");
        }
    }

    #[test]
    fn an_agent_tends_those_below_it_and_nobody_elses() {
        use Denial::{Insufficient, Unknown};
        let [me, other, third] = [1_u128, 8, 9].map(|it| AgentId::new(Ulid::from(it)));
        for (who, above, expected) in [
            (agent(), &[me][..], None),
            (agent(), &[other, me], None),
            (agent(), &[other, third, me], None),
            // A sibling, somebody's child, and whoever nobody launched, as its own parent may be.
            (agent(), &[other], Some(Insufficient)),
            (agent(), &[other, third], Some(Insufficient)),
            (agent(), &[], Some(Insufficient)),
            (Principal::Operator, &[], None),
            (token(TokenScope::Operate), &[other], None),
            (token(TokenScope::Send), &[other], Some(Insufficient)),
            (token(TokenScope::Operate).below_an_agent(), &[me], Some(Insufficient)),
            (Principal::Nobody, &[me], Some(Unknown)),
        ] {
            assert_eq!(who.may_tend(above).err(), expected, "{who:?} {above:?}");
        }
    }

    #[test]
    fn nobody_speaks_for_the_person_or_for_cmux() {
        for kind in MessageKind::ALL {
            let is_open = !matches!(kind, MessageKind::User | MessageKind::System);
            assert_eq!(agent().may_say(kind).is_ok(), is_open, "{kind:?}");
            assert_eq!(token(TokenScope::Operate).may_say(kind).is_ok(), is_open, "{kind:?}");
            let is_persons = kind != MessageKind::System;
            assert_eq!(Principal::Operator.may_say(kind).is_ok(), is_persons, "{kind:?}");
            assert!(token(TokenScope::Read).may_say(kind).is_err(), "{kind:?}");
        }
        for (who, alone) in [
            (Principal::Operator, MessageKind::User),
            (agent(), MessageKind::Status),
            (token(TokenScope::Send), MessageKind::Status),
        ] {
            assert_eq!(who.usually_says(false), alone, "{who:?}");
            assert_eq!(who.usually_says(true), MessageKind::Response, "{who:?}");
        }
    }

    #[test]
    fn an_agent_writes_where_it_lives_unless_the_person_lets_it_write_elsewhere() {
        let (own, other) = (ProjectId::of("/a"), ProjectId::of("/b"));
        for (who, project, across, expected) in [
            (agent(), &own, false, true),
            (agent(), &other, false, false),
            (agent(), &other, true, true),
            (Principal::Operator, &other, false, true),
            (token(TokenScope::Send), &other, false, true),
            (token(TokenScope::Read), &other, true, false),
        ] {
            let may = who.may_write_in(project, across).is_ok();
            assert_eq!(may, expected, "{who:?} {project} {across}");
        }
    }

    #[test]
    fn to_speak_is_not_enough_to_have_commands_run() {
        let browser = Principal::Browser { session: SessionId::new(Ulid::from(1_u128)) };
        for (who, expected) in [
            (Principal::Operator, true),
            (browser, true),
            (token(TokenScope::Operate), true),
            (token(TokenScope::Operate).below_an_agent(), false),
            (token(TokenScope::Send), false),
            (agent(), false),
            (Principal::Nobody, false),
        ] {
            assert_eq!(who.may_command().is_ok(), expected, "{who:?}");
        }
    }

    #[test]
    fn an_agent_sees_its_own_mail_and_changes_what_it_sent() {
        let [me, other] = [1_u128, 8].map(|it| AgentId::new(Ulid::from(it)));
        let to = |id| Recipient::Agent { id, name: "a".to_owned() };
        for (from, to, sees, changes) in [
            (Actor::Agent(me), to(other), true, true),
            (Actor::Agent(me), Recipient::User, true, true),
            (Actor::Agent(other), to(me), true, false),
            (Actor::Operator, to(me), true, false),
            (Actor::Operator, to(other), false, false),
            (Actor::Agent(other), Recipient::User, false, false),
        ] {
            let found = (agent().may_see_mail(&from, &to), agent().may_change_mail(&from));
            assert_eq!((found.0.is_ok(), found.1.is_ok()), (sees, changes), "{from:?} {to:?}");
            assert_eq!(Principal::Operator.may_see_mail(&from, &to), Ok(()));
            assert_eq!(Principal::Operator.may_change_mail(&from), Ok(()));
            assert_eq!(token(TokenScope::Read).may_see_mail(&from, &to), Ok(()));
            assert!(token(TokenScope::Send).may_change_mail(&from).is_err());
        }
        let own = Actor::Token(TokenId::new(Ulid::from(1_u128)));
        assert_eq!(token(TokenScope::Send).may_change_mail(&own), Ok(()));
    }

    /// Checks that `who` may do everything up to `most`, and is told `beyond` for the rest.
    #[track_caller]
    fn check(who: &Principal, most: Need, beyond: Option<Denial>) {
        for need in Need::ALL {
            let expected = if need <= most { None } else { beyond };
            assert_eq!(who.may(need).err(), expected, "{who:?} {need:?}");
        }
    }

    fn token(scope: TokenScope) -> Principal {
        Principal::Token { id: TokenId::new(Ulid::from(1_u128)), scope }
    }

    fn agent() -> Principal {
        Principal::Agent {
            agent: AgentId::new(Ulid::from(1_u128)),
            run: RunId::new(Ulid::from(2_u128)),
            project: ProjectId::of("/a"),
        }
    }
}
