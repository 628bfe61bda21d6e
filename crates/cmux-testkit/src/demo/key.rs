//! Keys, as they come out of the bytes that a terminal sends.

/// How long an Esc waits for the rest of a longer key before it is taken for itself.
const ESC_MS: u64 = 50;

/// The longest paste that is taken, in bytes. Half of one could say the opposite of the whole.
const PASTE_MAX: usize = 16 << 20;

/// The longest key that is understood, in bytes.
const KEY_MAX: usize = 32;

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// What was pressed, or pasted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Enter,
    /// Ctrl-J, or Alt with Enter: a new line, and no end.
    Newline,
    /// What came between the brackets, with its lines ended by `\n`.
    Paste(String),
    /// A paste that was too long to be taken.
    TooLong,
    Backspace,
    Delete,
    DeleteWord,
    ClearLine,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    Esc,
    CtrlC,
    CtrlD,
    CtrlL,
    /// One that means nothing here.
    Other,
}

/// What is left of the bytes that were not a whole key yet.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    waiting: Vec<u8>,
    paste: Option<Vec<u8>>,
    fed_at: u64,
}

/// What a few bytes are.
enum Read {
    Key(Key),
    /// An Esc, and the beginning of something else.
    EscFirst,
    PasteBegins,
    More,
}

impl Keys {
    /// Returns the keys that are whole with these bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8], now: u64) -> Vec<Key> {
        self.fed_at = now;
        bytes.iter().filter_map(|&byte| self.take(byte)).collect()
    }

    /// Returns the Esc that nothing has followed, once it is known to stand for itself.
    pub(crate) fn rest(&mut self, now: u64) -> Option<Key> {
        let is_due = self.wake().is_some_and(|at| at <= now);
        is_due.then(|| {
            let was_esc = self.waiting.len() == 1;
            self.waiting.clear();
            if was_esc { Key::Esc } else { Key::Other }
        })
    }

    /// Returns when to ask for the rest, if there is any.
    pub(crate) fn wake(&self) -> Option<u64> {
        let is_esc = self.waiting.first() == Some(&0x1b);
        is_esc.then_some(self.fed_at + ESC_MS)
    }

    fn take(&mut self, byte: u8) -> Option<Key> {
        if let Some(paste) = &mut self.paste {
            paste.push(byte);
            return self.end_of_paste();
        }
        self.waiting.push(byte);
        match read(&self.waiting) {
            Read::Key(key) => {
                self.waiting.clear();
                Some(key)
            }
            Read::EscFirst => {
                self.waiting.remove(0);
                Some(Key::Esc)
            }
            Read::PasteBegins => {
                self.waiting.clear();
                self.paste = Some(Vec::new());
                None
            }
            Read::More => None,
        }
    }

    fn end_of_paste(&mut self) -> Option<Key> {
        let paste = self.paste.as_mut()?;
        if let Some(text) = paste.strip_suffix(PASTE_ENDS) {
            let is_whole = text.len() <= PASTE_MAX;
            let key = if is_whole { Key::Paste(plain(text)) } else { Key::TooLong };
            self.paste = None;
            return Some(key);
        }
        if paste.len() > PASTE_MAX + 2 * PASTE_ENDS.len() {
            // The end is still looked for, and enough is kept to know that it was too long.
            paste.drain(PASTE_MAX..PASTE_MAX + PASTE_ENDS.len());
        }
        None
    }
}

fn read(bytes: &[u8]) -> Read {
    match bytes {
        [0x1b] => Read::More,
        [0x1b, 0x1b] => Read::EscFirst,
        [0x1b, b'\r' | b'\n'] => Read::Key(Key::Newline),
        [0x1b, b'[' | b'O'] => Read::More,
        [0x1b, b'[' | b'O', rest @ ..] => sequence(bytes, rest),
        [0x1b, ..] => Read::Key(Key::Other),
        [byte @ (0..0x20 | 0x7f)] => Read::Key(control(*byte)),
        _ => letter(bytes),
    }
}

fn sequence(bytes: &[u8], rest: &[u8]) -> Read {
    if bytes == PASTE_BEGINS {
        return Read::PasteBegins;
    }
    let is_over = rest.last().is_some_and(|byte| (0x40..=0x7e).contains(byte));
    if !is_over && bytes.len() < KEY_MAX {
        return Read::More;
    }
    Read::Key(match rest {
        b"A" => Key::Up,
        b"B" => Key::Down,
        b"C" => Key::Right,
        b"D" => Key::Left,
        b"H" | b"1~" => Key::Home,
        b"F" | b"4~" => Key::End,
        b"3~" => Key::Delete,
        _ => Key::Other,
    })
}

fn control(byte: u8) -> Key {
    match byte {
        b'\r' => Key::Enter,
        b'\n' => Key::Newline,
        0x08 | 0x7f => Key::Backspace,
        0x01 => Key::Home,
        0x03 => Key::CtrlC,
        0x04 => Key::CtrlD,
        0x05 => Key::End,
        0x0c => Key::CtrlL,
        0x15 => Key::ClearLine,
        0x17 => Key::DeleteWord,
        _ => Key::Other,
    }
}

fn letter(bytes: &[u8]) -> Read {
    match std::str::from_utf8(bytes) {
        Ok(text) => Read::Key(text.chars().next().map_or(Key::Other, Key::Char)),
        Err(error) if error.error_len().is_none() => Read::More,
        Err(_) => Read::Key(Key::Char(char::REPLACEMENT_CHARACTER)),
    }
}

/// Returns pasted bytes as text: lines end in `\n`, tabs become four spaces, as they do in Claude
/// Code, and no other control character is left.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
    let text = text.replace('\t', "    ");
    text.chars().filter(|&letter| letter == '\n' || !letter.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_keys_however_they_are_cut() {
        for (bytes, expected) in [
            (&b"hi\r"[..], &[Key::Char('h'), Key::Char('i'), Key::Enter][..]),
            ("é界🦀".as_bytes(), &[Key::Char('é'), Key::Char('界'), Key::Char('🦀')]),
            (b"\x7f\x15\x03\x04", &[Key::Backspace, Key::ClearLine, Key::CtrlC, Key::CtrlD]),
            (b"\x1b[A\x1bOB\x1b[3~\x1b[1;5C", &[Key::Up, Key::Down, Key::Delete, Key::Other]),
            (b"\x1b\r\n", &[Key::Newline, Key::Newline]),
            (b"\x1b[200~a\rb\x1b[201~\r", &[Key::Paste("a\nb".into()), Key::Enter]),
            (b"\x1b[200~\x1b[A\x03\x1b[201~", &[Key::Paste("[A".into())]),
            (b"\x1b[200~a\tb\r\nc\x1b[201~", &[Key::Paste("a    b\nc".into())]),
            (b"\xff", &[Key::Char('\u{fffd}')]),
        ] {
            check(bytes, expected);
        }
    }

    #[test]
    fn an_esc_stands_for_itself_once_nothing_follows() {
        let mut keys = Keys::default();
        assert_eq!(keys.feed(b"\x1b", 100), []);
        assert_eq!((keys.wake(), keys.rest(100 + ESC_MS - 1)), (Some(100 + ESC_MS), None));
        assert_eq!((keys.rest(100 + ESC_MS), keys.wake()), (Some(Key::Esc), None));
        assert_eq!(keys.feed(b"\x1b\x1b[A", 200), [Key::Esc, Key::Up]);
    }

    #[test]
    fn a_paste_that_is_too_long_is_none_at_all() {
        let mut keys = Keys::default();
        keys.feed(PASTE_BEGINS, 0);
        assert_eq!(keys.feed(&vec![b'x'; PASTE_MAX + 1000], 0), []);
        assert_eq!(keys.feed(b"\x1b[201~y", 0), [Key::TooLong, Key::Char('y')]);
    }

    /// Checks the keys in `bytes`, whole and byte by byte.
    #[track_caller]
    fn check(bytes: &[u8], expected: &[Key]) {
        assert_eq!(Keys::default().feed(bytes, 0), expected);
        let mut keys = Keys::default();
        let one_by_one: Vec<Key> = bytes.iter().flat_map(|&byte| keys.feed(&[byte], 0)).collect();
        assert_eq!(one_by_one, expected);
    }
}
