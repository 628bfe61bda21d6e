//! Browsers, let in and sent away.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use cmux_core::digest::Digest;
use cmux_core::event::Actor;
use cmux_core::id::{BadId, SessionId};
use cmux_core::pace::Pace;
use cmux_core::principal::Principal;
use cmux_core::report::{Answer, Ask, Refused, Report};
use cmux_core::session::{OverWhy, SESSION_TTL, Session, SessionHow, SessionStanding};
use cmux_drivers::{clock, password};
use cmux_store::sessions;
use cmux_wire::link::Link;
use cmux_wire::session as wire;
use cmux_wire::time::Time;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::extract::{Named, Query, read_json};
use crate::http::gate::{Caller, note_refusal};
use crate::http::problem::Oops;
use crate::http::projects::Paging;
use crate::http::secrets::secret;
use crate::http::{App, pages};
use crate::inbox::since_boot;
use crate::kernel::Denied;
use crate::who::{Connection, cookie_name};

/// What every one-time link begins with, and every cookie.
const LINK: &str = "cmuxlink_";
const COOKIE: &str = "cmuxweb_";

/// How many sessions a page has.
const PAGE: u32 = 100;

/// How often a password may be tried from one place, and by everybody together: each try is a good part
/// of a second's work.
const TRIES: Pace = Pace { per_min: 12, burst: 10 };
const ALL_TRIES: Pace = Pace { per_min: 60, burst: 30 };

/// How often links may be tried from one place.
const LINKS: Pace = Pace { per_min: 120, burst: 60 };

/// The longest login that is read, in bytes.
const LOGIN_MAX: usize = 4 << 10;

/// What a link brings.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Brought {
    /// The secret of a link of `cmux open`.
    link: Option<String>,
}

/// Makes a one-time link.
pub(crate) async fn make_link(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<(StatusCode, Json<Link>), Oops> {
    let link = secret(LINK)?;
    let ask = Ask::MakeLink { secret: Digest::of(link.as_bytes()) };
    let answer = app.ask(Report::Asked { actor: caller.actor(), ask }).await?;
    let Answer::Link(made) = answer else { return Err(unexpected(&answer)) };
    let at = |address: &str| format!("{address}/login?link={link}");
    let (url, browser_url) = (at(&app.address), at(&app.browser_address));
    let expires_at = Time::from_millis(made.expires_at.0);
    Ok((StatusCode::CREATED, Json(Link { url, browser_url, expires_at })))
}

/// Lets a browser in that brings a link, and shows the others how to get one.
pub(crate) async fn follow_link(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Arc<Connection>>,
    Query(brought): Query<Brought>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, Oops> {
    let Some(link) = brought.link else { return Ok(pages::login()) };
    // Whoever only looks ahead must not use it up for the one who comes.
    if method == Method::HEAD || headers.contains_key("sec-purpose") {
        return Ok(pages::login());
    }
    let place = format!("links from {}", connection.from());
    app.turnstile.pass(&place, LINKS, since_boot()).map_err(Oops::too_fast)?;
    let cookie = secret(COOKIE)?;
    let (link, session) = (Digest::of(link.as_bytes()), Digest::of(cookie.as_bytes()));
    let ask = Ask::FollowLink { link, session };
    let stale = |reason| {
        note_refusal(&app, &connection, &Method::GET, "/login", reason);
        Ok(pages::stale())
    };
    let answer = match app.try_ask(Report::Asked { actor: Actor::Operator, ask }).await? {
        Err(Denied::Refused(Refused::NoLink)) => return stale("bad-link"),
        answer => answer?,
    };
    if let Answer::LinkReused { .. } = answer {
        return stale("link-reused");
    }
    let Answer::Session(_) = answer else { return Err(unexpected(&answer)) };
    Ok(let_in(&app, &cookie, Redirect::to("/").into_response()))
}

/// Lets a browser in that knows the password.
pub(crate) async fn log_in(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
) -> Result<Response, Oops> {
    let place = format!("passwords from {}", connection.from());
    app.turnstile.pass(&place, TRIES, since_boot()).map_err(Oops::too_fast)?;
    let login: wire::Login = read_json(&app, request, LOGIN_MAX).await?;
    app.turnstile.pass("passwords", ALL_TRIES, since_boot()).map_err(Oops::too_fast)?;
    let home = app.facts.home.clone();
    let checked = tokio::task::spawn_blocking(move || password::verify(&home, &login.password));
    let is_right = checked.await.map_err(|error| Oops::internal("password", &error))?;
    if !is_right.map_err(|error| Oops::internal("password", &error))? {
        note_refusal(&app, &connection, &Method::POST, "/api/login", "bad-password");
        let detail = "that is not the password, or none is set; `cmux open` gives a link instead";
        return Err(Oops::unauthorised("bad-password", detail));
    }
    let cookie = secret(COOKIE)?;
    let ask = Ask::OpenSession { secret: Digest::of(cookie.as_bytes()) };
    let answer = app.ask(Report::Asked { actor: Actor::Operator, ask }).await?;
    let Answer::Session(session) = answer else { return Err(unexpected(&answer)) };
    let said = (StatusCode::CREATED, Json(say(&session, true)));
    Ok(let_in(&app, &cookie, said.into_response()))
}

/// Takes note of a password that was set or taken away. It is read, not told.
pub(crate) async fn password_changed(State(app): State<Arc<App>>) -> Result<StatusCode, Oops> {
    let home = app.facts.home.clone();
    let read = tokio::task::spawn_blocking(move || password::digest(&home)).await;
    let digest = read.map_err(|error| Oops::internal("password", &error))?;
    let digest = digest.map_err(|error| Oops::internal("password", &error))?;
    app.ask(Report::PasswordIs { digest }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives a browser its cookie.
fn let_in(app: &App, cookie: &str, mut response: Response) -> Response {
    let name = cookie_name(app.facts.port);
    let secure = if app.is_secure { "; Secure" } else { "" };
    let age = SESSION_TTL.as_secs();
    let said = format!("{name}={cookie}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}");
    if let Ok(mut said) = HeaderValue::from_str(&said) {
        said.set_sensitive(true);
        response.headers_mut().insert(header::SET_COOKIE, said);
    }
    response
}

/// Lists the browsers that are in.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(paging): Query<Paging>,
) -> Result<Json<wire::Sessions>, Oops> {
    let after = paging.cursor.as_deref().map(parse).transpose()?;
    let page = app.read(move |view| sessions::page(view, after, PAGE)).await?;
    let next = (page.len() == PAGE as usize).then(|| page.last().map(|last| last.id.to_string()));
    let now = clock::wall();
    let is_in = |session: &&Session| matches!(session.standing(now), SessionStanding::Good);
    let said = |session| say(session, is_own(&caller, session.id));
    let sessions = page.iter().filter(is_in).map(said).collect();
    Ok(Json(wire::Sessions { sessions, next: next.flatten() }))
}

/// Sends a browser away: the one that is named, or with `current` the one that asks.
pub(crate) async fn close(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<StatusCode, Oops> {
    let id = match (&caller.0, id.as_str()) {
        (Principal::Browser { session }, "current") => *session,
        (_, "current") => return Err(Oops::not_found("this is no browser")),
        (_, id) => parse(id)?,
    };
    let why = if is_own(&caller, id) { OverWhy::Closed } else { OverWhy::Revoked };
    let ask = Ask::CloseSession { id, why };
    app.ask(Report::Asked { actor: caller.actor(), ask }).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn parse(id: &str) -> Result<SessionId, Oops> {
    id.parse().map_err(|error: BadId| Oops::bad_request(error.to_string()))
}

fn is_own(caller: &Caller, id: SessionId) -> bool {
    caller.0 == Principal::Browser { session: id }
}

fn say(session: &Session, current: bool) -> wire::Session {
    wire::Session {
        id: session.id.to_string(),
        how: match session.how {
            SessionHow::Link => wire::SessionHow::Link,
            SessionHow::Password => wire::SessionHow::Password,
        },
        opened_at: Time::from_millis(session.opened_at.0),
        expires_at: Time::from_millis(session.expires_at.0),
        current,
    }
}

/// An answer to something else.
pub(crate) fn unexpected(answer: &Answer) -> Oops {
    Oops::internal("unanswered", &format!("the kernel answered something else: {answer:?}"))
}
