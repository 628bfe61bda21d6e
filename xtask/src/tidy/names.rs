//! No module is called after the fact that nobody knew where its contents belong.

use crate::tree::Tree;

const BANNED: &[&str] = &[
    "common", "errors", "helper", "helpers", "manager", "managers", "misc", "service", "services",
    "util", "utils",
];
const BANNED_ENDINGS: &[&str] = &["_helper", "_helpers", "_util", "_utils"];

pub(super) fn no_drawer_for_the_rest(tree: &Tree) -> Vec<String> {
    let code = tree.paths().filter(|path| is_code(path));
    let bad = code.filter_map(|path| Some((path, path.split('/').find(|part| is_banned(part))?)));
    bad.map(|(path, part)| format!("{path}: `{part}` collects: name it after what it holds"))
        .collect()
}

/// Whether a path is source that people write.
pub(super) fn is_code(path: &str) -> bool {
    let written = !path.starts_with("web/dist/") && !path.starts_with("web/src/wire/");
    written && [".rs", ".ts", ".tsx"].iter().any(|ending| path.ends_with(ending))
}

fn is_banned(part: &str) -> bool {
    let stem = part.split_once('.').map_or(part, |(stem, _)| stem);
    let mut name = String::new();
    for letter in stem.chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(if letter == '-' { '_' } else { letter }.to_lowercase());
    }
    BANNED.contains(&name.as_str()) || BANNED_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::check;

    #[test]
    fn a_module_that_collects_is_found_as_a_file_or_folder() {
        for (path, part) in [
            ("crates/cmux/src/utils.rs", "utils.rs"),
            ("crates/cmux/tests/common/mod.rs", "common"),
            ("crates/cmux/src/cli_util.rs", "cli_util.rs"),
            ("web/src/shared/dateHelpers.test.ts", "dateHelpers.test.ts"),
            ("web/src/Manager.tsx", "Manager.tsx"),
        ] {
            let expected = format!("{path}: `{part}` collects: name it after what it holds");
            check(no_drawer_for_the_rest, &[(path, "")], &[&expected]);
        }
    }

    #[test]
    fn other_names_and_other_files_are_left_alone() {
        for path in ["crates/cmux/src/futile.rs", "docs/common/a.md", "web/dist/utils.ts"] {
            check(no_drawer_for_the_rest, &[(path, "")], &[]);
        }
    }
}
