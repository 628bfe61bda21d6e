//! `cmux audit`: whether the log is as it was written.

use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use cmux_daemon::offline;
use cmux_wire::client::ClientError;
use cmux_wire::store::Audit as Wire;

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
}

impl Audit {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<ExitCode, Fail> {
        let Audit::Verify = self;
        let home = place::home(common.home.as_deref())?;
        let asked = wait(async { Ok(place::client(&home).patient(PATIENCE).audit().await) })?;
        let audit = match asked {
            Err(ClientError::NoDaemon) => offline::audit(&home)?,
            asked => asked?,
        };
        say.show(&audit, tell)?;
        Ok(if audit.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
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
