//! The lines of a file, the last one first, as far as a look may go.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// How much is read at once, and by one look, in bytes.
const CHUNK: u64 = 256 << 10;
pub(super) const LOOK_MAX: u64 = 8 << 20;

/// The longest line that is read, in bytes. One look has room for one.
pub(super) const LINE_MAX: usize = 4 << 20;

/// A file, read from its end.
pub(super) struct Back {
    file: File,
    /// What was read and not told yet, and where in the file it begins.
    buffer: Vec<u8>,
    start: u64,
    /// How much may still be read.
    left: u64,
}

/// What comes before.
pub(super) enum Step {
    /// A whole line, which is from the byte `at` to before the byte `end`.
    Line { at: u64, end: u64, bytes: Vec<u8> },
    /// What is no whole line: it is half written, or too long.
    Passed,
    /// So much was read that the rest is for another look, which goes on before this byte.
    Tired { end: u64 },
    /// Nothing: this is the beginning.
    Start,
}

impl Back {
    /// Returns the lines of `file` before the byte `end`.
    pub(super) fn from(file: File, end: u64) -> Back {
        Back { file, buffer: Vec::new(), start: end, left: LOOK_MAX }
    }

    pub(super) fn previous(&mut self) -> io::Result<Step> {
        // How much at the end of the buffer is known to have no other line in it.
        let mut known = 1;
        loop {
            let end = self.start + self.buffer.len() as u64;
            if end == 0 {
                return Ok(Step::Start);
            }
            let unknown = self.buffer.len().saturating_sub(known);
            if let Some(at) = self.buffer[..unknown].iter().rposition(|&byte| byte == b'\n') {
                return Ok(self.take(at + 1));
            }
            if self.start == 0 {
                return Ok(self.take(0));
            }
            known = self.buffer.len().max(1);
            if self.buffer.len() > LINE_MAX {
                // What is before it is the rest of the same line, and is passed over without its end.
                self.buffer.clear();
                known = 0;
            }
            if self.left == 0 {
                return Ok(Step::Tired { end: self.start + self.buffer.len() as u64 });
            }
            self.fill()?;
        }
    }

    /// Takes the line that begins at this place of the buffer and goes to its end.
    fn take(&mut self, from: usize) -> Step {
        let bytes = self.buffer.split_off(from);
        let at = self.start + from as u64;
        match bytes.last() {
            Some(b'\n') => Step::Line { at, end: at + bytes.len() as u64, bytes },
            Some(_) | None => Step::Passed,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let length = CHUNK.min(self.start).min(self.left);
        let mut chunk = vec![0; usize::try_from(length).unwrap_or(0)];
        self.file.read_exact_at(&mut chunk, self.start - length)?;
        self.start -= length;
        self.left -= length;
        chunk.append(&mut self.buffer);
        self.buffer = chunk;
        Ok(())
    }
}
