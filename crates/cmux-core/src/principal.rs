//! Who is speaking, and what that allows. Every route needs one of [`Need`], and this is the one place
//! that says who has it.

use crate::id::{AgentId, RunId, SessionId, TokenId};
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
