//! Rules: what a screen that looks so says of the agent that drew it.

use super::pattern::Pattern;
use super::{Region, View};
use crate::kind::Witness;

/// What a screen must look like, and what it says then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// How `cmux agent why` calls it.
    pub name: String,
    pub says: Says,
    pub region: Region,
    /// Whether a prompt must be there, or must not, if it matters.
    pub prompt: Option<bool>,
    /// Each must fit a line.
    pub all: Vec<Pattern>,
    /// One of these must fit a line, if there are any.
    pub any: Vec<Pattern>,
    /// None of these may fit a line.
    pub none: Vec<Pattern>,
}

/// What a rule says of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// At its prompt. If there is text in it, that is somebody's draft.
    Idle,
    Busy {
        /// Whether it shows that the model has begun to answer, be it only by thinking.
        answers: bool,
    },
    /// A question is on its screen that only a person, or an approval, may answer.
    Asking { what: String },
    /// Its provider gives it nothing more for a while. When that is over is read from the line.
    Limited,
    /// Something that comes up at its start is in the way.
    Dialog { name: String },
}

impl Rule {
    /// Returns the line by which the rule fits, or nothing if it does not. A rule that asks for no more
    /// than a prompt has an empty one.
    pub(super) fn fits<'a>(&self, view: &View<'a>) -> Option<&'a str> {
        let has_prompt = view.prompt.is_some();
        if self.prompt.is_some_and(|wanted| wanted != has_prompt) {
            return None;
        }
        let lines = view.lines(self.region);
        let found = |pattern: &Pattern| lines.iter().copied().rfind(|line| pattern.fits(line));
        if self.none.iter().any(|pattern| found(pattern).is_some()) {
            return None;
        }
        let any = self.any.iter().find_map(found);
        if any.is_none() && !self.any.is_empty() {
            return None;
        }
        let all: Option<Vec<&str>> = self.all.iter().map(found).collect();
        Some(any.or(all?.first().copied()).unwrap_or(""))
    }

    /// Returns which witness speaks through this rule.
    pub fn witness(&self) -> Witness {
        match self.region {
            Region::Title => Witness::Title,
            Region::Prompt | Region::Above(_) | Region::Below | Region::Last(_) | Region::Whole => {
                Witness::Screen
            }
        }
    }
}
