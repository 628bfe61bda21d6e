//! The way in: what every request passes before its route sees it, and what every answer is sealed with.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use cmux_core::event::Actor;
use cmux_core::pace::Pace;
use cmux_core::principal::{Need, Principal};
use cmux_core::visit::{Foreign, Visit};

use crate::http::App;
use crate::http::extract::is_json;
use crate::http::problem::Oops;
use crate::inbox::since_boot;
use crate::refusals::Refusal;
use crate::who::{self, Connection};

/// The longest path and the longest query that are looked at, in bytes.
const PATH_MAX: usize = 2048;
const QUERY_MAX: usize = 8192;

/// How much of a path the log keeps, in characters.
const PATH_KEPT: usize = 100;

/// How many times as fast as others the person may ask: theirs are the commands, and the scripts that
/// call them.
const PERSON_TIMES: u32 = 50;

/// What is said with every answer: nothing of it is for pages of others.
const SEALS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
         object-src 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
];

/// Whoever sent a request that got as far as its route.
#[derive(Clone, Debug)]
pub(crate) struct Caller(pub(crate) Principal);

impl Caller {
    /// Returns whom the log is to name.
    pub(crate) fn actor(&self) -> Actor {
        match &self.0 {
            Principal::Operator | Principal::Browser { .. } => Actor::Operator,
            Principal::Token { id, .. } => Actor::Token(*id),
            Principal::Agent { agent, .. } => Actor::Agent(*agent),
            Principal::Nobody => Actor::Cmux,
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Oops;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Caller, Oops> {
        parts.extensions.get::<Caller>().cloned().ok_or_else(|| {
            Oops::internal("no-caller", &"a route asked who calls before anybody was let in")
        })
    }
}

/// Lets a request through to the routes unless its head alone speaks against it.
pub(crate) async fn admit(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let response = match judge(&app, &head) {
        Ok(()) => next.run(Request::from_parts(head, body)).await,
        Err(oops) => {
            refuse(&app, &head, &oops);
            oops.into_response()
        }
    };
    app.metrics.answered(response.status());
    seal(response)
}

fn judge(app: &App, head: &Parts) -> Result<(), Oops> {
    let uri = &head.uri;
    if uri.path().len() > PATH_MAX || uri.query().is_some_and(|query| query.len() > QUERY_MAX) {
        let detail = format!("a path has at most {PATH_MAX} bytes, and a query {QUERY_MAX}");
        return Err(Oops::new(StatusCode::URI_TOO_LONG, "uri-too-long", detail));
    }
    // Where nothing is read, nothing else may be sent either; a webhook is as its source has it.
    let is_webhook = uri.path().starts_with("/api/webhooks/");
    let is_other = head.headers.contains_key(header::CONTENT_TYPE) && !is_json(&head.headers);
    if is_other && !is_webhook && !is_safe(&head.method) {
        return Err(Oops::not_json());
    }
    match connection_of(head)? {
        // No page can reach it, and no name leads to it.
        Connection::Socket { .. } => Ok(()),
        Connection::Port { .. } => visit(head, app.facts.port).judge(&app.names).map_err(foreign),
    }
}

fn foreign(why: Foreign) -> Oops {
    let (status, slug) = match why {
        Foreign::Host => (StatusCode::MISDIRECTED_REQUEST, "foreign-host"),
        Foreign::Origin => (StatusCode::FORBIDDEN, "foreign-origin"),
        Foreign::Site => (StatusCode::FORBIDDEN, "foreign-site"),
        Foreign::NoOrigin => (StatusCode::FORBIDDEN, "no-origin"),
    };
    Oops::new(status, slug, why.to_string())
}

fn visit(head: &Parts, port: u16) -> Visit<'_> {
    let (headers, path) = (&head.headers, head.uri.path());
    Visit {
        host: host(head),
        origin: said(headers, &header::ORIGIN),
        fetch_site: said(headers, &HeaderName::from_static("sec-fetch-site")),
        fetch_mode: said(headers, &HeaderName::from_static("sec-fetch-mode")),
        is_page: !path.starts_with("/api/") && path != "/metrics",
        is_safe: is_safe(&head.method),
        is_upgrade: headers.contains_key(header::UPGRADE),
        has_cookie: who::cookies(headers, port).next().is_some(),
    }
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Returns by what name cmux is called. If the request's first line has one too, both must be the same.
fn host(head: &Parts) -> Option<&str> {
    let host = said_once(&head.headers, &header::HOST)?;
    let agrees = head.uri.authority().is_none_or(|it| it.as_str().eq_ignore_ascii_case(host));
    agrees.then_some(host)
}

/// Returns what a header says. One that is no text says something that nothing allows.
fn said<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|said| said.to_str().unwrap_or("\u{fffd}"))
}

/// Returns what a header says that must be there once.
fn said_once<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
}

/// Lets a request through to a route that needs `need`, if whoever sent it may.
pub(crate) async fn enter(
    State((app, need)): State<(Arc<App>, Need)>,
    request: Request,
    next: Next,
) -> Response {
    let (mut head, body) = request.into_parts();
    match known(&app, need, &head).await {
        Ok(principal) => {
            // What is confined may yet be found to ask for what is not its own.
            let confined = principal.confined_to().map(|_| head.clone());
            head.extensions.insert(Caller(principal));
            let response = next.run(Request::from_parts(head, body)).await;
            if let Some(head) = confined.filter(|_| response.status() == StatusCode::FORBIDDEN) {
                refuse(&app, &head, &Oops::elsewhere());
            }
            response
        }
        Err(oops) => {
            refuse(&app, &head, &oops);
            oops.into_response()
        }
    }
}

/// Returns who sent a request with this `head`, who may do what needs `need`, and not too often.
async fn known(app: &App, need: Need, head: &Parts) -> Result<Principal, Oops> {
    // What anybody may have depends on nothing: not on the store, nor on who asks.
    if need == Need::Nothing {
        return Ok(Principal::Nobody);
    }
    let connection = connection_of(head)?;
    let found = who::principal(app, connection, &head.headers, need).await;
    let allowed = found.and_then(|principal| {
        let allowed = principal.may(need);
        allowed.map(|()| principal.clone()).map_err(|denial| Oops::denied(denial, &principal, need))
    });
    let (account, times) = match &allowed {
        Ok(Principal::Operator) => ("operator".to_owned(), PERSON_TIMES),
        Ok(Principal::Browser { session }) => (session.to_string(), 1),
        Ok(Principal::Token { id, .. }) => (id.to_string(), 1),
        Ok(Principal::Agent { agent, .. }) => (agent.to_string(), 1),
        Ok(Principal::Nobody) | Err(_) => (connection.from(), 1),
    };
    paced(app, &account, times)?;
    allowed
}

/// Counts a request of `account`, which may ask so many `times` as fast as others.
pub(crate) fn paced(app: &App, account: &str, times: u32) -> Result<(), Oops> {
    let (per_s, burst) = (app.limits.requests_per_s, app.limits.burst);
    let pace = Pace::per_s(per_s.saturating_mul(times), burst.saturating_mul(times));
    app.turnstile.pass(account, pace, since_boot()).map_err(Oops::too_fast)
}

fn connection_of(head: &Parts) -> Result<&Connection, Oops> {
    let connection = head.extensions.get::<Arc<Connection>>();
    let lost = || Oops::internal("no-connection", &"a request came through no door");
    connection.map(AsRef::as_ref).ok_or_else(lost)
}

/// Takes note of a request that is turned away.
fn refuse(app: &App, head: &Parts, oops: &Oops) {
    let Ok(connection) = connection_of(head) else { return };
    note_refusal(app, connection, &head.method, head.uri.path(), oops.slug());
}

pub(crate) fn note_refusal(
    app: &App,
    connection: &Connection,
    method: &Method,
    path: &str,
    reason: &str,
) {
    app.metrics.refused.fetch_add(1, Ordering::Relaxed);
    app.refusals.note(Refusal {
        reason: reason.to_owned(),
        door: connection.door(),
        method: method.as_str().chars().take(PATH_KEPT).collect(),
        path: path.chars().take(PATH_KEPT).collect(),
        from: connection.from(),
    });
}

fn seal(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in SEALS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}
