//! The typed client, over the daemon's own socket.

mod agents;
mod messages;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::time::timeout;

pub use crate::client::messages::MessageQuery;
use crate::daemon::{DaemonStatus, Status, Stopping};
use crate::event::Events;
use crate::health::Health;
use crate::hook::{HookTaken, NewHook};
use crate::kind::Kinds;
use crate::link::Link;
use crate::problem::Problem;
use crate::project::{NewProject, Project, Projects};
use crate::session::Sessions;
use crate::store::{Archive, Audit, Backup, Check, NewArchive, NewBackup};
use crate::stream::Stream;
use crate::token::{MadeToken, NewToken, Tokens};
use crate::trust::{NewTrust, Trust};
use crate::who::Whoami;

/// How long the daemon may take to answer, unless it is asked for something long.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The longest answer that is read, in bytes.
const ANSWER_MAX: usize = 64 << 20;

/// A way to the daemon of one home.
#[derive(Clone)]
pub struct Client {
    socket: PathBuf,
    patience: Duration,
    /// What proves who asks, to a daemon that does not know it by the connection.
    token: Option<String>,
}

/// Why the daemon did not do as it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens at the socket.
    #[error("no daemon is running")]
    NoDaemon,
    /// The socket is there, and whoever asks may not connect to it.
    #[error("the daemon cannot be reached: {0}")]
    Unreachable(String),
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
        Client { socket: socket.to_owned(), patience: ANSWER_WITHIN, token: None }
    }

    /// Returns the same way, for whoever bears this token.
    #[must_use]
    pub fn with_token(self, token: Option<String>) -> Client {
        Client { token, ..self }
    }

    /// Returns the same way, for a caller with more or less time.
    #[must_use]
    pub fn patient(self, patience: Duration) -> Client {
        Client { patience, ..self }
    }

    /// Asks how cmux is. That it is degraded is an answer, not an error.
    pub async fn health(&self) -> Result<Health, ClientError> {
        let asked = self.exchange(Method::GET, "/api/webhooks/health", None::<&()>);
        let (status, bytes) = asked.await?;
        if status == StatusCode::SERVICE_UNAVAILABLE {
            // A door that is not open yet refuses with the same status, and a problem.
            return serde_json::from_slice(&bytes).map_err(|_| refusal(status, &bytes));
        }
        read(&answer(status, bytes)?)
    }

    /// Asks for what is counted, as Prometheus reads it.
    pub async fn metrics(&self) -> Result<String, ClientError> {
        let bytes = self.ask(Method::GET, "/metrics", None::<&()>).await?;
        String::from_utf8(bytes.into()).map_err(|error| ClientError::Nonsense(error.to_string()))
    }

    /// Asks for the description of the API.
    pub async fn openapi(&self) -> Result<Value, ClientError> {
        self.get("/api/openapi.json").await
    }

    pub async fn whoami(&self) -> Result<Whoami, ClientError> {
        self.get("/api/whoami").await
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

    /// Asks what is trusted of a project's own files.
    pub async fn trust(&self, project: &str) -> Result<Trust, ClientError> {
        self.get(&trust_path(project)).await
    }

    /// Trusts files of a project as the person was shown them.
    pub async fn trust_project(&self, project: &str, new: &NewTrust) -> Result<Trust, ClientError> {
        self.send(Method::POST, &trust_path(project), Some(new)).await
    }

    /// Takes back all that is trusted of a project.
    pub async fn distrust_project(&self, project: &str) -> Result<(), ClientError> {
        self.ask(Method::DELETE, &trust_path(project), None::<&()>).await.map(|_| ())
    }

    /// Hands over what a hook was told.
    pub async fn take_hook(&self, new: &NewHook) -> Result<HookTaken, ClientError> {
        self.send(Method::POST, "/api/hooks", Some(new)).await
    }

    pub async fn tokens(&self, after: Option<&str>) -> Result<Tokens, ClientError> {
        let query = query(&[("cursor", after)]);
        self.get(&format!("/api/tokens{query}")).await
    }

    pub async fn create_token(&self, new: &NewToken) -> Result<MadeToken, ClientError> {
        self.send(Method::POST, "/api/tokens", Some(new)).await
    }

    pub async fn revoke_token(&self, id: &str) -> Result<(), ClientError> {
        let path = format!("/api/tokens/{}", escape(id));
        self.ask(Method::DELETE, &path, None::<&()>).await.map(|_| ())
    }

    /// Asks which kinds of agents there are. Some programs take a while to tell their version.
    pub async fn kinds(&self) -> Result<Kinds, ClientError> {
        self.get("/api/kinds").await
    }

    /// Has the daemon take note that the password was set or cleared.
    pub async fn note_password(&self) -> Result<(), ClientError> {
        self.ask(Method::POST, "/api/password", None::<&()>).await.map(|_| ())
    }

    pub async fn sessions(&self, after: Option<&str>) -> Result<Sessions, ClientError> {
        let query = query(&[("cursor", after)]);
        self.get(&format!("/api/sessions{query}")).await
    }

    pub async fn close_session(&self, id: &str) -> Result<(), ClientError> {
        let path = format!("/api/sessions/{}", escape(id));
        self.ask(Method::DELETE, &path, None::<&()>).await.map(|_| ())
    }

    /// Makes a one-time link to the dashboard.
    pub async fn make_link(&self) -> Result<Link, ClientError> {
        self.send(Method::POST, "/api/links", None::<&()>).await
    }

    pub async fn events(&self, wanted: &EventQuery) -> Result<Events, ClientError> {
        self.get(&format!("/api/events{}", wanted.query())).await
    }

    /// Follows the log: all events after `since`, then each new one as it comes.
    pub async fn follow(&self, wanted: &EventQuery) -> Result<Stream, ClientError> {
        let authorization = self.authorization()?;
        let socket = self.connect().await?;
        Stream::open(socket, &format!("/api/ws{}", wanted.query()), authorization).await
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
        read(&self.ask(method, path, body).await?)
    }

    /// Asks, and returns what was answered if it was done as asked.
    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Bytes, ClientError> {
        let (status, bytes) = self.exchange(method, path, body).await?;
        answer(status, bytes)
    }

    /// Asks, and returns what was answered, whatever it was.
    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<(StatusCode, Bytes), ClientError> {
        let asked = self.exchange_patiently(method, path, body);
        timeout(self.patience, asked).await.unwrap_or(Err(ClientError::TimedOut(self.patience)))
    }

    async fn exchange_patiently(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<(StatusCode, Bytes), ClientError> {
        let authorization = self.authorization()?;
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
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, "localhost")
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| ClientError::Nonsense(error.to_string()))?;
        if let Some(authorization) = authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization);
        }
        let response = sender.send_request(request).await.map_err(broken)?;
        let (status, body) = (response.status(), response.into_body());
        let read = Limited::new(body, ANSWER_MAX).collect().await;
        let bytes = read.map_err(|error| ClientError::Broken(error.to_string()))?.to_bytes();
        Ok((status, bytes))
    }

    /// Returns what is sent to prove who asks, if there is something.
    fn authorization(&self) -> Result<Option<HeaderValue>, ClientError> {
        let Some(token) = &self.token else { return Ok(None) };
        let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        let value = HeaderValue::try_from(format!("Bearer {token}"));
        match value {
            Ok(mut value) if is_token => {
                value.set_sensitive(true);
                Ok(Some(value))
            }
            Ok(_) | Err(_) => Err(ClientError::Refused(bad_token())),
        }
    }

    async fn connect(&self) -> Result<UnixStream, ClientError> {
        UnixStream::connect(&self.socket).await.map_err(|error| {
            let told = || format!("{}: {error}", self.socket.display());
            if is_absent(error.kind()) {
                ClientError::NoDaemon
            } else if error.kind() == io::ErrorKind::PermissionDenied {
                ClientError::Unreachable(told())
            } else {
                // It goes away just now, or has too much to do.
                ClientError::Broken(told())
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

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ClientError> {
    serde_json::from_slice(bytes).map_err(|error| ClientError::Nonsense(error.to_string()))
}

/// Returns what was answered with `status`, or why that is a refusal.
fn answer(status: StatusCode, bytes: Bytes) -> Result<Bytes, ClientError> {
    if status.is_success() { Ok(bytes) } else { Err(refusal(status, &bytes)) }
}

fn refusal(status: StatusCode, bytes: &[u8]) -> ClientError {
    match serde_json::from_slice::<Problem>(bytes) {
        Ok(problem) => ClientError::Refused(problem),
        Err(_) => ClientError::Nonsense(format!("status {status} without a reason")),
    }
}

/// Says that a token is none, as the daemon would if it could be sent. What it holds is not told.
fn bad_token() -> Problem {
    Problem {
        kind: "/problems/bad-token".to_owned(),
        title: "Unauthorized".to_owned(),
        status: StatusCode::UNAUTHORIZED.as_u16(),
        detail: "the token is empty, or holds spaces or letters that no token has. See what \
                 CMUX_TOKEN is set to, or unset it to ask as yourself"
            .to_owned(),
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Client { socket, patience, token } = self;
        f.debug_struct("Client")
            .field("socket", socket)
            .field("patience", patience)
            .field("has_token", &token.is_some())
            .finish()
    }
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

fn trust_path(project: &str) -> String {
    format!("/api/projects/{}/trust", escape(project))
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
