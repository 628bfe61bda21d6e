//! An agent's terminal, as clients see it.

use futures_util::{SinkExt, StreamExt};
use hyper::body::Bytes;
use hyper::header::HeaderValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::client::ClientError;
use crate::stream::{broken, connect};

/// What is on an agent's screen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Terminal {
    /// The lines, the newest last.
    pub content: String,
    /// Where the cursor is: column and row, from 0.
    pub cursor: [u32; 2],
    /// Columns and rows.
    pub size: [u32; 2],
}

/// What a client says to a terminal that it follows. What is not there is not said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct TerminalSaid {
    /// What is typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional = nullable))]
    pub input: Option<String>,
    /// How many columns and rows there are to be. When the connection ends, however it ends, there are as
    /// many as before the first time, unless somebody else has resized it since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional = nullable))]
    pub resize: Option<[u32; 2]>,
    /// There are to be as many columns and rows as before the first time, while the connection lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional = nullable))]
    pub restore: Option<bool>,
}

/// What a page is told about a terminal that it follows, between the bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum TerminalTold {
    /// A whole screen comes next, with so many columns and rows.
    Size([u32; 2]),
    /// The connection is still there. It is told every five seconds.
    Alive(bool),
}

/// A connection over which a terminal is told.
#[derive(Debug)]
pub struct TerminalStream {
    socket: WebSocketStream<UnixStream>,
}

impl TerminalStream {
    pub(crate) async fn open(
        socket: UnixStream,
        path: &str,
        authorization: Option<HeaderValue>,
    ) -> Result<TerminalStream, ClientError> {
        let socket = connect(socket, path, authorization).await?;
        Ok(TerminalStream { socket })
    }

    /// Returns the bytes that come next, or nothing once the daemon has closed the connection.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        loop {
            let Some(message) = self.socket.next().await else { return Ok(None) };
            match message.map_err(broken)? {
                Message::Binary(bytes) => return Ok(Some(bytes)),
                Message::Close(_) => {
                    // The daemon waits to hear that this was heard.
                    let _ = self.socket.flush().await;
                    return Ok(None);
                }
                // Pings are answered by the library.
                Message::Text(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }

    /// Says something to it.
    pub async fn say(&mut self, said: &TerminalSaid) -> Result<(), ClientError> {
        let said =
            serde_json::to_string(said).map_err(|it| ClientError::Nonsense(it.to_string()))?;
        self.socket.send(Message::text(said)).await.map_err(broken)
    }

    /// Takes leave.
    pub async fn close(mut self) {
        // The daemon notices all the same.
        let _ = self.socket.close(None).await;
    }
}
