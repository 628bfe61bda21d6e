//! Identifiers: one type per noun, so that no id can be passed where another is meant.

use std::fmt;
use std::str::FromStr;

use ulid::Ulid;

/// Declares an id: a ULID, written with a prefix that names its noun.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Ulid);

        impl $name {
            /// Names a new thing.
            pub const fn new(ulid: Ulid) -> Self {
                Self(ulid)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                text.strip_prefix(concat!($prefix, "_"))
                    .and_then(|ulid| Ulid::from_string(ulid).ok())
                    .map(Self)
                    .ok_or_else(|| BadId { expected: $prefix, found: text.to_owned() })
            }
        }
    };
}

id!(
    /// A log of events, from its first row until the store is restored or salvaged: then another
    /// begins, and cursors into this one no longer hold.
    LogId,
    "log"
);
id!(
    /// A copy of the store that was begun, whether or not it came to be.
    SnapshotId,
    "snp"
);
id!(
    /// An agent, for its whole life: a restart keeps it.
    AgentId,
    "agt"
);
id!(
    /// One life of an agent, from its launch to its end. It survives a restore as a number would not.
    RunId,
    "run"
);
id!(
    /// An API token, from its making on. It is kept when the token is revoked, as the log names it.
    TokenId,
    "tok"
);
id!(
    /// What a hook told once. Whoever calls it makes its id, so that it is known again however often it
    /// is handed over.
    HookId,
    "hk"
);
id!(
    /// One prompt's work, from the prompt until the agent has no more to do.
    TurnId,
    "trn"
);
id!(
    /// A message, from when it is accepted on.
    MessageId,
    "msg"
);
id!(
    /// What is typed in one go: one or more messages, its bytes fixed.
    DeliveryId,
    "dlv"
);
id!(
    /// A browser that was let in by a one-time link, until it is sent away.
    SessionId,
    "ses"
);

/// An event's place in its log. It only grows, and is never used twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub i64);

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Text that should have been an id.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not an id of the form `{expected}_…`")]
pub struct BadId {
    expected: &'static str,
    found: String,
}

/// Names new things, one after another. The kernel brings the clock and the dice.
pub trait NewIds {
    /// Returns a ULID that was never returned before.
    fn ulid(&mut self) -> Ulid;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_back_as_it_was_written() {
        let id = LogId::new(Ulid::from(7_u128));
        assert_eq!(id.to_string(), "log_00000000000000000000000007");
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn an_id_of_another_noun_is_refused() {
        let id = LogId::new(Ulid::from(7_u128)).to_string();
        assert!(id.parse::<SnapshotId>().is_err());
    }
}
