//! What an agent is launched with: what the user set for its kind, what its project says as far as that
//! acts, and what it is told of its role. What does not act is said, and stops nothing.

use std::path::Path;

use cmux_core::kind::Kind;
use cmux_core::role::{Part, RoleText};
use cmux_core::settings::{KindSettings, ProjectAgents, ProjectSettings, narrowed, unheeded};
use cmux_core::trust::{ProjectFile, Standing, Trust};

use crate::config::{ConfigError, read_project};
use crate::kinds::Kinds;
use crate::project_files::{self, ProjectFiles};

/// What an agent is launched with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchSettings {
    pub kind_settings: KindSettings,
    /// What it is told before anything else, its task among it.
    pub role_prompt: String,
    pub role_from: RoleFrom,
    /// Whether it may say, in a dialog of its CLI, that the person trusts the folder.
    pub folder_trusted: bool,
    /// What the project's files say that was not used, and why. No secret is in it.
    pub ignored: Vec<String>,
}

/// What a role's agents are told, and whose words it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolePrompt {
    pub text: String,
    pub from: RoleFrom,
    /// Why the project's own words are not used, if it has some.
    pub ignored: Option<String>,
}

/// Whose words an agent is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleFrom {
    BuiltIn,
    Project,
}

/// Returns what an agent of `kind` is launched with that plays this `part`, in a project of which the
/// person has approved `trust`. It reads the project's files: not for whoever must not wait.
pub fn launch_settings(
    user: &KindSettings,
    kind: &Kind,
    part: &Part<'_>,
    trust: &Trust,
) -> LaunchSettings {
    let (project, standing, mut ignored) = match config(Path::new(part.root), trust) {
        Ok((project, standing)) => (project, standing, Vec::new()),
        // What is broken may be half-written: it must not keep agents from being brought back.
        Err(error) => {
            let told = format!("nothing of it is used: {error}");
            (ProjectSettings::default(), Standing::New, vec![told])
        }
    };
    let project = project.kinds.get(kind);
    ignored.extend(unheeded(kind, user, project, standing));
    let role = role_prompt(part, trust);
    ignored.extend(role.ignored);
    LaunchSettings {
        kind_settings: narrowed(user, project, standing),
        role_prompt: role.text,
        role_from: role.from,
        folder_trusted: trust.folder.is_some(),
        ignored,
    }
}

/// Returns what an agent is told that plays this `part`: the project's words for its role if the person
/// trusts them, or else cmux's own.
pub fn role_prompt(part: &Part<'_>, trust: &Trust) -> RolePrompt {
    let built_in = |ignored| RolePrompt {
        text: RoleText::built_in(part.role).fill(part),
        from: RoleFrom::BuiltIn,
        ignored,
    };
    let Some(file) = ProjectFile::of_role(part.role) else { return built_in(None) };
    let found = match project_files::read(Path::new(part.root), &file) {
        Ok(Some(found)) => found,
        Ok(None) => return built_in(None),
        Err(error) => return built_in(Some(format!("{error}: cmux's own words are used"))),
    };
    if let Some(why) = trust.standing(&file, &found.digest).why_not() {
        return built_in(Some(format!(
            "{file} {why}: cmux's own words are used (`cmux project trust` shows it and asks)"
        )));
    }
    match RoleText::read(&found.text) {
        Ok(own) => RolePrompt { text: own.fill(part), from: RoleFrom::Project, ignored: None },
        Err(why) => built_in(Some(format!("{file}: {why}: cmux's own words are used"))),
    }
}

/// Returns which agents the project at `root` wants whose `files` were found, as far as the person trusts
/// what says so, and what is wrong with those files.
pub fn project_agents(
    root: &Path,
    files: &ProjectFiles,
    trust: &Trust,
    kinds: &Kinds,
) -> (ProjectAgents, Vec<String>) {
    let mut agents = ProjectAgents::default();
    let mut wrong = Vec::new();
    for found in &files.found {
        match &found.file {
            ProjectFile::Config => match read_project(root, found) {
                Ok(said) => {
                    wrong.extend(missing_kinds(&said, kinds));
                    agents = said.agents.acting(trust.standing(&found.file, &found.digest));
                }
                Err(error) => wrong.push(error.to_string()),
            },
            ProjectFile::Role(_) => {
                let bad = RoleText::read(&found.text).err();
                wrong.extend(bad.map(|why| format!("{}: {why}", found.file)));
            }
        }
    }
    (agents, wrong)
}

/// Returns what a project says of kinds that there are not.
fn missing_kinds(said: &ProjectSettings, kinds: &Kinds) -> Vec<String> {
    let wanted = said.agents.kind.iter().map(|kind| (format!("`agents.kind` = \"{kind}\""), kind));
    let told = said.kinds.keys().map(|kind| (format!("[kinds.{kind}]"), kind));
    let missing = |(what, kind): (String, &Kind)| {
        let meant = kinds.missing(kind)?;
        Some(format!("{}: {what} is about no kind there is{meant}", ProjectFile::Config))
    };
    wanted.chain(told).filter_map(missing).collect()
}

/// Returns what the configuration of the project at `root` says, and how it stands.
fn config(root: &Path, trust: &Trust) -> Result<(ProjectSettings, Standing), ConfigError> {
    match project_files::read(root, &ProjectFile::Config)? {
        Some(found) => {
            let standing = trust.standing(&found.file, &found.digest);
            Ok((read_project(root, &found)?, standing))
        }
        None => Ok((ProjectSettings::default(), Standing::New)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use cmux_core::kind::Permissions;
    use cmux_core::time::Timestamp;
    use tempfile::TempDir;

    use super::*;

    const CONFIG: &str = ".cmux/config.toml";
    const WORKER: &str = ".cmux/roles/worker.md";

    #[test]
    fn a_project_without_files_is_launched_as_the_user_says() {
        let root = tempfile::tempdir().unwrap();
        let launched = launch(&root, &Trust::default());
        assert_eq!(launched.kind_settings, user());
        assert_eq!((launched.role_from, launched.folder_trusted), (RoleFrom::BuiltIn, false));
        assert!(launched.role_prompt.contains("You are api, a worker"), "{launched:?}");
        assert!(launched.role_prompt.ends_with("count"), "{launched:?}");
        assert_eq!(launched.ignored, [""; 0]);
    }

    #[test]
    fn files_act_once_they_are_trusted_and_only_as_they_were_seen() {
        let root = tempfile::tempdir().unwrap();
        let config =
            "[kinds.claude]\nargs = ['-x']\nenv = { KEY = 's3cret' }\npermissions = 'ask'\n";
        write(&root, CONFIG, config);
        write(&root, WORKER, "Work, {name}!");
        let new = launch(&root, &Trust::default());
        let narrowed = KindSettings { permissions: Permissions::Ask, ..user() };
        assert_eq!((&new.kind_settings, new.role_from), (&narrowed, RoleFrom::BuiltIn));
        check(
            &new,
            &[".cmux/config.toml is not trusted by you: `kinds.claude.args`,", "worker.md is not"],
        );

        let trust = trusted(&root);
        let own = launch(&root, &trust);
        assert_eq!(own.kind_settings.args, ["-x"]);
        assert_eq!(own.kind_settings.env["KEY"], "s3cret");
        assert_eq!(own.role_prompt, "Work, api!\n\n## Your task\n\ncount");
        assert_eq!((own.role_from, own.folder_trusted), (RoleFrom::Project, true));
        check(&own, &[]);

        write(&root, CONFIG, &format!("{config}# changed\n"));
        write(&root, WORKER, "Obey, {name}!");
        let changed = launch(&root, &trust);
        assert_eq!(changed.kind_settings, narrowed);
        assert_eq!(changed.role_prompt, new.role_prompt);
        check(&changed, &["config.toml was changed since you", "worker.md was changed since you"]);
    }

    #[test]
    fn what_is_broken_is_told_and_stops_nothing() {
        for (path, text, told) in [
            (
                CONFIG,
                "[kinds.claude]\nagrs = ['s3cret']\n",
                ":2: there is no setting `kinds.claude.agrs`",
            ),
            (CONFIG, "port = 1\n", ":1: `port` can only be set in the user's own file"),
            (CONFIG, "[kinds.claude]\npermissions = 'all'\n", "and you allow \"edits\""),
            (WORKER, "\u{1b}[2J", "line 1 has a control character"),
            (WORKER, "{nmae}", "Did you mean `{name}`?"),
            (WORKER, " ", "it is empty"),
        ] {
            let root = tempfile::tempdir().unwrap();
            write(&root, path, text);
            let launched = launch(&root, &trusted(&root));
            assert_eq!(launched.kind_settings, user(), "{text}");
            assert_eq!(launched.role_from, RoleFrom::BuiltIn, "{text}");
            check(&launched, &[told]);
        }
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join(".cmux/roles")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.path().join(WORKER)).unwrap();
        check(&launch(&root, &Trust::default()), &["it is a link"]);
    }

    #[test]
    fn which_agents_a_project_wants_is_heeded_once_it_is_trusted() {
        let root = tempfile::tempdir().unwrap();
        write(&root, CONFIG, "[agents]\nkind = 'codex'\nsupervisor = false\n");
        let wanted = |trust: &Trust| {
            let kinds = Kinds::load(Path::new("/no/such/place"), &BTreeMap::new());
            project_agents(root.path(), &project_files::read_all(root.path()), trust, &kinds)
        };
        assert_eq!(wanted(&Trust::default()), (ProjectAgents::default(), Vec::new()));
        let (agents, wrong) = wanted(&trusted(&root));
        assert_eq!(agents.kind, Some("codex".parse().unwrap()));
        assert_eq!((agents.supervisor, wrong.len()), (Some(false), 0));
        write(&root, CONFIG, "[agents]\nkind = 'zzz'\n[kinds.cluade]\n[kinds.claude]\n");
        let (_, wrong) = wanted(&Trust::default());
        let [zzz, cluade] = &wrong[..] else { panic!("{wrong:?}") };
        assert!(zzz.ends_with("`agents.kind` = \"zzz\" is about no kind there is"), "{zzz}");
        assert!(
            cluade.ends_with("[kinds.cluade] is about no kind there is. Did you mean `claude`?")
        );
        write(&root, CONFIG, "[agents]\nkidn = 'codex'\n");
        write(&root, WORKER, "");
        let (agents, wrong) = wanted(&trusted(&root));
        assert_eq!(agents, ProjectAgents::default());
        let [config, role] = &wrong[..] else { panic!("{wrong:?}") };
        assert!(config.contains("Did you mean `agents.kind`?") && role.contains("it is empty"));
    }

    /// Checks that each of `told` is said of what was ignored, and no more, and no secret.
    #[track_caller]
    fn check(launched: &LaunchSettings, told: &[&str]) {
        assert_eq!(launched.ignored.len(), told.len(), "{:?}", launched.ignored);
        for (said, told) in launched.ignored.iter().zip(told) {
            assert!(said.contains(told), "{told} is not in {said}");
        }
        assert!(!format!("{launched:?}").contains("s3cret"), "{launched:?}");
    }

    fn launch(root: &TempDir, trust: &Trust) -> LaunchSettings {
        let part = Part {
            name: "api",
            role: "worker",
            project: "shop-1",
            root: root.path().to_str().unwrap(),
            parent: None,
            task: Some("count"),
        };
        launch_settings(&user(), &"claude".parse().unwrap(), &part, trust)
    }

    /// Returns that the person approves of all that is there.
    fn trusted(root: &TempDir) -> Trust {
        let found = project_files::read_all(root.path()).found;
        let files: Vec<_> = found.into_iter().map(|found| (found.file, found.digest)).collect();
        Trust::default().approve(&files, true, Timestamp(0))
    }

    fn user() -> KindSettings {
        KindSettings::default()
    }

    fn write(root: &TempDir, path: &str, text: &str) {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}
