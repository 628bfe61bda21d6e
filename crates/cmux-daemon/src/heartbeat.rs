//! Signs of life for the guard, on the pipe that it gave us.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cmux_core::report::Report;
use tracing::warn;

use crate::inbox::Inbox;
use crate::kernel::Denied;

/// How long starting may take before it counts as hanging.
const START_WITHIN: Duration = Duration::from_mins(10);

/// A pulse: booting at first, then ready as long as both the kernel and the runtime turn.
#[derive(Clone, Debug)]
pub(crate) struct Heartbeat {
    pipe: Arc<File>,
    every: Duration,
    ready: Arc<AtomicBool>,
}

impl Heartbeat {
    /// Takes over standard output, on which the guard listens, and begins to beat.
    pub(crate) fn start(silence_max: Duration) -> io::Result<Heartbeat> {
        let pipe = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let every = silence_max / 5;
        let heartbeat = Heartbeat { pipe: Arc::new(pipe), every, ready: Arc::default() };
        let booting = heartbeat.clone();
        thread::Builder::new().name("booting".to_owned()).spawn(move || booting.boot())?;
        Ok(heartbeat)
    }

    /// Beats while the daemon starts, which may take its time but not for ever.
    fn boot(self) {
        let beats = START_WITHIN.as_millis() / self.every.as_millis().max(1);
        for _ in 0..beats {
            if self.ready.load(Ordering::Relaxed) || !self.beat("booting") {
                return;
            }
            thread::sleep(self.every);
        }
    }

    /// Beats as long as the kernel answers.
    pub(crate) async fn live(self, inbox: Option<Inbox>) {
        self.ready.store(true, Ordering::Relaxed);
        let mut ticks = tokio::time::interval(self.every);
        loop {
            ticks.tick().await;
            if let Some(inbox) = &inbox
                && inbox.ask(Report::Ping).await == Err(Denied::Busy)
            {
                // Nobody empties the inbox: that is no sign of life.
                continue;
            }
            if !self.beat("ready") {
                warn!("the guard is gone: nobody will start this daemon again if it ends");
                return;
            }
        }
    }

    /// Beats once. Returns whether anybody listens.
    fn beat(&self, word: &str) -> bool {
        writeln!(&mut &*self.pipe, "{word}").is_ok()
    }
}
