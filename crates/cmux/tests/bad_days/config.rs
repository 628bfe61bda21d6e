//! Configurations that are wrong.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use cmux_testkit::daemon::Daemon;
use cmux_testkit::home::{Ran, TestHome};

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
        ("CMUX_HOST", "example.org", "CMUX_HOST=example.org: `host` must be an IP address"),
        ("CMUX_LOG", "[[[", "`log` (or CMUX_LOG) is \"[[[\""),
    ] {
        let home = TestHome::new(PROGRAM);
        check(&home, &[(name, value)], what);
    }
}

#[test]
fn an_address_that_others_can_reach_needs_tls_and_a_password() {
    let pem = concat!(env!("CARGO_MANIFEST_DIR"), "/../cmux-drivers/tests/tls");
    let home = TestHome::new(PROGRAM);
    let private = home.folder("tls").join("key.pem");
    fs::copy(format!("{pem}/key.pem"), &private).unwrap();
    let tls = |key: &Path| {
        format!("host = '0.0.0.0'\n[tls]\ncert = '{pem}/cert.pem'\nkey = '{}'\n", key.display())
    };
    let mode = |mode| fs::set_permissions(&private, Permissions::from_mode(mode)).unwrap();
    let write = |text: &str| fs::write(home.root().join("config.toml"), text).unwrap();
    check(&home, &[("CMUX_HOST", "0.0.0.0")], "`host` is 0.0.0.0, where other machines can reach");
    write("host = '::'\n");
    check(&home, &[], "`cert` and `key` under [tls] in config.toml, and a password with");
    write(&tls(Path::new("/no/such/key")));
    check(&home, &[], "/no/such/key cannot be read");
    write(&tls(&private));
    mode(0o644);
    check(&home, &[], "chmod 600");
    mode(0o600);
    check(&home, &[], "set a password with `cmux password set`");
}

#[test]
fn a_daemon_that_could_not_be_started_again_is_not_stopped() {
    let home = TestHome::new(PROGRAM);
    let daemon = home.daemon();
    let mut restart = home.command(&["daemon", "restart"]);
    let ran: Ran = restart.env("CMUX_HOST", "0.0.0.0").output().unwrap().into();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("where other machines can reach cmux"), "{ran:?}");
    assert_eq!(home.json(&["daemon", "status"])["pid"], daemon.pid());
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
