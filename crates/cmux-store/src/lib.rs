//! All that cmux must remember, in one SQLite file with one writer.

pub mod agents;
pub mod archive;
pub mod backup;
pub mod chain;
pub mod check;
pub mod cursors;
pub mod deliveries;
pub mod events;
mod file;
pub mod hooks;
mod kinds;
pub mod links;
pub mod logs;
pub mod messages;
mod migrate;
pub mod payloads;
pub mod projects;
mod reader;
pub mod repair;
pub mod runs;
mod salvage;
pub mod sessions;
pub mod settings;
pub mod snapshots;
mod store;
mod swap;
pub mod tokens;
pub mod trust;
pub mod turns;
pub mod usage;
pub mod wake;
pub mod webhooks;

use std::path::PathBuf;

pub use reader::Reader;
pub use store::{Head, Store, Tx, View};

/// The oldest SQLite that may be run on. Earlier ones can damage a file when its log starts anew.
const SQLITE_MIN: i32 = 3_051_003;

/// Why the database could not be read or written.
///
/// One variant for each thing a caller does about it; the rest is told to a person as it is.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A later cmux wrote this file: run that one.
    #[error(
        "{} was written by a later cmux: it needs one that knows version {needed} of the store, and \
         this one knows only {known}",
        path.display()
    )]
    TooNew { path: PathBuf, needed: u32, known: u32 },
    /// The file is not what cmux wrote: mend it.
    #[error("the store is damaged: {what}")]
    Damaged { what: String },
    /// There is no room. Nothing was written; there may be room again.
    #[error("there is no room left on the disk")]
    Full,
    /// The file cannot be written, and will not be until somebody changes that.
    #[error("{} cannot be written: {why}", path.display())]
    Unwritable { path: PathBuf, why: String },
    /// The disk failed. What was not on it may never be: end this process, and start from the file.
    #[error("the disk failed: {0}")]
    Broken(String),
    /// This program was built with a SQLite that damages files.
    #[error(
        "this cmux was built with SQLite {found}, which can damage its files: build it with 3.51.3 \
         or later"
    )]
    OldSqlite { found: String },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    /// A backup is not what it should be: take another.
    #[error("{} is not a good backup: {why}", path.display())]
    BadBackup { path: PathBuf, why: String },
    #[error("the database failed: {0}")]
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        use rusqlite::ErrorCode;
        use rusqlite::ffi::SQLITE_IOERR_SHMSIZE;

        let Some(failure) = error.sqlite_error() else { return from_row(error) };
        #[expect(clippy::wildcard_enum_match_arm, reason = "an enum of SQLite's, open by nature")]
        match failure.code {
            ErrorCode::DiskFull => StoreError::Full,
            // The file through which connections share memory could not be made longer.
            ErrorCode::SystemIoFailure if failure.extended_code == SQLITE_IOERR_SHMSIZE => {
                StoreError::Full
            }
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
                StoreError::Damaged { what: error.to_string() }
            }
            ErrorCode::SystemIoFailure => StoreError::Broken(error.to_string()),
            _ => StoreError::Sqlite(error),
        }
    }
}

/// A row of a type that no cmux ever wrote is damage too.
fn from_row(error: rusqlite::Error) -> StoreError {
    #[expect(clippy::wildcard_enum_match_arm, reason = "an enum of rusqlite's, open by nature")]
    match error {
        rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::Utf8Error(..) => StoreError::Damaged { what: error.to_string() },
        error => StoreError::Sqlite(error),
    }
}

/// Returns as damage what reading a file can only fail with if it is not what cmux wrote: our questions
/// fit our tables.
fn misread(error: StoreError) -> StoreError {
    use rusqlite::ErrorCode::{
        ConstraintViolation, SchemaChanged, TooBig, TypeMismatch, Unknown as BadQuestion,
    };
    let StoreError::Sqlite(error) = error else { return error };
    match error.sqlite_error_code() {
        None | Some(ConstraintViolation | SchemaChanged | TooBig | TypeMismatch | BadQuestion) => {
            StoreError::Damaged { what: error.to_string() }
        }
        Some(_) => StoreError::Sqlite(error),
    }
}

/// Returns a row's damage in words.
fn damaged(table: &str, id: &str, what: impl std::fmt::Display) -> StoreError {
    StoreError::Damaged { what: format!("{table} {id}: {what}") }
}
