//! Requests on their way in: what does not fit is refused with a reason, and before it is all read if
//! that can be told.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use cmux_core::principal::Principal;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::http::App;
use crate::http::bodies::{SHORT_MAX, Taken};
use crate::http::gate::Caller;
use crate::http::problem::Oops;
use crate::who::Connection;

/// The longest body that is read, in bytes.
pub(crate) const BODY_MAX: usize = 10 << 20;

/// How many times as long as a text its JSON may be: every letter of it may be written as `\u0061`.
const ESCAPED: usize = 6;

/// How long all else in a body may be that is a text above all, in bytes.
const BESIDES: usize = 64 << 10;

/// How long a client may take to send a body.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

/// The query of a URL.
pub(crate) struct Query<T>(pub(crate) T);

/// What a URL names.
pub(crate) struct Named<T>(pub(crate) T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<Arc<App>> for Body<T> {
    type Rejection = Oops;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Body<T>, Oops> {
        read_json(app, request, BODY_MAX).await.map(Body)
    }
}

/// Returns a body of at most `max` bytes, which must be JSON.
pub(crate) async fn read_json<T: DeserializeOwned + Send + 'static>(
    app: &App,
    request: Request,
    max: usize,
) -> Result<T, Oops> {
    if !is_json(request.headers()) {
        return Err(Oops::not_json());
    }
    let (bytes, _taken) = gathered(app, request, max, max, Plain::default()).await?;
    understood(bytes).await
}

/// Returns a body that must be JSON, and in which there is a text of at most `max` bytes, however they are
/// written. No more of it is kept than such a text takes.
pub(crate) async fn read_text<T: DeserializeOwned + Send + 'static>(
    app: &App,
    request: Request,
    max: usize,
) -> Result<T, Oops> {
    if !is_json(request.headers()) {
        return Err(Oops::not_json());
    }
    let most = ESCAPED * max + BESIDES;
    let (bytes, _taken) = gathered(app, request, max, most, Letters::default()).await?;
    understood(bytes).await
}

/// Returns the whole body, if it has `max` bytes at most. One that says it is longer is not begun with.
pub(crate) async fn read(app: &App, request: Request, max: usize) -> Result<Vec<u8>, Oops> {
    Ok(gathered(app, request, max, max, Plain::default()).await?.0)
}

/// Returns a body in which there are `max` bytes at most by this `measure`, and not more than `most` in any
/// case, with the room that it takes.
async fn gathered(
    app: &App,
    request: Request,
    max: usize,
    most: usize,
    measure: impl Measure,
) -> Result<(Vec<u8>, Taken), Oops> {
    let length = length_of(request.headers());
    if length.is_some_and(|length| length > most) {
        return Err(too_long(max));
    }
    let who = account(&request);
    let mut taken = app.room.enter(&who, length.unwrap_or(most)).await?;
    let gathering = gather(request.into_body(), max, measure, &mut taken);
    let bytes = timeout(BODY_WITHIN, gathering).await.map_err(|_| too_slow())??;
    Ok((bytes, taken))
}

/// Returns the whole body, unless there is more in it than `max` bytes by this `measure`.
async fn gather(
    mut body: axum::body::Body,
    max: usize,
    mut measure: impl Measure,
    taken: &mut Taken,
) -> Result<Vec<u8>, Oops> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Oops::bad_request("the body broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        if measure.count(&data) > max + measure.besides() {
            return Err(too_long(max));
        }
        taken.more(data.len()).await?;
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// Returns on whose account a body is read. Agents of a project have one together, as one of them may launch
/// many.
fn account(request: &Request) -> String {
    let extensions = request.extensions();
    match extensions.get::<Caller>().map(|caller| &caller.0) {
        Some(Principal::Operator | Principal::Browser { .. }) => "the person".to_owned(),
        Some(Principal::Token { id, .. }) => id.to_string(),
        Some(Principal::Agent { project, .. }) => format!("agents of {project}"),
        Some(Principal::Nobody) | None => {
            extensions.get::<Arc<Connection>>().map_or_else(String::new, |it| it.from())
        }
    }
}

/// How long a body is, as it comes.
trait Measure {
    /// Returns how long all is that has come so far, of which these bytes are the latest.
    fn count(&mut self, bytes: &[u8]) -> usize;

    /// How long all else may be that is measured with it.
    fn besides(&self) -> usize;
}

/// By its bytes.
#[derive(Debug, Default)]
struct Plain(usize);

impl Measure for Plain {
    fn count(&mut self, bytes: &[u8]) -> usize {
        self.0 += bytes.len();
        self.0
    }

    fn besides(&self) -> usize {
        0
    }
}

/// Counts how long what is written in JSON is at least.
#[derive(Debug, Default)]
struct Letters {
    count: usize,
    /// How many bytes are still to come of one that is written by an escape.
    escaped: Option<u8>,
}

impl Measure for Letters {
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

    fn besides(&self) -> usize {
        BESIDES
    }
}

/// Returns what a body says. A long one takes a while, and others are not to wait meanwhile.
async fn understood<T: DeserializeOwned + Send + 'static>(bytes: Vec<u8>) -> Result<T, Oops> {
    if bytes.len() <= SHORT_MAX {
        return understand(&bytes);
    }
    let read = spawn_blocking(move || understand(&bytes)).await;
    read.map_err(|error| Oops::internal("json", &error))?
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

/// Returns how long the body says that it is.
fn length_of(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_slow() -> Oops {
    let detail = format!("the body did not come within {} s", BODY_WITHIN.as_secs());
    Oops::new(StatusCode::REQUEST_TIMEOUT, "too-slow", detail).and_close()
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
