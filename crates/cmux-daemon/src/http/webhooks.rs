//! Events from outside: checked, and stored as they came.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::{Extension, Request, State};
use axum::http::{Method, StatusCode, header};
use cmux_core::digest::Digest;
use cmux_core::event::Actor;
use cmux_core::report::{Answer, Ask, Report};
use cmux_core::signature::{self, BadSignature};
use cmux_core::webhook::Webhook;
use cmux_drivers::clock;
use cmux_wire::webhook::WebhookTaken;

use crate::http::App;
use crate::http::extract::{BODY_MAX, Named, read};
use crate::http::gate::{note_refusal, paced};
use crate::http::problem::Oops;
use crate::http::sessions::unexpected;
use crate::who::Connection;

/// Takes a delivery from `source`. What was taken before is answered as it was then, so that a sender
/// that missed the answer can ask again.
pub(crate) async fn take(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Arc<Connection>>,
    Named(source): Named<String>,
    request: Request,
) -> Result<(StatusCode, Json<WebhookTaken>), Oops> {
    let note = |reason: &str| {
        let path = format!("/api/webhooks/{source}");
        note_refusal(&app, &connection, &Method::POST, &path, reason);
    };
    // Whoever has not signed is known by where they come from, and uses up nobody else's turns.
    paced(&app, &format!("webhooks from {}", connection.from()), 1)?;
    let Some(known) = app.webhooks.get(&source) else {
        note("no-webhook");
        let detail = "there is no such source; they are set in the user's configuration, under \
                      `[webhooks.NAME]`";
        return Err(Oops::not_found(detail));
    };
    let headers = request.headers().clone();
    let body = read(&app, request, BODY_MAX).await?;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let checked = signature::check(known.scheme, &known.secret, header, &body, clock::wall());
    let checked = checked.map_err(|why| {
        note(slug(&why));
        Oops::unauthorised(slug(&why), why.to_string())
    })?;
    paced(&app, &format!("webhook:{source}"), 1)?;
    let webhook = Webhook {
        source: source.clone(),
        delivery: checked.delivery,
        is_name_signed: known.scheme.signs_the_id(),
        event: checked.event,
        project: known.project.clone(),
        content_type: header(header::CONTENT_TYPE.as_str()).map(ToOwned::to_owned),
        digest: Digest::of(&body),
        body,
    };
    let actor = Actor::Webhook(source.clone());
    let answer = app.ask(Report::Asked { actor, ask: Ask::TakeWebhook { webhook } }).await?;
    let Answer::Webhook { event, duplicate } = answer else { return Err(unexpected(&answer)) };
    if duplicate {
        app.metrics.replayed.fetch_add(1, Ordering::Relaxed);
        note("replayed");
    }
    let status = if duplicate { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(WebhookTaken { event: event.0, duplicate })))
}

fn slug(why: &BadSignature) -> &'static str {
    match why {
        BadSignature::Missing(_) => "missing-signature",
        BadSignature::Malformed(_) => "malformed-signature",
        BadSignature::Wrong => "wrong-signature",
        BadSignature::TooOld { .. } | BadSignature::TooNew { .. } => "stale-signature",
    }
}
