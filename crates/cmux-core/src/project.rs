//! Projects: the folders that agents work in.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::event::What;
use crate::time::Timestamp;

/// How often a project's folder is looked at.
pub const LOOK_EVERY: Duration = Duration::from_mins(1);

/// How long one look may take before it counts as lost.
pub const LOOK_WITHIN: Duration = Duration::from_secs(30);

/// The longest root that is taken, in bytes. Linux knows no longer path.
pub const ROOT_MAX: usize = 4096;

/// The longest name that is taken, in characters.
pub const NAME_MAX: usize = 100;

/// A project, for as long as its folder has that path: a readable slug with a digest of the path, so
/// that two folders called `src` never meet.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectId(String);

impl ProjectId {
    /// Returns the id of the project at `root`, an absolute path.
    pub fn of(root: &str) -> ProjectId {
        let folder = root.rsplit('/').find(|part| !part.is_empty()).unwrap_or("root");
        let digest = Sha256::digest(root.as_bytes());
        let digest: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        ProjectId(format!("{}-{digest}", slug(folder)))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns `name` in lower-case letters, digits and single dashes, 32 at most.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.chars().map(|letter| letter.to_ascii_lowercase()) {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() == 32 {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "project".to_owned() } else { slug.to_owned() }
}

impl fmt::Display for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Text that should have been a project's id.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a project's id")]
pub struct BadProjectId(String);

impl FromStr for ProjectId {
    type Err = BadProjectId;

    fn from_str(text: &str) -> Result<ProjectId, BadProjectId> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if (1..=64).contains(&text.len()) && text.chars().all(allowed) {
            Ok(ProjectId(text.to_owned()))
        } else {
            Err(BadProjectId(text.chars().take(64).collect()))
        }
    }
}

/// A folder that agents work in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub id: ProjectId,
    pub name: String,
    pub root: String,
    pub created_at: Timestamp,
    pub presence: Presence,
    pub look: Look,
}

/// Whether a project's folder was there when it was last looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Present,
    Missing { since: Timestamp },
}

/// When a project's folder is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Due {
        at: Timestamp,
    },
    /// Asked for, and not answered. Counts as lost at `deadline`.
    Underway {
        deadline: Timestamp,
    },
}

/// What a look at a project's folder found. A look that failed finds nothing and says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Folder,
    Nothing,
}

/// Why a project was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadProject {
    #[error("the root `{0}` is not an absolute path")]
    Relative(String),
    #[error("the root `{0}` is not plain: it has `.`, `..`, `//` or a slash at its end")]
    NotPlain(String),
    #[error("the root is longer than {ROOT_MAX} bytes")]
    TooLong,
    #[error("the root or name has a control character in it")]
    Control,
    #[error("the name must have 1 to {NAME_MAX} characters")]
    Name,
}

impl Project {
    /// Returns the project at `root` as it is when it is first asked for.
    pub fn new(root: &str, name: Option<&str>, now: Timestamp) -> Result<Project, BadProject> {
        if !root.starts_with('/') {
            return Err(BadProject::Relative(root.chars().take(100).collect()));
        }
        let is_plain = |part: &str| !matches!(part, "" | "." | "..");
        if root != "/" && !root.split('/').skip(1).all(is_plain) {
            return Err(BadProject::NotPlain(root.chars().take(100).collect()));
        }
        if root.len() > ROOT_MAX {
            return Err(BadProject::TooLong);
        }
        let folder = root.rsplit('/').find(|part| !part.is_empty()).unwrap_or("/");
        let name = name.map_or(folder, str::trim);
        if root.chars().chain(name.chars()).any(char::is_control) {
            return Err(BadProject::Control);
        }
        let name: String = match name.chars().count() {
            0 => return Err(BadProject::Name),
            1..=NAME_MAX => name.to_owned(),
            _ if name == folder => name.chars().take(NAME_MAX).collect(),
            _ => return Err(BadProject::Name),
        };
        Ok(Project {
            id: ProjectId::of(root),
            name,
            root: root.to_owned(),
            created_at: now,
            presence: Presence::Present,
            look: Look::Due { at: now },
        })
    }

    /// Returns the project as it is once its folder was looked at, and what there is to tell of it.
    #[must_use]
    pub fn after(&self, found: Found, now: Timestamp) -> (Project, Option<What>) {
        let (presence, news) = match (self.presence, found) {
            (Presence::Present, Found::Folder) => (Presence::Present, None),
            (Presence::Missing { .. }, Found::Folder) => {
                (Presence::Present, Some(What::ProjectFound { root: self.root.clone() }))
            }
            (Presence::Present, Found::Nothing) => {
                let news = What::ProjectMissing { root: self.root.clone() };
                (Presence::Missing { since: now }, Some(news))
            }
            (Presence::Missing { since }, Found::Nothing) => (Presence::Missing { since }, None),
        };
        let look = Look::Due { at: now + LOOK_EVERY };
        (Project { presence, look, ..self.clone() }, news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000);

    #[test]
    fn folders_of_one_name_are_two_projects() {
        let (a, b) = (ProjectId::of("/a/src"), ProjectId::of("/b/src"));
        assert_ne!(a, b);
        assert!(a.as_str().starts_with("src-") && b.as_str().starts_with("src-"));
    }

    #[test]
    fn an_id_is_readable_whatever_the_folder_is_called() {
        for (root, start) in [
            ("/home/me/My Café!", "my-caf-"),
            ("/", "root-"),
            ("/…", "project-"),
            ("/x/--a--b--", "a-b-"),
        ] {
            let id = ProjectId::of(root);
            assert!(id.as_str().starts_with(start), "{id}");
            assert_eq!(id.as_str().parse(), Ok(id.clone()));
        }
        assert!(ProjectId::of(&format!("/{}", "x".repeat(300))).as_str().len() <= 64);
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in ["", "../x", "A", "a b", &"a".repeat(65)] {
            assert!(text.parse::<ProjectId>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_project_is_refused() {
        let long = format!("/{}", "x".repeat(ROOT_MAX));
        for (root, name, why) in [
            ("x", None, BadProject::Relative("x".to_owned())),
            (long.as_str(), None, BadProject::TooLong),
            ("/a/", None, BadProject::NotPlain("/a/".to_owned())),
            ("/a/../b", None, BadProject::NotPlain("/a/../b".to_owned())),
            ("//a", None, BadProject::NotPlain("//a".to_owned())),
            ("/a\n", None, BadProject::Control),
            ("/a", Some("\u{1b}[31m"), BadProject::Control),
            ("/a", Some("  "), BadProject::Name),
        ] {
            assert_eq!(Project::new(root, name, NOW), Err(why));
        }
    }

    #[test]
    fn a_folder_that_goes_and_comes_back_is_told_once_each() {
        let here = Project::new("/a/b", None, Timestamp(0)).unwrap();
        assert_eq!(here.after(Found::Folder, NOW).1, None);
        let (gone, news) = here.after(Found::Nothing, NOW);
        assert_eq!(news, Some(What::ProjectMissing { root: "/a/b".to_owned() }));
        assert_eq!(gone.presence, Presence::Missing { since: NOW });
        let (still, news) = gone.after(Found::Nothing, Timestamp(2_000));
        assert_eq!((still.presence, news), (gone.presence, None));
        let (back, news) = still.after(Found::Folder, Timestamp(3_000));
        assert_eq!(news, Some(What::ProjectFound { root: "/a/b".to_owned() }));
        assert_eq!(back.presence, Presence::Present);
    }
}
