//! What tmux says in control mode, line by line: answers in blocks, and notices between them.
//!
//! Text of panes stands in a block as it is, so that a line of it may look like the end of one. Only the
//! end that bears the numbers of the beginning is one.

use std::mem;

use super::pane::PaneId;

/// The longest line that is taken, in bytes.
pub const LINE_MAX: usize = 8 << 20;

/// The longest block that is taken, in bytes.
pub const BLOCK_MAX: usize = 64 << 20;

/// The most that is told of a line which cannot be understood, in bytes.
const TOLD_MAX: usize = 100;

/// Something that tmux said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Block(Block),
    Notice(Notice),
}

/// What one command answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub is_error: bool,
    /// Each line with its end.
    pub body: Vec<u8>,
}

/// What tmux tells unasked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A pane's program wrote this.
    Output {
        pane: PaneId,
        bytes: Vec<u8>,
    },
    /// What was subscribed to is now this, for a pane if it is a pane's.
    Changed {
        name: String,
        pane: Option<PaneId>,
        value: String,
    },
    /// A pane's output is held back, as this client is too slow for it.
    Paused {
        pane: PaneId,
    },
    Continued {
        pane: PaneId,
    },
    /// A window has another size, or its panes have.
    Layout,
    /// A window came, went or got another name.
    Windows,
    /// This client is in a session.
    Session {
        name: String,
    },
    /// Nothing more comes.
    Exit {
        why: String,
    },
    /// Something else: a notice of no interest, of a later tmux, or a message.
    Other {
        line: String,
    },
}

/// What could not be understood, from its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Garbled(pub String);

/// Puts together what tmux says out of the bytes as they come.
#[derive(Debug, Default)]
pub struct Parser {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The block that has not ended yet, and the numbers that its end will bear.
    open: Option<(Vec<u8>, Block)>,
}

impl Parser {
    /// Takes the next `bytes`, and adds what they complete to `said`.
    pub fn feed(&mut self, bytes: &[u8], said: &mut Vec<Said>) -> Result<(), Garbled> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let (line, after) = rest.split_at(end);
            self.extend(line)?;
            rest = &after[1..];
            let line = mem::take(&mut self.line);
            self.end_line(&line, said)?;
            // The room is used for the next one.
            self.line = line;
            self.line.clear();
        }
        self.extend(rest)
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), Garbled> {
        if self.line.len() + bytes.len() > LINE_MAX {
            return Err(garbled(&self.line));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, line: &[u8], said: &mut Vec<Said>) -> Result<(), Garbled> {
        let Some((numbers, mut block)) = self.open.take() else {
            if let Some(numbers) = line.strip_prefix(b"%begin ") {
                let block = Block { is_error: false, body: Vec::new() };
                self.open = Some((numbers.to_owned(), block));
            } else {
                said.push(Said::Notice(parse_notice(line)));
            }
            return Ok(());
        };
        let is_end = line.strip_prefix(b"%end ") == Some(&numbers);
        block.is_error = line.strip_prefix(b"%error ") == Some(&numbers);
        if is_end || block.is_error {
            said.push(Said::Block(block));
            return Ok(());
        }
        if block.body.len() + line.len() >= BLOCK_MAX {
            return Err(garbled(line));
        }
        block.body.extend_from_slice(line);
        block.body.push(b'\n');
        self.open = Some((numbers, block));
        Ok(())
    }
}

fn garbled(line: &[u8]) -> Garbled {
    let told = &line[..line.len().min(TOLD_MAX)];
    Garbled(String::from_utf8_lossy(told).replace(|it: char| it.is_control(), " "))
}

/// Returns what a line outside of any block tells. What is not of the known form is kept as it is.
fn parse_notice(line: &[u8]) -> Notice {
    let words = || str::from_utf8(line).ok().map(|line| line.split(' '));
    let pane = || words()?.nth(1)?.parse().ok();
    let known = match line.split(|&byte| byte == b' ').next().unwrap_or_default() {
        b"%output" => parse_output(line),
        b"%extended-output" => parse_extended_output(line),
        b"%subscription-changed" => parse_changed(line),
        b"%pause" => pane().map(|pane| Notice::Paused { pane }),
        b"%continue" => pane().map(|pane| Notice::Continued { pane }),
        b"%window-add" | b"%window-close" | b"%window-renamed" | b"%unlinked-window-close" => {
            Some(Notice::Windows)
        }
        b"%layout-change" => Some(Notice::Layout),
        b"%session-changed" => {
            words().and_then(|mut words| Some(Notice::Session { name: words.nth(2)?.to_owned() }))
        }
        b"%exit" => {
            let why = line.strip_prefix(b"%exit ").unwrap_or_default();
            Some(Notice::Exit { why: text(why) })
        }
        _ => None,
    };
    known.unwrap_or_else(|| Notice::Other { line: text(line) })
}

/// Reads `%output %5 BYTES`.
fn parse_output(line: &[u8]) -> Option<Notice> {
    let mut parts = line.splitn(3, |&byte| byte == b' ').skip(1);
    let pane = str::from_utf8(parts.next()?).ok()?.parse().ok()?;
    Some(Notice::Output { pane, bytes: unescape(parts.next()?) })
}

/// Reads `%extended-output %5 AGE … : BYTES`.
fn parse_extended_output(line: &[u8]) -> Option<Notice> {
    let (head, bytes) = split_value(line)?;
    let pane = str::from_utf8(head).ok()?.split(' ').nth(1)?.parse().ok()?;
    Some(Notice::Output { pane, bytes: unescape(bytes) })
}

/// Reads `%subscription-changed NAME $1 @2 3 %4 … : VALUE`, with `-` for what it is not of.
fn parse_changed(line: &[u8]) -> Option<Notice> {
    let (head, value) = split_value(line)?;
    let mut words = str::from_utf8(head).ok()?.split(' ').skip(1);
    let name = words.next()?.to_owned();
    let pane = words.nth(3).and_then(|pane| pane.parse().ok());
    Some(Notice::Changed { name, pane, value: text(value) })
}

/// Splits a line at the first colon that stands alone.
fn split_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.windows(3).position(|it| it == b" : ");
    if let Some(at) = at {
        return Some((&line[..at], &line[at + 3..]));
    }
    // Nothing may follow it.
    Some((line.strip_suffix(b" :")?, b""))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the bytes that a pane's program wrote: some stand as a backslash and three octal digits.
pub fn unescape(escaped: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((&first, after)) = rest.split_first() {
        let octal = (first == b'\\').then(|| octal(after)).flatten();
        bytes.push(octal.unwrap_or(first));
        rest = if octal.is_some() { &after[3..] } else { after };
    }
    bytes
}

/// Returns the byte that three octal digits stand for.
fn octal(digits: &[u8]) -> Option<u8> {
    digits.get(..3)?.iter().try_fold(0_u8, |number, &digit| {
        let value = digit.checked_sub(b'0').filter(|&it| it < 8)?;
        number.checked_mul(8)?.checked_add(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PANE: PaneId = PaneId(5);

    #[test]
    fn answers_come_in_blocks() {
        check(
            "%begin 17 3 1\none\ntwo\n%end 17 3 1\n%begin 17 4 1\nno\n%error 17 4 1\n",
            &[block(false, "one\ntwo\n"), block(true, "no\n")],
        );
        check("%begin 17 3 1\n%end 17 3 1\n", &[block(false, "")]);
    }

    #[test]
    fn text_in_a_block_cannot_end_it() {
        let body = "%end 17 2 1\n%error 17 3\n%begin 17 3 1\n%end 17 3 10\n %end 17 3 1\n%exit\n\n";
        check(&format!("%begin 17 3 1\n{body}%end 17 3 1\n"), &[block(false, body)]);
    }

    #[test]
    fn notices_are_read() {
        let changed = |name: &str, pane, value: &str| Notice::Changed {
            name: name.into(),
            pane,
            value: value.into(),
        };
        let other = |line: &str| Notice::Other { line: line.into() };
        for (line, expected) in [
            ("%output %5 a\\033[1m\\134\\015\\012", output(b"a\x1b[1m\\\r\n")),
            ("%output %5 ", output(b"")),
            ("%output %5 a : b", output(b"a : b")),
            ("%extended-output %5 12 : a : b", output(b"a : b")),
            ("%extended-output %5 12 : ", output(b"")),
            ("%extended-output %5 12 new things : x", output(b"x")),
            ("%subscription-changed t $0 @1 2 %5 : a : b", changed("t", Some(PANE), "a : b")),
            ("%subscription-changed t $0 @1 2 %5 : ", changed("t", Some(PANE), "")),
            ("%subscription-changed t $0 - - - : x", changed("t", None, "x")),
            ("%pause %5", Notice::Paused { pane: PANE }),
            ("%continue %5", Notice::Continued { pane: PANE }),
            ("%window-close @3", Notice::Windows),
            ("%layout-change @3 c9de,91x17,0,0,5 c9de,91x17,0,0,5 *", Notice::Layout),
            ("%session-changed $0 cmux", Notice::Session { name: "cmux".into() }),
            ("%exit", Notice::Exit { why: String::new() }),
            ("%exit too far behind", Notice::Exit { why: "too far behind".into() }),
            ("%sessions-changed", other("%sessions-changed")),
            ("%output", other("%output")),
            ("%output five x", other("%output five x")),
            ("%output %5", other("%output %5")),
            ("%pause 5", other("%pause 5")),
            ("%end 17 3 1", other("%end 17 3 1")),
            ("/a: No such file or directory", other("/a: No such file or directory")),
            ("", other("")),
        ] {
            check(&format!("{line}\n"), &[Said::Notice(expected)]);
        }
    }

    #[test]
    fn only_what_is_octal_is_unescaped() {
        for (escaped, expected) in [
            (&b"\\000\\377"[..], &b"\x00\xff"[..]),
            (b"\\400", b"\\400"),
            (b"\\08", b"\\08"),
            (b"\\12", b"\\12"),
            (b"\\", b"\\"),
            (b"\\\\134", b"\\\\"),
            (b"\xc3\xa9", b"\xc3\xa9"),
        ] {
            assert_eq!(unescape(escaped), expected, "{escaped:?}");
        }
    }

    #[test]
    fn a_line_or_block_without_end_is_not_kept() {
        let mut said = Vec::new();
        let mut parser = Parser::default();
        let chunk = vec![b'x'; LINE_MAX / 4];
        let fed: Vec<_> = (0..6).map(|_| parser.feed(&chunk, &mut said).is_ok()).collect();
        assert_eq!(fed, [true, true, true, true, false, false]);

        let mut parser = Parser::default();
        parser.feed(b"%begin 1 2 3\n", &mut said).unwrap();
        let line = [&vec![b'x'; BLOCK_MAX / 16][..], b"\n"].concat();
        let fits = (0..20).take_while(|_| parser.feed(&line, &mut said).is_ok()).count();
        assert_eq!((fits, said.len()), (15, 0));
    }

    proptest! {
        /// Whatever comes, and however it is cut, the same is made of it, without a panic.
        #[test]
        fn where_the_bytes_are_cut_does_not_matter(
            pieces in prop::collection::vec(piece(), 0..30),
            cut in 1_usize..40,
        ) {
            let bytes = pieces.concat();
            let (mut whole, mut cut_up) = (Vec::new(), Vec::new());
            Parser::default().feed(&bytes, &mut whole).unwrap();
            let mut parser = Parser::default();
            for part in bytes.chunks(cut) {
                parser.feed(part, &mut cut_up).unwrap();
            }
            prop_assert_eq!(whole, cut_up);
        }

        #[test]
        fn what_was_escaped_is_read_back(bytes in any::<Vec<u8>>()) {
            let escape = |&byte: &u8| match byte {
                0..0x20 | b'\\' => format!("\\{byte:03o}").into_bytes(),
                _ => vec![byte],
            };
            let escaped: Vec<u8> = bytes.iter().flat_map(escape).collect();
            prop_assert_eq!(unescape(&escaped), bytes);
        }
    }

    /// Makes up what tmux might say, and what it would not.
    fn piece() -> impl Strategy<Value = Vec<u8>> {
        let known = prop::sample::select(vec![
            &b"%begin 1 2 1\n"[..],
            b"%end 1 2 1\n",
            b"%error 1 2 1\n",
            b"%output %5 \\033x\n",
            b"%extended-output %5 1 : x\n",
            b"%subscription-changed a $1 @1 1 %1 : x\n",
            b"%exit\n",
            b"\n",
            b" : ",
            b"%",
        ]);
        prop_oneof![known.prop_map(<[u8]>::to_vec), any::<Vec<u8>>()]
    }

    /// Checks what is made of `text`.
    #[track_caller]
    fn check(text: &str, expected: &[Said]) {
        let mut said = Vec::new();
        Parser::default().feed(text.as_bytes(), &mut said).unwrap();
        assert_eq!(said, expected);
    }

    fn block(is_error: bool, body: &str) -> Said {
        Said::Block(Block { is_error, body: body.as_bytes().to_vec() })
    }

    fn output(bytes: &[u8]) -> Notice {
        Notice::Output { pane: PANE, bytes: bytes.to_vec() }
    }
}
