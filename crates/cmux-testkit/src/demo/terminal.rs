//! The terminal: its raw mode, its size, and what is typed at it.

use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Instant;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use super::screen::Size;

/// What a terminal shows when nobody says how large it is.
const USUAL: (u16, u16) = (80, 24);

/// A terminal in raw mode. It is put back as it was.
pub(crate) struct Terminal {
    before: Termios,
}

/// What came from the terminal, and when.
pub(crate) enum Typed {
    Bytes(Vec<u8>, Instant),
    /// It is gone.
    Closed,
}

impl Terminal {
    /// Takes the terminal, or says why it is none.
    pub(crate) fn take() -> Result<Terminal, String> {
        let (stdin, stdout) = (io::stdin(), io::stdout());
        if !stdin.is_terminal() || !stdout.is_terminal() {
            return Err(
                "the demo agent is a terminal program: run it in a terminal, or in a tmux \
                        pane"
                    .into(),
            );
        }
        let before = tcgetattr(stdin.as_fd()).map_err(|error| error.to_string())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin.as_fd(), OptionalActions::Now, &raw).map_err(|error| error.to_string())?;
        Ok(Terminal { before })
    }

    /// Returns its size as it is now.
    pub(crate) fn size() -> Size {
        let size = tcgetwinsize(io::stdout().as_fd());
        let size = size.map_or(USUAL, |size| (size.ws_col, size.ws_row));
        let (cols, rows) = if size.0 == 0 || size.1 == 0 { USUAL } else { size };
        Size::new(cols, rows)
    }

    /// Writes all of `bytes`, and returns whether anybody is still there to see it.
    pub(crate) fn write(bytes: &[u8]) -> bool {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush()).is_ok()
    }

    /// Passes on what is typed, as `event`, until nobody takes it.
    pub(crate) fn listen<E: Send + 'static>(sender: SyncSender<E>, event: fn(Typed) -> E) {
        thread::spawn(move || {
            let mut buffer = [0; 16 << 10];
            loop {
                let typed = match io::stdin().lock().read(&mut buffer) {
                    Ok(count @ 1..) => Typed::Bytes(buffer[..count].to_vec(), Instant::now()),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Ok(_) | Err(_) => Typed::Closed,
                };
                let is_closed = matches!(typed, Typed::Closed);
                if sender.send(event(typed)).is_err() || is_closed {
                    return;
                }
            }
        });
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        Terminal::write(b"\x1b[?2004l\x1b[?25h");
        // The terminal may be gone.
        let _ = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &self.before);
    }
}
