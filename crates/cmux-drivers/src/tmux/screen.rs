//! What is on a pane's screen, and what has scrolled off it.

use std::fmt;
use std::time::Duration;

use super::client::Reply;
use super::command::Command;
use super::control::Control;
use super::pane::{PaneId, Size};
use super::{TmuxError, shorten};

/// The most that is looked back at, in lines.
pub const LINES_MAX: u32 = 5000;

/// What is asked of a pane, in the order in which it is parsed. A title may have anything in it but the
/// end of a line, so it comes last.
const FIELDS: &str = "#{cursor_x} #{cursor_y} #{pane_width} #{pane_height} \
                      #{s/[\u{1}-\u{1f}\u{7f}]/ /:pane_title}";

/// A pane's screen at one moment.
#[derive(Clone, PartialEq, Eq)]
pub struct Screen {
    /// The lines, each with its end; with their colours if that was asked for.
    pub content: Vec<u8>,
    /// The column and the row that the cursor is in, from nought. The last rows of the content are
    /// the screen.
    pub cursor: (u32, u32),
    pub size: Size,
    /// What the program calls itself.
    pub title: String,
}

/// Whether colours are wanted, as escape sequences between the letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    With,
    Without,
}

/// Returns the screen of a pane, preceded by the last `history` lines that have scrolled off it.
pub async fn capture(
    control: &Control,
    pane: PaneId,
    history: u32,
    colours: Colours,
    within: Duration,
) -> Result<Screen, TmuxError> {
    parse(&control.command(&look(pane, history, colours), within).await?)
}

/// Returns what asks for a screen: two commands, which are done at the same moment.
pub(super) fn look(pane: PaneId, history: u32, colours: Colours) -> Command {
    let target = pane.to_string();
    let about = Command::new("display-message").with("-t", &target).with("-p", FIELDS);
    let start = if history == 0 { "0".to_owned() } else { format!("-{}", history.min(LINES_MAX)) };
    let mut content = Command::new("capture-pane").flag("-p").with("-t", &target);
    content = content.with("-S", &start);
    match colours {
        Colours::With => about.then(content.flag("-e")),
        Colours::Without => about.then(content),
    }
}

/// Reads the answer to a look, whose last two parts are the screen.
pub(super) fn parse(reply: &Reply) -> Result<Screen, TmuxError> {
    let said = String::from_utf8_lossy(reply.last_but_one()).into_owned();
    let said = said.trim_end_matches('\n');
    let mut words = said.splitn(5, ' ');
    let numbers: Vec<u32> = words.by_ref().take(4).filter_map(|it| it.parse().ok()).collect();
    let [x, y, columns, rows] = numbers[..] else {
        return Err(TmuxError::Garbled(shorten(said)));
    };
    let title = words.next().unwrap_or_default().to_owned();
    let content = reply.last().to_vec();
    Ok(Screen { content, cursor: (x, y), size: Size { columns, rows }, title })
}

impl fmt::Debug for Screen {
    /// What is on screens is not for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen")
            .field("bytes", &self.content.len())
            .field("cursor", &self.cursor)
            .field("size", &self.size)
            .finish()
    }
}
