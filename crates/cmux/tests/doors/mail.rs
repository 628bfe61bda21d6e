//! Mail at the doors: who may write to whom, what is taken, and what is told of it.

mod agents;
mod bodies;
mod commands;
mod refused;
mod sent;

use cmux_testkit::home::GHOST;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::house::House;
use crate::knock::{Answer, Request};

/// Adds an agent that never runs, and is not to. Returns its id.
fn add(house: &House, project: &str, name: &str) -> &'static str {
    house.home.add_ghost();
    add_of(house, project, name, GHOST)
}

/// Adds an agent of this kind that is stopped at once. Returns its id.
fn add_of(house: &House, project: &str, name: &str, kind: &str) -> &'static str {
    let new = json!({ "project": project, "name": name, "kind": kind }).to_string();
    let made = house.ask(&Request::new("POST", "/api/agents").with_json(new), 201);
    let id = text(&made["id"]);
    house.ask(&Request::new("POST", &format!("/api/agents/{id}/stop")), 200);
    Box::leak(id.into_boxed_str())
}

/// Returns a request that sends this.
fn send(new: &Value) -> Request {
    Request::new("POST", "/api/messages").with_json(new.to_string())
}

/// Returns a request that does `verb` to a message.
fn have(message: &Value, verb: &str) -> Request {
    Request::new("POST", &format!("/api/messages/{}/{verb}", text(&message["id"])))
}

fn show(message: &Value) -> Request {
    Request::get(&format!("/api/messages/{}", text(&message["id"])))
}

/// Asks as an agent does.
#[track_caller]
fn ask(house: &House, agent: &Agent, request: Request) -> Answer {
    let request = request.with_token(agent.secret);
    agent.ask(house, &house.socket(), &[request]).remove(0)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// Returns what the messages of a page say, in its order.
#[track_caller]
fn said(page: &Value) -> Vec<String> {
    let all = page["messages"].as_array().unwrap_or_else(|| panic!("{page}"));
    all.iter().map(|message| text(&message["body"])).collect()
}
