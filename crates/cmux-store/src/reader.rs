//! A connection that only reads.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::store::{View, busy_max, tame};
use crate::{StoreError, migrate};

/// A connection that only reads. It never waits for the writer, nor the writer for it.
#[derive(Debug)]
pub struct Reader {
    db: Connection,
}

impl Reader {
    /// Opens the database at `path`, which must be there.
    pub fn open(path: &Path) -> Result<Reader, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags)?;
        db.busy_timeout(busy_max())?;
        db.pragma_update(None, "query_only", true)?;
        tame(&db)?;
        migrate::require_readable(&db, path)?;
        Ok(Reader { db })
    }

    /// Returns what `work` finds, all of it as it was at one moment.
    pub fn read<T>(
        &mut self,
        work: impl FnOnce(View<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let moment = self.db.transaction()?;
        work(View { db: &moment })
    }

    /// Copies the whole database, as it is at one moment, into a new file.
    pub(crate) fn vacuum_into(&self, target: &str) -> Result<(), StoreError> {
        // The connection cannot write to this database; that it may write to no other is in the way.
        self.db.pragma_update(None, "query_only", false)?;
        let copied = self.db.execute("VACUUM INTO ?1", [target]);
        self.db.pragma_update(None, "query_only", true)?;
        copied?;
        Ok(())
    }
}
