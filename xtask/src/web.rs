//! The dashboard's part of the gate: it fits its types, passes its tests, is not too large, and what is
//! committed of it is what it builds to.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::check::cargo;

/// The oldest Node that builds it, as `web/package.json` says.
const NODE: (u32, u32) = (20, 19);

/// What is committed, so that cmux can be built without Node.
const DIST: &str = "web/dist";

/// How the packages are fetched: those of the lock file, and none of their scripts are run.
const FETCH: &[&str] = &["ci", "--ignore-scripts", "--no-audit", "--no-fund"];

/// Runs all of it, where there is a Node that can, and returns whether it passed.
pub(crate) fn check(root: &Path) -> bool {
    if lacks_node() {
        return true;
    }
    npm(root, FETCH)
        && npm(root, &["run", "typecheck"])
        && npm(root, &["run", "lint"])
        && npm(root, &["test"])
        && is_current(root)
        && npm(root, &["run", "size"])
}

/// Tries the dashboard in a browser, against the real daemon, and returns whether it passed. What it needs was
/// fetched by [`check`].
pub(crate) fn browser(root: &Path) -> bool {
    if lacks_node() {
        return true;
    }
    let target = crate::target(root).join("debug");
    let Some(chromium) = chromium(root) else {
        eprintln!("there is no Chromium: `scripts/prepare test` installs it");
        return false;
    };
    let ours = [
        ("CMUX_PROGRAM", target.join("cmux")),
        ("CMUX_FILL", target.join("examples/fill")),
        ("CMUX_CHROMIUM", chromium),
    ];
    cargo(root, BUILD) && npm_with(root, &["run", "browser"], &ours)
}

/// What a browser is shown, as the tests before it have built it.
const BUILD: &[&str] = &[
    "build",
    "--workspace",
    "--bins",
    "--examples",
    "--features=cmux-wire/typescript",
    "--locked",
];

/// Returns where the browser is.
fn chromium(root: &Path) -> Option<PathBuf> {
    let told = Command::new(root.join("scripts/prepare")).arg("chromium").output().ok()?;
    let path = String::from_utf8(told.stdout).ok()?.trim().to_owned();
    (told.status.success() && !path.is_empty()).then(|| path.into())
}

/// Says that nothing can be looked at, if that is so.
fn lacks_node() -> bool {
    let lacks = node().is_none_or(|version| version < NODE);
    if lacks {
        let (major, minor) = NODE;
        println!("web: not looked at, for want of Node {major}.{minor}; {DIST} is taken as it is");
    }
    lacks
}

/// Returns which Node there is, if there is one.
fn node() -> Option<(u32, u32)> {
    let told = Command::new("node").arg("--version").stderr(Stdio::null()).output().ok()?;
    version(&String::from_utf8_lossy(&told.stdout))
}

fn version(told: &str) -> Option<(u32, u32)> {
    let mut numbers = told.trim().strip_prefix('v')?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn npm(root: &Path, args: &[&str]) -> bool {
    npm_with(root, args, &[])
}

fn npm_with(root: &Path, args: &[&str], ours: &[(&str, PathBuf)]) -> bool {
    println!("npm {}", args.join(" "));
    let mut npm = Command::new("npm");
    npm.args(args).envs(ours.iter().map(|(name, path)| (*name, path)));
    match npm.current_dir(root.join("web")).status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("npm could not be run: {error}");
            false
        }
    }
}

/// Builds the dashboard beside what is committed, prints where they differ, and returns whether they do not.
fn is_current(root: &Path) -> bool {
    let built = crate::target(root).join("web-dist");
    let Some(out) = built.to_str() else {
        eprintln!("{} is no path that npm can be told", built.display());
        return false;
    };
    if !npm(root, &["run", "build", "--", "--outDir", out, "--emptyOutDir"]) {
        return false;
    }
    match (files(&root.join(DIST)), files(&built)) {
        (Ok(committed), Ok(built)) => {
            let findings = differences(&committed, &built);
            findings.iter().for_each(|finding| println!("{finding}"));
            if !findings.is_empty() {
                println!("{DIST} is not what is built: run `npm run build` in web/ and commit it");
            }
            findings.is_empty()
        }
        (Err(error), _) | (_, Err(error)) => {
            eprintln!("{DIST} could not be compared: {error}");
            false
        }
    }
}

/// Returns every file below `folder`, by its path in it.
fn files(folder: &Path) -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inner))? {
            let entry = entry?;
            let path = inner.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                found.insert(path, fs::read(entry.path())?);
            }
        }
    }
    Ok(found)
}

fn differences(
    committed: &BTreeMap<PathBuf, Vec<u8>>,
    built: &BTreeMap<PathBuf, Vec<u8>>,
) -> Vec<String> {
    let missing = built.keys().filter(|path| !committed.contains_key(*path));
    let missing = missing.map(|path| format!("{DIST}/{} is missing", path.display()));
    let other = committed.iter().filter_map(|(path, bytes)| match built.get(path) {
        None => Some(format!("{DIST}/{} is not built any more", path.display())),
        Some(built) if built != bytes => Some(format!("{DIST}/{} differs", path.display())),
        Some(_) => None,
    });
    missing.chain(other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_left_over_or_different_is_found() {
        let tree = |files: &[(&str, &str)]| -> BTreeMap<PathBuf, Vec<u8>> {
            let file =
                |(path, text): &(&str, &str)| (PathBuf::from(path), text.as_bytes().to_vec());
            files.iter().map(file).collect()
        };
        let built = tree(&[("index.html", "a"), ("assets/x.js", "b")]);
        assert_eq!(differences(&built, &built), Vec::<String>::new());
        let committed = tree(&[("index.html", "A"), ("assets/old.js", "b")]);
        let found = differences(&committed, &built);
        for finding in ["x.js is missing", "old.js is not built any more", "index.html differs"] {
            assert!(found.iter().any(|it| it.ends_with(finding)), "{finding}: {found:?}");
        }
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn a_version_is_read_as_node_tells_it() {
        assert_eq!(version("v20.20.2\n"), Some((20, 20)));
        assert!(version("v18.20.4").is_some_and(|it| it < NODE));
        assert!(version("v9.0.0").is_some_and(|it| it < NODE));
        assert_eq!(version(""), None);
    }
}
