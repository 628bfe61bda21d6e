//! tmux: servers of cmux's own, and the panes that agents live in, there or in a person's own server.
//!
//! Commands and answers go over a connection that stays open; no process is started to look. Panes are
//! called by their ids and known by their tags. A look that failed says nothing about what is there.

pub mod client;
pub mod command;
pub mod config;
pub mod control;
pub mod glance;
pub mod guard;
pub mod line;
pub mod loan;
pub mod pane;
pub mod quote;
pub mod screen;
pub mod server;
pub mod spawn;
pub mod stream;
pub mod version;
pub mod visit;

use std::io;
use std::path::{Path, PathBuf};

use pane::PaneId;

/// Why tmux did not do as it was told.
///
/// One variant for each thing a caller does about it. After [`TmuxError::Gone`] and [`TmuxError::Late`]
/// it is unknown whether what was asked for was done, or will be.
#[derive(Debug, thiserror::Error)]
pub enum TmuxError {
    #[error(
        "there is no tmux on the PATH, and agents live in it: install tmux 3.2 or later (`apt install \
         tmux`, `brew install tmux`)"
    )]
    Absent,
    #[error("this tmux is too old: it says `{found}`, and cmux needs 3.2 or later. Upgrade tmux")]
    TooOld { found: String },
    #[error("the tmux server that agents live in does not run")]
    NoServer,
    #[error("tmux has no pane {0}")]
    NoPane(PaneId),
    #[error("tmux refuses: {0}")]
    Refused(String),
    #[error("the connection to tmux is gone, and with it the answer")]
    Gone,
    #[error("tmux has not answered in time, and may still do what it was asked to")]
    Late,
    #[error("tmux says what cannot be understood: `{0}`")]
    Garbled(String),
    #[error("{} cannot be used for tmux: {source}", path.display())]
    Unusable { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Text(#[from] quote::BadText),
}

impl TmuxError {
    /// Returns what a failure to use the file at `path` amounts to.
    fn unusable(path: &Path) -> impl FnOnce(io::Error) -> TmuxError {
        move |source| TmuxError::Unusable { path: path.to_owned(), source }
    }

    /// Returns what it means that tmux refused with the words `said`.
    fn refused(said: &str) -> TmuxError {
        let said = said.trim();
        // "can't find pane: %5", and "no such pane: %5" where options are set.
        let pane = said.rsplit_once("pane: ").and_then(|(_, pane)| pane.parse().ok());
        if let Some(pane) = pane {
            return TmuxError::NoPane(pane);
        }
        let is_absent = said.starts_with("no server running on")
            || said.starts_with("error connecting to")
                && (said.ends_with("(No such file or directory)")
                    || said.ends_with("(Connection refused)"));
        if is_absent { TmuxError::NoServer } else { TmuxError::Refused(shorten(said)) }
    }
}

/// The most that is told of what tmux said, in characters.
const TOLD_MAX: usize = 200;

/// Returns the beginning of what was said, fit to be told.
fn shorten(said: &str) -> String {
    said.chars().map(|it| if it.is_control() { ' ' } else { it }).take(TOLD_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tmux_refuses_with_is_told_apart() {
        for (said, expected) in [
            ("can't find pane: %5", "tmux has no pane %5"),
            ("no such pane: %17\n", "tmux has no pane %17"),
            ("can't find pane: five", "tmux refuses: can't find pane: five"),
            ("no server running on /h/tmux/a", "the tmux server that agents live in does not run"),
            (
                "error connecting to /h/a (Connection refused)",
                "the tmux server that agents live in does not run",
            ),
            (
                "error connecting to /h/a (No such file or directory)",
                "the tmux server that agents live in does not run",
            ),
            (
                "error connecting to /h/a (Permission denied)",
                "tmux refuses: error connecting to /h/a (Permission denied)",
            ),
            ("no buffer\u{1b}[1m x", "tmux refuses: no buffer [1m x"),
        ] {
            assert_eq!(TmuxError::refused(said).to_string(), expected);
        }
        let long = TmuxError::refused(&"é".repeat(100_000)).to_string();
        assert!(long.chars().count() < 300, "{long}");
    }
}
