//! The text of a delivery: who says what, so that nothing in a body can pass for it, end the paste, or press
//! a key.
//!
//! The normal form of a body that is typed: ends of lines are `\n`; every other control character but the
//! tab is left out; a line that looks like a header has a `\` before it; blanks at the end are left out. A
//! body that is too long is in a file as it was sent, and the text names it.

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
            _ => format!("\n\n{HEAD}from {from} · {kind} · {message}]\n"),
        };
        text += &match part.body {
            Said::Text(body) => normal(body),
            Said::File { path, bytes, sha256 } => format!(
                "The message is long ({bytes} bytes, sha256 {}). It is in this file; read it there:\n{path}",
                sha256.hex()
            ),
        };
    }
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

/// Returns what a text is known by, however a CLI breaks its lines and draws its blanks.
pub fn print_of(text: &str) -> Digest {
    let squeezed: String =
        text.chars().filter(|it| !it.is_whitespace() && !it.is_control()).collect();
    Digest::of(squeezed.as_bytes())
}

/// Returns a body in its normal form.
pub fn normal(body: &str) -> String {
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

/// Returns whether a line could be taken for a header, whatever blanks and marks nobody sees are in it.
fn looks_like_a_header(line: &str) -> bool {
    let mut seen = line.chars().filter(|it| it.is_ascii_graphic() || it.is_alphanumeric());
    let head: String = seen.by_ref().take(HEAD.len() - 1).collect();
    head.eq_ignore_ascii_case(HEAD.trim_end())
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
    400 + usize::try_from(bytes).unwrap_or(usize::MAX).min(TYPED_MAX)
}
