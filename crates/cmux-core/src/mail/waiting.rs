//! What a message waits for, and in which words that is said.

/// What a message waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// The agent is stopped.
    Stopped,
    Paused,
    Starting,
    Busy,
    /// A question is on its screen.
    Asking,
    Limited,
    /// It ended, and comes back.
    Down,
    /// It ended too often.
    Failed,
    /// Something is at its prompt that cmux did not type.
    Draft,
    /// A person types.
    Person,
    /// A person scrolls, or chooses something.
    Scrolling,
    /// Its pane takes no input.
    Deaf,
    /// Another program is in front of it.
    Behind,
    /// Its screen says nothing that is understood.
    Screen,
    /// What was sent before.
    Earlier,
    /// It is being typed, or has been: nothing is in its way.
    Reading,
    /// tmux does not answer.
    Tmux,
    /// The disk does not take what belongs to it.
    Disk,
}

impl Waiting {
    pub const ALL: [Waiting; 18] = [
        Waiting::Stopped,
        Waiting::Paused,
        Waiting::Starting,
        Waiting::Busy,
        Waiting::Asking,
        Waiting::Limited,
        Waiting::Down,
        Waiting::Failed,
        Waiting::Draft,
        Waiting::Person,
        Waiting::Scrolling,
        Waiting::Deaf,
        Waiting::Behind,
        Waiting::Screen,
        Waiting::Earlier,
        Waiting::Reading,
        Waiting::Tmux,
        Waiting::Disk,
    ];

    /// Returns its name, as scripts see it.
    pub fn name(self) -> &'static str {
        match self {
            Waiting::Stopped => "stopped",
            Waiting::Paused => "paused",
            Waiting::Starting => "starting",
            Waiting::Busy => "busy",
            Waiting::Asking => "asking",
            Waiting::Limited => "limited",
            Waiting::Down => "down",
            Waiting::Failed => "failed",
            Waiting::Draft => "draft",
            Waiting::Person => "person",
            Waiting::Scrolling => "scrolling",
            Waiting::Deaf => "deaf",
            Waiting::Behind => "behind",
            Waiting::Screen => "screen",
            Waiting::Earlier => "earlier",
            Waiting::Reading => "reading",
            Waiting::Tmux => "tmux",
            Waiting::Disk => "disk",
        }
    }

    /// Returns what it is in words, with what a person can do about it.
    pub fn says(self) -> &'static str {
        match self {
            Waiting::Stopped => "its reader is stopped: `cmux agent restart` starts it",
            Waiting::Paused => "its reader is paused: `cmux agent resume` has it go on",
            Waiting::Starting => "its reader is starting",
            Waiting::Busy => "its reader is busy: `--interrupt` would stop it",
            Waiting::Asking => {
                "a question is on its reader's screen: `cmux agent attach` to answer it"
            }
            Waiting::Limited => "its reader's provider lets it do no more for now",
            Waiting::Down => "its reader ended, and comes back",
            Waiting::Failed => "its reader ended too often: `cmux agent why` tells more",
            Waiting::Draft => "somebody has begun to write at its reader's prompt",
            Waiting::Person => "somebody types in its reader's terminal",
            Waiting::Scrolling => "somebody scrolls in its reader's terminal",
            Waiting::Deaf => "its reader's terminal takes no input",
            Waiting::Behind => "another program is in front of its reader",
            Waiting::Screen => "its reader's screen shows nothing that cmux knows",
            Waiting::Earlier => "what was sent before it is not read yet",
            Waiting::Reading => "nothing is in its way: it is being typed, or read",
            Waiting::Tmux => "tmux does not answer",
            Waiting::Disk => {
                "the disk does not take what its reader is to be told: `cmux doctor` looks why"
            }
        }
    }
}
