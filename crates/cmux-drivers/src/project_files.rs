//! A project's own files, `.cmux/config.toml` and `.cmux/roles/*.md`. Whoever wrote the repository may have
//! laid anything there: a link to a secret, a pipe that never ends, a file without end. Only short, plain
//! files are read, and nothing that is a link.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cmux_core::digest::Digest;
use cmux_core::role;
use cmux_core::trust::{ProjectFile, ROLES_MAX};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use crate::config::ConfigError;
use crate::written;

/// The longest configuration that is read, in bytes.
const CONFIG_MAX: usize = 64 << 10;

/// The folder of a project that is cmux's, and the one of its roles within it.
const FOLDER: &str = ".cmux";
const ROLES: &str = "roles";

/// How many names in the folder of roles are looked at.
const NAMES_MAX: usize = 1024;

/// A file as it is now.
#[derive(Clone, PartialEq, Eq)]
pub struct Found {
    pub file: ProjectFile,
    pub digest: Digest,
    /// There may be secrets in it.
    pub text: String,
}

/// The files of a project that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectFiles {
    /// In the order of their paths.
    pub found: Vec<Found>,
    /// What is there and cannot be used, each with its reason.
    pub refused: Vec<String>,
}

impl ProjectFiles {
    /// Returns the digest of `file`, if it is there and can be read.
    pub fn digest(&self, file: &ProjectFile) -> Option<Digest> {
        self.found.iter().find(|found| found.file == *file).map(|found| found.digest)
    }
}

/// Returns all files that matter of the project at `root`.
pub fn read_all(root: &Path) -> ProjectFiles {
    let mut files = ProjectFiles::default();
    let roles = match roles(root) {
        Ok((roles, refused)) => {
            files.refused.extend(refused);
            roles
        }
        Err(error) => {
            files.refused.push(error.to_string());
            Vec::new()
        }
    };
    for file in [ProjectFile::Config].into_iter().chain(roles) {
        match read(root, &file) {
            Ok(found) => files.found.extend(found),
            Err(error) => files.refused.push(error.to_string()),
        }
    }
    files.refused.dedup();
    files
}

/// Returns a file of the project at `root`, if it is there.
pub fn read(root: &Path, file: &ProjectFile) -> Result<Option<Found>, ConfigError> {
    let (max, folder, name) = match file {
        ProjectFile::Config => (CONFIG_MAX, folder(root, &[FOLDER])?, "config.toml".to_owned()),
        ProjectFile::Role(role) => {
            (role::TEXT_MAX, folder(root, &[FOLDER, ROLES])?, format!("{role}.md"))
        }
    };
    let Some(folder) = folder else { return Ok(None) };
    let path = root.join(file.to_string());
    let Some(opened) = open(&folder, &name, &path, OFlags::NONBLOCK)? else { return Ok(None) };
    let bytes = bounded(&opened, max).map_err(|source| unreadable(&path, source))?;
    let digest = Digest::of(&bytes);
    let text = written::text(&path, bytes)?;
    Ok(Some(Found { file: file.clone(), digest, text }))
}

/// Returns the roles that the project at `root` has files for, in order, and what is wrong with others.
fn roles(root: &Path) -> Result<(Vec<ProjectFile>, Vec<String>), ConfigError> {
    let (mut roles, mut refused) = (Vec::new(), Vec::new());
    let Some(folder) = folder(root, &[FOLDER, ROLES])? else { return Ok((roles, refused)) };
    let path = root.join(FOLDER).join(ROLES);
    let told = |error: Errno| unreadable(&path, error.into());
    for entry in Dir::read_from(&folder).map_err(told)?.take(NAMES_MAX) {
        let entry = entry.map_err(told)?;
        let name = entry.file_name().to_string_lossy();
        let Some(role) = name.strip_suffix(".md") else { continue };
        match ProjectFile::of_role(role) {
            Some(role) => roles.push(role),
            None => refused.push(format!(
                "{}/{}: no role can be called so: letters, digits, `-`, `_` and `.`, 32 at most, \
                 beginning with a letter",
                path.display(),
                name.escape_debug()
            )),
        }
    }
    roles.sort();
    refused.sort();
    if roles.len() > ROLES_MAX {
        refused.push(format!(
            "{}: {ROLES_MAX} roles are enough, the rest is not used",
            path.display()
        ));
        roles.truncate(ROLES_MAX);
    }
    Ok((roles, refused))
}

/// Opens the folder that is so deep below `root`, if it is there.
fn folder(root: &Path, names: &[&str]) -> Result<Option<File>, ConfigError> {
    let opened = openat(CWD, root, flags() | OFlags::DIRECTORY, Mode::empty());
    let mut folder = match opened {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        opened => File::from(opened.map_err(|error| unreadable(root, error.into()))?),
    };
    let mut path = root.to_owned();
    for name in names {
        path.push(name);
        match open(&folder, name, &path, OFlags::DIRECTORY)? {
            Some(inner) => folder = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(folder))
}

/// Opens what is called `name` in `folder`, if it is there. A link is refused, wherever it leads.
fn open(folder: &File, name: &str, path: &Path, more: OFlags) -> Result<Option<File>, ConfigError> {
    match openat(folder, name, flags() | OFlags::NOFOLLOW | more, Mode::empty()) {
        Ok(opened) => Ok(Some(File::from(opened))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => {
            let seen = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
            let is_link =
                seen.is_ok_and(|seen| FileType::from_raw_mode(seen.st_mode) == FileType::Symlink);
            match error {
                _ if is_link => {
                    let why = "it is a link, and cmux follows none out of a repository's hands: put \
                               the file itself there";
                    Err(unreadable(path, io::Error::other(why)))
                }
                // That its folder is none is told by whoever needs the folder.
                Errno::NOTDIR => Ok(None),
                error => Err(unreadable(path, error.into())),
            }
        }
    }
}

fn flags() -> OFlags {
    OFlags::RDONLY | OFlags::CLOEXEC
}

/// Returns what is in `file`, which must be a plain one of at most `max` bytes.
fn bounded(file: &File, max: usize) -> io::Result<Vec<u8>> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    file.take(max as u64 + 1).read_to_end(&mut bytes)?;
    match bytes.len() {
        length if length > max => {
            Err(io::Error::other(format!("it is longer than {} KiB", max >> 10)))
        }
        _ => Ok(bytes),
    }
}

fn unreadable(path: &Path, source: io::Error) -> ConfigError {
    ConfigError::Unreadable { path: PathBuf::from(path), source }
}

impl std::fmt::Debug for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Found { file, digest, text } = self;
        f.debug_struct("Found")
            .field("file", file)
            .field("digest", digest)
            .field("bytes", &text.len())
            .finish()
    }
}

#[cfg(test)]
mod tests;
