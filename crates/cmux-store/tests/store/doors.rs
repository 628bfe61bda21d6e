//! What is remembered for the doors: tokens, links, sessions, runs and deliveries.

use std::time::Duration;

use cmux_core::digest::Digest;
use cmux_core::event::{Actor, Event, What};
use cmux_core::id::{AgentId, EventId, RunId, SessionId, TokenId};
use cmux_core::project::ProjectId;
use cmux_core::run::RunToken;
use cmux_core::session::{Link, Over, OverWhy, Session, SessionHow};
use cmux_core::snapshot::SnapshotKind;
use cmux_core::time::Timestamp;
use cmux_core::token::{Token, TokenScope};
use cmux_core::webhook::Taken;
use cmux_store::{
    Store, StoreError, Tx, View, backup, links, payloads, runs, sessions, tokens, webhooks,
};
use rusqlite::ErrorCode;
use serde_json::json;
use ulid::Ulid;

use crate::world::{LATER, NOW, World, all, check_whole, log};

#[test]
fn a_token_is_read_back_in_each_of_its_states() {
    let world = World::new();
    let mut store = world.open();
    let scopes = [TokenScope::Read, TokenScope::Send, TokenScope::Operate];
    for (n, scope) in (1..).zip(scopes) {
        for revoked_at in [None, Some(LATER)] {
            let token = Token { scope, revoked_at, ..token(n, "Ä 'x'; --", Some(LATER)) };
            do_in_turn(&mut store, |tx| tokens::save(tx, &token));
            assert_eq!(tokens::find(store.view(), token.id).unwrap(), Some(token.clone()));
            let by_secret = tokens::find_by_secret(store.view(), &token.secret).unwrap();
            assert_eq!(by_secret, Some(token));
        }
    }
    assert_eq!(tokens::find(store.view(), token_id(9)).unwrap(), None);
    assert_eq!(tokens::find_by_secret(store.view(), &secret(9)).unwrap(), None);
}

#[test]
fn tokens_and_sessions_are_paged_by_id() {
    let world = World::new();
    let mut store = world.open();
    do_in_turn(&mut store, |tx| {
        for n in [3, 1, 2] {
            tokens::save(tx, &token(n, "x", None))?;
            sessions::save(tx, &session(n, NOW))?;
        }
        Ok(())
    });
    for (after, limit, expected) in [(None, 2, 1..3), (Some(2), 2, 3..4), (Some(3), 2, 4..4)] {
        let found = tokens::page(store.view(), after.map(token_id), limit).unwrap();
        let expected_tokens: Vec<Token> = expected.clone().map(|n| token(n, "x", None)).collect();
        assert_eq!(found, expected_tokens);
        let found = sessions::page(store.view(), after.map(session_id), limit).unwrap();
        assert_eq!(found, expected.map(|n| session(n, NOW)).collect::<Vec<_>>());
    }
}

#[test]
fn a_restored_store_lets_nobody_in_whom_a_later_one_has_sent_away() {
    let world = World::new();
    let mut store = world.open();
    do_in_turn(&mut store, |tx| {
        tokens::save(tx, &token(1, "x", None))?;
        sessions::save(tx, &session(1, NOW))?;
        links::save(tx, &Link::new(secret(7), NOW))
    });
    drop(store);
    let (path, backups) = (world.path(), world.backups());
    let (copy, _) = backup::snapshot(&path, &backups, SnapshotKind::Daily, NOW).unwrap();
    backup::restore(&copy, &path, &backups, log(2), LATER).unwrap();
    let store = world.open();
    let over = sessions::find(store.view(), session_id(1)).unwrap().unwrap().over;
    assert_eq!(over.map(|over| over.why), Some(OverWhy::Revoked));
    assert_eq!(links::find(store.view(), &secret(7)).unwrap(), None);
    assert!(tokens::find(store.view(), token_id(1)).unwrap().is_some());
}

#[test]
fn a_session_is_read_back_in_each_of_its_states() {
    let world = World::new();
    let mut store = world.open();
    let ends = [OverWhy::Closed, OverWhy::LinkReused, OverWhy::Revoked];
    for (n, how) in [(1, SessionHow::Link), (2, SessionHow::Password)] {
        let overs = ends.map(|why| Some(Over { at: LATER, why }));
        for over in [None].into_iter().chain(overs) {
            let session = Session { how, over, ..session(n, NOW) };
            do_in_turn(&mut store, |tx| sessions::save(tx, &session));
            assert_eq!(sessions::find(store.view(), session.id).unwrap(), Some(session.clone()));
            let by_secret = sessions::find_by_secret(store.view(), &session.secret).unwrap();
            assert_eq!(by_secret, Some(session));
        }
    }
    assert_eq!(sessions::find(store.view(), session_id(9)).unwrap(), None);
    assert_eq!(sessions::find_by_secret(store.view(), &secret(9)).unwrap(), None);
}

#[test]
fn a_link_is_read_back_before_and_after_it_is_followed() {
    let world = World::new();
    let mut store = world.open();
    do_in_turn(&mut store, |tx| sessions::save(tx, &session(1, NOW)));
    for session in [None, Some(session_id(1))] {
        let link = Link { session, ..Link::new(secret(7), NOW) };
        do_in_turn(&mut store, |tx| links::save(tx, &link));
        assert_eq!(links::find(store.view(), &link.secret).unwrap(), Some(link));
    }
    assert_eq!(links::find(store.view(), &secret(9)).unwrap(), None);
}

#[test]
fn a_run_s_token_ends_with_its_run_and_keeps_its_end() {
    let world = World::new();
    let mut store = world.open();
    for n in 1..=3 {
        do_in_turn(&mut store, |tx| runs::save(tx, &run_token(n)));
    }
    let ended_at = |store: &Store, n| {
        let found = runs::find(store.view(), &secret(n)).unwrap().unwrap();
        assert_eq!(found, RunToken { ended_at: found.ended_at, ..run_token(n) });
        found.ended_at
    };
    for at in [LATER, Timestamp(LATER.0 + 1)] {
        do_in_turn(&mut store, |tx| runs::end(tx, run_token(2).run, at));
        assert_eq!((ended_at(&store, 1), ended_at(&store, 2)), (None, Some(LATER)));
    }
    let ended = run_token(3).end(NOW).unwrap();
    do_in_turn(&mut store, |tx| runs::save(tx, &ended));
    assert_eq!(ended_at(&store, 3), Some(NOW));
    assert_eq!(runs::find(store.view(), &secret(9)).unwrap(), None);
    assert_eq!(runs::oldest(store.view()).unwrap(), Some(NOW));
    // One whose run goes on is never forgotten.
    do_in_turn(&mut store, |tx| runs::prune(tx, Timestamp(i64::MAX), 9).map(drop));
    assert_eq!(runs::oldest(store.view()).unwrap(), None);
    assert_eq!(ended_at(&store, 1), None);
}

#[test]
fn a_delivery_is_found_by_its_name_and_by_its_body() {
    let world = World::new();
    let mut store = world.open();
    let old = taken("hub", "1", 1, NOW);
    let new = Taken { event: EventId(8), ..taken("hub", "2", 1, LATER) };
    for it in [&new, &old] {
        do_in_turn(&mut store, |tx| webhooks::save(tx, it));
    }
    let by_name = |store: &Store, source, name| webhooks::find(store.view(), source, name).unwrap();
    let by_body = |store: &Store, source, n| {
        webhooks::find_by_body(store.view(), source, &secret(n)).unwrap()
    };
    assert_eq!(by_name(&store, "hub", "1"), Some(old));
    assert_eq!((by_name(&store, "hub", "3"), by_name(&store, "lab", "1")), (None, None));
    assert_eq!(by_body(&store, "hub", 1), Some(new));
    assert_eq!((by_body(&store, "hub", 2), by_body(&store, "lab", 1)), (None, None));
    // What is long forgotten makes room for what has its name.
    let again = taken("hub", "1", 2, LATER);
    do_in_turn(&mut store, |tx| webhooks::save(tx, &again));
    assert_eq!(by_name(&store, "hub", "1"), Some(again));
}

#[test]
fn what_is_over_goes_oldest_first_and_in_portions() {
    let world = World::new();
    let mut store = world.open();
    let at = |n: u128| NOW + Duration::from_hours(u64::try_from(n).unwrap());
    do_in_turn(&mut store, |tx| {
        for n in [4, 2, 1, 3] {
            let closed = Some(Over { at: at(n), why: OverWhy::Closed });
            sessions::save(tx, &Session { over: closed, ..session(n, NOW) })?;
            links::save(tx, &Link { expires_at: at(n), ..Link::new(secret(n), NOW) })?;
            runs::save(tx, &RunToken { ended_at: Some(at(n)), ..run_token(n) })?;
            webhooks::save(tx, &taken("hub", &n.to_string(), n, at(n)))?;
            payloads::keep(tx, &n.to_be_bytes(), at(n))?;
        }
        // It is good for a month, and then some.
        sessions::save(tx, &session(5, NOW))
    });
    let (prunes, oldests): ([Prune; 5], [Oldest; 5]) = (
        [sessions::prune, links::prune, runs::prune, webhooks::prune, payloads::prune],
        [sessions::oldest, links::oldest, runs::oldest, webhooks::oldest, payloads::oldest],
    );
    for (prune, oldest) in prunes.into_iter().zip(oldests) {
        for (before, limit, rows, left) in
            [(at(1), 9, 0, at(1)), (at(4), 2, 2, at(3)), (at(4), 2, 1, at(4)), (at(4), 2, 0, at(4))]
        {
            assert_eq!(store.turn(|tx| prune(tx, before, limit)).unwrap(), rows);
            assert_eq!(oldest(store.view()).unwrap(), Some(left));
        }
    }
    assert!(sessions::find(store.view(), session_id(5)).unwrap().is_some());
}

#[test]
fn an_event_names_the_payload_that_is_laid_beside_it() {
    let world = World::new();
    let mut store = world.open();
    let received = What::WebhookReceived {
        source: "hub".to_owned(),
        delivery: "1".to_owned(),
        event: Some("push".to_owned()),
        content_type: None,
        bytes: 4,
    };
    let actor = Actor::Webhook("hub".to_owned());
    let event = Event { actor, ..Event::own(received) };
    // The same body is kept once, and both events name it.
    for at in [NOW, LATER] {
        store.turn(|tx| tx.append_with(&event, b"body", at)).unwrap();
    }
    let rows = all(store.view());
    let digest = *Digest::of(b"body").as_bytes();
    assert!(rows.iter().all(|row| row.payload == Some(digest) && row.actor == "webhook:hub"));
    assert_eq!(payloads::find(store.view(), &digest).unwrap().as_deref(), Some(&b"body"[..]));
    assert_eq!(payloads::oldest(store.view()).unwrap(), Some(LATER));
    check_whole(&world, 2);
    // An event that comes to nothing leaves no payload either.
    let failed = store.turn(|tx| {
        tx.append_with(&event, b"other", NOW)?;
        Err::<(), _>(StoreError::Full)
    });
    assert!(failed.is_err());
    let other = Digest::of(b"other");
    assert_eq!(payloads::find(store.view(), other.as_bytes()).unwrap(), None);
}

#[test]
fn what_happens_at_the_doors_is_told_by_name_and_actor() {
    let world = World::new();
    let mut store = world.open();
    let (token, session) = (token_id(1), session_id(2));
    let (tok, ses) = (token.to_string(), session.to_string());
    let agent = run_token(1).agent;
    let expires_at = Timestamp(1_767_225_600_007);
    let (scope, name) = (TokenScope::Send, "ci".to_owned());
    let refused = What::DoorRefused {
        reason: "no token".to_owned(),
        door: "port".to_owned(),
        method: "GET".to_owned(),
        path: "/api/agents".to_owned(),
        from: "127.0.0.1".to_owned(),
        count: 3,
    };
    let said = [
        (
            What::TokenCreated { token, name: name.clone(), scope, expires_at: Some(expires_at) },
            Actor::Operator,
            ("token.created", "operator", Some(format!("token:{tok}"))),
            json!({"token": tok, "name": "ci", "scope": "send", "expires_at": "2026-01-01T00:00:00.007Z"}),
        ),
        (
            What::TokenRevoked { token, name },
            Actor::Token(token),
            ("token.revoked", tok.as_str(), Some(format!("token:{tok}"))),
            json!({"token": tok, "name": "ci"}),
        ),
        (
            What::LinkMade { expires_at },
            Actor::Operator,
            ("link.made", "operator", None),
            json!({"expires_at": "2026-01-01T00:00:00.007Z"}),
        ),
        (
            What::LinkReused { session },
            Actor::Cmux,
            ("link.reused", "cmux", Some(format!("session:{ses}"))),
            json!({"session": ses}),
        ),
        (
            What::SessionOpened { session, how: SessionHow::Password },
            Actor::Agent(agent),
            ("session.opened", &agent.to_string(), Some(format!("session:{ses}"))),
            json!({"session": ses, "how": "password"}),
        ),
        (
            What::SessionOver { session, why: OverWhy::LinkReused },
            Actor::Cmux,
            ("session.over", "cmux", Some(format!("session:{ses}"))),
            json!({"session": ses, "why": "link_reused"}),
        ),
        (
            refused,
            Actor::Cmux,
            ("door.refused", "cmux", None),
            json!({"reason": "no token", "door": "port", "method": "GET", "path": "/api/agents",
                   "from": "127.0.0.1", "count": 3}),
        ),
    ];
    for (what, actor, (kind, by, subject), data) in said {
        let event = Event { actor, ..Event::own(what) };
        do_in_turn(&mut store, |tx| tx.append(&event, NOW).map(drop));
        let row = all(store.view()).pop().unwrap();
        assert_eq!((row.kind.as_str(), row.actor.as_str(), row.subject), (kind, by, subject));
        assert_eq!(row.data.parse::<serde_json::Value>().unwrap(), data);
    }
    check_whole(&world, 7);
}

#[test]
fn a_row_of_the_doors_cannot_hold_what_the_core_cannot_express() {
    let world = World::new();
    drop(world.open());
    let db = world.raw();
    db.pragma_update(None, "foreign_keys", true).unwrap();
    let whole = "zeroblob(32)";
    for sql in [
        format!("INSERT INTO tokens VALUES ('a', 'x', 'admin', {whole}, 0, NULL, NULL)"),
        "INSERT INTO tokens VALUES ('a', 'x', 'read', zeroblob(31), 0, NULL, NULL)".to_owned(),
        format!("INSERT INTO sessions VALUES ('a', {whole}, 'guess', 0, 0, NULL, NULL)"),
        format!("INSERT INTO sessions VALUES ('a', {whole}, 'link', 0, 0, 1, NULL)"),
        format!("INSERT INTO sessions VALUES ('a', {whole}, 'link', 0, 0, NULL, 'closed')"),
        format!("INSERT INTO sessions VALUES ('a', {whole}, 'link', 0, 0, 1, 'bored')"),
        format!("INSERT INTO links VALUES ({whole}, 0, 0, 'nobody')"),
        "INSERT INTO links VALUES (zeroblob(33), 0, 0, NULL)".to_owned(),
        "INSERT INTO run_tokens VALUES (zeroblob(1), 'a', 'b', 'c', 0, NULL)".to_owned(),
        "INSERT INTO webhooks VALUES ('a', 'b', zeroblob(1), 1, 1)".to_owned(),
    ] {
        let code = db.execute(&sql, []).unwrap_err().sqlite_error_code();
        assert_eq!(code, Some(ErrorCode::ConstraintViolation), "{sql}");
    }
    for sql in [
        format!("INSERT INTO tokens VALUES ('a', 'x', 'read', {whole}, 0, NULL, NULL)"),
        format!("INSERT INTO sessions VALUES ('a', {whole}, 'link', 0, 0, 1, 'closed')"),
        format!("INSERT INTO links VALUES ({whole}, 0, 0, 'a')"),
        format!("INSERT INTO run_tokens VALUES ({whole}, 'a', 'b', 'c', 0, NULL)"),
        format!("INSERT INTO webhooks VALUES ('a', 'b', {whole}, 1, 1)"),
    ] {
        db.execute(&sql, []).unwrap();
    }
}

type Prune = fn(&Tx<'_>, Timestamp, u32) -> Result<u64, StoreError>;
type Oldest = fn(View<'_>) -> Result<Option<Timestamp>, StoreError>;

/// Puts a row into each of the doors' tables.
pub(crate) fn furnish(tx: &Tx<'_>) -> Result<(), StoreError> {
    tokens::save(tx, &token(1, "x", None))?;
    sessions::save(tx, &session(1, NOW))?;
    links::save(tx, &Link { session: Some(session_id(1)), ..Link::new(secret(1), NOW) })?;
    runs::save(tx, &run_token(1))?;
    webhooks::save(tx, &taken("hub", "1", 1, NOW))
}

/// Returns of which of the doors' tables the row is there that `furnish` put into it.
pub(crate) fn found(view: View<'_>) -> [(&'static str, bool); 5] {
    [
        ("tokens", tokens::find(view, token_id(1)).unwrap() == Some(token(1, "x", None))),
        ("sessions", sessions::find(view, session_id(1)).unwrap() == Some(session(1, NOW))),
        ("links", links::find(view, &secret(1)).unwrap().is_some()),
        ("run_tokens", runs::find(view, &secret(1)).unwrap() == Some(run_token(1))),
        ("webhooks", webhooks::find(view, "hub", "1").unwrap().is_some()),
    ]
}

/// Checks that all of it was saved but for what the `damage`, `UPDATE table …`, was done to.
#[track_caller]
pub(crate) fn check_salvaged(view: View<'_>, damage: &str) {
    let damaged = damage.split(' ').nth(1).unwrap_or_default();
    for (table, found) in found(view) {
        // A link whose session is lost is of no use.
        let is_lost = table == damaged || (table, damaged) == ("links", "sessions");
        assert_eq!(found, !is_lost, "{damage}: {table}");
    }
}

fn token(n: u128, name: &str, expires_at: Option<Timestamp>) -> Token {
    Token::new(token_id(n), name, TokenScope::Read, secret(n), expires_at, NOW).unwrap()
}

fn session(n: u128, now: Timestamp) -> Session {
    Session::new(session_id(n), secret(n), SessionHow::Link, now)
}

fn run_token(n: u128) -> RunToken {
    let (run, agent) = (RunId::new(Ulid::from(n)), AgentId::new(Ulid::from(100 + n)));
    RunToken::new(secret(n), run, agent, ProjectId::of("/a"), NOW)
}

fn taken(source: &str, delivery: &str, body: u128, at: Timestamp) -> Taken {
    let (source, delivery) = (source.to_owned(), delivery.to_owned());
    Taken { source, delivery, digest: secret(body), event: EventId(7), at }
}

fn token_id(n: u128) -> TokenId {
    TokenId::new(Ulid::from(n))
}

fn session_id(n: u128) -> SessionId {
    SessionId::new(Ulid::from(n))
}

fn secret(n: u128) -> Digest {
    Digest::of(&n.to_be_bytes())
}

#[track_caller]
fn do_in_turn(store: &mut Store, work: impl FnOnce(&mut Tx<'_>) -> Result<(), StoreError>) {
    store.turn(work).unwrap();
}
