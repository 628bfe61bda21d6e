//! ARCHITECTURE.md names only what is there, so that it cannot drift from the tree.

use std::collections::BTreeSet;

use crate::tree::Tree;

const PAGE: &str = "ARCHITECTURE.md";
const ROOMS: &[&str] = &["core", "wire", "store", "drivers", "daemon", "cmux", "testkit"];
/// Paths of the built program or of the project it runs in, not of this repository.
const ELSEWHERE: &[&str] = &["/", ".cmux/", ".git/", "target/"];

pub(super) fn every_path_exists(tree: &Tree) -> Vec<String> {
    let Some(page) = tree.text(PAGE) else {
        return vec![format!("{PAGE}: is missing: it says which rooms there are, and why")];
    };
    let named: BTreeSet<&str> = quoted(page).filter(|token| is_path(token)).collect();
    let missing = named.into_iter().filter(|path| !exists(tree, path.trim_end_matches('/')));
    missing.map(|path| format!("{PAGE}: `{path}` does not exist")).collect()
}

/// Returns what stands between backticks, fenced blocks aside.
fn quoted(page: &str) -> impl Iterator<Item = &str> {
    let prose = page.split("```").step_by(2);
    // A quote ends with its paragraph at the latest, so a lone backtick spoils no more than that.
    let paragraphs = prose.flat_map(|prose| prose.split("\n\n"));
    paragraphs.flat_map(|paragraph| paragraph.split('`').skip(1).step_by(2))
}

fn is_path(token: &str) -> bool {
    let of_path = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    let named = [".rs", ".md", ".toml", ".sql"].iter().any(|ending| token.ends_with(ending));
    token.chars().all(of_path)
        && (token.contains('/') || named)
        && !ELSEWHERE.iter().any(|start| token.starts_with(start))
}

/// Whether there is such a path from the root, from `crates/`, or from the room it begins with.
fn exists(tree: &Tree, path: &str) -> bool {
    let (room, rest) = path.split_once('/').unwrap_or((path, ""));
    let folder = match room {
        "cmux" => "crates/cmux".to_owned(),
        _ => format!("crates/cmux-{room}"),
    };
    let in_room = [format!("{folder}/src/{rest}"), format!("{folder}/{rest}")];
    let in_room = in_room.iter().any(|path| tree.has(path.trim_end_matches('/')));
    tree.has(path) || tree.has(&format!("crates/{path}")) || ROOMS.contains(&room) && in_room
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::check as check_rule;

    #[test]
    fn a_path_may_be_told_from_the_root_from_crates_or_from_its_room() {
        check("`Cargo.toml`, `crates/cmux-core/`, `cmux-core/src/lib.rs`", &[]);
        check("`core/plan/projects.rs`, `core/plan`, `core/`, `cmux/main.rs`", &[]);
        check("`store/migrations/0001_log.sql`", &[]);
    }

    #[test]
    fn a_path_that_does_not_exist_is_found() {
        check("`core/plan/gone.rs`", &["ARCHITECTURE.md: `core/plan/gone.rs` does not exist"]);
        check("a `\nGONE.md`, `web/`", &["ARCHITECTURE.md: `web/` does not exist"]);
        check("`a lone one\n\n`GONE.md`", &["ARCHITECTURE.md: `GONE.md` does not exist"]);
        check("```\n`x/y`\n```\n`x/y`", &["ARCHITECTURE.md: `x/y` does not exist"]);
        let no_page = "ARCHITECTURE.md: is missing: it says which rooms there are, and why";
        check_rule(every_path_exists, &[], &[no_page]);
    }

    #[test]
    fn what_is_not_a_path_of_ours_is_left_alone() {
        check("x/y.rs `/api/agents` `GET /api` `$CMUX_HOME/tmux/` `https://cmux.dev/a`", &[]);
        check("`core/plan/<concern>.rs` `src/*.rs` `plan` `.cmux/mail/`", &[]);
    }

    /// Checks what is found in a page that says this.
    #[track_caller]
    fn check(page: &str, expected: &[&str]) {
        let files = [
            (PAGE, page),
            ("Cargo.toml", ""),
            ("crates/cmux-core/src/lib.rs", ""),
            ("crates/cmux-core/src/plan/projects.rs", ""),
            ("crates/cmux-store/migrations/0001_log.sql", ""),
            ("crates/cmux/src/main.rs", ""),
        ];
        check_rule(every_path_exists, &files, expected);
    }
}
