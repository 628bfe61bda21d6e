//! What a hook says of its agent, and what it must not.

use serde_json::json;

use crate::yard::{Yard, id};

#[test]
fn an_agent_is_what_its_hooks_say() {
    let yard = Yard::new();
    let own = |more: serde_json::Value| {
        let mut all = json!({ "session_id": "s", "tool_name": "Bash" });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let none = json!({});
    let task = json!({ "background_tasks": [{ "id": "t", "status": "running" }] });
    for (event, payload, phase) in [
        ("SessionStart", json!({ "source": "startup" }), "starting"),
        ("UserPromptSubmit", none.clone(), "busy"),
        ("PermissionRequest", none.clone(), "asking"),
        ("PostToolUse", none.clone(), "busy"),
        // What a subagent tells says nothing of the agent, nor what another session tells.
        ("Stop", json!({ "agent_id": "a", "agent_type": "x" }), "busy"),
        ("SubagentStop", json!({ "agent_id": "a" }), "busy"),
        ("SessionStart", json!({ "session_id": "other", "source": "startup" }), "busy"),
        ("Stop", json!({ "session_id": "other" }), "busy"),
        // Something still runs in the background.
        ("Stop", task, "busy"),
        ("Stop", none.clone(), "idle"),
        ("UserPromptSubmit", json!({ "session_id": "other" }), "idle"),
        ("StopFailure", json!({ "error": "rate_limit" }), "limited"),
        ("UserPromptSubmit", none, "busy"),
        ("StopFailure", json!({ "error": "server_error" }), "idle"),
    ] {
        let before = yard.told().len();
        yard.tell(event, &own(payload.clone()));
        yard.heard(before + 1);
        assert_eq!(yard.phase(), phase, "{event} {payload}");
    }
    assert_eq!(yard.agent().session_id.as_deref(), Some("s"));
    yard.tell("SessionStart", &json!({ "session_id": "t", "source": "clear" }));
    yard.heard(15);
    assert_eq!(yard.agent().session_id.as_deref(), Some("t"));
}

#[test]
fn what_was_told_before_the_last_word_changes_no_phase() {
    let mut yard = Yard::new();
    yard.tell("UserPromptSubmit", &json!({ "session_id": "s" }));
    yard.tell("Stop", &json!({ "session_id": "s" }));
    yard.heard(2);
    yard.is("idle");
    let since = yard.agent().since;
    yard.reborn(|yard| {
        yard.spool(&id(1), "UserPromptSubmit", 3_600_000, &json!({ "session_id": "s" }));
    });
    let told = yard.heard(3);
    assert_eq!((yard.phase().as_str(), yard.agent().since), ("idle", since));
    assert!(told[2]["at"].as_str() < told[0]["at"].as_str(), "{told:#?}");
    // One from after it does.
    yard.tell("UserPromptSubmit", &json!({ "session_id": "s" }));
    yard.is("busy");
}
