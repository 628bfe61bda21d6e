//! Sessions: browsers that were let in, by a link that works once or by a password.

use std::time::Duration;

use crate::digest::Digest;
use crate::id::SessionId;
use crate::time::Timestamp;

/// How long a link can be followed.
pub const LINK_TTL: Duration = Duration::from_mins(2);

/// How long a session lasts.
pub const SESSION_TTL: Duration = Duration::from_hours(24 * 30);

/// How long a session is remembered after it ended.
pub const SESSION_KEEP: Duration = Duration::from_hours(24 * 30);

/// A link that opens one session, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub secret: Digest,
    pub made_at: Timestamp,
    pub expires_at: Timestamp,
    /// The session that it opened, if it was followed.
    pub session: Option<SessionId>,
}

/// What comes of following a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// It opens this session, and is used up.
    Opened {
        link: Link,
        session: Session,
    },
    /// Whoever followed it before asks again: this is what they were given.
    Again {
        session: Session,
    },
    Expired,
    /// Somebody else has followed it already, so one of the two is not who it was made for. The session
    /// that it opened is over: this is what it is from now on, unless it was over before.
    Reused {
        session: SessionId,
        over: Option<Session>,
    },
}

impl Link {
    /// Returns a link as it is when it is made.
    pub fn new(secret: Digest, now: Timestamp) -> Link {
        Link { secret, made_at: now, expires_at: now + LINK_TTL, session: None }
    }

    /// Returns what comes of following the link at `now`, by somebody who drew `secret` for the session
    /// `id`. `opened` is the session that the link opened before, as far as it is remembered.
    pub fn follow(
        &self,
        opened: Option<&Session>,
        id: SessionId,
        secret: Digest,
        now: Timestamp,
    ) -> Followed {
        let Some(used_for) = self.session else {
            if self.expires_at <= now {
                return Followed::Expired;
            }
            let session = Session::new(id, secret, SessionHow::Link, now);
            return Followed::Opened { link: Link { session: Some(id), ..self.clone() }, session };
        };
        match opened {
            Some(opened) if opened.secret == secret => Followed::Again { session: opened.clone() },
            Some(opened) => {
                let over = opened.end(OverWhy::LinkReused, now);
                Followed::Reused { session: used_for, over }
            }
            None => Followed::Reused { session: used_for, over: None },
        }
    }
}

/// A browser that was let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    pub secret: Digest,
    pub how: SessionHow,
    pub opened_at: Timestamp,
    pub expires_at: Timestamp,
    pub over: Option<Over>,
}

/// How a browser was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionHow {
    Link,
    Password,
}

/// The end of a session before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Over {
    pub at: Timestamp,
    pub why: OverWhy,
}

/// Why a session ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverWhy {
    /// Whoever had it was done.
    Closed,
    /// The link that opened it was followed by somebody else.
    LinkReused,
    /// It was taken away from whoever had it.
    Revoked,
}

/// Whether a session lets anybody in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStanding {
    Good,
    Expired { at: Timestamp },
    Over(Over),
}

impl Session {
    /// Returns a session as it is when it is opened.
    pub fn new(id: SessionId, secret: Digest, how: SessionHow, now: Timestamp) -> Session {
        Session { id, secret, how, opened_at: now, expires_at: now + SESSION_TTL, over: None }
    }

    /// Returns whether the session lets anybody in at `now`.
    pub fn standing(&self, now: Timestamp) -> SessionStanding {
        match self.over {
            Some(over) => SessionStanding::Over(over),
            None if self.expires_at <= now => SessionStanding::Expired { at: self.expires_at },
            None => SessionStanding::Good,
        }
    }

    /// Returns the session as it is once it has ended, unless it had already.
    pub fn end(&self, why: OverWhy, now: Timestamp) -> Option<Session> {
        match self.standing(now) {
            SessionStanding::Good => {
                Some(Session { over: Some(Over { at: now, why }), ..self.clone() })
            }
            SessionStanding::Expired { .. } | SessionStanding::Over(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ulid::Ulid;

    const NOW: Timestamp = Timestamp(1_000);
    const SOON: Timestamp = Timestamp(60_000);
    const LINK_END: Timestamp = Timestamp(121_000);

    #[test]
    fn a_link_opens_one_session_and_is_used_up() {
        let Followed::Opened { link, session } = follow(&link(), None, "a", SOON) else {
            panic!("it was not opened");
        };
        assert_eq!(link.session, Some(session.id));
        assert_eq!((session.how, session.opened_at), (SessionHow::Link, SOON));
        assert_eq!(session.standing(SOON), SessionStanding::Good);
    }

    #[test]
    fn a_link_lasts_two_minutes() {
        let just_before = Timestamp(LINK_END.0 - 1);
        assert_ne!(follow(&link(), None, "a", just_before), Followed::Expired);
        assert_eq!(follow(&link(), None, "a", LINK_END), Followed::Expired);
    }

    #[test]
    fn a_link_that_was_stolen_is_found_out_however_late() {
        let (used, session) = opened();
        let followed = follow(&used, Some(&session), "b", LINK_END);
        assert!(matches!(followed, Followed::Reused { over: Some(_), .. }), "{followed:?}");
    }

    #[test]
    fn whoever_asks_again_is_given_the_same_session() {
        let (link, session) = opened();
        let again = follow(&link, Some(&session), "a", SOON);
        assert_eq!(again, Followed::Again { session });
    }

    #[test]
    fn a_link_that_somebody_else_follows_ends_the_session_that_it_opened() {
        let (link, session) = opened();
        let Followed::Reused { session: id, over: Some(over) } =
            follow(&link, Some(&session), "b", SOON)
        else {
            panic!("it was not found out");
        };
        assert_eq!(id, session.id);
        assert_eq!(over.over, Some(Over { at: SOON, why: OverWhy::LinkReused }));
        // And once more, there is nothing left to end.
        let again = follow(&link, Some(&over), "b", SOON);
        assert_eq!(again, Followed::Reused { session: id, over: None });
        let forgotten = follow(&link, None, "b", SOON);
        assert_eq!(forgotten, Followed::Reused { session: id, over: None });
    }

    #[test]
    fn a_session_is_good_until_it_expires_or_is_ended() {
        let closed = Over { at: NOW, why: OverWhy::Closed };
        let end = NOW + SESSION_TTL;
        for (over, now, expected) in [
            (None, NOW, SessionStanding::Good),
            (None, Timestamp(end.0 - 1), SessionStanding::Good),
            (None, end, SessionStanding::Expired { at: end }),
            (Some(closed), NOW, SessionStanding::Over(closed)),
            (Some(closed), end, SessionStanding::Over(closed)),
        ] {
            let session = Session { over, ..session("a") };
            assert_eq!(session.standing(now), expected, "{session:?} at {now:?}");
        }
    }

    proptest! {
        #[test]
        fn a_session_ends_once_and_never_comes_back(
            ends in prop::collection::vec((why(), 0..6_000_000_000_i64), 1..20),
        ) {
            let (mut session, mut now) = (session("a"), NOW);
            for (why, wait_ms) in ends {
                now = Timestamp(now.0 + wait_ms);
                let before = session.standing(now);
                let ended = session.end(why, now);
                prop_assert_eq!(ended.is_some(), before == SessionStanding::Good);
                session = ended.unwrap_or(session);
                prop_assert_ne!(session.standing(now), SessionStanding::Good);
            }
        }
    }

    fn why() -> impl Strategy<Value = OverWhy> {
        prop_oneof![Just(OverWhy::Closed), Just(OverWhy::LinkReused), Just(OverWhy::Revoked)]
    }

    fn follow(link: &Link, opened: Option<&Session>, who: &str, now: Timestamp) -> Followed {
        link.follow(opened, id(9), Digest::of(who.as_bytes()), now)
    }

    fn link() -> Link {
        Link::new(Digest::of(b"link"), NOW)
    }

    /// Returns a link that `a` has followed, and the session that it opened.
    fn opened() -> (Link, Session) {
        let session = session("a");
        (Link { session: Some(session.id), ..link() }, session)
    }

    fn session(who: &str) -> Session {
        Session::new(id(1), Digest::of(who.as_bytes()), SessionHow::Link, NOW)
    }

    fn id(n: u128) -> SessionId {
        SessionId::new(Ulid::from(n))
    }
}
