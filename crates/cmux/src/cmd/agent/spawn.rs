//! `cmux agent spawn`: another member of the team.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use cmux_drivers::home::Home;
use cmux_wire::agent::{Agent, Intent, NewAgent};
use cmux_wire::client::{Client, ClientError};

use crate::cmd::agent::find::{Called, Within};
use crate::cmd::agent::follow::Waiting;
use crate::cmd::agent::kinds::{self, Said};
use crate::cmd::agent::show;
use crate::fail::{Code, Fail};
use crate::place;
use crate::say::{Say, aside};

#[derive(Debug, Args)]
pub(crate) struct Spawn {
    /// What it is called in its project
    name: String,
    #[command(flatten)]
    within: Within,
    /// Which program it is; the project's or your own choice unless it is said, or the first of the
    /// usual ones that is on the machine
    #[arg(long)]
    kind: Option<String>,
    /// What it is in its team
    #[arg(long, default_value = "worker")]
    role: String,
    /// What it is to do first
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
    /// Where it works; the project's root unless it is said
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// A variable that it is given; without a value, the one that is set here
    #[arg(long, value_name = "KEY[=VALUE]")]
    env: Vec<String>,
    /// Keep it when its task is done
    #[arg(long)]
    permanent: bool,
    /// Go on with the agent of this name and its conversation, as it was launched before
    #[arg(long, conflicts_with_all = ["kind", "role", "task", "cwd", "env", "permanent", "args"])]
    resume: bool,
    #[command(flatten)]
    waiting: Waiting,
    /// Added to the program's own arguments
    #[arg(last = true)]
    args: Vec<String>,
}

impl Spawn {
    pub(crate) async fn run(self, client: &Client, home: &Home, say: Say) -> Result<(), Fail> {
        let (waiting, name) = (self.waiting, self.name.clone());
        let agent = if self.resume {
            let called = Called { name: self.name, within: self.within };
            let found = called.find(client).await?;
            client.have_agent(&found.id, "resume", None).await?
        } else {
            let new = self.asked(client, home).await?;
            client.spawn_agent(&new).await.map_err(|error| explain(error, &name))?
        };
        if agent.intent != Intent::Run {
            aside(&unwanted(&agent));
        }
        let agent = waiting.wait(client, agent, None, say).await?;
        say.show(&agent, |it| show::tell(it, say))
    }

    /// Returns what is asked for. All that can be wrong with it here is found before anybody is asked.
    async fn asked(self, client: &Client, home: &Home) -> Result<NewAgent, Fail> {
        let cwd = self.cwd.as_deref().map(folder).transpose()?;
        let env = variables(&self.env, |name| env::var(name).ok())?;
        let project = place::project_id(client, self.within.project.as_deref()).await?;
        let trust = client.trust(&project).await?;
        let said = Said::first(self.kind.as_deref(), &trust, home)?;
        let chosen = kinds::choose(&client.kinds().await?, &said)?;
        if let Some(note) = &chosen.note {
            aside(note);
        }
        Ok(NewAgent {
            project,
            name: self.name,
            kind: chosen.kind,
            role: self.role,
            task: self.task,
            cwd,
            args: self.args,
            env,
            permanent: self.permanent,
        })
    }
}

/// Returns the folder that an agent is to work in, which must be there.
fn folder(path: &Path) -> Result<String, Fail> {
    let shown = path.display();
    let found = fs::canonicalize(path).map_err(|error| {
        let what = if error.kind() == ErrorKind::NotFound {
            format!("there is no folder {shown} for it to work in")
        } else {
            format!("the folder {shown} cannot be used: {error}")
        };
        Fail::new(Code::NotFound, what).hint("make it, or name another with --cwd")
    })?;
    if !found.is_dir() {
        let what = format!("{shown} is not a folder that it could work in");
        return Err(Fail::new(Code::NotFound, what).hint("name another with --cwd"));
    }
    let text = found.to_str().map(ToOwned::to_owned);
    text.ok_or_else(|| Fail::failed(format!("the name of the folder {shown} is not UTF-8")))
}

/// Returns the variables that are `said`: with their values, or as they are set here.
fn variables(
    said: &[String],
    here: impl Fn(&str) -> Option<String>,
) -> Result<BTreeMap<String, String>, Fail> {
    let mut variables = BTreeMap::new();
    for said in said {
        let (name, value) = match said.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => {
                let value = here(said).ok_or_else(|| {
                    Fail::failed(format!("--env {said}: no such variable is set here"))
                        .hint(format!("set it, or say what it holds: --env {said}=…"))
                })?;
                (said.as_str(), value)
            }
        };
        variables.insert(name.to_owned(), value);
    }
    Ok(variables)
}

/// Adds what can be done about a name that is taken.
fn explain(error: ClientError, name: &str) -> Fail {
    let is_taken =
        matches!(&error, ClientError::Refused(problem) if problem.slug() == "name-taken");
    let fail = Fail::from(error);
    if !is_taken {
        return fail;
    }
    fail.hint(format!(
        "it was launched in another way; `cmux agent spawn {name} --resume` goes on with it, or choose \
         another name"
    ))
}

/// Says that an agent is there and is not to run.
fn unwanted(agent: &Agent) -> String {
    let name = &agent.name;
    format!(
        "`{name}` is there already and is {}; `cmux agent resume {name}` has it run",
        show::phase(agent)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_what_is_said_or_what_is_set_here() {
        let here = |name: &str| (name == "HERE").then(|| "x=y".to_owned());
        let said = ["A=1", "B=", "C=a=b", "HERE", "A=2"].map(ToOwned::to_owned);
        let found = variables(&said, here).unwrap();
        let expected = [("A", "2"), ("B", ""), ("C", "a=b"), ("HERE", "x=y")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found, BTreeMap::from(expected));
        let refused = variables(&["GONE".to_owned()], here).unwrap_err();
        assert!(refused.what.contains("no such variable is set here"), "{refused:?}");
    }

    #[test]
    fn a_folder_must_be_there_and_is_named_from_the_root() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        fs::create_dir(root.join("a")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        let around = root.join("a/../a");
        assert_eq!(folder(&around).unwrap(), root.join("a").display().to_string());
        for (name, why) in [("b", "there is no folder"), ("file", "is not a folder")] {
            let refused = folder(&root.join(name)).unwrap_err();
            assert_eq!(refused.code, Code::NotFound);
            assert!(refused.what.contains(why), "{refused:?}");
        }
    }
}
