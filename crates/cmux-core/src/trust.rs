//! What the person approved of a project's own files. A repository may be anybody's: what it says acts only
//! once the person has seen it, and only as they have seen it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::digest::Digest;
use crate::setup::check_word;
use crate::time::Timestamp;

/// The most roles that a project may have files for.
pub const ROLES_MAX: usize = 64;

/// The most files that are approved at once.
pub const FILES_MAX: usize = ROLES_MAX + 1;

/// Where the configuration of a project is, below its root.
const CONFIG: &str = ".cmux/config.toml";

/// What the path of a role's file begins and ends with.
const ROLE: (&str, &str) = (".cmux/roles/", ".md");

/// A file of a project that says what is done in it. There are no others that matter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProjectFile {
    Config,
    /// What agents of this role are told.
    Role(String),
}

/// Text that should have been the path of a file that matters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no file that is trusted or not: there are .cmux/config.toml and .cmux/roles/ROLE.md"
)]
pub struct BadFile(String);

impl ProjectFile {
    /// Returns the file of the agents' `role`, if a role can be called so.
    pub fn of_role(role: &str) -> Option<ProjectFile> {
        check_word("role", role).is_ok().then(|| ProjectFile::Role(role.to_owned()))
    }
}

/// Says its path below the project's root.
impl fmt::Display for ProjectFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (folder, ending) = ROLE;
        match self {
            ProjectFile::Config => f.pad(CONFIG),
            ProjectFile::Role(role) => f.pad(&format!("{folder}{role}{ending}")),
        }
    }
}

impl FromStr for ProjectFile {
    type Err = BadFile;

    fn from_str(path: &str) -> Result<ProjectFile, BadFile> {
        let (folder, ending) = ROLE;
        let role = path.strip_prefix(folder).and_then(|name| name.strip_suffix(ending));
        match role {
            None if path == CONFIG => Ok(ProjectFile::Config),
            role => role
                .and_then(ProjectFile::of_role)
                .ok_or_else(|| BadFile(path.chars().take(100).collect())),
        }
    }
}

/// How a file stands with the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// They approved of it as it is.
    Trusted,
    /// They approved of it as it was once.
    Changed,
    /// They never did.
    New,
}

impl Standing {
    pub const ALL: [Standing; 3] = [Standing::Trusted, Standing::Changed, Standing::New];

    /// Returns its name, as everybody sees it.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Trusted => "trusted",
            Standing::Changed => "changed",
            Standing::New => "new",
        }
    }

    /// Returns why what the file says is not done, in words that follow "it", unless it is done.
    pub fn why_not(self) -> Option<&'static str> {
        match self {
            Standing::Trusted => None,
            Standing::Changed => Some("was changed since you trusted it"),
            Standing::New => Some("is not trusted by you"),
        }
    }
}

/// What was approved, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Approved {
    pub digest: Digest,
    pub at: Timestamp,
}

/// All that the person approved of one project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// Each file as they saw it last.
    pub files: BTreeMap<ProjectFile, Approved>,
    /// Since when its agents may say for them, in a dialog of their CLI, that the folder is trusted.
    pub folder: Option<Timestamp>,
}

/// Why nothing was approved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTrust {
    #[error("at most {FILES_MAX} files can be trusted at once")]
    TooMany,
    #[error(
        "`{0}` is not as it was shown: it was changed meanwhile, or is gone. Nothing was trusted; `cmux \
         project trust` shows it as it is now"
    )]
    Changed(ProjectFile),
}

impl Trust {
    /// Returns how a `file` stands that has this `digest` now.
    pub fn standing(&self, file: &ProjectFile, digest: &Digest) -> Standing {
        match self.files.get(file) {
            Some(approved) if approved.digest == *digest => Standing::Trusted,
            Some(_) => Standing::Changed,
            None => Standing::New,
        }
    }

    /// Returns the same with these files approved as they were shown, and the folder if it is to be. What
    /// was approved before stays so.
    #[must_use]
    pub fn approve(&self, files: &[(ProjectFile, Digest)], folder: bool, now: Timestamp) -> Trust {
        let mut trust = self.clone();
        for (file, digest) in files {
            if self.standing(file, digest) != Standing::Trusted {
                trust.files.insert(file.clone(), Approved { digest: *digest, at: now });
            }
        }
        if folder {
            trust.folder.get_or_insert(now);
        }
        trust
    }

    /// Returns the files that are approved otherwise than in `before`.
    pub fn news(&self, before: &Trust) -> Vec<(ProjectFile, Digest)> {
        let is_news = |(file, it): &(&ProjectFile, &Approved)| before.files.get(file) != Some(it);
        let told = |(file, it): (&ProjectFile, &Approved)| (file.clone(), it.digest);
        self.files.iter().filter(is_news).map(told).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.folder.is_none()
    }
}

/// Checks that what is to be approved is what is there: `found` is what each file is now, as far as there
/// is one. Nobody approves of what they have not seen.
pub fn check_shown(
    shown: &[(ProjectFile, Digest)],
    found: impl Fn(&ProjectFile) -> Option<Digest>,
) -> Result<(), BadTrust> {
    if shown.len() > FILES_MAX {
        return Err(BadTrust::TooMany);
    }
    match shown.iter().find(|(file, digest)| found(file) != Some(*digest)) {
        Some((file, _)) => Err(BadTrust::Changed(file.clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000);
    const LATER: Timestamp = Timestamp(2_000);

    #[test]
    fn only_files_that_say_what_is_done_matter() {
        for path in [".cmux/config.toml", ".cmux/roles/worker.md", ".cmux/roles/a.b_c-9.md"] {
            assert_eq!(path.parse::<ProjectFile>().unwrap().to_string(), path);
        }
        for path in [
            "",
            "config.toml",
            "/.cmux/config.toml",
            ".cmux/roles/.md",
            ".cmux/roles/../config.toml",
            ".cmux/roles/../x.md",
            ".cmux/roles/a/b.md",
            ".cmux/roles/worker.txt",
            ".cmux/roles/a b.md",
            ".cmux/journal/x.md",
        ] {
            assert!(path.parse::<ProjectFile>().is_err(), "{path}");
        }
    }

    #[test]
    fn a_file_is_trusted_as_it_was_seen_and_not_otherwise() {
        let trust = Trust::default().approve(&[(config(), of("a"))], false, NOW);
        for (file, digest, expected) in [
            (config(), of("a"), Standing::Trusted),
            (config(), of("b"), Standing::Changed),
            (role("worker"), of("a"), Standing::New),
        ] {
            assert_eq!(trust.standing(&file, &digest), expected, "{file}");
        }
        let changed = trust.approve(&[(config(), of("b"))], false, LATER);
        assert_eq!(changed.standing(&config(), &of("a")), Standing::Changed);
        assert_eq!(changed.news(&trust), [(config(), of("b"))]);
    }

    #[test]
    fn to_approve_twice_is_to_approve_once_and_takes_nothing_back() {
        let files = [(config(), of("a")), (role("worker"), of("b"))];
        let trust = Trust::default().approve(&files, true, NOW);
        assert_eq!((trust.files.len(), trust.folder), (2, Some(NOW)));
        for again in [&files[..], &files[..1], &[]] {
            for folder in [true, false] {
                assert_eq!(trust.approve(again, folder, LATER), trust);
            }
        }
        assert_eq!(trust.news(&trust), []);
        assert!(!trust.is_empty() && Trust::default().is_empty());
    }

    #[test]
    fn what_was_not_seen_is_not_approved() {
        let found = |file: &ProjectFile| (*file == config()).then(|| of("a"));
        let changed = |file| Err(BadTrust::Changed(file));
        let many = vec![(config(), of("a")); FILES_MAX + 1];
        for (shown, expected) in [
            (vec![], Ok(())),
            (vec![(config(), of("a"))], Ok(())),
            (vec![(config(), of("b"))], changed(config())),
            (vec![(role("worker"), of("a"))], changed(role("worker"))),
            // Twice, and once otherwise.
            (vec![(config(), of("a")), (config(), of("b"))], changed(config())),
            (many, Err(BadTrust::TooMany)),
        ] {
            assert_eq!(check_shown(&shown, found), expected);
        }
    }

    fn config() -> ProjectFile {
        ProjectFile::Config
    }

    fn role(name: &str) -> ProjectFile {
        ProjectFile::of_role(name).unwrap()
    }

    fn of(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }
}
