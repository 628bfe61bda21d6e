//! Gemini CLI.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::stage::{Cli, Furnishing, KEY, Stage};
use crate::story::{
    Confirms, Part, alone, block, deaths, launch, mail, people, phases, screens, usage,
};

/// Gemini CLI, set up as a person leaves it who has used it once, elsewhere.
const GEMINI: Part = Part {
    cli: Cli { kind: "gemini", furnish },
    role_is_prompt: true,
    runs,
    edits,
    asks: runs,
    confirms: Confirms::Hook("BeforeAgent"),
    witnesses: &["title", "hooks", "screen"],
    questions: &[("Allow once", "asking")],
    hooks: &[
        "SessionStart",
        "BeforeAgent",
        "BeforeTool",
        "Notification",
        "AfterTool",
        "AfterAgent",
    ],
    // What is refused for less than five minutes it tries again, and shows nothing of it.
    limit: Some("@@ fail 429\n@= retry=3600 msg=no_more_for_now"),
};

fn furnish(there: &Furnishing<'_>) -> Vec<(&'static str, String)> {
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "privacy": { "usageStatisticsEnabled": false },
        "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
        // It asks no other model which one to take.
        "model": { "name": "gemini-2.5-flash" },
    });
    let folder = there.person.join(".gemini");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
    vec![("GEMINI_API_KEY", KEY.to_owned()), ("GOOGLE_GEMINI_BASE_URL", there.url.clone())]
}

fn runs(command: &str) -> String {
    format!("@@ tool run_shell_command {}", json!({ "command": command }))
}

fn edits(file: &Path, old: &str, new: &str) -> String {
    let input = json!({
        "file_path": file, "old_string": old, "new_string": new, "instruction": "Do it.",
    });
    format!("@@ tool replace {input}")
}

#[test]
fn cmux_up_brings_it_past_its_dialogs_to_its_prompt_and_down_leaves_nothing() {
    launch::up_and_down(&GEMINI);
}

#[test]
fn it_speaks_to_its_model_alone() {
    alone::knows_nobody("gemini::it_speaks_to_its_model_alone", &GEMINI.cli, GEMINI.runs, &[]);
}

#[test]
fn a_message_reaches_the_model_whole_and_its_hook_claims_it() {
    mail::arrives_whole(&GEMINI);
}

#[test]
fn a_megabyte_is_a_file_that_the_model_is_told_of() {
    mail::long_is_a_file(&GEMINI);
}

#[test]
fn its_shell_launches_a_worker_and_reports() {
    mail::a_worker_reports(&GEMINI);
}

#[test]
fn it_is_busy_while_its_model_thinks() {
    phases::busy_and_idle(&GEMINI);
}

#[test]
fn it_asks_at_a_real_dialog_and_goes_on_when_it_is_answered() {
    phases::asks(&GEMINI);
}

#[test]
fn it_is_limited_when_its_model_refuses_for_an_hour() {
    phases::limited(&GEMINI);
}

#[test]
fn killed_it_comes_back_and_knows_what_was_said() {
    deaths::resumes(&GEMINI);
}

#[test]
fn killed_before_its_model_answers_it_reads_what_it_was_given_once() {
    deaths::before_answer(&GEMINI);
}

#[test]
fn twenty_kills_of_the_daemon_lose_and_double_nothing() {
    deaths::storm(&GEMINI);
}

#[test]
fn a_persons_draft_survives_a_message() {
    people::draft_survives(&GEMINI);
}

#[test]
fn its_hook_refuses_a_second_copy_and_what_was_taken_back() {
    block::refuses(&GEMINI);
}

#[test]
fn what_its_model_told_is_counted_once() {
    usage::counted(&GEMINI);
}

#[test]
fn taken_back_before_its_model_answers_a_message_is_read_once() {
    people::taken_back(&GEMINI);
}

#[test]
fn what_its_model_refuses_once_is_read_once() {
    people::refused(&GEMINI);
}

#[test]
fn a_draft_in_its_composer_is_known() {
    screens::draft(&GEMINI);
}

#[test]
fn what_it_asks_before_its_first_prompt_is_known_and_not_answered_unasked() {
    for (furnish, screen) in [(furnish as Furnish, "dialog-trust"), (new, "dialog-sign-in")] {
        let cli = Cli { furnish, ..GEMINI.cli };
        let stage = Stage::set(&cli);
        if screen == "dialog-sign-in" {
            stage.told(&["project", "trust", "--yes"]);
        }
        screens::dialog(&stage, &cli, &[], screen);
    }
}

type Furnish = fn(&Furnishing<'_>) -> Vec<(&'static str, String)>;

/// As somebody has it who has never started it.
fn new(_: &Furnishing<'_>) -> Vec<(&'static str, String)> {
    Vec::new()
}
