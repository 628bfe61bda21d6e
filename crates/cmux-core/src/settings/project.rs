//! What a project says in its own file: what it is called, which agents it wants, and how kinds of them
//! are started. It may only narrow what the user allows.

use std::collections::BTreeMap;
use std::fmt;

use super::{BadValue, KindSettings, Value, kind, text, wrong};
use crate::kind::{Channel, Kind, Permissions, Unconfirmed};
use crate::trust::Standing;

/// What a project's own file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectSettings {
    pub name: Option<String>,
    pub agents: ProjectAgents,
    pub kinds: BTreeMap<Kind, ProjectKind>,
}

/// Which agents a project wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectAgents {
    /// The kind of those of which nobody says it.
    pub kind: Option<Kind>,
    /// Whether it is to have a supervisor.
    pub supervisor: Option<bool>,
}

/// How a project wants a kind of agent to be started.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProjectKind {
    /// What is run instead of the program, with its first arguments.
    pub command: Option<Vec<String>>,
    pub args: Vec<String>,
    /// There may be secrets in it.
    pub env: BTreeMap<String, String>,
    /// The most that its agents may do without asking.
    pub permissions: Option<Permissions>,
    pub channel: Option<Channel>,
    pub unconfirmed: Option<Unconfirmed>,
}

impl ProjectSettings {
    /// Sets the project's `key` to `value`.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<(), BadValue> {
        match key {
            "name" => self.name = Some(text(key, value)?),
            "agents.kind" => self.agents.kind = Some(kind(key, value)?),
            "agents.supervisor" => self.agents.supervisor = Some(flag(key, value)?),
            _ => return Err(BadValue::Unknown { key: key.to_owned() }),
        }
        Ok(())
    }
}

impl ProjectAgents {
    /// Returns what holds of it if the file that says it stands so.
    #[must_use]
    pub fn acting(&self, standing: Standing) -> ProjectAgents {
        match standing {
            Standing::Trusted => self.clone(),
            Standing::Changed | Standing::New => ProjectAgents::default(),
        }
    }
}

impl ProjectKind {
    /// Sets one of `KIND_KEYS` for `kind`.
    pub fn set(&mut self, kind: &Kind, key: &str, value: &Value) -> Result<(), BadValue> {
        let mut said = KindSettings::default();
        said.set(kind, key, value)?;
        match key {
            "command" => self.command = said.command,
            "args" => self.args = said.args,
            "env" => self.env = said.env,
            "permissions" => self.permissions = Some(said.permissions),
            "channel" => self.channel = said.channel,
            "unconfirmed" => self.unconfirmed = Some(said.unconfirmed),
            _ => return Err(BadValue::Unknown { key: format!("kinds.{kind}.{key}") }),
        }
        Ok(())
    }

    /// Returns what it says besides permissions, by the names of the keys.
    fn keys(&self) -> Vec<&'static str> {
        let said = [
            ("command", self.command.is_some()),
            ("args", !self.args.is_empty()),
            ("env", !self.env.is_empty()),
            ("channel", self.channel.is_some()),
            ("unconfirmed", self.unconfirmed.is_some()),
        ];
        said.into_iter().filter(|(_, is_said)| *is_said).map(|(key, _)| key).collect()
    }
}

/// Returns how a kind of agent is started in a project whose file stands so. Permissions are narrowed
/// whoever wrote it, and never widened; all else it says is done only once the person trusts it.
pub fn narrowed(
    user: &KindSettings,
    project: Option<&ProjectKind>,
    standing: Standing,
) -> KindSettings {
    let Some(project) = project else { return user.clone() };
    let mut settings = user.clone();
    let most = project.permissions.unwrap_or(user.permissions);
    settings.permissions = user.permissions.min(most);
    match standing {
        Standing::Changed | Standing::New => {}
        Standing::Trusted => {
            settings.command = project.command.clone().or(settings.command);
            settings.args.extend(project.args.iter().cloned());
            settings.env.extend(project.env.clone());
            settings.channel = project.channel.or(settings.channel);
            settings.unconfirmed = project.unconfirmed.unwrap_or(settings.unconfirmed);
        }
    }
    settings
}

/// Returns what a project says of `kind` and what is not done, in words. What variables hold is not told.
pub fn unheeded(
    kind: &Kind,
    user: &KindSettings,
    project: Option<&ProjectKind>,
    standing: Standing,
) -> Vec<String> {
    let Some(project) = project else { return Vec::new() };
    let mut told = Vec::new();
    let keys = project.keys();
    if let (Some(why), false) = (standing.why_not(), keys.is_empty()) {
        let keys: Vec<_> = keys.iter().map(|key| format!("`kinds.{kind}.{key}`")).collect();
        told.push(format!(
            ".cmux/config.toml {why}: {} not used (`cmux project trust` shows it and asks)",
            match keys.as_slice() {
                [one] => format!("{one} is"),
                many => format!("{} are", many.join(", ")),
            }
        ));
    }
    if let Some(most) = project.permissions.filter(|most| *most > user.permissions) {
        told.push(format!(
            ".cmux/config.toml asks for `kinds.{kind}.permissions` = \"{}\", and you allow \"{}\": a \
             project's file may only narrow what you allow",
            most.name(),
            user.permissions.name()
        ));
    }
    told
}

fn flag(key: &str, value: &Value) -> Result<bool, BadValue> {
    match value {
        Value::Flag(flag) => Ok(*flag),
        Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Table(_) | Value::Other => {
            Err(wrong(key, "true or false"))
        }
    }
}

/// Shows the names of the variables and not what they hold.
impl fmt::Debug for ProjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProjectKind { command, args, env, permissions, channel, unconfirmed } = self;
        f.debug_struct("ProjectKind")
            .field("program", &command.as_ref().and_then(|words| words.first()))
            .field("args", &args.len())
            .field("env", &env.keys().collect::<Vec<_>>())
            .field("permissions", permissions)
            .field("channel", channel)
            .field("unconfirmed", unconfirmed)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_narrowed_by_anybody_and_widened_by_nobody() {
        use Permissions::{All, Ask, Edits};
        for (user, project, expected) in [
            (All, None, All),
            (All, Some(All), All),
            (All, Some(Edits), Edits),
            (All, Some(Ask), Ask),
            (Edits, None, Edits),
            (Edits, Some(All), Edits),
            (Edits, Some(Ask), Ask),
            (Ask, Some(All), Ask),
            (Ask, Some(Edits), Ask),
        ] {
            for standing in Standing::ALL {
                let user = KindSettings { permissions: user, ..user_settings() };
                let project = ProjectKind { permissions: project, ..ProjectKind::default() };
                let narrowed = narrowed(&user, Some(&project), standing);
                assert_eq!(narrowed, KindSettings { permissions: expected, ..user.clone() });
                let is_told = project.permissions.is_some_and(|it| it > user.permissions);
                assert_eq!(told(&user, &project, standing).len(), usize::from(is_told));
            }
        }
    }

    #[test]
    fn nothing_else_is_done_before_the_person_trusts_it() {
        let user = user_settings();
        let project = project_kind();
        for standing in [Standing::New, Standing::Changed] {
            assert_eq!(narrowed(&user, Some(&project), standing), user);
            let told = told(&user, &project, standing).join("\n");
            let expected = "`kinds.claude.command`, `kinds.claude.args`, `kinds.claude.env`, \
                            `kinds.claude.channel`, `kinds.claude.unconfirmed` are not";
            assert!(told.contains(expected) && !told.contains("hush"), "{told}");
        }
        let trusted = narrowed(&user, Some(&project), Standing::Trusted);
        assert_eq!(trusted.command.as_deref(), Some(&["/p/claude".to_owned()][..]));
        assert_eq!(trusted.args, ["--user", "--project"]);
        assert_eq!(trusted.channel, Some(Channel::Paste));
        assert_eq!(trusted.unconfirmed, Unconfirmed::Leave);
        let env = [("A", "user"), ("B", "hush"), ("C", "hush")];
        assert_eq!(trusted.env, table(&env));
        assert_eq!(told(&user, &project, Standing::Trusted), [""; 0]);
    }

    #[test]
    fn a_project_that_says_nothing_changes_nothing() {
        for standing in Standing::ALL {
            assert_eq!(narrowed(&user_settings(), None, standing), user_settings());
            let silent = ProjectKind::default();
            assert_eq!(narrowed(&user_settings(), Some(&silent), standing), user_settings());
            assert_eq!(told(&user_settings(), &silent, standing), [""; 0]);
        }
    }

    #[test]
    fn each_key_of_a_project_is_set_or_refused_with_its_reason() {
        let mut settings = ProjectSettings::default();
        settings.set("name", &said("Shop")).unwrap();
        settings.set("agents.kind", &said("claude")).unwrap();
        settings.set("agents.supervisor", &Value::Flag(false)).unwrap();
        let agents = ProjectAgents { kind: Some(kind()), supervisor: Some(false) };
        assert_eq!((settings.name.as_deref(), &settings.agents), (Some("Shop"), &agents));
        assert_eq!(agents.acting(Standing::Trusted), agents);
        for standing in [Standing::New, Standing::Changed] {
            assert_eq!(agents.acting(standing), ProjectAgents::default());
        }
        for (key, value, expected) in [
            ("name", Value::Flag(true), "`name` must be text"),
            ("agents.kind", said("No Kind"), "`agents.kind` must be the name of a kind"),
            ("agents.supervisor", said("yes"), "`agents.supervisor` must be true or false"),
            ("port", Value::Number(1), "`port` cannot be set here"),
        ] {
            let refused = settings.set(key, &value).unwrap_err().to_string();
            assert!(refused.contains(expected), "{refused}");
        }
        let refused = ProjectKind::default().set(&kind(), "zzz", &Value::Other);
        assert_eq!(refused, Err(BadValue::Unknown { key: "kinds.claude.zzz".to_owned() }));
    }

    #[test]
    fn no_secret_of_a_project_is_shown() {
        let shown = format!("{:?}", project_kind());
        assert!(shown.contains("\"C\"") && !shown.contains("hush"), "{shown}");
    }

    /// Returns what is told of what is not done.
    fn told(user: &KindSettings, project: &ProjectKind, standing: Standing) -> Vec<String> {
        unheeded(&kind(), user, Some(project), standing)
    }

    fn user_settings() -> KindSettings {
        KindSettings {
            command: Some(vec!["/u/claude".to_owned()]),
            args: vec!["--user".to_owned()],
            env: table(&[("A", "user"), ("B", "user")]),
            permissions: Permissions::Edits,
            channel: None,
            unconfirmed: Unconfirmed::Again,
        }
    }

    fn project_kind() -> ProjectKind {
        let mut project = ProjectKind::default();
        let list = |word: &str| Value::List(vec![word.to_owned()]);
        for (key, value) in [
            ("command", list("/p/claude")),
            ("args", list("--project")),
            ("env", Value::Table(table(&[("B", "hush"), ("C", "hush")]))),
            ("channel", said("paste")),
            ("unconfirmed", said("leave")),
        ] {
            project.set(&kind(), key, &value).unwrap();
        }
        project
    }

    fn kind() -> Kind {
        "claude".parse().unwrap()
    }

    fn said(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn table(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }
}
