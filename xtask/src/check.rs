//! The steps of the gate. A failing step does not stop the next, so that one run shows all there is.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{compatibility, failures, leftovers, tidy, types, web};

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
// Warnings are denied here and not in RUSTFLAGS, which would build every dependency again.
const CLIPPY: &[&str] =
    &["clippy", "--workspace", "--all-targets", TYPES, "--locked", "--", "-D", "warnings"];
const NEXTEST: &[&str] = &["nextest", "run", "--workspace", TYPES, "--locked"];
const TEST: &[&str] = &["test", "--workspace", TYPES, "--locked", "--no-fail-fast"];
/// What is run of a real CLI only by `make e2e`, which fetches it. `.config/nextest.toml` says the same.
const FOR_E2E: [&str; 4] = ["codex::", "gemini::", "hermes::", "opencode::"];
/// How nextest's report begins the names of tests of real CLIs.
const OF_E2E: &str = "cmux::e2e ";
// The profiles of nextest.
const DEFAULT: &str = "default";
const E2E: &str = "e2e";
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
    let claude = ["claude"];
    let outcomes = [
        step("format", || cargo(root, FORMAT)),
        step("tidy", || tidy::run(root)),
        step("clippy", || cargo(root, CLIPPY)),
        step("types", || types::check(root)),
        step("web", || web::check(root)),
        step("tests", || {
            let is_new = compatibility::forget(root, &claude) && failures::forget(root, DEFAULT);
            is_new && tests(root)
        }),
        step("essential", || essential(root, DEFAULT, |it| !is_for_e2e(it))),
        // Had a test been left out, something would not have been shown.
        step("claude", || compatibility::check_shown(root, &claude)),
        step("browser", || web::browser(root)),
        step("leftovers", || leftovers::check(root)),
    ];
    summary("gate", &outcomes, &failures::names(root, DEFAULT))
}

/// Runs all the real CLIs, sees that the page tells what they have shown, and returns whether all of it passed.
pub(crate) fn e2e(root: &Path) -> bool {
    let all = compatibility::KINDS;
    let tests: &[&str] = match has_nextest(root) {
        true => &["nextest", "run", "--profile", E2E, "--locked", "-p", "cmux", "--test", "e2e"],
        false => &["test", "--locked", "-p", "cmux", "--test", "e2e", "--", "--test-threads=1"],
    };
    let outcomes = [
        step("tests", || {
            let is_new = compatibility::forget(root, &all) && failures::forget(root, E2E);
            is_new && cargo(root, tests)
        }),
        step("essential", || essential(root, E2E, |it| it.starts_with(OF_E2E))),
        step("page", || compatibility::check(root)),
        step("leftovers", || leftovers::check(root)),
    ];
    summary("run of the real CLIs", &outcomes, &failures::names(root, E2E))
}

/// Returns whether the essential tests that `is_of` takes have passed. Only nextest leaves a report of them.
fn essential(root: &Path, profile: &str, is_of: impl Fn(&str) -> bool) -> bool {
    if !has_nextest(root) {
        println!("essential: without nextest, there is no report to look into");
        return true;
    }
    failures::check(root, profile, is_of)
}

/// Returns whether a test, as nextest's report calls it, is run only by `make e2e`.
fn is_for_e2e(name: &str) -> bool {
    let test = name.strip_prefix(OF_E2E);
    test.is_some_and(|test| FOR_E2E.iter().any(|of| test.starts_with(of)))
}

/// Runs the tests, but for those of real CLIs that only `make e2e` has.
fn tests(root: &Path) -> bool {
    if has_nextest(root) {
        return cargo(root, NEXTEST);
    }
    let mut others = [TEST, &["--lib", "--bins", "--examples"]].concat();
    let names = match test_targets(root) {
        Ok(names) => names,
        Err(error) => {
            eprintln!("the tests could not be listed: {error}");
            return false;
        }
    };
    for name in names.iter().filter(|name| *name != "e2e") {
        others.extend(["--test", name]);
    }
    let mut e2e = [TEST, &["--test", "e2e", "--"]].concat();
    for name in FOR_E2E {
        e2e.extend(["--skip", name]);
    }
    // Both, so that one run shows all there is.
    let passed = cargo(root, &others);
    cargo(root, &e2e) && passed
}

/// Returns the names of what is in the folders `tests` of the workspace, as cargo finds them.
fn test_targets(root: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for package in fs::read_dir(root.join("crates"))? {
        let Ok(found) = fs::read_dir(package?.path().join("tests")) else { continue };
        for entry in found {
            let path = entry?.path();
            let is_one =
                path.join("main.rs").exists() || path.extension().is_some_and(|it| it == "rs");
            let name = path.file_stem().map(|it| it.to_string_lossy().into_owned());
            names.extend(name.filter(|name| is_one && !names.contains(name)));
        }
    }
    names.sort();
    Ok(names)
}

/// Tells which tests failed and how the steps ended, and returns whether all of them passed.
fn summary(what: &str, outcomes: &[Outcome], tests: &[String]) -> bool {
    println!("\n== summary");
    for test in tests {
        println!("failed: {test}");
    }
    for Outcome { name, passed, took } in outcomes {
        let verdict = if *passed { "passed" } else { "FAILED" };
        println!("{name:<9} {verdict} {:>7.1} s", took.as_secs_f64());
    }
    let failed: Vec<&str> = outcomes.iter().filter(|o| !o.passed).map(|o| o.name).collect();
    match failed.as_slice() {
        [] => println!("The {what} is passed."),
        _ => println!("The {what} is NOT passed: {} failed.", failed.join(", ")),
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
pub(crate) fn cargo(root: &Path, args: &[&str]) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Without nextest, a test that is not listed would not be run.
    #[test]
    fn every_test_is_listed_and_those_of_other_clis_are_where_they_are_left_out() {
        let root = crate::root();
        let names = test_targets(&root).unwrap();
        for name in ["e2e", "mail", "model", "typing"] {
            assert!(names.iter().any(|it| it == name), "{name}: {names:?}");
        }
        let nextest = fs::read_to_string(root.join(".config/nextest.toml")).unwrap();
        let left_out = FOR_E2E.map(|name| name.trim_end_matches(':')).join("|");
        assert!(nextest.contains(&format!("^({left_out})::")), "{left_out} in {nextest}");
    }
}
