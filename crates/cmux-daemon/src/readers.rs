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
    idle: Idle,
    /// All that came of the same, which are closed together. Held only to add to it, or to close.
    kin: Kin,
}

/// Connections that nobody uses. Held only to take one out or put one back.
type Idle = Arc<Mutex<Vec<Reader>>>;

/// The places and connections of all that came of the same.
type Kin = Arc<Mutex<Vec<(Arc<Semaphore>, Idle)>>>;

impl Readers {
    pub(crate) fn of(database: &Path) -> Readers {
        Readers::among(database, Arc::default())
    }

    fn among(database: &Path, kin: Kin) -> Readers {
        let (places, idle) = (Arc::new(Semaphore::new(READERS_MAX)), Idle::default());
        let own = (places.clone(), idle.clone());
        kin.lock().unwrap_or_else(PoisonError::into_inner).push(own);
        Readers { path: database.to_owned(), places, idle, kin }
    }

    /// Returns other connections to the same store, which need not wait for these.
    pub(crate) fn another(&self) -> Readers {
        Readers::among(&self.path, self.kin.clone())
    }

    /// Closes all connections, and those of all others that came of these: nobody reads any more.
    pub(crate) fn close(&self) {
        for (places, idle) in self.kin.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            places.close();
            idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
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
