//! The `[kinds.NAME]` of a file: how the user has kinds of agents started.

use std::collections::BTreeMap;
use std::path::Path;

use cmux_core::kind::{BadKind, Kind};
use cmux_core::settings::{KIND_KEYS, KINDS_MAX, KindSettings, ProjectKind};
use toml::de::DeValue;

use super::{ConfigError, value};
use crate::written::File;

/// What is said of a kind, and where.
pub(super) struct Written {
    kind: Kind,
    /// As the user's file means it, and as a project's does.
    user: KindSettings,
    project: ProjectKind,
}

impl File<'_> {
    /// Returns what the section `kinds`, which is on `line`, says of each.
    pub(super) fn kinds(
        &self,
        section: &DeValue<'_>,
        line: usize,
    ) -> Result<Vec<Written>, ConfigError> {
        let DeValue::Table(table) = section else {
            return Err(self.refused(line, "`kinds` must be sections such as [kinds.claude]"));
        };
        if table.len() > KINDS_MAX {
            return Err(self.refused(line, format!("there are more than {KINDS_MAX} kinds")));
        }
        let kinds = table.iter().map(|(name, said)| {
            let line = self.line(name.span().start);
            let shown: String = name.get_ref().chars().take(64).collect();
            let bad = |why: BadKind| self.refused(line, format!("`kinds.{shown}`: {why}"));
            let kind: Kind = name.get_ref().parse().map_err(bad)?;
            self.kind(kind, said.get_ref(), line)
        });
        kinds.collect()
    }

    fn kind(&self, kind: Kind, said: &DeValue<'_>, line: usize) -> Result<Written, ConfigError> {
        let DeValue::Table(table) = said else {
            return Err(self.refused(line, format!("`kinds.{kind}` must be a section")));
        };
        let (mut user, mut project) = (KindSettings::default(), ProjectKind::default());
        for (key, found) in table {
            let (line, key) = (self.line(key.span().start), key.get_ref());
            if !KIND_KEYS.contains(&key.as_ref()) {
                return Err(self.unknown(line, &format!("kinds.{kind}."), key, &KIND_KEYS));
            }
            let value = value(found.get_ref());
            let set = user.set(&kind, key, &value).and_then(|()| project.set(&kind, key, &value));
            set.map_err(|why| self.refused(line, why.to_string()))?;
        }
        Ok(Written { kind, user, project })
    }
}

/// Returns what is said of each kind, by its name.
pub(super) fn by_name(written: Vec<Written>) -> BTreeMap<Kind, KindSettings> {
    written.into_iter().map(|it| (it.kind, it.user)).collect()
}

/// Returns how the project at `root` wants each kind, by its name. A program that it names with a path has
/// that path from the root on.
pub(super) fn of_project(root: &Path, written: Vec<Written>) -> BTreeMap<Kind, ProjectKind> {
    let rooted = |mut it: Written| {
        if let Some(program) = it.project.command.as_mut().and_then(|words| words.first_mut())
            && program.contains('/')
        {
            *program = root.join(&program).to_string_lossy().into_owned();
        }
        (it.kind, it.project)
    };
    written.into_iter().map(rooted).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use cmux_core::kind::{Channel, Permissions, Unconfirmed};

    use super::super::{load, load_project};

    #[test]
    fn kinds_are_read_with_all_that_is_said_of_them() {
        let text = "[kinds.claude]\ncommand = ['/x/claude']\nargs = ['--model', 'm']\n\
                    channel = 'paste'\nunconfirmed = 'leave'\npermissions = 'ask'\nenv = { KEY = 's3cret' }\n[kinds.my-cli.env]\nA = '1'\n";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        fs::write(&file, text).unwrap();
        let settings = load(&file, |_| None).unwrap();
        let claude = &settings.kinds[&"claude".parse().unwrap()];
        assert_eq!(claude.command.as_deref(), Some(&["/x/claude".to_owned()][..]));
        assert_eq!((claude.args.len(), claude.permissions), (2, Permissions::Ask));
        assert_eq!(claude.env["KEY"], "s3cret");
        assert_eq!(claude.channel, Some(Channel::Paste));
        assert_eq!(claude.unconfirmed, Unconfirmed::Leave);
        assert_eq!(settings.kinds[&"my-cli".parse().unwrap()].env["A"], "1");
        let shown = format!("{settings:?}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn what_is_wrong_with_a_kind_is_told_with_its_line() {
        check("kinds = 1\n", ":1: `kinds` must be sections such as [kinds.claude]");
        check("\nkinds.claude = 1\n", ":2: `kinds.claude` must be a section");
        check("[kinds.Claude]\n", ":1: `kinds.Claude`: a kind is named by");
        check(
            "[kinds.claude]\ncomand = []\n",
            ":2: there is no setting `kinds.claude.comand`. Did you mean `kinds.claude.command`?",
        );
        check("[kinds.claude]\ncommand = 'x'\n", ":2: `kinds.claude.command` must be a list");
        check(
            "[kinds.claude]\npermissions = 'x'\n",
            ":2: `kinds.claude.permissions` must be \"ask\"",
        );
        check("[kinds.claude]\nchannel = 'x'\n", ":2: `kinds.claude.channel` must be \"paste\"");
        check(
            "[kinds.claude]\nchanel = 'api'\n",
            ":2: there is no setting `kinds.claude.chanel`. Did you mean `kinds.claude.channel`?",
        );
        check("[kinds.claude]\nenv = { A = 1 }\n", ":2: `kinds.claude.env` must be variables");
        check("[kinds.claude]\nenv = { CMUX_RUN = 's3cret' }\n", ":2: `kinds.claude.env.CMUX_RUN`");
        check("[kind.claude]\n", ":1: there is no setting `kind`. Did you mean `kinds`?");
    }

    #[test]
    fn a_project_says_how_it_wants_agents_to_be_started() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".cmux")).unwrap();
        let text = "[kinds.claude]\ncommand = ['./tool', 'x/y']\nenv = { A = 's3cret' }\n\
                    [kinds.codex]\ncommand = ['codex']\npermissions = 'ask'\n\
                    [kinds.demo]\ncommand = ['/usr/bin/demo']\n";
        fs::write(root.path().join(".cmux/config.toml"), text).unwrap();
        let said = load_project(root.path()).unwrap();
        let command = |kind: &str| said.kinds[&kind.parse().unwrap()].command.clone().unwrap();
        let own = root.path().join("./tool").display().to_string();
        assert_eq!(command("claude"), [own, "x/y".to_owned()]);
        assert_eq!([command("codex"), command("demo")], [["codex"], ["/usr/bin/demo"]]);
        let codex = &said.kinds[&"codex".parse().unwrap()];
        assert_eq!(codex.permissions, Some(Permissions::Ask));
        assert!(!format!("{said:?}").contains("s3cret"));
        fs::write(root.path().join(".cmux/config.toml"), "\n[kinds.claude]\nagrs = []\n").unwrap();
        let refused = load_project(root.path()).unwrap_err().to_string();
        let expected =
            ":3: there is no setting `kinds.claude.agrs`. Did you mean `kinds.claude.args`?";
        assert!(refused.contains(expected), "{refused}");
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let file: &Path = &folder.path().join("config.toml");
        fs::write(file, text).unwrap();
        let error = load(file, |_| None).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("s3cret"), "{error}");
    }
}
