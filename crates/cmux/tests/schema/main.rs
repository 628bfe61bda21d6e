//! The OpenAPI document, held against a daemon that runs: schemathesis makes up requests from it, and
//! checks that every answer is one that it names.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking")]

mod door;
mod files;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::door::{Door, WEBHOOK_SECRET};

/// How many cases there are of each route, and from which number they are drawn, unless
/// `CMUX_FUZZ_CASES` and `CMUX_FUZZ_SEED` say otherwise: the same in every run.
const CASES: &str = "30";
const SEED: &str = "20251115";

/// What there is of each kind of event afterwards, if schemathesis got anywhere.
const DONE_BY_SCRIPT: &[&str] = &["project.added", "project.removed", "webhook.received"];
const DONE_IN_BROWSER: &[&str] =
    &["project.added", "webhook.received", "token.created", "token.revoked", "door.refused"];

#[test]
fn the_document_is_openapi() {
    let door = Door::open();
    let file = door.home.folder("schema").join("openapi.json");
    fs::write(&file, door.ask("GET", "/api/openapi.json", None).body).unwrap();
    let judged = Command::new(tool("openapi-spec-validator")).arg(&file).output().unwrap();
    assert!(judged.status.success(), "{}", text(&judged.stdout) + &text(&judged.stderr));
}

#[test]
fn a_script_finds_the_daemon_as_the_document_says() {
    let door = Door::open();
    let who = format!("[auth.openapi.token]\nbearer = \"{}\"\n", door.token);
    check(door, "script", &who, "", DONE_BY_SCRIPT);
}

#[test]
fn a_browser_finds_the_daemon_as_the_document_says() {
    let door = Door::open();
    let cookie = door.enter();
    // Others that it can send away.
    let _others = [door.enter(), door.enter()];
    let own = door.whoami(&cookie)["id"].as_str().unwrap().to_owned();
    let (_, secret) = cookie.split_once('=').unwrap();
    let origin = format!("[headers]\nOrigin = \"http://{}\"\n", door.address());
    let who = format!("[auth.openapi.browser]\napi_key = \"{secret}\"\n{origin}");
    let door = check(door, "browser", &who, &own, DONE_IN_BROWSER);
    assert_eq!(door.whoami(&cookie)["principal"], "operator", "it has lost its session");
    door.close();
}

/// Tries the daemon as `who` is configured, and checks that all is as the document says, that each kind
/// of event in `done` came of it, and that the daemon and its store are well afterwards.
fn check(mut door: Door, name: &str, who: &str, own: &str, done: &[&str]) -> Door {
    let config = door.home.folder("schema").join("schemathesis.toml");
    fs::write(&config, [include_str!("schemathesis.toml"), who].join("\n")).unwrap();
    let reports = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schemathesis").join(name);
    fs::create_dir_all(&reports).unwrap();
    let setting = |name, usual: &str| std::env::var(name).unwrap_or_else(|_| usual.to_owned());
    let (cases, seed) = (setting("CMUX_FUZZ_CASES", CASES), setting("CMUX_FUZZ_SEED", SEED));
    let tried = Command::new(tool("schemathesis"))
        .arg("--config-file")
        .arg(&config)
        .args(["run", &format!("http://{}/api/openapi.json", door.address()), "--no-color"])
        .args(["--checks", "all", "--phases", "examples,coverage,fuzzing,stateful"])
        .args(["--continue-on-failure", "--max-examples", &cases, "--seed", &seed])
        .args(["--report", "junit", "--report-junit-path"])
        .arg(reports.join("junit.xml"))
        .current_dir(door.home.folder("schema"))
        .env("PYTHONPATH", here())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("WEBHOOK_SECRET", WEBHOOK_SECRET)
        .env("OWN_SESSION", own)
        .output()
        .unwrap();
    let told = text(&tried.stdout) + &text(&tried.stderr);
    fs::write(reports.join("console.txt"), &told).unwrap();
    assert!(tried.status.success(), "{told}");
    println!("{told}");

    door.is_well();
    for kind in done {
        let events = door.home.run(&["events", "--kind", kind, "--limit", "1", "--json"]);
        assert!(events.stdout.contains(kind), "nothing came of it: {kind}: {events:?}");
    }
    door
}

/// Returns a program that `scripts/schemathesis` installs.
fn tool(name: &str) -> PathBuf {
    let installed = Command::new(here().join("../../../../scripts/schemathesis")).output().unwrap();
    assert!(installed.status.success(), "{}", text(&installed.stderr));
    Path::new(text(&installed.stdout).trim()).join(name)
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns what the document says of the route with this name.
fn operation<'a>(document: &'a Value, name: &str) -> &'a Value {
    let paths = document["paths"].as_object().unwrap().values();
    let mut all = paths.flat_map(|path| path.as_object().unwrap().values());
    all.find(|operation| operation["operationId"] == name).unwrap()
}
