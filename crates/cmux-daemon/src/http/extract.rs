//! Requests on their way in: what does not fit is refused with a reason, and before it is all read if
//! that can be told.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::http::App;
use crate::http::problem::Oops;

/// The longest body that is read, in bytes.
pub(crate) const BODY_MAX: usize = 10 << 20;

/// How many times as long as a text its JSON may be: every letter of it may be written as `\u0061`.
const ESCAPED: usize = 6;

/// How long all else in a body may be that is a text above all, in bytes.
const BESIDES: usize = 64 << 10;

/// How long a client may take to send a body.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// How much memory bodies may take that are being read, all together, in KiB.
const BODIES_MAX_KIB: usize = 256 << 10;

/// How long a body waits for others to be read before it.
const ROOM_WITHIN: Duration = Duration::from_secs(5);

/// Room for bodies on their way in. What is promised to be short takes little of it.
#[derive(Debug)]
pub(crate) struct Room(Arc<Semaphore>);

impl Room {
    pub(crate) fn new() -> Room {
        Room(Arc::new(Semaphore::new(BODIES_MAX_KIB)))
    }
}

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

/// The query of a URL.
pub(crate) struct Query<T>(pub(crate) T);

/// What a URL names.
pub(crate) struct Named<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Body<T> {
    type Rejection = Oops;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Body<T>, Oops> {
        read_json(app, request, BODY_MAX).await.map(Body)
    }
}

/// Returns a body of at most `max` bytes, which must be JSON.
pub(crate) async fn read_json<T: DeserializeOwned>(
    app: &App,
    request: Request,
    max: usize,
) -> Result<T, Oops> {
    if !is_json(request.headers()) {
        return Err(Oops::not_json());
    }
    understand(&read(app, request, max).await?)
}

/// Returns a body that must be JSON, and in which there is a text of at most `max` bytes, however they are
/// written. No more of it is kept than such a text takes.
pub(crate) async fn read_text<T: DeserializeOwned>(
    app: &App,
    request: Request,
    max: usize,
) -> Result<T, Oops> {
    if !is_json(request.headers()) {
        return Err(Oops::not_json());
    }
    let most = ESCAPED * max + BESIDES;
    let length = length_of(request.headers());
    if length.is_some_and(|length| length > most) {
        return Err(too_long(max));
    }
    let _room = make_room(&app.room, length.unwrap_or(most)).await?;
    let gathered = timeout(BODY_WITHIN, gather(request.into_body(), max)).await;
    understand(&gathered.map_err(|_| too_slow())??)
}

/// Returns the whole body, unless there are more letters in it than a text of `max` bytes takes.
async fn gather(mut body: axum::body::Body, max: usize) -> Result<Vec<u8>, Oops> {
    let (mut bytes, mut letters) = (Vec::new(), Letters::default());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Oops::bad_request("the body broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        if letters.count(&data) > max + BESIDES {
            return Err(too_long(max));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// Counts how long what is written in JSON is at least.
#[derive(Debug, Default)]
struct Letters {
    count: usize,
    /// How many bytes are still to come of one that is written by an escape.
    escaped: Option<u8>,
}

impl Letters {
    /// Returns how long all is that was written so far.
    fn count(&mut self, bytes: &[u8]) -> usize {
        for byte in bytes {
            self.escaped = match (self.escaped, byte) {
                (None, b'\\') => Some(0),
                (Some(0), b'u') => Some(4),
                (Some(left @ 2..), _) => Some(left - 1),
                (None | Some(_), _) => {
                    self.count += 1;
                    None
                }
            };
        }
        self.count
    }
}

fn understand<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Oops> {
    let bad = |detail: String| Oops::new(StatusCode::BAD_REQUEST, "bad-body", detail);
    // A list would be taken for the fields in their order.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(bad("the body must be a JSON object: `{…}`".to_owned()));
    }
    // Depth is limited by the parser itself.
    serde_json::from_slice(bytes).map_err(|error| {
        let said = error.to_string();
        let hint = match said.contains("hex escape") {
            true => ". Half of a surrogate pair, as `\\ud800` by itself, is no letter",
            false => "",
        };
        bad(format!("the body does not fit: {said}{hint}"))
    })
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Oops;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Query<T>, Oops> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        let refused = |why: QueryRejection| Oops::bad_request(plainly("query", &why.body_text()));
        read.map(|axum::extract::Query(query)| Query(query)).map_err(refused)
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Named<T> {
    type Rejection = Oops;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Named<T>, Oops> {
        let read = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        let refused = |why: PathRejection| Oops::bad_request(plainly("path", &why.body_text()));
        read.map(|axum::extract::Path(named)| Named(named)).map_err(refused)
    }
}

/// Returns the whole body, if it has `max` bytes at most. One that says it is longer is not begun with.
pub(crate) async fn read(app: &App, request: Request, max: usize) -> Result<Bytes, Oops> {
    let length = length_of(request.headers());
    if length.is_some_and(|length| length > max) {
        return Err(too_long(max));
    }
    let _room = make_room(&app.room, length.unwrap_or(max)).await?;
    let body = Limited::new(request.into_body(), max);
    match timeout(BODY_WITHIN, body.collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long(max)),
        Ok(Err(_)) => Err(Oops::bad_request("the body broke off")),
        Err(_) => Err(too_slow()),
    }
}

/// Returns how long the body says that it is.
fn length_of(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_slow() -> Oops {
    let detail = format!("the body did not come within {} s", BODY_WITHIN.as_secs());
    Oops::new(StatusCode::REQUEST_TIMEOUT, "too-slow", detail).and_close()
}

/// Waits until there is room for a body of so many bytes.
async fn make_room(room: &Room, bytes: usize) -> Result<OwnedSemaphorePermit, Oops> {
    let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
    let made = timeout(ROOM_WITHIN, room.0.clone().acquire_many_owned(kib)).await;
    made.ok().and_then(Result::ok).ok_or_else(Oops::crowded)
}

/// Returns what a framework says of a `what` that does not fit, without how it found out.
fn plainly(what: &str, said: &str) -> String {
    let found = said.rsplit_once("query string: ").map_or(said, |(_, found)| found);
    format!("the {what} does not fit: {found}")
}

fn too_long(max: usize) -> Oops {
    let detail = match max >> 20 {
        0 => format!("the body is longer than {} KiB", max >> 10),
        mib => format!("the body is longer than {mib} MiB"),
    };
    // What is left of it is not read.
    Oops::new(StatusCode::PAYLOAD_TOO_LARGE, "too-long", detail).and_close()
}

/// Returns whether the body says that it is JSON: `application/json`, or `application/…+json`.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).map(|kind| kind.trim().to_lowercase());
    kind.and_then(|kind| {
        kind.strip_prefix("application/").map(|it| it == "json" || it.ends_with("+json"))
    })
    .unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_as_long_as_what_it_says_however_it_is_written() {
        for (written, expected) in [
            ("", 0),
            ("abc", 3),
            (r#""abc""#, 5),
            (r#"\n\\\""#, 3),
            (r"\u0061\u0062c", 3),
            ("€", 3),
            (r"\uuuuu\u", 1),
        ] {
            assert_eq!(Letters::default().count(written.as_bytes()), expected, "{written}");
            let mut pieces = Letters::default();
            let counted = written.bytes().map(|byte| pieces.count(&[byte])).last();
            assert_eq!(counted.unwrap_or(0), expected, "{written}");
        }
    }

    #[test]
    fn only_json_counts_as_json() {
        for (kind, expected) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/cloudevents+json", true),
            ("text/plain", false),
            ("application/x-www-form-urlencoded", false),
            ("multipart/form-data; boundary=x", false),
            ("application/jsonp", false),
            ("text/json", false),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, kind.parse().unwrap())]);
            assert_eq!(is_json(&headers), expected, "{kind}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
