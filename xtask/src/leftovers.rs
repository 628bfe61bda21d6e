//! Processes that a run of the tests has left behind: agent CLIs that were installed for tests alone, and whatever
//! runs in a home that is gone.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// How long what is about to end may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often it is looked.
const PAUSE: Duration = Duration::from_millis(200);

/// Returns whether nothing is left once everything has had time to end, and tells what is.
pub(crate) fn check(root: &Path) -> bool {
    let begun = Instant::now();
    let mut left = find(Path::new("/proc"), root);
    while !left.is_empty() && begun.elapsed() < PATIENCE {
        thread::sleep(PAUSE);
        left = find(Path::new("/proc"), root);
    }
    for process in &left {
        println!("leftovers: {process}");
    }
    if left.is_empty() {
        println!("leftovers: no process was left behind");
    }
    left.is_empty()
}

/// Returns what a table of processes has that the tests of the checkout at `root` must not leave behind.
fn find(processes: &Path, root: &Path) -> Vec<String> {
    let installed = root.join(".agents");
    let mut left = Vec::new();
    for entry in fs::read_dir(processes).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.bytes().all(|it| it.is_ascii_digit()) {
            continue;
        }
        let path = entry.path();
        let is_cli = fs::read_link(path.join("exe")).is_ok_and(|it| it.starts_with(&installed));
        let home = home(&path);
        if is_cli || home.as_ref().is_some_and(|home| !home.exists()) {
            let words = fs::read(path.join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            left.push(format!("{name} {} in {home:?}", words.trim_end()));
        }
    }
    left
}

/// Returns the home that a process was started in, if it knows one.
fn home(process: &Path) -> Option<PathBuf> {
    let environment = fs::read(process.join("environ")).ok()?;
    let home =
        environment.split(|&byte| byte == 0).find_map(|it| it.strip_prefix(b"CMUX_HOME="))?;
    Some(PathBuf::from(String::from_utf8_lossy(home).into_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_installed_cli_is_found_and_whatever_runs_in_a_home_that_is_gone() {
        let table = Table::new("found");
        let root = &table.0;
        table.add("11", &root.join(".agents/claude/claude"), "");
        table.add("12", Path::new("/bin/sleep"), "A=1\0CMUX_HOME=/no/such/home\0");
        let here = format!("CMUX_HOME={}\0", root.display());
        table.add("13", Path::new("/bin/sleep"), &here);
        table.add("14", Path::new("/usr/bin/claude"), "");
        table.add("self", &root.join(".agents/claude/claude"), "");
        let mut found = find(root, root);
        found.sort();
        assert_eq!(found, ["11 it runs in None", "12 it runs in Some(\"/no/such/home\")"]);
    }

    /// A table of processes, as a folder.
    struct Table(PathBuf);

    impl Table {
        fn new(name: &str) -> Table {
            let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Table(folder)
        }

        fn add(&self, process: &str, program: &Path, environment: &str) {
            let folder = self.0.join(process);
            fs::create_dir_all(&folder).unwrap();
            symlink(program, folder.join("exe")).unwrap();
            fs::write(folder.join("environ"), environment).unwrap();
            fs::write(folder.join("cmdline"), "it\0runs\0").unwrap();
        }
    }

    impl Drop for Table {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
