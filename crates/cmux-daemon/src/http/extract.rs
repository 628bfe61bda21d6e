//! Requests on their way in: what does not fit is refused with a reason, and before it is all read if
//! that can be told.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::http::problem::Oops;

/// The longest body that is read, in bytes.
pub(crate) const BODY_MAX: usize = 10 << 20;

/// How long a client may take to send a body.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

/// A body as it came, whatever is in it.
pub(crate) struct Raw(pub(crate) Bytes);

/// The query of a URL.
pub(crate) struct Query<T>(pub(crate) T);

/// What a URL names.
pub(crate) struct Named<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Oops;

    async fn from_request(request: Request, _: &S) -> Result<Body<T>, Oops> {
        if !is_json(request.headers()) {
            return Err(Oops::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "not-json",
                "the body must be JSON, and say so with `Content-Type: application/json`",
            ));
        }
        let bytes = read(request).await?;
        // Depth is limited by the parser itself.
        serde_json::from_slice(&bytes).map(Body).map_err(|error| {
            Oops::new(
                StatusCode::BAD_REQUEST,
                "bad-body",
                format!("the body does not fit: {error}"),
            )
        })
    }
}

impl<S: Send + Sync> FromRequest<S> for Raw {
    type Rejection = Oops;

    async fn from_request(request: Request, _: &S) -> Result<Raw, Oops> {
        read(request).await.map(Raw)
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Oops;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Query<T>, Oops> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        let refused = |why: QueryRejection| Oops::bad_request(why.body_text());
        read.map(|axum::extract::Query(query)| Query(query)).map_err(refused)
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Named<T> {
    type Rejection = Oops;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Named<T>, Oops> {
        let read = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        let refused = |why: PathRejection| Oops::bad_request(why.body_text());
        read.map(|axum::extract::Path(named)| Named(named)).map_err(refused)
    }
}

/// Returns the whole body. One that says it is too long is not begun with.
async fn read(request: Request) -> Result<Bytes, Oops> {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > BODY_MAX as u64) {
        return Err(too_long());
    }
    let body = Limited::new(request.into_body(), BODY_MAX);
    match tokio::time::timeout(BODY_WITHIN, body.collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
        Ok(Err(_)) => Err(Oops::bad_request("the body broke off")),
        Err(_) => {
            let detail = format!("the body did not come within {} s", BODY_WITHIN.as_secs());
            Err(Oops::new(StatusCode::REQUEST_TIMEOUT, "too-slow", detail).and_close())
        }
    }
}

fn too_long() -> Oops {
    let detail = format!("the body is longer than {} MiB", BODY_MAX >> 20);
    // What is left of it is not read.
    Oops::new(StatusCode::PAYLOAD_TOO_LARGE, "too-long", detail).and_close()
}

/// Returns whether the body says that it is JSON: `application/json`, or `application/…+json`.
fn is_json(headers: &HeaderMap) -> bool {
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
