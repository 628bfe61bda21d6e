//! What a test has shown of a CLI, for the page that tells of it.
//!
//! Each is a small file that `cargo xtask compatibility` reads. `make e2e` takes those of earlier runs away.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::stage::{Stage, program};

/// Something that the page tells of each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shown {
    Launch,
    Ready,
    Deliver,
    Confirm,
    Asking,
    Resume,
    Usage,
    Block,
    Draft,
}

impl Shown {
    fn name(self) -> &'static str {
        match self {
            Shown::Launch => "launch",
            Shown::Ready => "ready",
            Shown::Deliver => "deliver",
            Shown::Confirm => "confirm",
            Shown::Asking => "asking",
            Shown::Resume => "resume",
            Shown::Usage => "usage",
            Shown::Block => "block",
            Shown::Draft => "draft",
        }
    }
}

/// Notes that a kind was shown to do something, in the version that it tells of itself.
#[track_caller]
pub(crate) fn shown(stage: &Stage, kind: &str, what: Shown) {
    note(stage, kind, what.name());
}

/// Notes that a kind was tried and did not do something.
#[track_caller]
pub(crate) fn lacks(stage: &Stage, kind: &str, what: Shown) {
    note(stage, kind, &format!("no-{}", what.name()));
}

/// Notes something of a kind by this name, in the version that it tells of itself.
#[track_caller]
pub(crate) fn note(stage: &Stage, kind: &str, name: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("e2e");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{kind}-{name}")), version(stage, kind)).unwrap();
}

/// Returns the version that a kind tells of itself. It is asked here, as cmux does not wait for long.
#[track_caller]
pub(crate) fn version(stage: &Stage, kind: &str) -> String {
    let mut command = Command::new(program(kind));
    stage.post.world.home.equip(&mut command);
    let version = command.arg("--version").output().unwrap();
    String::from_utf8(version.stdout).unwrap()
}
