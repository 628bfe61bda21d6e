//! A line on a person's terminal that tells what is waited for. Scripts see nothing of it.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use crate::say::{Say, clean, cut, width};

/// How often it turns.
pub(crate) const TURN: Duration = Duration::from_millis(100);

const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// How wide a terminal is that does not tell.
const USUAL_WIDTH: usize = 80;

/// The line. It is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Spinner {
    is_shown: bool,
    frame: usize,
    text: String,
}

impl Spinner {
    pub(crate) fn new(say: Say) -> Spinner {
        let is_dumb = env::var_os("TERM").is_none_or(|value| value == "dumb");
        let is_shown = !say.json && !is_dumb && io::stderr().is_terminal();
        Spinner { is_shown, frame: 0, text: String::new() }
    }

    /// Tells what is waited for from now on.
    pub(crate) fn say(&mut self, text: &str) {
        let text = clean(text);
        if text != self.text {
            self.text = text;
            self.draw();
        }
    }

    /// Shows that time goes on.
    pub(crate) fn turn(&mut self) {
        self.frame = (self.frame + 1) % FRAMES.len();
        self.draw();
    }

    fn draw(&self) {
        if self.is_shown {
            let width = width(&io::stderr()).unwrap_or(USUAL_WIDTH);
            let line =
                cut(&format!("{} {}", FRAMES[self.frame], self.text), width.saturating_sub(1));
            write(&format!("\r\u{1b}[2K{line}"));
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if self.is_shown {
            write("\r\u{1b}[2K");
        }
    }
}

/// Writes to standard error. If nobody can see it, nobody does.
fn write(text: &str) {
    let mut place = io::stderr().lock();
    let _ = place.write_all(text.as_bytes()).and_then(|()| place.flush());
}
