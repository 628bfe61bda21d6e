//! What a hook tells while a daemon listens.

use std::collections::BTreeSet;

use cmux_testkit::store::payload;
use serde_json::{Value, json};

use crate::PROGRAM;
use crate::yard::{TOKEN, Yard};

#[test]
fn a_turn_is_told_with_all_that_links_its_hooks() {
    let yard = Yard::new();
    let tool = json!({ "session_id": "s", "tool_name": "Bash", "tool_use_id": "toolu_1" });
    for (n, (event, payload)) in [
        ("SessionStart", json!({ "session_id": "s", "source": "startup" })),
        ("UserPromptSubmit", json!({ "session_id": "s", "prompt": "a long story" })),
        ("PreToolUse", tool.clone()),
        ("PostToolUse", tool),
        ("Stop", json!({ "session_id": "s", "background_tasks": [] })),
        ("UserPromptSubmit", json!({ "session_id": "s", "prompt": "more" })),
    ]
    .iter()
    .enumerate()
    {
        yard.tell(event, payload);
        // On a busy machine one may go by way of the spool.
        yard.heard(n + 1);
    }
    let told = yard.told();
    let field = |name: &str| told.iter().map(|it| it[name].clone()).collect::<Vec<Value>>();
    let means = ["session_began", "prompted", "tool_began", "tool_ended", "turn_ended", "prompted"];
    assert_eq!(field("means"), means);
    assert!(field("session").iter().all(|it| it == "s"), "{told:#?}");
    let turns = field("turn");
    assert!(turns[0].is_null() && turns[1].as_str().unwrap().starts_with("trn_"), "{turns:?}");
    assert!(turns[2..5].iter().all(|turn| *turn == turns[1]) && turns[5] != turns[1], "{turns:?}");
    assert_eq!(field("call")[2..4], [json!("toolu_1"), json!("toolu_1")]);
    assert_eq!((&told[3]["tool"], &told[3]["ok"]), (&json!("Bash"), &json!(true)));
    assert_eq!(yard.agent().session_id.as_deref(), Some("s"));
    let ids: BTreeSet<String> = field("hook").iter().map(ToString::to_string).collect();
    assert_eq!(ids.len(), 6);
    // The story is in the payload, and nowhere else.
    assert!(!json!(told).to_string().contains("story"));
    let prompted = yard.events().remove(1);
    let kept = payload(&yard.home.root().join("cmux.db"), prompted.id);
    assert!(String::from_utf8(kept.unwrap()).unwrap().contains("a long story"));
}

#[test]
fn two_hundred_at_once_are_all_stored_and_each_once() {
    let yard = Yard::new();
    let script = format!(
        "for n in $(seq 200); do \
         echo '{{\"session_id\":\"s\",\"tool_name\":\"T\",\"tool_use_id\":\"'$n'\"}}' \
         | '{PROGRAM}' hook demo PreToolUse || echo failed & done; wait"
    );
    let ran = yard.launch(&["sh", "-c", &script], b"", TOKEN);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    let told = yard.heard(200);
    let calls: BTreeSet<&str> = told.iter().map(|it| it["call"].as_str().unwrap()).collect();
    assert_eq!(calls.len(), 200);
    let turns: BTreeSet<&str> = told.iter().map(|it| it["turn"].as_str().unwrap()).collect();
    assert_eq!(turns.len(), 1, "they are of one turn");
}
