//! The client's questions about mail.

use hyper::Method;

use crate::client::{Client, ClientError, escape, query};
use crate::message::{History, Message, Messages, NewMessage};

/// Which messages are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageQuery {
    /// To this agent, or to `user`.
    pub to: Option<String>,
    /// From this agent, or from `user`.
    pub from: Option<String>,
    /// In this state.
    pub state: Option<String>,
    /// Of this conversation.
    pub thread: Option<String>,
    /// Of this project.
    pub project: Option<String>,
    /// Only what the person has not read.
    pub unread: bool,
    pub limit: Option<u32>,
    /// What the page before gave as `next`.
    pub cursor: Option<String>,
}

impl Client {
    /// Sends a message. It is stored once this returns.
    pub async fn send_message(&self, new: &NewMessage) -> Result<Message, ClientError> {
        self.send(Method::POST, "/api/messages", Some(new)).await
    }

    /// Lists messages, newest first.
    pub async fn messages(&self, wanted: &MessageQuery) -> Result<Messages, ClientError> {
        self.get(&format!("/api/messages{}", wanted.query())).await
    }

    /// Returns a message, with all that it says.
    pub async fn message(&self, id: &str) -> Result<Message, ClientError> {
        self.get(&format!("/api/messages/{}", escape(id))).await
    }

    /// Does `verb` to a message: `retry`, `cancel` or `read`.
    pub async fn have_message(&self, id: &str, verb: &str) -> Result<Message, ClientError> {
        let path = format!("/api/messages/{}/{}", escape(id), escape(verb));
        self.send(Method::POST, &path, None::<&()>).await
    }

    /// Asks for an agent's messages and turns, newest first.
    pub async fn history(
        &self,
        name: &str,
        project: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<History, ClientError> {
        let query = query(&[("project", project), ("cursor", cursor)]);
        self.get(&format!("/api/agents/{}/history{query}", escape(name))).await
    }
}

impl MessageQuery {
    fn query(&self) -> String {
        let limit = self.limit.map(|limit| limit.to_string());
        query(&[
            ("to", self.to.as_deref()),
            ("from", self.from.as_deref()),
            ("state", self.state.as_deref()),
            ("thread", self.thread.as_deref()),
            ("project", self.project.as_deref()),
            ("unread", self.unread.then_some("true")),
            ("limit", limit.as_deref()),
            ("cursor", self.cursor.as_deref()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_wanted_is_asked_for() {
        assert_eq!(MessageQuery::default().query(), "");
        let wanted = MessageQuery {
            to: Some("a@b".to_owned()),
            unread: true,
            limit: Some(5),
            ..MessageQuery::default()
        };
        assert_eq!(wanted.query(), "?to=a%40b&unread=true&limit=5");
    }
}
