//! Rooms use one another only along the edges that DESIGN draws, and the core uses no I/O.

use super::manifests::{Dependency, Manifest, manifests};
use crate::tree::Tree;

/// Each room, and all the rooms that it may use.
const EDGES: &[(&str, &[&str])] = &[
    ("cmux-core", &[]),
    ("cmux-wire", &[]),
    ("cmux-store", &["cmux-core"]),
    ("cmux-drivers", &["cmux-core"]),
    ("cmux-daemon", &["cmux-core", "cmux-drivers", "cmux-store", "cmux-wire"]),
    ("cmux", &["cmux-core", "cmux-daemon", "cmux-drivers", "cmux-testkit", "cmux-wire"]),
    ("cmux-testkit", &["cmux-core", "cmux-drivers", "cmux-wire"]),
    ("xtask", &[]),
];

const USED_BY_CORE: &[&str] =
    &["base64", "hmac", "sha2", "strsim", "thiserror", "ulid", "unicode-normalization"];

pub(super) fn only_the_drawn_edges(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for Manifest { path, package, dependencies, .. } in manifests(tree) {
        let Some((_, allowed)) = EDGES.iter().find(|(room, _)| *room == package) else {
            findings.push(format!("{path}: {package} is not in DESIGN's Rooms: draw it there"));
            continue;
        };
        for Dependency { name, dev } in dependencies {
            let for_tests = dev && name == "cmux-testkit";
            if is_ours(&name) && !for_tests && !allowed.contains(&name.as_str()) {
                let may = if allowed.is_empty() { "no room".into() } else { allowed.join(", ") };
                findings.push(format!(
                    "{path}: the edge {package} -> {name} is not in DESIGN's Rooms, whose edges \
                     are all there are: {package} may use {may}"
                ));
            }
        }
    }
    findings
}

pub(super) fn a_pure_core(tree: &Tree) -> Vec<String> {
    let core = manifests(tree).into_iter().find(|manifest| manifest.package == "cmux-core");
    let used = core.into_iter().flat_map(|core| core.dependencies).filter(|used| !used.dev);
    used.map(|used| used.name)
        .filter(|name| !is_ours(name) && !USED_BY_CORE.contains(&name.as_str()))
        .map(|name| {
            let may = USED_BY_CORE.join(", ");
            format!("crates/cmux-core: the core is pure: it may use {may}, and not {name}")
        })
        .collect()
}

fn is_ours(name: &str) -> bool {
    name.starts_with("cmux-") || EDGES.iter().any(|(room, _)| *room == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::check;

    #[test]
    fn an_edge_that_is_not_drawn_is_found_in_every_kind_of_table() {
        check_store("[dependencies]\ncmux-core.workspace = true\nrusqlite = '1'", None);
        check_store("[dev-dependencies]\ncmux-core.workspace = true\ncmux-testkit = '*'", None);
        for table in [
            "dependencies",
            "build-dependencies",
            "dev-dependencies",
            "target.'cfg(unix)'.dependencies",
            "target.'cfg(unix)'.dev-dependencies",
        ] {
            check_store(&format!("[{table}]\ncmux-wire.workspace = true"), Some("cmux-wire"));
        }
        check_store("[dependencies]\ncmux-testkit.workspace = true", Some("cmux-testkit"));
    }

    #[test]
    fn an_edge_under_another_name_is_found() {
        check_store("[dependencies]\nw = { package = 'cmux-wire', path = '.' }", Some("cmux-wire"));
        check_store("[dependencies]\nhidden = { workspace = true }", Some("cmux-drivers"));
    }

    #[test]
    fn a_room_that_is_not_drawn_is_found() {
        let path = "crates/cmux-new/Cargo.toml";
        let finding = format!("{path}: cmux-new is not in DESIGN's Rooms: draw it there");
        check(only_the_drawn_edges, &[(path, "[package]\nname = 'cmux-new'")], &[&finding]);
    }

    #[test]
    fn the_core_uses_only_what_is_pure() {
        let path = "crates/cmux-core/Cargo.toml";
        let pure = "[package]\nname = 'cmux-core'\n[dev-dependencies]\nproptest = '1'\n\
                    [dependencies]\nulid = '3'\n";
        check(a_pure_core, &[(path, pure)], &[]);
        let finding = "crates/cmux-core: the core is pure: \
                       it may use base64, hmac, sha2, strsim, thiserror, ulid, \
                       unicode-normalization, and not tokio";
        check(a_pure_core, &[(path, &format!("{pure}tokio = '1'"))], &[finding]);
    }

    /// Checks which edge out of the store is found, given its manifest's tables.
    #[track_caller]
    fn check_store(tables: &str, expected: Option<&str>) {
        let path = "crates/cmux-store/Cargo.toml";
        let root = "[workspace.dependencies]\nhidden = { package = 'cmux-drivers', path = '.' }";
        let store = format!("[package]\nname = 'cmux-store'\n{tables}");
        let finding = expected.map(|to| {
            format!(
                "{path}: the edge cmux-store -> {to} is not in DESIGN's Rooms, whose edges are all \
                 there are: cmux-store may use cmux-core"
            )
        });
        let files = [("Cargo.toml", root), (path, &store)];
        check(only_the_drawn_edges, &files, finding.as_deref().as_slice());
    }
}
