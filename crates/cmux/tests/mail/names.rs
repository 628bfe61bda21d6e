//! Every place that has a name is one where a test kills.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{door, restored, steps};

/// How a place is named in the code.
const HIT: &str = "failpoint::hit(\"";

/// The file that names the moments of commits.
const MOMENTS: &str = "cmux-daemon/src/moments.rs";

#[test]
fn a_test_kills_at_every_step_that_has_a_name() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut named: BTreeSet<String> = BTreeSet::new();
    for file in sources(crates) {
        let text = fs::read_to_string(file).unwrap();
        named.extend(
            text.split(HIT).skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.into())),
        );
    }
    let moments = fs::read_to_string(crates.join(MOMENTS)).unwrap();
    let is_moment = |it: &&str| it.ends_with(".heard") || it.ends_with(".stored");
    named.extend(moments.split('"').filter(is_moment).map(str::to_owned));
    let struck: BTreeSet<String> = struck().map(|it| name_of(it).to_owned()).collect();
    assert!(named.len() > 40, "they are found: {named:?}");
    assert_eq!(
        named, struck,
        "on the left those in the code, on the right those that tests kill at"
    );
}

/// Returns the places where tests kill.
fn struck() -> impl Iterator<Item = &'static str> {
    let lists = [
        steps::STEPS,
        steps::SEEN,
        steps::AGAIN,
        steps::CANCELLED,
        steps::SETTLED,
        steps::EXPIRED,
        steps::TIDIED,
        steps::HOOKED,
        restored::READ_BACK,
        door::POSTED,
        door::CLAIMED,
    ];
    let pairs = steps::RECOVERED.iter().flat_map(|(first, second)| [*first, *second]);
    let asked = steps::ASKED.iter().map(|(_, step)| *step);
    lists.into_iter().flatten().copied().chain(pairs).chain(asked)
}

/// Returns the name of a place without the time that it is meant.
fn name_of(place: &str) -> &str {
    place.split_once(':').map_or(place, |(name, _)| name)
}

/// Returns all files of code below the sources of `crates`.
fn sources(crates: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        fs::read_dir(crates).unwrap().map(|it| it.unwrap().path().join("src")).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.map(|it| it.unwrap().path()) {
            match path.extension() {
                None => folders.push(path),
                Some(extension) if extension == "rs" => files.push(path),
                Some(_) => {}
            }
        }
    }
    files
}
