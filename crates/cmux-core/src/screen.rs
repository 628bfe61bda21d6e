//! Screens: what an agent's terminal shows, and what that says of the agent.
//!
//! Rules look at regions, as text further up may be a conversation that quotes a prompt. A screen that no
//! rule knows says nothing: unknown is not idle.

pub mod menu;
pub mod pattern;
pub mod prompt;
pub mod reset;
pub mod rule;

use self::pattern::{Pattern, is_blank};
use self::prompt::{Composer, Prompt, PromptShape};
use self::rule::{Rule, Says};
use crate::kind::Witness;
use crate::time::Timestamp;

/// How many of the last lines of a screen are looked at.
const LINES_MAX: usize = 1_000;

/// How many lines a sentence may take up.
const SENTENCE_LINES: usize = 3;

/// What a terminal shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    pub lines: Vec<String>,
    /// Where the cursor is, in columns and lines from 0 on, if it is known.
    pub cursor: Option<(u16, u16)>,
    /// Columns and lines.
    pub size: (u16, u16),
    pub title: String,
}

impl Screen {
    /// Returns a screen that shows `text`, of which nothing else is known.
    pub fn of(text: &str) -> Screen {
        Screen { lines: text.lines().map(ToOwned::to_owned).collect(), ..Screen::default() }
    }

    /// Returns the word that follows `mark` in the first line that has it.
    pub fn word_after(&self, mark: &Pattern) -> Option<&str> {
        self.lines.iter().find_map(|line| mark.word_after(line))
    }
}

/// A part of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// The terminal's title, as one line.
    Title,
    /// The prompt, with its frame.
    Prompt,
    /// So many lines above the prompt, not counting empty ones.
    Above(usize),
    /// All lines below the prompt.
    Below,
    /// So many lines at the end, not counting empty ones.
    Last(usize),
    Whole,
}

/// What can be seen on a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// At its prompt, with nothing in it.
    Idle,
    Busy {
        /// Whether its model is seen to have begun to answer.
        answers: bool,
    },
    Asking {
        what: String,
    },
    Limited {
        until: Option<Timestamp>,
    },
    Dialog {
        name: String,
    },
    /// At its prompt, with text in it that has not been submitted.
    Draft {
        text: String,
    },
}

/// What a look at a screen came to, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Nothing if no rule knows the screen.
    pub seen: Option<Seen>,
    /// The rule that knew it, by name.
    pub rule: Option<String>,
    /// Who spoke through that rule: the screen, or the title alone.
    pub witness: Option<Witness>,
    /// The line by which it was known.
    pub line: String,
    pub composer: Composer,
}

/// How the screens of a CLI are read. The first rule that fits is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eyes {
    pub prompt: PromptShape,
    pub rules: Vec<Rule>,
}

impl Eyes {
    /// Returns what `screen` says, where clocks are `east_min` minutes ahead of UTC.
    pub fn look(&self, screen: &Screen, now: Timestamp, east_min: i32) -> Sight {
        let view = View::new(screen, &self.prompt);
        let composer = view.composer(&self.prompt);
        let found = self.rules.iter().find_map(|rule| Some((rule, rule.fits(&view)?)));
        let Some((rule, line)) = found else {
            return Sight { seen: None, rule: None, witness: None, line: String::new(), composer };
        };
        let seen = match &rule.says {
            Says::Idle => match &composer {
                Composer::Holds(text) => Seen::Draft { text: text.clone() },
                Composer::Empty | Composer::Absent => Seen::Idle,
            },
            Says::Busy { answers } => Seen::Busy { answers: *answers },
            Says::Asking { what } => Seen::Asking { what: what.clone() },
            Says::Limited => {
                let told = view.from(rule.region, line);
                Seen::Limited { until: reset::reset(&told, now, east_min) }
            }
            Says::Dialog { name } => Seen::Dialog { name: name.clone() },
        };
        // What looks like a prompt in a question is an option of it.
        let composer = match seen {
            Seen::Asking { .. } | Seen::Dialog { .. } => Composer::Absent,
            Seen::Idle | Seen::Busy { .. } | Seen::Limited { .. } | Seen::Draft { .. } => composer,
        };
        Sight {
            seen: Some(seen),
            rule: Some(rule.name.clone()),
            witness: Some(rule.witness()),
            line: line.to_owned(),
            composer,
        }
    }

    /// Returns the rules that fit `screen`, whether or not another one fits before them.
    pub fn all_that_fit(&self, screen: &Screen) -> Vec<&Rule> {
        let view = View::new(screen, &self.prompt);
        self.rules.iter().filter(|rule| rule.fits(&view).is_some()).collect()
    }
}

/// A screen with its prompt found.
struct View<'a> {
    screen: &'a Screen,
    lines: &'a [String],
    prompt: Option<Prompt>,
}

impl<'a> View<'a> {
    fn new(screen: &'a Screen, shape: &PromptShape) -> View<'a> {
        let first = screen.lines.len().saturating_sub(LINES_MAX);
        let prompt = shape.find(screen).filter(|prompt| prompt.top >= first);
        View { screen, lines: &screen.lines, prompt }
    }

    fn composer(&self, shape: &PromptShape) -> Composer {
        let read = |prompt| shape.read(prompt, self.screen);
        self.prompt.as_ref().map_or(Composer::Absent, read)
    }

    /// Returns `line` of a region and what follows it, as a sentence may go on in the next line.
    fn from(&self, region: Region, line: &str) -> String {
        let lines = self.lines(region);
        let first = lines.iter().rposition(|it| *it == line).unwrap_or(lines.len());
        let told: Vec<&str> = lines.into_iter().skip(first).take(SENTENCE_LINES).collect();
        told.join(" ")
    }

    /// Returns the lines of a region. What is above or below no prompt is nowhere.
    fn lines(&self, region: Region) -> Vec<&'a str> {
        let all = |lines: &'a [String]| lines.iter().map(String::as_str).collect::<Vec<_>>();
        let first = self.lines.len().saturating_sub(LINES_MAX);
        match (region, &self.prompt) {
            (Region::Title, _) => vec![&self.screen.title],
            (Region::Prompt, Some(prompt)) => all(&self.lines[prompt.top..prompt.end]),
            (Region::Above(count), Some(prompt)) => last(&self.lines[first..prompt.top], count),
            (Region::Below, Some(prompt)) => all(&self.lines[prompt.end..]),
            (Region::Prompt | Region::Above(_) | Region::Below, None) => Vec::new(),
            (Region::Last(count), _) => last(&self.lines[first..], count),
            (Region::Whole, _) => all(&self.lines[first..]),
        }
    }
}

/// Returns the last `count` of `lines` that are not empty, in their order.
fn last(lines: &[String], count: usize) -> Vec<&str> {
    let filled = lines.iter().map(String::as_str).filter(|line| !line.chars().all(is_blank));
    let mut found: Vec<&str> = filled.rev().take(count).collect();
    found.reverse();
    found
}

#[cfg(test)]
mod tests;
