//! The steps of the gate. A failing step does not stop the next, so that one run shows all there is.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{tidy, types};

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
// Warnings are denied here and not in RUSTFLAGS, which would build every dependency again.
const CLIPPY: &[&str] =
    &["clippy", "--workspace", "--all-targets", TYPES, "--locked", "--", "-D", "warnings"];
const NEXTEST: &[&str] = &["nextest", "run", "--workspace", TYPES, "--locked"];
const TEST: &[&str] = &["test", "--workspace", TYPES, "--locked", "--no-fail-fast"];
// What writes the dashboard's types is not in the product, and is checked all the same.
const TYPES: &str = "--features=cmux-wire/typescript";

/// How one step ended.
struct Outcome {
    name: &'static str,
    passed: bool,
    took: Duration,
}

/// Runs the whole gate, the quick steps first, and returns whether all of it passed.
pub(crate) fn run(root: &Path) -> bool {
    let tests = if has_nextest(root) { NEXTEST } else { TEST };
    let outcomes = [
        step("format", || cargo(root, FORMAT)),
        step("tidy", || tidy::run(root)),
        step("clippy", || cargo(root, CLIPPY)),
        step("types", || types::check(root)),
        step("tests", || cargo(root, tests)),
    ];

    println!("\n== summary");
    for Outcome { name, passed, took } in &outcomes {
        let verdict = if *passed { "passed" } else { "FAILED" };
        println!("{name:<8} {verdict} {:>7.1} s", took.as_secs_f64());
    }
    let failed: Vec<&str> = outcomes.iter().filter(|o| !o.passed).map(|o| o.name).collect();
    match failed.as_slice() {
        [] => println!("The gate is passed."),
        _ => println!("The gate is NOT passed: {} failed.", failed.join(", ")),
    }
    failed.is_empty()
}

fn step(name: &'static str, run: impl FnOnce() -> bool) -> Outcome {
    println!("\n== {name}");
    let start = Instant::now();
    let passed = run();
    Outcome { name, passed, took: start.elapsed() }
}

/// Runs cargo for a person to read, and returns whether it succeeded.
fn cargo(root: &Path, args: &[&str]) -> bool {
    println!("cargo {}", args.join(" "));
    match cargo_command(root).args(args).status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("cargo could not be run: {error}");
            false
        }
    }
}

fn has_nextest(root: &Path) -> bool {
    let mut version = cargo_command(root);
    version.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

pub(crate) fn cargo_command(root: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root);
    cargo
}
