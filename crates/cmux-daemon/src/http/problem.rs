//! Errors on their way out: only here does an error become a status.

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use cmux_core::report::Refused;
use cmux_store::StoreError;
use cmux_wire::problem::Problem;

use crate::kernel::Denied;

/// An error that a client is told.
#[derive(Debug)]
pub(crate) struct Oops(Problem);

impl Oops {
    pub(crate) fn new(status: StatusCode, slug: &str, detail: impl Into<String>) -> Oops {
        Oops(Problem {
            kind: format!("/problems/{slug}"),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
        })
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Oops {
        Oops::new(StatusCode::BAD_REQUEST, "bad-request", detail)
    }

    pub(crate) fn safe_mode(why: &str) -> Oops {
        let detail = format!(
            "the daemon runs in safe mode, in which nothing can be changed: {why}. `cmux daemon \
             restart` leaves it"
        );
        Oops::new(StatusCode::SERVICE_UNAVAILABLE, "safe-mode", detail)
    }

    /// Returns what it says to a person.
    pub(crate) fn detail(self) -> String {
        self.0.detail
    }

    fn full() -> Oops {
        let detail =
            "there is no room left on the disk; nothing was stored. Make room and try again";
        Oops::new(StatusCode::INSUFFICIENT_STORAGE, "disk-full", detail)
    }
}

impl From<Denied> for Oops {
    fn from(denied: Denied) -> Oops {
        let detail = denied.to_string();
        match denied {
            Denied::Refused(
                Refused::NoProject(_) | Refused::NoToken(_) | Refused::NoLink | Refused::NoSession,
            ) => Oops::new(StatusCode::NOT_FOUND, "not-found", detail),
            Denied::Refused(
                Refused::BadProject(_) | Refused::BadToken(_) | Refused::BadWebhook(_),
            ) => Oops::bad_request(detail),
            Denied::Refused(Refused::BadArchive(_)) => {
                Oops::new(StatusCode::CONFLICT, "archive", detail)
            }
            Denied::Refused(Refused::WebhookConflict) => {
                Oops::new(StatusCode::CONFLICT, "conflict", detail)
            }
            Denied::Full => Oops::full(),
            Denied::Unstored(_) => Oops::new(StatusCode::INTERNAL_SERVER_ERROR, "unstored", detail),
            Denied::Broken(_) => Oops::new(StatusCode::SERVICE_UNAVAILABLE, "store-broken", detail),
            Denied::Stopping => Oops::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", detail),
            Denied::Busy => Oops::new(StatusCode::TOO_MANY_REQUESTS, "busy", detail),
        }
    }
}

impl From<&StoreError> for Oops {
    fn from(error: &StoreError) -> Oops {
        let detail = error.to_string();
        match error {
            StoreError::Full => Oops::full(),
            StoreError::Damaged { .. } | StoreError::Broken(_) => {
                Oops::new(StatusCode::SERVICE_UNAVAILABLE, "store-broken", detail)
            }
            StoreError::File { .. }
            | StoreError::Unwritable { .. }
            | StoreError::BadBackup { .. } => {
                Oops::new(StatusCode::UNPROCESSABLE_ENTITY, "file", detail)
            }
            StoreError::TooNew { .. } | StoreError::OldSqlite { .. } | StoreError::Sqlite(_) => {
                Oops::new(StatusCode::INTERNAL_SERVER_ERROR, "store-failed", detail)
            }
        }
    }
}

impl IntoResponse for Oops {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response()
    }
}

/// There is no such route.
pub(crate) async fn no_route(request: Request) -> Oops {
    let path: String = request.uri().path().chars().take(100).collect();
    Oops::new(StatusCode::NOT_FOUND, "not-found", format!("there is nothing at {path}"))
}

/// There is no such route on this door.
pub(crate) async fn no_entry(request: Request) -> Oops {
    let path: String = request.uri().path().chars().take(100).collect();
    let detail = format!("{path} is served on the socket only; use the `cmux` command");
    Oops::new(StatusCode::UNAUTHORIZED, "socket-only", detail)
}

pub(crate) async fn no_method(request: Request) -> Oops {
    let detail = format!("{} is not for {}", request.method(), request.uri().path());
    Oops::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail)
}
