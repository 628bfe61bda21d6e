//! The dashboard's types: written from cmux-wire, and committed so that building it needs no Rust.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::check::cargo_command;

const FILE: &str = "web/src/wire/index.ts";
// Not `--package`: with the features of one crate alone, its dependencies would be built once more.
const PRINT: &[&str] = &[
    "run",
    "--quiet",
    "--locked",
    "--features",
    "cmux-wire/typescript",
    "--example",
    "typescript",
];

/// Writes the types, and returns whether that could be done.
pub(crate) fn write(root: &Path) -> bool {
    let Some(types) = types(root) else { return false };
    let path = root.join(FILE);
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    match folder.and_then(|()| fs::write(&path, types)) {
        Ok(()) => {
            println!("types: wrote {FILE}");
            true
        }
        Err(error) => {
            eprintln!("{FILE} could not be written: {error}");
            false
        }
    }
}

/// Prints where the types differ from what cmux-wire says, and returns whether they do not.
pub(crate) fn check(root: &Path) -> bool {
    let Some(types) = types(root) else { return false };
    let committed = fs::read_to_string(root.join(FILE)).ok();
    match finding(committed.as_deref(), &types) {
        None => {
            println!("types: {FILE} is what cmux-wire says");
            true
        }
        Some(finding) => {
            println!("{finding}");
            false
        }
    }
}

/// Returns the types as cmux-wire says they are.
fn types(root: &Path) -> Option<String> {
    println!("cargo {}", PRINT.join(" "));
    let printed = cargo_command(root).args(PRINT).stderr(Stdio::inherit()).output();
    match printed {
        Ok(printed) if printed.status.success() => String::from_utf8(printed.stdout).ok(),
        Ok(printed) => {
            eprintln!("the types could not be made: {}", printed.status);
            None
        }
        Err(error) => {
            eprintln!("cargo could not be run: {error}");
            None
        }
    }
}

fn finding(committed: Option<&str>, types: &str) -> Option<String> {
    let todo = "run `cargo xtask types` and commit what it writes";
    let Some(committed) = committed else { return Some(format!("{FILE}: is missing: {todo}")) };
    if committed == types {
        return None;
    }
    let same = committed.lines().zip(types.lines()).take_while(|(a, b)| a == b).count();
    Some(format!("{FILE}:{}: is not what cmux-wire says: {todo}", same + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_found_with_its_line_and_what_to_do() {
        check(Some("a\nb\n"), "a\nb\n", None);
        check(Some("a\nb\n"), "a\nc\n", Some(":2: is not what cmux-wire says"));
        check(Some("a\n"), "a\nc\n", Some(":2: is not what cmux-wire says"));
        check(Some("a\nb"), "a\nb\n", Some(":3: is not what cmux-wire says"));
        check(None, "a\n", Some(": is missing"));
    }

    /// Checks what is found where `committed` is there and `types` should be.
    #[track_caller]
    fn check(committed: Option<&str>, types: &str, expected: Option<&str>) {
        let todo = "run `cargo xtask types` and commit what it writes";
        let expected = expected.map(|what| format!("{FILE}{what}: {todo}"));
        assert_eq!(finding(committed, types), expected);
    }
}
