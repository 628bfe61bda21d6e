//! The painter: turns what is to be seen into the bytes that make a terminal show it.
//!
//! What was said scrolls away above, as in Claude Code without its alternate screen; only the bottom is
//! painted again and again.

use std::collections::VecDeque;
use std::fmt::Write;

use super::screen::{Frame, Said, Size};

/// How much of what was said is kept, to be shown again in a pane of another size.
const KEPT: usize = 200;

/// What stands on the terminal.
#[derive(Debug)]
pub(crate) struct Painter {
    size: Size,
    said: VecDeque<Said>,
    /// Nothing is there, or it lies where the new size has moved it.
    is_stale: bool,
    frame: Frame,
    /// Whether nothing is drawn dim.
    plain: bool,
}

impl Painter {
    pub(crate) fn new(size: Size, plain: bool) -> Painter {
        Painter { size, said: VecDeque::new(), is_stale: true, frame: Frame::default(), plain }
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    pub(crate) fn resize(&mut self, size: Size) {
        self.size = size;
        self.is_stale = true;
    }

    /// Whether `frame` is what stands at the bottom.
    pub(crate) fn shows(&self, frame: &Frame) -> bool {
        !self.is_stale && self.frame == *frame
    }

    /// Sees to it that all is painted again.
    pub(crate) fn forget(&mut self) {
        self.is_stale = true;
    }

    /// Returns the bytes that show what was said since, and `frame` below it.
    pub(crate) fn paint(&mut self, said: Vec<Said>, frame: Frame) -> String {
        if said.is_empty() && self.shows(&frame) {
            return String::new();
        }
        let mut bytes = String::from("\x1b[?25l");
        let lines: Vec<String> = if self.is_stale {
            self.said.extend(said);
            bytes.push_str("\x1b[H\x1b[2J");
            let all: Vec<String> =
                self.said.iter().flat_map(|said| said.lines(self.size.cols)).collect();
            let room = self.size.rows.saturating_sub(frame.lines.len());
            all[all.len().saturating_sub(room)..].to_vec()
        } else {
            up(&mut bytes, self.frame.row);
            bytes.push_str("\r\x1b[J");
            let lines = said.iter().flat_map(|said| said.lines(self.size.cols)).collect();
            self.said.extend(said);
            lines
        };
        while self.said.len() > KEPT {
            self.said.pop_front();
        }
        for line in &lines {
            bytes.push_str(line);
            bytes.push_str("\r\n");
        }
        self.draw(&mut bytes, &frame);
        self.is_stale = false;
        self.frame = frame;
        bytes
    }

    /// Returns the bytes that leave the terminal with a line of its own below all.
    pub(crate) fn leave(&self) -> String {
        let below = self.frame.lines.len().saturating_sub(self.frame.row + 1);
        let down = if below > 0 { format!("\x1b[{below}B") } else { String::new() };
        format!("{down}\r\n")
    }

    fn draw(&self, bytes: &mut String, frame: &Frame) {
        for (index, line) in frame.lines.iter().enumerate() {
            if index > 0 {
                bytes.push_str("\r\n");
            }
            match line.split_once("> ").filter(|_| frame.dim == Some(index) && !self.plain) {
                Some((mark, text)) => {
                    // Its frame is not dim.
                    let text = text.trim_end_matches('│');
                    let _ = write!(bytes, "{mark}> \x1b[2m{text}\x1b[0m│");
                }
                None => bytes.push_str(line),
            }
        }
        up(bytes, (frame.lines.len().saturating_sub(1)).saturating_sub(frame.row));
        let _ = write!(bytes, "\x1b[{}G\x1b[?25h", frame.col + 1);
    }
}

fn up(bytes: &mut String, rows: usize) {
    if rows > 0 {
        // Writing to a string cannot fail.
        let _ = write!(bytes, "\x1b[{rows}A");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_new_is_nothing_painted() {
        let mut painter = Painter::new(Size::new(40, 10), false);
        let first = painter.paint(vec![Said::Agent("hi".into())], frame("one"));
        assert!(first.contains("● hi\r\n") && first.ends_with("one\x1b[1G\x1b[?25h"), "{first:?}");
        assert_eq!(painter.paint(Vec::new(), frame("one")), "");
        let second = painter.paint(Vec::new(), frame("two"));
        assert_eq!(second, "\x1b[?25l\r\x1b[Jtwo\x1b[1G\x1b[?25h");
    }

    #[test]
    fn another_size_shows_again_what_fits() {
        let mut painter = Painter::new(Size::new(40, 10), false);
        let said = (0..500).map(|number| Said::Line(number.to_string())).collect();
        painter.paint(said, frame("bottom"));
        painter.resize(Size::new(30, 10));
        let again = painter.paint(Vec::new(), frame("bottom"));
        assert!(again.starts_with("\x1b[?25l\x1b[H\x1b[2J  491\r\n"), "{again:?}");
        assert!(painter.said.len() <= KEPT);
    }

    fn frame(text: &str) -> Frame {
        Frame { lines: vec![text.to_owned()], ..Frame::default() }
    }
}
