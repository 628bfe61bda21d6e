//! Who is at the doors, by descent: the person, somebody below an agent, or a stranger.
//!
//! What a process says of itself proves nothing, but whose child it is does. Every agent is started by
//! a launcher that adopts the orphans below it, so nothing that an agent starts gets out of its line
//! while the launcher lives: an agent that kills its launcher leaves orphans that go to the first process
//! of all, as the person's do.

use crate::id::RunId;

/// A process in a line of descent: the one that asks, its parent, and so on up to the first of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forebear {
    /// Nought stands for whoever is above the first process that can be seen.
    pub pid: u32,
    pub uid: u32,
    /// The run that its environment names.
    pub run: Option<RunId>,
    /// Whether it is a tmux server in which cmux keeps agents.
    pub serves_agents: bool,
}

/// Why a line of descent could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Its number may be anybody's by now.
    #[error("it has ended")]
    Ended,
    #[error("its parents came and went while they were looked at")]
    Restless,
    #[error(
        "process {pid}, which it comes from, may not be looked at (is /proc mounted with hidepid?)"
    )]
    Hidden { pid: u32 },
    #[error("it has more forebears than are looked at")]
    TooLong,
    #[error(
        "the environment of process {pid}, which it comes from, is larger than is looked at: start \
         anew from a shell with a smaller one"
    )]
    TooMuch { pid: u32 },
    #[error("the processes that it comes from could not be looked at in time: try again")]
    Late,
}

/// Whom the daemon has before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The person whose daemon it is, or what the person started.
    Person,
    /// An agent, or what an agent started: never the person. The run is unknown for what lives in a
    /// tmux server of cmux's without having been launched as an agent.
    Below { run: Option<RunId> },
    /// Nobody that can be trusted with anything.
    Stranger(StrangerWhy),
}

/// Why somebody is a stranger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrangerWhy {
    #[error(
        "the process that asks is of another user ({uid}), and the daemon serves {served} alone"
    )]
    OtherUser { uid: u32, served: u32 },
    #[error("it cannot be told whose the process that asks is: {0}")]
    Unreadable(Unreadable),
    #[error("it cannot be told whose the process that asks is: its line breaks off before its end")]
    BrokenOff,
}

/// Who holds the other end of a connection at the port, as far as can be seen from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// These processes hold it.
    Found(Vec<Standing>),
    /// It is of the daemon's user, and nobody is seen to hold it. One of these may: who may not be looked
    /// into, as what comes in by ssh or in a browser's sandbox, or who keeps files out of sight, as in a
    /// message that it has yet to take.
    Hidden { suspects: Vec<Standing> },
    /// Somebody on this machine held it, and let go before it could be told who.
    Gone,
    /// Another user, or another machine.
    Elsewhere,
}

/// Why what somebody shows counts for no more than it would in an agent's hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    #[error("a process that an agent started is never taken for the person, whatever it shows")]
    Agent,
    #[error("{0}. It may be an agent's, whatever it shows")]
    Stranger(StrangerWhy),
    #[error(
        "it cannot be told which process holds the connection, so it may be an agent's, whatever it \
         shows: use the `cmux` command, or a program that does not hide"
    )]
    Hidden,
    #[error(
        "it cannot be told which process held the connection, so it may have been an agent's, whatever \
         it showed: wait for the answer before closing"
    )]
    Gone,
}

impl Standing {
    /// Returns why this is not taken for the person. Only who is proven to be the person is.
    pub fn doubt(self) -> Option<Doubt> {
        match self {
            Standing::Person => None,
            Standing::Below { .. } => Some(Doubt::Agent),
            Standing::Stranger(why) => Some(Doubt::Stranger(why)),
        }
    }
}

impl Holder {
    /// Returns why what is shown over the connection may be in an agent's hands.
    ///
    /// A connection that several processes hold is the least of theirs. One that nobody seems to hold is
    /// an agent's unless somebody else may have it, and none of those is an agent. What is elsewhere
    /// comes from no agent of this user's, and has only what it shows.
    pub fn doubt(&self) -> Option<Doubt> {
        match self {
            Holder::Found(holders) if holders.is_empty() => Some(Doubt::Gone),
            Holder::Found(holders) => holders.iter().find_map(|it| it.doubt()),
            Holder::Hidden { suspects } if suspects.is_empty() => Some(Doubt::Hidden),
            Holder::Hidden { suspects } => {
                suspects.iter().any(|it| it.doubt().is_some()).then_some(Doubt::Hidden)
            }
            Holder::Gone => Some(Doubt::Gone),
            Holder::Elsewhere => None,
        }
    }
}

/// Returns whom the daemon, which runs as `me_uid`, has before it: a process of `peer_uid` that comes
/// from this `line`, youngest first, itself at the head.
///
/// Another user is a stranger, and root is another user: whoever is root may become the person first.
/// What cannot be read to its end may hide an agent, so it is a stranger too.
pub fn judge(me_uid: u32, peer_uid: u32, line: Result<&[Forebear], Unreadable>) -> Standing {
    if peer_uid != me_uid {
        let why = StrangerWhy::OtherUser { uid: peer_uid, served: me_uid };
        return Standing::Stranger(why);
    }
    let line = match line {
        Ok(line) => line,
        Err(why) => return Standing::Stranger(StrangerWhy::Unreadable(why)),
    };
    if line.last().is_none_or(|oldest| oldest.pid > 1) {
        return Standing::Stranger(StrangerWhy::BrokenOff);
    }
    if line.iter().any(|it| it.run.is_some() || it.serves_agents) {
        return Standing::Below { run: launched_as(line) };
    }
    Standing::Person
}

/// Returns the run that the launcher in the `line` was given.
///
/// Whatever is below the launcher may give itself the environment it likes, another agent's run
/// included; what is above it, an agent cannot change. So the oldest that names a run is believed.
/// A server's own environment is that of whoever happened to need it first, and says nothing.
fn launched_as(line: &[Forebear]) -> Option<RunId> {
    line.iter().rev().filter(|it| !it.serves_agents).find_map(|it| it.run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ulid::Ulid;

    const ME: u32 = 1000;
    const INIT: Forebear = Forebear { pid: 1, uid: 0, run: None, serves_agents: false };
    const OUTSIDE: Forebear = Forebear { pid: 0, ..INIT };
    const SSHD: Forebear = Forebear { pid: 80, ..INIT };
    const SHELL: Forebear = Forebear { pid: 90, uid: ME, run: None, serves_agents: false };
    const SERVER: Forebear = Forebear { pid: 100, serves_agents: true, ..SHELL };
    const AGENT: Standing = Standing::Below { run: None };
    const UNKNOWN: Standing = Standing::Stranger(StrangerWhy::BrokenOff);

    #[test]
    fn whoever_comes_from_no_agent_is_the_person() {
        check(&[SHELL, INIT], Standing::Person);
        check(&[SHELL, SHELL, SSHD, INIT], Standing::Person);
        // A shell that was brought into a container from without, as `docker exec` does.
        check(&[SHELL, SHELL, OUTSIDE], Standing::Person);
        // The program of a container that has but one.
        check(&[Forebear { pid: 1, ..SHELL }], Standing::Person);
    }

    #[test]
    fn a_run_anywhere_in_the_line_is_an_agents() {
        let below = Standing::Below { run: Some(run(7)) };
        check(&[named(7), SHELL, INIT], below);
        check(&[SHELL, named(7), SHELL, INIT], below);
        check(&[SHELL, SHELL, named(7), SERVER, INIT], below);
        check(&[SHELL, Forebear { pid: 1, ..named(7) }], below);
        check(&[SHELL, named(7), OUTSIDE], below);
    }

    #[test]
    fn whoever_lives_in_a_server_of_cmuxs_is_not_the_person() {
        check(&[SHELL, SERVER, INIT], Standing::Below { run: None });
        check(&[SERVER, INIT], Standing::Below { run: None });
    }

    #[test]
    fn the_launchers_word_counts_and_not_what_is_said_below_it() {
        let below = Standing::Below { run: Some(run(7)) };
        check(&[named(8), named(7), SERVER, INIT], below);
        check(&[named(8), SHELL, named(9), named(7), INIT], below);
        // A server of the agent's own making, with another agent's run in it.
        check(&[named(8), SERVER, named(7), SERVER, INIT], below);
    }

    #[test]
    fn a_servers_own_environment_names_nobody() {
        let server = Forebear { run: Some(run(9)), ..SERVER };
        check(&[SHELL, named(7), server, INIT], Standing::Below { run: Some(run(7)) });
        check(&[SHELL, server, INIT], Standing::Below { run: None });
    }

    #[test]
    fn another_user_is_a_stranger_whatever_the_line() {
        for (me, uid) in [(ME, 1001), (ME, 0), (0, ME), (ME, u32::MAX)] {
            let why = StrangerWhy::OtherUser { uid, served: me };
            for line in [Ok(&[SHELL, INIT][..]), Ok(&[named(7), INIT]), Err(Unreadable::Ended)] {
                assert_eq!(judge(me, uid, line), Standing::Stranger(why), "{me} {uid}");
            }
        }
        assert_eq!(judge(0, 0, Ok(&[INIT])), Standing::Person);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_a_strangers() {
        let hidden = Unreadable::Hidden { pid: 80 };
        let vast = Unreadable::TooMuch { pid: 80 };
        for why in [
            Unreadable::Ended,
            Unreadable::Restless,
            hidden,
            Unreadable::TooLong,
            vast,
            Unreadable::Late,
        ] {
            let stranger = Standing::Stranger(StrangerWhy::Unreadable(why));
            assert_eq!(judge(ME, ME, Err(why)), stranger);
        }
    }

    #[test]
    fn a_line_that_breaks_off_is_a_strangers_even_below_an_agent() {
        let stranger = Standing::Stranger(StrangerWhy::BrokenOff);
        check(&[], stranger);
        check(&[SHELL], stranger);
        check(&[SHELL, SHELL, SSHD], stranger);
        check(&[named(7), SERVER], stranger);
    }

    #[test]
    fn a_refusal_says_why() {
        for (why, told) in [
            (StrangerWhy::OtherUser { uid: 0, served: ME }, "of another user (0)"),
            (StrangerWhy::Unreadable(Unreadable::Hidden { pid: 80 }), "process 80"),
            (StrangerWhy::Unreadable(Unreadable::Ended), "it has ended"),
            (StrangerWhy::Unreadable(Unreadable::TooMuch { pid: 80 }), "environment of process 80"),
            (StrangerWhy::BrokenOff, "breaks off"),
        ] {
            assert!(why.to_string().contains(told), "{why}");
        }
    }

    #[test]
    fn only_who_is_proven_to_be_the_person_is_not_doubted() {
        let stranger = StrangerWhy::Unreadable(Unreadable::TooLong);
        for (standing, expected) in [
            (Standing::Person, None),
            (AGENT, Some(Doubt::Agent)),
            (Standing::Below { run: Some(run(7)) }, Some(Doubt::Agent)),
            (Standing::Stranger(stranger), Some(Doubt::Stranger(stranger))),
            (UNKNOWN, Some(Doubt::Stranger(StrangerWhy::BrokenOff))),
        ] {
            assert_eq!(standing.doubt(), expected, "{standing:?}");
        }
    }

    #[test]
    fn whoever_may_be_an_agent_at_the_port_counts_as_one() {
        let found = |all: &[Standing]| Holder::Found(all.to_vec());
        let hidden = |all: &[Standing]| Holder::Hidden { suspects: all.to_vec() };
        let unknown = UNKNOWN.doubt();
        for (holder, expected) in [
            (found(&[Standing::Person]), None),
            (found(&[Standing::Person, Standing::Person]), None),
            (found(&[AGENT]), Some(Doubt::Agent)),
            (found(&[UNKNOWN]), unknown),
            // It was handed to somebody, and kept.
            (found(&[Standing::Person, AGENT]), Some(Doubt::Agent)),
            (found(&[Standing::Person, UNKNOWN]), unknown),
            (found(&[]), Some(Doubt::Gone)),
            // Nobody has it, so that it was put away.
            (hidden(&[]), Some(Doubt::Hidden)),
            (hidden(&[Standing::Person]), None),
            (hidden(&[Standing::Person, AGENT]), Some(Doubt::Hidden)),
            (hidden(&[UNKNOWN, Standing::Person]), Some(Doubt::Hidden)),
            (Holder::Gone, Some(Doubt::Gone)),
            (Holder::Elsewhere, None),
        ] {
            assert_eq!(holder.doubt(), expected, "{holder:?}");
        }
    }

    /// Checks whom the person's daemon sees in a process of the person's user with this line.
    #[track_caller]
    fn check(line: &[Forebear], expected: Standing) {
        assert_eq!(judge(ME, ME, Ok(line)), expected, "{line:?}");
    }

    fn named(number: u128) -> Forebear {
        Forebear { run: Some(run(number)), ..SHELL }
    }

    fn run(number: u128) -> RunId {
        RunId::new(Ulid::from(number))
    }
}
