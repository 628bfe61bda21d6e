//! What schemathesis is kept from, by hand: the routes that write files or go to a person's tmux, and the
//! one that ends it all.

use std::path::Path;

use serde_json::{Value, json};

use crate::door::Door;
use crate::operation;

#[test]
fn a_backup_is_answered_as_the_document_says() {
    let mut door = Door::open();
    let folder = door.home.folder("copies");
    for (file, expected) in [
        (folder.join("one.db"), 201),
        (folder.join("two ü ' \".db"), 201),
        // Nothing is overwritten.
        (folder.join("one.db"), 422),
        (folder.clone(), 422),
        (folder.join("no/such/folder.db"), 422),
        (folder.join("nothing\0.db"), 422),
        (folder.join("x".repeat(300)), 422),
        ("/proc/one.db".into(), 422),
        ("one.db".into(), 400),
        ("".into(), 400),
    ] {
        check(&door, "backUp", "/api/store/backups", &sent(&file), expected);
    }
    for body in [json!({}), json!({"file": 7}), json!({"file": "/f", "more": 1}), json!(null)] {
        check(&door, "backUp", "/api/store/backups", &body, 400);
    }
    door.is_well();
    door.close();
}

#[test]
fn an_archive_is_answered_as_the_document_says() {
    let mut door = Door::open();
    let folder = door.home.folder("archives");
    let with = |file: &Path, days: Value| json!({"file": file, "keep_days": days});
    let (one, other) = (folder.join("one.jsonl"), folder.join("other.jsonl"));
    for (body, expected) in [
        (with(&one, json!(1)), 404),
        (with(&one, json!(u32::MAX)), 404),
        (with(&one, json!(30.0)), 404),
        (with(&one, json!(30.5)), 400),
        (with(&one, json!(-1)), 400),
        (with(&one, json!(1_u64 << 32)), 400),
        (with(&one, json!(null)), 400),
        (with(Path::new("one.jsonl"), json!(0)), 400),
        (with(&folder, json!(0)), 409),
        (with(&folder.join("no/such/file"), json!(0)), 422),
        (with(&one, json!(0)), 201),
        (with(&one, json!(0)), 409),
        (json!({"file": other}), 400),
    ] {
        check(&door, "archiveLog", "/api/store/archives", &body, expected);
    }
    door.is_well();
    door.close();
}

#[test]
fn an_adoption_is_answered_as_the_document_says() {
    let mut door = Door::open();
    let socket = door.home.folder("person").join("tmux").display().to_string();
    let new = |pane: &str, project: &str| json!({ "pane": pane, "name": "mine", "kind": "demo", "project": project });
    for (body, expected) in [
        (new(&format!("{socket}:%0"), "nowhere"), 404),
        (new(&format!("{socket}:%0"), "No Id"), 400),
        (json!({}), 400),
        (json!(null), 400),
    ] {
        check(&door, "adoptAgent", "/api/agents/register", &body, expected);
    }
    door.is_well();
    door.close();
}

#[test]
fn a_stop_is_answered_as_the_document_says() {
    let mut door = Door::open();
    check(&door, "stopDaemon", "/api/daemon/stop", &Value::Null, 202);
    assert!(door.ends_well());
}

fn sent(file: &Path) -> Value {
    json!({ "file": file })
}

/// Checks how a route answers a `body`, and that the document says so of the route with this name.
#[track_caller]
fn check(door: &Door, name: &str, path: &str, body: &Value, expected: u16) {
    let document = serde_json::from_str(&door.ask("GET", "/api/openapi.json", None).body).unwrap();
    // Some of them are for the person alone.
    let said = door.browse(&door.enter(), path, &body.to_string());
    assert_eq!(said.status, expected, "{body}: {}", said.body);
    let responses = &operation(&document, name)["responses"];
    let response = &responses[said.status.to_string()];
    let named = response["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
    let response = named.map_or(response, |named| document.pointer(named).unwrap());
    let kinds = response["content"].as_object().unwrap();
    assert!(kinds.contains_key(said.header("content-type").unwrap()), "{name}: {}", said.head);
}
