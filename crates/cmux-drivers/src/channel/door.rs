//! The demo's door: a socket that takes a message in each line, and answers by a line. What it was sent before
//! it knows by its id.

use std::io;
use std::time::Duration;

use cmux_core::id::DeliveryId;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::{ChannelError, Posted, not_known};

/// The longest answer, in bytes.
const ANSWER_MAX: u64 = 64 << 10;

pub(super) async fn post(
    at: &str,
    delivery: DeliveryId,
    text: &str,
    within: Duration,
) -> Result<Posted, ChannelError> {
    let stream = match timeout(within, UnixStream::connect(at)).await {
        Ok(Ok(stream)) => stream,
        // Nothing of it was said yet.
        Ok(Err(error)) => return Ok(Posted::Refused(format!("nobody is at {at}: {error}"))),
        Err(_) => return Ok(Posted::Refused(format!("nobody opens at {at}"))),
    };
    let id = delivery.to_string();
    let line = format!("{}\n", json!({ "id": id, "text": text }));
    let answer = timeout(within, ask(stream, &line)).await;
    let answer = answer.map_err(|_| not_known("its door did not answer in time"))?;
    let answer = answer.map_err(|error| not_known(format!("its door broke off: {error}")))?;
    read(&answer, &id)
}

async fn ask(mut stream: UnixStream, line: &str) -> io::Result<Vec<u8>> {
    stream.write_all(line.as_bytes()).await?;
    let mut answer = Vec::new();
    BufReader::new(stream.take(ANSWER_MAX)).read_until(b'\n', &mut answer).await?;
    Ok(answer)
}

/// Returns what an answer says of the message `id`.
fn read(answer: &[u8], id: &str) -> Result<Posted, ChannelError> {
    if !answer.ends_with(b"\n") {
        return Err(not_known("its door broke off"));
    }
    let nonsense = || not_known("its door says what makes no sense");
    let answer: Value = serde_json::from_slice(answer).map_err(|_| nonsense())?;
    let reason = answer["reason"].as_str().unwrap_or("it says no more");
    match (answer["state"].as_str(), answer["id"].as_str()) {
        (Some("taken"), Some(of)) if of == id => Ok(Posted::Taken),
        (Some("queued"), Some(of)) if of == id => Ok(Posted::Queued),
        // What it could not read, it has no id of.
        (Some("refused"), of) if of.is_none_or(|of| of == id) => {
            Ok(Posted::Refused(reason.chars().take(200).collect()))
        }
        (Some(_) | None, _) => Err(nonsense()),
    }
}
