//! `cmux audit`: whether the log is as it was written.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use cmux_daemon::offline;
use cmux_drivers::home::Home;
use cmux_wire::client::ClientError;
use cmux_wire::store::{Archive, Audit as Wire, NewArchive};

use crate::cli::{Common, wait};
use crate::fail::Fail;
use crate::place;
use crate::say::{Say, count};

/// A long log takes its time.
const PATIENCE: Duration = Duration::from_mins(30);

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Walk the chain of hashes, and name the first event that does not fit
    #[command(after_help = "Works while the daemon runs or not. Exits 1 if an event does not fit.")]
    Verify,
    /// Write old events to a file, and take them out of the store
    #[command(after_help = "Each event is a line of JSON with its hashes. The chain goes on from \
                            there, and `cmux audit verify` still checks the rest.\n\n\
                            Example:\n  cmux audit archive ~/cmux-2026-q3.jsonl --keep-days 90")]
    Archive {
        file: PathBuf,
        /// Events of the last so many days stay
        #[arg(long, value_name = "N", default_value_t = 90)]
        keep_days: u32,
    },
}

impl Audit {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<ExitCode, Fail> {
        let home = place::home(common.home.as_deref())?;
        match self {
            Audit::Verify => verify(&home, say),
            Audit::Archive { file, keep_days } => {
                let file = place::absolute(&file)?.display().to_string();
                let new = NewArchive { file, keep_days };
                let client = place::client(&home).patient(PATIENCE);
                let archive = wait(async { Ok(client.archive(&new).await?) })?;
                say.show(&archive, tell_archive)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn verify(home: &Home, say: Say) -> Result<ExitCode, Fail> {
    let asked = wait(async { Ok(place::client(home).patient(PATIENCE).audit().await) })?;
    let audit = match asked {
        Err(ClientError::NoDaemon) => offline::audit(home)?,
        asked => asked?,
    };
    say.show(&audit, tell)?;
    Ok(if audit.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tell_archive(archive: &Archive) -> String {
    format!(
        "{}  {} up to {}\nsha256 {}",
        archive.file,
        count(archive.events, "event"),
        archive.through,
        archive.sha256
    )
}

fn tell(audit: &Wire) -> String {
    match &audit.misfit {
        None => format!(
            "the log is whole: {} up to {}, checked against {}",
            count(audit.events, "event"),
            audit.head,
            count(audit.anchors as u64, "backup")
        ),
        Some(misfit) => format!(
            "event {} does not fit: {}\n  `cmux db restore FILE` puts a backup in its place; those \
             taken by cmux are in the home's backups/",
            misfit.id, misfit.why
        ),
    }
}
