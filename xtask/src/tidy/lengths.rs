//! Files stay short enough to read in one go. The list of those that do not may only shrink.

use std::collections::BTreeMap;

use super::names::is_code;
use crate::tree::Tree;

const LIST: &str = "xtask/long-files.txt";
const MAX_LINES: usize = 500;

pub(super) fn no_long_file(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    let mut exceptions = BTreeMap::new();
    for line in tree.text(LIST).unwrap_or_default().lines().filter(|line| !line.starts_with('#')) {
        match line.split_once(' ').map(|(lines, path)| (lines.parse::<usize>(), path)) {
            Some((Ok(lines), path)) => drop(exceptions.insert(path, lines)),
            _ => findings.push(format!("{LIST}: `{line}` is not `LINES PATH`")),
        }
    }
    let code = tree.texts().filter(|(path, _)| is_code(path));
    let long: BTreeMap<&str, usize> = code
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|&(_, lines)| lines > MAX_LINES)
        .collect();
    for (path, lines) in &long {
        let max = exceptions.get(path).copied().unwrap_or(MAX_LINES);
        if *lines > max {
            findings.push(format!("{path}: {lines} lines, of {max} allowed: divide it"));
        }
    }
    for path in exceptions.into_keys().filter(|path| !long.contains_key(path)) {
        findings.push(format!("{LIST}: {path} is not over {MAX_LINES} lines: take it off"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::check as check_rule;

    #[test]
    fn a_long_file_is_found_unless_it_is_listed() {
        check(500, "", &[]);
        check(501, "", &["crates/a.rs: 501 lines, of 500 allowed: divide it"]);
        check(501, "# Why.\n501 crates/a.rs\n", &[]);
    }

    #[test]
    fn the_list_may_only_shrink() {
        let stale = "xtask/long-files.txt: crates/a.rs is not over 500 lines: take it off";
        let unclear = "xtask/long-files.txt: `x crates/a.rs` is not `LINES PATH`";
        check(510, "509 crates/a.rs", &["crates/a.rs: 510 lines, of 509 allowed: divide it"]);
        check(500, "509 crates/a.rs", &[stale]);
        check(0, "x crates/a.rs", &[unclear]);
        check_rule(no_long_file, &[(LIST, "509 crates/a.rs")], &[stale]);
    }

    #[test]
    fn generated_files_may_be_long() {
        check_rule(no_long_file, &[("web/src/wire/Agent.ts", &"\n".repeat(501))], &[]);
    }

    /// Checks what is found in one file of so many lines, given the list.
    #[track_caller]
    fn check(lines: usize, list: &str, expected: &[&str]) {
        let files = [("crates/a.rs", "\n".repeat(lines)), (LIST, list.to_owned())];
        check_rule(no_long_file, &files.each_ref().map(|(path, text)| (*path, &**text)), expected);
    }
}
