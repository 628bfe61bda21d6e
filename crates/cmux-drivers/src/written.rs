//! Files that people write: TOML, with the line of everything in it, so that what is wrong can be shown.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use cmux_core::nearest::nearest;
use cmux_core::price::mills;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::ConfigError;

/// The longest file that is read, in bytes.
const FILE_MAX: u64 = 1 << 20;

/// How much of a key that is not known is shown, in characters.
const KEY_SHOWN: usize = 100;

/// A file and what is written in it.
#[derive(Clone, Copy)]
pub(crate) struct File<'a> {
    pub(crate) path: &'a Path,
    pub(crate) text: &'a str,
}

/// Returns the text of the file at `path`, and the file it was read from, if it is there.
pub(crate) fn open(path: &Path) -> Result<Option<(String, fs::File)>, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    let mut opened = match fs::File::open(path) {
        // That its folder is none is told by whoever needs the folder.
        Err(error) if is_absent(error.kind()) => return Ok(None),
        opened => opened.map_err(unreadable)?,
    };
    let mut bytes = Vec::new();
    opened.by_ref().take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(unreadable(io::Error::other("it is longer than 1 MiB")));
    }
    Ok(Some((text(path, bytes)?, opened)))
}

/// Returns what was read from the file at `path` as text.
pub(crate) fn text(path: &Path, bytes: Vec<u8>) -> Result<String, ConfigError> {
    String::from_utf8(bytes).map_err(|error| ConfigError::Value {
        path: path.to_owned(),
        line: line(error.as_bytes(), error.utf8_error().valid_up_to()),
        why: "it is not UTF-8 here".to_owned(),
    })
}

fn is_absent(error: io::ErrorKind) -> bool {
    matches!(error, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the line of `text` that the byte at `offset` is in, from 1 on.
fn line(text: &[u8], offset: usize) -> usize {
    text.iter().take(offset).filter(|&&byte| byte == b'\n').count() + 1
}

impl<'a> File<'a> {
    /// Returns all that the file says.
    pub(crate) fn table(&self) -> Result<Spanned<DeTable<'a>>, ConfigError> {
        DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.refused(self.line(at), error.message())
        })
    }

    pub(crate) fn line(&self, offset: usize) -> usize {
        line(self.text.as_bytes(), offset)
    }

    pub(crate) fn refused(&self, line: usize, why: impl Into<String>) -> ConfigError {
        ConfigError::Value { path: self.path.to_owned(), line, why: why.into() }
    }

    /// Says that `key` of the section `prefix` is none of `known`.
    pub(crate) fn unknown(
        &self,
        line: usize,
        prefix: &str,
        key: &str,
        known: &[&str],
    ) -> ConfigError {
        // A key may be as long as the file.
        let key: &str = &key.chars().take(KEY_SHOWN).collect::<String>();
        let full = |key: &str| format!("{prefix}{key}");
        let nearest = nearest(key, known.iter().copied()).map(full);
        ConfigError::Unknown { path: self.path.to_owned(), line, key: full(key), nearest }
    }
}

/// A section of a file, which says no more than is known.
#[derive(Clone, Copy)]
pub(crate) struct Section<'a> {
    file: File<'a>,
    /// What its keys are called by, up to the last point.
    name: &'static str,
    table: &'a DeTable<'a>,
    /// The line that it begins in.
    pub(crate) line: usize,
}

impl<'a> Section<'a> {
    /// Returns a table as a section whose keys are all `known`.
    pub(crate) fn new(
        file: File<'a>,
        name: &'static str,
        table: &'a DeTable<'a>,
        line: usize,
        known: &[&str],
    ) -> Result<Section<'a>, ConfigError> {
        if let Some(key) = table.keys().find(|key| !known.contains(&key.get_ref().as_ref())) {
            let line = file.line(key.span().start);
            return Err(file.unknown(line, &prefix(name), key.get_ref(), known));
        }
        Ok(Section { file, name, table, line })
    }

    /// Returns the value of `key` and the line it is on.
    fn get(&self, key: &str) -> Option<(&'a DeValue<'a>, usize)> {
        let (name, value) = self.table.iter().find(|(name, _)| name.get_ref() == key)?;
        Some((value.get_ref(), self.file.line(name.span().start)))
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns what is wrong with `key`, with its line.
    pub(crate) fn wrong(&self, key: &str, why: impl AsRef<str>) -> ConfigError {
        let line = self.get(key).map_or(self.line, |(_, line)| line);
        self.file.refused(line, format!("`{}{key}` {}", prefix(self.name), why.as_ref()))
    }

    pub(crate) fn missing(&self, key: &str, why: &str) -> ConfigError {
        self.file.refused(self.line, format!("`{}{key}` must be set: {why}", prefix(self.name)))
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, ConfigError> {
        let Some((value, _)) = self.get(key) else { return Ok(None) };
        match value.as_str() {
            Some(text) if text.contains('\0') => {
                Err(self.wrong(key, "must be text without a zero byte"))
            }
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(self.wrong(key, "must be text")),
        }
    }

    pub(crate) fn must_text(&self, key: &str, why: &str) -> Result<String, ConfigError> {
        let text = self.text(key)?.filter(|text| !text.is_empty());
        text.ok_or_else(|| self.missing(key, why))
    }

    pub(crate) fn texts(&self, key: &str) -> Result<Vec<String>, ConfigError> {
        let Some((value, _)) = self.get(key) else { return Ok(Vec::new()) };
        let list = value.as_array().and_then(|list| {
            list.iter().map(|it| it.get_ref().as_str().map(ToOwned::to_owned)).collect()
        });
        list.ok_or_else(|| self.wrong(key, "must be a list of texts"))
    }

    /// Returns what each text of the list at `key` means.
    pub(crate) fn all<T, E: ToString>(
        &self,
        key: &str,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Vec<T>, ConfigError> {
        let told = |text: &String, why: E| {
            self.wrong(key, format!("holds `{text}`, and {}", why.to_string()))
        };
        let texts = self.texts(key)?;
        texts.iter().map(|text| read(text).map_err(|why| told(text, why))).collect()
    }

    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, ConfigError> {
        let Some((value, _)) = self.get(key) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| self.wrong(key, "must be true or false"))
    }

    pub(crate) fn number(&self, key: &str, max: u64) -> Result<Option<u64>, ConfigError> {
        let Some((value, _)) = self.get(key) else { return Ok(None) };
        let number = match value {
            DeValue::Integer(it) => u64::from_str_radix(it.as_str(), it.radix()).ok(),
            DeValue::String(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => None,
        };
        let number = number.filter(|&number| number <= max);
        let why = || self.wrong(key, format!("must be a whole number from 0 to {max}"));
        number.map(Some).ok_or_else(why)
    }

    /// Returns the dollars that are written at `key`, in thousandths.
    pub(crate) fn dollars(&self, key: &str) -> Result<Option<u64>, ConfigError> {
        let Some((value, _)) = self.get(key) else { return Ok(None) };
        let mills = match value {
            DeValue::Integer(it) if it.radix() == 10 => mills(it.as_str()),
            DeValue::Float(it) => mills(it.as_str()),
            DeValue::Integer(_)
            | DeValue::String(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => None,
        };
        let why =
            "must be a number of dollars, such as 2.5, with three places after the point at most";
        mills.map(Some).ok_or_else(|| self.wrong(key, why))
    }

    /// Returns the one of `all` whose `name` is written at `key`.
    pub(crate) fn one_of<T: Copy>(
        &self,
        key: &str,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Result<Option<T>, ConfigError> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        let found = all.iter().copied().find(|&it| name(it) == text);
        found.map(Some).ok_or_else(|| self.wrong(key, one_of_these(all, name, &text)))
    }

    /// Returns those of `all` whose names are listed at `key`, in that order.
    pub(crate) fn some_of<T: Copy>(
        &self,
        key: &str,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Result<Vec<T>, ConfigError> {
        let read = |text: &String| {
            let found = all.iter().copied().find(|&it| name(it) == text);
            found.ok_or_else(|| self.wrong(key, one_of_these(all, name, text)))
        };
        self.texts(key)?.iter().map(read).collect()
    }

    /// Returns the section at `key`, called `name`, whose keys are all `known`.
    pub(crate) fn section(
        &self,
        key: &str,
        name: &'static str,
        known: &[&str],
    ) -> Result<Option<Section<'a>>, ConfigError> {
        let Some((value, line)) = self.get(key) else { return Ok(None) };
        let table = value.as_table().ok_or_else(|| self.wrong(key, "must be a section"))?;
        Section::new(self.file, name, table, line, known).map(Some)
    }

    /// Returns the sections `[[key]]`, whose keys are all `known`.
    pub(crate) fn sections(
        &self,
        key: &'static str,
        known: &[&str],
    ) -> Result<Vec<Section<'a>>, ConfigError> {
        let Some((value, _)) = self.get(key) else { return Ok(Vec::new()) };
        let why = || self.wrong(key, format!("must be sections such as [[{key}]]"));
        let list = value.as_array().ok_or_else(why)?;
        let read = |it: &'a Spanned<DeValue<'a>>| {
            let table = it.get_ref().as_table().ok_or_else(why)?;
            let line = self.file.line(it.span().start);
            Section::new(self.file, key, table, line, known)
        };
        list.iter().map(read).collect()
    }

    /// Returns all keys of the section at `key` with their texts.
    pub(crate) fn table(&self, key: &str) -> Result<BTreeMap<String, String>, ConfigError> {
        let Some((value, _)) = self.get(key) else { return Ok(BTreeMap::new()) };
        let texts = value.as_table().and_then(|table| texts_of(table));
        texts.ok_or_else(|| self.wrong(key, "must be a section that holds texts"))
    }
}

/// Returns what each key of `table` says, if each says a text.
pub(crate) fn texts_of(table: &DeTable<'_>) -> Option<BTreeMap<String, String>> {
    let text = |it: &Spanned<DeValue<'_>>| it.get_ref().as_str().map(ToOwned::to_owned);
    table.iter().map(|(key, it)| Some((key.get_ref().to_string(), text(it)?))).collect()
}

fn prefix(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{name}.") }
}

fn one_of_these<T: Copy>(all: &[T], name: fn(T) -> &'static str, text: &str) -> String {
    let names: Vec<&str> = all.iter().map(|&it| name(it)).collect();
    let meant = nearest(text, names.iter().copied());
    let meant = meant.map_or_else(String::new, |meant| format!(". Did you mean `{meant}`?"));
    format!("must be one of {}, and not `{text}`{meant}", names.join(", "))
}
