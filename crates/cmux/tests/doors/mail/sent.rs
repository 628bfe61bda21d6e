//! What the person and their scripts send, and how it is told.

use serde_json::{Value, json};

use super::{add, have, said, send, show, text};
use crate::house::House;
use crate::knock::Request;

#[test]
fn a_message_is_taken_and_told_with_what_it_waits_for() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    let id = add(&house, &project, "worker");
    let sent = house.ask(&send(&json!({ "to": "worker", "body": "one\ntwo", "ttl_s": 600 })), 201);
    for (field, expected) in [
        ("project", json!(project)),
        ("from", json!("user")),
        ("to", json!("worker")),
        ("kind", json!("user")),
        ("body", json!("one\ntwo")),
        ("body_bytes", json!(7)),
        ("body_cut", json!(false)),
        ("reply_to", Value::Null),
        ("task", Value::Null),
        ("data", Value::Null),
        ("state", json!("queued")),
        ("waiting_for", json!("stopped")),
        ("attempts", json!(0)),
        ("reason", Value::Null),
        ("evidence", Value::Null),
        ("delivered_at", Value::Null),
        ("read_at", Value::Null),
        ("thread", sent["id"].clone()),
    ] {
        assert_eq!(sent[field], expected, "{field}: {sent}");
    }
    assert!(sent["created_at"].is_string() && sent["expires_at"].is_string(), "{sent}");
    assert_eq!(house.ask(&show(&sent), 200), sent);
    assert_eq!(house.get(&format!("/api/agents/{id}"))["queue"], 1);
    assert_eq!(house.get("/api/agents")["agents"][0]["queue"], 1);
    let status = house.get("/api/status");
    let mail = &status["mail"];
    assert_eq!((&mail["waiting"], &mail["unread"]), (&json!(1), &json!(0)), "{status}");
    assert_eq!(mail["oldest_at"], sent["created_at"], "{status}");
    assert_eq!(mail["counted"]["delivered"], json!([]), "{status}");
    let told = house.get("/api/events?kind=message.&limit=10")["events"][0].clone();
    assert_eq!((&told["kind"], &told["agent"]), (&json!("message.queued"), &json!(id)));
    assert!(!told.to_string().contains("two"), "what is said is not for the log: {told}");

    let later = house.ask(&send(&json!({ "to": id, "body": "three", "kind": "task" })), 201);
    assert_eq!((&later["kind"], &later["waiting_for"]), (&json!("task"), &json!("stopped")));
    let taken = house.ask(&have(&sent, "cancel"), 200);
    assert_eq!((&taken["state"], &taken["waiting_for"]), (&json!("cancelled"), &Value::Null));
    assert_eq!(house.ask(&have(&sent, "retry"), 200)["state"], "queued");
    assert_eq!(said(&house.get("/api/messages?to=worker")), ["one\ntwo", "three"]);
}

#[test]
fn the_same_key_is_the_same_message() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    add(&house, &project, "worker");
    let new = json!({ "to": "worker", "body": "once", "key": "k-1" });
    let sent = house.ask(&send(&new), 201);
    assert_eq!(house.ask(&send(&new), 200)["id"], sent["id"]);
    let bare = json!({ "to": "worker", "body": "once" });
    let by_header = send(&bare).with("Idempotency-Key", "k-1");
    assert_eq!(house.ask(&by_header, 200)["id"], sent["id"]);
    assert_eq!(house.ask(&send(&new).with("Idempotency-Key", "k-1"), 200)["id"], sent["id"]);
    let other = json!({ "to": "worker", "body": "twice", "key": "k-1" });
    let refused = house.socket().ask(&send(&other));
    assert_eq!((refused.status, refused.problem().as_str()), (409, "conflict"));
    let both = house.socket().ask(&send(&new).with("Idempotency-Key", "k-2"));
    assert_eq!((both.status, both.problem().as_str()), (400, "bad-request"));
    // A script's keys are its own.
    let secret = house.token("send", None).secret;
    let script = house.port().ask(&send(&other).with_token(&secret));
    assert_eq!(script.status, 201, "{script:?}");
    assert_eq!(said(&house.get("/api/messages?to=worker")), ["twice", "once"]);
}

#[test]
fn mail_to_the_person_is_delivered_when_it_is_stored_and_read_when_they_say_so() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    let new = json!({ "to": "user", "body": "look at this", "project": project, "ttl_s": 5 });
    let secret = house.token("send", None).secret;
    let sent = house.port().ask(&send(&new).with_token(&secret));
    assert_eq!(sent.status, 201, "{sent:?}");
    let sent = sent.json();
    assert_eq!((&sent["state"], &sent["evidence"]), (&json!("delivered"), &json!("stored")));
    assert_eq!((&sent["to"], &sent["expires_at"]), (&json!("user"), &Value::Null));
    assert!(sent["delivered_at"].is_string() && sent["read_at"].is_null(), "{sent}");
    assert_eq!(house.get("/api/status")["mail"]["unread"], 1);
    assert_eq!(said(&house.get("/api/messages?to=user&unread=true")), ["look at this"]);
    let refused = house.port().ask(&have(&sent, "read").with_token(&secret));
    assert_eq!((refused.status, refused.problem().as_str()), (403, "not-allowed"));
    assert!(house.ask(&have(&sent, "read"), 200)["read_at"].is_string());
    assert!(house.ask(&have(&sent, "read"), 200)["read_at"].is_string());
    assert_eq!(said(&house.get("/api/messages?to=user&unread=true")), [""; 0]);
    assert_eq!(said(&house.get("/api/messages?to=user")), ["look at this"]);
    assert_eq!(house.get("/api/status")["mail"]["unread"], 0);
}

#[test]
fn a_script_speaks_by_its_tokens_name_and_takes_back_its_own() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    add(&house, &project, "worker");
    let new = json!({ "scope": "send", "name": "ci" }).to_string();
    let made = house.ask(&Request::new("POST", "/api/tokens").with_json(new), 201);
    let secret = text(&made["secret"]);
    let ask = |request: Request| house.port().ask(&request.with_token(&secret));
    let sent = ask(send(&json!({ "to": "worker", "body": "red" }))).json();
    assert_eq!((&sent["from"], &sent["kind"]), (&json!("script:ci"), &json!("status")), "{sent}");
    let persons = house.ask(&send(&json!({ "to": "worker", "body": "mine" })), 201);
    for (request, status) in [
        (show(&persons), 200),
        (have(&persons, "cancel"), 403),
        (have(&persons, "retry"), 403),
        (have(&sent, "cancel"), 200),
        (send(&json!({ "to": "worker", "body": "b", "kind": "user" })), 403),
        (send(&json!({ "to": "worker", "body": "b", "interrupt": true })), 403),
    ] {
        let answer = ask(request.clone());
        assert_eq!(answer.status, status, "{request:?}: {answer:?}");
    }
    let read = house.token("read", None).secret;
    let refused =
        house.port().ask(&send(&json!({ "to": "worker", "body": "b" })).with_token(&read));
    assert_eq!((refused.status, refused.problem().as_str()), (403, "not-allowed"));
    assert_eq!(said(&house.get("/api/messages?from=script:ci")), ["red"]);
    assert_eq!(said(&house.get("/api/messages?state=queued")), ["mine"]);
    // Whoever sent it reads no mail, so an answer needs somebody else.
    let answer = json!({ "reply_to": sent["id"], "body": "thanks" });
    let refused = house.socket().ask(&send(&answer));
    assert_eq!((refused.status, refused.detail().contains("reads no mail")), (400, true));
}

#[test]
fn pages_are_newest_first_and_join() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    let id = add(&house, &project, "worker");
    for n in 1..=5 {
        house.ask(&send(&json!({ "to": "worker", "body": n.to_string() })), 201);
    }
    let first = house.get("/api/messages?limit=2");
    assert_eq!(said(&first), ["5", "4"]);
    let second = house.get(&format!("/api/messages?limit=3&cursor={}", text(&first["next"])));
    assert_eq!(said(&second), ["3", "2", "1"]);
    let third = house.get(&format!("/api/messages?limit=3&cursor={}", text(&second["next"])));
    assert_eq!((said(&third), &third["next"]), (vec![], &Value::Null));
    for (query, count) in [
        (format!("to={id}"), 5),
        (format!("to=worker&project={project}"), 5),
        (format!("to=worker@{project}"), 5),
        ("from=user".to_owned(), 5),
        ("state=delivered".to_owned(), 0),
        ("to=user".to_owned(), 0),
        (format!("thread={}", text(&second["messages"][0]["id"])), 1),
    ] {
        let page = house.get(&format!("/api/messages?{query}"));
        assert_eq!(said(&page).len(), count, "{query}: {page}");
    }
    let history = house.get(&format!("/api/agents/{id}/history"));
    let all = history["history"].as_array().unwrap();
    assert!(all.iter().all(|moment| moment["what"] == "message"), "{history}");
    assert_eq!(all.len(), 5);
}

#[test]
fn the_numbers_tell_how_much_mail_there_is() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    let id = add(&house, &project, "worker");
    house.ask(&send(&json!({ "to": "worker", "body": "wait" })), 201);
    house.ask(&send(&json!({ "to": "user", "body": "read", "project": project })), 201);
    assert_eq!(house.number("cmux_messages_total{state=\"queued\"}"), 1);
    assert_eq!(house.number("cmux_messages_total{state=\"delivered\"}"), 1);
    assert_eq!(house.number(&format!("cmux_mail_waiting{{agent=\"{id}\"}}")), 1);
    assert_eq!(house.number("cmux_mail_unread"), 1);
    for name in [
        "cmux_delivery_attempts_total",
        "cmux_duplicates_blocked_total",
        "cmux_delivery_reclaims_total",
        "cmux_delivery_seconds_count",
    ] {
        assert_eq!(house.number(name), 0, "{name}");
    }
    cmux_testkit::wait::eventually("what is delivered is counted", || {
        (house.number("cmux_delivered_total{evidence=\"stored\"}") == 1).then_some(())
    });
}
