//! Which agent is meant: by its id, or by its name in a project.

use clap::Args;
use cmux_core::id::AgentId;
use cmux_core::nearest::nearest;
use cmux_wire::agent::Agent;
use cmux_wire::client::{Client, ClientError};

use crate::fail::{Code, Fail};
use crate::place;

/// An agent, as a person calls it.
#[derive(Debug, Args)]
pub(crate) struct Called {
    /// Its name or id
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) within: Within,
}

/// Where agents are looked for.
#[derive(Debug, Args)]
pub(crate) struct Within {
    /// The project, by its id, name or folder; the one here unless it is said
    #[arg(long, value_name = "PROJECT")]
    pub(crate) project: Option<String>,
}

impl Called {
    /// Returns the agent.
    pub(crate) async fn find(&self, client: &Client) -> Result<Agent, Fail> {
        let is_id = self.name.parse::<AgentId>().is_ok();
        let project = match &self.within.project {
            None if is_id => None,
            named => Some(place::project_id(client, named.as_deref()).await?),
        };
        match client.agent(&self.name, project.as_deref()).await {
            Err(error) if is_missing(&error) => {
                let known = all(client, project.as_deref()).await?;
                Err(unknown(&self.name, &known))
            }
            found => Ok(found?),
        }
    }
}

/// Returns all agents of `project`, or of all projects.
pub(crate) async fn all(client: &Client, project: Option<&str>) -> Result<Vec<Agent>, Fail> {
    let mut page = client.agents(project, None).await?;
    let mut agents = page.agents;
    while let Some(next) = page.next {
        page = client.agents(project, Some(&next)).await?;
        agents.append(&mut page.agents);
    }
    Ok(agents)
}

pub(crate) fn is_missing(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused(problem) if problem.status == 404)
}

fn unknown(name: &str, known: &[Agent]) -> Fail {
    let fail = Fail::new(Code::NotFound, format!("there is no agent `{name}` here"));
    match nearest(name, known.iter().map(|agent| agent.name.as_str())) {
        Some(near) => fail.hint(format!("did you mean `{near}`?")),
        None if known.is_empty() => {
            fail.hint("there are none yet: `cmux agent spawn` launches one")
        }
        None => fail.hint("`cmux agent list --all` shows those there are"),
    }
}
