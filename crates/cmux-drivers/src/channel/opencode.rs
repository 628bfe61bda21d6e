//! OpenCode's way in: a request over HTTP, which is answered before the message is in its session. Its list
//! of messages tells when it is.

mod spent;

use std::collections::BTreeSet;
use std::time::Duration;

use cmux_core::delivery::delivery_of;
use cmux_core::id::DeliveryId;
use cmux_core::usage::Spent;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, CONTENT_TYPE};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{ChannelError, Posted, SESSION, Used, not_known};
use crate::loopback::Address;
use crate::status::session_name;

/// How an address ends that takes messages, from where on its other addresses are known.
const PROMPT: &str = "/session/{session}/prompt_async";

/// How many of its newest messages are asked for: at first, and if it may be among older ones.
const NEWEST: [usize; 2] = [50, 1_000];

/// After how many things that were new no further session is looked into at once.
const SESSIONS_MAX: usize = 5_000;

/// The longest answer, in bytes: one that tells of little, and its list.
const ANSWER_MAX: usize = 1 << 20;
const LIST_MAX: usize = 16 << 20;

/// Where an OpenCode is, and in which of its sessions.
struct Place {
    address: Address,
    session: String,
}

/// A connection, for as long as this is kept.
struct Line {
    sender: SendRequest<Full<Bytes>>,
    address: Address,
    _connection: JoinSet<()>,
}

pub(super) async fn begin(at: &str, within: Duration) -> Result<String, ChannelError> {
    let place = Place::of(at, Some("new")).map_err(not_known)?;
    let asked = timeout(within, async {
        let mut line = Line::open(&place).await?;
        let (status, made) = line.ask(Method::POST, &place.path(""), json!({})).await?;
        let made = made["id"].as_str().filter(|_| status == StatusCode::OK).and_then(session_name);
        let Some(made) = made else { return Err(strange(status)) };
        // Whoever looks at its screen sees what is said to it. An older one cannot be told.
        let chosen = json!({ "sessionID": made });
        let _ = line.ask(Method::POST, &place.sibling("/tui/select-session"), chosen).await;
        Ok(made)
    });
    asked.await.map_err(|_| not_known("it did not answer in time"))?.map_err(not_known)
}

/// Sends a text. Whoever is there is asked first whether it has the session: another program may have got
/// the port.
pub(super) async fn post(
    at: &str,
    session: Option<&str>,
    text: &str,
    within: Duration,
) -> Result<Posted, ChannelError> {
    let met = timeout(within, meet(at, session)).await;
    let (mut line, place) = match met {
        Ok(Ok(met)) => met,
        // Nothing of it was said yet.
        Ok(Err(why)) => return Ok(Posted::Refused(why)),
        Err(_) => return Ok(Posted::Refused("it does not answer".to_owned())),
    };
    let body = json!({ "parts": [{ "type": "text", "text": text }] });
    let path = place.path(&format!("/{}/prompt_async", place.session));
    let request = line.request(Method::POST, &path, &body).map_err(not_known)?;
    if let Err(error) = line.sender.ready().await {
        return Ok(Posted::Refused(format!("it hung up: {error}")));
    }
    let answer = timeout(within, line.sender.send_request(request)).await;
    let answer = answer.map_err(|_| not_known("it did not answer in time"))?;
    let status = answer.map_err(|error| not_known(format!("it broke off: {error}")))?.status();
    match status {
        // It is read in the background, and is in its list once that went well.
        StatusCode::NO_CONTENT => Ok(Posted::Queued),
        refused if refused.is_client_error() => Ok(Posted::Refused(strange(refused))),
        other => Err(not_known(strange(other))),
    }
}

pub(super) async fn has(
    at: &str,
    session: Option<&str>,
    delivery: DeliveryId,
    within: Duration,
) -> Result<Option<bool>, ChannelError> {
    let asked = timeout(within, async {
        let (mut line, place) = meet(at, session).await?;
        for newest in NEWEST {
            let path = place.path(&format!("/{}/message?limit={newest}", place.session));
            let Some(list) = line.list(&path).await? else { return Ok(None) };
            let list = list.as_array().ok_or("its list makes no sense")?;
            if list.iter().any(|message| is_of(message, delivery)) {
                return Ok(Some(true));
            }
            if list.len() < newest {
                return Ok(Some(false));
            }
        }
        Ok(None)
    });
    asked
        .await
        .map_err(|_| not_known("it did not answer in time"))?
        .map_err(|why: String| not_known(why))
}

/// Returns what a session and those that it has begun have used. Of a list whose newest messages are known, the older
/// ones are known, too; a session that another one has begun is not looked into twice as long as nothing happens there.
pub(super) async fn used(
    at: &str,
    session: &str,
    known: &BTreeSet<String>,
    within: Duration,
) -> Result<Used, ChannelError> {
    let asked = timeout(within, async {
        let (mut line, place) = meet(at, Some(session)).await?;
        let mut used = Used::default();
        let mut sessions = vec![(place.session.clone(), None)];
        while let Some((session, name)) = sessions.pop() {
            read_messages(&mut line, &place, &session, known, &mut used).await?;
            used.known.extend(name);
            if used.known.len() >= SESSIONS_MAX {
                break;
            }
            let path = place.path(&format!("/{session}/children"));
            let (_, children) = line.ask(Method::GET, &path, Value::Null).await?;
            for child in children.as_array().into_iter().flatten() {
                let Some(id) = child["id"].as_str().and_then(session_name) else { continue };
                let name = format!("{id} at {}", child["time"]["updated"]);
                if !known.contains(&name) {
                    sessions.push((id, Some(name)));
                }
            }
        }
        Ok(used)
    });
    asked
        .await
        .map_err(|_| not_known("it did not answer in time"))?
        .map_err(|why: String| not_known(why))
}

/// Reads what the answers of a session took, as far as they are not known.
async fn read_messages(
    line: &mut Line,
    place: &Place,
    session: &str,
    known: &BTreeSet<String>,
    used: &mut Used,
) -> Result<(), String> {
    for newest in NEWEST {
        let path = place.path(&format!("/{session}/message?limit={newest}"));
        let Some(list) = line.list(&path).await? else { return Ok(()) };
        let list = list.as_array().ok_or("its list makes no sense")?;
        let spent: Vec<Spent> = list.iter().filter_map(spent::spent).collect();
        let is_all = list.len() < newest || spent.iter().any(|it| known.contains(&it.key));
        let new = spent.into_iter().filter(|it| !known.contains(&it.key));
        let new: Vec<Spent> = new.filter(|it| used.known.insert(it.key.clone())).collect();
        used.spent.extend(new);
        if is_all {
            return Ok(());
        }
    }
    Ok(())
}

/// Returns whether a message of the list is the delivery.
fn is_of(message: &Value, delivery: DeliveryId) -> bool {
    let is_said = message["info"]["role"].as_str() == Some("user");
    let parts = message["parts"].as_array().into_iter().flatten();
    let mut texts = parts.filter_map(|part| part["text"].as_str());
    is_said && texts.any(|text| delivery_of(text) == Some(delivery))
}

/// Connects with an OpenCode that has the session, or returns why there is none.
async fn meet(at: &str, session: Option<&str>) -> Result<(Line, Place), String> {
    let place = Place::of(at, session)?;
    let mut line = Line::open(&place).await?;
    let path = place.path(&format!("/{}", place.session));
    let (status, told) = line.ask(Method::GET, &path, Value::Null).await?;
    match told["id"].as_str() {
        Some(id) if id == place.session && status == StatusCode::OK => Ok((line, place)),
        Some(_) | None if status == StatusCode::NOT_FOUND => {
            Err(format!("it does not know the session {}", place.session))
        }
        Some(_) | None => Err(strange(status)),
    }
}

/// Returns what is said of an answer that is not the one that was hoped for.
fn strange(status: StatusCode) -> String {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            "it wants another password than the one that cmux gave it: does an OPENCODE_SERVER_PASSWORD of \
             its own come from its settings?"
                .to_owned()
        }
        StatusCode::OK => "what is at its port does not answer as OpenCode does".to_owned(),
        other => format!("it answered {other}"),
    }
}

impl Place {
    fn of(at: &str, session: Option<&str>) -> Result<Place, String> {
        let session = session.and_then(session_name).ok_or("it has no session yet")?;
        let base = at.strip_suffix(PROMPT).ok_or("its address does not end as OpenCode's do")?;
        let address = Address::parse(&format!("{base}/session"));
        let address = address.filter(|_| !base.contains(SESSION));
        Ok(Place { address: address.ok_or("its address is none on this machine")?, session })
    }

    /// Returns the path of something below its sessions.
    fn path(&self, below: &str) -> String {
        format!("{}{below}", self.address.path)
    }

    /// Returns the path of something beside its sessions.
    fn sibling(&self, path: &str) -> String {
        let base = self.address.path.strip_suffix("/session").unwrap_or_default();
        format!("{base}{path}")
    }
}

impl Line {
    async fn open(place: &Place) -> Result<Line, String> {
        let stream = TcpStream::connect(place.address.socket).await;
        let stream = stream.map_err(|error| format!("nobody is at its port: {error}"))?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broke)?;
        let mut held = JoinSet::new();
        held.spawn(async move {
            // How it ends is seen by whoever waits for the answer.
            let _ = connection.await;
        });
        Ok(Line { sender, address: place.address.clone(), _connection: held })
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Request<Full<Bytes>>, String> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = self.address.greet(Request::builder().method(method).uri(path));
        let request =
            request.header(ACCEPT, "application/json").header(CONTENT_TYPE, "application/json");
        request.body(Full::from(body)).map_err(|error| format!("it cannot be asked: {error}"))
    }

    async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Response<Incoming>, String> {
        let request = self.request(method, path, body)?;
        self.sender.ready().await.map_err(broke)?;
        self.sender.send_request(request).await.map_err(broke)
    }

    /// Returns how something that tells of little was answered. What is no JSON says nothing.
    async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Value,
    ) -> Result<(StatusCode, Value), String> {
        let answer = self.send(method, path, &body).await?;
        let status = answer.status();
        let read = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
        let bytes = read.map_err(|error| format!("it broke off: {error}"))?.to_bytes();
        Ok((status, serde_json::from_slice(&bytes).unwrap_or(Value::Null)))
    }

    /// Returns a list, or nothing if it is too long.
    async fn list(&mut self, path: &str) -> Result<Option<Value>, String> {
        let answer = self.send(Method::GET, path, &Value::Null).await?;
        if answer.status() != StatusCode::OK {
            return Err(strange(answer.status()));
        }
        match Limited::new(answer.into_body(), LIST_MAX).collect().await {
            Ok(read) => {
                let read = serde_json::from_slice(&read.to_bytes());
                read.map(Some).map_err(|_| "its list makes no sense".to_owned())
            }
            Err(error) if error.is::<LengthLimitError>() => Ok(None),
            Err(error) => Err(format!("it broke off: {error}")),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what an error is mapped by")]
fn broke(error: hyper::Error) -> String {
    format!("it broke off: {error}")
}
