//! The way in to a scripted model: HTTP on the loopback.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::Sender;

use super::asked::{Asked, Dialect};
use super::frame::{Frame, Stamp};
use super::gemini;
use super::pieces::{Broken, Pieces};
use super::script::{Fault, Turn};
use super::speech::{self, Wanted};
use super::visits::{Outcome, Visits};

const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

type Answer = Response<BoxBody<Bytes, Broken>>;

/// Answers whoever connects, for as long as it is let.
pub(super) async fn serve(listener: TcpListener, visits: Arc<Visits>) {
    while let Ok((stream, _)) = listener.accept().await {
        let visits = Arc::clone(&visits);
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, Arc::clone(&visits)));
            // Who leaves in the middle of it is noted with their request.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(request: Request<Incoming>, visits: Arc<Visits>) -> Result<Answer, Infallible> {
    let (head, body) = request.into_parts();
    let (method, path) = (head.method.as_str(), head.uri.path());
    let Some(wanted) = speech::wanted(method, path) else {
        visits.stray(format!("{method} {path}"));
        return Ok(whole(404, &json!({ "error": { "message": "it is not scripted" } })));
    };
    let bytes = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let read: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let header = |name: &str| Some(head.headers.get(name)?.to_str().ok()?.to_owned());
    let key = speech::key(header, head.uri.query());
    let aside = |told: Value| {
        visits.aside(format!("{method} {path}"), key.clone());
        Ok(whole(200, &told))
    };
    let asked = match wanted {
        Wanted::Hello => return aside(json!({})),
        Wanted::Models => return aside(speech::models()),
        Wanted::Count(dialect) => return aside(speech::count(dialect, bytes.len())),
        Wanted::Answer(dialect) if !read.is_object() => {
            visits.stray(format!("{method} {path}: {} bytes that are no JSON", bytes.len()));
            return Ok(whole(400, &speech::refusal(dialect, 400, "it is no JSON")));
        }
        Wanted::Answer(dialect) => speech::read(dialect, header, &read),
        Wanted::Generated { model, streams } => gemini::read(header, &read, &model, streams),
    };
    Ok(visit(asked, key, visits).await)
}

/// Notes that somebody left, unless something else became of their request before.
struct Stay {
    visits: Arc<Visits>,
    number: usize,
}

impl Stay {
    fn over(&self, outcome: Outcome) {
        self.visits.leave(self.number, outcome);
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.over(Outcome::Left);
    }
}

async fn visit(asked: Asked, key: Option<String>, visits: Arc<Visits>) -> Answer {
    let (dialect, model, streams) = (asked.dialect, asked.model.clone(), asked.streams);
    let (number, turn) = visits.enter(asked, key);
    let stay = Stay { visits, number };
    if let Some(name) = &turn.pace.hold {
        stay.visits.released(name).await;
    }
    tokio::time::sleep(turn.pace.delay).await;
    if let Some(Fault::Refused { status, retry_after_s, message, quota }) = &turn.fault {
        stay.over(Outcome::Refused(*status));
        let mut refusal = speech::refusal(dialect, *status, message);
        if dialect == Dialect::Gemini {
            refusal["error"]["details"] = gemini::details(*retry_after_s, quota.as_deref());
        }
        let mut answer = whole(*status, &refusal);
        if let Some(seconds) = retry_after_s {
            answer.headers_mut().insert(RETRY_AFTER, (*seconds).into());
        }
        return answer;
    }
    let stamp = Stamp { serial: number as u64, model: &model };
    if !streams {
        stay.over(Outcome::Answered);
        return whole(200, &speech::whole(dialect, &turn, stamp));
    }
    let frames = speech::stream(dialect, &turn, stamp);
    let (sender, pieces) = Pieces::channel();
    tokio::spawn(send(frames, turn, sender, stay));
    let mut answer = Response::new(pieces.boxed());
    answer.headers_mut().insert(CONTENT_TYPE, EVENTS);
    answer
}

/// Sends an answer piece by piece, and notes how that ended.
async fn send(
    mut frames: Vec<Frame>,
    turn: Turn,
    sender: Sender<Result<Bytes, Broken>>,
    stay: Stay,
) {
    let breaks = turn.fault == Some(Fault::Dropped);
    if breaks {
        frames.truncate(frames.len().div_ceil(2));
    }
    for frame in frames {
        tokio::time::sleep(frame.wait).await;
        if sender.send(Ok(frame.text.into())).await.is_err() {
            return;
        }
    }
    if breaks {
        stay.over(Outcome::Dropped);
        // Whoever left has broken it first.
        let _ = sender.send(Err(Broken)).await;
    } else {
        stay.over(Outcome::Answered);
    }
}

fn whole(status: u16, value: &Value) -> Answer {
    let body = Full::new(Bytes::from(value.to_string())).map_err(|never| match never {});
    let mut answer = Response::new(body.boxed());
    *answer.status_mut() = status.try_into().unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    answer.headers_mut().insert(CONTENT_TYPE, JSON);
    answer
}
