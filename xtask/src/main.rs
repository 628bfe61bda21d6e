//! The gate: what must hold before a change goes in, as one command that people and CI both run.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "xtask is run by a person")]

mod check;
mod compatibility;
mod failures;
mod leftovers;
mod tidy;
mod tree;
mod types;
mod web;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  check               format, tidy, clippy, types and tests: the whole gate
  browser             only the dashboard in a browser, against the real daemon; `check` has it, too
  e2e                 the real agent CLIs, all that `scripts/agents` installs, and what they have shown
  tidy                only the rules of this repository that no other tool knows
  compatibility       write docs/compatibility.md from what `make e2e` has shown; with --check, compare
  types               write the dashboard's types from cmux-wire
  release-migrations  list new migrations as released: from then on they may not change";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let root = root();
    let passed = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["check"] => check::run(&root),
        ["browser"] => web::browser(&root),
        ["e2e"] => check::e2e(&root),
        ["tidy"] => tidy::run(&root),
        ["compatibility"] => compatibility::write(&root),
        ["compatibility", "--check"] => compatibility::check(&root),
        ["types"] => types::write(&root),
        ["release-migrations"] => tidy::release_migrations(&root),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns where cargo builds things.
fn target(root: &Path) -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root.join(target)
}

/// Returns the root of the repository that cargo was asked to run xtask in.
fn root() -> PathBuf {
    // Read when run: a build shared by several checkouts must judge the one it is called from.
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    xtask.parent().map_or_else(|| xtask.clone(), Path::to_path_buf)
}
