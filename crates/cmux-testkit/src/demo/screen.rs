//! The screen: what is said above, and the composer or a dialog at the bottom, in however small a pane.

use unicode_width::UnicodeWidthChar;

use super::composer::Composer;
use super::dialog::Dialog;

/// What an empty composer shows. It never changes, so that nobody takes it for a draft.
pub(crate) const PLACEHOLDER: &str = "Try \"explain this folder\"";

/// What is narrower or lower than this is drawn as if it were not.
const COLS_MIN: usize = 24;
const ROWS_MIN: usize = 8;

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) cols: usize,
    pub(crate) rows: usize,
}

impl Size {
    pub(crate) fn new(cols: u16, rows: u16) -> Size {
        Size { cols: usize::from(cols).max(COLS_MIN), rows: usize::from(rows).max(ROWS_MIN) }
    }
}

/// Something that was said, and who said it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Person(String),
    Agent(String),
    /// What came of something, below it.
    Result(String),
    /// A line of something that streams.
    Line(String),
}

impl Said {
    /// Returns the lines that it takes in so many columns, and an empty one before what begins.
    pub(crate) fn lines(&self, cols: usize) -> Vec<String> {
        let (first, text, is_new) = match self {
            Said::Person(text) => ("> ", text, true),
            Said::Agent(text) => ("● ", text, true),
            Said::Result(text) => ("  ⎿  ", text, false),
            Said::Line(text) => ("  ", text, false),
        };
        let indent = width(first);
        let mut lines = if is_new { vec![String::new()] } else { Vec::new() };
        for (index, line) in wrap(&printable(text), cols.saturating_sub(indent)).iter().enumerate()
        {
            let start = if index == 0 { first.to_owned() } else { " ".repeat(indent) };
            lines.push(format!("{start}{line}").trim_end().to_owned());
        }
        lines
    }
}

/// What stands at the bottom.
pub(crate) struct View<'a> {
    /// What it is doing, while it does something.
    pub(crate) doing: Option<String>,
    /// What was said to it meanwhile.
    pub(crate) queued: Vec<&'a str>,
    pub(crate) body: Body<'a>,
    pub(crate) status: String,
}

pub(crate) enum Body<'a> {
    Composer(&'a Composer),
    Dialog(&'a Dialog),
}

/// The bottom's lines, and where the caret is in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) lines: Vec<String>,
    pub(crate) row: usize,
    pub(crate) col: usize,
    /// The line that holds the placeholder, which is drawn dim.
    pub(crate) dim: Option<usize>,
}

impl View<'_> {
    /// Draws it: never more lines than there are rows.
    pub(crate) fn frame(&self, size: Size) -> Frame {
        match &self.body {
            Body::Composer(composer) => self.with_composer(composer, size),
            Body::Dialog(dialog) => with_dialog(dialog, size),
        }
    }

    fn with_composer(&self, composer: &Composer, size: Size) -> Frame {
        let mut lines = vec![String::new()];
        if let Some(doing) = &self.doing {
            lines.extend([cut(doing, size.cols), String::new()]);
        }
        // The box, with one line in it, and the status below.
        let room = size.rows.saturating_sub(lines.len() + 4);
        let hidden = self.queued.len().saturating_sub(room.min(3));
        for queued in &self.queued[hidden..] {
            let line = printable(queued).replace('\n', " ");
            lines.push(cut(&format!("  queued: {line}"), size.cols));
        }
        let room = size.rows.saturating_sub(lines.len() + 3).max(1);
        let inner = size.cols - 4;
        let (text, row, col) = composed(composer, inner - 2);
        let first = (row + 1).saturating_sub(room);
        let bar = "─".repeat(size.cols - 2);
        lines.push(format!("╭{bar}╮"));
        let top = lines.len();
        for (index, line) in text.iter().enumerate().skip(first).take(room) {
            let mark = if index == 0 { "> " } else { "  " };
            lines.push(format!("│ {} │", fill(&format!("{mark}{line}"), inner)));
        }
        lines.push(format!("╰{bar}╯"));
        lines.push(cut(&format!("  {}", self.status), size.cols));
        let dim = composer.is_empty().then_some(top);
        Frame { lines, row: top + row - first, col: 4 + col, dim }
    }
}

fn with_dialog(dialog: &Dialog, size: Size) -> Frame {
    let (about, question) = dialog.lines();
    let mut lines = vec!["─".repeat(size.cols)];
    let room = size.rows.saturating_sub(question.len() + 1);
    let about: Vec<String> =
        about.iter().flat_map(|line| wrap(&printable(line), size.cols - 2)).collect();
    let is_cut = about.len() > room;
    let kept = if is_cut { room.saturating_sub(1) } else { about.len() };
    lines.extend(about[..kept].iter().map(|line| format!(" {line}")));
    if is_cut && room > 0 {
        lines.push(" …".into());
    }
    let chosen = question.iter().position(|line| line.starts_with('❯')).unwrap_or(0);
    let row = lines.len() + chosen;
    lines.extend(question.iter().map(|line| cut(&format!(" {line}"), size.cols)));
    Frame { lines, row, col: 1, dim: None }
}

/// Returns the composer's text in lines of `cols`, and where the caret is in them.
fn composed(composer: &Composer, cols: usize) -> (Vec<String>, usize, usize) {
    if composer.is_empty() {
        return (vec![cut(PLACEHOLDER, cols)], 0, 0);
    }
    let (before, after) = composer.shown();
    let until_caret = wrap(&printable(&before), cols);
    let mut row = until_caret.len() - 1;
    let mut col = until_caret.last().map_or(0, |line| width(line));
    if col >= cols {
        (row, col) = (row + 1, 0);
    }
    let mut lines = wrap(&printable(&format!("{before}{after}")), cols);
    if lines.len() <= row {
        lines.push(String::new());
    }
    (lines, row, col)
}

/// Returns `text` in lines of at most `cols` columns: at least one, if an empty one.
pub(crate) fn wrap(text: &str, cols: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let (mut row, mut used) = (String::new(), 0);
        for letter in line.chars() {
            let wide = letter.width().unwrap_or(0);
            if used + wide > cols {
                lines.push(std::mem::take(&mut row));
                used = 0;
            }
            row.push(letter);
            used += wide;
        }
        lines.push(row);
    }
    lines
}

/// Returns as much of `text` as fits, with `…` if that is not all.
fn cut(text: &str, cols: usize) -> String {
    if width(text) <= cols {
        return text.to_owned();
    }
    let mut kept = wrap(text, cols.saturating_sub(1)).swap_remove(0);
    kept.push('…');
    kept
}

fn fill(text: &str, cols: usize) -> String {
    format!("{text}{}", " ".repeat(cols.saturating_sub(width(text))))
}

fn width(text: &str) -> usize {
    text.chars().map(|letter| letter.width().unwrap_or(0)).sum()
}

/// Returns `text` with nothing in it that a terminal would obey.
fn printable(text: &str) -> String {
    let text = text.replace('\t', "    ");
    text.chars().filter(|&letter| letter == '\n' || !letter.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::demo::dialog::Question;
    use crate::demo::script::ToolUse;

    #[test]
    fn an_empty_composer_shows_its_placeholder() {
        check(
            &Composer::default(),
            None,
            Size::new(40, 10),
            &[
                "",
                "╭──────────────────────────────────────╮",
                "│ > Try \"explain this folder\"          │",
                "╰──────────────────────────────────────╯",
                "  status",
            ],
            (2, 4),
        );
    }

    #[test]
    fn a_draft_is_wrapped_and_the_caret_is_in_it() {
        let mut composer = Composer::default();
        composer.set("one two three four five six seven\n界界");
        composer.left();
        check(
            &composer,
            Some("✻ Thinking… (3s · esc to interrupt)"),
            Size::new(26, 20),
            &[
                "",
                "✻ Thinking… (3s · esc to …",
                "",
                "╭────────────────────────╮",
                "│ > one two three four f │",
                "│   ive six seven        │",
                "│   界界                 │",
                "╰────────────────────────╯",
                "  status",
            ],
            (6, 6),
        );
    }

    #[test]
    fn it_never_takes_more_than_the_rows_there_are() {
        let mut composer = Composer::default();
        composer.set(&"a line\n".repeat(50));
        for (rows, doing) in [(10, None), (10, Some("busy")), (8, Some("busy")), (1, None)] {
            let size = Size::new(40, rows);
            let view = view(&composer, doing);
            let frame = view.frame(size);
            assert!(frame.lines.len() <= size.rows, "{rows}: {frame:?}");
            assert!(frame.lines[frame.row].contains('│'), "{rows}: {frame:?}");
            assert!(frame.lines.iter().all(|line| width(line) <= 40), "{rows}: {frame:?}");
        }
    }

    #[test]
    fn a_dialog_keeps_its_question_in_a_small_pane() {
        let input = json!({ "command": "echo 1\n".repeat(30) });
        let tool = ToolUse { name: "Bash".into(), input, ask: None };
        let dialog = Dialog::new(Question::Permission(tool));
        for rows in [10, 24] {
            let frame = with_dialog(&dialog, Size::new(40, rows));
            assert_eq!(frame.lines.len(), usize::from(rows));
            assert_eq!(frame.lines[frame.row], " ❯ 1. Yes");
            assert!(frame.lines.iter().all(|line| width(line) <= 40), "{frame:?}");
        }
    }

    #[test]
    fn what_is_said_obeys_no_control_character_and_is_wrapped() {
        for (said, expected) in [
            (Said::Person("hi".into()), &["", "> hi"][..]),
            (Said::Agent("abcdefghij".into()), &["", "● abcdefgh", "  ij"]),
            (Said::Result("a\nb".into()), &["  ⎿  a", "     b"]),
            (Said::Agent("\u{1b}[2Jx\u{9b}1m\ty".into()), &["", "● [2Jx1m", "    y"]),
        ] {
            assert_eq!(said.lines(10), expected);
        }
    }

    fn view<'a>(composer: &'a Composer, doing: Option<&str>) -> View<'a> {
        View {
            doing: doing.map(str::to_owned),
            queued: Vec::new(),
            body: Body::Composer(composer),
            status: "status".into(),
        }
    }

    #[track_caller]
    fn check(
        composer: &Composer,
        doing: Option<&str>,
        size: Size,
        expected: &[&str],
        caret: (usize, usize),
    ) {
        let frame = view(composer, doing).frame(size);
        assert_eq!(frame.lines, expected);
        assert_eq!((frame.row, frame.col), caret);
    }
}
