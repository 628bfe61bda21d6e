//! Failpoints: places where a test has a process killed, as a power cut would, or another one stopped.
//!
//! `CMUX_FAILPOINT=name` kills the process that comes to the place of that name, and `name:N` when it comes
//! there for the N-th time. `name=stop:PID` has the process of that number stand still instead. With `@FILE`
//! after it, this is done by only one of many processes that come there: the one that can remove the file.
//! Without the variable, a place costs one look at a number.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use rustix::process::{Pid, Signal, getpid, kill_process};

/// The variable that names a place.
const VARIABLE: &str = "CMUX_FAILPOINT";

/// Whether the variable was looked at, and names a place.
static IS_SET: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;

static WANTED: OnceLock<Option<Wanted>> = OnceLock::new();
static HITS: AtomicU64 = AtomicU64::new(0);

/// Where something is to be done, and which time a process comes there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    name: String,
    time: u64,
    what: What,
    /// Whoever removes it is the one who does it.
    file: Option<PathBuf>,
}

/// What is done at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Whoever comes there is killed.
    Die,
    /// Another process stands still.
    Stop(Pid),
}

impl What {
    fn parse(text: &str) -> Option<What> {
        let pid: i32 = text.strip_prefix("stop:")?.parse().ok()?;
        // A negative one would be a group.
        Pid::from_raw(pid.max(0)).map(What::Stop)
    }

    fn strike(self) {
        match self {
            What::Die => {
                let _ = kill_process(getpid(), Signal::KILL);
                // The first process of a container cannot kill itself so.
                std::process::abort();
            }
            // Whoever is gone stands still as well.
            What::Stop(pid) => drop(kill_process(pid, Signal::STOP)),
        }
    }
}

impl Wanted {
    fn parse(text: &str) -> Option<Wanted> {
        let (place, file) = match text.split_once('@') {
            Some((place, file)) => (place, Some(PathBuf::from(file))),
            None => (text, None),
        };
        let (place, what) = match place.split_once('=') {
            Some((place, what)) => (place, What::parse(what)?),
            None => (place, What::Die),
        };
        let (name, time) = match place.rsplit_once(':') {
            Some((name, time)) => (name, time.parse().ok()?),
            None => (place, 1),
        };
        (!name.is_empty() && time > 0).then(|| Wanted { name: name.to_owned(), time, what, file })
    }

    /// Returns whether this process is the one who is meant, if there is to be only one.
    fn is_meant(&self) -> bool {
        self.file.as_ref().is_none_or(|file| fs::remove_file(file).is_ok())
    }
}

/// Does what is to be done at the place `name`, if it is to be done now: as a rule, this process is killed.
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
    if HITS.fetch_add(1, Ordering::Relaxed) + 1 == wanted.time && wanted.is_meant() {
        wanted.what.strike();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_named_with_the_time_it_strikes() {
        let wanted = |name: &str, time| {
            let (name, what) = (name.to_owned(), What::Die);
            Wanted { name, time, what, file: None }
        };
        let at = |name: &str, time| Some(wanted(name, time));
        let once = |name: &str, time, file: &str| {
            Some(Wanted { file: Some(file.into()), ..wanted(name, time) })
        };
        let stop = Pid::from_raw(12).map(What::Stop).unwrap();
        let stopped = |name: &str, time| Some(Wanted { what: stop, ..wanted(name, time) });
        for (text, expected) in [
            ("claim.renamed", at("claim.renamed", 1)),
            ("claim.renamed:1", at("claim.renamed", 1)),
            ("claim.renamed:12", at("claim.renamed", 12)),
            ("a:b:3", at("a:b", 3)),
            ("claim@/a/b:2@c", once("claim", 1, "/a/b:2@c")),
            ("claim:2@/a", once("claim", 2, "/a")),
            ("mail.paste=stop:12", stopped("mail.paste", 1)),
            ("mail.paste:3=stop:12", stopped("mail.paste", 3)),
            ("mail.paste=stop:0", None),
            ("mail.paste=stop:-12", None),
            ("mail.paste=stop:", None),
            ("mail.paste=", None),
            ("@/a", None),
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
