//! Patterns: what a line of a screen is compared with.
//!
//! A pattern is plain text that may be anywhere in a line. `^` at its start and `$` at its end hold it
//! to the line's, `*` is anything or nothing, `#` is a number, `[abc]` and `[⠁-⣿]` are one letter of
//! those, and a blank is one or more of any width. `\` takes the meaning away from what follows it.
//! There is nothing to go back for: a line is read once for each part between two `*`.

use std::fmt;
use std::str::{Chars, FromStr};

/// The longest pattern, in letters.
const LONGEST: usize = 200;

/// What a line is compared with.
#[derive(Clone, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    at_start: bool,
    at_end: bool,
    /// What must follow one another, with anything between.
    parts: Vec<Vec<Piece>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Letter(char),
    /// One or more blanks.
    Blank,
    /// One or more digits, and no digit after them.
    Number,
    OneOf(Vec<(char, char)>),
}

/// Why a text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    #[error("a pattern must say something besides `^`, `$` and `*`")]
    Empty,
    #[error("a pattern has at most {LONGEST} letters")]
    TooLong,
    #[error("`[` is not closed: write `\\[` if it is meant as it is")]
    Open,
    #[error("`[]` is no letter, and a range goes up, such as `[0-9]`")]
    BadRange,
    #[error("`\\` must be followed by what it takes the meaning from")]
    Dangling,
}

impl Pattern {
    /// Returns whether `line` fits. Blanks at its end do not count.
    pub fn fits(&self, line: &str) -> bool {
        self.end_in(line).is_some()
    }

    /// Returns the word that follows where `line` fits, if it does and there is one.
    pub fn word_after<'a>(&self, line: &'a str) -> Option<&'a str> {
        let end = self.end_in(line)?;
        let (at, _) = line.char_indices().nth(end)?;
        line[at..].split(is_blank).find(|word| !word.is_empty())
    }

    /// Returns how many letters of `line` there are up to where what fits ends.
    fn end_in(&self, line: &str) -> Option<usize> {
        let line: Vec<char> = line.trim_end_matches(is_blank).chars().collect();
        let mut at = 0;
        for (index, part) in self.parts.iter().enumerate() {
            let is_first = index == 0;
            let is_last = index + 1 == self.parts.len();
            let to_end = is_last && self.at_end;
            let starts = if is_first && self.at_start { 0..=0 } else { at..=line.len() };
            let fits = |&end: &usize| !to_end || end == line.len();
            let found = starts.filter_map(|start| take(part, &line, start)).find(fits);
            at = found?;
        }
        Some(at)
    }

    /// Returns the pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Returns where `part` ends if it begins at `start`.
fn take(part: &[Piece], line: &[char], start: usize) -> Option<usize> {
    let mut at = start;
    for piece in part {
        let rest = &line[at..];
        let run = |is: fn(char) -> bool| rest.iter().take_while(|&&c| is(c)).count();
        let length = match piece {
            Piece::Letter(letter) => usize::from(rest.first() == Some(letter)),
            Piece::Blank => run(is_blank),
            Piece::Number => run(|c| c.is_ascii_digit()),
            Piece::OneOf(ranges) => {
                let is_in = |&c: &char| ranges.iter().any(|&(low, high)| (low..=high).contains(&c));
                usize::from(rest.first().is_some_and(is_in))
            }
        };
        if length == 0 {
            return None;
        }
        at += length;
    }
    Some(at)
}

/// Whether a letter is a blank, also one that does not break, as some CLIs draw behind their prompt.
pub(super) fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || letter == '\u{a0}'
}

impl FromStr for Pattern {
    type Err = BadPattern;

    fn from_str(text: &str) -> Result<Pattern, BadPattern> {
        if text.chars().count() > LONGEST {
            return Err(BadPattern::TooLong);
        }
        let (at_start, rest) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
        let mut parts = vec![Vec::new()];
        let mut at_end = false;
        let mut letters = rest.chars();
        while let Some(letter) = letters.next() {
            let piece = match letter {
                '*' => {
                    parts.push(Vec::new());
                    continue;
                }
                '$' if letters.as_str().is_empty() => {
                    at_end = true;
                    continue;
                }
                '#' => Piece::Number,
                '[' => one_of(&mut letters)?,
                '\\' => Piece::Letter(letters.next().ok_or(BadPattern::Dangling)?),
                blank if is_blank(blank) => Piece::Blank,
                other => Piece::Letter(other),
            };
            let Some(part) = parts.last_mut() else { continue };
            // Blanks that follow one another are one.
            if !(piece == Piece::Blank && part.last() == Some(&Piece::Blank)) {
                part.push(piece);
            }
        }
        if parts.iter().all(Vec::is_empty) {
            return Err(BadPattern::Empty);
        }
        Ok(Pattern { text: text.to_owned(), at_start, at_end, parts })
    }
}

/// Reads the letters between `[` and `]`.
fn one_of(letters: &mut Chars<'_>) -> Result<Piece, BadPattern> {
    let mut ranges = Vec::new();
    loop {
        let low = match letters.next().ok_or(BadPattern::Open)? {
            ']' if ranges.is_empty() => return Err(BadPattern::BadRange),
            ']' => return Ok(Piece::OneOf(ranges)),
            '\\' => letters.next().ok_or(BadPattern::Open)?,
            letter => letter,
        };
        let is_range = letters.as_str().starts_with('-') && !letters.as_str().starts_with("-]");
        let high = match is_range {
            true => letters.nth(1).ok_or(BadPattern::Open)?,
            false => low,
        };
        if high < low {
            return Err(BadPattern::BadRange);
        }
        ranges.push((low, high));
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_fits_where_it_is_found() {
        check("esc to interrupt", "• Working (2s • esc to interrupt)", true);
        check("esc to interrupt", "press Esc to interrupt", false);
        check("a b", "a \u{a0} b", true);
        check("a b", "ab", false);
        check("a\\*b", "a*b", true);
        check("a\\*b", "axb", false);
        check("\\^x\\$", "a ^x$", true);
        check("a$b", "a$b", true);
    }

    #[test]
    fn anchors_hold_it_to_the_ends_of_the_line() {
        check("^❯", "❯ hello", true);
        check("^❯", " ❯ hello", false);
        check("^ ❯", "  ❯ hello", true);
        check("^❯$", "❯\u{a0}  ", true);
        check("^❯$", "❯ x", false);
        check("done$", "well done   ", true);
        check("x$", "x x", true);
    }

    #[test]
    fn a_star_is_anything_or_nothing() {
        check("^[✢✻] *… (", "✢ Bootstrapping… (5s · ↓ 1 tokens)", true);
        check("^[✢✻] *… (", "✻ Cogitated for 1s · done 6:26 PM", false);
        check("a*c$", "abcc", true);
        check("a*c$", "abcd", false);
        check("^a*a$", "a", false);
        check("^*x", "x", true);
        check("a*b*c", "acb", false);
    }

    #[test]
    fn a_number_is_all_of_its_digits() {
        check("^ ❯ #. ", " ❯ 12. Yes", true);
        check("^#$", "12", true);
        check("+# lines]", "[Pasted text #4 +11 lines]", true);
        check("+# lines]", "[Pasted text #4 + lines]", false);
        check("#1", "21", false);
    }

    #[test]
    fn the_word_after_what_fits_is_found() {
        for (pattern, line, word) in [
            ("Session:", "│  Session: 20261119_52a8a1   │", Some("20261119_52a8a1")),
            ("^│ Session:", "│  Session: a b", Some("a")),
            ("Session:", "⚕ Session:\u{a0} é ", Some("é")),
            ("Session:", "Session:", None),
            ("Session:", "Session:  ", None),
            ("^Session:", "│  Session: a", None),
        ] {
            let found = pattern.parse::<Pattern>().unwrap().word_after(line).map(ToOwned::to_owned);
            assert_eq!(found.as_deref(), word, "{pattern} in {line:?}");
        }
    }

    #[test]
    fn one_of_some_letters() {
        check("^[⠁-⣿] ", "⠸ Title | proj", true);
        check("^[⠁-⣿] ", "Title", false);
        check("^\\[ [!.] \\] Action", "[ . ] Action Required | x", true);
        check("[a\\]]", "]", true);
        check("[a-]", "-", true);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (text, why) in [
            ("", BadPattern::Empty),
            ("^$", BadPattern::Empty),
            ("*", BadPattern::Empty),
            ("[a", BadPattern::Open),
            ("[", BadPattern::Open),
            ("[]", BadPattern::BadRange),
            ("[z-a]", BadPattern::BadRange),
            ("a\\", BadPattern::Dangling),
            (&"a".repeat(201), BadPattern::TooLong),
        ] {
            assert_eq!(text.parse::<Pattern>(), Err(why), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_text_fits_itself_when_nothing_in_it_has_a_meaning(text in "[a-z❯┃()…]{1,40}") {
            let pattern: Pattern = format!("^{text}$").parse().unwrap();
            prop_assert!(pattern.fits(&text));
            let longer = text + "x";
            prop_assert!(!pattern.fits(&longer));
        }

        #[test]
        fn nothing_that_is_written_or_drawn_makes_it_panic(text in any::<String>(), line in any::<String>()) {
            if let Ok(pattern) = text.parse::<Pattern>() {
                pattern.fits(&line);
            }
        }
    }

    #[track_caller]
    fn check(pattern: &str, line: &str, expected: bool) {
        let pattern: Pattern = pattern.parse().unwrap();
        assert_eq!(pattern.fits(line), expected, "{pattern:?} and {line}");
    }
}
