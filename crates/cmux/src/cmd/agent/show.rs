//! `cmux agent show`: all that is known of an agent.

use cmux_wire::agent::{Agent, Intent, Phase};
use cmux_wire::client::Client;
use cmux_wire::usage::Usage;

use crate::cmd::agent::find::Called;
use crate::fail::Fail;
use crate::say::{Say, Tone, count, dollars, plain, span, thousands, toned};

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
    if agent.usage.tokens > 0 {
        rows.push(("used", used(&agent.usage), Tone::Plain));
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

/// Returns an agent's phase, for how long it is in it and will be, and what is wanted otherwise.
pub(crate) fn phase_for(agent: &Agent) -> String {
    phase_at(agent, now_ms())
}

fn phase_at(agent: &Agent, now: i64) -> String {
    let told = format!("{} for {}", phase(agent), span(now - agent.since.millis()));
    let Some(left) = agent.until.map(|until| until.millis() - now).filter(|left| *left > 0) else {
        return told;
    };
    match agent.phase {
        Phase::Limited => format!("{told}, {} left", span(left)),
        Phase::Down => format!("{told}, starts in {}", span(left)),
        Phase::Offline
        | Phase::Starting
        | Phase::Idle
        | Phase::Busy
        | Phase::Asking
        | Phase::Failed => told,
    }
}

/// Returns how much mail waits for an agent, if any does.
pub(crate) fn mail(agent: &Agent) -> String {
    match agent.queue {
        0 => String::new(),
        queue => format!("{} waiting", count(queue, "message")),
    }
}

/// Returns what was used in words.
pub(crate) fn used(usage: &Usage) -> String {
    let tokens = format!("{} tokens", thousands(usage.tokens));
    let unpriced = usage.unpriced_tokens;
    match usage.cost_usd {
        Some(cost) if unpriced == 0 => format!("{tokens}, {}", dollars(cost)),
        Some(cost) => {
            let (cost, unpriced) = (dollars(cost), thousands(unpriced));
            format!("{tokens}, {cost} and {unpriced} tokens without a price")
        }
        None => format!("{tokens}, whose price is not known"),
    }
}

/// Returns what an agent has cost, in short: what it used, if no price is known, and nothing for nothing.
pub(crate) fn spent(agent: &Agent) -> String {
    let Usage { tokens, cost_usd, unpriced_tokens, .. } = agent.usage;
    match cost_usd {
        _ if tokens == 0 => String::new(),
        Some(cost) if unpriced_tokens == 0 => dollars(cost),
        Some(cost) => format!("{}+", dollars(cost)),
        None => format!("{} tokens", thousands(tokens)),
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
    use cmux_wire::usage::Dollars;

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
    fn what_was_used_is_told_with_what_it_cost_as_far_as_that_is_known() {
        for (tokens, cost, unpriced, long, short) in [
            (0, Some(0), 0, "0 tokens, $0.00", ""),
            (950, Some(0), 0, "950 tokens, $0.00", "$0.00"),
            (12_345, Some(421_000_000), 0, "12.3k tokens, $0.42", "$0.42"),
            (
                2_000_000,
                Some(1_500_000_000),
                3_000,
                "2.0M tokens, $1.50 and 3.0k tokens without a price",
                "$1.50+",
            ),
            (1_000, None, 1_000, "1.0k tokens, whose price is not known", "1.0k tokens"),
        ] {
            let cost_usd = cost.map(Dollars::from_nanos);
            let usage = Usage { tokens, cost_usd, unpriced_tokens: unpriced, ..Usage::default() };
            assert_eq!(
                (used(&usage).as_str(), spent(&Agent { usage, ..agent() }).as_str()),
                (long, short)
            );
            let told = tell(&Agent { usage, ..agent() }, Say::new(false));
            assert_eq!(told.contains(long), tokens > 0, "{told}");
        }
    }

    #[test]
    fn a_phase_that_is_over_of_itself_tells_when() {
        for (phase, until, expected) in [
            (Phase::Limited, Some(7_205_000), "limited for 5 s, 2 h left"),
            (Phase::Down, Some(65_000), "down for 5 s, starts in 1 min"),
            (Phase::Limited, Some(5_000), "limited for 5 s"),
            (Phase::Limited, None, "limited for 5 s"),
            (Phase::Idle, None, "idle for 5 s"),
        ] {
            let agent = Agent { phase, until: until.map(Time::from_millis), ..agent() };
            assert_eq!(phase_at(&agent, 5_000), expected);
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
            until: None,
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
            usage: Usage::default(),
        }
    }
}
