//! The composer: what a person, or cmux in a person's place, is about to say.

/// A paste of more lines than this is folded.
const FOLD_LINES: usize = 2;

/// A paste of more letters than this is folded.
const FOLD_LETTERS: usize = 800;

/// One thing that the caret steps over.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cell {
    Letter(char),
    /// A long paste, which is shown as its number and size.
    Fold {
        number: usize,
        text: String,
    },
}

/// What an Enter does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    /// It only began another line.
    Line,
    /// It said this.
    Text(String),
    /// There was nothing to be said.
    Nothing,
}

/// A text that is being written, and where its caret is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Composer {
    cells: Vec<Cell>,
    caret: usize,
    folds: usize,
    pasted_at: Option<u64>,
}

impl Composer {
    pub(crate) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Returns the whole text, with what is folded.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for cell in &self.cells {
            match cell {
                Cell::Letter(letter) => text.push(*letter),
                Cell::Fold { text: folded, .. } => text.push_str(folded),
            }
        }
        text
    }

    /// Returns what is shown of the text before the caret, and after it.
    pub(crate) fn shown(&self) -> (String, String) {
        let (before, after) = self.cells.split_at(self.caret);
        let show = |cells: &[Cell]| cells.iter().map(Cell::shown).collect();
        (show(before), show(after))
    }

    /// Replaces everything by `text`, with the caret at its end.
    pub(crate) fn set(&mut self, text: &str) {
        self.cells = text.chars().map(Cell::Letter).collect();
        self.caret = self.cells.len();
    }

    pub(crate) fn clear(&mut self) {
        self.cells.clear();
        self.caret = 0;
    }

    pub(crate) fn insert(&mut self, letter: char) {
        self.cells.insert(self.caret, Cell::Letter(letter));
        self.caret += 1;
    }

    pub(crate) fn paste(&mut self, text: &str, now: u64) {
        self.pasted_at = Some(now);
        let is_long =
            text.matches('\n').count() > FOLD_LINES || text.chars().nth(FOLD_LETTERS).is_some();
        let cells: Vec<Cell> = if is_long {
            self.folds += 1;
            vec![Cell::Fold { number: self.folds, text: text.to_owned() }]
        } else {
            text.chars().map(Cell::Letter).collect()
        };
        let added = cells.len();
        self.cells.splice(self.caret..self.caret, cells);
        self.caret += added;
    }

    /// Takes an Enter. One that comes within `gap_ms` of a paste belongs to it, and one after `\` is a
    /// new line in its place.
    pub(crate) fn enter(&mut self, now: u64, gap_ms: u64) -> Entered {
        let is_pasted = self.pasted_at.is_some_and(|at| now < at.saturating_add(gap_ms));
        if is_pasted && !self.is_empty() {
            self.insert('\n');
            return Entered::Line;
        }
        if self.caret > 0 && self.cells[self.caret - 1] == Cell::Letter('\\') {
            self.cells[self.caret - 1] = Cell::Letter('\n');
            return Entered::Line;
        }
        let text = self.text();
        let text = text.trim_end_matches('\n');
        if text.trim().is_empty() {
            return Entered::Nothing;
        }
        let text = text.to_owned();
        self.clear();
        Entered::Text(text)
    }

    pub(crate) fn backspace(&mut self) {
        if self.caret > 0 {
            self.caret -= 1;
            self.cells.remove(self.caret);
        }
    }

    pub(crate) fn delete(&mut self) {
        if self.caret < self.cells.len() {
            self.cells.remove(self.caret);
        }
    }

    /// Removes the word before the caret, with the blanks after it.
    pub(crate) fn delete_word(&mut self) {
        while self.caret > 0 && self.is_blank(self.caret - 1) {
            self.backspace();
        }
        while self.caret > 0 && !self.is_blank(self.caret - 1) {
            self.backspace();
        }
    }

    /// Removes the caret's line up to the caret.
    pub(crate) fn clear_line(&mut self) {
        let start = self.line_start();
        self.cells.drain(start..self.caret);
        self.caret = start;
    }

    pub(crate) fn left(&mut self) {
        self.caret = self.caret.saturating_sub(1);
    }

    pub(crate) fn right(&mut self) {
        self.caret = (self.caret + 1).min(self.cells.len());
    }

    pub(crate) fn home(&mut self) {
        self.caret = self.line_start();
    }

    pub(crate) fn end(&mut self) {
        let rest = &self.cells[self.caret..];
        let line = rest.iter().position(|cell| *cell == Cell::Letter('\n'));
        self.caret += line.unwrap_or(rest.len());
    }

    fn line_start(&self) -> usize {
        let before = &self.cells[..self.caret];
        before.iter().rposition(|cell| *cell == Cell::Letter('\n')).map_or(0, |at| at + 1)
    }

    fn is_blank(&self, index: usize) -> bool {
        matches!(&self.cells[index], Cell::Letter(letter) if letter.is_whitespace())
    }
}

impl Cell {
    fn shown(&self) -> String {
        match self {
            Cell::Letter(letter) => letter.to_string(),
            Cell::Fold { number, text } => match text.matches('\n').count() {
                0 => format!("[Pasted text #{number}]"),
                lines => format!("[Pasted text #{number} +{lines} lines]"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Edit = fn(&mut Composer);

    #[test]
    fn it_is_edited_as_composers_are() {
        let table: [(Edit, &str); 10] = [
            (|it| it.backspace(), "one\ntwo thre|"),
            (|it| it.delete_word(), "one\ntwo |"),
            (|it| it.clear_line(), "one\n|"),
            (|it| it.home(), "one\n|two three"),
            (|it| it.left(), "one\ntwo thre|e"),
            (|it| (it.left(), it.delete()).0, "one\ntwo thre|"),
            (|it| (it.home(), it.end()).0, "one\ntwo three|"),
            (|it| (it.home(), it.left(), it.insert('X')).0, "oneX|\ntwo three"),
            (|it| it.clear(), "|"),
            (|it| it.set("a"), "a|"),
        ];
        for (edit, expected) in table {
            let mut composer = composer("one\ntwo three");
            edit(&mut composer);
            let (before, after) = composer.shown();
            assert_eq!(format!("{before}|{after}"), expected);
        }
    }

    #[test]
    fn an_edit_at_an_edge_does_nothing() {
        let mut composer = Composer::default();
        composer.backspace();
        composer.delete();
        composer.delete_word();
        composer.clear_line();
        composer.left();
        composer.right();
        composer.end();
        assert_eq!((composer.text(), composer.enter(0, 0)), (String::new(), Entered::Nothing));
    }

    #[test]
    fn a_long_paste_is_folded_and_said_whole() {
        let twelve = "line\n".repeat(12);
        let wide = "x".repeat(801);
        for (text, shown) in [
            ("short", "short"),
            ("a\nb\nc", "a\nb\nc"),
            ("a\nb\nc\nd", "[Pasted text #1 +3 lines]"),
            (&twelve, "[Pasted text #1 +12 lines]"),
            (&wide, "[Pasted text #1]"),
        ] {
            let mut composer = Composer::default();
            composer.paste(text, 0);
            assert_eq!(composer.shown().0, shown);
            assert_eq!(composer.text(), text);
            let said = text.trim_end_matches('\n').to_owned();
            assert_eq!(composer.enter(1000, 10), Entered::Text(said));
        }
    }

    #[test]
    fn folds_are_numbered_and_go_with_one_backspace() {
        let mut composer = composer("a ");
        composer.paste("1\n2\n3\n4", 0);
        composer.paste("5\n6\n7\n8", 0);
        assert_eq!(composer.shown().0, "a [Pasted text #1 +3 lines][Pasted text #2 +3 lines]");
        composer.backspace();
        assert_eq!(composer.text(), "a 1\n2\n3\n4");
    }

    #[test]
    fn an_enter_too_soon_after_a_paste_belongs_to_it() {
        for (after_ms, gap_ms, expected) in [
            (0, 8, Entered::Line),
            (7, 8, Entered::Line),
            (8, 8, Entered::Text("text".into())),
            (0, 0, Entered::Text("text".into())),
        ] {
            let mut composer = Composer::default();
            composer.paste("text", 100);
            assert_eq!(composer.enter(100 + after_ms, gap_ms), expected);
        }
        let mut composer = Composer::default();
        composer.paste("text", 0);
        assert_eq!(composer.enter(0, 8), Entered::Line);
        assert_eq!(composer.enter(500, 8), Entered::Text("text".into()), "the line goes with it");
    }

    #[test]
    fn an_enter_after_a_backslash_is_a_line() {
        let mut composer = composer("one\\");
        assert_eq!(composer.enter(0, 8), Entered::Line);
        assert_eq!(composer.text(), "one\n");
    }

    fn composer(text: &str) -> Composer {
        let mut composer = Composer::default();
        composer.set(text);
        composer
    }
}
