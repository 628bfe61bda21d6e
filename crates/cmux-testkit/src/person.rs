//! A person at the keyboard: a terminal of their own that shows an agent's pane, and types into it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::wait::eventually;

/// What the name of a person's own session begins with in the server that they look at.
const VIEW: &str = "view-person";

/// Somebody who looks at a pane of a tmux server, by a client of their own.
#[derive(Debug)]
pub struct Person {
    /// The terminal that they sit at: another tmux server.
    terminal: PathBuf,
    server: PathBuf,
    folder: TempDir,
}

impl Person {
    /// Sits down at `pane` of the server at this socket, in whose session `session` it is.
    ///
    /// # Panics
    ///
    /// If they cannot.
    #[must_use]
    pub fn at(server: &Path, session: &str, pane: &str) -> Person {
        let folder = tempfile::Builder::new().prefix("cmux-p").tempdir().expect("a folder");
        let person =
            Person { terminal: folder.path().join("t"), server: server.to_owned(), folder };
        // There may be more than one person.
        let own = person.folder.path().file_name().unwrap_or_default().to_string_lossy();
        let view = format!("{VIEW}-{}", own.trim_start_matches("cmux-"));
        let look = format!(
            "env -u TMUX tmux -S '{}' new-session -t '={session}' -s {view} ';' set-option status off \
             ';' select-window -t '{pane}'",
            server.display()
        );
        let new = ["-f", "/dev/null", "new-session", "-d", "-s", "desk", "-x", "200", "-y", "50"];
        person.tmux(&person.terminal, &[&new[..], &[look.as_str()]].concat());
        eventually("the person sees the pane", || {
            let clients =
                person.tmux(&person.server, &["list-clients", "-F", "#{session_name} #{pane_id}"]);
            clients.lines().any(|line| line == format!("{view} {pane}")).then_some(())
        });
        person
    }

    /// Types a text, letter by letter as far as the program can tell.
    pub fn types(&self, text: &str) {
        // At the end of a word, tmux takes it for the end of a command.
        let text = text.strip_suffix(';').map_or(text.to_owned(), |text| format!("{text}\\;"));
        self.tmux(&self.terminal, &["send-keys", "-t", "desk", "-l", "--", &text]);
    }

    /// Presses a key that tmux knows by this name.
    pub fn presses(&self, key: &str) {
        self.tmux(&self.terminal, &["send-keys", "-t", "desk", "--", key]);
    }

    fn tmux(&self, socket: &Path, words: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(socket).args(words).env_remove("TMUX");
        let done = tmux.stdin(Stdio::null()).output().expect("tmux");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        self.tmux(&self.terminal, &["kill-server"]);
    }
}
