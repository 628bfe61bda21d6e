//! Menus: which keys lead to an option, from wherever the choice stands.
//!
//! Which option a dialog has chosen at first changes from version to version, so that no key is pressed
//! before it has been seen where the choice stands.

use super::Screen;
use super::pattern::{Pattern, is_blank};

/// A key that moves through a menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    Up,
    Down,
    Enter,
}

impl Press {
    /// Returns tmux's name for the key.
    pub fn key(self) -> &'static str {
        match self {
            Press::Up => "Up",
            Press::Down => "Down",
            Press::Enter => "Enter",
        }
    }
}

/// Returns the keys that choose the option that fits `label`, in a menu that has `mark` before the one
/// where the choice stands. Nothing if one of the two is not to be seen, or is not the only one.
pub fn choose(screen: &Screen, mark: &str, label: &Pattern) -> Option<Vec<Press>> {
    let lines: Vec<&str> = screen
        .lines
        .iter()
        .map(|line| line.trim_matches(is_blank))
        .filter(|it| !it.is_empty())
        .collect();
    let option = |line: &str| {
        line.strip_prefix(mark).unwrap_or(line).trim_start_matches(is_blank).to_owned()
    };
    let only = |fits: &dyn Fn(&str) -> bool| {
        let mut found = lines.iter().enumerate().filter(|(_, line)| fits(line));
        let first = found.next().map(|(index, _)| index);
        first.filter(|_| found.next().is_none())
    };
    let here = only(&|line| line.starts_with(mark))?;
    let there = only(&|line| label.fits(&option(line)))?;
    let step = if there < here { Press::Up } else { Press::Down };
    let mut presses = vec![step; there.abs_diff(here)];
    presses.push(Press::Enter);
    Some(presses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Press::{Down, Enter, Up};

    #[test]
    fn the_way_to_an_option_begins_where_the_choice_stands() {
        check(
            &["Quick safety check:", " ❯ No, exit", "   Yes, I trust this folder"],
            Some(&[Down, Enter]),
        );
        check(&["   Yes, I trust this folder", " ❯ No, exit"], Some(&[Up, Enter]));
        check(&[" ❯ 1. Yes, I trust this folder", "   2. No, exit"], Some(&[Enter]));
    }

    #[test]
    fn what_is_unclear_is_not_chosen() {
        check(&["   Yes, I trust this folder", "   No, exit"], None);
        check(&[" ❯ No, exit"], None);
        check(&[" ❯ a", " ❯ Yes, I trust this folder"], None);
        check(&[" ❯ a", "Yes, I trust this folder", "Yes, I trust this folder"], None);
    }

    #[track_caller]
    fn check(lines: &[&str], expected: Option<&[Press]>) {
        let label: Pattern = "Yes, I trust".parse().unwrap();
        let found = choose(&Screen::of(&lines.join("\n")), "❯", &label);
        assert_eq!(found.as_deref(), expected, "{lines:?}");
    }
}
