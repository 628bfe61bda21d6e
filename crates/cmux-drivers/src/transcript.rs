//! Transcripts: where a CLI has written a conversation down, if it has.
//!
//! Without one there is nothing to resume: a CLI refuses to go on with a session that was never begun.

mod begun;
mod talk;
mod usage;
mod used;

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::manifest::{Place, Template, Transcript, Unfilled};

pub use self::begun::is_begun;
pub use self::talk::{Entry, Place as TalkPlace, TEXT_MAX, Talked, Text, What, read_back};
pub use self::usage::{Found as UsageFound, READ_MAX as USAGE_READ_MAX, read_on};
pub use self::used::{Looked, Used, used};

/// How many names are looked at in search of one transcript.
const LOOKED_MAX: usize = 100_000;

/// How many transcripts are looked through that were written to of late.
const RECENT_MAX: usize = 64;

/// A transcript that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub path: PathBuf,
    pub size: u64,
    pub modified: SystemTime,
}

/// The transcripts that were written to of late, the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recent {
    pub found: Vec<Found>,
    /// Whether these are all, and not too many.
    pub is_all: bool,
}

/// Why it is not known whether there is a transcript.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error(transparent)]
    Unfilled(#[from] Unfilled),
    #[error("`{0}` is not where a transcript can be looked for")]
    BadPath(String),
    #[error("{} has more in it than cmux looks through", .0.display())]
    TooMany(PathBuf),
    #[error("{} cannot be looked at: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

impl Transcript {
    /// Returns the transcript whose path fits, where `known` fills the places; the newest, if several do.
    /// A `*` is any part of one name. Links are not followed from the first name with a `*` on.
    pub fn find(
        &self,
        known: impl Fn(Place) -> Option<String>,
    ) -> Result<Option<Found>, SearchError> {
        let found = find_all(&self.path, known)?;
        Ok(found.into_iter().max_by(|a, b| (a.modified, &a.path).cmp(&(b.modified, &b.path))))
    }

    /// Returns the transcripts of any session that were written to since then: a CLI may begin another session in the
    /// middle of its life. Of too many, the oldest are left out.
    pub fn recent(
        &self,
        known: impl Fn(Place) -> Option<String>,
        since: SystemTime,
    ) -> Result<Recent, SearchError> {
        let any = |place: Place| match matches!(place, Place::Session | Place::SessionHead) {
            true => Some("*".to_owned()),
            false => plain(place, &known),
        };
        let mut found = search(&self.path.fill(any)?)?;
        found.retain(|it| it.modified >= since);
        found.sort_by(|a, b| (b.modified, &b.path).cmp(&(a.modified, &a.path)));
        let is_all = found.len() <= RECENT_MAX;
        found.truncate(RECENT_MAX);
        Ok(Recent { found, is_all })
    }
}

/// Returns all files whose path fits `path`, where `known` fills the places.
pub fn find_all(
    path: &Template,
    known: impl Fn(Place) -> Option<String>,
) -> Result<Vec<Found>, SearchError> {
    search(&path.fill(|place| plain(place, &known))?)
}

/// Returns what fills a place: one name as it is, whoever chose it. Only the manifest has wildcards.
fn plain(place: Place, known: impl Fn(Place) -> Option<String>) -> Option<String> {
    let is_folder =
        matches!(place, Place::Home | Place::State | Place::Settings | Place::Cwd | Place::Root);
    known(place).filter(|text| !text.contains('*') && (is_folder || is_name(text)))
}

/// Returns the files whose path fits `pattern`.
fn search(pattern: &str) -> Result<Vec<Found>, SearchError> {
    let names: Vec<&str> = pattern.split('/').skip(1).collect();
    let is_good = |name: &&str| !name.is_empty() && !matches!(*name, "." | "..");
    if !pattern.starts_with('/') || !names.iter().all(is_good) {
        return Err(SearchError::BadPath(pattern.chars().take(200).collect()));
    }
    let fixed = names.iter().take_while(|name| !name.contains('*')).count();
    let fixed = fixed.min(names.len().saturating_sub(1));
    let start: PathBuf = Path::new("/").join(names[..fixed].join("/"));
    let mut looked = 0;
    let mut reached = vec![start];
    for (index, name) in names.iter().enumerate().skip(fixed) {
        let is_last = index + 1 == names.len();
        let mut next = Vec::new();
        for folder in reached {
            next.extend(step(&folder, name, is_last, &mut looked)?);
        }
        reached = next;
    }
    let mut found = Vec::new();
    for path in reached {
        if let Some(about) = about(&path)? {
            let modified = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            found.push(Found { path, size: about.len(), modified });
        }
    }
    Ok(found)
}

/// Returns what is in `folder` by a name that fits: files if it is the `last` name, else folders.
fn step(
    folder: &Path,
    name: &str,
    is_last: bool,
    looked: &mut usize,
) -> Result<Vec<PathBuf>, SearchError> {
    let unreadable = |source| SearchError::Unreadable { path: folder.to_owned(), source };
    let is_wanted = |about: &Metadata| if is_last { about.is_file() } else { about.is_dir() };
    if !name.contains('*') {
        let path = folder.join(name);
        let about = about(&path)?;
        return Ok(about.filter(is_wanted).map(|_| path).into_iter().collect());
    }
    let entries = match fs::read_dir(folder) {
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        entries => entries.map_err(unreadable)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        *looked += 1;
        if *looked > LOOKED_MAX {
            return Err(SearchError::TooMany(folder.to_owned()));
        }
        let path = entry.map_err(unreadable)?.path();
        let fits = path.file_name().and_then(|it| it.to_str()).is_some_and(|it| fits(name, it));
        if fits && about(&path)?.as_ref().is_some_and(is_wanted) {
            found.push(path);
        }
    }
    Ok(found)
}

/// Returns what is at `path` itself, and not where a link there leads.
fn about(path: &Path) -> Result<Option<Metadata>, SearchError> {
    match fs::symlink_metadata(path) {
        Ok(about) => Ok(Some(about)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(source) => Err(SearchError::Unreadable { path: path.to_owned(), source }),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(['/', '\0']) && !matches!(text, "." | "..")
}

/// Returns whether `name` fits `pattern`, in which a `*` is anything.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::*;
    use crate::manifest::{BUILT_IN, Template, TranscriptShape, parse};

    #[test]
    fn a_transcript_is_found_by_its_session() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "projects/-repo/s1.jsonl");
        write(folder.path(), "projects/-other/s2.jsonl");
        write(folder.path(), "2026/11/16/rollout-2026-s3.jsonl");
        for (path, session, expected) in [
            ("{home}/projects/*/{session}.jsonl", "s1", Some("projects/-repo/s1.jsonl")),
            ("{home}/projects/*/{session}.jsonl", "s2", Some("projects/-other/s2.jsonl")),
            ("{home}/projects/*/{session}.jsonl", "s3", None),
            ("{home}/projects/{session}.jsonl", "s1", None),
            ("{home}/projects/-repo/{session}.jsonl", "s1", Some("projects/-repo/s1.jsonl")),
            ("{home}/none/*/{session}.jsonl", "s1", None),
            ("{home}/projects/*/{session}.jsonl/*", "s1", None),
            (
                "{home}/*/*/*/rollout-*-{session}.jsonl",
                "s3",
                Some("2026/11/16/rollout-2026-s3.jsonl"),
            ),
            ("{settings}/projects/*/{session}.jsonl", "s1", Some("projects/-repo/s1.jsonl")),
        ] {
            let found = find(folder.path(), path, session).unwrap();
            let expected = expected.map(|it| folder.path().join(it));
            assert_eq!(found.as_ref().map(|it| &it.path), expected.as_ref(), "{path}");
            assert!(found.is_none_or(|it| it.size == 2));
        }
    }

    #[test]
    fn the_newest_of_several_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        for (name, age_s) in [("a", 10), ("b", 5), ("c", 20)] {
            let file = write(folder.path(), &format!("{name}/s.jsonl"));
            let file = fs::File::options().append(true).open(file).unwrap();
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age_s);
            file.set_modified(at).unwrap();
        }
        let found = find(folder.path(), "{home}/*/{session}.jsonl", "s").unwrap().unwrap();
        assert_eq!(found.path, folder.path().join("b/s.jsonl"));
    }

    #[test]
    fn those_of_any_session_are_found_that_were_written_to_of_late() {
        let folder = tempfile::tempdir().unwrap();
        let since = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        for (name, after_s) in [("a/old.jsonl", -1), ("b/x.jsonl", 0), ("a/y.jsonl", 9), ("a/z", 9)]
        {
            let file = write(folder.path(), name);
            let file = fs::File::options().append(true).open(file).unwrap();
            let at = 1_000_000_u64.checked_add_signed(after_s).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(at)).unwrap();
        }
        let path = Template::read("{home}/*/{session}.jsonl").unwrap();
        let transcript = Transcript { shape: TranscriptShape::Claude, path };
        let home = folder.path().to_str().unwrap();
        let recent = || transcript.recent(|place| known(place, home, "other"), since).unwrap();
        let Recent { found, is_all } = recent();
        let paths: Vec<_> = found.iter().map(|it| it.path.strip_prefix(folder.path())).collect();
        assert_eq!(paths, [Ok(Path::new("a/y.jsonl")), Ok(Path::new("b/x.jsonl"))]);
        assert!(is_all);
        // Of too many, it is told that they are not all.
        for n in 0..RECENT_MAX {
            write(folder.path(), &format!("c/{n}.jsonl"));
        }
        let Recent { found, is_all } = recent();
        assert_eq!((found.len(), is_all), (RECENT_MAX, false));
    }

    #[test]
    fn no_link_leads_elsewhere_and_no_folder_is_a_transcript() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "elsewhere/s.jsonl");
        fs::create_dir_all(folder.path().join("in/a/s.jsonl")).unwrap();
        symlink(folder.path().join("elsewhere"), folder.path().join("in/b")).unwrap();
        fs::create_dir(folder.path().join("in/c")).unwrap();
        symlink(folder.path().join("elsewhere/s.jsonl"), folder.path().join("in/c/s.jsonl"))
            .unwrap();
        assert_eq!(find(folder.path(), "{home}/in/*/{session}.jsonl", "s").unwrap(), None);
    }

    #[test]
    fn a_session_s_name_is_one_name_and_no_pattern() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "in/a/s.jsonl");
        write(folder.path(), "s.jsonl");
        for session in ["*", "../s", "a/../../s", "", "..", "s\0"] {
            let refused = find(folder.path(), "{home}/in/*/{session}.jsonl", session);
            assert!(matches!(refused, Err(SearchError::Unfilled(_))), "{session}: {refused:?}");
        }
        for path in ["in/*", "{home}/../x", "{home}//x", "{home}/"] {
            let refused = find(folder.path(), path, "s");
            assert!(matches!(refused, Err(SearchError::BadPath(_))), "{path}: {refused:?}");
        }
    }

    #[test]
    fn a_star_is_any_part_of_a_name() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "x", true),
            ("a*", "ab", true),
            ("a*", "b", false),
            ("a*b", "ab", true),
            ("a*b", "a", false),
            ("ab*ba", "aba", false),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("*.jsonl", "x.jsonl", true),
            ("*.jsonl", "x.json", false),
            ("x", "x", true),
            ("x", "xy", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    fn write(folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{}").unwrap();
        path
    }

    #[test]
    fn where_each_cli_has_its_transcripts_can_be_looked_through() {
        for (file, text) in BUILT_IN {
            let manifest = parse(Path::new(file), text).unwrap();
            let Some(transcript) = manifest.transcript else { continue };
            let found = transcript.find(|place| known(place, "/no/such/folder", "s"));
            assert!(matches!(found, Ok(None)), "{file}: {found:?}");
        }
    }

    /// Returns what fills a place, if everything is in one folder.
    fn known(place: Place, folder: &str, session: &str) -> Option<String> {
        let is_folder = matches!(place, Place::Home | Place::State | Place::Settings);
        let is_session = matches!(place, Place::Session | Place::SessionHead);
        let session = Some(session).filter(|_| is_session);
        Some(folder).filter(|_| is_folder).or(session).map(ToOwned::to_owned)
    }

    fn find(folder: &Path, path: &str, session: &str) -> Result<Option<Found>, SearchError> {
        let path = Template::read(path).unwrap();
        let transcript = Transcript { shape: TranscriptShape::Claude, path };
        let home = folder.to_str().unwrap().to_owned();
        transcript.find(|place| known(place, &home, session))
    }
}
