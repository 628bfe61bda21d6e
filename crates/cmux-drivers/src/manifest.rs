//! Manifests: everything about a CLI as data, so that another one is a file and not a change of cmux.

mod ability;
mod launch;
mod prices;
mod read;
mod screen;
mod template;

use std::collections::{BTreeMap, BTreeSet};

use cmux_core::kind::{Ability, Channel, Kind, Permissions, Witness};
pub use cmux_core::look::{Consent, Dialog, Reply};
use cmux_core::price::Prices;
use cmux_core::screen::Eyes;
use cmux_core::screen::pattern::Pattern;

pub use self::launch::{CannotStart, Start, Started, Told};
pub(crate) use self::prices::{RATES, price};
pub use self::read::parse;
pub use self::template::{BadTemplate, Place, Template, Unfilled};

/// The manifests that cmux comes with, by the names of their files.
pub(crate) const BUILT_IN: [(&str, &str); 8] = [
    ("agents/claude.toml", include_str!("../agents/claude.toml")),
    ("agents/codex.toml", include_str!("../agents/codex.toml")),
    ("agents/gemini.toml", include_str!("../agents/gemini.toml")),
    ("agents/opencode.toml", include_str!("../agents/opencode.toml")),
    ("agents/hermes.toml", include_str!("../agents/hermes.toml")),
    ("agents/agy.toml", include_str!("../agents/agy.toml")),
    ("agents/demo.toml", include_str!("../agents/demo.toml")),
    ("agents/shell.toml", include_str!("../agents/shell.toml")),
];

/// All that cmux knows of a CLI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub kind: Kind,
    /// What its makers call it.
    pub title: String,
    pub find: Find,
    pub launch: Launch,
    pub dialogs: Vec<Dialog>,
    /// How its screens are read; its dialogs are among the rules.
    pub eyes: Eyes,
    pub keys: Keys,
    pub hooks: Option<Hooks>,
    pub transcript: Option<Transcript>,
    pub status: Option<Status>,
    pub api: Option<Api>,
    pub usage: Option<Usage>,
    /// What the models cost that it may have.
    pub prices: Prices,
    /// How messages get to it, unless the user wants it otherwise.
    pub channel: Channel,
    /// Who tells how it is, in the order in which they are believed.
    pub witnesses: Vec<Witness>,
    pub can: BTreeSet<Ability>,
    /// What it cannot do, and why.
    pub cannot: BTreeMap<Ability, String>,
}

/// How it is found on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Find {
    /// What it is called on the path; nothing if cmux itself is it.
    pub program: Option<String>,
    /// What it is called with to tell its version.
    pub version: Option<String>,
    /// The version that its screens and hooks were recorded with.
    pub tested: Option<String>,
    /// What to do if it is not there.
    pub install: String,
}

/// How it is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Without the program itself.
    pub command: Vec<Template>,
    pub resume: Option<Vec<Template>>,
    pub session: SessionBy,
    /// What stands before the session's id on its first screen, if it tells of it nowhere else.
    pub session_after: Option<Pattern>,
    /// What is added to tell it what it is to do first. Without it, that is typed.
    pub prompt: Option<Vec<Template>>,
    /// What is added to tell it what it is to be; nothing at all if there is nobody to tell. Without it,
    /// that is said before what it is to do first.
    pub role: Option<Vec<Template>>,
    /// What is added so that it does without asking what the user allows, and no more. Not every CLI
    /// knows all of them.
    pub permissions: BTreeMap<Permissions, Added>,
    /// What is added if the person trusts the folder, so that it need not be asked about.
    pub trusted: Added,
    /// What is added if messages come by its API, so that it takes them.
    pub api: Added,
    pub env: BTreeMap<String, Template>,
    /// Variables that it must not inherit.
    pub unset: Vec<String>,
}

impl Manifest {
    /// Returns whether what its agents are told is run as a command, by whoever it was said. There is nobody
    /// to tell what they are to be.
    pub fn runs_what_it_is_told(&self) -> bool {
        self.launch.role.as_ref().is_some_and(Vec::is_empty)
    }
}

/// What a CLI is started with besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Added {
    pub args: Vec<Template>,
    pub env: BTreeMap<String, Template>,
}

/// Makes an enum whose variants are written by name.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $variant),+
        }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// Returns what it is called in manifests.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text),+
                }
            }
        }
    };
}

named!(
    /// Who makes the id of a session.
    SessionBy {
        /// cmux does, and starts the CLI with it.
        Ours = "ours",
        /// The CLI does, and it is heard of by its hooks or read from its files.
        Theirs = "theirs",
    }
);

named!(
    /// How a body is put into the composer.
    Paste {
        /// As one paste, which the CLI is told the ends of.
        Bracketed = "bracketed",
        /// The same, for a CLI that takes pastes before it says so.
        Wrapped = "wrapped",
        /// As if it were typed; a break of a line would submit it.
        Plain = "plain",
    }
);

named!(
    /// The hooks of which CLI it has.
    HookShape {
        Claude = "claude",
        Codex = "codex",
        Gemini = "gemini",
        Hermes = "hermes",
        Opencode = "opencode",
        Demo = "demo",
    }
);

named!(
    /// How its transcript is written.
    TranscriptShape {
        Claude = "claude",
        Codex = "codex",
        Gemini = "gemini",
        Demo = "demo",
    }
);

named!(
    /// How it tells what it used.
    UsageShape {
        Claude = "claude",
        Codex = "codex",
        Gemini = "gemini",
        Demo = "demo",
        /// OpenCode's way: the list of a session's messages, over HTTP.
        OpencodeMessages = "opencode-messages",
    }
);

impl UsageShape {
    /// Returns how the transcript is written that tells it, if it is written down.
    pub fn written(self) -> Option<TranscriptShape> {
        match self {
            UsageShape::Claude => Some(TranscriptShape::Claude),
            UsageShape::Codex => Some(TranscriptShape::Codex),
            UsageShape::Gemini => Some(TranscriptShape::Gemini),
            UsageShape::Demo => Some(TranscriptShape::Demo),
            UsageShape::OpencodeMessages => None,
        }
    }
}

named!(
    /// How it says what it is doing.
    StatusShape {
        /// A file for each process, which says idle, busy or waiting.
        ClaudeSession = "claude-session",
        /// A stream of events over HTTP.
        OpencodeEvents = "opencode-events",
    }
);

named!(
    /// How it takes a message without keys.
    ApiShape {
        /// OpenCode's way: a request, and a list that tells of it.
        OpencodePrompt = "opencode-prompt",
        /// The demo's: a socket that knows what it was sent before.
        DemoDoor = "demo-door",
    }
);

/// What is pressed and typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    pub paste: Paste,
    pub submit: Vec<String>,
    /// How long to wait between a paste and what submits it, in milliseconds.
    pub submit_after_ms: u64,
    pub interrupt: Vec<String>,
    /// What empties the composer.
    pub empty: Vec<String>,
    /// What is typed to begin anew, to shorten the conversation and to end.
    pub clear: Option<String>,
    pub compact: Option<String>,
    pub exit: Option<String>,
}

/// Where its hooks are configured, and what they tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hooks {
    pub shape: HookShape,
    /// The file they are configured in, unless they need none.
    pub file: Option<Template>,
    pub events: Vec<String>,
    /// The event that comes before a prompt reaches the model, if there is one.
    pub prompt: Option<String>,
    /// Whether that event can refuse the prompt.
    pub blocks: bool,
    /// What no hook tells of, so that another witness must.
    pub silent: Vec<String>,
}

/// Where its transcript is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    pub shape: TranscriptShape,
    /// With `*` for what only the CLI knows.
    pub path: Template,
}

/// Where it tells how many tokens it used: in its transcript, or by its API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    pub shape: UsageShape,
    /// Files of the same shape besides, such as those of its subagents.
    pub also: Option<Template>,
}

/// Where it says how it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub shape: StatusShape,
    /// A file or an address.
    pub at: Template,
}

/// Where it takes messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Api {
    pub shape: ApiShape,
    /// An address, or a socket.
    pub at: Template,
}

#[cfg(test)]
mod tests;
