//! Configuration: defaults, the user's file, the project's file, variables, flags.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cmux_core::nearest::nearest;
use cmux_core::settings::{BadValue, KEYS, Key, Scope, Settings, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The longest file that is read, in bytes.
const FILE_MAX: u64 = 1 << 20;

/// What the variables of the environment may set.
const VARIABLES: [(&str, &str); 3] =
    [("CMUX_HOST", "host"), ("CMUX_PORT", "port"), ("CMUX_LOG", "log")];

/// Why a configuration is not taken. It says where, and what was probably meant.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}:{line}: there is no setting `{key}`{}", path.display(), meant(nearest.as_deref()))]
    Unknown { path: PathBuf, line: usize, key: String, nearest: Option<String> },
    #[error("{}:{line}: `{key}` can only be set in the user's own file, not in a project's", path.display())]
    UserOnly { path: PathBuf, line: usize, key: String },
    #[error("{}:{line}: `{key}` belongs into a project's .cmux/config.toml, not into the user's file", path.display())]
    ProjectOnly { path: PathBuf, line: usize, key: String },
    #[error("{}:{line}: {why}", path.display())]
    Value { path: PathBuf, line: usize, why: String },
    #[error("{variable}={value}: {why}")]
    Variable { variable: &'static str, value: String, why: BadValue },
    #[error("{}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |key| format!(". Did you mean `{key}`?"))
}

/// What a project's own file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectConfig {
    pub name: Option<String>,
}

/// Returns the settings that hold for the user whose file is at `file`, where `variable` looks up the
/// environment.
pub fn load(
    file: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    for entry in read(file)? {
        match entry.key.scope {
            Scope::User => {}
            Scope::Project => {
                let (path, line) = (file.to_owned(), entry.line);
                return Err(ConfigError::ProjectOnly {
                    path,
                    line,
                    key: entry.key.name.to_owned(),
                });
            }
        }
        settings.set(entry.key.name, &entry.value).map_err(|why| ConfigError::Value {
            path: file.to_owned(),
            line: entry.line,
            why: why.to_string(),
        })?;
    }
    for (name, key) in VARIABLES {
        if let Some(value) = variable(name).filter(|value| !value.is_empty()) {
            settings
                .set(key, &Value::Text(value.clone()))
                .map_err(|why| ConfigError::Variable { variable: name, value, why })?;
        }
    }
    Ok(settings)
}

/// Returns what the project at `root` says of itself.
pub fn load_project(root: &Path) -> Result<ProjectConfig, ConfigError> {
    let file = root.join(".cmux/config.toml");
    let mut config = ProjectConfig::default();
    for entry in read(&file)? {
        let (path, line) = (file.clone(), entry.line);
        match (entry.key.scope, entry.value) {
            (Scope::User, _) => {
                return Err(ConfigError::UserOnly { path, line, key: entry.key.name.to_owned() });
            }
            (Scope::Project, Value::Text(name)) => config.name = Some(name),
            (Scope::Project, Value::Number(_)) => {
                let why = format!("`{}` must be text", entry.key.name);
                return Err(ConfigError::Value { path, line, why });
            }
        }
    }
    Ok(config)
}

/// One line of a file.
struct Entry {
    key: Key,
    value: Value,
    line: usize,
}

/// Returns what the file at `path` sets. A file that is not there sets nothing.
fn read(path: &Path) -> Result<Vec<Entry>, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    match fs::metadata(path) {
        // That its folder is none is told by whoever needs the folder.
        Err(error) if is_absent(error.kind()) => return Ok(Vec::new()),
        Ok(found) if found.len() > FILE_MAX => {
            return Err(unreadable(io::Error::other("it is longer than 1 MiB")));
        }
        found => found.map_err(unreadable)?,
    };
    let bytes = fs::read(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|error| ConfigError::Value {
        path: path.to_owned(),
        line: line(error.as_bytes(), error.utf8_error().valid_up_to()),
        why: "it is not UTF-8 here".to_owned(),
    })?;
    let file = File { path, text: &text };
    let table = DeTable::parse(&text).map_err(|error| ConfigError::Value {
        path: path.to_owned(),
        line: file.line(error.span().map_or(0, |span| span.start)),
        why: error.message().to_owned(),
    })?;
    let mut entries = Vec::new();
    file.walk("", table.get_ref(), &mut entries)?;
    Ok(entries)
}

fn is_absent(error: io::ErrorKind) -> bool {
    matches!(error, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the line of `text` that the byte at `offset` is in, from 1 on.
fn line(text: &[u8], offset: usize) -> usize {
    text.iter().take(offset).filter(|&&byte| byte == b'\n').count() + 1
}

struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    fn line(&self, offset: usize) -> usize {
        line(self.text.as_bytes(), offset)
    }

    fn walk(
        &self,
        prefix: &str,
        table: &DeTable<'_>,
        entries: &mut Vec<Entry>,
    ) -> Result<(), ConfigError> {
        for (name, value) in table {
            let key = format!("{prefix}{}", name.get_ref());
            let line = self.line(name.span().start);
            let is_section = KEYS.iter().any(|known| known.name.starts_with(&format!("{key}.")));
            if let (true, DeValue::Table(inner)) = (is_section, value.get_ref()) {
                self.walk(&format!("{key}."), inner, entries)?;
            } else {
                entries.push(self.entry(&key, value, line)?);
            }
        }
        Ok(())
    }

    fn entry(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        line: usize,
    ) -> Result<Entry, ConfigError> {
        let path = self.path.to_owned();
        let Some(known) = KEYS.iter().find(|known| known.name == key) else {
            let nearest = nearest(key, KEYS.iter().map(|known| known.name)).map(ToOwned::to_owned);
            return Err(ConfigError::Unknown { path, line, key: key.to_owned(), nearest });
        };
        let number = |digits: &str, radix| i64::from_str_radix(digits, radix).ok();
        let read = match value.get_ref() {
            DeValue::String(text) => Some(Value::Text(text.to_string())),
            DeValue::Integer(it) => number(it.as_str(), it.radix()).map(Value::Number),
            DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => None,
        };
        match read {
            Some(value) => Ok(Entry { key: *known, value, line }),
            None => {
                let why = format!("`{key}` must be a text or a whole number");
                Err(ConfigError::Value { path, line, why })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layer_overrules_the_one_before() {
        let file = written("port = 8100\nlog = 'warn'\n[guard]\nexits_max = 9\n");
        let variable = |name: &str| (name == "CMUX_PORT").then(|| "8200".to_owned());
        let settings = load(file.path(), variable).unwrap();
        assert_eq!((settings.port, settings.log.as_str()), (8200, "warn"));
        assert_eq!(settings.guard.exits_max, 9);
        assert_eq!(settings.guard.window, Settings::default().guard.window);
    }

    #[test]
    fn no_file_means_the_defaults() {
        assert_eq!(load(Path::new("/no/such/file"), |_| None).unwrap(), Settings::default());
    }

    #[test]
    fn an_unknown_key_is_told_with_its_line_and_the_nearest() {
        check("\n\nprot = 1\n", ":3: there is no setting `prot`. Did you mean `port`?");
        check(
            "[guard]\nexit_max = 1\n",
            ":2: there is no setting `guard.exit_max`. Did you mean `guard.exits_max`?",
        );
        check("[gaurd]\nexits_max = 1\n", ":1: there is no setting `gaurd`");
        check("zzz = 1\n", ":1: there is no setting `zzz`");
        check("port.x = 1\n", ":1: `port` must be a text or a whole number");
    }

    #[test]
    fn a_wrong_value_is_told_with_its_line() {
        check("port = 'x'\n", ":1: `port` must be a whole number from 0 to 65535");
        check("port = 1.5\n", ":1: `port` must be a text or a whole number");
        check("host = '0.0.0.0'\n", ":1: `host` must be an address of this machine's loopback");
        check("port = \n", ":1: ");
        check("name = 'x'\n", ":1: `name` belongs into a project's");
    }

    #[test]
    fn a_file_that_is_no_text_is_told_with_its_line() {
        let file = written("");
        fs::write(file.path(), b"port = 1\nlog = '\xff'\n").unwrap();
        let error = load(file.path(), |_| None).unwrap_err().to_string();
        assert!(error.ends_with(":2: it is not UTF-8 here"), "{error}");
    }

    #[test]
    fn a_project_may_name_itself_and_no_more() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join(".cmux/config.toml");
        fs::create_dir(root.path().join(".cmux")).unwrap();
        assert_eq!(load_project(root.path()).unwrap(), ProjectConfig::default());
        fs::write(&file, "name = 'Shop'").unwrap();
        assert_eq!(load_project(root.path()).unwrap().name.as_deref(), Some("Shop"));
        fs::write(&file, "port = 80").unwrap();
        let refused = load_project(root.path()).unwrap_err().to_string();
        assert!(refused.contains("`port` can only be set in the user's own file"), "{refused}");
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let file = written(text);
        let error = load(file.path(), |_| None).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    fn written(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        file
    }
}
