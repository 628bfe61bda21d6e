//! Webhooks from end to end: what was signed is stored once, and what was not, not at all.

use std::time::{SystemTime, UNIX_EPOCH};

use cmux_core::digest::Digest;
use cmux_testkit::store::payload;
use serde_json::{Value, json};

use crate::house::House;
use crate::knock::{Answer, Request};

const HUB_SECRET: &str = "It's a Secret to Everybody";

/// `STANDARD_KEY`, as Standard Webhooks writes it.
const STANDARD_SECRET: &str = "whsec_QSBrZXkgb2YgMzIgYnl0ZXMgZm9yIHRlc3RzIG9ubHk=";
const STANDARD_KEY: &[u8] = b"A key of 32 bytes for tests only";

/// How long a block of SHA-256 is, in bytes.
const BLOCK: usize = 64;

#[test]
fn a_delivery_of_github_is_stored_once_and_outlives_a_kill() {
    let house = configured();
    let body = br#"{"action":"opened"}"#;
    let taken = taken(&send(&house, &github("d-1", body)), 201, false);
    is_told(&house, taken, "hub", "d-1", body);
    assert_eq!(house.events(taken - 1)[0]["data"]["event"], "push");

    let house = house.reborn(|_| ());
    let head = house.head();
    assert_eq!(self::taken(&send(&house, &github("d-1", body)), 200, true), taken);
    // Its name is not signed, so the same under another name is the same.
    assert_eq!(self::taken(&send(&house, &github("d-2", body)), 200, true), taken);
    let answer = send(&house, &github("d-1", b"{}"));
    assert_eq!((answer.status, answer.problem().as_str()), (409, "conflict"));
    assert_eq!(house.number("cmux_replay_rejected_total"), 2);
    house.refusal("replayed", "POST", "/api/webhooks/hub");
    assert!(house.kinds(head).iter().all(|kind| kind == "door.refused"));
}

#[test]
fn a_standard_webhook_is_stored_once_and_outlives_a_kill() {
    let house = configured();
    let body = br#"{"type":"invoice.paid"}"#;
    let taken = taken(&send(&house, &standard("msg_1", 0, body)), 201, false);
    is_told(&house, taken, "shop", "msg_1", body);

    let house = house.reborn(|_| ());
    let head = house.head();
    // Sent again, it is signed anew, at another time.
    for ago_s in [0, 60, -60] {
        assert_eq!(self::taken(&send(&house, &standard("msg_1", ago_s, body)), 200, true), taken);
    }
    let answer = send(&house, &standard("msg_1", 0, b"{}"));
    assert_eq!((answer.status, answer.problem().as_str()), (409, "conflict"));
    assert!(house.kinds(head).iter().all(|kind| kind == "door.refused"));
}

#[test]
fn a_delivery_that_is_not_its_sources_own_is_not_taken_and_is_logged() {
    let house = configured();
    let (body, head) = (b"{}", house.head());
    let (hub, shop) = (github("d-1", body), standard("msg_1", 0, body));
    let twice = |request: &Request| Request { body: b"{ }".to_vec(), ..request.clone() };
    for (what, request, status, reason) in [
        ("nothing", without(&hub, "X-Hub-Signature-256"), 401, "missing-signature"),
        ("no name", without(&hub, "X-GitHub-Delivery"), 401, "missing-signature"),
        (
            "a signature of its own kind",
            with(&hub, "X-Hub-Signature-256", "sha1=00"),
            401,
            "malformed-signature",
        ),
        (
            "a wrong signature",
            with(&hub, "X-Hub-Signature-256", &format!("sha256={}", "0".repeat(64))),
            401,
            "wrong-signature",
        ),
        ("another body", twice(&hub), 401, "wrong-signature"),
        (
            "a name with a path in it",
            with(&hub, "X-GitHub-Delivery", "../x"),
            401,
            "malformed-signature",
        ),
        ("nothing", without(&shop, "Webhook-Signature"), 401, "missing-signature"),
        ("no time", without(&shop, "Webhook-Timestamp"), 401, "missing-signature"),
        ("another time", with(&shop, "Webhook-Timestamp", "1"), 401, "wrong-signature"),
        ("another name", with(&shop, "Webhook-Id", "msg_2"), 401, "wrong-signature"),
        ("a dot in its name", with(&shop, "Webhook-Id", "msg.1"), 401, "malformed-signature"),
        ("another body", twice(&shop), 401, "wrong-signature"),
        ("12 minutes ago", standard("msg_1", 720, body), 401, "stale-signature"),
        ("in 12 minutes", standard("msg_1", -720, body), 401, "stale-signature"),
        (
            "the signature of another source",
            Request { path: "/api/webhooks/shop".into(), ..hub.clone() },
            401,
            "missing-signature",
        ),
        (
            "a source that nobody knows",
            Request { path: "/api/webhooks/nobody".into(), ..hub.clone() },
            404,
            "no-webhook",
        ),
    ] {
        let denied = house.number("cmux_auth_denied_total");
        let answer = send(&house, &request);
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        let told = if status == 404 { "not-found" } else { reason };
        assert_eq!(answer.problem(), told, "{what}");
        assert_eq!(house.number("cmux_auth_denied_total"), denied + 1, "{what}");
        house.refusal(reason, "POST", &request.path);
    }
    assert!(house.kinds(head).iter().all(|kind| kind == "door.refused"));
    let log = house.get("/api/events?since=0&limit=1000").to_string() + &house.daemon.said();
    assert!(!log.contains(HUB_SECRET) && !log.contains(STANDARD_SECRET), "a secret was told");
    // None of it has used up the name.
    taken(&send(&house, &hub), 201, false);
    taken(&send(&house, &shop), 201, false);
}

#[test]
fn a_page_cannot_deliver_anything() {
    let house = configured();
    let request = github("d-1", b"{}");
    for (header, said, reason) in [
        ("Origin", "https://evil.example", "foreign-origin"),
        ("Sec-Fetch-Site", "cross-site", "foreign-site"),
        ("Host", "evil.example", "foreign-host"),
    ] {
        let answer = send(&house, &request.clone().with(header, said));
        assert_eq!(answer.problem(), reason);
        house.refusal(reason, "POST", "/api/webhooks/hub");
    }
    taken(&send(&house, &request), 201, false);
}

/// Starts a daemon that takes deliveries of two sources.
fn configured() -> House {
    House::configured(&format!(
        "[webhooks.hub]\nscheme = \"github\"\nsecret = \"{HUB_SECRET}\"\n\
         [webhooks.shop]\nscheme = \"standard\"\nsecret = \"{STANDARD_SECRET}\"\nproject = \"shop-1\"\n"
    ))
}

fn send(house: &House, request: &Request) -> Answer {
    house.port().ask(request)
}

/// Returns the event that a delivery became, having checked how it was taken.
#[track_caller]
fn taken(answer: &Answer, status: u16, duplicate: bool) -> i64 {
    let told = answer.json();
    assert_eq!((answer.status, &told["duplicate"]), (status, &json!(duplicate)), "{answer:?}");
    told["event"].as_i64().unwrap()
}

/// Checks that the event `id` tells of a delivery, and that its body lies beside it.
#[track_caller]
fn is_told(house: &House, id: i64, source: &str, delivery: &str, body: &[u8]) {
    let event = &house.events(id - 1)[0];
    assert_eq!((&event["id"], &event["kind"]), (&json!(id), &json!("webhook.received")));
    assert_eq!(event["actor"], format!("webhook:{source}"));
    let project = if source == "shop" { json!("shop-1") } else { Value::Null };
    assert_eq!(event["project"], project);
    let data = &event["data"];
    assert_eq!((&data["source"], &data["delivery"]), (&json!(source), &json!(delivery)));
    assert_eq!(data["bytes"], body.len());
    let kept = payload(&house.home.root().join("cmux.db"), id);
    assert_eq!(kept.as_deref(), Some(body));
}

/// Returns a delivery as GitHub signs it.
fn github(delivery: &str, body: &[u8]) -> Request {
    let signature = hex(&hmac(HUB_SECRET.as_bytes(), body));
    let request = Request::new("POST", "/api/webhooks/hub").with_json(body);
    request
        .with("X-Hub-Signature-256", &format!("sha256={signature}"))
        .with("X-GitHub-Delivery", delivery)
        .with("X-GitHub-Event", "push")
}

/// Returns a delivery as Standard Webhooks signs it, so many seconds ago.
fn standard(id: &str, ago_s: i64, body: &[u8]) -> Request {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let at = (now_s.cast_signed() - ago_s).to_string();
    let signed = [id.as_bytes(), b".", at.as_bytes(), b".", body].concat();
    let signature = base64(&hmac(STANDARD_KEY, &signed));
    let request = Request::new("POST", "/api/webhooks/shop").with_json(body);
    request
        .with("Webhook-Id", id)
        .with("Webhook-Timestamp", &at)
        .with("Webhook-Signature", &format!("v1,{signature}"))
}

fn without(request: &Request, name: &str) -> Request {
    let mut request = request.clone();
    request.headers.retain(|(it, _)| it != name);
    request
}

fn with(request: &Request, name: &str, value: &str) -> Request {
    without(request, name).with(name, value)
}

/// Returns the HMAC with SHA-256 of `text`, as RFC 2104 has it. No key here is longer than a block.
fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let padded = |pad: u8| -> Vec<u8> {
        (0..BLOCK).map(|n| key.get(n).copied().unwrap_or(0) ^ pad).collect()
    };
    let inner = Digest::of(&[&padded(0x36), text].concat());
    *Digest::of(&[&padded(0x5c), &inner.as_bytes()[..]].concat()).as_bytes()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns `bytes` in base64, as RFC 4648 has it.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| {
        let bits = (0..3).fold(0, |bits, n| bits << 8 | usize::from(*three.get(n).unwrap_or(&0)));
        let letter = |n: usize| match n <= three.len() {
            true => char::from(LETTERS[bits >> (18 - 6 * n) & 63]),
            false => '=',
        };
        (0..4).map(letter).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}
