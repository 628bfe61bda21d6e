//! Agents, by command.

mod asked;
mod below;
mod launched;
mod living;
mod person;
mod played;

use std::fs;
use std::ops::Deref;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use cmux_testkit::home::{Ran, TestHome};
use cmux_wire::agent::NewAgent;
use serde_json::Value;

use crate::home;

/// A kind that no machine has, so that nothing runs.
const NO_KIND: &str = "no-such-kind";

/// A home with a daemon, and a project called `shop` in it. All that was launched ends with the test.
struct Shop {
    home: TestHome,
    root: PathBuf,
    project: String,
}

impl Shop {
    fn new() -> Shop {
        Shop::with(&[])
    }

    /// Opens it on a machine on which, of all agent CLIs, there are only `programs`.
    fn with(programs: &[&str]) -> Shop {
        let home = home();
        let path = machine(&home, programs);
        let mut start = home.command(&["daemon", "start"]);
        let started: Ran = start.env("PATH", path).output().unwrap().into();
        assert_eq!(started.code, Some(0), "{started:?}");
        let root = home.folder("shop");
        fs::create_dir(root.join(".git")).unwrap();
        let added = home.json(&["project", "add", &root.display().to_string()]);
        Shop { project: added["id"].as_str().unwrap().to_owned(), home, root }
    }

    /// Runs the program in the project's folder.
    fn here(&self, arguments: &[&str]) -> Ran {
        self.home.command(arguments).current_dir(&self.root).output().unwrap().into()
    }

    /// Runs the program in the project's folder with `--json`, and returns what it printed.
    #[track_caller]
    fn told(&self, arguments: &[&str]) -> Value {
        let ran = self.here(&[arguments, &["--json"]].concat());
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// Adds an agent that is of no kind, and so never runs.
    fn add(&self, name: &str, role: &str) -> Value {
        let new = NewAgent {
            project: self.project.clone(),
            name: name.to_owned(),
            kind: NO_KIND.to_owned(),
            role: role.to_owned(),
            task: None,
            cwd: None,
            args: Vec::new(),
            env: [].into(),
            permanent: false,
        };
        let added = self.home.ask(|client| async move { client.spawn_agent(&new).await });
        serde_json::to_value(added.unwrap()).unwrap()
    }
}

impl Deref for Shop {
    type Target = TestHome;

    fn deref(&self) -> &TestHome {
        &self.home
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.home.run(&["down", "--all"]);
    }
}

/// Returns a folder with all that cmux needs, and `programs` that only tell their version.
fn machine(home: &TestHome, programs: &[&str]) -> PathBuf {
    let path = home.folder("programs");
    let usual = std::env::var_os("PATH").unwrap();
    for name in ["tmux", "git", "bash", "sh", "true", "cat"] {
        let found = std::env::split_paths(&usual).map(|place| place.join(name));
        symlink(found.into_iter().find(|file| file.exists()).unwrap(), path.join(name)).unwrap();
    }
    for name in programs {
        program(&path.join(name));
    }
    path
}

fn program(file: &Path) {
    fs::write(file, "#!/bin/sh\necho '1.0'\n").unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}
