//! What an agent writes to its terminal, made fit for the person's: letters, colours and where they stand,
//! and nothing that a terminal answers, keeps or passes on.

/// How long a sequence may be, in bytes. A longer one is dropped.
const SEQUENCE_MAX: usize = 64;

/// Lets through what only draws.
#[derive(Debug, Default)]
pub(crate) struct Tame {
    state: State,
    /// The sequence that has begun.
    begun: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After an escape.
    Escape,
    /// In a control sequence, up to its last letter.
    Control,
    /// In a text that is meant for the terminal itself, up to its end.
    Meant,
    /// After an escape in such a text.
    MeantEscape,
    /// After the first byte of a letter of two bytes, which may be a control character.
    Wide,
}

impl Tame {
    /// Returns what of `bytes` only draws. A sequence may come in pieces.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut tame = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            self.step(byte, &mut tame);
        }
        tame
    }

    fn step(&mut self, byte: u8, tame: &mut Vec<u8>) {
        self.state = match (self.state, byte) {
            (State::Text, 0x1b) => self.begin(byte, State::Escape),
            (State::Text, 0xc2) => self.begin(byte, State::Wide),
            (State::Text, b'\n' | b'\r' | b'\t' | 0x08) => pass(byte, tame),
            (State::Text, 0..0x20 | 0x7f) => State::Text,
            (State::Text, byte) => pass(byte, tame),
            // Control characters of their own: they begin what two others do.
            (State::Wide, 0x80..=0x9f) => State::Text,
            (State::Wide, byte) => {
                tame.extend([0xc2, byte]);
                State::Text
            }
            (State::Escape, b'[') => self.go_on(byte, State::Control),
            (State::Escape, b']' | b'P' | b'_' | b'^' | b'X') => State::Meant,
            // Where the cursor was, and how letters are drawn.
            (State::Escape, b'7' | b'8' | b'D' | b'E' | b'M' | b'=' | b'>') => {
                tame.extend([0x1b, byte]);
                State::Text
            }
            (State::Escape, b'(' | b')') => State::Escape,
            (State::Escape, 0x1b) => self.begin(byte, State::Escape),
            (State::Escape, _) => State::Text,
            (State::Control, 0x40..=0x7e) => {
                self.begun.push(byte);
                if draws(&self.begun) {
                    tame.append(&mut self.begun);
                }
                State::Text
            }
            (State::Control, 0x1b) => self.begin(byte, State::Escape),
            (State::Control, 0x20..=0x3f) => self.go_on(byte, State::Control),
            (State::Control, _) => State::Text,
            (State::Meant, 0x07) => State::Text,
            (State::Meant, 0x1b) => State::MeantEscape,
            (State::Meant, _) => State::Meant,
            (State::MeantEscape, b'\\') => State::Text,
            (State::MeantEscape, 0x1b) => State::MeantEscape,
            (State::MeantEscape, _) => State::Meant,
        };
    }

    fn begin(&mut self, byte: u8, state: State) -> State {
        self.begun.clear();
        self.begun.push(byte);
        state
    }

    fn go_on(&mut self, byte: u8, state: State) -> State {
        // One that is too long draws nothing.
        if self.begun.len() <= SEQUENCE_MAX {
            self.begun.push(byte);
        }
        state
    }
}

fn pass(byte: u8, tame: &mut Vec<u8>) -> State {
    tame.push(byte);
    State::Text
}

/// Returns whether a whole control sequence only draws: it moves the cursor, clears, scrolls, or sets how
/// letters look. Of the terminal's modes, only those of drawing are its business.
fn draws(sequence: &[u8]) -> bool {
    let Some((last, rest)) = sequence.split_last() else { return false };
    if rest.len() > SEQUENCE_MAX {
        return false;
    }
    let inner = rest.get(2..).unwrap_or_default();
    let is_plain = inner.iter().all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'));
    match last {
        b'A'..=b'H'
        | b'J'..=b'M'
        | b'P'
        | b'S'
        | b'T'
        | b'X'
        | b'@'
        | b'`'
        | b'a'
        | b'd'..=b'g'
        | b'm'
        | b'r'
        | b's'
        | b'u' => is_plain,
        // The cursor, wrapping, and the other screen.
        b'h' | b'l' => matches!(inner, b"?7" | b"?25" | b"?47" | b"?1047" | b"?1049" | b"?2026"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_draws_passes_and_what_a_terminal_would_act_on_does_not() {
        for (written, expected) in [
            ("plain ü\r\n\tx", "plain ü\r\n\tx"),
            ("\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m"),
            ("\x1b[2J\x1b[H\x1b[10;5H", "\x1b[2J\x1b[H\x1b[10;5H"),
            ("\x1b[?1049h\x1b[?25l", "\x1b[?1049h\x1b[?25l"),
            ("a\x1b]52;c;aGk=\x07b", "ab"),
            ("a\x1b]0;title\x1b\\b", "ab"),
            ("a\x1bP$qm\x1b\\b", "ab"),
            ("a\x1b_x\x1b\\b\x1b^y\x1b\\c\x1bXz\x1b\\d", "abcd"),
            ("a\x1b[6nb\x1b[cc\x1b[>cd\x1b[14te\x1b[?25$pf", "abcdef"),
            ("a\x1b[?1000hb\x1b[?2004hc\x1b[5id\x1b[!pe", "abcde"),
            ("a\x07b\x00c\x0ed\x7fe", "abcde"),
            ("a\u{9d}52;c;x\u{9c}b\u{9b}6n", "a52;c;xb6n"),
            ("a\x1bcb\x1b(Bc", "abc"),
            ("a\x1b[\x1b[6nb", "ab"),
        ] {
            let tame = Tame::default().take(written.as_bytes());
            assert_eq!(String::from_utf8_lossy(&tame), expected, "{written:?}");
        }
        let long = format!("a\x1b[{}mb", "1;".repeat(100));
        assert_eq!(Tame::default().take(long.as_bytes()), b"ab");
    }

    #[test]
    fn a_sequence_may_come_in_pieces() {
        let written = "x\x1b]52;c;aGk=\x07\x1b[1my\x1b[6nz".as_bytes();
        for cut in 0..written.len() {
            let mut tame = Tame::default();
            let mut all = tame.take(&written[..cut]);
            all.extend(tame.take(&written[cut..]));
            assert_eq!(String::from_utf8_lossy(&all), "x\x1b[1myz", "{cut}");
        }
    }
}
