//! What stands between an event and what its CLI does next: a prompt that cmux typed is claimed, and nothing
//! is asked while cmux types.

use std::path::PathBuf;
use std::time::Duration;

use cmux_core::delivery::{ANSWERS_WITHIN, HEAD};
use cmux_core::hook::{ClaimOutcome, Meaning, Reply};
use cmux_core::id::{HookId, RunId};
use cmux_drivers::claims::{Claims, Prompt, Verdict};
use cmux_drivers::hooks::{event_of, prompt, read};
use cmux_drivers::manifest::HookShape;
use cmux_drivers::process::Process;
use cmux_drivers::{clock, typing_lock};
use cmux_wire::hook as wire;

use super::Caller;

/// What has become of an event so far.
pub(super) enum Passage {
    /// Nothing stands in its way.
    Free,
    /// It is a prompt that has to do with what cmux typed, and was judged so long after boot.
    Judged { verdict: Verdict, at: Duration },
    /// A dialog may come of it, which waits for this lock.
    Dialog { lock: PathBuf },
}

impl Passage {
    /// Claims what cmux typed, if `payload` tells of that. It takes no daemon.
    pub(super) fn of(
        caller: &Caller,
        shape: HookShape,
        event: &str,
        payload: &str,
        id: HookId,
    ) -> Passage {
        // A person's own word for a run is none.
        let Ok(run) = caller.run.parse::<RunId>() else { return Passage::Free };
        match means(shape, event, payload) {
            Meaning::Prompted if payload.contains(HEAD) => {
                judged(caller, shape, payload, run, id).unwrap_or(Passage::Free)
            }
            Meaning::ToolBegan { .. } | Meaning::Asking { .. } => {
                Passage::Dialog { lock: caller.home().typing_lock(&caller.run) }
            }
            Meaning::TurnEnded { .. } | Meaning::TurnFailed => {
                // What cannot be taken away fades.
                let _ = typing_lock::rest(&caller.home().typing_lock(&caller.run));
                Passage::Free
            }
            Meaning::Prompted
            | Meaning::SessionBegan { .. }
            | Meaning::SessionEnded
            | Meaning::ToolEnded { .. }
            | Meaning::Limited { .. }
            | Meaning::SubagentBegan
            | Meaning::SubagentEnded
            | Meaning::Compacting
            | Meaning::Notice
            | Meaning::Other => Passage::Free,
        }
    }

    /// Returns what the daemon is told of it.
    pub(super) fn claim(&self) -> Option<wire::HookClaim> {
        let Passage::Judged { verdict, .. } = self else { return None };
        let outcome = match verdict.outcome {
            ClaimOutcome::Claimed => wire::ClaimOutcome::Claimed,
            ClaimOutcome::Again => wire::ClaimOutcome::Again,
            ClaimOutcome::Second => wire::ClaimOutcome::Second,
            ClaimOutcome::Blocked => wire::ClaimOutcome::Blocked,
        };
        Some(wire::HookClaim { delivery: verdict.delivery.to_string(), outcome })
    }

    /// Returns what is answered where the daemon would answer `reply`, once nothing stands in its way.
    pub(super) fn answer(self, reply: Reply) -> Reply {
        match self {
            Passage::Free => reply,
            Passage::Judged { verdict: Verdict { block: Some(why), .. }, .. } => {
                Reply::Block { why }
            }
            Passage::Judged { verdict, at } => {
                // Whoever typed it may have given it up meanwhile, and typed it again.
                let waited = clock::read().since_boot.saturating_sub(at);
                match waited <= ANSWERS_WITHIN {
                    true => reply,
                    false => Reply::Block {
                        why: format!(
                            "cmux: the hook of {} took too long. It is typed again",
                            verdict.delivery
                        ),
                    },
                }
            }
            Passage::Dialog { lock } => {
                // What cannot be waited for is not waited for.
                let _ = typing_lock::wait(&lock, typing_lock::WAIT_MAX);
                reply
            }
        }
    }
}

/// Returns what an event means. What was told with it is read only where that matters: it may be long.
fn means(shape: HookShape, event: &str, payload: &str) -> Meaning {
    let means = read(shape, event, "{}").means;
    if means == Meaning::Notice { read(shape, event, payload).means } else { means }
}

fn judged(
    caller: &Caller,
    shape: HookShape,
    payload: &str,
    run: RunId,
    id: HookId,
) -> Option<Passage> {
    let at = clock::read().since_boot;
    let understood = prompt(payload);
    let prompt = Prompt {
        text: understood.as_deref().unwrap_or(payload),
        is_understood: understood.is_some(),
        run,
        event: event_of(shape, payload, id),
        process: Process::myself(),
    };
    let verdict = Claims::at(caller.home().claims()).let_through(&prompt)?;
    Some(Passage::Judged { verdict, at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_claimed_long_ago_is_held_back() {
        let now = clock::read().since_boot;
        let late = now.saturating_sub(ANSWERS_WITHIN * 2);
        for (at, why) in [(now, None), (late, Some("took too long"))] {
            let delivery = "dlv_00000000000000000000000001".parse().unwrap();
            let verdict = Verdict { delivery, outcome: ClaimOutcome::Claimed, block: None };
            match (Passage::Judged { verdict, at }.answer(Reply::Pass), why) {
                (Reply::Pass, None) => {}
                (Reply::Block { why: told }, Some(why)) => assert!(told.contains(why), "{told}"),
                (reply, _) => panic!("{reply:?}"),
            }
        }
    }

    #[test]
    fn what_comes_before_a_dialog_is_known_by_what_it_means() {
        let asks = r#"{"notification_type":"ToolPermission"}"#;
        for (shape, event, payload, expected) in [
            (HookShape::Claude, "PreToolUse", "{}", true),
            (HookShape::Claude, "PermissionRequest", "{}", true),
            (HookShape::Claude, "PostToolUse", "{}", false),
            (HookShape::Claude, "Notification", asks, false),
            (HookShape::Gemini, "BeforeTool", "{}", true),
            (HookShape::Gemini, "Notification", asks, true),
            (HookShape::Gemini, "Notification", "{}", false),
            (HookShape::Demo, "PreToolUse", "not JSON", true),
            (HookShape::Demo, "UserPromptSubmit", "{}", false),
        ] {
            let found = means(shape, event, payload);
            let is_one = matches!(found, Meaning::ToolBegan { .. } | Meaning::Asking { .. });
            assert_eq!(is_one, expected, "{shape:?} {event} {payload}");
        }
    }
}
