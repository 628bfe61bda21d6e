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
use crate::fail::{Code, Fail};
use crate::place;
use crate::say::{Say, count, size};

/// A large store takes its time.
const PATIENCE: Duration = Duration::from_mins(30);

#[derive(Debug, Subcommand)]
pub(crate) enum Db {
    /// Check every page of the store
    #[command(after_help = "Works while the daemon runs or not. Exits 1 if the store is damaged.")]
    Check,
    /// Copy the store to a file, while the daemon runs or not
    #[command(after_help = "Example:\n  cmux db backup ~/cmux-$(date +%F).db")]
    Backup {
        /// Where to; nothing may be there yet
        file: PathBuf,
    },
    /// Put a backup in the store's place. What was there is kept
    #[command(
        after_help = "The daemon must be stopped. A restored store begins a new log: whoever \
                            follows the old one is told so.\n\nExample:\n  cmux daemon stop && cmux db restore ~/cmux.db && cmux daemon start"
    )]
    Restore {
        /// What `cmux db backup` or a snapshot wrote
        file: PathBuf,
    },
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
                say.show(&back_up(&home, &place::absolute(&file)?)?, tell_backup)?;
                Ok(ExitCode::SUCCESS)
            }
            Db::Restore { file } => {
                place::require_person("put another store in the place of this one")?;
                home.prepare()?;
                say.show(&offline::restore(&home, &place::absolute(&file)?)?, tell_restored)?;
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
    require_room(file)?;
    let new = NewBackup { file: file.display().to_string() };
    let asked = wait(async { Ok(place::client(home).patient(PATIENCE).back_up(&new).await) })?;
    match asked {
        Err(ClientError::NoDaemon) => Ok(offline::back_up(home, file)?),
        asked => Ok(asked?),
    }
}

/// Refuses a place where something is already, or where nothing can be.
fn require_room(file: &Path) -> Result<(), Fail> {
    if file.symlink_metadata().is_ok() {
        let what = format!("{} is there already, and is not overwritten", file.display());
        return Err(Fail::failed(what).hint("choose another name, or remove it first"));
    }
    match file.parent() {
        Some(folder) if !folder.is_dir() => {
            let what = format!("there is no folder {} to write to", folder.display());
            Err(Fail::new(Code::NotFound, what).hint("make it first, or choose another"))
        }
        Some(_) | None => Ok(()),
    }
}

fn tell_check(check: &Check) -> String {
    if check.ok {
        let events = count(check.events, "event");
        return format!("the store is sound: {events}, {}", size(check.bytes));
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
    let before = restored.replaced.as_ref().map_or_else(
        || "there was nothing before".to_owned(),
        |replaced| format!("what was there before is in {replaced}"),
    );
    format!(
        "restored {}, up to event {}, as {}\n{before}\nbrowsers must log in again; a token that was \
         revoked since is good again, `cmux token list` shows them\n`cmux daemon start` runs it",
        restored.file, restored.head, restored.log
    )
}
