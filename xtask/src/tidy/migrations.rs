//! A migration that was released is never changed: somebody's database has already been through it.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::tree::Tree;

pub(super) const LIST: &str = "xtask/migrations.sha256";
const FOLDER: &str = "crates/cmux-store/migrations/";

pub(super) fn released_ones_unchanged(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for line in released(tree) {
        let (hash, path) = line.split_once("  ").unwrap_or(("", line));
        match tree.bytes(path) {
            None => findings.push(format!("{path}: was released, and is gone: bring it back")),
            Some(sql) if digest(sql) != hash => {
                findings.push(format!("{path}: was released, and differs: add a new one instead"));
            }
            Some(_) => {}
        }
    }
    for (index, path) in present(tree).enumerate() {
        let number = format!("{:04}_", index + 1);
        if !path[FOLDER.len()..].starts_with(&number) {
            findings.push(format!("{path}: numbers run on from 0001: {number}*.sql comes here"));
            break;
        }
    }
    findings.extend(
        unlisted(tree).map(|path| format!("{path}: new: run `cargo xtask release-migrations`")),
    );
    findings
}

/// Returns the lines that the list lacks.
pub(super) fn unreleased(tree: &Tree) -> String {
    unlisted(tree).fold(String::new(), |lines, path| {
        let hash = digest(tree.bytes(path).unwrap_or_default());
        format!("{lines}{hash}  {path}\n")
    })
}

fn unlisted(tree: &Tree) -> impl Iterator<Item = &str> {
    present(tree).filter(|path| !released(tree).any(|line| line.ends_with(path)))
}

fn present(tree: &Tree) -> impl Iterator<Item = &str> {
    tree.paths().filter(|path| path.starts_with(FOLDER) && path.ends_with(".sql"))
}

/// Returns the lines of the list, each as sha256sum prints it.
fn released(tree: &Tree) -> impl Iterator<Item = &str> {
    tree.text(LIST).unwrap_or_default().lines()
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::check;

    const FIRST: &str = "crates/cmux-store/migrations/0001_log.sql";
    const THIRD: &str = "crates/cmux-store/migrations/0003_tasks.sql";
    const SQL: &str = "-- The log.";
    const LISTED: &str = "c2e3bccdbe7782d3f817e2fc272d57007e2082e37e6852f5310a3076a864253f  \
                          crates/cmux-store/migrations/0001_log.sql\n";

    #[test]
    fn a_released_migration_may_neither_change_nor_go() {
        let changed = format!("{FIRST}: was released, and differs: add a new one instead");
        let gone = format!("{FIRST}: was released, and is gone: bring it back");
        check(released_ones_unchanged, &[(FIRST, SQL), (LIST, LISTED)], &[]);
        check(released_ones_unchanged, &[(FIRST, "-- A log."), (LIST, LISTED)], &[&changed]);
        check(released_ones_unchanged, &[(LIST, LISTED)], &[&gone]);
    }

    #[test]
    fn numbers_have_no_gap_and_every_migration_is_listed() {
        let gap = format!("{THIRD}: numbers run on from 0001: 0002_*.sql comes here");
        let new = format!("{THIRD}: new: run `cargo xtask release-migrations`");
        let files = [(FIRST, SQL), (THIRD, ""), (LIST, LISTED)];
        check(released_ones_unchanged, &files, &[&gap, &new]);
    }

    #[test]
    fn releasing_adds_only_what_is_not_listed() {
        assert_eq!(unreleased(&Tree::of(&[(FIRST, SQL)])), LISTED);
        assert_eq!(unreleased(&Tree::of(&[(FIRST, "-- A log."), (LIST, LISTED)])), "");
    }
}
