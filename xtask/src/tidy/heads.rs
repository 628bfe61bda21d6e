//! Each Rust file opens by saying what it is for.

use crate::tree::Tree;

pub(super) fn a_sentence_at_the_head(tree: &Tree) -> Vec<String> {
    let ours = |path: &str| path.starts_with("crates/") || path.starts_with("xtask/");
    tree.texts()
        .filter(|(path, text)| ours(path) && path.ends_with(".rs") && !opens_with_a_sentence(text))
        .map(|(path, _)| format!("{path}: open it with a `//!` line that says what it is for"))
        .collect()
}

fn opens_with_a_sentence(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    first.and_then(|line| line.strip_prefix("//!")).is_some_and(|said| !said.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::check;

    #[test]
    fn a_file_that_does_not_open_with_a_sentence_is_found() {
        let path = "crates/cmux/src/main.rs";
        let finding = format!("{path}: open it with a `//!` line that says what it is for");
        check(a_sentence_at_the_head, &[(path, "\n//! Asks.\n#![no_std]\n")], &[]);
        for text in ["", "fn main() {}", "#![no_std]\n//! Asks.", "//!\n//! Asks.", "// Asks."] {
            check(a_sentence_at_the_head, &[(path, text)], &[&finding]);
        }
        check(a_sentence_at_the_head, &[("docs/example.rs", "")], &[]);
    }
}
