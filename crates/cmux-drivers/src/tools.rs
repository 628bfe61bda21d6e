//! Other programs: where they are, and which version.

use std::env;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long a program may take to tell its version.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The most of an answer that is read, in bytes.
const ANSWER_MAX: u64 = 4096;

/// Returns every program called `name` on `path`, in the order in which they are found.
pub fn find_all(name: &str, path: &OsStr) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for place in env::split_paths(path) {
        let file = place.join(name);
        if is_program(&file) && !found.contains(&file) {
            found.push(file);
        }
    }
    found
}

pub(crate) fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// Returns the first line that `program` says when it is called with `argument`.
pub fn version(program: &Path, argument: &str) -> Option<String> {
    let mut child = Command::new(program)
        .arg(argument)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let (sender, answer) = mpsc::channel();
    let output = child.stdout.take()?;
    thread::spawn(move || {
        let mut text = String::new();
        let read = output.take(ANSWER_MAX).read_to_string(&mut text);
        // Nobody listens any more if it took too long.
        let _ = sender.send(read.map(|_| text));
    });
    let text = answer.recv_timeout(ANSWER_WITHIN);
    let _ = child.kill();
    let _ = child.wait();
    let text = text.ok()?.ok()?;
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_where_it_is_and_tells_its_version() {
        let path = env::var_os("PATH").unwrap();
        let git = find_all("git", &path);
        assert!(version(&git[0], "--version").unwrap().starts_with("git version"));
        assert_eq!(find_all("no-such-program-here", &path), Vec::<PathBuf>::new());
    }
}
