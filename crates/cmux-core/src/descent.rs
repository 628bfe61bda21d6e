//! Who is at the socket, by descent: the person, somebody below an agent, or a stranger.
//!
//! What a process says of itself proves nothing, but whose child it is does. Every agent is started by
//! a launcher that adopts the orphans below it, so nothing that an agent starts gets out of its line.

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
        for why in [Unreadable::Ended, Unreadable::Restless, hidden, Unreadable::TooLong] {
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
            (StrangerWhy::BrokenOff, "breaks off"),
        ] {
            assert!(why.to_string().contains(told), "{why}");
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
