//! Agents that write: to whom they may, as whom they speak, and what they see.

use std::{fs, thread};

use cmux_testkit::wait::eventually;
use serde_json::{Value, json};

use super::{add, add_of, ask, have, said, send, show, text};
use crate::PROGRAM;
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
fn an_agent_cannot_find_out_who_there_is_in_other_projects() {
    let Team { house, projects, parent, far, .. } = Team::new("");
    let nobody = "agt_00000000000000000000000001";
    let there = &projects[1];
    let to = |to: &str, project: Option<&str>| {
        send(&json!({ "to": to, "project": project, "body": "b" }))
    };
    let list = |query: &str| Request::get(&format!("/api/messages?{query}"));
    // Each is asked of what is there and of what is not.
    for (one, other) in [
        (to(far, None), to(nobody, None)),
        (to("far", Some(there)), to("fra", Some(there))),
        (to("far", Some(there)), to("far", Some("nowhere"))),
        (to(&format!("far@{there}"), None), to("fra@nowhere", None)),
        (list(&format!("to=far&project={there}")), list(&format!("to=fra&project={there}"))),
        (list(&format!("to=far&project={there}")), list("to=far&project=nowhere")),
    ] {
        let told = [one, other].map(|it| ask(&house, &parent, it));
        assert_eq!(told[0].status, 403, "{told:?}");
        let [one, other] = told.map(|it| (it.status, it.detail()));
        assert_eq!(one, other);
    }
}

#[test]
fn what_is_sent_again_must_be_allowed_to_whoever_asks_for_it() {
    let Team { house, parent, child, .. } = Team::new("");
    let operates = house.token("operate", None).secret;
    let sent = |new: &Value| {
        let sent = house.port().ask(&send(new).with_token(&operates));
        assert_eq!(sent.status, 201, "{sent:?}");
        let sent = sent.json();
        house.ask(&have(&sent, "cancel"), 200);
        sent
    };
    let plain = sent(&json!({ "to": child.id, "body": "b" }));
    let urgent = sent(&json!({ "to": child.id, "body": "b", "interrupt": true }));
    // What is lent to an agent is less than it was.
    let lent = |message| have(message, "retry").with_token(&operates);
    let told = parent.ask(&house, &house.port(), &[lent(&plain), lent(&urgent)]);
    assert_eq!([told[0].status, told[1].status], [200, 403], "{told:?}");
    assert_eq!(house.ask(&show(&urgent), 200)["state"], "cancelled");
    house.ask(&have(&urgent, "retry"), 200);
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
fn the_log_tells_an_agent_of_its_own_mail_and_no_other() {
    let Team { house, projects, parent, child, .. } = Team::new("");
    let head = house.head();
    let to_user = json!({ "to": "user", "body": "b", "project": projects[0] });
    for new in [json!({ "to": "child", "body": "b" }), json!({ "to": "sibling", "body": "b" })] {
        house.ask(&send(&new), 201);
    }
    house.ask(&send(&to_user), 201);
    for new in [&json!({ "to": "parent", "body": "b" }), &to_user] {
        assert_eq!(ask(&house, &child, send(new)).status, 201);
    }
    let path = format!("/api/events?since={head}&kind=message.");
    let all: &[_] = &["user child", "user sibling", "user user", "child parent", "child user"];
    assert_eq!(between(&house.get(&path)["events"]), all);
    for (who, expected) in
        [(&child, &["user child", "child parent", "child user"][..]), (&parent, &["child parent"])]
    {
        let told = ask(&house, who, Request::get(&path));
        assert_eq!(between(&told.json()["events"]), expected, "{}", who.id);
        let newest = ask(&house, who, Request::get("/api/events?kind=message."));
        assert_eq!(between(&newest.json()["events"]), expected, "{}", who.id);
        for query in [
            "before=999999&kind=message.",
            "q=MESSAGE.&kind=message.",
            "since=0&q=msg_&kind=message.",
        ] {
            let found = ask(&house, who, Request::get(&format!("/api/events?{query}")));
            assert_eq!(between(&found.json()["events"]), expected, "{}: {query}", who.id);
        }
    }
    let of_sibling = house.get(&path)["events"][1]["subject"].as_str().unwrap().to_owned();
    let about = Request::get(&format!("/api/events?subject={of_sibling}"));
    assert_eq!(between(&house.ask(&about, 200)["events"]), ["user sibling"]);
    for who in [&child, &parent] {
        let found = ask(&house, who, about.clone()).json();
        assert_eq!((&found["events"], &found["scanned_from"]), (&json!([]), &Value::Null));
    }
    for project in [projects[1].as_str(), "nowhere"] {
        let elsewhere = Request::get(&format!("/api/events?before=9&q=x&project={project}"));
        assert_eq!(ask(&house, &child, elsewhere).status, 403, "{project}");
    }
}

#[test]
fn an_agent_that_follows_the_log_hears_of_its_own_mail_and_no_other() {
    let Team { house, child, .. } = Team::new("");
    let heard = house.home.folder("agent").join("heard");
    fs::write(&heard, "").unwrap();
    let to = |name: &str| {
        house.ask(&send(&json!({ "to": name, "body": "b" })), 201);
    };
    let heard_so_far = || {
        let text = fs::read_to_string(&heard).unwrap();
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        json!(lines.map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>())
    };
    let listen = r#""$0" events -f --json --kind message. | while read -r line; do
        printf '%s\n' "$line" >> "$1"; [ $(wc -l < "$1") -lt 3 ] || exit; done"#;
    let file = heard.to_str().unwrap();
    thread::scope(|scope| {
        let listening = scope.spawn(|| child.run(&house, &["sh", "-c", listen, PROGRAM, file]));
        eventually("it follows", || (house.number("cmux_ws_clients") == 1).then_some(()));
        // From what it hears on, it is told of what comes as it comes.
        eventually("it hears", || {
            to("child");
            (!between(&heard_so_far()).is_empty()).then_some(())
        });
        eventually("it has heard enough", || {
            to("sibling");
            to("child");
            listening.is_finished().then_some(())
        });
    });
    let told = between(&heard_so_far());
    assert!(told.len() >= 3 && told.iter().all(|it| it == "user child"), "{told:?}");
}

/// Returns who each event tells of that wrote, and to whom.
fn between(events: &Value) -> Vec<String> {
    let all = events.as_array().unwrap_or_else(|| panic!("{events}"));
    let of = |data: &Value| format!("{} {}", text(&data["from"]), text(&data["to"]));
    all.iter().map(|event| of(&event["data"])).collect()
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
    // Whoever has more to say goes on with whom they spoke to.
    let more = json!({ "reply_to": persons["id"], "body": "and soon" });
    let told = house.ask(&send(&more), 201);
    assert_eq!((&told["to"], &told["thread"]), (&json!("child"), &persons["thread"]), "{told}");
    let more = json!({ "reply_to": asked["id"], "body": "or neither?" });
    let told = ask(&house, &child, send(&more)).json();
    assert_eq!((&told["to"], &told["from"]), (&json!("parent"), &json!("child")), "{told}");
    // Whoever is not in a conversation cannot answer in it.
    let answer = ask(&house, &parent, send(&answer));
    assert_eq!((answer.status, answer.problem().as_str()), (404, "not-found"), "{answer:?}");
}
