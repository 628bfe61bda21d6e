//! Failpoints: places where a test has a process killed, as a power cut would.
//!
//! `CMUX_FAILPOINT=name` kills the process that comes to the place of that name, and `name:N` when it comes
//! there for the N-th time. Without it, a place costs one look at a number.

use std::env;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};

/// The variable that names a place.
const VARIABLE: &str = "CMUX_FAILPOINT";

/// Whether the variable was looked at, and names a place.
static IS_SET: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;

static WANTED: OnceLock<Option<Wanted>> = OnceLock::new();
static HITS: AtomicU64 = AtomicU64::new(0);

/// Where a process is to be killed, and which time it comes there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    name: String,
    time: u64,
}

impl Wanted {
    fn parse(text: &str) -> Option<Wanted> {
        let (name, time) = match text.rsplit_once(':') {
            Some((name, time)) => (name, time.parse().ok()?),
            None => (text, 1),
        };
        (!name.is_empty() && time > 0).then(|| Wanted { name: name.to_owned(), time })
    }
}

/// Kills this process if it is to be killed at the place `name`, and now.
#[inline]
pub fn hit(name: &str) {
    if IS_SET.load(Ordering::Relaxed) != NO {
        look(name);
    }
}

#[cold]
fn look(name: &str) {
    let said = || env::var(VARIABLE).ok().and_then(|text| Wanted::parse(&text));
    let wanted = WANTED.get_or_init(said);
    IS_SET.store(if wanted.is_some() { YES } else { NO }, Ordering::Relaxed);
    let Some(wanted) = wanted.as_ref().filter(|wanted| wanted.name == name) else { return };
    if HITS.fetch_add(1, Ordering::Relaxed) + 1 == wanted.time {
        let _ = kill_process(getpid(), Signal::KILL);
        // The first process of a container cannot kill itself so.
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_named_with_the_time_it_strikes() {
        let at = |name: &str, time| Some(Wanted { name: name.to_owned(), time });
        for (text, expected) in [
            ("claim.renamed", at("claim.renamed", 1)),
            ("claim.renamed:1", at("claim.renamed", 1)),
            ("claim.renamed:12", at("claim.renamed", 12)),
            ("a:b:3", at("a:b", 3)),
            ("claim:", None),
            ("claim:0", None),
            ("claim:x", None),
            (":3", None),
            ("", None),
        ] {
            assert_eq!(Wanted::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn nothing_strikes_where_nothing_is_asked_for() {
        for _ in 0..3 {
            hit("nowhere");
        }
        assert_ne!(IS_SET.load(Ordering::Relaxed), UNKNOWN);
    }
}
