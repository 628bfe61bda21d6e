//! Homes that cannot be used, and logs that cannot be written.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use cmux_testkit::daemon::Daemon;
use cmux_testkit::home::TestHome;
use rustix::process::geteuid;

use crate::PROGRAM;
use crate::caller::{Caller, assert_nothing_runs_in, run_out};

#[test]
fn a_path_too_long_for_a_socket_is_explained() {
    let home = TestHome::new(PROGRAM);
    let root = home.folder("deep").join("x".repeat(100));
    check(&home, &root, 78, "is too long for a socket: the kernel takes 107 bytes");
    assert!(!root.exists());
}

#[test]
fn a_home_that_is_a_file_is_refused() {
    let home = TestHome::new(PROGRAM);
    let root = home.folder("other").join("file");
    fs::write(&root, "mine").unwrap();
    check(&home, &root, 75, "it is not a folder");
    check(&home, &root.join("below"), 75, "Not a directory");
    assert_eq!(fs::read_to_string(&root).unwrap(), "mine");
}

#[test]
fn a_home_without_permission_is_refused_by_its_name() {
    let home = TestHome::new(PROGRAM);
    let above = home.folder("above");
    let root = above.join("home");
    fs::set_permissions(&above, Permissions::from_mode(0o500)).unwrap();
    check(&home, &root, 75, "cannot be used: Permission denied");
    fs::set_permissions(&above, Permissions::from_mode(0o700)).unwrap();
    for file in ["cmux.lock", "cmux.db"] {
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join(file), "").unwrap();
        for mode in [0o000, 0o400] {
            fs::set_permissions(root.join(file), Permissions::from_mode(mode)).unwrap();
            check(&home, &root, 75, "ermission denied");
            check(&home, &root, 75, file);
        }
        fs::remove_dir_all(&root).unwrap();
    }
}

#[test]
fn a_log_that_cannot_be_written_keeps_nobody_from_starting() {
    for unwritable in ["logs", "logs/daemon.log"] {
        let home = TestHome::new(PROGRAM);
        if unwritable == "logs" {
            fs::write(home.root().join("logs"), "").unwrap();
        } else {
            fs::create_dir_all(home.root().join(unwritable)).unwrap();
        }
        let started = home.json(&["daemon", "start"]);
        assert_eq!(started["ready"], true, "{started}");
        Caller::new(home.client()).add("/project").unwrap();
        assert_eq!(home.run(&["daemon", "stop"]).code, Some(0));
        assert_nothing_runs_in(&home.root());
    }
}

/// Runs and starts a daemon in `root` as a user whom permissions hold back, and checks that both are
/// refused with `sentence`.
#[track_caller]
fn check(home: &TestHome, root: &Path, code: i32, sentence: &str) {
    for (arguments, code) in [(["daemon", "run"], code), (["daemon", "start"], 1)] {
        let mut command = without_power();
        home.equip(&mut command);
        command.args(arguments).env("CMUX_HOME", root);
        let ran = run_out(Daemon::launch(home, command));
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(sentence), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(&root.display().to_string()), "{arguments:?}: {ran:?}");
        assert_nothing_runs_in(root);
    }
}

/// Returns the program, about to be run by somebody who may not do what the files do not allow. For
/// root that is root without its powers.
fn without_power() -> Command {
    if !geteuid().is_root() {
        return Command::new(PROGRAM);
    }
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", "--", PROGRAM]);
    command
}
