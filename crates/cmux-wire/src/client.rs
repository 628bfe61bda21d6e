//! The typed client, over the daemon's own socket.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::daemon::{DaemonStatus, Status, Stopping};
use crate::event::Events;
use crate::problem::Problem;
use crate::project::{NewProject, Project, Projects};
use crate::store::{Archive, Audit, Backup, Check, NewArchive, NewBackup};
use crate::stream::Stream;

/// How long the daemon may take to answer, unless it is asked for something long.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The longest answer that is read, in bytes.
const ANSWER_MAX: usize = 64 << 20;

/// A way to the daemon of one home.
#[derive(Clone, Debug)]
pub struct Client {
    socket: PathBuf,
    patience: Duration,
}

/// Why the daemon did not do as it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens at the socket.
    #[error("no daemon is running")]
    NoDaemon,
    /// It refused, and said why.
    #[error("{}", .0.detail)]
    Refused(Problem),
    #[error("the daemon did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// It went away in the middle.
    #[error("the connection to the daemon broke: {0}")]
    Broken(String),
    /// It said something that this version does not understand.
    #[error("the daemon's answer makes no sense: {0}")]
    Nonsense(String),
}

/// Which events are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EventQuery {
    /// After this one. Without it, the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The log that `since` is a place in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

impl Client {
    /// Returns a way to the daemon that listens at `socket`. Nothing is tried yet.
    pub fn new(socket: &Path) -> Client {
        Client { socket: socket.to_owned(), patience: ANSWER_WITHIN }
    }

    /// Returns the same way, for a caller with more or less time.
    #[must_use]
    pub fn patient(self, patience: Duration) -> Client {
        Client { patience, ..self }
    }

    pub async fn status(&self) -> Result<Status, ClientError> {
        self.get("/api/status").await
    }

    pub async fn daemon(&self) -> Result<DaemonStatus, ClientError> {
        self.get("/api/daemon").await
    }

    pub async fn stop(&self) -> Result<Stopping, ClientError> {
        self.send(Method::POST, "/api/daemon/stop", None::<&()>).await
    }

    pub async fn projects(&self, after: Option<&str>) -> Result<Projects, ClientError> {
        let query = query(&[("cursor", after)]);
        self.get(&format!("/api/projects{query}")).await
    }

    pub async fn project(&self, id: &str) -> Result<Project, ClientError> {
        self.get(&format!("/api/projects/{}", escape(id))).await
    }

    pub async fn add_project(&self, new: &NewProject) -> Result<Project, ClientError> {
        self.send(Method::POST, "/api/projects", Some(new)).await
    }

    pub async fn remove_project(&self, id: &str) -> Result<(), ClientError> {
        let path = format!("/api/projects/{}", escape(id));
        self.ask(Method::DELETE, &path, None::<&()>).await.map(|_| ())
    }

    pub async fn events(&self, wanted: &EventQuery) -> Result<Events, ClientError> {
        self.get(&format!("/api/events{}", wanted.query())).await
    }

    /// Follows the log: all events after `since`, then each new one as it comes.
    pub async fn follow(&self, wanted: &EventQuery) -> Result<Stream, ClientError> {
        let socket = self.connect().await?;
        Stream::open(socket, &format!("/api/ws{}", wanted.query())).await
    }

    pub async fn check(&self) -> Result<Check, ClientError> {
        self.get("/api/store/check").await
    }

    pub async fn audit(&self) -> Result<Audit, ClientError> {
        self.get("/api/store/audit").await
    }

    pub async fn back_up(&self, new: &NewBackup) -> Result<Backup, ClientError> {
        self.send(Method::POST, "/api/store/backups", Some(new)).await
    }

    pub async fn archive(&self, new: &NewArchive) -> Result<Archive, ClientError> {
        self.send(Method::POST, "/api/store/archives", Some(new)).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.send(Method::GET, path, None::<&()>).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, ClientError> {
        let bytes = self.ask(method, path, body).await?;
        serde_json::from_slice(&bytes).map_err(|error| ClientError::Nonsense(error.to_string()))
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Bytes, ClientError> {
        let asked = self.ask_patiently(method, path, body);
        timeout(self.patience, asked).await.unwrap_or(Err(ClientError::TimedOut(self.patience)))
    }

    async fn ask_patiently(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Bytes, ClientError> {
        let socket = self.connect().await?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(socket)).await.map_err(broken)?;
        // It ends with the request; what goes wrong on it is told by the request.
        tokio::spawn(connection);
        let body = match body {
            Some(body) => serde_json::to_vec(body)
                .map_err(|error| ClientError::Nonsense(error.to_string()))?,
            None => Vec::new(),
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, "localhost")
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| ClientError::Nonsense(error.to_string()))?;
        let response = sender.send_request(request).await.map_err(broken)?;
        let (status, body) = (response.status(), response.into_body());
        let read = Limited::new(body, ANSWER_MAX).collect().await;
        let bytes = read.map_err(|error| ClientError::Broken(error.to_string()))?.to_bytes();
        if status.is_success() {
            return Ok(bytes);
        }
        match serde_json::from_slice::<Problem>(&bytes) {
            Ok(problem) => Err(ClientError::Refused(problem)),
            Err(_) => Err(ClientError::Nonsense(format!("status {status} without a reason"))),
        }
    }

    async fn connect(&self) -> Result<UnixStream, ClientError> {
        UnixStream::connect(&self.socket).await.map_err(|error| {
            if is_absent(error.kind()) {
                ClientError::NoDaemon
            } else {
                ClientError::Broken(format!("{}: {error}", self.socket.display()))
            }
        })
    }
}

/// Returns whether `error` tells that nobody listens: no socket can be below a file, nor at a path that
/// is too long for one.
fn is_absent(error: io::ErrorKind) -> bool {
    use io::ErrorKind::{ConnectionRefused, InvalidInput, NotADirectory, NotFound};
    matches!(error, NotFound | ConnectionRefused | NotADirectory | InvalidInput)
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn broken(error: hyper::Error) -> ClientError {
    ClientError::Broken(error.to_string())
}

impl EventQuery {
    fn query(&self) -> String {
        let since = self.since.map(|since| since.to_string());
        let limit = self.limit.map(|limit| limit.to_string());
        query(&[
            ("since", since.as_deref()),
            ("limit", limit.as_deref()),
            ("project", self.project.as_deref()),
            ("agent", self.agent.as_deref()),
            ("kind", self.kind.as_deref()),
            ("log", self.log.as_deref()),
        ])
    }
}

/// Returns the query of a URL in which each of `fields` that has a value is set.
fn query(fields: &[(&str, Option<&str>)]) -> String {
    let mut query = String::new();
    for (name, value) in fields {
        if let Some(value) = value {
            query.push(if query.is_empty() { '?' } else { '&' });
            query += &format!("{name}={}", escape(value));
        }
    }
    query
}

/// Returns `text` with everything but letters, digits and a few marks as `%XX`.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped += &format!("%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_can_change_the_path_or_query() {
        assert_eq!(escape("../a b&c=ü"), "..%2Fa%20b%26c%3D%C3%BC");
        let wanted =
            EventQuery { since: Some(5), kind: Some("a&b".to_owned()), ..EventQuery::default() };
        assert_eq!(wanted.query(), "?since=5&kind=a%26b");
        assert_eq!(EventQuery::default().query(), "");
    }
}
