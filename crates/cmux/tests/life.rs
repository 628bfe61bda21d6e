//! The daemon's life, through the real program.

use cmux_testkit::home::TestHome;

const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");

#[test]
fn a_daemon_that_is_told_to_stop_leaves_nothing_behind() {
    let home = TestHome::new(PROGRAM);
    let daemon = home.daemon();
    assert!(home.root().join("cmux.sock").exists());
    assert!(daemon.stop().success());
    assert!(!home.root().join("cmux.sock").exists());
}
