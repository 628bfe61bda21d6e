//! OpenCode.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::stage::{Cli, Furnishing, KEY};
use crate::story::{Confirms, Part, alone, deaths, launch, mail, people, phases, screens, usage};

/// OpenCode, set up as a person leaves it who has used it once, elsewhere.
const OPENCODE: Part = Part {
    cli: Cli { kind: "opencode", furnish },
    role_is_prompt: true,
    runs,
    edits,
    asks: runs,
    confirms: Confirms::Api,
    witnesses: &["status", "screen"],
    questions: &[("Access external directory", "asking-folder"), ("# Shell command", "asking")],
    hooks: &[],
    // It tries again for as long as it is told to, and shows nothing of it once it has given up.
    limit: Some("@@ fail 429\n@= retry=90 msg=no_more_for_now"),
};

fn furnish(there: &Furnishing<'_>) -> Vec<(&'static str, String)> {
    let config = json!({
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "autoupdate": false,
        "share": "disabled",
        "provider": { "scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "scripted",
            "options": { "baseURL": format!("{}/v1", there.url), "apiKey": KEY },
            "models": { "scripted": { "name": "scripted", "tool_call": true } },
        } },
    });
    let file = there.person.join("opencode.json");
    fs::write(&file, config.to_string()).unwrap();
    let on = || "1".to_owned();
    vec![
        ("OPENCODE_CONFIG", file.display().to_string()),
        ("OPENCODE_DISABLE_MODELS_FETCH", on()),
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", on()),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", on()),
        // What it would install is not to be had, and it would try for a minute.
        ("npm_config_fetch_retries", "0".to_owned()),
    ]
}

fn runs(command: &str) -> String {
    let input = json!({ "command": command, "description": "Does it" });
    format!("@@ tool bash {input}")
}

/// What it has not read, it does not change.
fn edits(file: &Path, old: &str, new: &str) -> String {
    let read = json!({ "filePath": file });
    let edit = json!({ "filePath": file, "oldString": old, "newString": new });
    format!("@@ tool read {read}\n@@ tool edit {edit}")
}

#[test]
fn cmux_up_brings_it_past_its_dialogs_to_its_prompt_and_down_leaves_nothing() {
    launch::up_and_down(&OPENCODE);
}

#[test]
fn it_speaks_to_its_model_alone() {
    // It would install a package of its own at every start, and cannot be told not to.
    let wants = ["registry.npmjs.org:443"];
    let test = "opencode::it_speaks_to_its_model_alone";
    alone::knows_nobody(test, &OPENCODE.cli, OPENCODE.runs, &wants);
}

#[test]
fn a_message_reaches_the_model_whole_and_its_api_takes_it() {
    mail::arrives_whole(&OPENCODE);
}

#[test]
fn a_megabyte_is_a_file_that_the_model_is_told_of() {
    mail::long_is_a_file(&OPENCODE);
}

#[test]
fn its_shell_launches_a_worker_and_reports() {
    mail::a_worker_reports(&OPENCODE);
}

#[test]
fn it_is_busy_while_its_model_thinks() {
    phases::busy_and_idle(&OPENCODE);
}

#[test]
fn it_asks_at_a_real_dialog_and_goes_on_when_it_is_answered() {
    phases::asks(&OPENCODE);
}

#[test]
fn it_is_limited_when_its_model_refuses_for_now() {
    phases::limited(&OPENCODE);
}

#[test]
fn killed_it_comes_back_and_knows_what_was_said() {
    deaths::resumes(&OPENCODE);
}

#[test]
fn killed_before_its_model_answers_it_reads_what_it_was_given_once() {
    deaths::before_answer(&OPENCODE);
}

#[test]
fn twenty_kills_of_the_daemon_lose_and_double_nothing() {
    deaths::storm(&OPENCODE);
}

#[test]
fn a_persons_draft_survives_a_message() {
    people::draft_survives(&OPENCODE);
}

#[test]
fn what_its_model_told_is_counted_once() {
    usage::counted(&OPENCODE);
}

#[test]
fn what_is_written_over_its_screen_holds_up_no_mail() {
    mail::arrives_behind_a_spoilt_screen(&OPENCODE);
}

#[test]
fn a_draft_in_its_composer_is_known() {
    screens::draft(&OPENCODE);
}

#[test]
fn a_question_of_its_model_is_asked() {
    let question = json!({ "questions": [{
        "question": "Which color?", "header": "Color",
        "options": [
            { "label": "Red", "description": "Like a rose" },
            { "label": "Blue", "description": "Like the sky" },
        ],
    }] });
    let prompt = format!("@@ tool question {question}\n@@ say so be it");
    screens::question(&OPENCODE, &prompt, ("esc dismiss", "Enter"));
}
