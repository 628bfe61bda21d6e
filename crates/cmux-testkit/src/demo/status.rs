//! The status file: `sessions/<pid>.json`, by which others learn what the agent is at without looking at
//! its screen, as Claude Code has it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::session::Status;

/// The file of this process. It is gone when the process ends in order.
#[derive(Debug)]
pub(crate) struct StatusFile {
    path: PathBuf,
    name: String,
    folder: String,
    begun_ms: i64,
    written: Option<(Status, String)>,
}

impl StatusFile {
    pub(crate) fn new(state: &Path, name: &str, folder: &str, begun_ms: i64) -> StatusFile {
        let path = state.join("sessions").join(format!("{}.json", std::process::id()));
        let (name, folder) = (name.to_owned(), folder.to_owned());
        StatusFile { path, name, folder, begun_ms, written: None }
    }

    /// Writes that a session is at `status`, unless it says so already. Whoever reads it meanwhile reads
    /// the whole of what was there before.
    pub(crate) fn tell(&mut self, session: &str, status: Status, at_ms: i64) -> io::Result<()> {
        let told = (status, session.to_owned());
        let (word, waits_for) = match status {
            // Its file is not there before it has begun.
            Status::Unborn => return Ok(()),
            Status::Idle => ("idle", None),
            Status::Busy => ("busy", None),
            Status::Waiting => ("waiting", Some("permission prompt")),
        };
        if self.written.as_ref() == Some(&told) {
            return Ok(());
        }
        let text = json!({
            "pid": std::process::id(),
            "procStart": began(),
            "sessionId": session,
            "cwd": self.folder,
            "name": self.name,
            "kind": "interactive",
            "version": env!("CARGO_PKG_VERSION"),
            "startedAt": self.begun_ms,
            "status": word,
            "waitingFor": waits_for,
            "statusUpdatedAt": at_ms,
        });
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let beside = self.path.with_extension("new");
        fs::write(&beside, text.to_string())?;
        fs::rename(&beside, &self.path)?;
        self.written = Some(told);
        Ok(())
    }
}

impl Drop for StatusFile {
    fn drop(&mut self) {
        if self.written.is_some() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns when this process began, in the kernel's ticks: with its number, it names it for ever.
fn began() -> Option<String> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19).map(str::to_owned)
}
