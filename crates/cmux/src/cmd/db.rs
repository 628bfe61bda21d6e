//! `cmux db`: the store.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use cmux_daemon::offline;
use cmux_drivers::home::Home;
use cmux_wire::client::ClientError;
use cmux_wire::store::{Backup, Check, NewBackup, Restored};

use crate::cli::{Common, wait};
use crate::fail::Fail;
use crate::place;
use crate::say::{Say, size};

/// A large store takes its time.
const PATIENCE: Duration = Duration::from_mins(30);

#[derive(Debug, Subcommand)]
pub(crate) enum Db {
    /// Check every page of the store
    Check,
    /// Copy the store to a file, while the daemon runs or not
    #[command(after_help = "Example:\n  cmux db backup ~/cmux-$(date +%F).db")]
    Backup { file: PathBuf },
    /// Put a backup in the store's place. What was there is kept
    #[command(
        after_help = "The daemon must be stopped. A restored store begins a new log: whoever \
                            follows the old one is told so.\n\nExample:\n  cmux daemon stop && cmux db restore ~/cmux.db && cmux daemon start"
    )]
    Restore { file: PathBuf },
}

impl Db {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<ExitCode, Fail> {
        let home = place::home(common.home.as_deref())?;
        match self {
            Db::Check => {
                let check = check(&home)?;
                say.show(&check, tell_check)?;
                Ok(if check.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
            }
            Db::Backup { file } => {
                say.show(&back_up(&home, &absolute(&file)?)?, tell_backup)?;
                Ok(ExitCode::SUCCESS)
            }
            Db::Restore { file } => {
                home.prepare()?;
                say.show(&offline::restore(&home, &absolute(&file)?)?, tell_restored)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn check(home: &Home) -> Result<Check, Fail> {
    let asked = wait(async { Ok(place::client(home).patient(PATIENCE).check().await) })?;
    match asked {
        Err(ClientError::NoDaemon) => Ok(offline::check(home)?),
        asked => Ok(asked?),
    }
}

fn back_up(home: &Home, file: &Path) -> Result<Backup, Fail> {
    let new = NewBackup { file: file.display().to_string() };
    let asked = wait(async { Ok(place::client(home).patient(PATIENCE).back_up(&new).await) })?;
    match asked {
        Err(ClientError::NoDaemon) => Ok(offline::back_up(home, file)?),
        asked => Ok(asked?),
    }
}

fn absolute(file: &Path) -> Result<PathBuf, Fail> {
    std::path::absolute(file).map_err(|error| Fail::failed(format!("{}: {error}", file.display())))
}

fn tell_check(check: &Check) -> String {
    if check.ok {
        return format!("the store is sound: {} events, {}", check.events, size(check.bytes));
    }
    format!(
        "the store is damaged:\n  {}\n  `cmux daemon restart` mends it, and says what is missing",
        check.problems.join("\n  ")
    )
}

fn tell_backup(backup: &Backup) -> String {
    format!(
        "{}  {}  up to event {}\nsha256 {}",
        backup.file,
        size(backup.bytes),
        backup.head,
        backup.sha256
    )
}

fn tell_restored(restored: &Restored) -> String {
    let replaced = restored.replaced.as_deref().unwrap_or("nowhere: there was nothing");
    format!(
        "restored {}, up to event {}, as {}\nwhat was there before is in {replaced}",
        restored.file, restored.head, restored.log
    )
}
