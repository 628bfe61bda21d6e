//! Configurations that are wrong.

use std::fs;

use cmux_testkit::daemon::Daemon;
use cmux_testkit::home::TestHome;

use crate::PROGRAM;
use crate::caller::{assert_nothing_runs_in, run_out};

#[test]
fn a_wrong_configuration_is_told_with_file_and_line() {
    for (bytes, where_and_what) in [
        (b"prot = 1\n".to_vec(), "config.toml:1: there is no setting `prot`. Did you mean `port`?"),
        (
            b"\n[guard]\nexit_max = 1\n".to_vec(),
            "config.toml:3: there is no setting `guard.exit_max`",
        ),
        (b"port = true\n".to_vec(), "config.toml:1: `port` must be"),
        (b"log = 'info'\nport = 70000\n".to_vec(), "config.toml:2: `port` must be"),
        (b"port = 'x\n".to_vec(), "config.toml:1: "),
        (b"port = 1\nport = 2\n".to_vec(), "config.toml:2: "),
        (b"# fine\nlog = '\xff\xfe'\n".to_vec(), "config.toml:2: it is not UTF-8"),
        (vec![b'#'; 2 << 20], "config.toml: it is longer than 1 MiB"),
    ] {
        let home = TestHome::new(PROGRAM);
        fs::write(home.root().join("config.toml"), bytes).unwrap();
        check(&home, &[], where_and_what);
    }
}

#[test]
fn a_configuration_that_is_no_file_is_told() {
    let home = TestHome::new(PROGRAM);
    fs::create_dir(home.root().join("config.toml")).unwrap();
    check(&home, &[], "config.toml: ");
}

#[test]
fn a_wrong_variable_is_told_by_its_name() {
    for (name, value, what) in [
        ("CMUX_PORT", "http", "CMUX_PORT=http: `port` must be a whole number"),
        ("CMUX_PORT", "65536", "CMUX_PORT=65536: `port` must be a whole number"),
        ("CMUX_HOST", "0.0.0.0", "CMUX_HOST=0.0.0.0: `host` must be an address of this machine's"),
        ("CMUX_LOG", "[[[", "`log` (or CMUX_LOG) is \"[[[\""),
    ] {
        let home = TestHome::new(PROGRAM);
        check(&home, &[(name, value)], what);
    }
}

/// Checks that a daemon neither runs nor starts, says `what`, and leaves nothing behind.
#[track_caller]
fn check(home: &TestHome, variables: &[(&str, &str)], what: &str) {
    for (arguments, code) in [(["daemon", "run"], 78), (["daemon", "start"], 1)] {
        let mut command = home.command(&arguments);
        command.envs(variables.iter().copied());
        let ran = run_out(Daemon::launch(home, command));
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(what), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.len() < 1000, "it should be a sentence: {ran:?}");
        assert_nothing_runs_in(&home.root());
        assert!(!home.root().join("cmux.db").exists());
    }
}
