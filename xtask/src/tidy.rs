//! Rules of this repository that no other tool knows. Each is a file here, and a line in `RULES`.

mod architecture;
mod edges;
mod heads;
mod ignored;
mod lengths;
mod machines;
mod manifests;
mod migrations;
mod names;

use std::path::Path;
use std::{fs, io};

use crate::tree::Tree;

/// Returns a line for each thing that is wrong: where, what, and what to do about it.
type Rule = fn(&Tree) -> Vec<String>;

const RULES: &[Rule] = &[
    edges::only_the_drawn_edges,
    edges::a_pure_core,
    manifests::the_lints_of_the_workspace,
    manifests::few_dependencies,
    names::no_drawer_for_the_rest,
    heads::a_sentence_at_the_head,
    ignored::no_test_is_left_out,
    lengths::no_long_file,
    migrations::released_ones_unchanged,
    architecture::every_path_exists,
    machines::no_paths_of_one_machine,
];

/// Prints what the rules find in the tree at `root`, and returns whether that was nothing.
pub(crate) fn run(root: &Path) -> bool {
    let Some(tree) = read(root) else { return false };
    let findings: Vec<String> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => println!("tidy: nothing to complain about in {} files", tree.paths().count()),
        count => println!("tidy: {count} to put right"),
    }
    findings.is_empty()
}

/// Adds to the list of released migrations those that are not in it, and returns whether it could.
pub(crate) fn release_migrations(root: &Path) -> bool {
    let Some(tree) = read(root) else { return false };
    let lines = migrations::unreleased(&tree);
    match append(&root.join(migrations::LIST), &lines) {
        Ok(()) => {
            println!("{lines}released: {}", lines.lines().count());
            true
        }
        Err(error) => {
            eprintln!("{} could not be written: {error}", migrations::LIST);
            false
        }
    }
}

fn append(path: &Path, lines: &str) -> io::Result<()> {
    use io::Write;
    fs::OpenOptions::new().append(true).create(true).open(path)?.write_all(lines.as_bytes())
}

fn read(root: &Path) -> Option<Tree> {
    match Tree::read(root) {
        Ok(tree) => Some(tree),
        Err(error) => {
            eprintln!("the files in {} could not be read: {error}", root.display());
            None
        }
    }
}

/// Checks what a rule finds in these files.
#[cfg(test)]
#[track_caller]
fn check(rule: Rule, files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(rule(&Tree::of(files)), expected);
}
