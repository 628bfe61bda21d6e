//! The kinds of agents, kept, and read anew when a manifest of the user's has changed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cmux_core::kind::Kind;
use cmux_core::settings::KindSettings;
use cmux_drivers::kinds::{Kinds, Known};

/// All kinds there are. To ask for them reads the disk.
#[derive(Debug)]
pub(crate) struct Shelf {
    /// The folder of the user's manifests.
    folder: PathBuf,
    settings: BTreeMap<Kind, KindSettings>,
    /// The kinds, and what the folder was like when they were read. Held only to look.
    kept: Mutex<Option<(Vec<Stamp>, Arc<Kinds>)>>,
}

/// What tells a file from what it was before: its name, its number, its size, and when it last changed.
type Stamp = (PathBuf, u64, u64, (i64, i64));

impl Shelf {
    pub(crate) fn of(folder: PathBuf, settings: BTreeMap<Kind, KindSettings>) -> Shelf {
        Shelf { folder, settings, kept: Mutex::default() }
    }

    /// Returns all kinds, as the user's manifests and settings are now.
    pub(crate) fn kinds(&self) -> Arc<Kinds> {
        let load = || Arc::new(Kinds::load(&self.folder, &self.settings));
        // What cannot be looked at may have changed.
        let Ok(stamps) = stamps(&self.folder) else { return load() };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, kinds)) = kept.as_ref().filter(|(then, _)| *then == stamps) {
            return kinds.clone();
        }
        let kinds = load();
        *kept = Some((stamps, kinds.clone()));
        kinds
    }

    /// Returns what is known of the kind that is called `name`, or in words that there is none.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<Known>, String> {
        let kinds = self.kinds();
        let found = name.parse().ok().and_then(|kind| kinds.get(&kind).cloned());
        found.map(Arc::new).ok_or_else(|| {
            let meant = kinds.nearest(name).map(|it| format!(" Did you mean `{it}`?"));
            let meant = meant.unwrap_or_default();
            format!(
                "there is no kind `{name}` of agent.{meant} `cmux agent kinds` shows those there are"
            )
        })
    }
}

fn stamps(folder: &Path) -> io::Result<Vec<Stamp>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut stamps = Vec::new();
    for entry in entries {
        let path = entry?.path();
        // What a link leads to may change, too.
        let it = fs::metadata(&path)?;
        stamps.push((path, it.ino(), it.size(), (it.ctime(), it.ctime_nsec())));
    }
    stamps.sort();
    Ok(stamps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_anew_when_a_manifest_comes_changes_or_goes() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("agents");
        let shelf = Shelf::of(folder.clone(), BTreeMap::new());
        let first = shelf.kinds();
        assert!(Arc::ptr_eq(&first, &shelf.kinds()));
        fs::create_dir(&folder).unwrap();
        let steps: [&dyn Fn(); 3] = [
            &|| fs::write(folder.join("a.toml"), "kind =").unwrap(),
            &|| fs::write(folder.join("a.toml"), "kind = 1").unwrap(),
            &|| fs::remove_file(folder.join("a.toml")).unwrap(),
        ];
        for (step, refused) in steps.iter().zip([1, 1, 0]) {
            let before = shelf.kinds();
            step();
            let after = shelf.kinds();
            assert!(!Arc::ptr_eq(&before, &after));
            assert_eq!(after.refused.len(), refused, "{:?}", after.refused);
            assert!(Arc::ptr_eq(&after, &shelf.kinds()));
        }
    }

    #[test]
    fn a_kind_that_there_is_not_is_told_with_the_one_that_was_meant() {
        let shelf = Shelf::of("/nowhere".into(), BTreeMap::new());
        assert_eq!(shelf.find("demo").unwrap().manifest.kind.as_str(), "demo");
        for (name, expected) in [
            ("clade", "no kind `clade` of agent. Did you mean `claude`? `cmux agent kinds`"),
            ("zzzzzzzz", "no kind `zzzzzzzz` of agent. `cmux agent kinds` shows"),
            ("No Kind", "no kind `No Kind` of agent."),
        ] {
            let told = shelf.find(name).unwrap_err();
            assert!(told.contains(expected), "{told}");
        }
    }
}
