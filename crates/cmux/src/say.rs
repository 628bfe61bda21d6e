//! What is said to people and to scripts.
//!
//! People get aligned text, coloured only on a terminal; scripts get JSON. Both come through here.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use cmux_wire::usage::Dollars;
use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::fail::Fail;

/// How this command speaks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Say {
    pub(crate) json: bool,
    colour: bool,
}

/// What a piece of text is, for its colour.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tone {
    Plain,
    Strong,
    Faint,
    Good,
    Warning,
    Bad,
}

/// A piece of text in a tone.
pub(crate) type Cell = (String, Tone);

impl Say {
    pub(crate) fn new(json: bool) -> Say {
        Say { json, colour: !json && is_colourful(&io::stdout()) }
    }

    /// Says `document` to a script, or what `tell` says of it to a person.
    pub(crate) fn show<T: Serialize>(
        self,
        document: &T,
        tell: impl FnOnce(&T) -> String,
    ) -> Result<(), Fail> {
        if self.json { self.json(document) } else { self.line(tell(document).trim_end()) }
    }

    /// Says one JSON document on a line of its own.
    pub(crate) fn json(self, document: &impl Serialize) -> Result<(), Fail> {
        let text = serde_json::to_string(document);
        self.line(&text.map_err(|error| Fail::failed(error.to_string()))?)
    }

    /// Says a line. Whoever stopped listening, as `head` does, has heard enough.
    pub(crate) fn line(self, line: &str) -> Result<(), Fail> {
        match writeln!(io::stdout().lock(), "{line}") {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
            said => said.map_err(|error| Fail::failed(format!("cannot write: {error}"))),
        }
    }

    pub(crate) fn paint(self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Plain => "",
            Tone::Strong => "1",
            Tone::Faint => "2",
            Tone::Good => "32",
            Tone::Warning => "33",
            Tone::Bad => "31",
        };
        if self.colour && !code.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// Returns `rows` with their columns aligned.
    pub(crate) fn table(self, rows: &[Vec<Cell>]) -> String {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|(text, _)| text.width()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut table = String::new();
        for row in rows {
            let mut line = String::new();
            for (column, (text, tone)) in row.iter().enumerate() {
                line += &self.paint(text, *tone);
                if column + 1 < row.len() {
                    line += &" ".repeat(widths[column] - text.width() + 2);
                }
            }
            table += line.trim_end();
            table.push('\n');
        }
        table
    }
}

/// Says what went wrong and what to do about it, on standard error.
pub(crate) fn say_error(fail: &Fail) {
    let say = Say { json: false, colour: is_colourful(&io::stderr()) };
    let what: Vec<String> = fail.what.lines().map(clean).collect();
    aside(&format!("{} {}", say.paint("error:", Tone::Bad), what.join("\n")));
    if let Some(hint) = &fail.hint {
        aside(&format!("  {}", clean(hint)));
    }
}

/// Says something besides the answer, on standard error. If nobody can hear it, nobody does.
pub(crate) fn aside(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Returns whether what is written to `place` may be coloured.
fn is_colourful(place: &impl IsTerminal) -> bool {
    let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = env::var_os("TERM").is_some_and(|value| value == "dumb");
    !refused && !is_dumb && place.is_terminal()
}

/// Returns a cell of plain text.
pub(crate) fn plain(text: impl Into<String>) -> Cell {
    (clean(&text.into()), Tone::Plain)
}

/// Returns a cell in a tone.
pub(crate) fn toned(text: impl Into<String>, tone: Tone) -> Cell {
    (clean(&text.into()), tone)
}

/// Returns `text` with a mark in the place of whatever could move the cursor, change colours, turn letters
/// around, or be there without being seen.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if is_unseen(c) { '\u{fffd}' } else { c }).collect()
}

/// Returns whether a terminal does something at `letter`, or shows nothing.
fn is_unseen(letter: char) -> bool {
    match letter {
        // Which way letters run, and what is there for that.
        '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' => {
            true
        }
        // Ends of lines, and what has no width. Letters are joined by U+200C and U+200D in some scripts, but
        // what is told apart by them alone looks the same.
        '\u{2028}'..='\u{2029}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' => true,
        '\u{ad}' | '\u{34f}' | '\u{180b}'..='\u{180f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' => {
            true
        }
        // Blanks that are letters to whoever compares them.
        '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{3164}' | '\u{ffa0}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        // Tags, and how a letter is to be drawn, as many as one likes: whole texts were hidden in these. The
        // two that say whether a sign is drawn in colour are left.
        '\u{fe00}'..='\u{fe0d}' | '\u{e0000}'..='\u{e0fff}' => true,
        letter => letter.is_control(),
    }
}

/// Returns as much of `text` as there is room for, with a mark where it was cut.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let fits = |c: &char| {
        let taken = c.width().unwrap_or(0);
        let fits = taken <= room;
        room = room.saturating_sub(taken);
        fits
    };
    let kept: String = text.chars().take_while(fits).collect();
    if width == 0 { String::new() } else { format!("{}…", kept.trim_end()) }
}

/// Returns how many columns the terminal at `place` has, if it is one and tells.
pub(crate) fn width(place: &impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(place).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Returns how long so many milliseconds are, in the unit that suits them.
pub(crate) fn span(millis: i64) -> String {
    let seconds = millis.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        172_800.. => format!("{} days", seconds / 86_400),
        ..0 => String::new(),
    }
}

/// Returns a number of things, such as `1 event` or `2 events`.
pub(crate) fn count(number: impl Into<i128>, thing: &str) -> String {
    match number.into() {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

/// Returns a number of things in thousands or millions, if there are that many.
pub(crate) fn thousands(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{}.{}k", number / 1_000, number % 1_000 / 100),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// Returns an amount of money to the cent, and what is less than one as such.
pub(crate) fn dollars(amount: Dollars) -> String {
    const CENT: u64 = 10_000_000;
    match amount.nanos() {
        1..CENT => "<$0.01".to_owned(),
        nanos => {
            let cents = nanos.saturating_add(CENT / 2) / CENT;
            format!("${}.{:02}", cents / 100, cents % 100)
        }
    }
}

/// Returns so many bytes in the unit that suits them.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} KB", bytes / 1000),
        10_000_000..10_000_000_000 => format!("{} MB", bytes / 1_000_000),
        10_000_000_000.. => format!("{} GB", bytes / 1_000_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_what_is_seen() {
        let say = Say { json: false, colour: false };
        let table = say.table(&[
            vec![plain("a"), plain("bc")],
            vec![plain("日本"), plain("d")],
            vec![plain("x\u{1b}[1m"), plain("")],
        ]);
        assert_eq!(table, "a      bc\n日本   d\nx\u{fffd}[1m\n");
    }

    #[test]
    fn nothing_in_a_text_can_play_tricks_on_a_terminal() {
        for trick in [
            "\u{1b}]0;x\u{7}",
            "a\r\nb",
            "\u{9b}31m",
            "\u{7f}",
            "\u{202e}cba",
            "\u{2066}",
            "a\u{200b}b",
            "a\u{200d}b",
            "\u{feff}",
            "\u{ad}",
            "\u{2028}",
            "\u{3164}",
            "\u{e0041}\u{e007f}",
            "a\u{fe00}",
            "a\u{e0100}",
        ] {
            let shown = clean(trick);
            assert!(shown.contains('\u{fffd}'), "{shown:?}");
            assert_eq!(shown.chars().count(), trick.chars().count());
        }
        for plain in ["#{pane_pid} größer 日本 '\"`$(x)", "✔\u{fe0f} 🇩🇪 e\u{301} 한글 हिन्दी"]
        {
            assert_eq!(clean(plain), plain);
        }
    }

    #[test]
    fn what_has_no_room_is_cut_where_it_can_be_seen() {
        for (text, width, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("a bcd", 3, "a…"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
            ("", 0, ""),
        ] {
            assert_eq!(cut(text, width), expected, "{text} in {width}");
        }
    }

    #[test]
    fn spans_and_sizes_are_short() {
        assert_eq!([span(-5), span(59_999), span(61_000)], ["0 s", "59 s", "1 min"]);
        assert_eq!([span(7_200_000), span(200_000_000)], ["2 h", "2 days"]);
        assert_eq!([count(0, "event"), count(1, "event")], ["0 events", "1 event"]);
        assert_eq!([size(512), size(20_000), size(50_000_000)], ["512 B", "20 KB", "50 MB"]);
    }
}
