//! Kinds of agents: each is a CLI with a name, which can do some things and cannot do others.

use std::fmt;
use std::str::FromStr;

/// The longest name of a kind, in bytes.
const NAME_MAX: usize = 32;

/// The name of a kind of agent, such as `claude`. It stays the same whatever its CLI is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(String);

/// Why a text is not the name of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a kind is named by 1 to {NAME_MAX} of a-z, 0-9 and -, with a letter first")]
pub struct BadKind;

impl Kind {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Kind {
    type Err = BadKind;

    fn from_str(text: &str) -> Result<Kind, BadKind> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_name = text.len() <= NAME_MAX && text.chars().all(allowed);
        let begins_well = text.starts_with(|c: char| c.is_ascii_lowercase());
        if is_name && begins_well { Ok(Kind(text.to_owned())) } else { Err(BadKind) }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What a CLI may be able to do, besides taking a prompt and answering it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ability {
    /// Go on with a session that it had before.
    Resume,
    /// Stop in the middle of a turn and take another prompt.
    Interrupt,
    /// Begin a new conversation without a new process.
    Clear,
    /// Make its conversation shorter when it is asked to.
    Compact,
    /// End when it is asked to.
    Exit,
    /// Tell of what it does as it does it.
    Hooks,
    /// Have a prompt refused by a hook before the model sees it, so that a second copy does no harm.
    Block,
    /// Keep a record of the conversation that can be read.
    Transcript,
    /// Say how it is in a file or a stream of its own.
    Status,
    /// Say how it is in the terminal's title.
    Title,
    /// Take a message without a key being pressed.
    Api,
    /// Tell how many tokens it used.
    Usage,
}

impl Ability {
    pub const ALL: [Ability; 12] = [
        Ability::Resume,
        Ability::Interrupt,
        Ability::Clear,
        Ability::Compact,
        Ability::Exit,
        Ability::Hooks,
        Ability::Block,
        Ability::Transcript,
        Ability::Status,
        Ability::Title,
        Ability::Api,
        Ability::Usage,
    ];

    /// Returns what it is called in manifests and by the API.
    pub fn name(self) -> &'static str {
        match self {
            Ability::Resume => "resume",
            Ability::Interrupt => "interrupt",
            Ability::Clear => "clear",
            Ability::Compact => "compact",
            Ability::Exit => "exit",
            Ability::Hooks => "hooks",
            Ability::Block => "block",
            Ability::Transcript => "transcript",
            Ability::Status => "status",
            Ability::Title => "title",
            Ability::Api => "api",
            Ability::Usage => "usage",
        }
    }
}

/// What can tell how an agent is. A manifest ranks them: one decides, the others correct it when it is
/// stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Witness {
    /// What the CLI says of itself in a file or a stream.
    Status,
    Hooks,
    Transcript,
    /// The terminal's title.
    Title,
    Screen,
}

impl Witness {
    pub const ALL: [Witness; 5] =
        [Witness::Status, Witness::Hooks, Witness::Transcript, Witness::Title, Witness::Screen];

    pub fn name(self) -> &'static str {
        match self {
            Witness::Status => "status",
            Witness::Hooks => "hooks",
            Witness::Transcript => "transcript",
            Witness::Title => "title",
            Witness::Screen => "screen",
        }
    }

    /// Returns what a CLI must be able to do for this to be a witness. Everything has a screen.
    pub fn ability(self) -> Option<Ability> {
        match self {
            Witness::Status => Some(Ability::Status),
            Witness::Hooks => Some(Ability::Hooks),
            Witness::Transcript => Some(Ability::Transcript),
            Witness::Title => Some(Ability::Title),
            Witness::Screen => None,
        }
    }
}

/// What an agent may do without asking. The `cmux` command itself it may always use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permissions {
    /// Nothing that its CLI would ask about.
    Ask,
    /// Change files of its project.
    #[default]
    Edits,
    /// Everything.
    All,
}

impl Permissions {
    pub const ALL: [Permissions; 3] = [Permissions::Ask, Permissions::Edits, Permissions::All];

    pub fn name(self) -> &'static str {
        match self {
            Permissions::Ask => "ask",
            Permissions::Edits => "edits",
            Permissions::All => "all",
        }
    }
}

/// How a message gets to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// It is pasted at its prompt, and submitted.
    Paste,
    /// Its CLI takes it whole, past its screen.
    Api,
}

impl Channel {
    pub const ALL: [Channel; 2] = [Channel::Paste, Channel::Api];

    pub fn name(self) -> &'static str {
        match self {
            Channel::Paste => "paste",
            Channel::Api => "api",
        }
    }
}

/// What is done with a message that was given to an agent, and of which nothing shows that it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unconfirmed {
    /// It is given again, at the risk of being read twice.
    #[default]
    Again,
    /// It is left, at the risk of not being read, and its sender is told.
    Leave,
}

impl Unconfirmed {
    pub const ALL: [Unconfirmed; 2] = [Unconfirmed::Again, Unconfirmed::Leave];

    pub fn name(self) -> &'static str {
        match self {
            Unconfirmed::Again => "again",
            Unconfirmed::Leave => "leave",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_named_by_small_letters_digits_and_dashes() {
        for (text, is_name) in [
            ("claude", true),
            ("my-cli2", true),
            (&"a".repeat(32), true),
            (&"a".repeat(33), false),
            ("", false),
            ("2fast", false),
            ("-x", false),
            ("Claude", false),
            ("a b", false),
            ("a/b", false),
            ("ä", false),
        ] {
            let read = text.parse::<Kind>();
            assert_eq!(read.is_ok(), is_name, "{text}");
            if let Ok(kind) = read {
                assert_eq!(kind.to_string(), text);
            }
        }
    }

    #[test]
    fn every_ability_has_a_name_of_its_own() {
        let mut names: Vec<_> = Ability::ALL.iter().map(|it| it.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Ability::ALL.len());
    }
}
