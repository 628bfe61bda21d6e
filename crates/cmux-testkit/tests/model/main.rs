//! The scripted model, asked as agent CLIs ask it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod caller;
mod dialects;

use cmux_testkit::model::asked::{Asked, Said};
use cmux_testkit::model::script::{Block, Script, Turn};
use cmux_testkit::model::{Model, Outcome};
use cmux_testkit::wait::eventually;
use serde_json::{Value, json};

use crate::caller::{ask, call, hear};

#[test]
fn a_turn_is_held_until_it_is_let_go() {
    let model = Model::new();
    let stream =
        call(&model, "POST", "/v1/messages", "", &prompt("@@ say x\n@= hold=a").to_string());
    eventually("it is asked", || model.look(|visits| visits.first().cloned()));
    assert_eq!(outcomes(&model), [Outcome::Underway]);
    model.release("a");
    assert_eq!(hear(stream).gathered("/delta/text"), "x");
    assert_eq!(outcomes(&model), [Outcome::Answered]);
}

#[test]
fn who_leaves_is_noted() {
    let model = Model::new();
    for (number, text) in ["@@ say x\n@= hold=a", "@@ say x\n@= stream=600"].iter().enumerate() {
        let stream = call(&model, "POST", "/v1/messages", "", &prompt(text).to_string());
        eventually("it is asked", || model.look(|visits| visits.get(number).cloned()));
        drop(stream);
        eventually("it is noted", || (outcomes(&model)[number] == Outcome::Left).then_some(()));
    }
}

#[test]
fn a_connection_breaks_in_the_middle() {
    let model = Model::new();
    let heard = ask(&model, "/v1/messages", "", &prompt("@@ say x\n@= drop=1"));
    assert!(!heard.whole && heard.body.contains("message_start"), "{heard:?}");
    assert!(!heard.body.contains("message_stop"), "{heard:?}");
    assert_eq!(outcomes(&model), [Outcome::Dropped]);
}

#[test]
fn a_refusal_comes_as_often_as_it_is_said() {
    let model = Model::new();
    let wanted = prompt("@@ fail 529\n@+ say at last\n@= times=2 retry=7");
    for _ in 0..2 {
        let heard = ask(&model, "/v1/messages", "", &wanted);
        assert_eq!(heard.status, 529);
        assert!(heard.head.contains("retry-after: 7"), "{}", heard.head);
    }
    assert_eq!(ask(&model, "/v1/messages", "", &wanted).gathered("/delta/text"), "at last");
    let refused = Outcome::Refused(529);
    assert_eq!(outcomes(&model), [refused, refused, Outcome::Answered]);
}

#[test]
fn a_test_says_what_is_done() {
    let model = Model::new();
    model.script("one", Script::say("by name").then(Turn::say("twice")));
    let think = Turn::default().and(Block::Think("hm".into())).and(Block::Say("by rule".into()));
    model.when("hello", Script::default().then(think));
    for (text, expected) in [("@script one", "by name"), ("hello", "by rule"), ("hi", "echo: hi")] {
        let heard = ask(&model, "/v1/messages", "", &prompt(text));
        assert_eq!(heard.gathered("/delta/text"), expected);
    }
}

#[test]
fn what_was_asked_is_kept() {
    let model = Model::new();
    let mut body = prompt("first");
    let session = "X-Claude-Code-Session-Id: s1\r\n";
    ask(&model, "/v1/messages", session, &body);
    let more = json!([
        { "role": "user", "content": [{ "type": "text", "text": "first" }] },
        { "role": "assistant", "content": [
            { "type": "text", "text": "I look." },
            { "type": "tool_use", "id": "toolu_1", "name": "Bash", "input": { "command": "ls" } },
        ]},
        { "role": "system", "content": "be brief" },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "toolu_1", "content": "a.txt" },
            { "type": "text", "text": "<system-reminder>x</system-reminder>" },
            { "type": "text", "text": "second" },
        ]},
    ]);
    body["messages"] = more;
    ask(&model, "/v1/messages", session, &body);
    body["messages"] = json!([{ "role": "user", "content": "of a subagent" }]);
    ask(&model, "/v1/messages", &format!("{session}X-Claude-Code-Agent-Id: a1\r\n"), &body);
    body["messages"] =
        json!([{ "role": "user", "content": "Your task is to create a detailed summary" }]);
    ask(&model, "/v1/messages", session, &body);

    let asked: Asked = model.conversation("s1").unwrap();
    assert_eq!(asked.prompts(), ["first", "second"]);
    assert_eq!(asked.results(), ["a.txt"]);
    let call =
        Said::Call { id: "toolu_1".into(), tool: "Bash".into(), input: json!({ "command": "ls" }) };
    assert_eq!(asked.said[1..3], [Said::Model("I look.".into()), call]);
    let main: Vec<bool> = model.look(|visits| visits.iter().map(|it| it.is_main()).collect());
    assert_eq!(main, [true, true, false, false]);
}

#[test]
fn everybody_is_noted_with_their_key() {
    let model = Model::new();
    let mut body = prompt("hello");
    body["contents"] = json!([{ "role": "user", "parts": [{ "text": "hello" }] }]);
    for (path, header) in [
        ("/v1/messages", "x-api-key: a\r\n"),
        ("/v1/responses", "Authorization: Bearer b\r\n"),
        ("/v1beta/models/m:generateContent", "x-goog-api-key: c\r\n"),
        ("/v1beta/models/m:generateContent?alt=sse&key=d", ""),
        ("/v1/messages", ""),
    ] {
        assert_eq!(ask(&model, path, header, &body).status, 200, "{path}");
    }
    let keys: Vec<Option<String>> =
        model.look(|visits| visits.iter().map(|it| it.key.clone()).collect());
    let expected = ["a", "b", "c", "d"].map(|key| Some(key.to_owned()));
    assert_eq!(keys, [&expected[..], &[None]].concat());
    for (method, path) in
        [("POST", "/v1/messages/count_tokens"), ("GET", "/v1/models"), ("HEAD", "/api/hello")]
    {
        hear(call(&model, method, path, "x-api-key: e\r\n", "{}"));
    }
    let asides: Vec<String> = model.asides().into_iter().map(|it| it.what).collect();
    assert_eq!(asides, ["POST /v1/messages/count_tokens", "GET /v1/models", "HEAD /api/hello"]);
    assert_eq!(model.keys().into_iter().collect::<String>(), "abcde");
    assert_eq!(model.strays(), [""; 0]);
}

#[test]
fn a_refusal_by_google_names_the_quota_and_when_to_come_again() {
    let model = Model::new();
    let said = "@@ fail 429\n@= retry=7 quota=RequestsPerDay";
    let body = json!({ "contents": [{ "role": "user", "parts": [{ "text": said }] }] });
    let heard = ask(&model, "/v1beta/models/m:generateContent", "", &body);
    assert_eq!(heard.status, 429);
    let told = heard.json();
    let told = |pointer: &str| told.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!(told("/error/details/0/violations/0/quotaId"), "RequestsPerDay");
    assert_eq!(told("/error/details/1/retryDelay"), "7s");
}

#[test]
fn what_is_not_scripted_is_refused_and_told() {
    let model = Model::new();
    assert_eq!(ask(&model, "/v1/telemetry", "", &json!({})).status, 404);
    assert_eq!(hear(call(&model, "GET", "/v1/models", "", "")).status, 200);
    assert_eq!(hear(call(&model, "POST", "/v1/messages", "", "no json")).status, 400);
    assert_eq!(
        model.strays(),
        ["POST /v1/telemetry", "POST /v1/messages: 7 bytes that are no JSON"]
    );
}

fn prompt(text: &str) -> Value {
    json!({
        "model": "scripted", "stream": true, "tools": [{ "name": "Bash" }],
        "messages": [{ "role": "user", "content": text }],
    })
}

fn outcomes(model: &Model) -> Vec<Outcome> {
    model.look(|visits| visits.iter().map(|visit| visit.outcome).collect())
}
