//! Turns: one prompt's work, step by step.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{Effect, IDLE_NOTICE_MS, Note, Phase, Session, ToolResult};
use crate::demo::dialog::{Choice, Dialog, Question};
use crate::demo::hook::{Answer, Verdict};
use crate::demo::permission::is_allowed;
use crate::demo::screen::Said;
use crate::demo::script::{Step, ToolUse};

/// How long a dialog waits before somebody is told of it by a hook.
const ASKING_NOTICE_MS: u64 = 6_000;

/// How often hooks may keep a turn from its end.
const STOPS_MAX: u32 = 8;

/// How much of a prompt is echoed, in letters.
const ECHO_MAX: usize = 2_000;

/// How much of a tool's output is shown, in lines.
const SHOWN_MAX: usize = 10;

/// One prompt's work.
pub(super) struct Turn {
    prompt: String,
    steps: VecDeque<Step>,
    pub(super) doing: Doing,
    pub(super) begun: u64,
    /// Whether the agent has said anything yet.
    has_spoken: bool,
    last: String,
    stops: u32,
}

/// What a turn waits for.
pub(super) enum Doing {
    /// Nothing: the next step can be taken.
    Next,
    Pause {
        until: u64,
    },
    Stream {
        left: u64,
        number: u64,
        every_ms: u64,
        at: u64,
    },
    /// Hooks may object to a tool.
    Before {
        token: u64,
        used: Used,
    },
    /// Somebody is asked, on the screen and by a hook.
    Asking {
        token: u64,
        used: Used,
        dialog: Dialog,
        notice_at: Option<u64>,
    },
    Tool {
        token: u64,
        used: Used,
    },
    After {
        token: u64,
    },
    /// Hooks may object to the end.
    Stop {
        token: u64,
    },
}

/// A tool, with the id of this use of it.
#[derive(Clone, Debug)]
pub(super) struct Used {
    id: String,
    tool: ToolUse,
}

impl Turn {
    pub(super) fn dialog_mut(&mut self) -> Option<&mut Dialog> {
        match &mut self.doing {
            Doing::Asking { dialog, .. } => Some(dialog),
            Doing::Next
            | Doing::Pause { .. }
            | Doing::Stream { .. }
            | Doing::Before { .. }
            | Doing::Tool { .. }
            | Doing::After { .. }
            | Doing::Stop { .. } => None,
        }
    }

    pub(super) fn dialog(&self) -> Option<&Dialog> {
        match &self.doing {
            Doing::Asking { dialog, .. } => Some(dialog),
            Doing::Next
            | Doing::Pause { .. }
            | Doing::Stream { .. }
            | Doing::Before { .. }
            | Doing::Tool { .. }
            | Doing::After { .. }
            | Doing::Stop { .. } => None,
        }
    }

    /// Returns when it goes on by itself.
    pub(super) fn wake(&self) -> Option<u64> {
        match &self.doing {
            Doing::Pause { until } => Some(*until),
            Doing::Stream { at, .. } => Some(*at),
            Doing::Asking { notice_at, .. } => *notice_at,
            Doing::Next
            | Doing::Before { .. }
            | Doing::Tool { .. }
            | Doing::After { .. }
            | Doing::Stop { .. } => None,
        }
    }

    fn token(&self) -> Option<u64> {
        match &self.doing {
            Doing::Before { token, .. }
            | Doing::Asking { token, .. }
            | Doing::Tool { token, .. }
            | Doing::After { token }
            | Doing::Stop { token } => Some(*token),
            Doing::Next | Doing::Pause { .. } | Doing::Stream { .. } => None,
        }
    }
}

impl Session {
    /// Returns the token of the hook or tool that the turn waits for.
    pub(super) fn working_token(&self) -> Option<u64> {
        match &self.phase {
            Phase::Turn(turn) => turn.token(),
            Phase::Trust(_)
            | Phase::Idle
            | Phase::Taking { .. }
            | Phase::Compacting { .. }
            | Phase::Ending { .. } => None,
        }
    }

    pub(super) fn start_turn(&mut self, prompt: String, now: u64) {
        if let Some(code) = self.setup.faults.exit_after_prompt {
            return self.effects.push(Effect::Exit(code));
        }
        if self.setup.faults.hang_after_prompt {
            return self.effects.push(Effect::Hang);
        }
        self.turns += 1;
        let steps = self.setup.script.steps(&prompt, self.turns).into();
        let (doing, begun) = (Doing::Next, now);
        let last = String::new();
        let turn = Turn { prompt, steps, doing, begun, has_spoken: false, last, stops: 0 };
        self.phase = Phase::Turn(Box::new(turn));
        if now < self.limited_until {
            self.fail(&self.limit_line(), "rate_limit", now);
        }
    }

    /// Takes as many steps as can be taken now.
    pub(super) fn go_on(&mut self, now: u64) {
        loop {
            let Phase::Turn(turn) = &mut self.phase else {
                self.take_next();
                return;
            };
            match &mut turn.doing {
                Doing::Next => match turn.steps.pop_front() {
                    Some(step) => self.start(step, now),
                    None => self.ask_to_stop(),
                },
                Doing::Pause { until } if *until <= now => turn.doing = Doing::Next,
                Doing::Stream { left: 0, .. } => turn.doing = Doing::Next,
                Doing::Stream { left, number, every_ms, at } if *at <= now => {
                    self.said.push(Said::Line(format!("line {number}")));
                    (*left, *number, *at) = (*left - 1, *number + 1, *at + *every_ms);
                }
                Doing::Asking { notice_at, .. } if notice_at.is_some_and(|at| at <= now) => {
                    *notice_at = None;
                    self.notify("permission_prompt", "The agent needs your permission");
                }
                Doing::Pause { .. }
                | Doing::Stream { .. }
                | Doing::Asking { .. }
                | Doing::Before { .. }
                | Doing::Tool { .. }
                | Doing::After { .. }
                | Doing::Stop { .. } => return,
            }
        }
    }

    fn start(&mut self, step: Step, now: u64) {
        match step {
            Step::Say(text) => self.speak(&text),
            Step::Think { ms } => self.wait_for(Doing::Pause { until: now + ms }),
            Step::Stream { lines, every_ms } => {
                self.wait_for(Doing::Stream { left: lines, number: 1, every_ms, at: now });
            }
            Step::Tool(tool) => self.ask_for_tool(tool),
            Step::Fail(text) => self.fail(&format!("API Error: {text}"), "unknown", now),
            Step::Limit { seconds } => {
                self.limited_until = now + seconds * 1000;
                self.fail(&self.limit_line(), "rate_limit", now);
            }
            Step::Exit(code) => self.end_at_once(Effect::Exit(code)),
            Step::Hang => self.end_at_once(Effect::Hang),
            Step::Flood { bytes } => self.effects.push(Effect::Flood { bytes }),
            Step::Deaf { ms } => self.deaf_until = now + ms,
            Step::DropEnters(count) => self.drop_enters = count,
        }
    }

    /// Does what nothing comes after.
    fn end_at_once(&mut self, end: Effect) {
        self.effects.push(end);
        self.wait_for(Doing::Pause { until: u64::MAX });
    }

    fn wait_for(&mut self, doing: Doing) {
        if let Phase::Turn(turn) = &mut self.phase {
            turn.doing = doing;
        }
    }

    fn speak(&mut self, text: &str) {
        let Phase::Turn(turn) = &mut self.phase else { return };
        let echo: String = turn.prompt.chars().take(ECHO_MAX).collect();
        let text = text.replace("{prompt}", &echo);
        turn.has_spoken = true;
        turn.last.clone_from(&text);
        let tokens_in = tokens(&turn.prompt);
        self.said.push(Said::Agent(text.clone()));
        let tokens_out = tokens(&text);
        self.effects.push(Effect::Note(Note::Said { text, tokens_in, tokens_out }));
    }

    fn ask_for_tool(&mut self, tool: ToolUse) {
        let Phase::Turn(turn) = &mut self.phase else { return };
        turn.has_spoken = true;
        let (tokens_in, tokens_out) = (tokens(&turn.prompt), tokens(&tool.input.to_string()));
        self.uses += 1;
        let id = format!("toolu_{:08}", self.uses);
        let what = tool.input.get("command").or_else(|| tool.input.get("file_path"));
        let what = what.and_then(Value::as_str).unwrap_or_default();
        self.said.push(Said::Agent(format!("{}({what})", tool.name)));
        let note = Note::ToolUse { id: id.clone(), tool: tool.clone(), tokens_in, tokens_out };
        self.effects.push(Effect::Note(note));
        let used = Used { id, tool };
        let token = self.tool_hook("PreToolUse", &used, json!({}));
        self.wait_for(Doing::Before { token, used });
    }

    /// Runs the hooks of an event that concerns a tool.
    fn tool_hook(&mut self, event: &'static str, used: &Used, mut fields: Value) -> u64 {
        fields["tool_name"] = json!(used.tool.name);
        fields["tool_input"] = used.tool.input.clone();
        fields["tool_use_id"] = json!(used.id);
        self.hook(event, Some(&used.tool.name), fields)
    }

    /// Takes what the hooks of a turn have answered.
    pub(super) fn turn_hooked(&mut self, token: u64, answer: Answer, now: u64) {
        let Phase::Turn(turn) = &mut self.phase else { return };
        if turn.token() != Some(token) {
            return;
        }
        match std::mem::replace(&mut turn.doing, Doing::Next) {
            Doing::Before { mut used, .. } => {
                if let Some(input) = answer.input {
                    used.tool.input = input;
                }
                self.judge(used, answer.verdict.as_ref(), now);
            }
            Doing::Asking { used, dialog, notice_at, .. } => match answer.verdict {
                Some(Verdict::Allow) => self.use_tool(used),
                Some(Verdict::Deny(why)) => self.deny(&used, &why),
                // The person is still asked.
                Some(Verdict::Ask) | None => {
                    self.wait_for(Doing::Asking { token: 0, used, dialog, notice_at });
                }
            },
            Doing::Stop { .. } => match answer.block.filter(|_| turn.stops < STOPS_MAX) {
                Some(reason) => {
                    turn.stops += 1;
                    turn.steps = self.setup.script.steps(&reason, self.turns).into();
                    turn.prompt = reason;
                }
                None => self.end_turn(now),
            },
            Doing::After { .. } => {}
            // A tool does not answer as a hook does, and nobody else waits.
            doing @ (Doing::Tool { .. }
            | Doing::Next
            | Doing::Pause { .. }
            | Doing::Stream { .. }) => self.wait_for(doing),
        }
    }

    fn judge(&mut self, used: Used, verdict: Option<&Verdict>, now: u64) {
        let setup = &self.setup;
        let may = || is_allowed(setup.mode, &setup.allow, &used.tool.name, &used.tool.input);
        let is_asked = match verdict {
            Some(Verdict::Deny(why)) => return self.deny(&used, why),
            Some(Verdict::Allow) => false,
            Some(Verdict::Ask) => true,
            None => used.tool.ask.unwrap_or_else(|| !may()),
        };
        if !is_asked {
            return self.use_tool(used);
        }
        let token = self.tool_hook("PermissionRequest", &used, json!({}));
        let dialog = Dialog::new(Question::Permission(used.tool.clone()));
        let notice_at = Some(now + ASKING_NOTICE_MS);
        self.wait_for(Doing::Asking { token, used, dialog, notice_at });
    }

    /// Takes what somebody has answered a dialog with.
    pub(super) fn permit(&mut self, choice: Choice, now: u64) {
        let Phase::Turn(turn) = &mut self.phase else { return };
        let doing = std::mem::replace(&mut turn.doing, Doing::Next);
        let Doing::Asking { token, used, .. } = doing else {
            turn.doing = doing;
            return;
        };
        self.effects.push(Effect::Cancel { token });
        if matches!(choice, Choice::Yes | Choice::Always) {
            self.effects.push(Effect::Approved(used.tool.clone()));
        }
        match choice {
            Choice::Yes => self.use_tool(used),
            Choice::Always => {
                self.setup.allow.push(used.tool.name.clone());
                self.use_tool(used);
            }
            // As in Claude Code, no hook tells of it.
            Choice::No => {
                let text = "The user doesn't want to proceed with this tool use.";
                self.note_result(&used.id, text, true);
                self.interrupt(now);
            }
        }
    }

    fn use_tool(&mut self, used: Used) {
        let token = self.token();
        self.effects.push(Effect::Tool { token, tool: used.tool.clone() });
        self.wait_for(Doing::Tool { token, used });
    }

    fn deny(&mut self, used: &Used, why: &str) {
        let text = format!("PreToolUse:{} hook error: {why}", used.tool.name);
        self.said.push(Said::Result(text.clone()));
        self.note_result(&used.id, &text, true);
        self.wait_for(Doing::Next);
    }

    fn note_result(&mut self, id: &str, text: &str, is_error: bool) {
        let note = Note::ToolResult { id: id.to_owned(), text: text.to_owned(), is_error };
        self.effects.push(Effect::Note(note));
    }

    /// Takes what came of a tool.
    pub(super) fn tooled(&mut self, token: u64, result: ToolResult) {
        let Phase::Turn(turn) = &mut self.phase else { return };
        if turn.token() != Some(token) {
            return;
        }
        let doing = std::mem::replace(&mut turn.doing, Doing::Next);
        let Doing::Tool { used, .. } = doing else {
            turn.doing = doing;
            return;
        };
        let ToolResult { text, is_error, duration_ms } = result;
        let shown: Vec<&str> = text.lines().take(SHOWN_MAX).collect();
        let shown = if shown.is_empty() { "(no output)".into() } else { shown.join("\n") };
        self.said.push(Said::Result(shown));
        self.note_result(&used.id, &text, is_error);
        let token = if is_error {
            let fields =
                json!({ "error": text, "is_interrupt": false, "duration_ms": duration_ms });
            self.tool_hook("PostToolUseFailure", &used, fields)
        } else {
            let response = json!({ "stdout": text, "stderr": "", "interrupted": false });
            let fields = json!({ "tool_response": response, "duration_ms": duration_ms });
            self.tool_hook("PostToolUse", &used, fields)
        };
        self.wait_for(Doing::After { token });
    }

    fn ask_to_stop(&mut self) {
        let Phase::Turn(turn) = &self.phase else { return };
        let fields = json!({
            "stop_hook_active": turn.stops > 0,
            "last_assistant_message": turn.last,
            "background_tasks": [],
        });
        let token = self.hook("Stop", None, fields);
        self.wait_for(Doing::Stop { token });
    }

    /// Ends the turn as the provider would that refuses.
    fn fail(&mut self, line: &str, kind: &str, now: u64) {
        self.said.push(Said::Agent(line.to_owned()));
        self.effects.push(Effect::Note(Note::Failed { text: line.to_owned() }));
        self.tell("StopFailure", json!({ "error": kind, "last_assistant_message": line }));
        self.end_turn(now);
    }

    fn end_turn(&mut self, now: u64) {
        self.phase = Phase::Idle;
        self.idle_notice_at = Some(now + IDLE_NOTICE_MS);
    }

    /// Ends the turn because somebody wants it so. No hook tells of it, as in Claude Code; a prompt that
    /// was not answered at all is back in the composer.
    pub(super) fn interrupt(&mut self, now: u64) {
        let token = self.working_token();
        self.effects.extend(token.map(|token| Effect::Cancel { token }));
        if let Phase::Turn(turn) = &self.phase {
            let unanswered = (!turn.has_spoken).then(|| turn.prompt.clone());
            self.effects.push(Effect::Note(Note::Interrupted));
            self.complain("Interrupted · What should the agent do instead?");
            self.end_turn(now);
            if let Some(prompt) = unanswered.filter(|_| self.composer.is_empty()) {
                self.composer.set(&prompt);
            }
        } else {
            self.take_back();
        }
    }
}

/// Returns about how many tokens a text is.
fn tokens(text: &str) -> u64 {
    u64::try_from(text.len() / 4 + 1).unwrap_or(u64::MAX)
}
