//! What it uses is what its model told, once, over turns, subagents and lives.

use std::path::Path;
use std::process::{Command, Stdio};

use cmux_wire::agent::Phase;
use serde_json::{Value, json};

use super::{CLAUDE, supervised};
use crate::proof::{self, Shown};
use crate::record;
use crate::stage::{Furnishing, SUPERVISOR, Stage};
use crate::story::usage::{check, check_again, priced, usage};
use crate::world::kill;

/// What a subagent is to do, and what its answer takes.
const SUBAGENT: &str = "Say so.\n@@ say so\n@= in=70 out=8 cr=9 cw=0";

#[test]
fn what_its_model_told_is_counted_once_with_what_it_costs() {
    let mut stage = Stage::set(&CLAUDE);
    priced(&mut stage);
    let supervisor = stage.supervisor(&CLAUDE);
    let mut known = Vec::new();
    let one = stage.tell("@@ think Hm.\n@+ say one\n@= in=1000 out=50 th=20 cr=900 cw=300");
    stage.in_phase(SUPERVISOR, Phase::Idle);
    known.push((one, vec![usage(1000, 50, 900, 300)]));
    let task = json!({
        "description": "sub job", "prompt": SUBAGENT, "subagent_type": "general-purpose",
    });
    let two = stage.tell(&format!(
        "@@ say I have it done.\n@+ tool Agent {task}\n@= in=2000 out=60 cr=0 cw=40\n@@ say done\n\
         @= in=30 out=7 cr=1 cw=2"
    ));
    stage.in_phase(SUPERVISOR, Phase::Idle);
    known.push((two, vec![usage(2000, 60, 0, 40), usage(30, 7, 1, 2), usage(70, 8, 9, 0)]));
    check(&stage, &known, |_| true);
    // Its next life goes on with the same conversation, which has all of that in it.
    let world = &stage.post.world;
    kill(world.cli(world.agent(SUPERVISOR).pid.unwrap()));
    let back = world.back(&supervisor);
    assert_eq!(back.session_id, supervisor.session_id);
    let three = stage.tell("@@ say four\n@= in=400 out=40 cr=4 cw=0");
    stage.in_phase(SUPERVISOR, Phase::Idle);
    known.push((three, vec![usage(400, 40, 4, 0)]));
    check(&stage, &known, |_| true);
    check_again(&mut stage, known, |_| true);
    let hooks = [("SubagentStart", "SubagentStart"), ("SubagentStop", "SubagentStop")];
    record::hooks(&stage, "claude", &hooks);
    proof::shown(&stage, "claude", Shown::Usage);
}

#[test]
fn it_costs_what_it_says_itself_that_it_costs() {
    const PROMPT: &str = "@@ say one\n@= in=1234 out=567 cr=89012 cw=3456";
    let (stage, _) = supervised();
    stage.tell(PROMPT);
    stage.in_phase(SUPERVISOR, Phase::Idle);
    let used = stage.eventually("it is counted", || {
        let used = stage.post.world.agent(SUPERVISOR).usage;
        (used.tokens == 1234 + 567 + 89012 + 3456).then_some(used)
    });
    let told = alone(&stage, PROMPT);
    let said = told["total_cost_usd"].as_f64().unwrap();
    assert_eq!(used.cost_usd.unwrap().nanos(), (said * 1e9).round() as u64, "{told}");
    assert_eq!(used.unpriced_tokens, 0);
}

/// Asks it something without cmux, and returns what it tells of that.
fn alone(stage: &Stage, prompt: &str) -> Value {
    let home = &stage.post.world.home;
    let (person, temporary) = (home.folder("alone"), home.folder("alone-tmp"));
    let there = Furnishing { person: &person, temporary: &temporary, url: stage.model.url() };
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.agents/bin/claude");
    let mut command = Command::new(program);
    command.args(["-p", "--output-format", "json", prompt]).current_dir(&stage.post.world.root);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", &person);
    command.envs((CLAUDE.furnish)(&there)).stdin(Stdio::null());
    let ran = command.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said} {ran:?}"))
}
