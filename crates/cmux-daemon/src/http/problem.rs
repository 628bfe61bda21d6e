//! Errors on their way out: only here does an error become a status. What only helps whoever mends cmux
//! is written to the log, and not said.

use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use cmux_core::message::BadMessage;
use cmux_core::principal::{Denial, Need, Principal};
use cmux_core::report::Refused;
use cmux_core::trust::BadTrust;
use cmux_store::StoreError;
use cmux_wire::problem::Problem;
use tracing::error;

use crate::kernel::Denied;

/// When to come again, if nothing better is known.
const SOON: Duration = Duration::from_secs(1);

/// An error that a client is told.
#[derive(Debug)]
pub(crate) struct Oops {
    problem: Problem,
    retry_after: Option<Duration>,
    /// Whether nothing more is read from whoever sent it.
    close: bool,
}

impl Oops {
    pub(crate) fn new(status: StatusCode, slug: &str, detail: impl Into<String>) -> Oops {
        let problem = Problem {
            kind: format!("/problems/{slug}"),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
        };
        Oops { problem, retry_after: None, close: false }
    }

    /// Returns its status, and its name: for those who cannot be told more.
    pub(crate) fn named(&self) -> (u16, String) {
        let slug = self.problem.kind.rsplit('/').next().unwrap_or_default();
        (self.problem.status, slug.to_owned())
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Oops {
        Oops::new(StatusCode::BAD_REQUEST, "bad-request", detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Oops {
        Oops::new(StatusCode::NOT_FOUND, "not-found", detail)
    }

    pub(crate) fn safe_mode(why: &str) -> Oops {
        let detail = format!(
            "the daemon runs in safe mode, in which nothing can be changed: {why}. `cmux daemon \
             restart` leaves it"
        );
        Oops::new(StatusCode::SERVICE_UNAVAILABLE, "safe-mode", detail)
    }

    pub(crate) fn starting() -> Oops {
        let detail = "the daemon is still starting: try again in a moment";
        Oops::new(StatusCode::SERVICE_UNAVAILABLE, "starting", detail).and_retry(SOON)
    }

    pub(crate) fn not_json() -> Oops {
        let detail = "the body must be JSON, and say so with `Content-Type: application/json`";
        Oops::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", detail)
    }

    /// All places are taken.
    pub(crate) fn too_many_connections() -> Oops {
        let detail = "there are too many connections: close some, and try again";
        Oops::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-connections", detail)
            .and_retry(Duration::from_secs(5))
    }

    /// There is no room for the body, for now.
    pub(crate) fn crowded() -> Oops {
        let detail = "too much is being sent at once: try again in a moment";
        Oops::new(StatusCode::SERVICE_UNAVAILABLE, "crowded", detail).and_retry(SOON).and_close()
    }

    pub(crate) fn too_fast(wait: Duration) -> Oops {
        let detail = "too many requests in too short a time: slow down";
        Oops::new(StatusCode::TOO_MANY_REQUESTS, "too-fast", detail).and_retry(wait)
    }

    /// Says that `who` may not do what needs `need`.
    pub(crate) fn denied(denial: Denial, who: &Principal, need: Need) -> Oops {
        match denial {
            Denial::Unknown => Oops::unauthorised(
                "nobody-known",
                "say who you are: with the `cmux` command, with a token of `cmux token create` as \
                 `Authorization: Bearer …`, or in a browser through a link of `cmux open`",
            ),
            Denial::Insufficient => {
                let has = who.name();
                let detail = match need {
                    Need::Person => format!("this is for the person alone, and this is a {has}"),
                    Need::Nothing | Need::Read | Need::Send | Need::Operate => {
                        format!("this needs the scope `{}`, which this {has} has not", need.name())
                    }
                };
                Oops::new(StatusCode::FORBIDDEN, "not-allowed", detail)
            }
        }
    }

    pub(crate) fn elsewhere() -> Oops {
        let detail = "an agent may know of no project but its own";
        Oops::new(StatusCode::FORBIDDEN, "not-allowed", detail)
    }

    pub(crate) fn unauthorised(slug: &str, detail: impl Into<String>) -> Oops {
        Oops::new(StatusCode::UNAUTHORIZED, slug, detail)
    }

    /// Something of ours failed. What, is in the log.
    pub(crate) fn internal(slug: &str, why: &dyn std::fmt::Display) -> Oops {
        error!(%why, slug, "a request failed");
        let detail = "something went wrong within cmux, and nothing was stored: the daemon's log \
                      says what (`cmux doctor` says where it is)";
        Oops::new(StatusCode::INTERNAL_SERVER_ERROR, slug, detail)
    }

    fn store_broken(why: &dyn std::fmt::Display) -> Oops {
        error!(%why, "the store failed a request");
        let detail = "the store failed, and the daemon is about to start again and mend it: try \
                      again in a moment. Its log says what happened";
        Oops::new(StatusCode::SERVICE_UNAVAILABLE, "store-broken", detail).and_retry(SOON)
    }

    fn full() -> Oops {
        let detail =
            "there is no room left on the disk; nothing was stored. Make room and try again";
        Oops::new(StatusCode::INSUFFICIENT_STORAGE, "disk-full", detail)
    }

    /// Returns the same, with when to come again.
    pub(crate) fn and_retry(self, after: Duration) -> Oops {
        Oops { retry_after: Some(after), ..self }
    }

    /// Returns the same, after which the connection ends.
    pub(crate) fn and_close(self) -> Oops {
        Oops { close: true, ..self }
    }

    /// Returns what it says to a person.
    pub(crate) fn detail(self) -> String {
        self.problem.detail
    }

    /// Returns the name that tells one problem from another.
    pub(crate) fn slug(&self) -> &str {
        self.problem.slug()
    }
}

impl From<Denied> for Oops {
    fn from(denied: Denied) -> Oops {
        let detail = denied.to_string();
        match denied {
            Denied::Refused(refused) => refusal(&refused, detail),
            Denied::Full => Oops::full(),
            Denied::Unstored(why) => Oops::internal("unstored", &why),
            Denied::Broken(why) => Oops::store_broken(&why),
            Denied::Stopping => {
                Oops::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", detail).and_retry(SOON)
            }
            Denied::Busy => {
                Oops::new(StatusCode::TOO_MANY_REQUESTS, "busy", detail).and_retry(SOON)
            }
        }
    }
}

fn refusal(refused: &Refused, detail: String) -> Oops {
    match refused {
        Refused::NoProject(_)
        | Refused::NoAgent(_)
        | Refused::NoToken(_)
        | Refused::NoLink
        | Refused::NoMessage(_)
        | Refused::NoSession => Oops::not_found(detail),
        Refused::NoRun => Oops::unauthorised("bad-credential", detail),
        Refused::BadProject(_)
        | Refused::BadName(_)
        | Refused::BadSetup(_)
        | Refused::BadToken(_)
        | Refused::BadWebhook(_) => Oops::bad_request(detail),
        Refused::BadTrust(BadTrust::TooMany) => Oops::bad_request(detail),
        Refused::BadTrust(BadTrust::Changed(_)) => {
            Oops::new(StatusCode::CONFLICT, "changed", detail)
        }
        Refused::BadMessage(BadMessage::TooLong(_)) => {
            Oops::new(StatusCode::PAYLOAD_TOO_LARGE, "too-long", detail)
        }
        Refused::BadMessage(_) => Oops::bad_request(detail),
        Refused::MailFull(_) => {
            Oops::new(StatusCode::TOO_MANY_REQUESTS, "mail-full", detail).and_retry(SOON)
        }
        Refused::Commanded { .. } => Oops::new(StatusCode::FORBIDDEN, "not-allowed", detail),
        Refused::KeyConflict => Oops::new(StatusCode::CONFLICT, "conflict", detail),
        Refused::MessageOver { .. } => Oops::new(StatusCode::CONFLICT, "message-over", detail),
        Refused::WebhookConflict => Oops::new(StatusCode::CONFLICT, "conflict", detail),
        Refused::NameTaken(_) => Oops::new(StatusCode::CONFLICT, "name-taken", detail),
        Refused::TooManyAgents => Oops::new(StatusCode::CONFLICT, "too-many-agents", detail),
        Refused::NotBusy { .. } => Oops::new(StatusCode::CONFLICT, "not-busy", detail),
        Refused::Adopted(_) => Oops::new(StatusCode::CONFLICT, "adopted", detail),
        Refused::PaneTaken { .. } => Oops::new(StatusCode::CONFLICT, "pane-taken", detail),
        Refused::AgentRuns(_) => Oops::new(StatusCode::CONFLICT, "agent-runs", detail),
        Refused::HasAgents { .. } => Oops::new(StatusCode::CONFLICT, "has-agents", detail),
        Refused::BadArchive(_) => Oops::new(StatusCode::CONFLICT, "archive", detail),
    }
}

impl From<&StoreError> for Oops {
    fn from(error: &StoreError) -> Oops {
        match error {
            StoreError::Full => Oops::full(),
            StoreError::Damaged { .. } | StoreError::Broken(_) => Oops::store_broken(error),
            StoreError::File { .. }
            | StoreError::Unwritable { .. }
            | StoreError::BadBackup { .. } => {
                Oops::new(StatusCode::UNPROCESSABLE_ENTITY, "file", error.to_string())
            }
            StoreError::TooNew { .. } | StoreError::OldSqlite { .. } | StoreError::Sqlite(_) => {
                Oops::internal("store-failed", error)
            }
        }
    }
}

impl IntoResponse for Oops {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.problem.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.problem).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        let say = |text| HeaderValue::from_static(text);
        headers.insert(header::CONTENT_TYPE, say("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, say("Bearer realm=\"cmux\""));
        }
        if self.close {
            headers.insert(header::CONNECTION, say("close"));
        }
        if let Some(after) = self.retry_after {
            let seconds = after.as_millis().div_ceil(1000).max(1);
            let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// There is no such route.
pub(crate) async fn no_route(request: Request) -> Oops {
    let path: String = request.uri().path().chars().take(100).collect();
    Oops::not_found(format!("there is nothing at {path}"))
}

pub(crate) async fn no_method(request: Request) -> Oops {
    let path: String = request.uri().path().chars().take(100).collect();
    let detail = format!("{} is not for {path}", request.method());
    Oops::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail)
}
