//! How cmux is: alive, ready, healthy.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use cmux_drivers::clock;
use cmux_wire::health::{Condition, Health, Part};
use cmux_wire::time::Time;

use crate::http::App;
use crate::inbox::since_boot_ms;

/// The kernel turns at least every few seconds; silent for so long, it hangs.
const SILENCE_MAX: Duration = Duration::from_secs(15);

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/livez", get(live))
        .route("/readyz", get(ready))
        .route("/api/webhooks/health", get(health))
}

/// Answers as long as the process can answer at all.
async fn live() -> &'static str {
    "ok\n"
}

/// Answers that it is ready for traffic, or why not.
async fn ready(State(app): State<Arc<App>>) -> Response {
    match (kernel(&app).why, store(&app).why) {
        (None, None) => "ok\n".into_response(),
        (Some(why), _) | (None, Some(why)) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response()
        }
    }
}

async fn health(State(app): State<Arc<App>>) -> Response {
    let (kernel, store) = (kernel(&app), store(&app));
    let healthy = kernel.why.is_none() && store.why.is_none();
    let (code, status) = if healthy {
        (StatusCode::OK, Condition::Healthy)
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, Condition::Degraded)
    };
    let health = Health {
        status,
        api: Condition::Healthy,
        frontend: Part::healthy(),
        store,
        tmux: Part::healthy(),
        router: Part::healthy(),
        kernel,
        version: app.facts.version.clone(),
        timestamp: Time::from_millis(clock::wall().0),
    };
    (code, Json(health)).into_response()
}

/// Returns how the kernel is, from what it last showed.
pub(crate) fn kernel(app: &App) -> Part {
    let why = match (&app.signs, &app.facts.safe_mode) {
        (None, safe_mode) => {
            Some(format!("safe mode: {}", safe_mode.as_deref().unwrap_or_default()))
        }
        (Some(signs), _) => {
            let silent_ms = since_boot_ms().saturating_sub(signs.turned_at.load(Ordering::Relaxed));
            (u128::from(silent_ms) > SILENCE_MAX.as_millis())
                .then(|| format!("nothing was heard of the kernel for {} s", silent_ms / 1000))
        }
    };
    part(why)
}

/// Returns how the store is, from what the kernel last showed.
pub(crate) fn store(app: &App) -> Part {
    part(app.signs.as_ref().and_then(|signs| signs.trouble.borrow().clone()))
}

fn part(why: Option<String>) -> Part {
    why.map_or_else(Part::healthy, Part::degraded)
}
