//! Something that is found out in the background and remembered for a while, so that whoever asks waits
//! no longer than they can.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// What was found out last, and whether somebody is looking.
#[derive(Clone, Debug)]
pub(crate) struct Finding<T> {
    known: watch::Sender<Option<(Instant, T)>>,
    is_looking: Arc<AtomicBool>,
}

impl<T: Clone + Send + Sync + 'static> Finding<T> {
    pub(crate) fn nothing() -> Finding<T> {
        Finding { known: watch::Sender::new(None), is_looking: Arc::default() }
    }

    /// Returns what is known, if it is not older than `fresh`. Otherwise has somebody `look`, unless
    /// somebody does, and waits for what comes of it for as long as `patience`.
    pub(crate) async fn get<F>(
        &self,
        fresh: Duration,
        patience: Duration,
        look: impl FnOnce() -> F,
    ) -> Option<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut seen = self.known.subscribe();
        if let Some(known) = current(&seen.borrow_and_update(), fresh) {
            return Some(known);
        }
        if !self.is_looking.swap(true, Ordering::AcqRel) {
            let (finding, looking) = (self.clone(), look());
            let done = Done(self.is_looking.clone());
            tokio::spawn(async move {
                let found = looking.await;
                finding.known.send_replace(Some((Instant::now(), found)));
                drop(done);
            });
        }
        // It may have been found between the first look and now.
        let _ = timeout(patience, seen.wait_for(|known| current(known, fresh).is_some())).await;
        current(&self.known.borrow(), fresh)
    }
}

/// Lets the next one look, whatever became of this one.
struct Done(Arc<AtomicBool>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

fn current<T: Clone>(known: &Option<(Instant, T)>, fresh: Duration) -> Option<T> {
    known.as_ref().filter(|(at, _)| at.elapsed() <= fresh).map(|(_, found)| found.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use std::sync::atomic::AtomicUsize;

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn it_is_looked_once_for_all_who_ask() {
        let (finding, looks) = (Finding::nothing(), Arc::new(AtomicUsize::new(0)));
        for _ in 0..3 {
            let looks = looks.clone();
            let look = || async move { looks.fetch_add(1, Ordering::Relaxed) };
            assert_eq!(finding.get(LONG, LONG, look).await, Some(0));
        }
        assert_eq!(looks.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn after_a_look_that_panicked_it_is_looked_again() {
        let finding = Finding::nothing();
        let broken = || async { panic!("it broke") };
        assert_eq!(finding.get(LONG, Duration::from_millis(1), broken).await, None::<u8>);
        while finding.is_looking.load(Ordering::Acquire) {
            tokio::task::yield_now().await;
        }
        assert_eq!(finding.get(LONG, LONG, || async { 7 }).await, Some(7));
    }

    #[tokio::test]
    async fn a_look_that_hangs_holds_up_nobody_and_is_not_begun_again() {
        let finding = Finding::<()>::nothing();
        assert_eq!(finding.get(LONG, Duration::ZERO, pending).await, None);
        let begun_again = || async { panic!("somebody is looking already") };
        assert_eq!(finding.get(LONG, Duration::ZERO, begun_again).await, None);
    }
}
