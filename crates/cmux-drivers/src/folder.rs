//! Which project a folder belongs to, and whether an agent can work in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cmux_core::project::Found;
use rustix::fs::{Access, access};

/// Why no project was found.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("{}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is not a folder", path.display())]
    NotFolder { path: PathBuf },
    #[error("the folder {} is not there: make it, or name another", path.display())]
    Gone { path: PathBuf },
    #[error(
        "the folder {} may not be read and entered by this user: `chmod u+rx` it, or name another",
        path.display()
    )]
    Closed { path: PathBuf },
    #[error("the path {} is not UTF-8, and cmux cannot name it", path.display())]
    NotText { path: PathBuf },
}

/// Returns the root of the project that `folder` belongs to: the nearest folder upwards with a `.cmux`
/// or `.git` in it, or else the folder itself. A linked worktree belongs to its main repository.
pub fn project_root(folder: &Path) -> Result<String, FolderError> {
    let unreadable = |source| FolderError::Unreadable { path: folder.to_owned(), source };
    let folder = fs::canonicalize(folder).map_err(unreadable)?;
    if !folder.is_dir() {
        return Err(FolderError::NotFolder { path: folder });
    }
    let marked = |place: &&Path| place.join(".cmux").is_dir() || place.join(".git").exists();
    let root = folder.ancestors().find(marked).unwrap_or(&folder);
    let root = main_repository(root).unwrap_or_else(|| root.to_owned());
    match root.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(FolderError::NotText { path: root }),
    }
}

/// Returns the root of the main repository, if `root` is a linked worktree of one.
fn main_repository(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if !git.is_file() {
        return None;
    }
    let text = fs::read_to_string(&git).ok()?;
    let own = root.join(text.strip_prefix("gitdir:")?.trim());
    // A submodule has a `.git` file too, but none that names a common folder.
    let common = fs::read_to_string(own.join("commondir")).ok()?;
    let common = fs::canonicalize(own.join(common.trim())).ok()?;
    let main = common.parent()?;
    (common.file_name()? == ".git" && main.is_dir()).then(|| main.to_owned())
}

/// Returns whether what was said of the project at `root` holds for `folder`: it is there, or below with no
/// other project between. A folder elsewhere that only says so is not believed.
pub fn is_of(folder: &Path, root: &Path) -> bool {
    let (Ok(folder), Ok(root)) = (fs::canonicalize(folder), fs::canonicalize(root)) else {
        return false;
    };
    let is_own = project_root(&folder).is_ok_and(|found| Path::new(&found) == root);
    folder == root || folder.starts_with(&root) && is_own
}

/// Looks whether an agent could work in `folder`, and returns why not if it could not.
pub fn enter(folder: &Path) -> Result<(), FolderError> {
    match fs::metadata(folder) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Err(FolderError::NotFolder { path: folder.to_owned() }),
        Err(error) => return Err(unentered(folder, error)),
    }
    let entered = access(folder, Access::READ_OK | Access::EXEC_OK);
    entered.map_err(|error| unentered(folder, error.into()))
}

fn unentered(folder: &Path, source: io::Error) -> FolderError {
    let (path, kind) = (folder.to_owned(), source.kind());
    if matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
        FolderError::Gone { path }
    } else if kind == io::ErrorKind::PermissionDenied {
        FolderError::Closed { path }
    } else {
        FolderError::Unreadable { path, source }
    }
}

/// Looks whether there is a folder at `root`. A look that fails says nothing.
pub fn look(root: &Path) -> Option<Found> {
    match fs::metadata(root) {
        Ok(found) if found.is_dir() => Some(Found::Folder),
        Ok(_) => Some(Found::Nothing),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Found::Nothing),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    #[test]
    fn a_folder_is_of_a_project_if_no_other_is_between() {
        let tree = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(tree.path()).unwrap();
        for folder in ["own/.git/worktrees/x", "own/src", "own/vendor/.git", "own/vendor/src"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        fs::create_dir_all(top.join("other")).unwrap();
        let gitdir = format!("gitdir: {}", top.join("own/.git/worktrees/x").display());
        fs::write(top.join("other/.git"), gitdir).unwrap();
        fs::write(top.join("own/.git/worktrees/x/commondir"), "../..").unwrap();
        for (folder, expected) in [
            ("own", true),
            ("own/src", true),
            ("own/vendor", false),
            ("own/vendor/src", false),
            ("other", false),
            ("none", false),
            (".", false),
        ] {
            assert_eq!(is_of(&top.join(folder), &top.join("own")), expected, "{folder}");
        }
    }

    #[test]
    fn the_nearest_marked_folder_upwards_is_the_root() {
        let tree = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(tree.path()).unwrap();
        fs::create_dir_all(top.join("a/b/c")).unwrap();
        assert_eq!(project_root(&top.join("a/b/c")).unwrap(), text(&top.join("a/b/c")));
        fs::create_dir(top.join("a/.git")).unwrap();
        assert_eq!(project_root(&top.join("a/b/c")).unwrap(), text(&top.join("a")));
        fs::create_dir(top.join("a/b/.cmux")).unwrap();
        assert_eq!(project_root(&top.join("a/b/c")).unwrap(), text(&top.join("a/b")));
    }

    #[test]
    fn a_linked_worktree_belongs_to_its_main_repository() {
        let tree = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(tree.path()).unwrap();
        let main = top.join("main");
        git(&top, &["init", "-q", "main"]);
        let commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty"];
        git(&main, &[&commit[..], &["-m", "one"]].concat());
        git(&main, &["worktree", "add", "-q", "../linked"]);
        fs::create_dir(top.join("linked/deep")).unwrap();
        assert_eq!(project_root(&top.join("linked/deep")).unwrap(), text(&main));
    }

    #[test]
    fn what_is_no_folder_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(project_root(file.path()), Err(FolderError::NotFolder { .. })));
        let nowhere = Path::new("/no/such/place");
        assert!(matches!(project_root(nowhere), Err(FolderError::Unreadable { .. })));
        assert_eq!(look(nowhere), Some(Found::Nothing));
        assert_eq!(look(file.path()), Some(Found::Nothing));
        assert_eq!(look(Path::new("/")), Some(Found::Folder));
    }

    #[test]
    fn a_folder_that_no_agent_can_work_in_is_told_with_the_reason() {
        let tree = tempfile::tempdir().unwrap();
        let top = tree.path();
        fs::write(top.join("file"), "").unwrap();
        let closed = top.join("closed");
        fs::create_dir_all(closed.join("in")).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o600)).unwrap();
        for (name, expected) in [
            ("", None),
            ("gone", Some("is not there")),
            ("file", Some("is not a folder")),
            ("file/in", Some("is not there")),
        ] {
            check_enter(&top.join(name), expected);
        }
        // Root may go everywhere.
        if !rustix::process::geteuid().is_root() {
            check_enter(&closed, Some("may not be read and entered"));
            check_enter(&closed.join("in"), Some("may not be read and entered"));
        }
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        check_enter(&closed, None);
    }

    #[track_caller]
    fn check_enter(folder: &Path, expected: Option<&str>) {
        let told = enter(folder).err().map(|error| error.to_string());
        match expected {
            None => assert_eq!(told, None),
            Some(why) => assert!(told.as_ref().is_some_and(|it| it.contains(why)), "{told:?}"),
        }
    }

    fn git(folder: &Path, arguments: &[&str]) {
        let done = Command::new("git").arg("-C").arg(folder).args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn text(path: &Path) -> String {
        path.to_str().unwrap().to_owned()
    }
}
