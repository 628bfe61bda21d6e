//! Every crate takes the workspace's lints, and we depend on no more of others than we agreed to.

use std::iter;

use toml::{Table, Value};

use crate::tree::Tree;

const LOCK: &str = "Cargo.lock";
const MAX: &str = "xtask/dependencies.max";

/// What the rules ask of one of our crates.
pub(super) struct Manifest<'a> {
    pub(super) path: &'a str,
    pub(super) package: String,
    pub(super) dependencies: Vec<Dependency>,
    workspace_lints: bool,
}

/// A crate that another needs, by its own name even where it is used under another.
pub(super) struct Dependency {
    pub(super) name: String,
    /// Only the tests need it.
    pub(super) dev: bool,
}

/// Returns our crates' manifests. What cargo could not read is left to cargo to complain about.
pub(super) fn manifests(tree: &Tree) -> Vec<Manifest<'_>> {
    let root = table(tree, "Cargo.toml").unwrap_or_default();
    tree.paths()
        .filter(|path| is_manifest(path))
        .filter_map(|path| read(tree, path, &root))
        .collect()
}

fn is_manifest(path: &str) -> bool {
    let folder = path.strip_suffix("/Cargo.toml");
    let name = folder.and_then(|folder| folder.strip_prefix("crates/"));
    folder == Some("xtask") || name.is_some_and(|name| !name.contains('/'))
}

fn read<'a>(tree: &Tree, path: &'a str, root: &Table) -> Option<Manifest<'a>> {
    let manifest = table(tree, path)?;
    Some(Manifest {
        path,
        package: manifest.get("package")?.get("name")?.as_str()?.to_owned(),
        dependencies: dependencies(&manifest, root),
        workspace_lints: manifest.get("lints").is_some_and(is_from_workspace),
    })
}

fn dependencies(manifest: &Table, root: &Table) -> Vec<Dependency> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let scopes = iter::once(manifest).chain(targets.filter_map(|(_, value)| value.as_table()));
    let mut found = Vec::new();
    for scope in scopes {
        for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let entries = scope.get(kind).and_then(Value::as_table).into_iter().flatten();
            found.extend(entries.map(|(key, value)| Dependency {
                name: real_name(key, value, root),
                dev: kind == "dev-dependencies",
            }));
        }
    }
    found
}

fn real_name(key: &str, value: &Value, root: &Table) -> String {
    let shared = || root.get("workspace")?.get("dependencies")?.get(key);
    let entry = if is_from_workspace(value) { shared() } else { Some(value) };
    let package = entry.and_then(|entry| entry.get("package")).and_then(Value::as_str);
    package.unwrap_or(key).to_owned()
}

fn is_from_workspace(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

fn table(tree: &Tree, path: &str) -> Option<Table> {
    tree.text(path)?.parse().ok()
}

pub(super) fn the_lints_of_the_workspace(tree: &Tree) -> Vec<String> {
    let without = manifests(tree).into_iter().filter(|manifest| !manifest.workspace_lints);
    without.map(|Manifest { path, .. }| format!("{path}: `lints.workspace` must be true")).collect()
}

pub(super) fn few_dependencies(tree: &Tree) -> Vec<String> {
    let Some(lock) = table(tree, LOCK) else {
        return vec![format!("{LOCK}: is missing: a program is committed with it")];
    };
    let Some(max) = tree.text(MAX).and_then(|text| text.trim().parse::<usize>().ok()) else {
        return vec![format!("{MAX}: must hold the number of dependencies there may be")];
    };
    let packages = lock.get("package").and_then(Value::as_array).into_iter().flatten();
    // Our own crates are the ones that come from nowhere.
    let count = packages.filter(|package| package.get("source").is_some()).count();
    if count <= max {
        return Vec::new();
    }
    vec![format!("{LOCK}: {count} dependencies, {MAX} allows {max}: do without, or raise it")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::check;

    #[test]
    fn a_crate_without_the_workspace_lints_is_found() {
        let with = "[package]\nname = 'cmux'\n[lints]\nworkspace = true";
        let without = "[package]\nname = 'xtask'\n[lints.rust]\nunsafe_code = 'forbid'";
        let files = [("crates/cmux/Cargo.toml", with), ("xtask/Cargo.toml", without)];
        let finding = "xtask/Cargo.toml: `lints.workspace` must be true";
        check(the_lints_of_the_workspace, &files, &[finding]);
    }

    #[test]
    fn dependencies_are_counted_without_our_own_crates() {
        let lock = (LOCK, "package = [{}, { source = 'registry' }, { source = 'registry' }]");
        let over = "Cargo.lock: 2 dependencies, xtask/dependencies.max allows 1: \
                    do without, or raise it";
        let no_max = "xtask/dependencies.max: must hold the number of dependencies there may be";
        let no_lock = "Cargo.lock: is missing: a program is committed with it";
        check(few_dependencies, &[lock, (MAX, "2\n")], &[]);
        check(few_dependencies, &[lock, (MAX, "1\n")], &[over]);
        check(few_dependencies, &[lock], &[no_max]);
        check(few_dependencies, &[(MAX, "2\n")], &[no_lock]);
    }
}
