//! What is told of an agent: what it is doing, and what was on its screen.

use cmux_core::agent::{Agent, Doing};
use cmux_core::hook::redact;
use cmux_core::phase::Phase;
use cmux_core::screen::Screen;
use cmux_drivers::tmux::pane::Life;
use cmux_drivers::tmux::screen;

/// How much of a screen is told when something goes wrong, in lines and characters.
const TOLD_LINES: usize = 8;
const TOLD_COLUMNS: usize = 120;
const TOLD_MAX: usize = 600;

/// Returns what an agent is doing, as far as its phase tells.
pub(super) fn doing_of(agent: &Agent) -> Option<Doing> {
    match &agent.phase {
        Phase::Idle => Some(Doing::AtPrompt),
        Phase::Busy => Some(Doing::Working),
        Phase::Asking => Some(Doing::Asking { what: agent.reason.clone().unwrap_or_default() }),
        Phase::Limited { until } => Some(Doing::Limited { until: *until }),
        Phase::Offline | Phase::Starting { .. } | Phase::Down { .. } | Phase::Failed => None,
    }
}

/// Returns what tmux showed, as the rules read it.
pub(super) fn screen_of(seen: &screen::Screen) -> Screen {
    let text = String::from_utf8_lossy(&seen.content).into_owned();
    let number = |it: u32| u16::try_from(it).unwrap_or(u16::MAX);
    Screen {
        cursor: Some((number(seen.cursor.0), number(seen.cursor.1))),
        size: (number(seen.size.columns), number(seen.size.rows)),
        title: seen.title.clone(),
        ..Screen::of(&text)
    }
}

/// Returns whether there is more in a line than what frames others, and a name in that.
fn says_something(line: &str) -> bool {
    let drawn = line.chars().filter(|it| ('─'..='▟').contains(it)).count();
    let letters = line.chars().filter(|it| it.is_alphanumeric()).count();
    letters > drawn / 8
}

/// Returns the last lines of a screen, fit to be told.
pub(super) fn told(screen: &Screen) -> String {
    let lines: Vec<&str> =
        screen.lines.iter().map(|it| it.trim_end()).filter(|it| says_something(it)).collect();
    // tmux itself says last that the pane is dead.
    let is_own = |line: &&str| line.starts_with("Pane is dead (");
    let end = lines.len() - usize::from(lines.last().is_some_and(is_own));
    let last = &lines[end.saturating_sub(TOLD_LINES)..end];
    let shorten = |line: &&str| line.chars().take(TOLD_COLUMNS).collect::<String>();
    let text = last.iter().map(shorten).collect::<Vec<_>>().join("\n");
    let skipped = text.chars().count().saturating_sub(TOLD_MAX);
    let text: String =
        text.chars().skip(skipped).filter(|it| !it.is_control() || *it == '\n').collect();
    redact(&text)
}

/// Returns how a program ended, in words, if it has and that is known.
pub(super) fn how(life: &Life) -> Option<String> {
    match life {
        Life::Running => None,
        Life::Exited { code } => Some(match code {
            0 => "it exited".to_owned(),
            129..=192 => format!("it was ended by signal {}", code - 128),
            code => format!("it exited with code {code}"),
        }),
        Life::Killed { signal } => Some(format!("what launched it was ended by signal {signal}")),
        Life::Ended => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_that_say_something_are_told() {
        for (screen, expected) in [
            ("", ""),
            ("one\n\n  two  \n────\n", "one\n  two"),
            (&format!("one\n{} name ──\n│ two │", "─".repeat(99)), "one\n│ two │"),
            ("no config\n\nPane is dead (status 3, Mon Nov 16 03:26:02 2026)", "no config"),
            ("1\n2\n3\n4\n5\n6\n7\n8\n9", "2\n3\n4\n5\n6\n7\n8\n9"),
        ] {
            assert_eq!(told(&Screen::of(screen)), expected, "{screen}");
        }
        assert_eq!(told(&Screen::of(&"x".repeat(10_000))).len(), TOLD_COLUMNS);
        assert!(told(&Screen::of(&"ö".repeat(1000).repeat(9))).chars().count() <= TOLD_MAX);
    }

    #[test]
    fn how_it_ended_is_told_in_words() {
        for (life, expected) in [
            (Life::Running, None),
            (Life::Ended, None),
            (Life::Exited { code: 0 }, Some("it exited")),
            (Life::Exited { code: 3 }, Some("it exited with code 3")),
            (Life::Exited { code: 137 }, Some("it was ended by signal 9")),
            (
                Life::Killed { signal: "KILL".to_owned() },
                Some("what launched it was ended by signal KILL"),
            ),
        ] {
            assert_eq!(how(&life).as_deref(), expected, "{life:?}");
        }
    }
}
