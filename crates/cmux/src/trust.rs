//! Asks the person to trust a project's own files, having shown them as they are: nothing in a file can
//! hide from whoever reads it, or look like a word of cmux's.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::Path;

use cmux_drivers::project_files::{self, Found};
use cmux_wire::client::Client;
use cmux_wire::project::Project;
use cmux_wire::trust::{NewTrust, ShownFile, Standing, Trust};
use rustix::termios::tcgetwinsize;
use unicode_width::UnicodeWidthChar;

use crate::fail::Fail;
use crate::say::{Say, aside, clean, count};

/// How wide a terminal is that does not say, and the least that is believed, in columns.
const WIDTH: usize = 80;
const WIDTH_MIN: usize = 40;

/// How wide what stands before each line is, in columns.
const GUTTER: usize = 7;

/// What came of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// There was nothing to ask: all of it is trusted already.
    Settled,
    Agreed,
    Declined,
    /// There is nobody to ask.
    Nobody,
}

/// Shows the person what of a project's files they do not trust yet, and asks once whether they do;
/// whoever `agreed` beforehand is not asked. Returns what is trusted then.
pub(crate) async fn ask_once(
    client: &Client,
    project: &Project,
    agreed: bool,
    say: Say,
) -> Result<(Trust, Answer), Fail> {
    let trust = client.trust(&project.id).await?;
    let unseen = unseen(project, &trust);
    if unseen.is_empty() && trust.folder {
        return Ok((trust, Answer::Settled));
    }
    if !agreed {
        if say.json || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Ok((trust, Answer::Nobody));
        }
        aside(&shown(project, &unseen, &trust, width()));
        if !asked("Trust this? [y/N] ")? {
            return Ok((trust, Answer::Declined));
        }
    }
    let shown = |(found, _): &(Found, Standing)| ShownFile {
        path: found.file.to_string(),
        digest: found.digest.hex(),
    };
    let new = NewTrust { files: unseen.iter().map(shown).collect(), folder: true };
    Ok((client.trust_project(&project.id, &new).await?, Answer::Agreed))
}

/// Returns how wide the terminal is, in columns.
fn width() -> usize {
    let said = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
    if said == 0 { WIDTH } else { said.max(WIDTH_MIN) }
}

/// Returns the project's files that are not trusted as they are now.
fn unseen(project: &Project, trust: &Trust) -> Vec<(Found, Standing)> {
    let found = project_files::read_all(Path::new(&project.root)).found;
    let standing = |found: &Found| {
        let known = trust.files.iter().find(|it| it.path == found.file.to_string());
        match known.map(|known| (known.standing, known.digest == found.digest.hex())) {
            Some((Standing::Trusted, true)) => Standing::Trusted,
            Some((Standing::Trusted | Standing::Changed, _)) => Standing::Changed,
            Some((Standing::New, _)) | None => Standing::New,
        }
    };
    let stand = found.into_iter().map(|found| {
        let standing = standing(&found);
        (found, standing)
    });
    stand.filter(|(_, standing)| *standing != Standing::Trusted).collect()
}

/// Returns all that the person is to see before they are asked.
fn shown(project: &Project, files: &[(Found, Standing)], trust: &Trust, width: usize) -> String {
    let mut text = String::new();
    let place = format!("{}, in {}", clean(&project.name), clean(&project.root));
    match files {
        [] => text += &format!("This is about {place}.\n"),
        _ => text += &format!("These files of {place}, say how agents are run there:\n"),
    }
    for (found, standing) in files {
        text += &format!("\n{}\n", head(found, *standing));
        for (number, line) in (1..).zip(found.text.split_terminator('\n')) {
            text += &folded(number, line, width);
        }
    }
    for problem in &trust.refused {
        text += &format!("\nnot used: {}\n", clean(problem));
    }
    text += "\nIf you agree:\n";
    for (found, standing) in files {
        text += &format!("- {} is trusted, as it is above\n", head(found, *standing));
    }
    if !trust.folder {
        text +=
            "- agents may tell their CLI that you trust this folder, when it asks at its start\n";
    }
    text + "`cmux project trust --revoke` takes it back."
}

fn head(found: &Found, standing: Standing) -> String {
    let how = match standing {
        Standing::Trusted => "trusted",
        Standing::Changed => "changed since you trusted it",
        Standing::New => "new",
    };
    let lines = found.text.split_terminator('\n').count();
    format!("{} ({how}, {})", found.file, count(lines as i128, "line"))
}

/// Returns a line of a file with its number before it. One that is too long for the terminal is folded here,
/// so that no part of it begins where only cmux writes.
fn folded(number: usize, line: &str, width: usize) -> String {
    let room = width.saturating_sub(GUTTER + 1);
    let mut text = format!("{number:>4} │ ");
    let mut used = 0;
    for letter in line.chars() {
        let seen = visible(letter);
        let needed: usize = seen.chars().filter_map(UnicodeWidthChar::width).sum();
        if used + needed > room {
            text += "\n     ┆ ";
            used = 0;
        }
        text += &seen;
        used += needed;
    }
    text + "\n"
}

/// Returns how a letter is shown: itself, or its number if it would not be seen or would act on a terminal.
fn visible(letter: char) -> String {
    let is_unseen = matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    match letter {
        '\t' => "    ".to_owned(),
        _ if letter.is_control() => format!("\\x{:02x}", u32::from(letter)),
        _ if is_unseen || letter.width() == Some(0) => letter.escape_unicode().to_string(),
        _ => letter.to_string(),
    }
}

/// Asks the person, and returns whether they say yes.
fn asked(question: &str) -> Result<bool, Fail> {
    let mut screen = io::stderr().lock();
    // If it cannot be seen, it can still be answered.
    let _ = screen.write_all(question.as_bytes()).and_then(|()| screen.flush());
    let mut answer = Vec::new();
    let read = io::stdin().lock().take(64).read_until(b'\n', &mut answer);
    read.map_err(|error| Fail::failed(format!("your answer cannot be read: {error}")))?;
    let answer = String::from_utf8_lossy(&answer).trim().to_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn nothing_in_a_file_can_hide_or_act() {
        for (line, expected) in [
            ("plain größer 日本", "plain größer 日本"),
            ("a\u{1b}[2Jb\r", "a\\x1b[2Jb\\x0d"),
            ("\u{9b}31m\u{7f}", "\\x9b31m\\x7f"),
            ("x\u{202e}y\u{200b}z\u{feff}", "x\\u{202e}y\\u{200b}z\\u{feff}"),
            ("e\u{301}\u{e0041}", "e\\u{301}\\u{e0041}"),
            ("\tx", "    x"),
        ] {
            assert_eq!(folded(7, line, 200), format!("   7 │ {expected}\n"));
        }
    }

    #[test]
    fn no_part_of_a_line_begins_where_only_cmux_writes() {
        for line in ["x".repeat(500), "日".repeat(300), "\u{1b}".repeat(99), "\t".repeat(70)] {
            for width in [40, 41, 80] {
                for (n, row) in folded(1, &line, width).lines().enumerate() {
                    assert!(row.width() < width, "{}: {row}", row.width());
                    assert!(row.starts_with(if n == 0 { "   1 │ " } else { "     ┆ " }), "{row}");
                }
            }
        }
    }
}
