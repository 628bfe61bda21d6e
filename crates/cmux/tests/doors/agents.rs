//! Agents, asked for at the doors: by whom they may be, and by what they are called.

use std::fs;

use cmux_testkit::home::GHOST;
use cmux_testkit::wait::eventually;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::house::House;
use crate::knock::Request;

#[test]
fn an_agent_is_made_shown_stopped_and_forgotten() {
    let house = House::new();
    house.home.add_ghost();
    let project = house.projects(1).remove(0);
    let secret = json!({ "KEY": "hush" });
    let new = json!({ "project": project, "name": "worker", "kind": GHOST, "env": secret });
    let made = house.ask(&spawn(&new), 201);
    assert_eq!((&made["role"], &made["intent"]), (&"worker".into(), &"run".into()));
    assert_eq!((&made["parent"], &made["queue"]), (&Value::Null, &0.into()));
    assert!(made["cwd"].as_str().unwrap().ends_with("project-0"), "{made}");
    assert!(!made.to_string().contains("hush"), "{made}");
    let id = made["id"].as_str().unwrap();
    assert_eq!(house.ask(&spawn(&new), 200)["id"], made["id"]);
    let other = json!({ "project": project, "name": "Worker", "kind": GHOST });
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
    house.home.add_ghost();
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
        let mut new = json!({ "project": project, "name": "worker", "kind": GHOST });
        new[field] = value;
        spawn(&new)
    };
    check(&house, &with("project", json!("nowhere")), 404, "not-found");
    for (field, value) in [
        ("project", json!("No Id")),
        ("name", json!("user")),
        ("name", json!("a b")),
        ("kind", json!("")),
        ("kind", json!("no-such-kind")),
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
    house.home.add_ghost();
    let projects = house.projects(2);
    let (own, other) = (&projects[0], &projects[1]);
    let agent = Agent::of(own);
    let house = agent.enter(house, false);
    let new = |project: &String, name: &str| {
        spawn(&json!({ "project": project, "name": name, "kind": GHOST }))
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
    ];
    let asked = asked.map(|request| request.with_token(agent.secret));
    let answers = agent.ask(&house, &house.socket(), &asked);
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [201, 403, 200, 200, 403, 404, 200], "{answers:?}");
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

#[test]
fn an_agent_launches_others_with_no_more_than_it_may_do_itself() {
    let house = House::new();
    house.home.add_ghost();
    let project = house.projects(1).remove(0);
    let agent = Agent::of(&project);
    let house = agent.enter(house, false);
    for (more, reason) in [
        (json!({ "args": ["--dangerously-skip-permissions"] }), "arguments or variables"),
        (json!({ "env": { "PATH": "/tmp" } }), "arguments or variables"),
        (json!({ "kind": "shell" }), "runs what it is told"),
        (json!({ "cwd": "/" }), "outside of its project"),
    ] {
        let mut new = json!({ "project": project, "name": "child", "kind": GHOST });
        for (key, value) in more.as_object().unwrap() {
            new[key] = value.clone();
        }
        let asked = [spawn(&new).with_token(agent.secret)];
        let answer = agent.ask(&house, &house.socket(), &asked).remove(0);
        assert_eq!(answer.status, 403, "{more}: {answer:?}");
        assert!(answer.json()["detail"].as_str().unwrap().contains(reason), "{answer:?}");
    }
    assert_eq!(ids(&house.get("/api/agents")), [""; 0]);
}

#[test]
fn an_agent_tends_those_that_it_launched_and_nobody_elses() {
    let house = House::new();
    house.home.add_ghost();
    let project = house.projects(1).remove(0);
    let new =
        |name: &str, kind: &str| spawn(&json!({ "project": project, "name": name, "kind": kind }));
    let parent = house.ask(&new("parent", GHOST), 201);
    house.ask(&new("sibling", "shell"), 201);
    let parent = Agent { id: id_of(&parent), ..Agent::of(&project) };
    let house = parent.enter(house, false);
    let made =
        parent.ask(&house, &house.socket(), &[new("child", "demo").with_token(parent.secret)]);
    let child = Agent { id: id_of(&made[0].json()), ..Agent::of_the_past(&project) };
    let house = child.enter(house, false);
    let ask = |agent: &Agent, request: Request| {
        let request = request.with_token(agent.secret);
        agent.ask(&house, &house.socket(), &[request]).remove(0)
    };
    let terminal = |name: &str| Request::get(&format!("/api/agents/{name}/terminal?lines=5"));
    let shown = eventually("the child's terminal is shown to who launched it", || {
        let answer = ask(&parent, terminal("child"));
        assert!(matches!(answer.status, 200 | 409), "{answer:?}");
        (answer.status == 200).then(|| answer.json())
    });
    assert!(shown["content"].is_string(), "{shown}");
    let grandchild = ask(&child, new("grandchild", GHOST));
    assert_eq!(grandchild.status, 201, "{grandchild:?}");
    let watch = |name: &str| {
        let watch = Request::get(&format!("/api/agents/{name}/terminal/ws"));
        watch.with("Upgrade", "websocket").with("Connection", "Upgrade")
    };
    for (who, request, status) in [
        (&parent, terminal("sibling"), 403),
        (&parent, terminal("parent"), 403),
        (&child, terminal("parent"), 403),
        (&child, terminal("sibling"), 403),
        (&child, terminal("child"), 403),
        (&parent, watch("child"), 403),
        (&parent, Request::get("/api/agents/child/place"), 403),
        (&parent, terminal("nobody"), 404),
        (&child, post("parent", "stop"), 403),
        (&child, post("sibling", "interrupt"), 403),
        (&parent, post("parent", "restart"), 403),
        (&parent, delete("/api/agents/sibling"), 403),
        (&parent, post("child", "pause"), 200),
        (&parent, post("child", "resume"), 200),
        (&parent, post("grandchild", "restart"), 200),
        (&child, post("grandchild", "stop"), 200),
        (&parent, post("child", "stop"), 200),
    ] {
        let answer = ask(who, request.clone());
        assert_eq!(answer.status, status, "{}: {request:?}: {answer:?}", who.id);
        if status == 403 {
            assert_eq!(answer.problem(), "not-allowed");
        }
    }
    eventually("the child is forgotten by who launched it", || {
        let answer = ask(&parent, delete("/api/agents/child"));
        assert!(matches!(answer.status, 204 | 409), "{answer:?}");
        (answer.status == 204).then_some(())
    });
    // A script that may only speak tends nobody.
    let secret = house.token("send", None).secret;
    let path = format!("sibling?project={project}");
    let answer = house.port().ask(&post(&path, "stop").with_token(&secret));
    assert_eq!((answer.status, answer.problem().as_str()), (403, "not-allowed"));
}

#[test]
fn what_cannot_be_launched_is_refused_before_it_is_stored() {
    let house = House::new();
    house.home.add_ghost();
    let project = house.projects(1).remove(0);
    let manifests = house.home.root().join("agents");
    let ghost = fs::read_to_string(manifests.join("ghost.toml")).unwrap();
    let absent = ghost
        .replace("kind = \"ghost\"", "kind = \"absent\"")
        .replace("built_in = true", "program = \"cmux-test-absent\"")
        .replace("it is never seen", "ask a medium");
    fs::write(manifests.join("absent.toml"), absent).unwrap();
    let folder = house.home.folder("work");
    fs::write(folder.join("file"), "").unwrap();
    let at = |name: &str| folder.join(name).display().to_string();
    let (gone, file) = (at("gone"), at("file"));
    for (kind, cwd, status, slug, told) in [
        ("ghots", None, 400, "bad-request", "Did you mean `ghost`? `cmux agent kinds`"),
        ("zzzzzzzz", None, 400, "bad-request", "`cmux agent kinds`"),
        ("absent", None, 422, "not-installed", "ask a medium"),
        (GHOST, Some(&gone), 400, "bad-request", "gone is not there"),
        (GHOST, Some(&file), 400, "bad-request", "file is not a folder"),
    ] {
        let mut new = json!({ "project": project, "name": "worker", "kind": kind });
        if let Some(cwd) = cwd {
            new["cwd"] = json!(cwd);
        }
        check(&house, &spawn(&new), status, slug);
        let answer = house.socket().ask(&spawn(&new)).json();
        assert!(answer["detail"].as_str().unwrap().contains(told), "{answer}");
    }
    assert_eq!(ids(&house.get("/api/agents")), [""; 0]);
    // What is there already is not refused for what has become of its folder.
    let passing = at("passing");
    fs::create_dir(&passing).unwrap();
    let new = json!({ "project": project, "name": "worker", "kind": GHOST, "cwd": passing });
    house.ask(&spawn(&new), 201);
    fs::remove_dir(&passing).unwrap();
    house.ask(&spawn(&new), 200);
}

#[test]
fn what_was_kept_for_an_agent_goes_with_it_and_what_is_linked_there_stays() {
    let house = House::new();
    house.home.add_ghost();
    let project = house.projects(1).remove(0);
    let new = json!({ "project": project, "name": "worker", "kind": GHOST });
    let id = id_of(&house.ask(&spawn(&new), 201));
    let state = house.home.root().join("agents-state").join(id);
    fs::create_dir_all(state.join("codex/sessions")).unwrap();
    let own = house.home.folder("own");
    fs::write(own.join("auth.json"), "mine").unwrap();
    std::os::unix::fs::symlink(own.join("auth.json"), state.join("codex/auth.json")).unwrap();
    std::os::unix::fs::symlink(&own, state.join("codex/all")).unwrap();
    house.ask(&post(id, "stop"), 200);
    eventually("it is forgotten", || {
        let answer = house.socket().ask(&delete(&format!("/api/agents/{id}")));
        assert!(matches!(answer.status, 204 | 409), "{answer:?}");
        (answer.status == 204).then_some(())
    });
    eventually("nothing is kept for it", || (!state.exists()).then_some(()));
    assert_eq!(fs::read_to_string(own.join("auth.json")).unwrap(), "mine");
}

/// Returns the id of an agent, for as long as the test runs.
fn id_of(agent: &Value) -> &'static str {
    Box::leak(agent["id"].as_str().unwrap().to_owned().into_boxed_str())
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
