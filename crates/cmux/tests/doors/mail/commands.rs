//! The commands that agents are told to use, run as they run them.

use std::io::Write;
use std::process::Stdio;

use cmux_testkit::home::Ran;
use serde_json::{Value, json};

use super::{add, said, send, text};
use crate::PROGRAM;
use crate::agent::Agent;
use crate::house::House;
use crate::knock::Request;

#[test]
fn a_report_goes_to_whoever_launched_the_agent_or_to_the_person() {
    let (house, boss, worker) = team();
    let told = |agent: &Agent, words: &[&str]| {
        let ran = agent.run(&house, &[&[PROGRAM, "--json", "report"], words].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    for (how, kind, body) in [
        ("done", "response", "Done: so it is"),
        ("blocked", "error", "Blocked: so it is"),
        ("status", "status", "so it is"),
        ("question", "question", "so it is"),
    ] {
        let message = told(&worker, &[how, "so", "it", "is"]);
        let found = [&message["from"], &message["to"], &message["kind"], &message["body"]];
        assert_eq!(found, [&json!("worker"), &json!("boss"), &json!(kind), &json!(body)]);
    }
    let message = told(&boss, &["done", "all"]);
    assert_eq!((&message["to"], &message["state"]), (&json!("user"), &json!("delivered")));
    // The person has nobody above them.
    let ran = house.home.run(&["report", "done", "x"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(5), ""), "{ran:?}");
    assert!(ran.stderr.contains("this is no agent") && ran.stderr.contains("cmux send"), "{ran:?}");
}

#[test]
fn an_agent_reads_its_mail_and_answers_it() {
    let (house, _, worker) = team();
    for body in ["first \u{1b}[2J", "second"] {
        house.ask(&send(&json!({ "to": "worker", "body": body })), 201);
    }
    let ran = worker.run(&house, &[PROGRAM, "inbox"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (first, second) = (ran.stdout.find("first"), ran.stdout.find("second"));
    assert!(first < second && first.is_some() && !ran.stdout.contains('\u{1b}'), "{ran:?}");
    let page = house.get("/api/messages?to=worker");
    assert_eq!(said(&page), ["second", "first \u{1b}[2J"]);
    let id = text(&page["messages"][0]["id"]);
    let ran = worker.run(&house, &[PROGRAM, "reply", &id, "--", "-well", "yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains(" to user: delivered"), "{ran:?}");
    assert_eq!(said(&house.get("/api/messages?to=user")), ["-well yes"]);
    // It may see no other's.
    let ran = worker.run(&house, &[PROGRAM, "send", "elsewhere@nowhere", "x"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.contains("across_projects"), "{ran:?}");
}

#[test]
fn a_long_text_comes_through_a_pipe() {
    let (house, _, worker) = team();
    let long = "line\n".repeat(5000);
    let mut command = house.home.command(&["launch", "--", PROGRAM, "send", "boss", "-"]);
    command.env("CMUX_RUN", worker.run).env("CMUX_TOKEN", worker.secret);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(long.as_bytes()).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = house.get("/api/messages?to=boss")["messages"][0].clone();
    assert_eq!((&told["body_bytes"], &told["body_cut"]), (&json!(25_000), &json!(true)));
}

/// Returns a supervisor and a worker that it launched.
fn team() -> (House, Agent, Agent) {
    let house = House::new();
    let project = house.projects(1).remove(0);
    let boss = Agent { id: add(&house, &project, "boss"), ..Agent::of(&project) };
    let house = boss.enter(house, false);
    let new = json!({ "project": project, "name": "worker", "kind": cmux_testkit::home::GHOST });
    let spawn = Request::new("POST", "/api/agents").with_json(new.to_string());
    let made = super::ask(&house, &boss, spawn).json();
    let id = Box::leak(text(&made["id"]).into_boxed_str());
    house.ask(&Request::new("POST", &format!("/api/agents/{id}/stop")), 200);
    let worker = Agent { id, ..Agent::of_the_past(&project) };
    let house = worker.enter(house, false);
    (house, boss, worker)
}
