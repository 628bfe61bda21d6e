//! `cmux agent output`: what is on an agent's screen, and what it writes.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use cmux_wire::client::Client;
use serde::Serialize;

use crate::cmd::agent::find::Called;
use crate::fail::Fail;
use crate::say::{Say, clean};
use crate::tame::Tame;

/// Puts a terminal back to what a shell expects: the usual screen and letters, a cursor, no mouse, no
/// brackets around what is pasted.
const RESET: &[u8] =
    b"\x1b[?1049l\x1b[0m\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\r\n";

#[derive(Debug, Args)]
pub(crate) struct Output {
    #[command(flatten)]
    called: Called,
    /// The last so many lines; those on its screen unless it is said
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u32).range(1..=5000))]
    lines: Option<u32>,
    /// Go on and show what it writes as it comes: on a terminal only what draws, else byte for byte
    #[arg(short, long, conflicts_with = "lines")]
    follow: bool,
}

/// What an agent wrote, for a script that follows.
#[derive(Serialize)]
struct Written {
    content: String,
}

impl Output {
    pub(crate) async fn run(self, client: &Client, say: Say) -> Result<(), Fail> {
        let agent = self.called.find(client).await?;
        if self.follow {
            return follow(client, &agent.id, say).await;
        }
        let mut terminal = client.terminal(&agent.id, None, self.lines).await?;
        if let Some(lines) = self.lines {
            terminal.content = last(&terminal.content, lines as usize);
        }
        say.show(&terminal, |it| bare(&it.content))
    }
}

/// Shows what comes from an agent's terminal until it ends, or until the person has seen enough.
async fn follow(client: &Client, id: &str, say: Say) -> Result<(), Fail> {
    let mut terminal = client.follow_terminal(id, None).await?;
    let mut letters = Letters::default();
    // What goes to a file is for a terminal later, or for none.
    let mut tame = io::stdout().is_terminal().then(Tame::default);
    let ended = loop {
        let bytes = tokio::select! {
            bytes = terminal.next() => bytes,
            _ = tokio::signal::ctrl_c() => break Ok(()),
        };
        match bytes {
            Ok(Some(bytes)) if say.json => {
                say.json(&Written { content: letters.take(&bytes) })?;
            }
            Ok(Some(bytes)) => match &mut tame {
                Some(tame) => write(&tame.take(&bytes))?,
                None => write(&bytes)?,
            },
            Ok(None) => break Ok(()),
            Err(error) => break Err(error.into()),
        }
    };
    if io::stdout().is_terminal() && !say.json {
        write(RESET)?;
    }
    terminal.close().await;
    ended
}

/// Writes bytes as they are. Whoever stopped listening has heard enough.
fn write(bytes: &[u8]) -> Result<(), Fail> {
    let mut place = io::stdout().lock();
    match place.write_all(bytes).and_then(|()| place.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        written => written.map_err(|error| Fail::failed(format!("cannot write: {error}"))),
    }
}

/// Makes text of bytes that come in pieces, which may end in the middle of a letter.
#[derive(Default)]
struct Letters {
    begun: Vec<u8>,
}

impl Letters {
    fn take(&mut self, bytes: &[u8]) -> String {
        self.begun.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.begun) {
            // What may still become a letter waits.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => self.begun.len(),
        };
        let rest = self.begun.split_off(whole);
        String::from_utf8_lossy(&std::mem::replace(&mut self.begun, rest)).into_owned()
    }
}

/// Returns the last so many lines of `text`, not counting empty ones at its end.
fn last(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Returns the lines of a screen without colours, nor anything that could play tricks on a terminal.
pub(crate) fn bare(text: &str) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| clean(&uncoloured(line)).trim_end().to_owned()).collect();
    lines.join("\n").trim_end().to_owned()
}

/// Returns `line` without the sequences that tmux writes for colours and the like.
fn uncoloured(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        text += before;
        let end = after.find(|c: char| ('\u{40}'..='\u{7e}').contains(&c));
        rest = end.map_or("", |end| &after[end + 1..]);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_shown_without_colours_and_tricks() {
        for (content, expected) in [
            ("a\nb\n\n\n", "a\nb"),
            ("\u{1b}[1;31mred\u{1b}[0m   \n", "red"),
            ("\u{1b}]0;x\u{7}", "\u{fffd}]0;x\u{fffd}"),
            ("a\u{1b}[3", "a"),
            ("  日本 ", "  日本"),
            ("", ""),
        ] {
            assert_eq!(bare(content), expected, "{content:?}");
        }
    }

    #[test]
    fn the_last_lines_are_those_with_something_on_them() {
        assert_eq!(last("a\nb\nc\n\n\n", 2), "b\nc");
        assert_eq!(last("a\n\nc", 2), "\nc");
        assert_eq!(last("a", 9), "a");
        assert_eq!(last("", 3), "");
    }

    #[test]
    fn a_letter_that_comes_in_two_pieces_is_one() {
        let mut letters = Letters::default();
        let euro = "€".as_bytes();
        assert_eq!(letters.take(&[b"a", &euro[..2]].concat()), "a");
        assert_eq!(letters.take(&[&euro[2..], b"b"].concat()), "€b");
        assert_eq!(letters.take(b"\xffz"), "\u{fffd}z");
        assert_eq!(letters.take(b""), "");
    }
}
