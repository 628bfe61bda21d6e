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

    /// Takes leave.
    pub async fn close(mut self) {
        // The daemon notices all the same.
        let _ = self.socket.close(None).await;
    }
}
