//! Where outside events may come from: a name, how it signs, its secret, and whose events they are.

use std::path::{Path, PathBuf};

use super::{BadValue, Value, absolute, text};
use crate::project::ProjectId;
use crate::signature::{BadSecret, Scheme, Secret};

/// How many sources there may be.
pub const SOURCES_MAX: usize = 64;

/// The longest name of a source, in bytes.
const NAME_MAX: usize = 32;

/// What can be said of a source.
pub const SOURCE_KEYS: [&str; 4] = ["scheme", "secret", "secret_file", "project"];

/// Names that routes of cmux's own have.
const RESERVED: [&str; 1] = ["health"];

/// Somebody outside whose events are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookSource {
    pub scheme: Scheme,
    pub secret: Secret,
    /// The project whose supervisor is told, if it is always the same.
    pub project: Option<ProjectId>,
}

/// A source while it is read, key by key. Its secret may be in a file that is yet to be read.
#[derive(Clone)]
pub struct WebhookDraft {
    /// As errors name it: `webhooks.NAME`.
    prefix: String,
    scheme: Option<Scheme>,
    secret: Option<String>,
    secret_file: Option<PathBuf>,
    project: Option<ProjectId>,
}

impl WebhookDraft {
    /// Begins a source called `name`.
    pub fn new(name: &str) -> Result<WebhookDraft, BadValue> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_name = (1..=NAME_MAX).contains(&name.len()) && name.chars().all(allowed);
        let shown: String = name.chars().take(2 * NAME_MAX).collect();
        let prefix = format!("webhooks.{shown}");
        if !is_name || RESERVED.contains(&name) {
            let expected = if is_name {
                "called something else: that is a route of cmux's own".to_owned()
            } else {
                format!("named by 1 to {NAME_MAX} of a-z, 0-9 and -")
            };
            return Err(BadValue::Wrong { key: prefix, expected });
        }
        Ok(WebhookDraft { prefix, scheme: None, secret: None, secret_file: None, project: None })
    }

    /// Sets one of `SOURCE_KEYS`.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<(), BadValue> {
        let full = format!("{}.{key}", self.prefix);
        let wrong =
            |expected: &str| BadValue::Wrong { key: full.clone(), expected: expected.to_owned() };
        match key {
            "scheme" => {
                let name = text(&full, value)?;
                let scheme = Scheme::ALL.into_iter().find(|scheme| scheme.name() == name);
                self.scheme = Some(scheme.ok_or_else(|| wrong(SCHEMES))?);
            }
            "secret" => self.secret = Some(text(&full, value)?),
            "secret_file" => self.secret_file = Some(absolute(&full, value)?),
            "project" => {
                let id = text(&full, value)?.parse();
                self.project =
                    Some(id.map_err(|_| wrong("a project's id, as `cmux project list` shows it"))?);
            }
            _ => return Err(BadValue::Unknown { key: full }),
        }
        Ok(())
    }

    /// Returns the file that the secret is to be read from, if it is in one alone.
    pub fn secret_file(&self) -> Option<&Path> {
        self.secret_file.as_deref().filter(|_| self.secret.is_none())
    }

    /// Returns the source, given what its `secret_file` holds, if it has one.
    pub fn finish(self, from_file: Option<&str>) -> Result<WebhookSource, BadValue> {
        let key = |key: &str| format!("{}.{key}", self.prefix);
        let missing =
            |name: &str, why: &str| BadValue::Missing { key: key(name), why: why.to_owned() };
        let scheme = self.scheme.ok_or_else(|| missing("scheme", SCHEMES))?;
        let (name, secret) = match (&self.secret, &self.secret_file, from_file) {
            (Some(_), Some(_), _) => {
                return Err(BadValue::Both { key: key("secret"), other: key("secret_file") });
            }
            (Some(secret), None, _) => ("secret", secret.as_str()),
            (None, Some(_), Some(secret)) => ("secret_file", secret.trim()),
            (None, Some(_) | None, _) => {
                let why =
                    "what the source signs with, or `secret_file`, the path of a file with it";
                return Err(missing("secret", why));
            }
        };
        let refused = |why: BadSecret| BadValue::Secret { key: key(name), why };
        let secret = Secret::read(scheme, secret).map_err(refused)?;
        Ok(WebhookSource { scheme, secret, project: self.project })
    }
}

const SCHEMES: &str = "\"github\" or \"standard\"";

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "0123456789abcdef";

    #[test]
    fn a_source_is_what_its_keys_say() {
        let source = read("ci", &[("scheme", "github"), ("secret", LONG), ("project", "shop-1")]);
        let secret = Secret::read(Scheme::GitHub, LONG).unwrap();
        let project = Some("shop-1".parse().unwrap());
        assert_eq!(source, Ok(WebhookSource { scheme: Scheme::GitHub, secret, project }));
    }

    #[test]
    fn a_secret_in_a_file_is_taken_without_the_space_around_it() {
        let mut draft = WebhookDraft::new("ci").unwrap();
        draft.set("scheme", &said("github")).unwrap();
        draft.set("secret_file", &said("/s")).unwrap();
        assert_eq!(draft.secret_file(), Some(Path::new("/s")));
        let source = draft.finish(Some(&format!(" {LONG}\n"))).unwrap();
        assert_eq!(source.secret, Secret::read(Scheme::GitHub, LONG).unwrap());
    }

    #[test]
    fn what_is_no_source_is_refused() {
        let github = ("scheme", "github");
        check("ci", &[("secret", LONG)], "`webhooks.ci.scheme` must be set: \"github\" or");
        check("ci", &[github], "`webhooks.ci.secret` must be set: ");
        check("ci", &[("scheme", "gitlab")], "`webhooks.ci.scheme` must be \"github\" or");
        let both = [github, ("secret", LONG), ("secret_file", "/s")];
        check("ci", &both, "`webhooks.ci.secret` and `webhooks.ci.secret_file` are both set");
        check("ci", &[github, ("secret_file", "s")], "`webhooks.ci.secret_file` must be a path");
        check("ci", &[github, ("secret", "short")], "`webhooks.ci.secret`: the secret must have");
        let not_standard = [("scheme", "standard"), ("secret", LONG)];
        check("ci", &not_standard, "`webhooks.ci.secret`: the secret must be `whsec_`");
        check("ci", &[("project", "../x")], "`webhooks.ci.project` must be a project's id");
        check("health", &[], "`webhooks.health` must be called something else");
        for name in ["", "CI", "a b", "a/b", "ä", &"a".repeat(33)] {
            check(name, &[], "must be named by 1 to 32 of a-z, 0-9 and -");
        }
    }

    #[track_caller]
    fn check(name: &str, keys: &[(&str, &str)], expected: &str) {
        let refused = read(name, keys).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
        assert!(!refused.contains(LONG), "{refused}");
    }

    fn read(name: &str, keys: &[(&str, &str)]) -> Result<WebhookSource, BadValue> {
        let mut draft = WebhookDraft::new(name)?;
        for (key, value) in keys {
            draft.set(key, &said(value))?;
        }
        draft.finish(None)
    }

    fn said(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}
