//! The size of a pane's window, lent to whoever types into it, and given back.
//!
//! What it was, what it was made, and for whom is noted at the pane itself: a loan whose daemon was killed is
//! [called in](call_in) by the next one. Whoever resizes the window otherwise meanwhile has the last word.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::TmuxError;
use super::client::nonce;
use super::command::Command;
use super::control::Control;
use super::pane::{PaneId, Size};

/// The pane option that a loan is noted in.
const LOAN: &str = "@cmux_loan";

/// What is asked of a pane: the size of its window, which in a window that was split is not its own, and the
/// loan.
const FIELDS: &str = "#{pane_id} #{window_width}x#{window_height} #{@cmux_loan}";

/// Whom a size is lent to. Nobody else has that number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Borrower(u64);

impl Borrower {
    /// Returns somebody new.
    #[expect(clippy::new_without_default, reason = "no two are the same")]
    pub fn new() -> Borrower {
        Borrower(nonce())
    }
}

/// A size that is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loan {
    /// What it goes back to.
    home: Size,
    made: Size,
    to: Borrower,
}

impl fmt::Display for Loan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:016x}", Spoken(self.home), Spoken(self.made), self.to.0)
    }
}

impl FromStr for Loan {
    type Err = ();

    fn from_str(text: &str) -> Result<Loan, ()> {
        let mut words = text.split(' ');
        let (Some(home), Some(made), Some(to), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(());
        };
        let to = u64::from_str_radix(to, 16).map_err(|_| ())?;
        Ok(Loan { home: parse_size(home)?, made: parse_size(made)?, to: Borrower(to) })
    }
}

/// A size as tmux is told it and tells it.
struct Spoken(Size);

impl fmt::Display for Spoken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.0.columns, self.0.rows)
    }
}

fn parse_size(text: &str) -> Result<Size, ()> {
    let (columns, rows) = text.split_once('x').ok_or(())?;
    let number = |text: &str| text.parse().map_err(|_| ());
    Ok(Size { columns: number(columns)?, rows: number(rows)? })
}

/// A pane, as far as its size is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    pane: PaneId,
    size: Size,
    loan: Option<Loan>,
}

impl Seen {
    /// Reads a line. What only looks like a loan is none.
    fn parse(line: &str) -> Option<Seen> {
        let mut words = line.splitn(3, ' ');
        let pane = words.next()?.parse().ok()?;
        let size = parse_size(words.next()?).ok()?;
        Some(Seen { pane, size, loan: words.next().and_then(|loan| loan.parse().ok()) })
    }

    /// Returns the loan by which the window has another size from now on. A size that somebody else gave it
    /// is the one to go back to.
    fn lent(self, made: Size, to: Borrower) -> Loan {
        let home = self.loan.filter(|loan| loan.made == self.size).map_or(self.size, |it| it.home);
        Loan { home, made, to }
    }

    /// Returns what ends a loan. Unless it is still the one that was seen, nothing is done.
    fn end(self, loan: Loan) -> Command {
        let pane = self.pane.to_string();
        let forget = Command::new("set-option").flag("-p").flag("-u").with("-t", &pane).flag(LOAN);
        let end =
            if self.size == loan.made { forget.then(resize(self.pane, loan.home)) } else { forget };
        let is_same = format!("#{{==:#{{{LOAN}}},{loan}}}");
        Command::new("if-shell").flag("-F").with("-t", &pane).word(&is_same).block(end)
    }
}

/// Makes a pane's window this large, whoever looks at it, until it is [given back](give_back).
pub async fn lend(
    control: &Control,
    pane: PaneId,
    to: Borrower,
    size: Size,
    within: Duration,
) -> Result<(), TmuxError> {
    let loan = look(control, pane, within).await?.lent(size, to);
    let note = Command::new("set-option").flag("-p").with("-t", &pane.to_string());
    let note = note.flag(LOAN).word(&loan.to_string());
    control.command(&note.then(resize(pane, size)), within).await.map(|_| ())
}

/// Makes a pane's window as large as it was before it was lent, unless it was lent to somebody else since.
pub async fn give_back(
    control: &Control,
    pane: PaneId,
    from: Borrower,
    within: Duration,
) -> Result<(), TmuxError> {
    let seen = look(control, pane, within).await?;
    let Some(loan) = seen.loan.filter(|loan| loan.to == from) else { return Ok(()) };
    control.command(&seen.end(loan), within).await.map(|_| ())
}

/// Ends all loans of a server, as after the daemon was killed, when nobody is left to give them back.
pub async fn call_in(control: &Control, within: Duration) -> Result<(), TmuxError> {
    let list = Command::new("list-panes").flag("-a").with("-F", FIELDS);
    let panes = control.command(&list, within).await?.text();
    for seen in panes.lines().filter_map(Seen::parse) {
        let Some(loan) = seen.loan else { continue };
        match control.command(&seen.end(loan), within).await {
            // It has ended meanwhile.
            Ok(_) | Err(TmuxError::Refused(_) | TmuxError::NoPane(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn look(control: &Control, pane: PaneId, within: Duration) -> Result<Seen, TmuxError> {
    let look = Command::new("display-message").with("-t", &pane.to_string()).with("-p", FIELDS);
    let said = control.command(&look, within).await?.text();
    let said = said.trim_end_matches('\n');
    // Some versions say nothing of a pane that is not there.
    Seen::parse(said).filter(|seen| seen.pane == pane).ok_or(TmuxError::NoPane(pane))
}

/// Returns what makes a pane's window this large.
fn resize(pane: PaneId, size: Size) -> Command {
    Command::new("resize-window")
        .with("-t", &pane.to_string())
        .with("-x", &size.columns.to_string())
        .with("-y", &size.rows.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loan_is_read_as_it_was_noted() {
        let loan = Loan { home: size(200, 50), made: size(91, 17), to: Borrower(0xab) };
        assert_eq!(loan.to_string(), "200x50 91x17 00000000000000ab");
        assert_eq!(loan.to_string().parse(), Ok(loan));
        for bad in ["", "200x50", "200x50 91x17", "200x50 91x17 z", "200x50 91x17 1 1", "x x 1"] {
            assert!(bad.parse::<Loan>().is_err(), "{bad}");
        }
    }

    #[test]
    fn it_goes_back_to_the_size_that_nobody_had_borrowed() {
        let (first, second) = (Borrower(1), Borrower(2));
        let check = |line: &str, expected: Size| {
            let seen = Seen::parse(line).unwrap();
            assert_eq!(seen.lent(size(60, 20), second).home, expected, "{line}");
        };
        check("%5 200x50 ", size(200, 50));
        let loan = Loan { home: size(200, 50), made: size(91, 17), to: first };
        check(&format!("%5 91x17 {loan}"), size(200, 50));
        check(&format!("%5 80x24 {loan}"), size(80, 24));
        check("%5 80x24 somebody's own", size(80, 24));
    }

    fn size(columns: u32, rows: u32) -> Size {
        Size { columns, rows }
    }
}
