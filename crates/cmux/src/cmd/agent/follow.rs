//! Waiting for an agent: woken by the log, and looking for itself now and then, as not all that is waited
//! for is told there.

use std::time::Duration;

use clap::Args;
use cmux_wire::agent::{Agent, Intent, Phase};
use cmux_wire::client::{Client, EventQuery};
use cmux_wire::stream::Stream;
use tokio::time::{Instant, interval, sleep_until, timeout};

use crate::cmd::agent::output::bare;
use crate::cmd::agent::show::phase_for;
use crate::cmd::events::passes;
use crate::fail::{Code, Fail};
use crate::say::Say;
use crate::spin::{Spinner, TURN};

/// How often it looks if nothing is told.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// How long a stop may take: an agent is asked to end, and then made to.
const STOP_WITHIN: Duration = Duration::from_secs(90);

/// How many lines of a screen are shown when something went wrong.
const LINES_SHOWN: usize = 15;

/// How tmux begins to say that a program has ended.
const TMUX_SAYS_OVER: &str = "Pane is dead (";

/// Whether to wait for an agent to be idle, and for how long.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Waiting {
    /// Return when it is idle, or after so many seconds
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true,
          default_missing_value = "120", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    wait: Option<u64>,
}

impl Waiting {
    /// Returns the agent as it is when it is idle, or at once if nobody wants to wait. `before` is a life
    /// that does not count any more.
    pub(crate) async fn wait(
        self,
        client: &Client,
        agent: Agent,
        before: Option<&str>,
        say: Say,
    ) -> Result<Agent, Fail> {
        let Some(seconds) = self.wait else { return Ok(agent) };
        let is_old = |agent: &Agent| before.is_some() && agent.run.as_deref() == before;
        let settled = |agent: &Agent| if is_old(agent) { None } else { outcome(agent) };
        let within = Duration::from_secs(seconds);
        match until(client, agent, within, &mut Spinner::new(say), settled).await? {
            Waited::Until(agent, Outcome::Idle) => Ok(agent),
            Waited::Until(agent, Outcome::Ended) => {
                let what = format!("`{}` is {}", agent.name, with_reason(&agent));
                let fail = Fail::failed(what + &screen(client, &agent).await);
                Err(fail.hint(format!(
                    "`cmux agent why {0}` tells more; `cmux agent stop {0}` leaves it so",
                    agent.name
                )))
            }
            Waited::InVain(agent) => {
                let name = &agent.name;
                let what =
                    format!("`{name}` is not idle after {seconds} s, but {}", with_reason(&agent));
                let fail = Fail::new(Code::TimedOut, what + &screen(client, &agent).await);
                Err(fail.hint(format!(
                    "it goes on; `cmux agent why {name}` tells more, `cmux agent attach {name}` shows it"
                )))
            }
        }
    }
}

/// What came of waiting: what was waited for, or how it was when the time was over.
#[derive(Debug)]
pub(crate) enum Waited<T> {
    Until(Agent, T),
    InVain(Agent),
}

/// What a launch comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Idle,
    Ended,
}

/// Returns what the launch of an agent has come to, if to anything yet.
pub(crate) fn outcome(agent: &Agent) -> Option<Outcome> {
    match (agent.phase, agent.intent) {
        (Phase::Idle, _) => Some(Outcome::Idle),
        (Phase::Down | Phase::Failed, _) | (Phase::Offline, Intent::Stop | Intent::Pause) => {
            Some(Outcome::Ended)
        }
        (Phase::Offline, Intent::Run)
        | (Phase::Starting | Phase::Busy | Phase::Asking | Phase::Limited, _) => None,
    }
}

/// Waits until nothing is left of an agent that was told to stop.
pub(crate) async fn until_gone(client: &Client, agent: Agent, say: Say) -> Result<Agent, Fail> {
    let is_gone = |agent: &Agent| is_gone(agent).then_some(());
    match until(client, agent, STOP_WITHIN, &mut Spinner::new(say), is_gone).await? {
        Waited::Until(agent, ()) => Ok(agent),
        Waited::InVain(agent) => {
            let pid = agent.pid.map_or_else(String::new, |pid| format!(", process {pid}"));
            let seconds = STOP_WITHIN.as_secs();
            let what = format!(
                "`{}` was told to stop, and is not gone after {seconds} s: it is {}{pid}",
                agent.name,
                with_reason(&agent)
            );
            let hint = "cmux goes on trying; `cmux agent show` tells how far it is";
            Err(Fail::new(Code::TimedOut, what).hint(hint))
        }
    }
}

/// Returns whether nothing of an agent runs, and nothing is on its way.
pub(crate) fn is_gone(agent: &Agent) -> bool {
    agent.run.is_none() && agent.intent == Intent::Stop
}

/// Waits until `look` finds something in an agent, at most so long.
pub(crate) async fn until<T>(
    client: &Client,
    mut agent: Agent,
    within: Duration,
    spinner: &mut Spinner,
    mut look: impl FnMut(&Agent) -> Option<T>,
) -> Result<Waited<T>, Fail> {
    let deadline = Instant::now() + within;
    let query = EventQuery { agent: Some(agent.id.clone()), ..EventQuery::default() };
    let mut log = None;
    loop {
        if log.is_none() {
            // Before the look: what happens after it is told.
            let opened = timeout(LOOK_EVERY, client.follow(&query)).await;
            log = opened.ok().and_then(Result::ok);
        }
        match client.agent(&agent.id, None).await {
            Ok(seen) => agent = seen,
            // It starts again, most likely.
            Err(error) if passes(&error) => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(found) = look(&agent) {
            return Ok(Waited::Until(agent, found));
        }
        if Instant::now() >= deadline {
            return Ok(Waited::InVain(agent));
        }
        spinner.say(&format!("{}: {}", agent.name, with_reason(&agent)));
        wait_for_news(&mut log, deadline.min(Instant::now() + LOOK_EVERY), spinner).await;
    }
}

/// Waits until something is told, or until then.
async fn wait_for_news(log: &mut Option<Stream>, then: Instant, spinner: &mut Spinner) {
    let mut turns = interval(TURN);
    loop {
        let told = async {
            match log {
                Some(log) => log.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            told = told => {
                if matches!(told, Ok(None) | Err(_)) {
                    *log = None;
                } else {
                    return;
                }
            }
            _ = turns.tick() => spinner.turn(),
            () = sleep_until(then) => return,
        }
    }
}

/// Returns an agent's phase in words, with the reason if there is one.
pub(crate) fn with_reason(agent: &Agent) -> String {
    match &agent.reason {
        Some(reason) => format!("{}: {reason}", phase_for(agent)),
        None => phase_for(agent),
    }
}

/// Returns what is to be said of the last that was on an agent's screen, if anything was that is not told
/// yet.
async fn screen(client: &Client, agent: &Agent) -> String {
    let Ok(terminal) = client.terminal(&agent.id, None, None).await else { return String::new() };
    let text = bare(&terminal.content);
    let shown = last_lines(&text);
    let is_told = |line: &&str| agent.reason.as_deref().is_some_and(|told| told.contains(line));
    match shown.last() {
        None => String::new(),
        Some(last) if is_told(&last.trim()) => String::new(),
        Some(_) => format!("\nLast on its screen:\n{}", shown.join("\n")),
    }
}

/// Returns the last lines of a screen with something on them, without tmux's own word that it is over.
fn last_lines(text: &str) -> Vec<&str> {
    let says = |line: &&str| !line.trim().is_empty() && !line.starts_with(TMUX_SAYS_OVER);
    let lines: Vec<&str> = text.lines().filter(says).collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::agent::show::tests::agent;

    #[test]
    fn a_launch_is_over_when_it_is_idle_or_has_ended() {
        use Phase::{Asking, Busy, Down, Failed, Idle, Limited, Offline, Starting};
        for (phase, intent, expected) in [
            (Idle, Intent::Run, Some(Outcome::Idle)),
            (Idle, Intent::Pause, Some(Outcome::Idle)),
            (Down, Intent::Run, Some(Outcome::Ended)),
            (Failed, Intent::Run, Some(Outcome::Ended)),
            (Offline, Intent::Stop, Some(Outcome::Ended)),
            (Offline, Intent::Pause, Some(Outcome::Ended)),
            (Offline, Intent::Run, None),
            (Starting, Intent::Run, None),
            (Busy, Intent::Run, None),
            (Asking, Intent::Run, None),
            (Limited, Intent::Run, None),
        ] {
            assert_eq!(outcome(&Agent { phase, intent, ..agent() }), expected, "{phase} {intent}");
        }
    }

    #[test]
    fn an_agent_is_gone_when_nothing_is_left_of_its_life() {
        let run = Some("run_1".to_owned());
        for (intent, run, expected) in [
            (Intent::Stop, None, true),
            (Intent::Stop, run.clone(), false),
            // Its next life is on its way.
            (Intent::Run, None, false),
            (Intent::Run, run, false),
        ] {
            assert_eq!(is_gone(&Agent { intent, run, ..agent() }), expected);
        }
    }

    #[test]
    fn the_last_lines_of_a_screen_are_the_programs_own() {
        let screen = "one\n\n  two\n\nPane is dead (status 3, Mon Nov 16 03:26:02 2026)\n";
        assert_eq!(last_lines(screen), ["one", "  two"]);
        assert_eq!(last_lines("Pane is dead (status 3)"), [""; 0]);
    }
}
