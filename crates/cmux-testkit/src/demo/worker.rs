//! The worker: runs hooks and tools beside the session, and brings back what came of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::errand::Errand;
use super::fault::{Faults, of};
use super::hook::{Answer, HookCommand, Outcome, Settings, answer};
use super::script::ToolUse;
use super::session::{Input, ToolResult};

/// How long a tool may take.
const TOOL_TIMEOUT: Duration = Duration::from_secs(120);

/// How long the last hook may keep the agent from ending.
const LAST_TIMEOUT: Duration = Duration::from_secs(5);

/// How long what is ended with the agent may take.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// Takes what came of something.
pub(crate) type Report = Arc<dyn Fn(Input) + Send + Sync>;

/// Whoever runs what a session wants to be run.
pub(crate) struct Worker {
    pub(crate) settings: Settings,
    pub(crate) faults: Faults,
    pub(crate) folder: PathBuf,
    pub(crate) report: Report,
    /// By token, what is under way and how it is told that nobody wants it any more.
    pub(crate) under_way: BTreeMap<u64, Arc<AtomicBool>>,
}

impl Worker {
    /// Runs the hooks of an event, and reports what they answered together.
    pub(crate) fn hook(
        &mut self,
        token: u64,
        event: &'static str,
        tool: Option<&str>,
        body: &Value,
    ) {
        let commands = match self.faults.loses(event) {
            true => Vec::new(),
            false => self.settings.commands(event, tool),
        };
        let cancelled = self.begin(token);
        let report = Arc::clone(&self.report);
        if commands.is_empty() {
            return report(Input::Hooked { token, answer: Answer::default() });
        }
        let late = self.faults.late_hooks_ms + of(&self.faults.late_hook, event).unwrap_or(0);
        let late = Duration::from_millis(late);
        let killed = of(&self.faults.killed_hook, event).map(Duration::from_millis);
        let heard = Duration::from_millis(of(&self.faults.late_answer, event).unwrap_or(0));
        let session = body["session_id"].as_str().unwrap_or_default().to_owned();
        let (folder, stdin) = (self.folder.clone(), body.to_string());
        thread::spawn(move || {
            wait(late, &cancelled);
            let run = |HookCommand { command, timeout }: &HookCommand| {
                let is_last = event == "SessionEnd";
                let timeout = if is_last { LAST_TIMEOUT.min(*timeout) } else { *timeout };
                let timeout = killed.map_or(timeout, |killed| killed.min(timeout));
                let errand = Errand {
                    command: command.clone(),
                    folder: folder.clone(),
                    environment: vec![
                        ("CMUX_DEMO_SESSION_ID".into(), session.clone()),
                        ("CMUX_DEMO_PID".into(), std::process::id().to_string()),
                    ],
                    stdin: stdin.clone(),
                    timeout,
                };
                outcome(&errand, &cancelled)
            };
            let outcomes: Vec<Outcome> = commands.iter().map(run).collect();
            wait(heard, &cancelled);
            report(Input::Hooked { token, answer: answer(event, &outcomes) });
        });
    }

    /// Uses a tool, and reports what came of it.
    pub(crate) fn tool(&mut self, token: u64, tool: ToolUse) {
        let cancelled = self.begin(token);
        let (report, folder) = (Arc::clone(&self.report), self.folder.clone());
        thread::spawn(move || {
            let begun = Instant::now();
            let (text, is_error) = match use_tool(&tool, &folder, &cancelled) {
                Ok(text) => (text, false),
                Err(text) => (text, true),
            };
            let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            report(Input::Tooled { token, result: ToolResult { text, is_error, duration_ms } });
        });
    }

    /// Ends what nobody wants any more.
    pub(crate) fn cancel(&mut self, token: u64) {
        if let Some(cancelled) = self.under_way.remove(&token) {
            cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Ends all that is under way, and waits a moment for it.
    pub(crate) fn end_all(&mut self) {
        let all = std::mem::take(&mut self.under_way);
        all.values().for_each(|cancelled| cancelled.store(true, Ordering::Relaxed));
        let begun = Instant::now();
        // Whoever runs something holds on to it.
        let is_over = || all.values().all(|cancelled| Arc::strong_count(cancelled) == 1);
        while !is_over() && begun.elapsed() < END_TIMEOUT {
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn is_over(&mut self, token: u64) {
        self.under_way.remove(&token);
    }

    fn begin(&mut self, token: u64) -> Arc<AtomicBool> {
        let cancelled = Arc::new(AtomicBool::new(false));
        self.under_way.insert(token, Arc::clone(&cancelled));
        cancelled
    }
}

/// Waits for so long, or until nobody wants it any more.
fn wait(span: Duration, cancelled: &AtomicBool) {
    let begun = Instant::now();
    while begun.elapsed() < span && !cancelled.load(Ordering::Relaxed) {
        let rest = span.saturating_sub(begun.elapsed());
        thread::sleep(rest.min(Duration::from_millis(10)));
    }
}

fn outcome(errand: &Errand, cancelled: &AtomicBool) -> Outcome {
    match errand.run(cancelled) {
        Ok(ended) if !ended.was_cut_short => {
            Outcome { code: Some(ended.code), stdout: ended.stdout, stderr: ended.stderr }
        }
        // Whoever cannot be asked does not object.
        Ok(_) | Err(_) => Outcome::default(),
    }
}

fn use_tool(tool: &ToolUse, folder: &Path, cancelled: &AtomicBool) -> Result<String, String> {
    let field = |name: &str| {
        let value = tool.input.get(name).and_then(Value::as_str);
        value.ok_or_else(|| format!("{} needs `{name}`", tool.name))
    };
    match tool.name.as_str() {
        "Bash" => shell(field("command")?, folder, cancelled),
        "Write" => {
            let path = folder.join(field("file_path")?);
            let written = path.parent().map_or(Ok(()), fs::create_dir_all);
            written
                .and_then(|()| fs::write(&path, field("content").unwrap_or_default()))
                .map(|()| format!("Wrote {}", path.display()))
                .map_err(|error| format!("{} cannot be written: {error}", path.display()))
        }
        other => Ok(format!("{other} was played")),
    }
}

fn shell(command: &str, folder: &Path, cancelled: &AtomicBool) -> Result<String, String> {
    let errand = Errand {
        command: command.to_owned(),
        folder: folder.to_owned(),
        environment: Vec::new(),
        stdin: String::new(),
        timeout: TOOL_TIMEOUT,
    };
    let ended = errand.run(cancelled).map_err(|error| error.to_string())?;
    let text = format!("{}{}", ended.stdout, ended.stderr).trim_end().to_owned();
    if ended.was_cut_short {
        return Err(format!("{text}\nCommand timed out").trim_start().to_owned());
    }
    if ended.code != 0 {
        return Err(format!("Exit code {}\n{text}", ended.code).trim_end().to_owned());
    }
    Ok(text)
}
