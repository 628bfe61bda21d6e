//! Nothing in the repository knows the machine it was written on.

use crate::tree::Tree;

// Put together here, so that this file does not hold what it looks for.
const BANNED: &[&str] =
    &[concat!("/wo", "rk/main"), concat!("/wo", "rk/shared"), concat!("/ro", "ot/")];

pub(super) fn no_paths_of_one_machine(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        for (index, line) in text.lines().enumerate() {
            for banned in BANNED.iter().filter(|banned| holds(line, banned)) {
                let line = index + 1;
                findings.push(format!("{path}:{line}: `{banned}` is a path of one machine"));
            }
        }
    }
    findings
}

/// Whether a line holds the path from its first `/` on, and not as the tail of a longer one.
fn holds(line: &str, path: &str) -> bool {
    let inside = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
    line.match_indices(path).any(|(at, _)| !line[..at].ends_with(inside))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::check;

    #[test]
    fn a_path_of_one_machine_is_found_with_its_line() {
        let [main, _, home] = BANNED else { panic!("three are banned") };
        check(
            no_paths_of_one_machine,
            &[("a.md", &format!("One.\nsee {main}/x, \"{home}y\"\n"))],
            &[
                &format!("a.md:2: `{main}` is a path of one machine"),
                &format!("a.md:2: `{home}` is a path of one machine"),
            ],
        );
        check(no_paths_of_one_machine, &[("a.md", &format!("tests{home}y"))], &[]);
        check(no_paths_of_one_machine, &[("a.png", &format!("\0{home}"))], &[]);
    }
}
