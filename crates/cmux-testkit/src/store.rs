//! Stores as another cmux might have left them.

use std::path::Path;

use rusqlite::Connection;

/// Makes the store at `database`, which nobody has open, one of a later `version`, which only a cmux
/// that knows `oldest_reader` can read.
pub fn make_later(database: &Path, version: u32, oldest_reader: u32) {
    let store = Connection::open(database).unwrap();
    store.execute("UPDATE schema SET oldest_reader = ?1", [oldest_reader]).unwrap();
    store.pragma_update(None, "user_version", version).unwrap();
    // Closing it puts all of it into the one file.
    store.close().unwrap();
}
