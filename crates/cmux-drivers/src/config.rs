//! Configuration: defaults, the user's file, the project's file, variables, flags.

mod kinds;
mod prices;
mod webhooks;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cmux_core::price::Prices;
use cmux_core::settings::{BadValue, KEYS, Key, ProjectSettings, Scope, Settings, Value};
use cmux_core::trust::ProjectFile;
use toml::de::{DeTable, DeValue};

use crate::project_files::{self, Found};
use crate::written::{self, File, texts_of};

/// The section that holds a section for each source of outside events.
const WEBHOOKS: &str = "webhooks";

/// The section that holds a section for each kind of agent.
const KINDS: &str = "kinds";

/// The section that holds a section for each model that has a price.
const PRICES: &str = "prices";

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

/// Returns the settings that hold for the user whose file is at `file`, where `variable` looks up the
/// environment.
pub fn load(
    file: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    let written = read(file)?;
    let refused = |line, why: &BadValue| ConfigError::Value {
        path: file.to_owned(),
        line,
        why: why.to_string(),
    };
    for entry in &written.entries {
        match entry.key.scope {
            Scope::User | Scope::Both => {}
            Scope::Project => {
                let (path, line) = (file.to_owned(), entry.line);
                return Err(ConfigError::ProjectOnly {
                    path,
                    line,
                    key: entry.key.name.to_owned(),
                });
            }
        }
        let set = settings.set(entry.key.name, &entry.value);
        set.map_err(|why| refused(entry.line, &why))?;
    }
    if let Some(why) = settings.missing() {
        let beside = written.entries.iter().find(|entry| entry.key.name.starts_with("tls."));
        return Err(refused(beside.map_or(1, |entry| entry.line), &why));
    }
    settings.kinds = kinds::by_name(written.kinds);
    settings.prices = written.prices;
    settings.webhooks = webhooks::resolve(file, written.file.as_ref(), &written.sources)?;
    for (name, key) in VARIABLES {
        if let Some(value) = variable(name).filter(|value| !value.is_empty()) {
            settings
                .set(key, &Value::Text(value.clone()))
                .map_err(|why| ConfigError::Variable { variable: name, value, why })?;
        }
    }
    Ok(settings)
}

/// Returns what the project at `root` says of itself, trusted or not.
pub fn load_project(root: &Path) -> Result<ProjectSettings, ConfigError> {
    match project_files::read(root, &ProjectFile::Config)? {
        Some(found) => read_project(root, &found),
        None => Ok(ProjectSettings::default()),
    }
}

/// Returns what the file that was found in the project at `root` says.
pub fn read_project(root: &Path, found: &Found) -> Result<ProjectSettings, ConfigError> {
    let path = &root.join(found.file.to_string());
    let written = parse(path, &found.text)?;
    let path = path.clone();
    if let Some(source) = written.sources.first() {
        let (line, key) = (source.line, format!("webhooks.{}", source.name));
        return Err(ConfigError::UserOnly { path, line, key });
    }
    if let Some(line) = written.prices_line {
        return Err(ConfigError::UserOnly { path, line, key: PRICES.to_owned() });
    }
    let mut settings = ProjectSettings::default();
    for entry in written.entries {
        let (path, line) = (path.clone(), entry.line);
        match entry.key.scope {
            Scope::User => {
                return Err(ConfigError::UserOnly { path, line, key: entry.key.name.to_owned() });
            }
            Scope::Project | Scope::Both => {
                let set = settings.set(entry.key.name, &entry.value);
                set.map_err(|why| ConfigError::Value { path, line, why: why.to_string() })?;
            }
        }
    }
    settings.kinds = kinds::of_project(root, written.kinds);
    Ok(settings)
}

/// What a file sets.
#[derive(Default)]
struct Written {
    entries: Vec<Entry>,
    sources: Vec<webhooks::Written>,
    kinds: Vec<kinds::Written>,
    prices: Prices,
    /// Where it says something of prices, if it does.
    prices_line: Option<usize>,
    /// What it was read from, if it is there.
    file: Option<fs::File>,
}

/// One line of a file.
struct Entry {
    key: Key,
    value: Value,
    line: usize,
}

/// Returns what the file at `path` sets. A file that is not there sets nothing.
fn read(path: &Path) -> Result<Written, ConfigError> {
    let Some((text, opened)) = written::open(path)? else { return Ok(Written::default()) };
    Ok(Written { file: Some(opened), ..parse(path, &text)? })
}

/// Returns what the `text` of the file at `path` sets.
fn parse(path: &Path, text: &str) -> Result<Written, ConfigError> {
    let file = File { path, text };
    let mut written = Written::default();
    file.walk("", file.table()?.get_ref(), &mut written)?;
    Ok(written)
}

impl File<'_> {
    fn walk(
        &self,
        prefix: &str,
        table: &DeTable<'_>,
        written: &mut Written,
    ) -> Result<(), ConfigError> {
        for (name, value) in table {
            let key = format!("{prefix}{}", name.get_ref());
            let line = self.line(name.span().start);
            let is_section = KEYS.iter().any(|known| known.name.starts_with(&format!("{key}.")));
            if key == WEBHOOKS {
                written.sources = self.sources(value.get_ref(), line)?;
            } else if key == KINDS {
                written.kinds = self.kinds(value.get_ref(), line)?;
            } else if key == PRICES {
                written.prices = self.prices(value.get_ref(), line)?;
                written.prices_line = Some(line);
            } else if let (true, DeValue::Table(inner)) = (is_section, value.get_ref()) {
                self.walk(&format!("{key}."), inner, written)?;
            } else {
                written.entries.push(self.entry(&key, value.get_ref(), line)?);
            }
        }
        Ok(())
    }

    fn entry(&self, key: &str, found: &DeValue<'_>, line: usize) -> Result<Entry, ConfigError> {
        let Some(known) = KEYS.iter().find(|known| known.name == key) else {
            let all: Vec<&str> =
                KEYS.iter().map(|known| known.name).chain([WEBHOOKS, KINDS, PRICES]).collect();
            return Err(self.unknown(line, "", key, &all));
        };
        Ok(Entry { key: *known, value: value(found), line })
    }
}

/// Returns what is written as the core takes it.
fn value(found: &DeValue<'_>) -> Value {
    let number = |digits: &str, radix| i64::from_str_radix(digits, radix).ok();
    let text = |it: &DeValue<'_>| it.as_str().map(ToOwned::to_owned);
    let read = match found {
        DeValue::String(text) => Some(Value::Text(text.to_string())),
        DeValue::Integer(it) => number(it.as_str(), it.radix()).map(Value::Number),
        DeValue::Array(list) => {
            let texts = list.iter().map(|it| text(it.get_ref()));
            texts.collect::<Option<_>>().map(Value::List)
        }
        DeValue::Table(table) => texts_of(table).map(Value::Table),
        DeValue::Boolean(flag) => Some(Value::Flag(*flag)),
        DeValue::Float(_) | DeValue::Datetime(_) => None,
    };
    read.unwrap_or(Value::Other)
}

#[cfg(test)]
mod tests {
    use cmux_core::settings::{Limits, TlsFiles};

    use super::*;

    #[test]
    fn each_layer_overrules_the_one_before() {
        let file = written(
            "port = 8100\nlog = 'warn'\n[guard]\nexits_max = 9\n[agents]\nkind = 'codex'\n",
        );
        let variable = |name: &str| (name == "CMUX_PORT").then(|| "8200".to_owned());
        let settings = load(file.path(), variable).unwrap();
        assert_eq!((settings.port, settings.log.as_str()), (8200, "warn"));
        assert_eq!(settings.guard.exits_max, 9);
        assert_eq!(settings.kind, Some("codex".parse().unwrap()));
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
        check("port.x = 1\n", ":1: `port` must be a whole number");
    }

    #[test]
    fn a_wrong_value_is_told_with_its_line() {
        check("port = 'x'\n", ":1: `port` must be a whole number from 0 to 65535");
        check("port = 1.5\n", ":1: `port` must be a whole number from 0 to 65535");
        check("port = 99999999999999999999\n", ":1: `port` must be a whole number");
        check("host = 'example.org'\n", ":1: `host` must be an IP address of this machine's");
        check("log = ['info']\n", ":1: `log` must be text");
        check("port = \n", ":1: ");
        check("name = 'x'\n", ":1: `name` belongs into a project's");
    }

    #[test]
    fn names_limits_and_tls_are_read() {
        let file = written(
            "host = '10.0.0.7'\nhosts = ['CMUX.example', 'far.example:9000']\n\
             [limits]\nconnections = 16\nburst = 5\n[tls]\ncert = '/c'\nkey = '/k'\n",
        );
        let settings = load(file.path(), |_| None).unwrap();
        assert_eq!(settings.host.to_string(), "10.0.0.7");
        assert_eq!(settings.hosts, ["cmux.example", "far.example:9000"]);
        let limits = Settings::default().limits;
        assert_eq!(settings.limits, Limits { connections: 16, burst: 5, ..limits });
        assert_eq!(settings.tls, Some(TlsFiles { cert: "/c".into(), key: "/k".into() }));
    }

    #[test]
    fn names_limits_and_tls_that_are_wrong_are_told_with_their_line() {
        check("\nhosts = 'a'\n", ":2: `hosts` must be a list of at most 64 names");
        check("hosts = ['a', 1]\n", ":1: `hosts` must be a list of at most 64 names");
        check("hosts = ['https://a']\n", ":1: `hosts` must be names such as cmux.example");
        check("hosts = ['*.a']\n", "without https://, / or *, and not `*.a`");
        check("[limits]\nconnections = 1\n", ":2: `limits.connections` must be a whole number");
        check("[limits]\nbrust = 1\n", "`limits.brust`. Did you mean `limits.burst`?");
        check("[tls]\ncert = 'c.pem'\nkey = '/k'\n", ":2: `tls.cert` must be a path that begins");
        check("\n[tls]\ncert = '/c'\n", ":3: `tls.key` must be set: a certificate is of no use");
        check("[tls]\nkey = '/k'\n", ":2: `tls.cert` must be set: a key is of no use");
        check("tls = true\n", ":1: there is no setting `tls`");
    }

    #[test]
    fn a_file_that_is_no_text_is_told_with_its_line() {
        let file = written("");
        fs::write(file.path(), b"port = 1\nlog = '\xff'\n").unwrap();
        let error = load(file.path(), |_| None).unwrap_err().to_string();
        assert!(error.ends_with(":2: it is not UTF-8 here"), "{error}");
    }

    #[test]
    fn a_project_may_name_itself_and_say_which_agents_it_wants() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".cmux")).unwrap();
        assert_eq!(load_project(root.path()).unwrap(), ProjectSettings::default());
        let text = "name = 'Shop'\n[agents]\nkind = 'codex'\nsupervisor = false\n";
        fs::write(root.path().join(".cmux/config.toml"), text).unwrap();
        let said = load_project(root.path()).unwrap();
        assert_eq!(said.name.as_deref(), Some("Shop"));
        assert_eq!(said.agents.kind, Some("codex".parse().unwrap()));
        assert_eq!(said.agents.supervisor, Some(false));
    }

    #[test]
    fn what_a_project_may_not_say_is_told_with_its_line() {
        for (text, expected) in [
            ("port = 80", ":1: `port` can only be set in the user's own file"),
            (
                "\n[webhooks.ci]\nscheme = 'github'",
                ":2: `webhooks.ci` can only be set in the user's",
            ),
            (
                "[agents]\nkidn = 'x'",
                ":2: there is no setting `agents.kidn`. Did you mean `agents.kind`?",
            ),
            ("[agents]\nkind = 'No Kind'", ":2: `agents.kind` must be the name of a kind"),
            ("[agents]\nsupervisor = 1", ":2: `agents.supervisor` must be true or false"),
            ("name = 1", ":1: `name` must be text"),
            ("name = ", ":1: "),
        ] {
            let root = tempfile::tempdir().unwrap();
            fs::create_dir(root.path().join(".cmux")).unwrap();
            fs::write(root.path().join(".cmux/config.toml"), text).unwrap();
            let refused = load_project(root.path()).unwrap_err().to_string();
            assert!(refused.contains(expected), "{refused}");
        }
        check("[agents]\nsupervisor = true\n", ":2: `agents.supervisor` belongs into a project's");
        check("port = true\n", ":1: `port` must be a whole number");
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
