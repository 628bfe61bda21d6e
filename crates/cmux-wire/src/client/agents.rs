//! The client's questions about agents.

use hyper::Method;

use crate::agent::{Agent, Agents, NewAgent, Place, Register};
use crate::client::{Client, ClientError, escape, query};
use crate::conversation::Conversation;
use crate::terminal::{Terminal, TerminalStream};
use crate::why::Why;

impl Client {
    /// Lists the agents of `project`, or all, after the one with the id `after`.
    pub async fn agents(
        &self,
        project: Option<&str>,
        after: Option<&str>,
    ) -> Result<Agents, ClientError> {
        let query = query(&[("project", project), ("cursor", after)]);
        self.get(&format!("/api/agents{query}")).await
    }

    /// Returns an agent by its id, or by its name in `project`.
    pub async fn agent(&self, name: &str, project: Option<&str>) -> Result<Agent, ClientError> {
        self.get(&path(name, "", project)).await
    }

    pub async fn spawn_agent(&self, new: &NewAgent) -> Result<Agent, ClientError> {
        self.send(Method::POST, "/api/agents", Some(new)).await
    }

    /// Has a pane that a person started be an agent.
    pub async fn register_agent(&self, register: &Register) -> Result<Agent, ClientError> {
        self.send(Method::POST, "/api/agents/register", Some(register)).await
    }

    /// Has an agent do `verb` from now on: `restart`, `pause`, `resume`, `stop` or `interrupt`.
    pub async fn have_agent(
        &self,
        name: &str,
        verb: &str,
        project: Option<&str>,
    ) -> Result<Agent, ClientError> {
        let path = path(name, &format!("/{}", escape(verb)), project);
        self.send(Method::POST, &path, None::<&()>).await
    }

    pub async fn remove_agent(&self, name: &str, project: Option<&str>) -> Result<(), ClientError> {
        let path = path(name, "", project);
        self.ask(Method::DELETE, &path, None::<&()>).await.map(|_| ())
    }

    /// Asks why cmux takes an agent to be in its phase.
    pub async fn why(&self, name: &str, project: Option<&str>) -> Result<Why, ClientError> {
        self.get(&path(name, "/why", project)).await
    }

    /// Asks where in tmux an agent is.
    pub async fn place(&self, name: &str, project: Option<&str>) -> Result<Place, ClientError> {
        self.get(&path(name, "/place", project)).await
    }

    /// Asks what was said in an agent's conversation: the newest, or what came before a place in it.
    pub async fn conversation(
        &self,
        name: &str,
        project: Option<&str>,
        before: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Conversation, ClientError> {
        let limit = limit.map(|limit| limit.to_string());
        let query = query(&[("project", project), ("before", before), ("limit", limit.as_deref())]);
        self.get(&format!("/api/agents/{}/conversation{query}", escape(name))).await
    }

    /// Asks for an agent's screen, and for so many lines above it.
    pub async fn terminal(
        &self,
        name: &str,
        project: Option<&str>,
        lines: Option<u32>,
    ) -> Result<Terminal, ClientError> {
        let lines = lines.map(|lines| lines.to_string());
        let query = query(&[("project", project), ("lines", lines.as_deref())]);
        self.get(&format!("/api/agents/{}/terminal{query}", escape(name))).await
    }

    /// Follows an agent's terminal: its screen, then each byte as it comes.
    pub async fn follow_terminal(
        &self,
        name: &str,
        project: Option<&str>,
    ) -> Result<TerminalStream, ClientError> {
        let authorization = self.authorization()?;
        let socket = self.connect().await?;
        TerminalStream::open(socket, &path(name, "/terminal/ws", project), authorization).await
    }
}

/// Returns where an agent is, by its id or its name in `project`, and what is done there.
fn path(name: &str, verb: &str, project: Option<&str>) -> String {
    format!("/api/agents/{}{verb}{}", escape(name), query(&[("project", project)]))
}
