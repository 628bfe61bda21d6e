//! Who is let in and what is delivered, asked of the kernel: each is answered, stored and told once, and
//! cleared away when its time is over.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use cmux_core::digest::Digest;
use cmux_core::event::Actor;
use cmux_core::id::{EventId, LogId, NewIds, SessionId, TokenId};
use cmux_core::plan::doors::CLEAR_MAX;
use cmux_core::plan::payloads::PRUNE_MAX;
use cmux_core::report::{Answer, Ask, Refused, Report};
use cmux_core::session::{
    LINK_TTL, Link, OverWhy, SESSION_KEEP, SESSION_TTL, Session, SessionHow, SessionStanding,
};
use cmux_core::settings::{Settings, StoreSettings};
use cmux_core::time::Timestamp;
use cmux_core::token::{BadToken, Token, TokenScope, TokenStanding};
use cmux_core::webhook::{REPLAY_WINDOW, Webhook};
use cmux_daemon::kernel::{Denied, Kernel};
use cmux_store::events::{self, Filter, Row};
use cmux_store::{
    Reader, Store, StoreError, View, links, payloads, sessions, settings, tokens, webhooks,
};
use tempfile::TempDir;
use ulid::Ulid;

const NOW: Timestamp = Timestamp(1_767_225_600_000);

#[test]
fn a_token_is_made_once_and_revoked_once() {
    let mut door = Door::new();
    let made = door.token(create("ci", None));
    assert_eq!(made.standing(NOW), TokenStanding::Good);
    assert_eq!(door.token(create("ci", None)), made);
    let taken = Err(Denied::Refused(Refused::BadToken(BadToken::SecretTaken)));
    assert_eq!(door.ask(create("other", None)), taken);
    door.now = NOW + Duration::from_secs(5);
    let revoked = door.token(Ask::RevokeToken { id: made.id });
    assert_eq!(revoked.standing(door.now), TokenStanding::Revoked { at: door.now });
    door.now = NOW + Duration::from_secs(9);
    assert_eq!(door.token(Ask::RevokeToken { id: made.id }), revoked);
    // Whoever asks for it again is not given another.
    assert_eq!(door.token(create("ci", None)), revoked);
    assert_eq!(door.told(), ["token.created by operator", "token.revoked by operator"]);
    assert_eq!(door.read(|view| tokens::page(view, None, 9)), [revoked]);
}

#[test]
fn what_is_refused_stores_nothing() {
    let mut door = Door::new();
    let bad = |why| Refused::BadToken(why);
    let (token, session) = (TokenId::new(Ulid::from(7_u128)), SessionId::new(Ulid::from(7_u128)));
    let long = Webhook { delivery: "x".repeat(1_000), ..webhook("1", "body") };
    for (ask, expected) in [
        (create("", None), bad(BadToken::Name)),
        (create("x", Some(Duration::ZERO)), bad(BadToken::ExpiresInThePast)),
        (create("x", Some(Duration::MAX)), bad(BadToken::ExpiresTooLate)),
        (Ask::RevokeToken { id: token }, Refused::NoToken(token)),
        (follow("a"), Refused::NoLink),
        (Ask::CloseSession { id: session, why: OverWhy::Closed }, Refused::NoSession),
        (Ask::TakeWebhook { webhook: long.clone() }, long.check().unwrap_err().into()),
    ] {
        assert_eq!(door.ask(ask.clone()), Err(Denied::Refused(expected)), "{ask:?}");
    }
    assert_eq!(door.told(), [""; 0]);
}

#[test]
fn a_link_lets_one_browser_in() {
    let mut door = Door::new();
    let made = door.ask(make_link());
    assert_eq!(made, Ok(Answer::Link(Link::new(Digest::of(b"link"), NOW))));
    assert_eq!(door.ask(make_link()), made);
    let session = door.session(follow("a"));
    assert_eq!((session.how, session.standing(NOW)), (SessionHow::Link, SessionStanding::Good));
    // Whoever had no answer asks again.
    assert_eq!(door.session(follow("a")), session);
    for _ in 0..2 {
        let reused = Ok(Answer::LinkReused { session: session.id });
        assert_eq!(door.ask(follow("b")), reused);
    }
    let over = door.session(follow("a")).over.unwrap();
    assert_eq!(over.why, OverWhy::LinkReused);
    let told = ["link.made", "session.opened", "link.reused", "session.over"];
    assert_eq!(door.told(), told.map(|kind| format!("{kind} by operator")));
    let rows = door.rows();
    let [.., reused, over] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(over.cause, Some(reused.id.to_string()));
}

#[test]
fn a_link_whose_time_is_over_lets_nobody_in() {
    let mut door = Door::new();
    door.ask(make_link()).unwrap();
    door.now = NOW + LINK_TTL;
    let refused = door.ask(follow("a")).unwrap_err();
    assert_eq!(refused, Denied::Refused(Refused::NoLink));
    assert!(refused.to_string().contains("`cmux open` makes another"), "{refused}");
    assert_eq!(door.told(), ["link.made by operator"]);
}

#[test]
fn a_session_by_password_is_opened_once_and_closed_once() {
    let mut door = Door::new();
    let open = Ask::OpenSession { secret: Digest::of(b"a") };
    let opened = door.session(open.clone());
    assert_eq!(opened.how, SessionHow::Password);
    assert_eq!(door.session(open.clone()), opened);
    let closed = door.session(Ask::CloseSession { id: opened.id, why: OverWhy::Closed });
    assert_eq!(closed.over.map(|over| over.why), Some(OverWhy::Closed));
    door.now = NOW + Duration::from_secs(1);
    assert_eq!(door.session(Ask::CloseSession { id: opened.id, why: OverWhy::Closed }), closed);
    assert_eq!(door.session(open), closed);
    assert_eq!(door.told(), ["session.opened by operator", "session.over by operator"]);
}

#[test]
fn a_delivery_is_told_once_and_its_body_laid_beside() {
    let mut door = Door::new();
    let take = |delivery, body| Ask::TakeWebhook { webhook: webhook(delivery, body) };
    let Ok(Answer::Webhook { event, duplicate: false }) = door.ask(take("1", "body")) else {
        panic!("it was not taken");
    };
    let again = Ok(Answer::Webhook { event, duplicate: true });
    for delivery in ["1", "2"] {
        assert_eq!(door.ask(take(delivery, "body")), again);
    }
    let conflict = Err(Denied::Refused(Refused::WebhookConflict));
    assert_eq!(door.ask(take("1", "other")), conflict);
    // What was only said to be another one takes nobody's name.
    assert!(matches!(door.ask(take("2", "new")), Ok(Answer::Webhook { duplicate: false, .. })));
    door.now = NOW + REPLAY_WINDOW;
    let anew = door.ask(take("1", "body"));
    assert!(matches!(anew, Ok(Answer::Webhook { duplicate: false, .. })), "{anew:?}");
    assert_eq!(door.told(), ["webhook.received by webhook:hub"; 3]);
    for (row, body) in door.rows().iter().zip(["body", "new", "body"]) {
        let kept = door.read(|view| payloads::find(view, &row.payload.unwrap()));
        assert_eq!(kept.as_deref(), Some(body.as_bytes()));
    }
}

#[test]
fn a_probe_is_written_and_nothing_else_is() {
    let mut door = Door::new();
    let wake_at = door.turn(&[]).1;
    assert_eq!(door.turn(&[Report::Probe]), (vec![Ok(Answer::Heard)], wake_at));
    let probed_at = door.read(|view| settings::find(view, "health.probed_at"));
    assert_eq!(probed_at, Some(NOW.0.into()));
    assert_eq!(door.told(), [""; 0]);
}

#[test]
fn what_is_kept_is_woken_for_when_its_time_is_over() {
    let open = Ask::OpenSession { secret: Digest::of(b"a") };
    let deliver = Ask::TakeWebhook { webhook: webhook("1", "body") };
    for (ask, kept_for) in
        [(make_link(), LINK_TTL), (open, SESSION_TTL + SESSION_KEEP), (deliver, REPLAY_WINDOW)]
    {
        let mut door = Door::new();
        let asked = Report::Asked { actor: Actor::Operator, ask: ask.clone() };
        let wake_at = door.turn(&[asked]).1.unwrap();
        assert!(wake_at >= NOW + kept_for, "{ask:?}: {wake_at:?}");
        assert!(wake_at <= NOW + kept_for + Duration::from_hours(1), "{ask:?}: {wake_at:?}");
    }
}

#[test]
fn what_is_over_is_cleared_away_a_portion_a_turn() {
    let count = 2 * u128::from(CLEAR_MAX) + 100;
    let mut door = Door::furnished(|tx| {
        for n in 0..count {
            let secret = Digest::of(&n.to_be_bytes());
            let session =
                Session::new(SessionId::new(Ulid::from(n)), secret, SessionHow::Link, NOW);
            sessions::save(tx, &session)?;
            links::save(tx, &Link { session: Some(session.id), ..Link::new(secret, NOW) })?;
            let webhook = webhook(&n.to_string(), &n.to_string());
            webhooks::save(tx, &webhook.taken(EventId(1), NOW))?;
        }
        Ok(())
    });
    // Nothing goes as long as it counts for something.
    door.now = NOW + LINK_TTL;
    assert_eq!(door.turns_until_done(), 1);
    assert_eq!(door.read(links::oldest), Some(NOW + LINK_TTL));
    door.now = NOW + REPLAY_WINDOW + Duration::from_hours(1);
    assert_eq!(door.turns_until_done(), 4);
    assert_eq!((door.read(links::oldest), door.read(webhooks::oldest)), (None, None));
    assert_eq!(door.read(sessions::oldest), Some(NOW + SESSION_TTL));
    door.now = NOW + SESSION_TTL + SESSION_KEEP + Duration::from_hours(1);
    assert_eq!(door.turns_until_done(), 4);
    assert_eq!(door.read(sessions::oldest), None);
}

#[test]
fn payloads_go_a_portion_a_turn_and_each_is_told() {
    let mut door = Door::furnished(|tx| {
        let bodies = 0..PRUNE_MAX + 20;
        bodies.into_iter().try_for_each(|n| payloads::keep(tx, &n.to_be_bytes(), NOW).map(drop))
    });
    let keep = Settings::default().store.payloads_keep;
    door.now = NOW + keep + Duration::from_hours(25);
    assert_eq!(door.turns_until_done(), 3);
    assert_eq!(door.read(payloads::oldest), None);
    let told: Vec<String> = door.rows().into_iter().map(|row| row.data).collect();
    assert_eq!(told, [format!(r#"{{"rows":{PRUNE_MAX}}}"#), r#"{"rows":20}"#.to_owned()]);
}

fn create(name: &str, lasts: Option<Duration>) -> Ask {
    let (secret, name) = (Digest::of(b"token"), name.to_owned());
    Ask::CreateToken { secret, name, scope: TokenScope::Send, lasts }
}

fn make_link() -> Ask {
    Ask::MakeLink { secret: Digest::of(b"link") }
}

fn follow(who: &str) -> Ask {
    Ask::FollowLink { link: Digest::of(b"link"), session: Digest::of(who.as_bytes()) }
}

fn webhook(delivery: &str, body: &str) -> Webhook {
    Webhook {
        is_name_signed: false,
        source: "hub".to_owned(),
        delivery: delivery.to_owned(),
        event: None,
        project: None,
        content_type: Some("application/json".to_owned()),
        digest: Digest::of(body.as_bytes()),
        body: body.as_bytes().to_vec(),
    }
}

/// A kernel of its own, and the time.
struct Door {
    folder: TempDir,
    kernel: Kernel,
    now: Timestamp,
    ids: Ids,
    /// The newest event of the start.
    start: EventId,
}

impl Door {
    fn new() -> Door {
        Door::furnished(|_| Ok(()))
    }

    /// Returns a kernel on a store with something in it already.
    fn furnished(furnish: impl FnOnce(&mut cmux_store::Tx<'_>) -> Result<(), StoreError>) -> Door {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cmux.db");
        let mut ids = Ids(1_000_000);
        let log = LogId::new(ids.ulid());
        let mut store = Store::open(&path, folder.path(), log, NOW).unwrap().0;
        store.turn(furnish).unwrap();
        let started =
            Report::Started { version: "1".to_owned(), pid: 1, guarded: false, news: Vec::new() };
        // Copies of the store are another story.
        let snapshot_every = Duration::from_hours(24 * 3_650);
        let settings = StoreSettings { snapshot_every, ..Settings::default().store };
        let mut kernel = Kernel::new(store, settings, started);
        kernel.turn(&[], NOW, &mut ids).unwrap();
        let start = kernel.head().0;
        Door { folder, kernel, now: NOW, ids, start }
    }

    fn turn(&mut self, reports: &[Report]) -> (Vec<Result<Answer, Denied>>, Option<Timestamp>) {
        let turn = self.kernel.turn(reports, self.now, &mut self.ids).unwrap();
        assert_eq!(turn.left, []);
        (turn.answers, turn.wake_at)
    }

    /// Turns until nothing more is due, and returns how many turns that took.
    fn turns_until_done(&mut self) -> usize {
        let mut turns = 1;
        while self.turn(&[]).1 <= Some(self.now) {
            turns += 1;
            assert!(turns < 20, "it never ends");
        }
        turns
    }

    fn ask(&mut self, ask: Ask) -> Result<Answer, Denied> {
        self.turn(&[Report::Asked { actor: Actor::Operator, ask }]).0.remove(0)
    }

    #[track_caller]
    fn token(&mut self, ask: Ask) -> Token {
        match self.ask(ask) {
            Ok(Answer::Token(token)) => token,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn session(&mut self, ask: Ask) -> Session {
        match self.ask(ask) {
            Ok(Answer::Session(session)) => session,
            other => panic!("{other:?}"),
        }
    }

    /// Returns what the log tells since the start, and by whom.
    fn told(&self) -> Vec<String> {
        self.rows().iter().map(|row| format!("{} by {}", row.kind, row.actor)).collect()
    }

    fn rows(&self) -> Vec<Row> {
        let any = Filter::default();
        self.read(|view| events::after(view, self.start, 100, &any))
    }

    fn read<T>(&self, work: impl FnOnce(View<'_>) -> Result<T, StoreError>) -> T {
        Reader::open(&self.path()).unwrap().read(work).unwrap()
    }

    fn path(&self) -> PathBuf {
        Path::new(self.folder.path()).join("cmux.db")
    }
}

/// Names things by counting.
struct Ids(u128);

impl NewIds for Ids {
    fn ulid(&mut self) -> Ulid {
        self.0 += 1;
        Ulid::from(self.0)
    }
}
