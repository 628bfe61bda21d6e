//! Agents that write: to whom they may, as whom they speak, and what they see.

use serde_json::json;

use super::{add, add_of, ask, have, said, send, show, text};
use crate::agent::Agent;
use crate::house::House;
use crate::knock::Request;

/// A team: a parent, its child, and somebody whom neither launched; and one of another project.
struct Team {
    house: House,
    projects: Vec<String>,
    parent: Agent,
    child: Agent,
    far: &'static str,
}

impl Team {
    fn new(config: &str) -> Team {
        let house = House::configured(config);
        let projects = house.projects(2);
        let here = &projects[0];
        let parent = Agent { id: add(&house, here, "parent"), ..Agent::of(here) };
        add(&house, here, "sibling");
        let far = add(&house, &projects[1], "far");
        let house = parent.enter(house, false);
        let new = json!({ "project": here, "name": "child", "kind": cmux_testkit::home::GHOST });
        let spawn = Request::new("POST", "/api/agents").with_json(new.to_string());
        let made = ask(&house, &parent, spawn);
        assert_eq!(made.status, 201, "{made:?}");
        let id = Box::leak(text(&made.json()["id"]).into_boxed_str());
        house.ask(&Request::new("POST", &format!("/api/agents/{id}/stop")), 200);
        let child = Agent { id, ..Agent::of_the_past(here) };
        let house = child.enter(house, false);
        Team { house, projects, parent, child, far }
    }
}

#[test]
fn an_agent_writes_to_its_project_and_to_the_person_as_itself() {
    let Team { house, projects, parent, child, far } = Team::new("");
    let b = "b";
    for (who, new, status, told) in [
        (&parent, json!({ "to": "sibling", "body": b }), 201, "parent"),
        (&parent, json!({ "to": child.id, "body": b }), 201, "parent"),
        (&parent, json!({ "to": format!("child@{}", projects[0]), "body": b }), 201, "parent"),
        (&child, json!({ "to": "user", "body": b }), 201, "child"),
        (&parent, json!({ "to": "child", "body": b, "interrupt": true }), 201, "parent"),
        (
            &child,
            json!({ "to": "parent", "body": b, "interrupt": true }),
            403,
            "may interrupt those",
        ),
        (&parent, json!({ "to": "sibling", "body": b, "interrupt": true }), 403, "may interrupt"),
        (
            &parent,
            json!({ "to": format!("far@{}", projects[1]), "body": b }),
            403,
            "across_projects",
        ),
        (&parent, json!({ "to": "far@nowhere", "body": b }), 403, "across_projects"),
        (&parent, json!({ "to": far, "body": b }), 403, "across_projects"),
        (&parent, json!({ "to": "far", "body": b }), 404, "there is no agent `far`"),
        (&parent, json!({ "to": "user", "body": b, "project": projects[1] }), 403, "its own"),
        (&parent, json!({ "to": "sibling", "body": b, "kind": "user" }), 403, "the person says"),
        (&parent, json!({ "to": "sibling", "body": b, "kind": "system" }), 403, "cmux itself says"),
    ] {
        let answer = ask(&house, who, send(&new));
        assert_eq!(answer.status, status, "{new}: {answer:?}");
        if status == 201 {
            let sent = answer.json();
            assert_eq!((&sent["from"], &sent["kind"]), (&json!(told), &json!("status")), "{new}");
        } else {
            assert!(answer.detail().contains(told), "{told}: {new}: {answer:?}");
        }
    }
}

#[test]
fn an_agent_writes_to_other_projects_where_the_person_lets_it() {
    let Team { house, projects, parent, far, .. } = Team::new("[mail]\nacross_projects = true\n");
    for to in [far.to_owned(), format!("far@{}", projects[1])] {
        let sent = ask(&house, &parent, send(&json!({ "to": to, "body": "hello" })));
        assert_eq!(sent.status, 201, "{sent:?}");
        let sent = sent.json();
        assert_eq!(sent["from"], format!("parent@{}", projects[0]));
        assert_eq!(sent["project"], projects[1].as_str());
    }
}

#[test]
fn only_who_may_launch_it_writes_to_an_agent_that_runs_what_it_is_told() {
    let Team { house, projects, parent, .. } = Team::new("");
    let shell = add_of(&house, &projects[0], "sh", "shell");
    let [speaks, operates] = ["send", "operate"].map(|scope| house.token(scope, None).secret);
    let new = json!({ "to": shell, "body": "ls" });
    let sent = house.ask(&send(&new), 201);
    house.ask(&have(&sent, "cancel"), 200);
    let by_script = house.port().ask(&send(&new).with_token(&operates));
    assert_eq!(by_script.status, 201, "{by_script:?}");
    let reply = json!({ "to": shell, "body": "b", "reply_to": sent["id"] });
    for refused in [
        ask(&house, &parent, send(&new)),
        ask(&house, &parent, send(&json!({ "to": "sh", "body": "rm -r ." }))),
        house.port().ask(&send(&new).with_token(&speaks)),
        house.port().ask(&send(&reply).with_token(&speaks)),
        // What is lent to an agent is less than it was.
        parent.ask(&house, &house.port(), &[send(&new).with_token(&operates)]).remove(0),
    ] {
        assert_eq!(refused.status, 403, "{refused:?}");
        assert!(refused.detail().contains("runs what it is told as a command"), "{refused:?}");
    }
    house.ask(&have(&sent, "retry"), 200);
}

#[test]
fn an_agent_sees_its_own_mail_and_changes_what_it_sent() {
    let Team { house, parent, child, .. } = Team::new("");
    let to_child = house.ask(&send(&json!({ "to": child.id, "body": "to child" })), 201);
    let to_sibling = house.ask(&send(&json!({ "to": "sibling", "body": "to sibling" })), 201);
    let own = ask(&house, &child, send(&json!({ "to": "parent", "body": "from child" }))).json();
    let list = |query: &str| Request::get(&format!("/api/messages?{query}"));
    for (query, expected) in [
        ("", &["to child"][..]),
        ("to=child", &["to child"]),
        ("from=child", &["from child"]),
        ("to=parent", &["from child"]),
        ("from=user", &["to child"]),
        ("from=sibling", &[]),
        ("to=sibling", &[]),
        ("unread=true", &[]),
    ] {
        let answer = ask(&house, &child, list(query));
        assert_eq!(answer.status, 200, "{query}: {answer:?}");
        assert_eq!(said(&answer.json()), expected, "{query}");
    }
    let history = |name: &str| Request::get(&format!("/api/agents/{name}/history"));
    for (who, request, status) in [
        (&child, show(&to_child), 200),
        (&child, show(&own), 200),
        (&parent, show(&own), 200),
        (&parent, show(&to_child), 404),
        (&child, show(&to_sibling), 404),
        (&child, have(&to_sibling, "cancel"), 404),
        (&child, have(&to_child, "cancel"), 403),
        (&child, have(&to_child, "retry"), 403),
        (&child, have(&to_child, "read"), 403),
        (&parent, have(&own, "cancel"), 403),
        (&child, send(&json!({ "reply_to": to_sibling["id"], "body": "b" })), 404),
        (&child, list("to=user&from=sibling"), 403),
        (&child, history("parent"), 403),
        (&child, history("child"), 200),
        (&child, have(&own, "cancel"), 200),
        (&child, have(&own, "retry"), 200),
    ] {
        let answer = ask(&house, who, request.clone());
        assert_eq!(answer.status, status, "{}: {request:?}: {answer:?}", who.id);
    }
    assert_eq!(house.ask(&show(&to_child), 200)["state"], "queued");
    assert_eq!(house.ask(&show(&to_sibling), 200)["state"], "queued");
}

#[test]
fn an_answer_goes_to_whoever_wrote_and_stays_in_the_conversation() {
    let Team { house, parent, child, .. } = Team::new("");
    let asked = ask(&house, &child, send(&json!({ "to": "parent", "body": "which?" }))).json();
    let answer = json!({ "reply_to": asked["id"], "body": "this" });
    let told = ask(&house, &parent, send(&answer)).json();
    assert_eq!((&told["to"], &told["kind"]), (&json!("child"), &json!("response")), "{told}");
    assert_eq!((&told["reply_to"], &told["thread"]), (&asked["id"], &asked["id"]), "{told}");
    let persons = house.ask(&send(&json!({ "to": "child", "body": "well?" })), 201);
    let answer = json!({ "reply_to": persons["id"], "body": "well." });
    let told = ask(&house, &child, send(&answer)).json();
    assert_eq!((&told["to"], &told["from"]), (&json!("user"), &json!("child")), "{told}");
    // Whoever is not in a conversation cannot answer in it.
    let answer = ask(&house, &parent, send(&answer));
    assert_eq!((answer.status, answer.problem().as_str()), (404, "not-found"), "{answer:?}");
}
