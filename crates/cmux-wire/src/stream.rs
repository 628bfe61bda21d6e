//! The log as it grows, over a WebSocket.

use std::ops::Deref;

use futures_util::{SinkExt, StreamExt};
use hyper::header::{AUTHORIZATION, HeaderValue};
use serde_json::Value;
use tokio::net::UnixStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::client::ClientError;
use crate::event::{Event, Notice};

/// The longest frame that is taken, in bytes.
pub const FRAME_MAX: usize = 16 << 20;

/// A connection over which the log is told.
#[derive(Debug)]
pub struct Stream {
    socket: WebSocketStream<UnixStream>,
}

/// Something that was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    Event(Event),
    Notice(Notice),
}

impl Stream {
    pub(crate) async fn open(
        socket: UnixStream,
        path: &str,
        authorization: Option<HeaderValue>,
    ) -> Result<Stream, ClientError> {
        let socket = connect(socket, path, authorization).await?;
        Ok(Stream { socket })
    }

    /// Returns what is told next, or nothing once the daemon has closed the connection.
    pub async fn next(&mut self) -> Result<Option<Told>, ClientError> {
        self.next_text().await?.as_deref().map(read).transpose()
    }

    /// Returns what is told next, as it is said, for a client that passes it on.
    pub async fn next_text(
        &mut self,
    ) -> Result<Option<impl Deref<Target = str> + use<>>, ClientError> {
        loop {
            let Some(message) = self.socket.next().await else { return Ok(None) };
            match message.map_err(broken)? {
                Message::Text(text) => return Ok(Some(text)),
                Message::Close(_) => {
                    // The daemon waits to hear that this was heard.
                    let _ = self.socket.flush().await;
                    return Ok(None);
                }
                // Pings are answered by the library.
                Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }

    /// Takes leave.
    pub async fn close(mut self) {
        // The daemon notices all the same.
        let _ = self.socket.close(None).await;
    }
}

/// Opens a WebSocket at `path`.
pub(crate) async fn connect(
    socket: UnixStream,
    path: &str,
    authorization: Option<HeaderValue>,
) -> Result<WebSocketStream<UnixStream>, ClientError> {
    let mut request = format!("ws://localhost{path}").into_client_request().map_err(broken)?;
    if let Some(authorization) = authorization {
        request.headers_mut().insert(AUTHORIZATION, authorization);
    }
    let config = WebSocketConfig::default()
        .max_message_size(Some(FRAME_MAX))
        .max_frame_size(Some(FRAME_MAX));
    let opened = client_async_with_config(request, socket, Some(config)).await;
    Ok(opened.map_err(refused)?.0)
}

fn read(text: &str) -> Result<Told, ClientError> {
    let nonsense = |error: serde_json::Error| ClientError::Nonsense(error.to_string());
    let value: Value = serde_json::from_str(text).map_err(nonsense)?;
    if value.get("id").is_some() {
        serde_json::from_value(value).map(Told::Event).map_err(nonsense)
    } else {
        serde_json::from_value(value).map(Told::Notice).map_err(nonsense)
    }
}

/// Returns what the daemon said instead of opening a WebSocket.
fn refused(error: tungstenite::Error) -> ClientError {
    let tungstenite::Error::Http(response) = &error else { return broken(error) };
    let body = response.body().as_deref().unwrap_or_default();
    match serde_json::from_slice(body) {
        Ok(problem) => ClientError::Refused(problem),
        Err(_) => ClientError::Nonsense(format!("status {}", response.status())),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
pub(crate) fn broken(error: tungstenite::Error) -> ClientError {
    ClientError::Broken(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_and_a_notice_are_told_apart() {
        let hello = Notice::Hello { log: "log_1".to_owned(), head: 7 };
        let wire = r#"{"kind":"hello","log":"log_1","head":7}"#;
        assert_eq!(serde_json::to_string(&hello).unwrap(), wire);
        assert_eq!(read(wire).unwrap(), Told::Notice(hello));
        let event = r#"{"id":1,"v":1,"at":"2025-11-15T21:00:00.000Z","kind":"daemon.started",
            "project":null,"agent":null,"run":null,"subject":null,"cause":null,"actor":"cmux","data":{}}"#;
        assert!(matches!(read(event).unwrap(), Told::Event(event) if event.id == 1));
        let archived = r#"{"kind":"archived","through":9}"#;
        assert_eq!(read(archived).unwrap(), Told::Notice(Notice::Archived { through: 9 }));
        assert!(read("{}").is_err());
    }
}
