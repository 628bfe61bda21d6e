//! Claude Code.

mod alone;
mod blocks;
mod deaths;
mod launch;
mod mail;
mod people;
mod phases;
mod screens;
mod storm;
mod team;
mod title;
mod usage;

use std::fs;

use cmux_testkit::person::Person;
use cmux_wire::agent::Agent;
use serde_json::json;

use crate::stage::{Cli, Furnishing, KEY, Stage};
use crate::story::{asked, left};

/// Claude Code, set up and logged in as a person leaves it who has used it once, elsewhere.
const CLAUDE: Cli = Cli { kind: "claude", furnish };

fn furnish(there: &Furnishing<'_>) -> Vec<(&'static str, String)> {
    let seen = json!({ "hasCompletedOnboarding": true });
    fs::write(there.person.join(".claude.json"), seen.to_string()).unwrap();
    let on = || "1".to_owned();
    vec![
        ("ANTHROPIC_BASE_URL", there.url.clone()),
        ("ANTHROPIC_AUTH_TOKEN", KEY.to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", on()),
        ("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", on()),
        ("CLAUDE_CODE_MAX_RETRIES", on()),
        ("CLAUDE_CODE_TMPDIR", there.temporary.display().to_string()),
        ("DISABLE_ERROR_REPORTING", on()),
        ("DISABLE_TELEMETRY", on()),
    ]
}

/// Sets the stage with a supervisor at its prompt.
#[track_caller]
fn supervised() -> (Stage, Agent) {
    let stage = Stage::set(&CLAUDE);
    let supervisor = stage.supervisor(&CLAUDE);
    (stage, supervisor)
}

/// Has a person look at an agent's pane.
fn sit_down(stage: &Stage, agent: &Agent) -> Person {
    let (world, pane) = (&stage.post.world, agent.pane.as_deref().unwrap());
    let session = world.at_tmux(&["display-message", "-p", "-t", pane, "#{session_name}"]);
    let server = world.home.root().join("tmux").join(&world.project);
    Person::at(&server, session.trim(), pane)
}
