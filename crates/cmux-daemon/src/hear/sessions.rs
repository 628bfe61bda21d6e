//! What is asked of links and the sessions that they open.

use cmux_core::digest::Digest;
use cmux_core::event::{Actor, Event, What};
use cmux_core::id::{EventId, NewIds, SessionId};
use cmux_core::report::{Answer, Refused};
use cmux_core::session::{Followed, Link, OverWhy, Session, SessionHow};
use cmux_core::time::Timestamp;
use cmux_store::{StoreError, Tx, links, sessions, settings};
use serde_json::{Value, json};

use crate::hear::Heard;

/// The setting that remembers which password there is.
const PASSWORD: &str = "door.password";

/// Asking twice is asking once: whoever has the secret is given the link that was made for it.
pub(super) fn make_link(
    tx: &mut Tx<'_>,
    actor: &Actor,
    secret: Digest,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    if let Some(made) = links::find(tx.view(), &secret)? {
        return Ok(Heard::told(Answer::Link(made)));
    }
    let link = Link::new(secret, now);
    links::save(tx, &link)?;
    let what = What::LinkMade { expires_at: link.expires_at };
    tx.append(&Event { actor: actor.clone(), ..Event::own(what) }, now)?;
    Ok(Heard::kept(Answer::Link(link)))
}

pub(super) fn follow_link(
    tx: &mut Tx<'_>,
    actor: &Actor,
    link: &Digest,
    secret: Digest,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    let Some(link) = links::find(tx.view(), link)? else {
        return Ok(Heard::refused(Refused::NoLink));
    };
    let opened = match link.session {
        Some(id) => sessions::find(tx.view(), id)?,
        None => None,
    };
    match link.follow(opened.as_ref(), SessionId::new(ids.ulid()), secret, now) {
        Followed::Opened { link, session } => {
            // The link names the session, which must be there first.
            let heard = begin(tx, actor, session, now)?;
            links::save(tx, &link)?;
            Ok(heard)
        }
        Followed::Again { session } => Ok(Heard::told(Answer::Session(session))),
        Followed::Expired => Ok(Heard::refused(Refused::NoLink)),
        Followed::Reused { session, over } => {
            let answer = Answer::LinkReused { session };
            let Some(over) = over else { return Ok(Heard::told(answer)) };
            let reused = Event::own(What::LinkReused { session });
            let cause = tx.append(&Event { actor: actor.clone(), ..reused }, now)?;
            end(tx, actor, &over, Some(cause), now)?;
            Ok(Heard::kept(answer))
        }
    }
}

/// Asking twice is asking once: whoever has the secret is given the session that was opened for it.
pub(super) fn open(
    tx: &mut Tx<'_>,
    actor: &Actor,
    secret: Digest,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    if let Some(opened) = sessions::find_by_secret(tx.view(), &secret)? {
        return Ok(Heard::told(Answer::Session(opened)));
    }
    let id = SessionId::new(ids.ulid());
    begin(tx, actor, Session::new(id, secret, SessionHow::Password, now), now)
}

/// Closing twice is closing once, and so is closing what ended by itself.
pub(super) fn close(
    tx: &mut Tx<'_>,
    actor: &Actor,
    id: SessionId,
    why: OverWhy,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    let Some(session) = sessions::find(tx.view(), id)? else {
        return Ok(Heard::refused(Refused::NoSession));
    };
    let Some(closed) = session.end(why, now) else {
        return Ok(Heard::told(Answer::Session(session)));
    };
    end(tx, actor, &closed, None, now)?;
    Ok(Heard::kept(Answer::Session(closed)))
}

/// Who came in by a password goes with it. That the same one is there still changes nothing.
pub(super) fn password_is(
    tx: &mut Tx<'_>,
    digest: Option<Digest>,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    let said = digest.map_or(Value::Null, |digest| json!(digest.hex()));
    if settings::find(tx.view(), PASSWORD)?.unwrap_or(Value::Null) == said {
        return Ok(Heard::new([]));
    }
    settings::save(tx, PASSWORD, &said)?;
    let changed = Event::own(What::PasswordChanged { set: digest.is_some() });
    let cause = tx.append(&changed, now)?;
    for session in sessions::by_password(tx.view())? {
        if let Some(over) = session.end(OverWhy::Revoked, now) {
            end(tx, &Actor::Cmux, &over, Some(cause), now)?;
        }
    }
    Ok(Heard::new([]))
}

fn begin(
    tx: &mut Tx<'_>,
    actor: &Actor,
    session: Session,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    sessions::save(tx, &session)?;
    let what = What::SessionOpened { session: session.id, how: session.how };
    tx.append(&Event { actor: actor.clone(), ..Event::own(what) }, now)?;
    Ok(Heard::kept(Answer::Session(session)))
}

/// Stores a session that is over, and tells why.
fn end(
    tx: &mut Tx<'_>,
    actor: &Actor,
    session: &Session,
    cause: Option<EventId>,
    now: Timestamp,
) -> Result<(), StoreError> {
    sessions::save(tx, session)?;
    if let Some(over) = session.over {
        let over = Event::own(What::SessionOver { session: session.id, why: over.why });
        tx.append(&Event { actor: actor.clone(), cause, ..over }, now)?;
    }
    Ok(())
}
