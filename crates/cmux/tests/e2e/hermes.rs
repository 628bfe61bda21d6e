//! Hermes Agent.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::PROGRAM;
use crate::stage::{Cli, Furnishing, KEY, Stage};
use crate::story::{Confirms, Part, alone, deaths, launch, mail, people, phases, screens};

/// Hermes Agent, set up as a person leaves it who has used it once, elsewhere.
const HERMES: Part = Part {
    cli: Cli { kind: "hermes", furnish },
    role_is_prompt: true,
    runs,
    edits,
    asks,
    confirms: Confirms::Screen,
    witnesses: &["screen"],
    questions: &[("Allow once", "asking")],
    hooks: &[],
    limit: None,
};

fn furnish(there: &Furnishing<'_>) -> Vec<(&'static str, String)> {
    let scripted = json!({
        "name": "scripted",
        "base_url": format!("{}/v1", there.url),
        "api_key": KEY,
        "model": "scripted",
    });
    let config = json!({
        "model": {
            "default": "scripted",
            "provider": "custom:scripted",
            "base_url": format!("{}/v1", there.url),
            "context_length": 200_000,
        },
        "custom_providers": [scripted],
    });
    let folder = there.person.join(".hermes");
    fs::create_dir_all(&folder).unwrap();
    // What is JSON is YAML.
    fs::write(folder.join("config.yaml"), config.to_string()).unwrap();
    // Its shell is a login shell, which finds what is on the PATH that the person's profile makes.
    let programs = Path::new(PROGRAM).parent().unwrap().display();
    let profile = format!("PATH={programs}:$PATH\n");
    fs::write(there.person.join(".profile"), profile).unwrap();
    Vec::new()
}

fn runs(command: &str) -> String {
    format!("@@ tool terminal {}", json!({ "command": command }))
}

fn edits(file: &Path, old: &str, new: &str) -> String {
    let input = json!({ "mode": "replace", "path": file, "old_string": old, "new_string": new });
    format!("@@ tool patch {input}")
}

/// It asks only before what it takes for dangerous.
fn asks(command: &str) -> String {
    runs(&format!("rm -rf ./nothing && {command}"))
}

#[test]
fn cmux_up_brings_it_past_its_dialogs_to_its_prompt_and_down_leaves_nothing() {
    launch::up_and_down(&HERMES);
}

#[test]
fn it_speaks_to_its_model_alone() {
    // It asks for its newest version and for what models there are, and has no setting that says not to.
    let wants = [
        "github.com:443",
        "hermes-agent.nousresearch.com:443",
        "models.dev:443",
        "pypi.org:443",
        "raw.githubusercontent.com:443",
    ];
    let test = "hermes::it_speaks_to_its_model_alone";
    alone::knows_nobody(test, &HERMES.cli, HERMES.runs, &wants);
}

#[test]
fn a_message_reaches_the_model_whole_and_its_screen_shows_it() {
    mail::arrives_whole(&HERMES);
}

#[test]
fn a_megabyte_is_a_file_that_the_model_is_told_of() {
    mail::long_is_a_file(&HERMES);
}

#[test]
fn its_shell_launches_a_worker_and_reports() {
    mail::a_worker_reports(&HERMES);
}

#[test]
fn it_is_busy_while_its_model_thinks() {
    phases::busy_and_idle(&HERMES);
}

#[test]
fn it_asks_at_a_real_dialog_and_goes_on_when_it_is_answered() {
    phases::asks(&HERMES);
}

#[test]
fn killed_it_comes_back_and_knows_what_was_said() {
    deaths::resumes(&HERMES);
}

#[test]
fn a_persons_draft_survives_a_message() {
    people::draft_survives(&HERMES);
}

#[test]
fn a_draft_in_its_composer_is_known() {
    screens::draft(&HERMES);
}

/// It would be answered nothing ever.
#[test]
fn a_conversation_that_is_gone_is_not_gone_on_with() {
    let stage = Stage::set(&HERMES.cli);
    let gone = ["--resume", "20000101_000000_000000"];
    screens::dialog(&stage, &HERMES.cli, &gone, "dialog-session-gone");
}
