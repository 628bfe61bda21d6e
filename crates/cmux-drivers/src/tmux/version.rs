//! Which tmux there is, and whether it is recent enough.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;

use super::{TmuxError, shorten};
use crate::tools;

/// The oldest release that has all that cmux uses.
const OLDEST: (u32, u32) = (3, 2);

/// The first release that can be subscribed to.
const SUBSCRIBES: (u32, u32) = (3, 7);

/// The first OpenBSD whose own tmux has it, too.
const OLDEST_OPENBSD: u32 = 7;

/// A tmux that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tmux {
    pub program: PathBuf,
    pub version: Version,
}

/// A version of tmux, as it calls itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Version {
    /// A release such as 3.3a.
    Release { major: u32, minor: u32, letter: String },
    /// What will become that release.
    Next { major: u32, minor: u32 },
    /// The newest there was when it was built.
    Master,
    /// What came with that release of OpenBSD.
    OpenBsd { major: u32, minor: u32 },
}

impl Version {
    /// Reads what `tmux -V` says, or what `#{version}` stands for.
    pub fn parse(said: &str) -> Option<Version> {
        let name = said.trim();
        let name = name.strip_prefix("tmux ").unwrap_or(name);
        if name == "master" {
            return Some(Version::Master);
        }
        if let Some(rest) = name.strip_prefix("next-") {
            let (major, minor, _) = numbers(rest)?;
            return Some(Version::Next { major, minor });
        }
        if let Some(rest) = name.strip_prefix("openbsd-") {
            let (major, minor, _) = numbers(rest)?;
            return Some(Version::OpenBsd { major, minor });
        }
        let (major, minor, letter) = numbers(name)?;
        Some(Version::Release { major, minor, letter: letter.to_owned() })
    }

    /// Returns whether it can be subscribed to what changes. An earlier one may die if it looks for
    /// changes in the very moment in which who subscribed goes, as when the daemon is killed.
    pub fn may_subscribe(&self) -> bool {
        match *self {
            Version::Release { major, minor, .. } => (major, minor) >= SUBSCRIBES,
            Version::Next { major, minor } => (major, minor) > SUBSCRIBES,
            Version::Master => true,
            Version::OpenBsd { .. } => false,
        }
    }

    /// Returns whether it has all that cmux uses.
    pub fn is_enough(&self) -> bool {
        match *self {
            Version::Release { major, minor, .. } | Version::Next { major, minor } => {
                (major, minor) >= OLDEST
            }
            Version::Master => true,
            Version::OpenBsd { major, .. } => major >= OLDEST_OPENBSD,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version::Release { major, minor, letter } => write!(f, "{major}.{minor}{letter}"),
            Version::Next { major, minor } => write!(f, "next-{major}.{minor}"),
            Version::Master => f.write_str("master"),
            Version::OpenBsd { major, minor } => write!(f, "openbsd-{major}.{minor}"),
        }
    }
}

/// Reads two numbers with a dot between them, and what follows: letters, or `-rc2` and its like.
fn numbers(text: &str) -> Option<(u32, u32, &str)> {
    let (major, rest) = text.split_once('.')?;
    let end = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
    let (minor, letter) = rest.split_at(end);
    let is_plain = letter.chars().all(|it| it.is_ascii_alphanumeric() || it == '-');
    is_plain.then_some(())?;
    Some((major.parse().ok()?, minor.parse().ok()?, letter))
}

/// Finds the tmux on `path`. It asks the program for its version, and waits for the answer.
pub fn find(path: &OsStr) -> Result<Tmux, TmuxError> {
    let program = tools::find_all("tmux", path).into_iter().next().ok_or(TmuxError::Absent)?;
    let said = tools::version(&program, "-V").unwrap_or_default();
    let version = Version::parse(&said).ok_or_else(|| TmuxError::Garbled(shorten(&said)))?;
    if version.is_enough() {
        Ok(Tmux { program, version })
    } else {
        Err(TmuxError::TooOld { found: version.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    #[test]
    fn a_version_is_read_and_judged() {
        for (said, expected) in [
            ("tmux 3.3a", Some(true)),
            ("tmux 3.2", Some(true)),
            ("tmux 3.2-rc2", Some(true)),
            ("3.5a\n", Some(true)),
            ("tmux 3.10", Some(true)),
            ("tmux 4.0", Some(true)),
            ("tmux next-3.8", Some(true)),
            ("tmux master", Some(true)),
            ("tmux openbsd-7.4", Some(true)),
            ("tmux openbsd-6.6", Some(false)),
            ("tmux 3.1c", Some(false)),
            ("tmux next-3.1", Some(false)),
            ("tmux 2.9a", Some(false)),
            ("tmux 1.8", Some(false)),
            ("", None),
            ("tmux", None),
            ("tmux 3", None),
            ("tmux 3.x", None),
            ("tmux -3.2", None),
            ("screen 3.3 (GNU)", None),
            ("tmux 99999999999.1", None),
        ] {
            let version = Version::parse(said);
            assert_eq!(version.as_ref().map(Version::is_enough), expected, "{said}: {version:?}");
            if let Some(version) = version {
                assert_eq!(Version::parse(&version.to_string()), Some(version));
            }
        }
    }

    #[test]
    fn only_a_recent_version_is_subscribed_to() {
        for (said, expected) in [
            ("3.3a", false),
            ("3.6b", false),
            ("3.7", true),
            ("4.0", true),
            ("next-3.7", false),
            ("next-3.8", true),
            ("master", true),
            ("openbsd-7.4", false),
        ] {
            assert_eq!(Version::parse(said).unwrap().may_subscribe(), expected, "{said}");
        }
    }

    #[test]
    fn absent_too_old_and_unintelligible_are_told_apart() {
        check(None, "there is no tmux on the PATH");
        check(Some("tmux 2.9a"), "too old: it says `2.9a`");
        check(Some("tmux 3.1c"), "Upgrade tmux");
        check(Some("Segmentation fault"), "cannot be understood: `Segmentation fault`");
        check(Some(""), "cannot be understood: ``");
    }

    /// Checks what is told of a tmux that says `said` when it is asked for its version.
    #[track_caller]
    fn check(said: Option<&str>, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        if let Some(said) = said {
            let program = folder.path().join("tmux");
            fs::write(&program, format!("#!/bin/sh\necho '{said}'\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let told = find(Path::new(folder.path()).as_os_str()).unwrap_err().to_string();
        assert!(told.contains(expected), "{told}");
    }
}
