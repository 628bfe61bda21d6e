//! The kinds of agents there are: those that cmux comes with, those that the user adds or has otherwise,
//! and which of them are on this machine.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use cmux_core::kind::Kind;
use cmux_core::nearest::nearest;
use cmux_core::settings::{KINDS_MAX, KindSettings};

use crate::config::ConfigError;
use crate::manifest::{BUILT_IN, Manifest, parse};
use crate::{tools, written};

/// How many programs are asked for their version at once.
const ASKED_AT_ONCE: usize = 4;

/// The kinds there are, and the manifests that are none.
#[derive(Debug, Default)]
pub struct Kinds {
    known: BTreeMap<Kind, Known>,
    /// What is wrong with manifests and settings of the user's. The others still work.
    pub refused: Vec<String>,
}

/// A kind, where it comes from, and how the user wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub manifest: Manifest,
    /// The user's file that it is from, unless cmux came with it.
    pub file: Option<PathBuf>,
    pub settings: KindSettings,
}

/// What was found of a kind on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub kind: Kind,
    pub program: Option<PathBuf>,
    /// What it says of its version.
    pub version: Option<String>,
}

impl Kinds {
    /// Returns the kinds that cmux comes with, and those in the user's `folder`, which go before them.
    /// A manifest that is none is refused by itself.
    pub fn load(folder: &Path, settings: &BTreeMap<Kind, KindSettings>) -> Kinds {
        let mut kinds = Kinds::default();
        for (path, text) in BUILT_IN {
            match parse(Path::new(path), text) {
                Ok(manifest) => kinds.add(manifest, None),
                Err(error) => kinds.refused.push(error.to_string()),
            }
        }
        match files(folder) {
            Ok(files) => files.iter().for_each(|file| kinds.take(file)),
            Err(error) => kinds.refused.push(format!("{}: {error}", folder.display())),
        }
        for (kind, wanted) in settings {
            kinds.set(kind, wanted);
        }
        kinds
    }

    pub fn get(&self, kind: &Kind) -> Option<&Known> {
        self.known.get(kind)
    }

    /// Returns all kinds, by name.
    pub fn all(&self) -> impl Iterator<Item = &Known> {
        self.known.values()
    }

    /// Returns the kind whose name is most like `name`.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.known.keys().map(Kind::as_str))
    }

    fn add(&mut self, manifest: Manifest, file: Option<PathBuf>) {
        let settings = KindSettings::default();
        self.known.insert(manifest.kind.clone(), Known { manifest, file, settings });
    }

    /// Takes the user's manifest at `file`, or notes why it is none.
    fn take(&mut self, file: &Path) {
        match read(file) {
            Ok(manifest) => match self.known.get(&manifest.kind).and_then(|it| it.file.clone()) {
                Some(other) => {
                    let (file, other, kind) = (file.display(), other.display(), &manifest.kind);
                    self.refused.push(format!("{file}:1: {other} is about `{kind}` already"));
                }
                None if self.known.len() >= KINDS_MAX
                    && !self.known.contains_key(&manifest.kind) =>
                {
                    self.refused.push(format!("{}: {KINDS_MAX} kinds are enough", file.display()));
                }
                None => self.add(manifest, Some(file.to_owned())),
            },
            Err(error) => self.refused.push(error.to_string()),
        }
    }

    fn set(&mut self, kind: &Kind, wanted: &KindSettings) {
        if let Some(known) = self.known.get_mut(kind) {
            known.settings = wanted.clone();
            if wanted.channel.is_some_and(|it| it != known.manifest.channel(wanted)) {
                let title = &known.manifest.title;
                let told = format!(
                    "config.toml: [kinds.{kind}] has channel = \"api\", and {title} takes messages at its \
                     prompt alone: they are pasted"
                );
                self.refused.push(told);
            }
            return;
        }
        let missing = self.missing(kind).unwrap_or_default();
        self.refused
            .push(format!("config.toml: [kinds.{kind}] is about no kind there is{missing}"));
    }

    /// Returns what was probably meant by `kind`, as the end of a sentence, if there is no such kind.
    pub(crate) fn missing(&self, kind: &Kind) -> Option<String> {
        let meant = self.nearest(kind.as_str());
        let meant = meant.map_or_else(String::new, |meant| format!(". Did you mean `{meant}`?"));
        (!self.known.contains_key(kind)).then_some(meant)
    }

    /// Returns which kinds are on this machine, by looking along `path`. Each is asked for its version,
    /// which takes some of them a second: not for whoever is in a hurry.
    pub fn look(&self, path: &OsStr) -> Vec<Found> {
        let waiting = Mutex::new(self.all().collect::<Vec<_>>().into_iter());
        let found = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..ASKED_AT_ONCE {
                scope.spawn(|| {
                    loop {
                        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
                        let Some(known) = next else { break };
                        let seen = known.look(path);
                        found.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
                    }
                });
            }
        });
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_by(|a: &Found, b: &Found| a.kind.cmp(&b.kind));
        found
    }
}

impl Known {
    /// Returns the program that is run for this kind, if it is on this machine.
    pub fn program(&self, path: &OsStr) -> Option<PathBuf> {
        let own = self.settings.command.as_ref().and_then(|words| words.first());
        match own.or(self.manifest.find.program.as_ref()) {
            Some(name) if name.contains('/') => {
                let file = PathBuf::from(name);
                tools::is_program(&file).then_some(file)
            }
            Some(name) => tools::find_all(name, path).into_iter().next(),
            None => std::env::current_exe().ok(),
        }
    }

    fn look(&self, path: &OsStr) -> Found {
        let program = self.program(path);
        let argument = self.manifest.find.version.as_deref();
        let version = match (&program, argument) {
            (Some(program), Some(argument)) => tools::version(program, argument),
            (_, _) => None,
        };
        Found { kind: self.manifest.kind.clone(), program, version }
    }
}

/// Returns the manifests in `folder`, by name. A folder that is not there has none.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read(file: &Path) -> Result<Manifest, ConfigError> {
    let gone = || ConfigError::Unreadable {
        path: file.to_owned(),
        source: io::Error::from(io::ErrorKind::NotFound),
    };
    let (text, _) = written::open(file)?.ok_or_else(gone)?;
    parse(file, &text)
}

#[cfg(test)]
mod tests;
