//! What there is, and what is wanted of it: agents that do not run, by name and by id.

use cmux_testkit::home::Ran;
use serde_json::{Value, json};

use crate::agents::Shop;
use crate::{document, refused};

#[test]
fn an_agent_is_called_by_its_name_or_id_here_or_in_a_project_that_is_named() {
    let shop = Shop::new();
    let id = shop.add("api", "worker")["id"].clone();
    let id = id.as_str().unwrap();
    assert_eq!(shop.told(&["agent", "show", "api"])["id"], id);
    assert_eq!(shop.told(&["agent", "show", "API"])["id"], id);
    // An id needs no place.
    assert_eq!(shop.json(&["agent", "show", id])["id"], id);
    for project in [shop.project.as_str(), "shop", &shop.root.display().to_string()] {
        let shown = shop.json(&["agent", "show", "api", "--project", project]);
        assert_eq!(shown["id"], id, "{project}");
    }
    let mut below = shop.command(&["agent", "show", "api", "--json"]);
    let below: Ran = below.env("CMUX_PROJECT", &shop.project).output().unwrap().into();
    assert_eq!(document(&below)["id"], id);
    let words = shop.here(&["agent", "show", "api"]);
    for told in ["api", id, &shop.project, "worker", "ghost"] {
        assert!(words.stdout.contains(told), "{told} is not in {words:?}");
    }
}

#[test]
fn who_is_not_there_exits_4_with_the_name_that_was_meant() {
    let shop = Shop::new();
    for verb in ["show", "why", "stop", "restart", "pause", "resume", "rm", "interrupt", "output"] {
        let ran = shop.here(&["agent", verb, "api"]);
        refused(&ran, 4, &["there is no agent `api`", "`cmux agent spawn`"]);
    }
    shop.add("api", "worker");
    refused(&shop.here(&["agent", "show", "apu"]), 4, &["did you mean `api`?"]);
    refused(&shop.here(&["agent", "rm", "zzz"]), 4, &["`cmux agent list --all`"]);
    let nobody = "agt_00000000000000000000000001";
    refused(&shop.run(&["agent", "show", nobody]), 4, &[nobody]);
    refused(&shop.run(&["agent", "show", "api"]), 4, &["the folder here belongs to no project"]);
    refused(&shop.here(&["agent", "show", "api", "--project", "shpo"]), 4, &["`shop"]);
    refused(&shop.here(&["agent", "show", "a b"]), 1, &["cannot be an agent's name"]);
    refused(&shop.here(&["agent", "show", "\u{1b}[2J\u{202e}"]), 1, &["agent's name"]);
}

#[test]
fn a_team_is_listed_with_its_supervisor_first() {
    let shop = Shop::new();
    assert_eq!(shop.told(&["agent", "list"]), json!({ "agents": [], "next": null }));
    let none = shop.here(&["agent", "list"]);
    assert!(none.stdout.contains("`cmux agent spawn NAME`"), "{none:?}");
    for (name, role) in [("b", "worker"), ("a", "reviewer"), ("boss", "supervisor")] {
        shop.add(name, role);
    }
    // None is wanted, so that all are in one phase.
    for name in ["a", "b", "boss"] {
        shop.told(&["agent", "stop", name]);
    }
    assert_eq!(names(&shop.told(&["agent", "list"])), ["boss", "a", "b"]);
    assert_eq!(names(&shop.json(&["agent", "list", "--all"])), ["boss", "a", "b"]);
    let named = shop.json(&["agent", "list", "--project", "shop"]);
    assert_eq!(names(&named), ["boss", "a", "b"]);
    let other = shop.folder("other").display().to_string();
    shop.json(&["project", "add", &other]);
    assert_eq!(names(&shop.json(&["agent", "list", "--project", &other])), [""; 0]);
    refused(&shop.run(&["agent", "list"]), 4, &["the folder here", "`cmux agent list --all`"]);
    let words = shop.run(&["agent", "list", "--all"]);
    assert!(words.stdout.starts_with(&format!("{}  boss", shop.project)), "{words:?}");
    assert!(words.stdout.contains("stopped for "), "{words:?}");
    let status = shop.run(&["status"]);
    assert!(status.stdout.contains("3 stopped"), "{status:?}");
    assert_eq!(shop.json(&["status"])["agents"].as_array().unwrap().len(), 3);
}

#[test]
fn what_is_wanted_of_an_agent_is_stored_and_an_agent_that_does_not_run_is_forgotten() {
    let shop = Shop::new();
    shop.add("api", "worker");
    for (verb, intent) in [("pause", "pause"), ("resume", "run"), ("restart", "run")] {
        assert_eq!(shop.told(&["agent", verb, "api"])["intent"], intent, "{verb}");
    }
    let stopping = shop.told(&["agent", "stop", "api", "--no-wait"]);
    assert_eq!(stopping["intent"], "stop");
    let stopped = shop.told(&["agent", "stop", "api"]);
    assert_eq!((&stopped["intent"], &stopped["run"]), (&json!("stop"), &Value::Null));
    let again = shop.here(&["agent", "stop", "api"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), "`api` is stopped\n"), "{again:?}");
    assert_eq!(shop.told(&["agent", "rm", "api"])["id"], stopped["id"]);
    refused(&shop.here(&["agent", "rm", "api"]), 4, &["there is no agent `api`"]);
    shop.add("api", "worker");
    let removed = shop.here(&["agent", "rm", "--force", "api"]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    assert_eq!(names(&shop.told(&["agent", "list"])), [""; 0]);
}

#[test]
fn an_agent_is_attached_to_only_where_it_runs_and_from_a_terminal() {
    let shop = Shop::new();
    shop.add("api", "worker");
    shop.told(&["agent", "stop", "api"]);
    let told = ["no terminal", "`cmux agent output api`"];
    refused(&shop.here(&["agent", "attach", "api"]), 5, &told);
    let told = ["`api` is nowhere in tmux", "`cmux agent resume api`"];
    refused(&shop.here(&["agent", "attach", "api", "--json"]), 1, &told);
}

#[test]
fn down_stops_the_agents_here_and_says_so() {
    let shop = Shop::new();
    shop.add("api", "worker");
    shop.add("boss", "supervisor");
    refused(&shop.run(&["down"]), 4, &["the folder here", "`cmux down --all`"]);
    let down = shop.told(&["down"]);
    assert_eq!(down["agents"].as_array().unwrap().len(), 2, "{down}");
    assert_eq!((&down["unstopped"], &down["left"]), (&json!([]), &json!([])));
    let down = shop.here(&["down"]);
    assert!(down.stdout.contains("nothing to stop"), "{down:?}");
    let status = shop.json(&["status"]);
    let intents: Vec<&Value> =
        status["agents"].as_array().unwrap().iter().map(|it| &it["intent"]).collect();
    assert_eq!(intents, ["stop", "stop"]);
}

#[track_caller]
fn names(page: &Value) -> Vec<&str> {
    let agents = page["agents"].as_array().unwrap();
    agents.iter().map(|agent| agent["name"].as_str().unwrap()).collect()
}
