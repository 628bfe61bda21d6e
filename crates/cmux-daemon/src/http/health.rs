//! How cmux is: alive, ready, healthy. Nothing here waits for what may hang: it asks in the background,
//! and says so if no answer comes in time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use cmux_core::report::Report;
use cmux_drivers::{clock, tools};
use cmux_wire::health::{Condition, Health, Part};
use cmux_wire::time::Time;

use crate::http::{App, Awake, pages};
use crate::inbox::{Inbox, Signs, since_boot_ms};
use crate::who::Connection;

/// The kernel turns at least every few seconds; silent for so long, it hangs.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// A write that reached the disk so long ago shows that the next one would.
const WRITTEN_WITHIN: Duration = Duration::from_secs(5);

/// How long a write may take that is made only to see whether it can be. With all else, health answers
/// within a second.
const WRITE_WITHIN: Duration = Duration::from_millis(700);

/// What other machines are told of what is wrong: paths of this one are not for them.
const FAR: &str = "`cmux status` on its own machine says why";

/// How long tmux is taken to be as it was found.
const TMUX_FRESH: Duration = Duration::from_mins(1);

/// How long to wait for tmux to tell its version.
const TMUX_WITHIN: Duration = Duration::from_millis(700);

/// Answers as long as the process can answer at all.
pub(crate) async fn live() -> &'static str {
    "ok\n"
}

/// Answers that it is ready for traffic, or why not.
pub(crate) async fn ready(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Arc<Connection>>,
) -> Response {
    match (kernel(&app).why, store(&app).why) {
        (None, None) => "ok\n".into_response(),
        (Some(why), _) | (None, Some(why)) => {
            let why = if connection.is_near() { why } else { FAR.to_owned() };
            (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response()
        }
    }
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Arc<Connection>>,
) -> Response {
    let health = assess(&app, true).await;
    let status = match health.status {
        Condition::Healthy => StatusCode::OK,
        Condition::Degraded => StatusCode::SERVICE_UNAVAILABLE,
    };
    let health = if connection.is_near() { health } else { from_afar(health) };
    (status, Json(health)).into_response()
}

/// Returns how each part is. Whether a write reaches the disk is only tried if `is_tried`, and else taken from what
/// the kernel last showed.
pub(crate) async fn assess(app: &App, is_tried: bool) -> Health {
    let look = async { if is_tried { written(app).await } else { store(app) } };
    let (store, tmux) = tokio::join!(look, tmux(app));
    let (kernel, router, frontend) = (kernel(app), router(app), pages::health());
    let parts = [&kernel, &store, &tmux, &router, &frontend];
    let is_healthy = parts.iter().all(|part| part.why.is_none());
    Health {
        status: if is_healthy { Condition::Healthy } else { Condition::Degraded },
        api: Condition::Healthy,
        frontend,
        store,
        tmux,
        router,
        kernel,
        version: app.facts.version.clone(),
        timestamp: Time::from_millis(clock::wall().0),
    }
}

/// Returns the same without what is not for other machines.
fn from_afar(health: Health) -> Health {
    let told = |part: Part| match part.why {
        Some(_) => Part::degraded(FAR),
        None => part,
    };
    let Health { frontend, store, tmux, router, kernel, .. } = health;
    Health {
        frontend: told(frontend),
        store: told(store),
        tmux: told(tmux),
        router: told(router),
        kernel: told(kernel),
        ..health
    }
}

/// Returns how the kernel is, from what it last showed.
pub(crate) fn kernel(app: &App) -> Part {
    part(match app.awake() {
        None => Some("it is still starting".to_owned()),
        Some(Awake { mind: None, .. }) => {
            let why = app.facts.safe_mode.as_deref().unwrap_or_default();
            Some(format!("safe mode: {why}"))
        }
        Some(Awake { mind: Some(mind), .. }) => {
            let turned_at = mind.signs.turned_at.load(Ordering::Relaxed);
            let silent_ms = since_boot_ms().saturating_sub(turned_at);
            (u128::from(silent_ms) > SILENCE_MAX.as_millis())
                .then(|| format!("nothing was heard of the kernel for {} s", silent_ms / 1000))
        }
    })
}

/// Returns how the store is, from what the kernel last showed.
pub(crate) fn store(app: &App) -> Part {
    let mind = app.awake().and_then(|awake| awake.mind.as_ref());
    part(mind.and_then(|mind| mind.signs.trouble.borrow().clone()))
}

/// Returns how the store is, having seen that a write reaches the disk.
async fn written(app: &App) -> Part {
    let shown = store(app);
    let mind = app.awake().and_then(|awake| awake.mind.as_ref());
    // While there is no kernel, that part says so, and nobody writes.
    let Some(mind) = mind.filter(|_| shown.why.is_none()) else { return shown };
    if age_ms(&mind.signs) <= WRITTEN_WITHIN.as_millis() {
        return shown;
    }
    let inbox = mind.inbox.clone();
    let tried = app.writable.get(WRITTEN_WITHIN, WRITE_WITHIN, || probe(inbox)).await;
    part(match tried {
        Some(found) => found.err(),
        None => Some(format!("no write has reached the disk for {} s", age_ms(&mind.signs) / 1000)),
    })
}

/// Has the kernel write, and returns what came of it.
async fn probe(inbox: Inbox) -> Result<(), String> {
    inbox.ask(Report::Probe).await.map(|_| ()).map_err(|denied| denied.to_string())
}

fn age_ms(signs: &Signs) -> u128 {
    since_boot_ms().saturating_sub(signs.stored_at.load(Ordering::Relaxed)).into()
}

/// Returns whether reports get in and actions out.
fn router(app: &App) -> Part {
    let mind = app.awake().and_then(|awake| awake.mind.as_ref());
    let is_idle = mind.is_some_and(|mind| mind.hands.is_finished());
    part(is_idle.then(|| "nobody does what the kernel plans".to_owned()).or(kernel(app).why))
}

/// Returns whether there is a tmux for agents to live in.
async fn tmux(app: &App) -> Part {
    let found = app.tmux.get(TMUX_FRESH, TMUX_WITHIN, || async {
        let looked = tokio::task::spawn_blocking(look_for_tmux).await;
        looked.unwrap_or_else(|error| Some(format!("it could not be looked for: {error}")))
    });
    part(found.await.unwrap_or_else(|| Some("tmux does not tell its version".to_owned())))
}

/// Returns what is wrong with tmux, if something is.
fn look_for_tmux() -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    match tools::find_all("tmux", &path).first() {
        None => Some("tmux is not on the daemon's PATH; `cmux doctor` says more".to_owned()),
        Some(program) => match tools::version(program, "-V") {
            Some(_) => None,
            None => Some(format!("{} does not tell its version", program.display())),
        },
    }
}

fn part(why: Option<String>) -> Part {
    why.map_or_else(Part::healthy, Part::degraded)
}
