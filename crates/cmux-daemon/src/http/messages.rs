//! Mail over HTTP.

pub(crate) mod address;
mod list;
mod say;

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use cmux_core::id::{BadId, MessageId};
use cmux_core::mail::SENT_MAX;
use cmux_core::message::{BODY_MAX, Body, Message, MessageKind, NewMessage, TYPED_MAX};
use cmux_core::principal::{Need, Principal};
use cmux_core::report::{Answer, Ask, Refused, Report};
use cmux_core::time::Timestamp;
use cmux_store::messages;
use cmux_wire::message as wire;
use tokio::time::{Instant, timeout_at};

use crate::http::App;
use crate::http::extract::{Named, read_text};
use crate::http::gate::Caller;
use crate::http::messages::address::Reader;
use crate::http::problem::Oops;
use crate::http::sessions::unexpected;
use crate::inbox::since_boot;
use crate::kernel::Denied;
use crate::turnstile::Turnstile;

pub(crate) use self::list::{Wanted, list};
pub(crate) use self::say::{in_full, listed};

/// How long it is waited for whether what is being typed can be taken back.
const DECIDED_WITHIN: Duration = Duration::from_secs(2);

/// The header that says the same as `key`.
const KEY_HEADER: &str = "idempotency-key";

/// Takes a message. Once this is answered, it is stored.
pub(crate) async fn send(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<(StatusCode, Json<wire::Message>), Oops> {
    let header = key_in(request.headers())?;
    let new: wire::NewMessage = read_text(&app, request, BODY_MAX).await?;
    let key = one_key(header, new.key.clone())?;
    let answered = match &new.reply_to {
        Some(id) => Some(seen(&app, &caller, parse(id)?).await?),
        None => None,
    };
    let Reader { project, to } = address::reader(&app, &caller, &new, answered.as_ref()).await?;
    if new.interrupt {
        address::may_interrupt(&app, &caller, &to).await?;
    }
    let kind = kind_of(&caller.0, new.kind, answered.is_some())?;
    let from = address::sender(&app, &caller, &project).await?;
    let reply_to = answered.map(|message| message.id);
    let body = measured(new.body).await?;
    let ttl = new.ttl_s.map(Duration::from_secs);
    let interrupt = new.interrupt;
    let new = NewMessage { project, from, to, kind, body, reply_to, interrupt, key, ttl };
    new.check().map_err(|bad| Denied::Refused(bad.into()))?;
    let room = require_room(&app.turnstile, &caller.0, new.body.bytes, since_boot())?;
    let asked = ask(&app, &caller, Ask::SendMessage { new: Box::new(new) }).await;
    // What is not stored takes no room, nor what was stored before.
    let is_new = matches!(asked, Ok((_, true)));
    if let Some(Room { account, kib }) = room.filter(|_| !is_new) {
        app.turnstile.give_back(&account, kib);
    }
    let (message, created) = asked?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(message)))
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<Json<wire::Message>, Oops> {
    let message = seen(&app, &caller, parse(&id)?).await?;
    app.read(move |view| in_full(view, message)).await.map(Json)
}

pub(crate) async fn retry(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<Json<wire::Message>, Oops> {
    let message = changed(&app, &caller, &id).await?;
    address::may_resend(&app, &caller, &message).await?;
    Ok(Json(ask(&app, &caller, Ask::RetryMessage { id: message.id }).await?.0))
}

/// Takes a message back. If it is being typed, it is waited a while for whether that can be done.
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<Json<wire::Message>, Oops> {
    let id = changed(&app, &caller, &id).await?.id;
    let mut head = app.awakened().await?.mind.as_ref().map(|mind| mind.signs.head.clone());
    ask(&app, &caller, Ask::CancelMessage { id }).await?;
    let deadline = Instant::now() + DECIDED_WITHIN;
    loop {
        if let Some(head) = &mut head {
            // Before the look: what is stored after it is waited for.
            head.borrow_and_update();
        }
        let message = found(&app, id).await?;
        let is_decided = message.state.is_over() || message.recall.is_none();
        let has_news = match &mut head {
            Some(head) if !is_decided => timeout_at(deadline, head.changed()).await.is_ok(),
            Some(_) | None => false,
        };
        if !has_news || Instant::now() >= deadline {
            return app.read(move |view| in_full(view, message)).await.map(Json);
        }
    }
}

/// Takes note that the person has read a message to them.
pub(crate) async fn read(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<Json<wire::Message>, Oops> {
    let id = parse(&id)?;
    Ok(Json(ask(&app, &caller, Ask::ReadMessage { id }).await?.0))
}

/// Asks the kernel, and returns the message that it answers with and whether that is new.
async fn ask(app: &App, caller: &Caller, ask: Ask) -> Result<(wire::Message, bool), Oops> {
    let answer = app.ask(Report::Asked { actor: caller.actor(), ask }).await?;
    let Answer::Message { message, created } = answer else { return Err(unexpected(&answer)) };
    let said = app.read(move |view| {
        let now = messages::find(view, message.id)?.unwrap_or(*message);
        in_full(view, now)
    });
    Ok((said.await?, created))
}

/// Returns a message that the caller may know of. To others, it is as if it were not there.
async fn seen(app: &App, caller: &Caller, id: MessageId) -> Result<Message, Oops> {
    let message = found(app, id).await?;
    let may = caller.0.may_see_mail(&message.from.actor, &message.to);
    may.map(|()| message).map_err(|_| missing(id))
}

/// Returns a message that the caller may take back or have sent again.
async fn changed(app: &App, caller: &Caller, id: &str) -> Result<Message, Oops> {
    let message = seen(app, caller, parse(id)?).await?;
    match (caller.0.may_change_mail(&message.from.actor), &caller.0) {
        (Ok(()), _) => Ok(message),
        (Err(_), Principal::Agent { .. }) => {
            let detail = format!(
                "an agent may take back or send again what it sent itself, and `{}` is from {}: that is for \
                 them or the person to do",
                message.id, message.from.name
            );
            Err(Oops::new(StatusCode::FORBIDDEN, "not-allowed", detail))
        }
        (Err(denial), who) => Err(Oops::denied(denial, who, Need::Operate)),
    }
}

async fn found(app: &App, id: MessageId) -> Result<Message, Oops> {
    app.read(move |view| messages::find(view, id)).await?.ok_or_else(|| missing(id))
}

fn missing(id: MessageId) -> Oops {
    Denied::Refused(Refused::NoMessage(id)).into()
}

/// Returns the kind of what `who` says, if they may say that.
fn kind_of(
    who: &Principal,
    said: Option<wire::MessageKind>,
    is_answer: bool,
) -> Result<MessageKind, Oops> {
    let kind = match said {
        Some(said) => hear_kind(said),
        None => who.usually_says(is_answer),
    };
    who.may_say(kind).map(|()| kind).map_err(|_| {
        let (name, who) = (kind.name(), who.name());
        let whose = if kind == MessageKind::User { "the person" } else { "cmux itself" };
        let detail = format!(
            "`{name}` is what {whose} says, and this is a {who}: leave `kind` out, or say task, status, \
             response, question or error"
        );
        Oops::new(StatusCode::FORBIDDEN, "not-allowed", detail)
    })
}

fn hear_kind(kind: wire::MessageKind) -> MessageKind {
    match kind {
        wire::MessageKind::Task => MessageKind::Task,
        wire::MessageKind::Status => MessageKind::Status,
        wire::MessageKind::Response => MessageKind::Response,
        wire::MessageKind::Question => MessageKind::Question,
        wire::MessageKind::Error => MessageKind::Error,
        wire::MessageKind::User => MessageKind::User,
        wire::MessageKind::System => MessageKind::System,
    }
}

/// Returns the key that a header says.
fn key_in(headers: &HeaderMap) -> Result<Option<String>, Oops> {
    let mut all = headers.get_all(KEY_HEADER).iter();
    let Some(key) = all.next() else { return Ok(None) };
    match (key.to_str(), all.next()) {
        (Ok(key), None) => Ok(Some(key.to_owned())),
        (Ok(_), Some(_)) => Err(Oops::bad_request("`Idempotency-Key` is said more than once")),
        (Err(_), _) => Err(Oops::bad_request("`Idempotency-Key` is not text")),
    }
}

fn one_key(header: Option<String>, body: Option<String>) -> Result<Option<String>, Oops> {
    match (header, body) {
        (Some(header), Some(body)) if header != body => {
            Err(Oops::bad_request("`Idempotency-Key` and `key` say different things: keep one"))
        }
        (header, body) => Ok(header.or(body)),
    }
}

/// Room that was taken for a message, and on whose account.
#[derive(Debug)]
struct Room {
    account: String,
    kib: u32,
}

/// Refuses to store more than one sender may send in a while. Agents of a project have one account together, as
/// one of them may launch many. The person may fill their own disk, and takes nobody's room.
fn require_room(
    turnstile: &Turnstile,
    who: &Principal,
    bytes: u64,
    now: Timestamp,
) -> Result<Option<Room>, Oops> {
    let account = match who {
        Principal::Operator | Principal::Browser { .. } => return Ok(None),
        Principal::Token { id, .. } => format!("mail of {id}"),
        Principal::Agent { project, .. } => format!("mail of {project}"),
        Principal::Nobody => "mail of nobody".to_owned(),
    };
    let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
    let passed = turnstile.pass_many(&account, kib, SENT_MAX, now);
    passed.map(|()| Some(Room { account, kib })).map_err(|wait| {
        let detail = format!(
            "too much was sent from here: {} MiB at once are taken, and then a GiB a day. Try again in {} s, or \
             put it into a file, and send its name",
            SENT_MAX.burst >> 10,
            wait.as_secs() + 1
        );
        Oops::new(StatusCode::TOO_MANY_REQUESTS, "too-much", detail).and_retry(wait)
    })
}

/// Returns what a message says, with its length and digest. Of a long one, that takes a while.
async fn measured(text: String) -> Result<Body, Oops> {
    if text.len() <= TYPED_MAX {
        return Ok(Body::new(text));
    }
    let measured = tokio::task::spawn_blocking(move || Body::new(text)).await;
    measured.map_err(|error| Oops::internal("digest", &error))
}

pub(crate) fn parse(id: &str) -> Result<MessageId, Oops> {
    id.parse().map_err(|error: BadId| Oops::bad_request(error.to_string()))
}

#[cfg(test)]
mod tests {
    use cmux_core::id::{AgentId, RunId, TokenId};
    use cmux_core::project::ProjectId;
    use cmux_core::token::TokenScope;
    use ulid::Ulid;

    use super::*;

    #[test]
    fn who_takes_back_what_they_send_does_not_fill_the_disk_with_it() {
        let agent = |n: u128, root| Principal::Agent {
            agent: AgentId::new(Ulid::from(n)),
            run: RunId::new(Ulid::from(n)),
            project: ProjectId::of(root),
        };
        let script =
            Principal::Token { id: TokenId::new(Ulid::from(1_u128)), scope: TokenScope::Send };
        let (turnstile, long) = (Turnstile::default(), BODY_MAX as u64);
        let send = |who: &Principal, at| require_room(&turnstile, who, long, Timestamp(at));
        let sent = |who: &Principal| (0..).take_while(|_| send(who, 0).is_ok()).count();
        assert_eq!(sent(&agent(1, "/a")), 25);
        let refused = send(&agent(2, "/a"), 0).unwrap_err();
        assert_eq!(refused.slug(), "too-much");
        let told = refused.detail();
        assert!(told.contains("256 MiB at once"), "{told}");
        assert_eq!((sent(&agent(3, "/b")), sent(&script)), (25, 25));
        assert!((0..1000).all(|_| send(&Principal::Operator, 0).is_ok()));
        let day_ms = 24 * 60 * 60 * 1000;
        assert!(send(&agent(2, "/a"), day_ms).is_ok());
    }

    #[test]
    fn a_key_is_said_once() {
        let said = |text: &str| Some(text.to_owned());
        for (header, body, expected) in [
            (None, None, Some(None)),
            (said("a"), None, Some(said("a"))),
            (None, said("a"), Some(said("a"))),
            (said("a"), said("a"), Some(said("a"))),
            (said("a"), said("b"), None),
        ] {
            assert_eq!(one_key(header, body).ok(), expected);
        }
    }
}
