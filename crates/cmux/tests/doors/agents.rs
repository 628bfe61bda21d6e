//! Agents, asked for at the doors: by whom they may be, and by what they are called.

use cmux_testkit::wait::eventually;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::house::House;
use crate::knock::Request;

/// A kind that no machine has, so that nothing runs.
const KIND: &str = "no-such-kind";

#[test]
fn an_agent_is_made_shown_stopped_and_forgotten() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    let secret = json!({ "KEY": "hush" });
    let new = json!({ "project": project, "name": "worker", "kind": KIND, "env": secret });
    let made = house.ask(&spawn(&new), 201);
    assert_eq!((&made["role"], &made["intent"]), (&"worker".into(), &"run".into()));
    assert_eq!((&made["parent"], &made["queue"]), (&Value::Null, &0.into()));
    assert!(made["cwd"].as_str().unwrap().ends_with("project-0"), "{made}");
    assert!(!made.to_string().contains("hush"), "{made}");
    let id = made["id"].as_str().unwrap();
    assert_eq!(house.ask(&spawn(&new), 200)["id"], made["id"]);
    let other = json!({ "project": project, "name": "Worker", "kind": KIND });
    check(&house, &spawn(&other), 409, "name-taken");

    let by_name = format!("worker?project={project}");
    for path in [id, by_name.as_str(), &format!("{id}?project={project}")] {
        assert_eq!(house.get(&format!("/api/agents/{path}"))["id"], made["id"], "{path}");
    }
    for path in ["/api/agents", &format!("/api/agents?project={project}")] {
        assert_eq!(ids(&house.get(path)), [id], "{path}");
    }
    assert_eq!(ids(&house.get(&format!("/api/agents?cursor={id}"))), [""; 0]);
    let paused = house.ask(&post(&by_name, "pause"), 200);
    assert_eq!(paused["intent"], "pause");
    assert_eq!(house.ask(&post(&by_name, "resume"), 200)["intent"], "run");
    assert_eq!(house.ask(&post(id, "restart"), 200)["intent"], "run");
    check(&house, &delete(&format!("/api/projects/{project}")), 409, "has-agents");
    assert_eq!(house.ask(&post(&by_name, "stop"), 200)["intent"], "stop");
    eventually("nothing is left of it", || {
        let answer = house.socket().ask(&delete(&format!("/api/agents/{by_name}")));
        assert!(matches!(answer.status, 204 | 409), "{answer:?}");
        (answer.status == 204).then_some(())
    });
    house.ask(&delete(&format!("/api/projects/{project}")), 204);
}

#[test]
fn what_names_no_agent_or_cannot_be_one_is_refused_with_a_reason() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    let nobody = "agt_00000000000000000000000001";
    for path in [nobody, "worker", &format!("worker?project={project}"), "worker?project=nowhere"] {
        check(&house, &Request::get(&format!("/api/agents/{path}")), 404, "not-found");
        check(&house, &delete(&format!("/api/agents/{path}")), 404, "not-found");
        check(&house, &post(path, "stop"), 404, "not-found");
    }
    check(&house, &Request::get("/api/agents?project=nowhere"), 404, "not-found");
    for path in ["a.b", "user", "1", "x?project=No+Id", "x?more=1"] {
        check(&house, &Request::get(&format!("/api/agents/{path}")), 400, "bad-request");
    }
    check(&house, &Request::get("/api/agents?cursor=worker"), 400, "bad-request");
    let with = |field: &str, value: Value| {
        let mut new = json!({ "project": project, "name": "worker", "kind": KIND });
        new[field] = value;
        spawn(&new)
    };
    check(&house, &with("project", json!("nowhere")), 404, "not-found");
    for (field, value) in [
        ("project", json!("No Id")),
        ("name", json!("user")),
        ("name", json!("a b")),
        ("kind", json!("")),
        ("role", json!("a/b")),
        ("cwd", json!("here")),
        ("cwd", json!("/a/../b")),
        ("args", json!(vec!["x"; 65])),
        ("args", json!(["\0"])),
        ("env", json!({ "A=B": "" })),
        ("env", json!({ "CMUX_TOKEN": "" })),
        ("task", json!("x".repeat(70_000))),
    ] {
        check(&house, &with(field, value), 400, "bad-request");
    }
    check(&house, &with("parent", json!(nobody)), 400, "bad-body");
    assert_eq!(ids(&house.get("/api/agents")), [""; 0]);
}

#[test]
fn an_agent_launches_others_in_its_own_project_and_knows_of_no_more() {
    let house = House::new();
    let projects = house.projects(2);
    let (own, other) = (&projects[0], &projects[1]);
    let agent = Agent::of(own);
    let house = agent.enter(house, false);
    let new = |project: &String, name: &str| {
        spawn(&json!({ "project": project, "name": name, "kind": KIND }))
    };
    let elsewhere = house.ask(&new(other, "other"), 201)["id"].as_str().unwrap().to_owned();
    let asked = [
        new(own, "child"),
        new(other, "child"),
        Request::get("/api/agents"),
        Request::get("/api/agents/CHILD"),
        Request::get(&format!("/api/agents?project={other}")),
        Request::get(&format!("/api/agents/{elsewhere}")),
        post("child", "stop"),
        delete("/api/agents/child"),
    ];
    let asked = asked.map(|request| request.with_token(agent.secret));
    let answers = agent.ask(&house, &house.socket(), &asked);
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [201, 403, 200, 200, 403, 404, 403, 403], "{answers:?}");
    let child = answers[0].json();
    assert_eq!((&child["parent"], &child["project"]), (&agent.id.into(), &own.as_str().into()));
    assert_eq!(ids(&answers[2].json()), [child["id"].as_str().unwrap()]);
    assert_eq!(answers[3].json()["id"], child["id"]);
    // To speak to agents is not to launch them.
    for (scope, status) in [("read", 403), ("send", 403), ("operate", 201)] {
        let secret = house.token(scope, None).secret;
        let answer = house.port().ask(&new(other, "script").with_token(&secret));
        assert_eq!(answer.status, status, "{scope}: {answer:?}");
    }
}

/// Checks that `request` of the person is refused so.
#[track_caller]
fn check(house: &House, request: &Request, status: u16, slug: &str) {
    let answer = house.socket().ask(request);
    let found = (answer.status, answer.problem());
    assert_eq!(found, (status, slug.to_owned()), "{request:?}: {answer:?}");
}

fn spawn(new: &Value) -> Request {
    Request::new("POST", "/api/agents").with_json(new.to_string())
}

/// Asks for `verb` of an agent that is called so, with its project or without.
fn post(called: &str, verb: &str) -> Request {
    let (name, query) =
        called.split_once('?').map_or((called, None), |(it, more)| (it, Some(more)));
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    Request::new("POST", &format!("/api/agents/{name}/{verb}{query}"))
}

fn delete(path: &str) -> Request {
    Request::new("DELETE", path)
}

#[track_caller]
fn ids(page: &Value) -> Vec<&str> {
    let agents = page["agents"].as_array().unwrap().iter();
    agents.map(|agent| agent["id"].as_str().unwrap()).collect()
}
