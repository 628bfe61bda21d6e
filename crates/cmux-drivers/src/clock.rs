//! The machine's clocks.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cmux_core::clock::Reading;
use cmux_core::time::Timestamp;
use jiff::tz::TimeZone;
use rustix::time::{ClockId, clock_gettime};

/// Returns what the machine's clocks say now.
pub fn read() -> Reading {
    Reading { wall: wall(), since_boot: since_boot() }
}

/// Returns what a watch on the wall would show.
pub fn wall() -> Timestamp {
    let millis = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => Timestamp(millis(since)),
        Err(before) => Timestamp(-millis(before.duration())),
    }
}

/// Returns by how many minutes the clocks of this place are ahead of UTC now.
pub fn east_min() -> i32 {
    let Ok(zone) = TimeZone::try_system() else { return 0 };
    zone.to_offset(jiff::Timestamp::now()).seconds() / 60
}

/// Returns what tells this boot of the machine from others, if that is known.
pub fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// Returns the time since boot, sleep included.
fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
