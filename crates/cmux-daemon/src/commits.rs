//! How long commits take, counted in buckets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The bounds of the buckets that commits are counted in, in microseconds.
const BOUNDS_US: [u64; 10] = [100, 250, 500, 1000, 2500, 5000, 10_000, 50_000, 250_000, 1_000_000];

/// How long commits took.
#[derive(Debug, Default)]
pub struct Commits {
    buckets: [AtomicU64; BOUNDS_US.len()],
    count: AtomicU64,
    sum_us: AtomicU64,
}

impl Commits {
    pub fn took(&self, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.sum_us.fetch_add(us, Ordering::Relaxed);
        let bounds = BOUNDS_US.iter().zip(&self.buckets);
        if let Some((_, bucket)) = bounds.into_iter().find(|(bound, _)| us <= **bound) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns each bucket's bound in microseconds, and how many were within it and beyond the one before.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let load = |bucket: &AtomicU64| bucket.load(Ordering::Relaxed);
        BOUNDS_US.into_iter().zip(self.buckets.iter().map(load))
    }

    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub fn sum_us(&self) -> u64 {
        self.sum_us.load(Ordering::Relaxed)
    }
}
