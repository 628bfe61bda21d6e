//! The prompt: where on the screen a CLI takes what is typed, and what is in it.

use std::iter::once;

use unicode_normalization::UnicodeNormalization;

use super::Screen;
use super::pattern::{Pattern, is_blank};

/// How a CLI draws its prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptShape {
    /// What it may be drawn in; the first that is found is it.
    pub frames: Vec<Frame>,
    /// What stands before the text, such as `❯`. Not looked for in a bar.
    pub marks: Vec<String>,
    /// What is shown while nothing has been typed.
    pub placeholders: Vec<Pattern>,
    /// Whether the terminal's cursor stands where text is typed. Some CLIs hide it and draw their own.
    pub has_cursor: bool,
    /// How what was pasted is shown if it is long.
    pub folds: Vec<Fold>,
    /// The lines that belong to the prompt's surroundings and not to its text: below the mark, or at the
    /// end of a bar.
    pub footer: Vec<Pattern>,
    /// How many lines that are not empty there may be below it. Further up it is a part of the
    /// conversation that looks like one.
    pub below_max: usize,
}

/// What a prompt is drawn in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Between two lines across the screen.
    Rules,
    /// In a box with rounded or square corners.
    Box,
    /// Right of a heavy bar.
    Bar,
    /// Behind its mark, and nothing else.
    Mark,
}

impl Frame {
    pub const ALL: [Frame; 4] = [Frame::Rules, Frame::Box, Frame::Bar, Frame::Mark];

    pub fn name(self) -> &'static str {
        match self {
            Frame::Rules => "rules",
            Frame::Box => "box",
            Frame::Bar => "bar",
            Frame::Mark => "mark",
        }
    }
}

/// How a long paste is shown, such as `[Pasted text #4 +11 lines]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    pub pattern: Pattern,
    /// What the number in it counts, which is the last one before the word for that.
    pub counts: Counts,
}

/// What a fold tells of the text that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    Lines,
    Letters,
}

impl Counts {
    /// Returns what every fold calls that behind its number.
    fn word(self) -> &'static str {
        match self {
            Counts::Lines => " lines",
            Counts::Letters => " chars",
        }
    }
}

/// How many copies of a text are looked for at a prompt, and how long they may be if they are folded.
const COPIES_MAX: usize = 4;
const FOLDS_MAX: usize = 400;

/// A prompt as it was found: the lines that it takes up with its frame, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) top: usize,
    /// The first line below it.
    pub(super) end: usize,
    text: Vec<String>,
    /// Where its text begins: column and line.
    start: (usize, usize),
}

/// What is in a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Composer {
    /// No prompt is to be seen.
    Absent,
    Empty,
    Holds(String),
}

/// Whose text is in a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// No prompt is to be seen, so that nothing can be said.
    Unknown,
    Nobodys,
    /// Exactly what was typed for cmux, and nothing else.
    Ours,
    /// Something folded that is as long as what was typed for cmux. It is that if nobody else typed.
    Folded,
    /// Nothing but copies of what was typed for cmux: the first was drawn so late that it was typed again.
    Repeated,
    /// Anything else: to submit it would be to speak for somebody.
    Somebodys,
}

impl PromptShape {
    /// Returns the prompt on `screen`, if there is one.
    pub(super) fn find(&self, screen: &Screen) -> Option<Prompt> {
        let found = self.frames.iter().find_map(|frame| match frame {
            Frame::Rules => self.between_rules(screen),
            Frame::Box => self.in_a_box(screen),
            Frame::Bar => self.beside_a_bar(screen),
            Frame::Mark => self.behind_a_mark(screen),
        });
        found.filter(|prompt| {
            let below = screen.lines.iter().skip(prompt.end);
            below.filter(|line| !is_empty(line)).count() <= self.below_max
        })
    }

    /// Returns what is in `prompt`.
    pub(super) fn read(&self, prompt: &Prompt, screen: &Screen) -> Composer {
        let text = prompt.text.join("\n");
        let text = text.trim_matches(is_blank);
        if text.is_empty() {
            return Composer::Empty;
        }
        // Whoever types moves the cursor away; a placeholder is shown behind it.
        let cursor = screen.cursor.filter(|_| self.has_cursor);
        let at_start = cursor
            .is_none_or(|(column, line)| (usize::from(column), usize::from(line)) == prompt.start);
        let is_placeholder = at_start && self.placeholders.iter().any(|it| it.fits(text));
        if is_placeholder { Composer::Empty } else { Composer::Holds(text.to_owned()) }
    }

    /// Returns whose the text in `composer` is, where `ours` is what was typed for cmux. How a CLI breaks
    /// lines and draws tabs does not count.
    pub fn whose(&self, composer: &Composer, ours: &str) -> Whose {
        match composer {
            Composer::Absent => Whose::Unknown,
            Composer::Empty => Whose::Nobodys,
            Composer::Holds(text) if is_drawn(text, ours) => Whose::Ours,
            Composer::Holds(text) if self.folds.iter().any(|it| it.stands_for(text, ours)) => {
                Whose::Folded
            }
            Composer::Holds(text) if self.is_repeated(text, ours) => Whose::Repeated,
            Composer::Holds(_) => Whose::Somebodys,
        }
    }

    /// Returns whether `text` is copies of `ours`, drawn or folded, and nothing else.
    fn is_repeated(&self, text: &str, ours: &str) -> bool {
        let is_one = |part: &str| self.folds.iter().any(|fold| fold.stands_for(part, ours));
        let folds = text.trim_matches(is_blank).split_inclusive(']');
        let are_folds =
            text.len() <= FOLDS_MAX && folds.map(|it| it.trim_matches(is_blank)).all(is_one);
        are_folds || (2..=COPIES_MAX).any(|copies| is_drawn(text, &ours.repeat(copies)))
    }

    fn between_rules(&self, screen: &Screen) -> Option<Prompt> {
        let rules = screen.lines.iter().enumerate().filter(|(_, line)| is_rule(line));
        let rules: Vec<usize> = rules.map(|(index, _)| index).collect();
        rules.windows(2).rev().find_map(|pair| {
            let &[top, bottom] = pair else { return None };
            let inside = screen.lines.get(top + 1..bottom)?;
            let (text, column) = self.marked(inside.iter().map(String::as_str))?;
            Some(Prompt { top, end: bottom + 1, text, start: (column, top + 1) })
        })
    }

    fn in_a_box(&self, screen: &Screen) -> Option<Prompt> {
        let lines = &screen.lines;
        let bottom = lines.iter().rposition(|line| line.trim_start().starts_with(['╰', '└']))?;
        let is_top = |line: &String| line.trim_start().starts_with(['╭', '┌']);
        let top = lines[..bottom].iter().rposition(is_top)?;
        let inside = lines.get(top + 1..bottom)?;
        let unframed = unframed(inside)?;
        let (text, column) = self.marked(unframed.iter().map(String::as_str))?;
        let indent = inside.first().map_or(0, |line| indent_of(line)) + 1;
        Some(Prompt { top, end: bottom + 1, text, start: (indent + column, top + 1) })
    }

    fn beside_a_bar(&self, screen: &Screen) -> Option<Prompt> {
        let lines = &screen.lines;
        let bottom = lines.iter().rposition(|line| line.trim_start().starts_with('╹'))?;
        let beside = |line: &&String| line.trim_start().starts_with('┃');
        let height = lines[..bottom].iter().rev().take_while(beside).count();
        let top = bottom - height;
        let stripped = |line: &String| {
            let line = line.trim_start();
            line.strip_prefix('┃').unwrap_or(line).to_owned()
        };
        let mut text: Vec<String> = lines[top..bottom].iter().map(stripped).collect();
        // What it is set to stands below its text.
        let is_last = |line: &String| self.footer.iter().any(|it| it.fits(line));
        let footer = text.iter().rposition(is_last)?;
        text.truncate(footer);
        let above = text.iter().take_while(|line| is_empty(line)).count();
        let text: Vec<String> = text.split_off(above);
        let first = lines.get(top + above).map_or(0, |line| indent_of(line) + 1);
        let column = first + text.first().map_or(0, |line| indent_of(line));
        Some(Prompt { top, end: bottom + 1, text, start: (column, top + above) })
    }

    fn behind_a_mark(&self, screen: &Screen) -> Option<Prompt> {
        let lines = &screen.lines;
        let filled = lines.iter().rposition(|line| !is_empty(line)).map_or(0, |last| last + 1);
        let is_footer = |line: &&String| {
            is_edge(line) || is_empty(line) || self.footer.iter().any(|it| it.fits(line))
        };
        let footer = lines[..filled].iter().rev().take_while(is_footer).count();
        let end = filled - footer;
        let begins = |line: &String| self.behind(line).is_some() && indent_of(line) <= 2;
        let top = lines[..end].iter().rposition(begins)?;
        let inside = lines[top..end].iter().map(String::as_str);
        // Without a footer, nothing tells what belongs to it but an empty line.
        let has_footer = !self.footer.is_empty();
        let inside: Vec<&str> = inside.take_while(|line| has_footer || !is_empty(line)).collect();
        let end = top + inside.len();
        // Then it may have been left already, and what follows it is the answer.
        let cursor = screen.cursor.filter(|_| self.has_cursor && !has_footer);
        if cursor.is_some_and(|(_, line)| !(top..end).contains(&usize::from(line))) {
            return None;
        }
        let (text, column) = self.marked(inside.into_iter())?;
        Some(Prompt { top, end, text, start: (column, top) })
    }

    /// Returns the text of `lines` if the first begins with a mark, and the column that it begins in.
    fn marked<'a>(&self, mut lines: impl Iterator<Item = &'a str>) -> Option<(Vec<String>, usize)> {
        let first = lines.next()?;
        let (text, column) = self.behind(first)?;
        let mut all = vec![text.to_owned()];
        all.extend(lines.map(ToOwned::to_owned));
        Some((all, column))
    }

    /// Returns what follows a mark at the beginning of `line`, and in which column.
    fn behind<'a>(&self, line: &'a str) -> Option<(&'a str, usize)> {
        let indent = indent_of(line);
        let line = line.trim_start_matches(is_blank);
        self.marks.iter().find_map(|mark| {
            let rest = line.strip_prefix(mark.as_str())?;
            let is_apart = rest.is_empty() || rest.starts_with(is_blank);
            is_apart.then(|| (rest, indent + mark.chars().count() + 1))
        })
    }
}

impl Fold {
    fn stands_for(&self, text: &str, ours: &str) -> bool {
        let counted = match self.counts {
            Counts::Lines => ours.lines().count(),
            Counts::Letters => ours.chars().count(),
        };
        // Some count lines, and others the breaks between them.
        let fewest = match self.counts {
            Counts::Lines => counted.saturating_sub(1),
            Counts::Letters => counted,
        };
        // Behind it may be where the text is kept, which has numbers in it, too.
        let told = last_number(text.split_once(self.counts.word()).map_or(text, |(head, _)| head));
        self.pattern.fits(text) && told.is_some_and(|told| (fewest..=counted).contains(&told))
    }
}

fn last_number(text: &str) -> Option<usize> {
    let mut digits = text.split(|c: char| !c.is_ascii_digit());
    digits.rfind(|run| !run.is_empty())?.parse().ok()
}

/// Returns whether `drawn` is what a terminal shows of `text`. Blanks do not count. A terminal passes over what
/// it does not know and over marks that are too many, and has marks stand behind the letter that they are with.
/// Some CLIs make one letter of a letter and its accent.
fn is_drawn(drawn: &str, text: &str) -> bool {
    let composed = |text: &str| text.nfc().collect::<String>();
    is_passed(drawn, text, |letter| !letter.is_ascii())
        || is_passed(&composed(drawn), &composed(text), |letter| {
            // What a terminal must know is no less known with an accent.
            once(letter).nfd().next().is_some_and(|base| !base.is_ascii())
        })
}

/// Returns whether `drawn` is `text`, but for marks and letters that may be missing.
fn is_passed(drawn: &str, text: &str, may_miss: impl Fn(char) -> bool) -> bool {
    let mut seen = drawn.chars().filter(|&c| is_letter(c)).peekable();
    let mut letters = text.chars().filter(|&c| is_letter(c));
    let is_in_order = letters.all(|letter| seen.next_if_eq(&letter).is_some() || may_miss(letter));
    let mut marks = marks(text).into_iter();
    is_in_order
        && seen.next().is_none()
        && self::marks(drawn).iter().all(|it| marks.any(|of| of == *it))
}

fn is_letter(c: char) -> bool {
    !is_blank(c) && (c.is_ascii() || c.is_alphanumeric())
}

/// Returns all that is no letter and no blank, sorted.
fn marks(text: &str) -> Vec<char> {
    let mut marks: Vec<char> = text.chars().filter(|&c| !is_blank(c) && !is_letter(c)).collect();
    marks.sort_unstable();
    marks
}

/// Returns the lines in a box without its edges. The right one may be on a line of its own: a CLI and its
/// terminal do not always agree how wide a letter is.
fn unframed(lines: &[String]) -> Option<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    let mut lines = lines.iter().map(|line| line.trim());
    while let Some(line) = lines.next() {
        let line = line.strip_prefix('│')?;
        let line = match line.strip_suffix('│') {
            Some(line) => line.to_owned(),
            None => format!("{line}{}", lines.next()?.strip_suffix('│')?),
        };
        all.push(line);
    }
    Some(all)
}

fn is_empty(line: &str) -> bool {
    line.chars().all(is_blank)
}

fn indent_of(line: &str) -> usize {
    line.chars().take_while(|&c| is_blank(c)).count()
}

/// Whether a line goes across the screen from its edge. It may have a name in it.
fn is_rule(line: &str) -> bool {
    line.starts_with("───") && line.trim_end_matches(is_blank).ends_with('─')
}

/// Whether a line is nothing but the edge of something.
fn is_edge(line: &str) -> bool {
    line.chars().all(|c| is_blank(c) || "─━═▀▄▁▔╰╯╭╮└┘┌┐".contains(c))
}

#[cfg(test)]
mod tests;
