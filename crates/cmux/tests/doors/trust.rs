//! Who may trust a project's files: the person, as they were shown them, and nobody for them.

use std::fs;

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::house::House;
use crate::knock::{Answer, Request};

const CONFIG: &str = ".cmux/config.toml";

#[test]
fn what_has_changed_since_it_was_shown_is_not_trusted() {
    let (house, project) = furnished("name = 'good'");
    let shown = house.get(&path(&project));
    let file = &shown["files"][0];
    assert_eq!((&file["path"], &file["standing"]), (&json!(CONFIG), &json!("new")));
    let new = json!({ "files": [{ "path": CONFIG, "digest": file["digest"] }], "folder": true });
    write(&house, "name = 'evil'");
    check_refused(&house.socket().ask(&post(&project, &new)), 409, "changed");
    // Nor is one that is gone, or never was there.
    fs::remove_dir_all(house.home.folder("project-0").join(".cmux")).unwrap();
    check_refused(&house.socket().ask(&post(&project, &new)), 409, "changed");
    assert_eq!(house.get(&path(&project))["folder"], false, "none of it was done");

    write(&house, "name = 'good'");
    let head = house.head();
    for _ in 0..2 {
        let given = house.ask(&post(&project, &new), 200);
        assert_eq!(
            (&given["files"][0]["standing"], &given["folder"]),
            (&json!("trusted"), &json!(true))
        );
    }
    assert_eq!(house.kinds(head), ["project.trusted"]);
    let told = house.events(head).remove(0);
    assert_eq!((&told["actor"], &told["data"]), (&json!("operator"), &new));
    for _ in 0..2 {
        house.socket().ask(&Request::new("DELETE", &path(&project)));
    }
    assert_eq!(house.get(&path(&project))["files"][0]["standing"], "new");
    assert_eq!(house.kinds(head), ["project.trusted", "project.untrusted"]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (house, project) = furnished("");
    let digest = "0".repeat(64);
    let file = |path: &str, digest: &str| json!({ "files": [{ "path": path, "digest": digest }], "folder": false });
    for body in [
        json!({}),
        json!({ "files": [], "folder": "yes" }),
        json!({ "files": [], "folder": true, "more": 1 }),
        file("/etc/passwd", &digest),
        file(".cmux/roles/../config.toml", &digest),
        file(CONFIG, "0"),
        file(CONFIG, &"G".repeat(64)),
    ] {
        let answer = house.socket().ask(&post(&project, &body));
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
    }
    check_refused(&house.socket().ask(&post("nobody", &file(CONFIG, &digest))), 404, "not-found");
}

#[test]
fn an_agent_or_a_script_sees_what_is_trusted_and_trusts_nothing() {
    let (house, project) = furnished("name = 'x'");
    let agent = Agent::of(&project);
    let house = agent.enter(house, false);
    let digest = house.get(&path(&project))["files"][0]["digest"].clone();
    let new = json!({ "files": [{ "path": CONFIG, "digest": digest }], "folder": true });
    let operate = house.token("operate", None).secret;
    let asked = [post(&project, &new), Request::new("DELETE", &path(&project))];
    for request in &asked {
        let answer = house.port().ask(&request.clone().with_token(&operate));
        check_refused(&answer, 403, "not-allowed");
    }
    let asked = asked.map(|request| request.with_token(agent.secret));
    for answer in agent.ask(&house, &house.socket(), &asked) {
        check_refused(&answer, 403, "not-allowed");
    }
    let program = house.home.program().to_str().unwrap();
    let ran = agent.run(&house, &[program, "project", "trust", &project, "--yes"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.contains("this is for the person alone"), "{ran:?}");
    let seen = agent.run(&house, &[program, "project", "trust", &project, "--show", "--json"]);
    let seen: Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!((&seen["files"][0]["standing"], &seen["folder"]), (&json!("new"), &json!(false)));
}

/// Returns a house with a project whose configuration says this, and the project's id.
fn furnished(config: &str) -> (House, String) {
    let house = House::new();
    let project = house.projects(1).remove(0);
    write(&house, config);
    (house, project)
}

fn write(house: &House, config: &str) {
    let root = house.home.folder("project-0");
    fs::create_dir_all(root.join(".cmux")).unwrap();
    fs::write(root.join(CONFIG), config).unwrap();
}

fn path(project: &str) -> String {
    format!("/api/projects/{project}/trust")
}

fn post(project: &str, body: &Value) -> Request {
    Request::new("POST", &path(project)).with_json(body.to_string())
}

#[track_caller]
fn check_refused(answer: &Answer, status: u16, problem: &str) {
    assert_eq!((answer.status, answer.problem().as_str()), (status, problem), "{answer:?}");
}
