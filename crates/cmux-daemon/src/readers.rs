//! Connections that only read, lent to whoever asks.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cmux_store::{Reader, StoreError, View};
use tokio::sync::Semaphore;

/// How many may read at once.
const READERS_MAX: usize = 4;

/// A few connections, opened as they are needed.
#[derive(Clone, Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    places: Arc<Semaphore>,
    /// Those that nobody uses. Held only to take one out or put one back.
    idle: Arc<Mutex<Vec<Reader>>>,
}

impl Readers {
    pub(crate) fn of(database: &Path) -> Readers {
        Readers {
            path: database.to_owned(),
            places: Arc::new(Semaphore::new(READERS_MAX)),
            idle: Arc::default(),
        }
    }

    /// Returns other connections to the same store, which need not wait for these.
    pub(crate) fn another(&self) -> Readers {
        Readers::of(&self.path)
    }

    /// Closes all connections: nobody reads any more.
    pub(crate) fn close(&self) {
        self.places.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns what `work` finds, on a thread that may wait for the disk.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(View<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let gone = |what: String| StoreError::Broken(what);
        let place = self.places.clone().acquire_owned().await;
        let place = place.map_err(|error| gone(error.to_string()))?;
        let (path, idle) = (self.path.clone(), self.idle.clone());
        let read = tokio::task::spawn_blocking(move || {
            let lent = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut reader = match lent {
                Some(reader) => reader,
                None => Reader::open(&path)?,
            };
            let found = reader.read(work);
            // A connection on which something went wrong is not used again, and none is at the end.
            if found.is_ok() && !place.semaphore().is_closed() {
                idle.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
            }
            drop(place);
            found
        });
        read.await.unwrap_or_else(|error| Err(gone(error.to_string())))
    }
}
