//! The `[webhooks.NAME]` of a file: sources of outside events, and their secrets.

use std::collections::BTreeMap;
use std::path::Path;

use cmux_core::settings::{BadValue, SOURCE_KEYS, SOURCES_MAX, Value, WebhookDraft, WebhookSource};
use toml::Spanned;
use toml::de::DeValue;

use super::{ConfigError, value};
use crate::private;
use crate::written::File;

/// A source as it is written. It may hold a secret, so it is not shown.
pub(super) struct Written {
    pub(super) name: String,
    pub(super) line: usize,
    /// Each key with its value and line.
    keys: Vec<(&'static str, Value, usize)>,
}

impl Written {
    /// Returns the line on which a secret itself is written, if one is.
    fn secret_line(&self) -> Option<usize> {
        self.line_of("secret")
    }

    fn line_of(&self, key: &str) -> Option<usize> {
        self.keys.iter().find(|(known, _, _)| *known == key).map(|(_, _, line)| *line)
    }
}

impl File<'_> {
    /// Returns the sources in the section `webhooks`, which is on `line`.
    pub(super) fn sources(
        &self,
        section: &DeValue<'_>,
        line: usize,
    ) -> Result<Vec<Written>, ConfigError> {
        let DeValue::Table(table) = section else {
            return Err(self.refused(line, "`webhooks` must be sections such as [webhooks.github]"));
        };
        if table.len() > SOURCES_MAX {
            return Err(self.refused(line, format!("there are more than {SOURCES_MAX} webhooks")));
        }
        let sources = table.iter().map(|(name, source)| {
            let line = self.line(name.span().start);
            self.source(name.get_ref(), source, line)
        });
        sources.collect()
    }

    fn source(
        &self,
        name: &str,
        source: &Spanned<DeValue<'_>>,
        line: usize,
    ) -> Result<Written, ConfigError> {
        let DeValue::Table(table) = source.get_ref() else {
            return Err(self.refused(line, format!("`webhooks.{name}` must be a section")));
        };
        let mut keys = Vec::new();
        for (key, found) in table {
            let line = self.line(key.span().start);
            let Some(known) = SOURCE_KEYS.into_iter().find(|known| *known == key.get_ref()) else {
                let prefix = format!("webhooks.{name}.");
                return Err(self.unknown(line, &prefix, key.get_ref(), &SOURCE_KEYS));
            };
            keys.push((known, value(found.get_ref()), line));
        }
        Ok(Written { name: name.to_owned(), line, keys })
    }
}

/// Returns the sources by name, with the secrets that lie in files of their own. `file` is what was
/// opened at `path`: if a secret is written in it, nobody else may be able to read it.
pub(super) fn resolve(
    path: &Path,
    file: Option<&std::fs::File>,
    written: &[Written],
) -> Result<BTreeMap<String, WebhookSource>, ConfigError> {
    let mut sources = BTreeMap::new();
    for it in written {
        let refused = |line, why: String| ConfigError::Value { path: path.to_owned(), line, why };
        let source = read(it).map_err(|(line, why)| refused(line, why))?;
        if let (Some(line), Some(file)) = (it.secret_line(), file) {
            private::check(path, file).map_err(|why| refused(line, why.to_string()))?;
        }
        sources.insert(it.name.clone(), source);
    }
    Ok(sources)
}

/// Returns the source, or the line on which it is wrong, and why.
fn read(written: &Written) -> Result<WebhookSource, (usize, String)> {
    let told = |line| move |why: BadValue| (line, why.to_string());
    let mut draft = WebhookDraft::new(&written.name).map_err(told(written.line))?;
    for (key, value, line) in &written.keys {
        draft.set(key, value).map_err(told(*line))?;
    }
    let secret_line = written.secret_line().or_else(|| written.line_of("secret_file"));
    let secret_line = secret_line.unwrap_or(written.line);
    let from_file = match draft.secret_file() {
        Some(file) => Some(private::read(file).map_err(|why| (secret_line, why.to_string()))?),
        None => None,
    };
    draft.finish(from_file.as_deref()).map_err(|why| match why {
        BadValue::Both { .. } | BadValue::Secret { .. } => (secret_line, why.to_string()),
        BadValue::Missing { .. } | BadValue::Wrong { .. } | BadValue::Unknown { .. } => {
            (written.line, why.to_string())
        }
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use cmux_core::signature::{Scheme, Secret};

    use super::super::{load, load_project};
    use super::*;

    const SECRET: &str = "do not show this to anybody";

    #[test]
    fn sources_are_read_with_their_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let secret_file = private_file(folder.path(), "s", &format!("{SECRET}\n"));
        let text = format!(
            "[webhooks.github]\nscheme = 'github'\nsecret_file = '{secret_file}'\nproject = 'shop-1'\n\
             [webhooks.pay]\nscheme = 'standard'\nsecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'\n"
        );
        let config = private_file(folder.path(), "config.toml", &text);
        let settings = load(Path::new(&config), |_| None).unwrap();
        let names: Vec<_> = settings.webhooks.keys().collect();
        assert_eq!(names, ["github", "pay"]);
        let github = &settings.webhooks["github"];
        assert_eq!(github.secret, Secret::read(Scheme::GitHub, SECRET).unwrap());
        assert_eq!(github.project.as_ref().map(|id| id.as_str()), Some("shop-1"));
        assert_eq!(settings.webhooks["pay"].scheme, Scheme::Standard);
        let shown = format!("{settings:?}");
        assert!(!shown.contains("whsec") && !shown.contains(SECRET), "{shown}");
    }

    #[test]
    fn what_is_wrong_with_a_source_is_told_with_its_line() {
        check("\n[webhooks.ci]\nsecret = 's'\n", ":2: `webhooks.ci.scheme` must be set: ");
        check("[webhooks.ci]\nscheme = 'github'\n", ":1: `webhooks.ci.secret` must be set: ");
        check("[webhooks.ci]\n", ":1: `webhooks.ci.scheme` must be set: ");
        check(
            "[webhooks.ci]\nscheme = 'github'\nsceret = 's'\n",
            ":3: there is no setting `webhooks.ci.sceret`. Did you mean `webhooks.ci.secret`?",
        );
        check("[webhooks.ci]\nzzz = 1\n", ":2: there is no setting `webhooks.ci.zzz`");
        check("[webhooks.ci]\nscheme = 'gitlab'\n", ":2: `webhooks.ci.scheme` must be \"github\"");
        check(
            "[webhooks.ci]\nscheme = 'github'\nsecret = 'short'\n",
            ":3: `webhooks.ci.secret`: the secret must have at least 16 bytes",
        );
        check(
            &format!(
                "[webhooks.ci]\nscheme = 'github'\nsecret_file = '/no/such'\nsecret = '{SECRET}'\n"
            ),
            ":4: `webhooks.ci.secret` and `webhooks.ci.secret_file` are both set: keep one",
        );
        check(
            "[webhooks.ci]\nscheme = 'github'\nsecret_file = '/no/such/file'\n",
            ":3: /no/such/file cannot be read: ",
        );
        check("[webhooks.ci]\nsecret_file = 's'\n", ":2: `webhooks.ci.secret_file` must be a path");
        check(&format!("[webhooks.ci]\nsecret = '{SECRET}\n"), ":2: ");
        check(&format!("[webhooks.ci]\nsecret = 'x'\nsecret = '{SECRET}'\n"), ":3: ");
        check(&format!("[webhooks.ci]\nscheme = '{SECRET}'\n"), ":2: `webhooks.ci.scheme` must be");
        check("[webhooks.ci]\nsecret = 1\n", ":2: `webhooks.ci.secret` must be text");
        check("[webhooks.ci]\nproject = '/x'\n", ":2: `webhooks.ci.project` must be a project's");
        check("[webhooks.health]\n", ":1: `webhooks.health` must be called something else");
        check("[webhooks.CI]\n", ":1: `webhooks.CI` must be named by 1 to 32 of a-z, 0-9 and -");
        check("webhooks = 1\n", ":1: `webhooks` must be sections such as [webhooks.github]");
        check("\nwebhooks.ci = 1\n", ":2: `webhooks.ci` must be a section");
        check("[[webhooks.ci]]\n", ":1: `webhooks.ci` must be a section");
        check("[webhook.ci]\n", ":1: there is no setting `webhook`. Did you mean `webhooks`?");
    }

    #[test]
    fn a_secret_that_others_can_read_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let secret = private_file(folder.path(), "s", SECRET);
        for (keys, shared, line) in [
            (format!("secret = '{SECRET}'"), "config.toml", 3),
            (format!("secret_file = '{secret}'"), "s", 3),
        ] {
            let text = format!("[webhooks.ci]\nscheme = 'github'\n{keys}\n");
            let config = private_file(folder.path(), "config.toml", &text);
            let shared = folder.path().join(shared);
            load(Path::new(&config), |_| None).unwrap();
            fs::set_permissions(&shared, Permissions::from_mode(0o640)).unwrap();
            let refused = load(Path::new(&config), |_| None).unwrap_err().to_string();
            let expected = format!(
                "config.toml:{line}: {0} can be read by others (mode 640), and it holds a secret: \
                 `chmod 600 {0}`",
                shared.display()
            );
            assert!(refused.ends_with(&expected) && !refused.contains(SECRET), "{refused}");
        }
    }

    #[test]
    fn a_file_without_secrets_may_be_read_by_others() {
        let folder = tempfile::tempdir().unwrap();
        let secret = private_file(folder.path(), "s", SECRET);
        let text = format!("[webhooks.ci]\nscheme = 'github'\nsecret_file = '{secret}'\n");
        let config = private_file(folder.path(), "config.toml", &text);
        fs::set_permissions(&config, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(load(Path::new(&config), |_| None).unwrap().webhooks.len(), 1);
    }

    #[test]
    fn there_are_not_more_sources_than_can_be_told_apart() {
        let names = 0..=SOURCES_MAX;
        let text: String = names.map(|n| format!("[webhooks.a{n}]\nscheme = 'github'\n")).collect();
        check(&text, ":1: there are more than 64 webhooks");
    }

    #[test]
    fn a_project_has_no_sources_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".cmux")).unwrap();
        let text = "\n[webhooks.ci]\nscheme = 'github'\nsecret_file = '/etc/shadow'\n";
        fs::write(root.path().join(".cmux/config.toml"), text).unwrap();
        let refused = load_project(root.path()).unwrap_err().to_string();
        let expected = ":2: `webhooks.ci` can only be set in the user's own file";
        assert!(refused.contains(expected), "{refused}");
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let config = private_file(folder.path(), "config.toml", text);
        let error = load(Path::new(&config), |_| None).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains(SECRET), "{error}");
    }

    /// Writes a file that nobody else can read, and returns its path.
    fn private_file(folder: &Path, name: &str, text: &str) -> String {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        path.display().to_string()
    }
}
