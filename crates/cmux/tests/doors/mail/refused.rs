//! What cannot be sent or asked: each is told what is wrong, and nothing is stored.

use cmux_testkit::wait::eventually;
use serde_json::{Value, json};

use super::{add, have, said, send};
use crate::house::House;
use crate::knock::Request;

const NOBODY: &str = "msg_00000000000000000000000001";

#[test]
fn what_cannot_be_sent_is_refused_with_what_to_do() {
    let house = House::new();
    let projects = house.projects(2);
    let [here, there] = [&projects[0], &projects[1]];
    add(&house, here, "worker");
    add(&house, here, "twin");
    add(&house, there, "twin");
    let head = house.head();
    let b = "b";
    let far = "agt_00000000000000000000000001";
    for (new, status, told) in [
        (json!({ "to": "wroker", "body": b }), 404, "did you mean `worker`?"),
        (json!({ "to": "wroker", "body": b, "project": here }), 404, "did you mean `worker`?"),
        (json!({ "to": "zzzzzz", "body": b, "project": here }), 404, "there are: "),
        (json!({ "to": "worker", "body": b, "project": there }), 404, "there is no agent"),
        (json!({ "to": "worker", "body": b, "project": "nowhere" }), 404, "no project"),
        (json!({ "to": "worker@nowhere", "body": b }), 404, "no project `nowhere`"),
        (json!({ "to": "-x; rm", "body": b }), 404, "an agent's name or id"),
        (json!({ "to": far, "body": b }), 404, "there is no agent"),
        (json!({ "to": "all", "body": b }), 404, "there is no agent"),
        (json!({ "to": "twin", "body": b }), 400, "several agents are called `twin`"),
        (json!({ "body": b }), 400, "say with `to`"),
        (json!({ "to": "user", "body": b }), 400, "say with `project`"),
        (json!({ "to": "worker" }), 400, "missing field `body`"),
        (json!({ "to": "worker", "body": "" }), 400, "nothing in the message"),
        (json!({ "to": "worker", "body": " \n\t" }), 400, "nothing in the message"),
        (json!({ "to": "worker", "body": b, "kind": "shout" }), 400, "unknown variant"),
        (json!({ "to": "worker", "body": b, "kind": "system" }), 403, "what cmux itself says"),
        (json!({ "to": "worker", "body": b, "from": "cmux" }), 400, "unknown field `from`"),
        (json!({ "to": "worker", "body": b, "ttl_s": 0 }), 400, "may live from"),
        (json!({ "to": "worker", "body": b, "ttl_s": 31_536_001 }), 400, "may live from"),
        (json!({ "to": "worker", "body": b, "key": "" }), 400, "a key has"),
        (json!({ "to": "worker", "body": b, "key": "a b" }), 400, "a key has"),
        (json!({ "to": "worker", "body": b, "key": "k".repeat(201) }), 400, "a key has"),
        (json!({ "to": "worker", "body": b, "reply_to": NOBODY }), 404, "there is no message"),
        (json!({ "to": "worker", "body": b, "reply_to": "agt_1" }), 400, "msg_"),
        (json!({ "reply_to": NOBODY, "body": b }), 404, "there is no message"),
    ] {
        let answer = house.socket().ask(&send(&new));
        assert_eq!(answer.status, status, "{new}: {answer:?}");
        answer.problem();
        assert!(answer.detail().contains(told), "{told}: {new}: {answer:?}");
    }
    assert_eq!(said(&house.get("/api/messages")), [""; 0]);
    let kinds = house.kinds(head);
    assert!(kinds.iter().all(|kind| !kind.starts_with("message.")), "{kinds:?}");
    // But for what was wrong with each, it would have been taken.
    let name = house.get(&format!("/api/projects/{here}"))["name"].clone();
    for to in [format!("twin@{here}"), format!("twin@{}", name.as_str().unwrap())] {
        house.ask(&send(&json!({ "to": to, "body": b })), 201);
    }
}

#[test]
fn what_makes_no_sense_to_ask_of_mail_is_refused() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    add(&house, &project, "worker");
    let waiting = house.ask(&send(&json!({ "to": "worker", "body": "b" })), 201);
    let read = house.ask(&send(&json!({ "to": "user", "body": "b", "project": project })), 201);
    let nobody = json!({ "id": NOBODY });
    let list = |query: &str| Request::get(&format!("/api/messages?{query}"));
    for (request, status, slug) in [
        (have(&nobody, "cancel"), 404, "not-found"),
        (have(&nobody, "retry"), 404, "not-found"),
        (have(&nobody, "read"), 404, "not-found"),
        (Request::get("/api/messages/worker"), 400, "bad-request"),
        (have(&json!({ "id": "worker" }), "cancel"), 400, "bad-request"),
        // It is not the person's to read.
        (have(&waiting, "read"), 404, "not-found"),
        (have(&read, "cancel"), 409, "message-over"),
        (have(&read, "retry"), 409, "message-over"),
        (list("limit=0"), 400, "bad-request"),
        (list("limit=101"), 400, "bad-request"),
        (list("state=odd"), 400, "bad-request"),
        (list("cursor=x"), 400, "bad-request"),
        (list("cursor=-1"), 400, "bad-request"),
        (list("thread=x"), 400, "bad-request"),
        (list("to=nobody"), 404, "not-found"),
        (list("unread=maybe"), 400, "bad-request"),
        (list("order=oldest"), 400, "bad-request"),
        (Request::get("/api/agents/nobody/history?project=x"), 404, "not-found"),
        (
            Request::get(&format!("/api/agents/worker/history?project={project}&cursor=1")),
            400,
            "bad-request",
        ),
    ] {
        let answer = house.socket().ask(&request);
        let found = (answer.status, answer.problem());
        assert_eq!(found, (status, slug.to_owned()), "{request:?}: {answer:?}");
    }
    assert_eq!(house.ask(&have(&waiting, "retry"), 200)["state"], "queued");
}

#[test]
fn a_reader_takes_no_more_than_it_can_read() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    add(&house, &project, "worker");
    let script = house.token("send", None).secret;
    let new = json!({ "to": "worker", "body": "again" });
    let sent = || house.port().ask(&send(&new).with_token(&script));
    let full = eventually("it is full", || {
        let answer = sent();
        // To ask so often at once may be too fast.
        (answer.status == 429 && answer.problem() == "mail-full").then_some(answer)
    });
    assert!(full.header("retry-after").is_some(), "{full:?}");
    assert!(full.detail().contains("has 200 messages from `script:"), "{full:?}");
    // The person is not kept waiting by it.
    house.ask(&send(&new), 201);
    let oldest: Value = house.get("/api/messages?limit=2")["messages"][1].clone();
    house.ask(&have(&oldest, "cancel"), 200);
    eventually("there is room", || (sent().status == 201).then_some(()));
}

#[test]
fn what_is_not_stored_takes_no_room() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    add(&house, &project, "worker");
    let script = house.token("send", None).secret;
    let body = "x".repeat(10 << 20);
    // Four are more than a reader takes from one sender, and thirty more than are taken from it in a while.
    let new = |key: &str| json!({ "to": "worker", "body": body, "key": key });
    let sent = |key: &str| house.port().ask(&send(&new(key)).with_token(&script));
    for key in ["1", "2", "3"] {
        assert_eq!(sent(key).status, 201);
    }
    for _ in 0..15 {
        let (again, full) = (sent("1"), sent("4"));
        assert_eq!(again.status, 200, "{again:?}");
        assert_eq!((full.status, full.problem().as_str()), (429, "mail-full"), "{full:?}");
    }
}
