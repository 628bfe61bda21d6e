//! Codex.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::stage::{Cli, Furnishing, KEY, Stage};
use crate::story::rules::know;
use crate::story::{
    Confirms, Part, alone, block, deaths, launch, mail, people, phases, screens, usage,
};

/// Codex, set up as a person leaves it who has used it once, elsewhere.
const CODEX: Part = Part {
    cli: Cli { kind: "codex", furnish },
    role_is_prompt: false,
    runs,
    edits,
    asks,
    confirms: Confirms::Hook("UserPromptSubmit"),
    witnesses: &["title", "hooks", "screen"],
    questions: &[("Would you like to run the following command?", "asking")],
    hooks: &[
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "Stop",
    ],
    limit: Some("@@ fail 429\n@= retry=1 msg=no_more_for_now"),
};

fn furnish(there: &Furnishing<'_>) -> Vec<(&'static str, String)> {
    let config = format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\n\n\
         [features]\napps = false\nplugins = false\n\n\
         [analytics]\nenabled = false\n\n\
         [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{}/v1\"\n\
         wire_api = \"responses\"\nenv_key = \"SCRIPTED_KEY\"\n\
         request_max_retries = 0\nstream_max_retries = 0\n",
        there.url
    );
    let folder = there.person.join(".codex");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), config).unwrap();
    vec![("SCRIPTED_KEY", KEY.to_owned())]
}

fn runs(command: &str) -> String {
    format!("@@ tool exec_command {}", json!({ "cmd": command }))
}

/// Of a model that it does not know it takes no patches, so that files are changed in its shell.
fn edits(file: &Path, old: &str, new: &str) -> String {
    runs(&format!("sed -i 's/{old}/{new}/' {}", file.display()))
}

/// In its sandbox it asks about nothing: it has to want to leave it.
fn asks(command: &str) -> String {
    let input = json!({
        "cmd": command, "sandbox_permissions": "require_escalated",
        "justification": "May I leave the sandbox?",
    });
    format!("@@ tool exec_command {input}")
}

#[test]
fn cmux_up_brings_it_past_its_dialogs_to_its_prompt_and_down_leaves_nothing() {
    launch::up_and_down(&CODEX);
}

#[test]
fn it_speaks_to_its_model_alone() {
    // It looks for news to tell at its start, and cannot be told not to.
    let wants = ["raw.githubusercontent.com:443"];
    alone::knows_nobody("codex::it_speaks_to_its_model_alone", &CODEX.cli, CODEX.runs, &wants);
}

#[test]
fn a_message_reaches_the_model_whole_and_its_hook_claims_it() {
    mail::arrives_whole(&CODEX);
}

#[test]
fn a_megabyte_is_a_file_that_the_model_is_told_of() {
    mail::long_is_a_file(&CODEX);
}

#[test]
fn its_sandboxed_shell_launches_a_worker_and_reports() {
    mail::a_worker_reports(&CODEX);
}

#[test]
fn it_is_busy_while_its_model_thinks() {
    phases::busy_and_idle(&CODEX);
}

#[test]
fn it_asks_at_a_real_dialog_and_goes_on_when_it_is_answered() {
    phases::asks(&CODEX);
}

#[test]
fn it_is_limited_when_its_model_refuses_for_now() {
    phases::limited(&CODEX);
}

#[test]
fn killed_it_comes_back_and_knows_what_was_said() {
    deaths::resumes(&CODEX);
}

#[test]
fn killed_before_its_model_answers_it_reads_what_it_was_given_once() {
    deaths::before_answer(&CODEX);
}

#[test]
fn twenty_kills_of_the_daemon_lose_and_double_nothing() {
    deaths::storm(&CODEX);
}

#[test]
fn a_persons_draft_survives_a_message() {
    people::draft_survives(&CODEX);
}

#[test]
fn its_hook_refuses_a_second_copy_and_what_was_taken_back() {
    block::refuses(&CODEX);
}

#[test]
fn what_its_model_told_is_counted_once() {
    usage::counted(&CODEX);
}

#[test]
fn taken_back_before_its_model_answers_a_message_is_read_once() {
    people::taken_back(&CODEX);
}

#[test]
fn what_its_model_refuses_once_is_read_once() {
    people::refused(&CODEX);
}

#[test]
fn a_draft_in_its_composer_is_known() {
    screens::draft(&CODEX);
}

#[test]
fn what_it_asks_before_its_first_prompt_is_known_and_not_answered_unasked() {
    let stage = Stage::set(&CODEX.cli);
    let agent = screens::dialog(&stage, &CODEX.cli, &[], "dialog-trust");
    // A person trusts the folder, and is asked about hooks next.
    stage.answer(&agent, "Trust and continue", "Enter");
    know(&stage, &agent, "dialog-hooks");
    drop(stage);
    let cli = Cli { furnish: new, ..CODEX.cli };
    let stage = Stage::set(&cli);
    screens::dialog(&stage, &cli, &[], "dialog-sign-in");
}

/// As somebody has it who has never started it.
fn new(_: &Furnishing<'_>) -> Vec<(&'static str, String)> {
    Vec::new()
}
