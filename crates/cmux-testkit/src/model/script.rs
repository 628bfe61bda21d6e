//! What a scripted model does: turns of text, thoughts and calls of tools, with their pace, what they are
//! said to cost, and what goes wrong with them. No API is known here.

use std::time::Duration;

use serde_json::Value;

/// What a model does about one prompt: a turn for each time that it is asked, then it is done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    pub turns: Vec<Turn>,
}

/// One answer of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    pub blocks: Vec<Block>,
    pub pace: Pace,
    pub usage: Usage,
    /// Why it ends, in the words of the API, unless that follows from its blocks.
    pub stop: Option<String>,
    pub fault: Option<Fault>,
    /// How often the fault strikes when the same is asked again. Always, unless it is said.
    pub times: Option<u32>,
}

/// A piece of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Say(String),
    Think(String),
    /// A tool is called. The name of one in a namespace has a slash: `mcp__files/read`.
    Call {
        tool: String,
        input: Value,
    },
}

/// How fast a turn comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Nothing comes until a test lets go of this name.
    pub hold: Option<String>,
    /// Before the first of it.
    pub delay: Duration,
    /// Before each further piece.
    pub chunk: Duration,
    /// How long its texts take in all. What is too short for that is filled up.
    pub stream: Duration,
}

/// How many tokens a turn is said to have taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Without those of the cache.
    pub input: u64,
    pub output: u64,
    /// How much of the output was thought, and not said.
    pub thought: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Default for Usage {
    fn default() -> Usage {
        Usage { input: 100, output: 10, thought: 0, cache_read: 0, cache_write: 0 }
    }
}

/// What goes wrong with a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is refused, perhaps since a quota is used up, which Google's API names.
    Refused { status: u16, retry_after_s: Option<u64>, message: String, quota: Option<String> },
    /// The connection breaks in the middle of it.
    Dropped,
}

impl Script {
    /// Says one thing, and is done.
    pub fn say(text: &str) -> Script {
        Script::default().then(Turn::say(text))
    }

    /// Calls one tool, and is done.
    pub fn call(tool: &str, input: Value) -> Script {
        Script::default().then(Turn::call(tool, input))
    }

    #[must_use]
    pub fn then(mut self, turn: Turn) -> Script {
        self.turns.push(turn);
        self
    }
}

impl Turn {
    pub fn say(text: &str) -> Turn {
        Turn { blocks: vec![Block::Say(text.to_owned())], ..Turn::default() }
    }

    pub fn call(tool: &str, input: Value) -> Turn {
        let call = Block::Call { tool: tool.to_owned(), input };
        Turn { blocks: vec![call], ..Turn::default() }
    }

    /// Is refused with this status, whenever it is asked for.
    pub fn refused(status: u16) -> Turn {
        let message = format!("scripted error {status}");
        let fault = Fault::Refused { status, retry_after_s: None, message, quota: None };
        Turn { fault: Some(fault), ..Turn::default() }
    }

    #[must_use]
    pub fn and(mut self, block: Block) -> Turn {
        self.blocks.push(block);
        self
    }

    /// Comes when a test lets go of this name.
    #[must_use]
    pub fn held(mut self, name: &str) -> Turn {
        self.pace.hold = Some(name.to_owned());
        self
    }

    #[must_use]
    pub fn used(mut self, usage: Usage) -> Turn {
        self.usage = usage;
        self
    }

    /// Whether it calls a tool, and is asked again when that is done.
    pub fn calls(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Call { .. }))
    }
}

/// How many letters a piece of a text has that comes at once.
const PIECE: usize = 400;

/// How many letters a piece of a text has that takes its time.
const SLOW_PIECE: usize = 12;

/// How often something comes of a text that is to take a certain time.
const STREAM_STEP: Duration = Duration::from_millis(250);

impl Pace {
    /// Returns the same pace for what cannot be filled up.
    #[must_use]
    pub fn unfilled(self) -> Pace {
        Pace { stream: Duration::ZERO, ..self }
    }

    /// Returns the pieces in which a text comes, and how long each is waited for.
    pub fn pieces(&self, text: &str) -> (Vec<String>, Duration) {
        if self.stream.is_zero() {
            let size = if self.chunk.is_zero() { PIECE } else { SLOW_PIECE };
            return (cut(text, size), self.chunk);
        }
        let count = (self.stream.as_millis() / STREAM_STEP.as_millis()).max(1);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let mut text = text.to_owned();
        let mut number = 0;
        while text.chars().count() < count {
            number += 1;
            text += &format!(" {number}");
        }
        let pieces = cut(&text, text.chars().count().div_ceil(count));
        let wait = self.stream / u32::try_from(pieces.len()).unwrap_or(u32::MAX).max(1);
        (pieces, wait)
    }
}

fn cut(text: &str, size: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_in_pieces_that_make_it_up() {
        let text = "ein Äpfelchen 🍏 ".repeat(100);
        for pace in [Pace::default(), Pace { chunk: Duration::from_millis(5), ..Pace::default() }] {
            let (pieces, wait) = pace.pieces(&text);
            assert_eq!(pieces.concat(), text);
            assert!(pieces.len() > 1);
            assert_eq!(wait, pace.chunk);
        }
        assert_eq!(Pace::default().pieces(""), (vec![], Duration::ZERO));
    }

    #[test]
    fn a_text_that_is_to_take_a_time_takes_it() {
        let pace = Pace { stream: Duration::from_secs(20), ..Pace::default() };
        for text in ["", "so", &"long ".repeat(5000)] {
            let (pieces, wait) = pace.pieces(text);
            assert!(pieces.concat().starts_with(text));
            let took = wait * u32::try_from(pieces.len()).unwrap();
            assert!(took > Duration::from_secs(19), "{took:?}");
            assert!(wait >= STREAM_STEP && wait < STREAM_STEP * 3, "{wait:?}");
        }
    }
}
