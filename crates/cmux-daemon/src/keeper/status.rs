//! What a CLI says of itself, asked for whenever its agent is looked at.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use cmux_core::kind::Witness;
use cmux_core::time::Timestamp;
use cmux_core::witness::Said;
use cmux_drivers::manifest::{self, Manifest, Place, StatusShape, Template};
use cmux_drivers::process::{Process, children};
use cmux_drivers::status::{Reading, State, follow, session_file};
use tokio::sync::watch;

use super::prepare::{PORT, SECRET};

/// How deep below the launcher the CLI may be that says how it is: some are started by a script.
const DEEP_MAX: usize = 3;

/// Where a CLI says how it is.
#[derive(Debug)]
pub(super) enum Status {
    Nowhere,
    /// In a file that is called by its process, which is the one that had such a file before.
    File {
        at: Template,
        state: PathBuf,
        by: Option<Process>,
    },
    /// In a stream that is followed for as long as this is kept.
    Stream(watch::Receiver<Reading>),
}

impl Status {
    /// Returns where the CLI of `manifest` says how it is, of whose run this is the folder, and of whose
    /// agent that is the state.
    pub(super) fn of(manifest: &Manifest, run: &Path, state: PathBuf) -> Status {
        let Some(manifest::Status { shape, at }) = &manifest.status else { return Status::Nowhere };
        match shape {
            StatusShape::ClaudeSession => Status::File { at: at.clone(), state, by: None },
            StatusShape::OpencodeEvents => {
                let noted = |name| fs::read_to_string(run.join(name)).ok();
                let filled = at.fill(|place| match place == Place::Secret {
                    true => noted(SECRET),
                    false => noted(PORT).filter(|_| place == Place::Port),
                });
                let Ok(address) = filled else { return Status::Nowhere };
                let (sender, receiver) = watch::channel(Reading::Absent);
                tokio::spawn(async move { follow(&address, sender).await });
                Status::Stream(receiver)
            }
        }
    }

    /// Returns what the CLI below `launcher` says at `now`, and which session it is in.
    pub(super) fn read(
        &mut self,
        launcher: Process,
        now: Timestamp,
    ) -> Option<(Said, Option<String>)> {
        let reading = match self {
            Status::Nowhere => return None,
            Status::File { at, state, by } => match by.and_then(|it| read_of(at, state, it)) {
                Some(reading) => reading,
                None => {
                    let (process, reading) = read_below(at, state, launcher)?;
                    *by = Some(process);
                    reading
                }
            },
            Status::Stream(receiver) => receiver.borrow().clone(),
        };
        match reading {
            Reading::Absent | Reading::Unknown => None,
            Reading::Said(State { doing, session, .. }) => {
                let witness = Witness::Status;
                Some((Said { witness, doing, rule: None, line: None, at: now }, session))
            }
        }
    }
}

/// Returns what is in the file of the first process that has one: below `launcher`, or what a person
/// started itself.
fn read_below(at: &Template, state: &Path, launcher: Process) -> Option<(Process, Reading)> {
    let mut below = vec![launcher];
    for _ in 0..=DEEP_MAX {
        for process in &below {
            if let Some(reading) = read_of(at, state, *process) {
                return Some((*process, reading));
            }
        }
        below = below.iter().flat_map(|process| children(process.pid)).collect();
    }
    None
}

/// Returns what is in the file of a process, if it has one.
fn read_of(at: &Template, state: &Path, process: Process) -> Option<Reading> {
    let path = at.fill(|place| match place {
        Place::Home => Some(env::var("HOME").unwrap_or_default()),
        Place::State => Some(state.display().to_string()),
        Place::Pid => Some(process.pid.to_string()),
        Place::Program
        | Place::Cmux
        | Place::Session
        | Place::SessionHead
        | Place::Cwd
        | Place::Root
        | Place::Settings
        | Place::Prompt
        | Place::Role
        | Place::Name
        | Place::Run
        | Place::Secret
        | Place::Port => None,
    });
    match session_file(Path::new(&path.ok()?), process) {
        Reading::Absent => None,
        reading @ (Reading::Unknown | Reading::Said(_)) => Some(reading),
    }
}
