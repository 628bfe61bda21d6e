//! Agents, by command.

mod asked;
mod below;
mod brought;
mod launched;
mod living;
pub(crate) mod person;
mod played;
mod preferred;
mod team;

use std::fs;
use std::ops::Deref;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use cmux_testkit::home::{GHOST, Ran, TestHome};
use cmux_testkit::wait::eventually;
use cmux_wire::agent::NewAgent;
use serde_json::Value;

use crate::home;

/// A kind that no machine has.
const NO_KIND: &str = "no-such-kind";

/// A home, and beside it a folder called `shop`, on a machine of which a test says what is on it. All that
/// was launched ends with the test.
pub(crate) struct Shop {
    pub(crate) home: TestHome,
    pub(crate) root: PathBuf,
    /// Where programs are looked for.
    path: PathBuf,
    /// The project's id, once it is one.
    project: String,
}

impl Shop {
    /// Opens it with a daemon and a project, on a machine without agent CLIs.
    pub(crate) fn new() -> Shop {
        Shop::with(&[])
    }

    /// Opens it on a machine on which, of all agent CLIs, there are only `programs`.
    fn with(programs: &[&str]) -> Shop {
        let mut shop = Shop::closed(programs);
        shop.told(&["daemon", "start"]);
        let added = shop.told(&["project", "add", "."]);
        added["id"].as_str().unwrap().clone_into(&mut shop.project);
        shop
    }

    /// Returns it without a daemon, and not yet a project.
    fn closed(programs: &[&str]) -> Shop {
        let home = home();
        let path = machine(&home, programs);
        let root = home.folder("shop");
        fs::create_dir(root.join(".git")).unwrap();
        Shop { home, root, path, project: String::new() }
    }

    /// Returns the program, about to be run in the project's folder on this machine.
    pub(crate) fn at(&self, arguments: &[&str]) -> Command {
        let mut command = self.home.command(arguments);
        command.current_dir(&self.root).env("PATH", &self.path);
        command
    }

    /// Runs the program in the project's folder.
    pub(crate) fn here(&self, arguments: &[&str]) -> Ran {
        self.at(arguments).output().unwrap().into()
    }

    /// Waits until an agent is as it should be, and returns it.
    #[track_caller]
    fn eventually(&self, name: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(what, || {
                last = self.told(&["agent", "show", name]);
                is_so(&last).then(|| last.clone())
            })
        }));
        seen.unwrap_or_else(|_| {
            panic!("{name} never came to be {what}: {last}\n{}", self.home.log())
        })
    }

    #[track_caller]
    fn in_phase(&self, name: &str, phase: &str) -> Value {
        self.eventually(name, phase, |agent| agent["phase"] == phase)
    }

    /// Runs the program in the project's folder with `--json`, and returns what it printed.
    #[track_caller]
    pub(crate) fn told(&self, arguments: &[&str]) -> Value {
        // What follows `--` is another program's.
        let ran = self.here(&[&["--json"], arguments].concat());
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// Adds an agent that never runs.
    pub(crate) fn add(&self, name: &str, role: &str) -> Value {
        self.home.add_ghost();
        let new = NewAgent {
            project: self.project.clone(),
            name: name.to_owned(),
            kind: GHOST.to_owned(),
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
