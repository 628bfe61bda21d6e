//! No test is left out. One that cannot be run everywhere says why it fails.

use crate::tree::Tree;

// Put together here, so that this file does not hold what it looks for.
const IGNORED: &[&str] =
    &[concat!("#[ig", "nore"), concat!(", ig", "nore)"), concat!(", ig", "nore =")];

pub(super) fn no_test_is_left_out(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".rs")) {
        for (index, line) in text.lines().enumerate() {
            let is_attribute = line.trim_start().starts_with("#[");
            if is_attribute && IGNORED.iter().any(|it| line.contains(it)) {
                let line = index + 1;
                findings.push(format!("{path}:{line}: a test is left out: run it, or remove it"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::check;

    #[test]
    fn a_test_that_is_left_out_is_found_with_its_line() {
        let [plain, in_a_condition, with_a_reason] = IGNORED else {
            panic!("three are looked for")
        };
        let found = |line: u32| format!("a.rs:{line}: a test is left out: run it, or remove it");
        check(
            no_test_is_left_out,
            &[(
                "a.rs",
                &format!(
                    "#[test]\n    {plain}]\n{plain} = \"slow\"]\n#[cfg_attr(not(unix){in_a_condition}]\n\
                     #[cfg_attr(x{with_a_reason} \"y\")]\nfn it() {{}}\n"
                ),
            )],
            &[&found(2), &found(3), &found(4), &found(5)],
        );
        let others = [("a.md", &*format!("{plain}]")), ("b.rs", &format!("// {plain}]\n#[test]"))];
        check(no_test_is_left_out, &others, &[]);
    }
}
