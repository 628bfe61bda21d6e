//! The same script in each dialect, in pieces and whole.

use cmux_testkit::model::Model;
use cmux_testkit::model::asked::Dialect;
use serde_json::{Value, json};

use crate::caller::{Heard, ask};

/// Thinks, speaks and calls a tool; then says what came of it; then is refused.
const SCRIPT: &str = "Do it:\n\
    @@ think Hm, hm.\n@+ say Grüße 🍏\n@+ tool Bash {\"command\":\"ls\"}\n\
    @= in=1000 out=50 cr=900 cw=30\n\
    @@ say It is done.\n\
    @@ fail 429\n@= retry=3 msg=slow_down";

#[test]
fn anthropics_messages() {
    let model = Model::new();
    let path = "/v1/messages?beta=true";
    let mut body = json!({
        "model": "m-1", "stream": true, "max_tokens": 10, "system": [{ "type": "text", "text": "Be." }],
        "tools": [{ "name": "Bash" }], "messages": [{ "role": "user", "content": SCRIPT }],
    });
    let heard = ask(&model, path, "", &body);
    let events = heard.events();
    assert_eq!(events[0]["message"]["model"], "m-1");
    assert_eq!(events[0]["message"]["usage"]["cache_read_input_tokens"], 900);
    assert_eq!(heard.gathered("/delta/thinking"), "Hm, hm.");
    assert_eq!(heard.gathered("/delta/text"), "Grüße 🍏");
    assert_eq!(heard.gathered("/delta/partial_json"), r#"{"command":"ls"}"#);
    assert_eq!(heard.gathered("/content_block/name"), "Bash");
    let end = &events[events.len() - 2];
    assert_eq!(end["delta"]["stop_reason"], "tool_use");
    let usage = json!({
        "input_tokens": 1000, "output_tokens": 50,
        "cache_read_input_tokens": 900, "cache_creation_input_tokens": 30,
    });
    assert_eq!(end["usage"], usage);

    body["stream"] = json!(false);
    let whole = ask(&model, path, "", &body).json();
    assert_eq!(whole["content"][0]["thinking"], "Hm, hm.");
    assert_eq!(whole["content"][2]["input"], json!({ "command": "ls" }));
    assert_eq!(whole["usage"], usage);
    let turns = |body: &mut Value, number: usize| {
        let messages = body["messages"].as_array_mut().unwrap();
        for it in 0..number {
            let id = format!("t{it}");
            let call = json!({ "type": "tool_use", "id": id, "name": "Bash", "input": {} });
            let result = json!({ "type": "tool_result", "tool_use_id": id, "content": "ok" });
            messages.push(json!({ "role": "assistant", "content": [call] }));
            messages.push(json!({ "role": "user", "content": [result] }));
        }
    };
    turns(&mut body, 1);
    assert_eq!(ask(&model, path, "", &body).json()["content"][0]["text"], "It is done.");
    turns(&mut body, 1);
    let refused = ask(&model, path, "", &body);
    check_refused(&refused, "/error/type", "rate_limit_error");
    let counted = ask(&model, "/v1/messages/count_tokens", "", &body).json();
    assert!(counted["input_tokens"].as_u64().unwrap() > 10, "{counted}");
    check_asked(&model, Dialect::Messages, 4);
}

#[test]
fn openais_responses() {
    let model = Model::new();
    let path = "/v1/responses";
    let user = json!({ "type": "message", "role": "user",
        "content": [{ "type": "input_text", "text": SCRIPT }] });
    let mut body = json!({
        "model": "m-1", "stream": true, "instructions": "Be.",
        "tools": [{ "type": "function", "name": "Bash" }], "input": [user],
    });
    let heard = ask(&model, path, "session_id: s1\r\n", &body);
    let events = heard.events();
    let of = |kind: &str| events.iter().filter(|it| it["type"] == kind).collect::<Vec<_>>();
    let delta =
        |kind: &str| of(kind).iter().filter_map(|it| it["delta"].as_str()).collect::<String>();
    assert_eq!(delta("response.reasoning_summary_text.delta"), "Hm, hm.");
    assert_eq!(delta("response.output_text.delta"), "Grüße 🍏");
    let items = of("response.output_item.done");
    assert_eq!(items[1]["item"]["content"][0]["text"], "Grüße 🍏");
    assert_eq!(items[2]["item"]["arguments"], r#"{"command":"ls"}"#);
    let done = &of("response.completed")[0]["response"];
    let usage = json!({
        "input_tokens": 1930, "input_tokens_details": { "cached_tokens": 900 },
        "output_tokens": 50, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 1980,
    });
    assert_eq!(done["usage"], usage);

    let input = body["input"].as_array_mut().unwrap();
    let call =
        json!({ "type": "function_call", "call_id": "c", "name": "Bash", "arguments": "{}" });
    let result = json!({ "type": "function_call_output", "call_id": "c", "output": "ok" });
    input.extend([call.clone(), result.clone()]);
    body["stream"] = json!(false);
    let whole = ask(&model, path, "session_id: s1\r\n", &body).json();
    assert_eq!(whole["output"][0]["content"][0]["text"], "It is done.");
    body["input"].as_array_mut().unwrap().extend([call, result]);
    let refused = ask(&model, path, "session_id: s1\r\n", &body);
    check_refused(&refused, "/error/type", "rate_limit_exceeded");
    check_asked(&model, Dialect::Responses, 3);
    assert_eq!(model.conversation("s1").unwrap().results(), ["ok", "ok"]);
}

#[test]
fn openais_chat_completions() {
    let model = Model::new();
    let path = "/v1/chat/completions";
    let mut body = json!({
        "model": "m-1", "stream": true, "tools": [{ "type": "function", "function": { "name": "Bash" } }],
        "messages": [{ "role": "system", "content": "Be." }, { "role": "user", "content": SCRIPT }],
    });
    let heard = ask(&model, path, "", &body);
    assert!(heard.body.ends_with("data: [DONE]\n\n"));
    assert_eq!(heard.gathered("/choices/0/delta/reasoning_content"), "Hm, hm.");
    assert_eq!(heard.gathered("/choices/0/delta/content"), "Grüße 🍏");
    let call = "/choices/0/delta/tool_calls/0/function";
    assert_eq!(heard.gathered(&format!("{call}/name")), "Bash");
    assert_eq!(heard.gathered(&format!("{call}/arguments")), r#"{"command":"ls"}"#);
    assert_eq!(heard.gathered("/choices/0/finish_reason"), "tool_calls");
    let usage = json!({
        "prompt_tokens": 1930, "prompt_tokens_details": { "cached_tokens": 900 },
        "completion_tokens": 50, "total_tokens": 1980,
    });
    assert_eq!(heard.events().last().unwrap()["usage"], usage);

    let called = json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "c", "type": "function", "function": { "name": "Bash", "arguments": "{}" } },
    ]});
    let result = json!({ "role": "tool", "tool_call_id": "c", "content": "ok" });
    body["messages"].as_array_mut().unwrap().extend([called.clone(), result.clone()]);
    body["stream"] = json!(false);
    let whole = ask(&model, path, "", &body).json();
    assert_eq!(whole["choices"][0]["message"]["content"], "It is done.");
    body["messages"].as_array_mut().unwrap().extend([called, result]);
    check_refused(&ask(&model, path, "", &body), "/error/type", "rate_limit_exceeded");
    check_asked(&model, Dialect::Chat, 3);
}

#[test]
fn googles_generate_content() {
    let model = Model::new();
    let path = |verb: &str| format!("/v1beta/models/m-1:{verb}");
    let mut body = json!({
        "systemInstruction": { "role": "user", "parts": [{ "text": "Be." }] },
        "tools": [{ "functionDeclarations": [{ "name": "Bash" }] }],
        "contents": [{ "role": "user", "parts": [{ "text": SCRIPT }] }],
    });
    let heard = ask(&model, &path("streamGenerateContent?alt=sse"), "", &body);
    let events = heard.events();
    let part = |number: usize| &events[number]["candidates"][0]["content"]["parts"][0];
    assert_eq!(part(0), &json!({ "text": "Hm, hm.", "thought": true }));
    assert_eq!(part(1), &json!({ "text": "Grüße 🍏" }));
    assert_eq!(part(2)["functionCall"]["args"], json!({ "command": "ls" }));
    assert_eq!(events[3]["candidates"][0]["finishReason"], "STOP");
    let usage = json!({
        "promptTokenCount": 1930, "cachedContentTokenCount": 900,
        "candidatesTokenCount": 50, "totalTokenCount": 1980,
    });
    assert_eq!(events[3]["usageMetadata"], usage);

    let called =
        json!({ "role": "model", "parts": [{ "functionCall": { "name": "Bash", "args": {} } }] });
    let response = json!({ "name": "Bash", "response": { "output": "ok" } });
    let result = json!({ "role": "user", "parts": [{ "functionResponse": response }] });
    body["contents"].as_array_mut().unwrap().extend([called.clone(), result.clone()]);
    let whole = ask(&model, &path("generateContent"), "", &body).json();
    assert_eq!(whole["candidates"][0]["content"]["parts"][0]["text"], "It is done.");
    body["contents"].as_array_mut().unwrap().extend([called, result]);
    let refused = ask(&model, &path("generateContent"), "", &body);
    check_refused(&refused, "/error/status", "RESOURCE_EXHAUSTED");
    let counted = ask(&model, &path("countTokens"), "", &body).json();
    assert!(counted["totalTokens"].as_u64().unwrap() > 10, "{counted}");
    check_asked(&model, Dialect::Gemini, 3);
}

/// Checks that a request was refused as the script says, and how this API calls it.
#[track_caller]
fn check_refused(heard: &Heard, pointer: &str, kind: &str) {
    assert_eq!(heard.status, 429);
    assert!(heard.head.contains("retry-after: 3"), "{}", heard.head);
    assert_eq!(heard.json().pointer(pointer).unwrap(), kind);
    assert_eq!(heard.json()["error"]["message"], "slow down");
}

/// Checks that each of so many requests was understood.
#[track_caller]
fn check_asked(model: &Model, dialect: Dialect, count: usize) {
    model.look(|visits| {
        assert_eq!(visits.len(), count);
        for asked in visits.iter().map(|visit| &visit.asked) {
            assert_eq!((asked.dialect, asked.model.as_str()), (dialect, "m-1"));
            assert_eq!(
                (asked.system.as_str(), asked.tools.as_slice()),
                ("Be.", &["Bash".into()][..])
            );
            assert_eq!(asked.prompts(), [SCRIPT]);
        }
    });
    assert_eq!(model.strays(), [""; 0]);
}
