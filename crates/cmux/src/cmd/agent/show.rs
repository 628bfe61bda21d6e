//! `cmux agent show`: all that is known of an agent.

use cmux_wire::agent::{Agent, Intent, Phase};
use cmux_wire::client::Client;

use crate::cmd::agent::find::Called;
use crate::fail::Fail;
use crate::say::{Say, Tone, count, plain, span, toned};

/// Shows an agent. Whoever launched it is called by its name, if it is still known.
pub(crate) async fn run(called: &Called, client: &Client, say: Say) -> Result<(), Fail> {
    let mut agent = called.find(client).await?;
    if !say.json
        && let Some(parent) = &agent.parent
        && let Ok(parent) = client.agent(parent, None).await
    {
        agent.parent = Some(parent.name);
    }
    say.show(&agent, |it| tell(it, say))
}

/// Returns an agent in words.
pub(crate) fn tell(agent: &Agent, say: Say) -> String {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".to_owned());
    let mut rows = vec![
        ("name", agent.name.clone(), Tone::Strong),
        ("id", agent.id.clone(), Tone::Plain),
        ("project", agent.project.clone(), Tone::Plain),
        ("role", agent.role.clone(), Tone::Plain),
        ("kind", agent.kind.clone(), Tone::Plain),
        ("phase", phase_for(agent), tone(agent)),
    ];
    if let Some(reason) = &agent.reason {
        rows.push(("reason", reason.clone(), Tone::Plain));
    }
    if let Some(parent) = &agent.parent {
        rows.push(("launched by", parent.clone(), Tone::Plain));
    }
    if agent.queue > 0 {
        rows.push(("mail", mail(agent), Tone::Plain));
    }
    rows.push(("folder", agent.cwd.clone(), Tone::Plain));
    if agent.run.is_some() {
        let pid = agent.pid.map(|pid| pid.to_string());
        rows.push(("process", or_none(&pid), Tone::Plain));
        rows.push(("pane", or_none(&agent.pane), Tone::Plain));
        rows.push(("run", or_none(&agent.run), Tone::Plain));
    }
    if let Some(session) = &agent.session_id {
        rows.push(("conversation", session.clone(), Tone::Plain));
    }
    if let Some(since) = agent.started_at {
        rows.push(("running for", span(now_ms() - since.millis()), Tone::Plain));
    }
    let rows: Vec<_> =
        rows.into_iter().map(|(name, text, tone)| vec![plain(name), toned(text, tone)]).collect();
    say.table(&rows)
}

/// Returns an agent's phase, for how long it is in it, and what is wanted otherwise.
pub(crate) fn phase_for(agent: &Agent) -> String {
    format!("{} for {}", phase(agent), span(now_ms() - agent.since.millis()))
}

/// Returns how much mail waits for an agent, if any does.
pub(crate) fn mail(agent: &Agent) -> String {
    match agent.queue {
        0 => String::new(),
        queue => format!("{} waiting", count(queue, "message")),
    }
}

/// Returns an agent's phase, and what is wanted otherwise.
pub(crate) fn phase(agent: &Agent) -> String {
    let is_offline = agent.phase == Phase::Offline;
    match agent.intent {
        Intent::Run => agent.phase.to_string(),
        Intent::Pause => format!("{}, paused", agent.phase),
        Intent::Stop if is_offline && agent.run.is_none() => "stopped".to_owned(),
        Intent::Stop => format!("{}, stopping", agent.phase),
    }
}

pub(crate) fn tone(agent: &Agent) -> Tone {
    match agent.phase {
        Phase::Failed | Phase::Down => Tone::Bad,
        Phase::Asking | Phase::Limited => Tone::Warning,
        Phase::Idle | Phase::Busy => Tone::Good,
        Phase::Offline | Phase::Starting => Tone::Faint,
    }
}

fn now_ms() -> i64 {
    cmux_drivers::clock::wall().0
}

#[cfg(test)]
pub(crate) mod tests {
    use cmux_wire::time::Time;

    use super::*;

    #[test]
    fn a_phase_is_told_with_what_is_wanted_otherwise() {
        let run = Some("run_1".to_owned());
        for (now, intent, run, expected) in [
            (Phase::Idle, Intent::Run, run.clone(), "idle"),
            (Phase::Idle, Intent::Pause, run.clone(), "idle, paused"),
            (Phase::Busy, Intent::Stop, run.clone(), "busy, stopping"),
            (Phase::Offline, Intent::Stop, run, "offline, stopping"),
            (Phase::Offline, Intent::Stop, None, "stopped"),
            (Phase::Offline, Intent::Run, None, "offline"),
        ] {
            assert_eq!(phase(&Agent { phase: now, intent, run, ..agent() }), expected);
        }
    }

    #[test]
    fn mail_that_waits_is_told_and_none_is_not() {
        for (queue, expected) in [(0, ""), (1, "1 message waiting"), (2, "2 messages waiting")] {
            assert_eq!(mail(&Agent { queue, ..agent() }), expected);
            let told = tell(&Agent { queue, ..agent() }, Say::new(false));
            assert_eq!(told.contains("waiting"), queue > 0, "{told}");
        }
    }

    /// Returns an agent that is about to be launched.
    pub(crate) fn agent() -> Agent {
        Agent {
            id: "agt_01JD0000000000000000000000".to_owned(),
            name: "worker".to_owned(),
            project: "shop".to_owned(),
            role: "worker".to_owned(),
            kind: "demo".to_owned(),
            parent: None,
            intent: Intent::Run,
            phase: Phase::Offline,
            since: Time::from_millis(0),
            reason: None,
            permanent: false,
            pid: None,
            pane: None,
            run: None,
            session_id: None,
            cwd: "/shop".to_owned(),
            started_at: None,
            last_seen_at: None,
            queue: 0,
        }
    }
}
