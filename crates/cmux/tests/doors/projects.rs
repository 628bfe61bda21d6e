//! An agent and the projects: it knows of its own, and of no other.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::agent::Agent;
use crate::house::House;
use crate::knock::Request;

#[test]
fn an_agent_knows_of_its_own_project_alone() {
    let house = House::new();
    let ids = house.projects(3);
    let agent = Agent::of(&ids[1]);
    let house = agent.enter(house, false);
    let get = |path: &str| Request::get(path).with_token(agent.secret);
    let elsewhere = &ids[0];
    let asked = [
        get("/api/projects"),
        get("/api/status"),
        get("/api/events?since=0&limit=1000"),
        get(&format!("/api/projects/{}", ids[1])),
        get(&format!("/api/projects?cursor={elsewhere}")),
        get(&format!("/api/events?since=0&project={}", ids[1])),
        get("/api/events?since=0&kind=daemon."),
        get("/api/whoami"),
    ];
    let answers = agent.ask(&house, &house.socket(), &asked);
    for (request, answer) in asked.iter().zip(&answers) {
        assert_eq!(answer.status, 200, "{request:?}: {answer:?}");
        let told = String::from_utf8_lossy(&answer.body);
        assert!(!told.contains(elsewhere) && !told.contains(&ids[2]), "{request:?}: {told}");
    }
    let own = [Value::from(ids[1].as_str())];
    assert_eq!(all(&answers[0].json()["projects"], "id"), own);
    assert_eq!(all(&answers[1].json()["projects"], "id"), own);
    assert_eq!(all(&answers[2].json()["events"], "project"), own);
    assert_eq!(all(&answers[5].json()["events"], "project"), own);
    assert_eq!(answers[6].json()["events"], Value::Array(Vec::new()));
    let who = answers[7].json();
    assert_eq!((&who["principal"], &who["id"]), (&"agent".into(), &agent.id.into()));

    let refused = [
        get(&format!("/api/projects/{elsewhere}")),
        get("/api/projects/nothing-there"),
        get(&format!("/api/events?project={elsewhere}")),
        get(&format!("/api/ws?project={elsewhere}")).for_websocket(),
    ];
    let answers = agent.ask(&house, &house.socket(), &refused);
    for (request, answer) in refused.iter().zip(&answers) {
        assert_eq!((answer.status, answer.problem().as_str()), (403, "not-allowed"), "{answer:?}");
        let path = request.path.split('?').next().unwrap();
        assert_eq!(house.refusal("not-allowed", "GET", path)["door"], "socket");
    }
}

#[test]
fn an_agent_that_follows_the_log_is_told_of_its_own_project_alone() {
    let house = House::new();
    let ids = house.projects(2);
    let agent = Agent::of(&ids[1]);
    let house = agent.enter(house, false);
    let program = house.home.program().to_str().unwrap();
    let follow = ["launch", "--", program, "events", "-f", "--since", "0", "--json"];
    let mut command = house.home.command(&follow);
    command.env("CMUX_RUN", agent.run).env("CMUX_TOKEN", agent.secret);
    let mut following = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&told.next().unwrap().unwrap()).unwrap() };
    let first = next();
    assert_eq!(
        (&first["kind"], &first["project"]),
        (&"project.added".into(), &ids[1].as_str().into())
    );
    // What befalls the other comes in between, and is not told.
    for id in &ids {
        house.ask(&Request::new("DELETE", &format!("/api/projects/{id}")), 204);
    }
    let second = next();
    assert_eq!(
        (&second["kind"], &second["project"]),
        (&"project.removed".into(), &ids[1].as_str().into())
    );
    kill_process(Pid::from_child(&following), Signal::TERM).unwrap();
    following.wait().unwrap();
}

/// Returns what each of `list` has in `field`.
#[track_caller]
fn all(list: &Value, field: &str) -> Vec<Value> {
    list.as_array().unwrap().iter().map(|it| it[field].clone()).collect()
}
