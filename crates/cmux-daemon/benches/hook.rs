//! What a hook costs an agent, which waits for it at every tool use: `cmux hook` beside `/bin/true` and one
//! fsync of a small file, and beside `curl` that posts the same to the same daemon. In turns, in one run.
//!
//! `CMUX_PROGRAM` names the release build that is measured.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and fails by panicking"
)]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cmux_core::digest::Digest;
use cmux_testkit::home::TestHome;
use cmux_testkit::store::{Run, add_agent, add_run};
use cmux_wire::project::NewProject;
use serde_json::json;

/// How often each is measured. The figures are the middle ones.
const ROUNDS: usize = 200;

/// Says to this program, when it is started anew below the launcher, where the daemon is.
const HOME: &str = "BENCH_HOME";

const AGENT: &str = "agt_01JZZZZZZZZZZZZZZZZZZZZZZA";
const RUN: &str = "run_01JZZZZZZZZZZZZZZZZZZZZZZZ";
const TOKEN: &str = "cmuxrun_of-the-agent-that-lives";

fn main() {
    let Ok(program) = std::env::var("CMUX_PROGRAM") else {
        println!("CMUX_PROGRAM is not set: `make bench` sets it");
        return;
    };
    if let Some(home) = std::env::var_os(HOME) {
        return measure(&program, Path::new(&home));
    }
    let home = TestHome::new(&program);
    let daemon = home.daemon();
    let new = NewProject { root: home.folder("project").display().to_string(), name: None };
    let project = home.ask(|client| async move { client.add_project(&new).await }).unwrap().id;
    daemon.kill();
    let (database, secret) = (home.root().join("cmux.db"), Digest::of(TOKEN.as_bytes()));
    let (secret, project) = (secret.as_bytes(), project.as_str());
    let is_over = false;
    add_run(&database, &Run { secret, run: RUN, agent: AGENT, project, is_over });
    add_agent(&database, AGENT, RUN, project);
    let _daemon = home.daemon();
    // The daemon believes only what an agent has started.
    let mut below = home.command(&["launch", "--"]);
    below.arg(std::env::current_exe().unwrap()).env(HOME, home.root()).env("CMUX_PROGRAM", program);
    below.env("CMUX_RUN", RUN).env("CMUX_TOKEN", TOKEN);
    below.env("CMUX_SOCKET", home.root().join("cmux.sock"));
    assert!(below.status().unwrap().success());
}

/// Measures all three, in turns.
fn measure(program: &str, home: &Path) {
    let payload = json!({
        "session_id": "5c3f4f9e", "transcript_path": "/home/ada/.claude/projects/x.jsonl",
        "cwd": "/home/ada/shop", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": "cargo test --workspace", "description": "Run the tests" },
        "tool_use_id": "toolu_00e237904aec4f6a819c",
    });
    let payload = payload.to_string();
    let small = home.join("small");
    let (mut floor, mut hook, mut curl) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        floor.push(timed(|| {
            run(&mut Command::new("/bin/true"), &payload);
            let mut file = File::create(&small).unwrap();
            file.write_all(payload.as_bytes()).unwrap();
            file.sync_all().unwrap();
        }));
        let mut command = Command::new(program);
        command.args(["hook", "claude", "PreToolUse"]);
        hook.push(timed(|| run(&mut command, &payload)));
        let mut command = post(home, round, &payload);
        curl.push(timed(|| run(&mut command, "")));
    }
    let spooled = home.join("spool").read_dir().map_or(0, Iterator::count);
    let (floor, hook, curl) = (middle(floor), middle(hook), middle(curl));
    println!("what a hook costs, each stored before it is answered\n");
    println!("/bin/true and an fsync            {:>8.2} ms", ms(floor));
    println!(
        "cmux hook                         {:>8.2} ms  {:+.2} ms  goal: at most 3 ms more",
        ms(hook),
        ms(hook) - ms(floor)
    );
    println!(
        "curl to the same daemon           {:>8.2} ms  {:.2}×     goal: at least 1×",
        ms(curl),
        curl.as_secs_f64() / hook.as_secs_f64()
    );
    println!("hooks that had to be spooled      {spooled:>8}");
}

/// Returns `curl`, about to hand over the same as `cmux hook` does.
fn post(home: &Path, round: usize, payload: &str) -> Command {
    let body = json!({
        "hook": format!("hk_{round:026}"), "kind": "claude", "event": "PreToolUse",
        "at": "2026-01-01T00:00:00Z", "since_boot_ms": 0, "payload": payload,
    });
    let mut command = Command::new("curl");
    command.args(["-q", "-s", "-f", "-o", "/dev/null", "--unix-socket"]);
    command.arg(home.join("cmux.sock")).args(["-H", &format!("Authorization: Bearer {TOKEN}")]);
    command.args(["-H", "Content-Type: application/json", "-d", &body.to_string()]);
    command.arg("http://localhost/api/hooks");
    command
}

fn run(command: &mut Command, input: &str) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // `/bin/true` does not listen.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    assert!(child.wait().unwrap().success());
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
