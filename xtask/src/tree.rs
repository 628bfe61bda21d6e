//! The files of the repository, read once, so that every rule of tidy is a function of them alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};

/// What git tracks, or would track, by path from the root.
pub(crate) struct Tree {
    files: BTreeMap<String, Vec<u8>>,
}

impl Tree {
    /// Reads the working tree at `root`, without what git ignores.
    pub(crate) fn read(root: &Path) -> io::Result<Tree> {
        let listed = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .stderr(Stdio::inherit())
            .output()?;
        if !listed.status.success() {
            return Err(io::Error::other(format!("git ls-files: {}", listed.status)));
        }
        let mut files = BTreeMap::new();
        for path in listed.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty()) {
            let path = String::from_utf8_lossy(path).into_owned();
            if let Some(content) = read_entry(&root.join(&path))? {
                files.insert(path, content);
            }
        }
        Ok(Tree { files })
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Returns every file that is text, with its path.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, bytes)| Some((path.as_str(), as_text(bytes)?)))
    }

    pub(crate) fn bytes(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// Returns a file's text, or nothing if there is no such file or it is not text.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        as_text(self.files.get(path)?)
    }

    /// Whether there is a file or a folder of this name.
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.files.contains_key(path) || self.paths().any(|path| path.starts_with(&folder))
    }
}

/// Returns what a listed path holds: nothing if it was deleted or is another repository's folder.
fn read_entry(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::symlink_metadata(path) {
        Ok(entry) if entry.is_file() => fs::read(path).map(Some),
        // What a link points to is listed by itself.
        Ok(entry) if entry.is_symlink() => Ok(Some(Vec::new())),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn as_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
impl Tree {
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        let files = files.iter().map(|&(path, text)| (path.to_owned(), text.into()));
        Tree { files: files.collect() }
    }
}
