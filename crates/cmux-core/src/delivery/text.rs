//! The text of a delivery: who says what, so that nothing in a body can pass for it, end the paste, or press
//! a key.
//!
//! Each message has a header, and each header the id of the delivery: nobody knows it before the text is made,
//! so that no body that was written before can have it. Only the first begins with it, as it is what a whole
//! text is known by.
//!
//! The normal form of a body that is typed: ends of lines are `\n`; every other control character but the
//! tab is left out; a line that looks like a header has a `\` before it; an `@` before a `/`, `~`, `.`, `\` or a
//! quote has a blank after it, as CLIs would attach the file that is named so without asking; blanks at the
//! end are left out. A body that is too long is in a file as it was sent, and the text names it.

use unicode_normalization::UnicodeNormalization;

use crate::digest::Digest;
use crate::id::{DeliveryId, MessageId};
use crate::message::{MessageKind, TYPED_MAX};

/// What every header begins with.
pub const HEAD: &str = "[cmux ";

/// The last line of a text that would end in what a prompt takes for something else.
const END: &str = "[end]";

/// The longest name of a sender in a header, in characters.
const NAME_MAX: usize = 80;

/// One message of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    pub id: MessageId,
    pub from: &'a str,
    pub kind: MessageKind,
    pub body: Said<'a>,
}

/// What a message says, or where that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said<'a> {
    Text(&'a str),
    File { path: &'a str, bytes: u64, sha256: Digest },
}

/// Returns what is typed.
pub fn text(id: DeliveryId, parts: &[Part<'_>]) -> String {
    let mut text = String::new();
    for (number, part) in parts.iter().enumerate() {
        let (from, kind, message) = (name(part.from), part.kind.name(), part.id);
        text += &match number {
            0 => format!("{HEAD}{id} from {from} · {kind} · {message}]\n"),
            _ => format!("\n\n{HEAD}and {id} from {from} · {kind} · {message}]\n"),
        };
        text += &match part.body {
            Said::Text(body) => normal(body),
            Said::File { path, bytes, sha256 } => format!(
                "The message is long ({bytes} bytes, sha256 {}). It is in this file; read it there:\n{}",
                sha256.hex(),
                in_lines(path)
            ),
        };
    }
    text.truncate(text.trim_end().len());
    if ends_badly(&text) {
        text = format!("{text}\n{END}");
    }
    text
}

/// Returns the delivery that a prompt says it is.
pub fn delivery_of(prompt: &str) -> Option<DeliveryId> {
    let rest = prompt.trim_start().strip_prefix(HEAD)?;
    rest.split(' ').next()?.parse().ok()
}

/// Returns the messages that a prompt says are in it, by the headers of its delivery.
pub fn messages_of(prompt: &str) -> Vec<MessageId> {
    let Some(delivery) = delivery_of(prompt) else { return Vec::new() };
    let id = format!("{delivery} ");
    let named = |line: &str| {
        let head = line.trim().strip_prefix(HEAD)?.strip_suffix(']')?;
        let rest = head.strip_prefix("and ").unwrap_or(head).strip_prefix(&id)?;
        rest.rsplit(" · ").next()?.parse().ok()
    };
    prompt.lines().filter_map(named).collect()
}

/// Returns what a text is known by, however a CLI breaks its lines, draws its blanks and composes its accents.
pub fn print_of(text: &str) -> Digest {
    Digest::of(letters(text).collect::<String>().as_bytes())
}

/// Returns how many letters of a text its print is of.
pub fn letters_of(text: &str) -> usize {
    letters(text).count()
}

/// Returns whether the first `count` letters of `text` are those that this is the print of.
pub fn begins_with(text: &str, count: usize, print: Digest) -> bool {
    let first: String = letters(text).take(count).collect();
    Digest::of(first.as_bytes()) == print
}

fn letters(text: &str) -> impl Iterator<Item = char> {
    // A line may be broken between a letter and its accent.
    text.chars().filter(|it| !it.is_whitespace() && !it.is_control()).nfc()
}

/// Returns a body in its normal form.
pub fn normal(body: &str) -> String {
    let mut text = String::with_capacity(body.len());
    let mut before = None;
    for letter in in_lines(body).chars() {
        if before == Some('@') && matches!(letter, '/' | '~' | '.' | '\\' | '"' | '\'' | '`') {
            text.push(' ');
        }
        text.push(letter);
        before = Some(letter);
    }
    text
}

/// Returns a text in lines that end no paste and pass for no header.
fn in_lines(body: &str) -> String {
    let mut text = String::with_capacity(body.len());
    let body = body.replace("\r\n", "\n").replace(['\r', '\u{2028}', '\u{2029}', '\u{85}'], "\n");
    for (number, line) in body.split('\n').enumerate() {
        if number > 0 {
            text.push('\n');
        }
        let line: String = line.chars().filter(|&it| it == '\t' || !it.is_control()).collect();
        if looks_like_a_header(&line) {
            text.push('\\');
        }
        text += &line;
    }
    text.truncate(text.trim_end().len());
    text
}

/// Returns whether a line could be taken for a header, whatever blanks, marks and letters of others are in it.
fn looks_like_a_header(line: &str) -> bool {
    let head = HEAD.trim_end();
    // What is not plain is read as what it looks like by one reader, and passed over by another.
    let like: String = line.chars().filter_map(plain).take(head.len()).collect();
    let bare: String = line.chars().filter(char::is_ascii_graphic).take(head.len()).collect();
    like.eq_ignore_ascii_case(head) || bare.eq_ignore_ascii_case(head)
}

/// Returns the letter or sign of a header that `seen` is, or looks like; nothing for what no header has.
fn plain(seen: char) -> Option<char> {
    let of = |code: u32| char::from_u32(code);
    match seen {
        '!'..='~' => Some(seen),
        // As wide as two letters.
        '\u{ff01}'..='\u{ff5e}' => of(u32::from(seen) - 0xff01 + 0x21),
        // Bold, italic and other letters of formulas: an alphabet of capital letters, one of small ones.
        '\u{1d400}'..='\u{1d6a3}' => match (u32::from(seen) - 0x1d400) % 52 {
            capital @ 0..26 => of(0x41 + capital),
            small => of(0x61 + small - 26),
        },
        // In circles.
        '\u{24b6}'..='\u{24cf}' => of(u32::from(seen) - 0x24b6 + 0x41),
        '\u{24d0}'..='\u{24e9}' => of(u32::from(seen) - 0x24d0 + 0x61),
        '\u{2045}' | '\u{27e6}' | '\u{2772}' | '\u{3010}' | '\u{3014}' | '\u{3016}'
        | '\u{3018}' | '\u{301a}' | '\u{fe47}' => Some('['),
        // Cyrillic, Greek and small capitals, and what else is drawn as the same.
        '\u{441}' | '\u{421}' | '\u{3f2}' | '\u{3f9}' | '\u{1d04}' | '\u{217d}' => Some('c'),
        '\u{43c}' | '\u{41c}' | '\u{39c}' | '\u{1d0d}' | '\u{217f}' => Some('m'),
        '\u{3c5}' | '\u{57d}' | '\u{1d1c}' | '\u{28b}' => Some('u'),
        '\u{445}' | '\u{425}' | '\u{3c7}' | '\u{3a7}' | '\u{d7}' | '\u{2179}' => Some('x'),
        _ => None,
    }
}

/// Returns whether a prompt would take the end of `text` for something else: a `\` for a line that goes on,
/// a word with an `@` for a file that is to be chosen.
fn ends_badly(text: &str) -> bool {
    let word = text.rsplit(|it: char| it.is_whitespace()).next().unwrap_or_default();
    text.ends_with('\\') || word.contains('@') || word.starts_with(['/', '#'])
}

/// Returns how a sender is called in one line, whatever they call themselves.
fn name(from: &str) -> String {
    let is_plain =
        |it: &char| !it.is_control() && !matches!(it, '[' | ']' | '·') && !it.is_whitespace();
    from.chars().filter(is_plain).take(NAME_MAX).collect()
}

/// How long a part is at most, in bytes, apart from the path in it.
pub(crate) fn room_for(bytes: u64) -> usize {
    450 + usize::try_from(bytes).unwrap_or(usize::MAX).min(TYPED_MAX)
}
