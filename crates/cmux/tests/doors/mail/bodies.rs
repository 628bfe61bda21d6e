//! Long messages: taken whole, told in part, and no longer than they may be.

use serde_json::json;

use super::{add, send, show, text};
use crate::house::House;
use crate::knock::Request;

/// The longest text that is taken, in bytes.
const BODY_MAX: usize = 10 << 20;

/// How much of a text is told in a list, in bytes.
const LISTED: usize = 8 << 10;

#[test]
fn a_long_message_is_told_whole_by_itself_and_cut_in_a_list() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    add(&house, &project, "worker");
    let odd = "quote \" back \\ null-ish \u{1} euro € tab \t\r\n";
    for (body, listed) in [
        ("x".repeat(LISTED), LISTED),
        ("x".repeat(LISTED + 1), LISTED),
        (format!("{}€€", "x".repeat(LISTED - 1)), LISTED - 1),
        (odd.to_owned(), odd.len()),
    ] {
        let sent = house.ask(&send(&json!({ "to": "worker", "body": body })), 201);
        let bytes = body.len();
        assert_eq!((&sent["body"], &sent["body_cut"]), (&json!(body), &json!(false)));
        assert_eq!(house.ask(&show(&sent), 200)["body"], body);
        let told = house.get("/api/messages?limit=1")["messages"][0].clone();
        assert_eq!((text(&told["body"]).len(), &told["body_bytes"]), (listed, &json!(bytes)));
        assert_eq!(told["body_cut"], json!(listed < bytes));
        assert!(body.starts_with(&text(&told["body"])));
    }
}

#[test]
fn a_text_is_as_long_as_it_says_however_it_is_written() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    add(&house, &project, "worker");
    let new = |body: &str| {
        let body = format!(r#"{{"to":"worker","body":"{body}"}}"#);
        Request::new("POST", "/api/messages").with_json(body)
    };
    // Twelve MiB of JSON, and two of text.
    let escaped = house.ask(&new(&r"\u0061".repeat(2 << 20)), 201);
    assert_eq!(escaped["body_bytes"], 2 << 20);
    let longest = house.ask(&new(&"x".repeat(BODY_MAX)), 201);
    assert_eq!(longest["body_bytes"], BODY_MAX);
    for (body, told) in [
        ("x".repeat(BODY_MAX + 1), "may have 10485760 at most"),
        ("x".repeat(3 * BODY_MAX), "longer than 10 MiB"),
    ] {
        let answer = house.socket().ask(&new(&body));
        assert_eq!((answer.status, answer.problem().as_str()), (413, "too-long"));
        assert!(answer.detail().contains(told), "{answer:?}");
    }
    // What says that it is longer than any text could be is not begun with.
    let claims = Request::new("POST", "/api/messages").with("Content-Type", "application/json");
    let answer = house.socket().ask(&claims.with("Content-Length", "99999999"));
    assert_eq!((answer.status, answer.problem().as_str()), (413, "too-long"));
    // Nothing else takes more than before.
    let long = format!(r#"{{"root":"/{}"}}"#, "x".repeat(BODY_MAX));
    let answer = house.socket().ask(&Request::new("POST", "/api/projects").with_json(long));
    assert_eq!((answer.status, answer.problem().as_str()), (413, "too-long"));
}
