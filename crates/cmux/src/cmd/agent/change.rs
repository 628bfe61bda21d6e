//! `cmux agent stop`, `restart`, `pause`, `resume`, `rm` and `interrupt`: what is wanted of an agent.

use clap::Args;
use cmux_wire::agent::Agent;
use cmux_wire::client::{Client, ClientError};

use crate::cmd::agent::find::Called;
use crate::cmd::agent::follow::{Waiting, until_gone};
use crate::cmd::agent::show::phase;
use crate::fail::Fail;
use crate::say::{Say, clean};

#[derive(Debug, Args)]
pub(crate) struct Stop {
    #[command(flatten)]
    called: Called,
    /// Return at once, and not when nothing of it is left
    #[arg(long)]
    no_wait: bool,
}

impl Stop {
    pub(crate) async fn run(self, client: &Client, say: Say) -> Result<(), Fail> {
        let found = self.called.find(client).await?;
        let mut agent = client.have_agent(&found.id, "stop", None).await?;
        if !self.no_wait {
            agent = until_gone(client, agent, say).await?;
        }
        say.show(&agent, told)
    }
}

/// Something that an agent is to do from now on, after which it should be idle.
#[derive(Debug, Args)]
pub(crate) struct Again {
    #[command(flatten)]
    called: Called,
    #[command(flatten)]
    waiting: Waiting,
}

impl Again {
    pub(crate) async fn restart(self, client: &Client, say: Say) -> Result<(), Fail> {
        let found = self.called.find(client).await?;
        let agent = client.have_agent(&found.id, "restart", None).await?;
        let agent = self.waiting.wait(client, agent, found.run.as_deref(), say).await?;
        say.show(&agent, |it| format!("`{}` starts anew: {}", clean(&it.name), phase(it)))
    }

    pub(crate) async fn resume(self, client: &Client, say: Say) -> Result<(), Fail> {
        let found = self.called.find(client).await?;
        let agent = client.have_agent(&found.id, "resume", None).await?;
        let agent = self.waiting.wait(client, agent, None, say).await?;
        say.show(&agent, told)
    }
}

/// Leaves an agent as it is.
pub(crate) async fn pause(called: Called, client: &Client, say: Say) -> Result<(), Fail> {
    let found = called.find(client).await?;
    say.show(&client.have_agent(&found.id, "pause", None).await?, told)
}

/// Has an agent leave its turn.
pub(crate) async fn interrupt(called: Called, client: &Client, say: Say) -> Result<(), Fail> {
    let found = called.find(client).await?;
    let agent = client.have_agent(&found.id, "interrupt", None).await?;
    say.show(&agent, |it| format!("`{}` was interrupted", clean(&it.name)))
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    #[command(flatten)]
    called: Called,
    /// Stop it first if it runs
    #[arg(long)]
    force: bool,
}

impl Remove {
    pub(crate) async fn run(self, client: &Client, say: Say) -> Result<(), Fail> {
        let found = self.called.find(client).await?;
        if self.force {
            let agent = client.have_agent(&found.id, "stop", None).await?;
            until_gone(client, agent, say).await?;
        }
        client.remove_agent(&found.id, None).await.map_err(explain)?;
        say.show(&found, |it| format!("forgot `{}`; what it did is untouched", clean(&it.name)))
    }
}

/// Adds what can be done about an agent that runs.
fn explain(error: ClientError) -> Fail {
    let runs = matches!(&error, ClientError::Refused(problem) if problem.slug() == "agent-runs");
    let fail = Fail::from(error);
    if runs { fail.hint("`--force` stops it first") } else { fail }
}

fn told(agent: &Agent) -> String {
    format!("`{}` is {}", clean(&agent.name), phase(agent))
}
