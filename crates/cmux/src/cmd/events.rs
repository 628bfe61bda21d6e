//! `cmux events`: the log of everything that happened.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use cmux_core::id::AgentId;
use cmux_wire::client::{Client, ClientError, EventQuery};
use cmux_wire::event::{self as wire, Event, Notice};
use cmux_wire::stream::Told;

use crate::cli::{Common, wait};
use crate::cmd::agent::find::{Called, Within, all};
use crate::fail::Fail;
use crate::place;
use crate::say::{Say, Tone, aside, clean};

/// How long to wait before a daemon that went away is tried again.
const RETRY_AFTER: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// Go on and show each event as it comes
    #[arg(short, long)]
    follow: bool,
    /// Only those after this one; without it, the newest
    #[arg(long, value_name = "ID")]
    since: Option<i64>,
    /// At most so many; with --follow, so many of the past
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Only of this kind, or of all that begin so if it ends in a dot
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only in this project
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// Only of this agent, by its id, or by its name in that project or the one here
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
}

impl Events {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let home = place::home(common.home.as_deref())?;
        let client = place::client(&home);
        wait(async {
            let query = EventQuery {
                agent: self.agent_id(&client).await?,
                since: self.since,
                limit: Some(self.limit),
                project: self.project,
                kind: self.kind,
                log: None,
            };
            let mut names = Names::of(&client, say).await;
            let past = client.events(&query).await?;
            if let Some(through) = past.archived_through {
                tell_archived(through, say)?;
            }
            for event in &past.events {
                show(event, &mut names, say)?;
            }
            if !self.follow {
                if !say.json
                    && let Some(last) = cut_at(&past, &query)
                {
                    aside(&format!("there may be more: go on with --since {last}"));
                }
                return Ok(());
            }
            let since = past.events.last().map_or(past.head, |last| last.id);
            follow(
                &client,
                EventQuery { since: Some(since), log: Some(past.log), limit: None, ..query },
                &mut names,
                say,
            )
            .await
        })
    }

    /// Returns the id of the agent that is meant. One that is forgotten is known by its id only.
    async fn agent_id(&self, client: &Client) -> Result<Option<String>, Fail> {
        let Some(name) = self.agent.clone() else { return Ok(None) };
        if name.parse::<AgentId>().is_ok() {
            return Ok(Some(name));
        }
        let called = Called { name, within: Within { project: self.project.clone() } };
        Ok(Some(called.find(client).await?.id))
    }
}

/// What agents are called, by their ids.
#[derive(Default)]
struct Names(BTreeMap<String, String>);

impl Names {
    /// Returns the names of those there are. Scripts go by ids.
    async fn of(client: &Client, say: Say) -> Names {
        let agents =
            if say.json { Vec::new() } else { all(client, None).await.unwrap_or_default() };
        Names(agents.into_iter().map(|agent| (agent.id, agent.name)).collect())
    }

    /// Returns what to call the agent that an event is about, if it is about one.
    fn name<'a>(&'a mut self, event: &'a Event) -> Option<&'a str> {
        let id = event.agent.as_ref()?;
        if let ("agent.spawned", Some(name)) = (event.kind.as_str(), event.data["name"].as_str()) {
            self.0.insert(id.clone(), name.to_owned());
        }
        Some(self.0.get(id).unwrap_or(id))
    }
}

/// Shows each event as it comes, through as many lives of the daemon as there are.
async fn follow(
    client: &Client,
    mut query: EventQuery,
    names: &mut Names,
    say: Say,
) -> Result<(), Fail> {
    loop {
        match client.follow(&query).await {
            Ok(mut stream) => loop {
                match stream.next().await {
                    Ok(Some(told)) => hear(told, &mut query, names, say)?,
                    Ok(None) => break,
                    Err(error) if passes(&error) => break,
                    Err(error) => return Err(error.into()),
                }
            },
            Err(error) if passes(&error) => {}
            Err(error) => return Err(error.into()),
        }
        tokio::time::sleep(RETRY_AFTER).await;
    }
}

/// Returns whether it may be otherwise in a moment: the daemon starts or stops, or has too much to do.
pub(crate) fn passes(error: &ClientError) -> bool {
    match error {
        ClientError::NoDaemon
        | ClientError::Unreachable(_)
        | ClientError::Broken(_)
        | ClientError::TimedOut(_) => true,
        ClientError::Refused(problem) => matches!(problem.status, 429 | 503),
        ClientError::Nonsense(_) => false,
    }
}

/// Shows what was told, and notes how far it goes.
fn hear(told: Told, query: &mut EventQuery, names: &mut Names, say: Say) -> Result<(), Fail> {
    match told {
        Told::Event(event) => {
            query.since = Some(event.id);
            show(&event, names, say)
        }
        Told::Notice(Notice::Hello { log, head: _ }) => {
            query.log = Some(log);
            Ok(())
        }
        Told::Notice(Notice::Reset) => {
            query.since = Some(0);
            aside("another log has begun: showing it from its start");
            // The numbers begin again, which a script must know as well.
            if say.json { say.json(&Notice::Reset) } else { Ok(()) }
        }
        Told::Notice(Notice::Archived { through }) => {
            query.since = Some(through);
            tell_archived(through, say)
        }
        Told::Notice(Notice::Lagged { resume }) => {
            query.since = Some(resume);
            Ok(())
        }
        Told::Notice(Notice::Vitals { .. }) => Ok(()),
        Told::Notice(Notice::Goodbye { .. }) => {
            aside("the daemon has stopped: waiting for it");
            Ok(())
        }
    }
}

/// Returns the last of `past`, if it is no more than what was asked for after some event and the log
/// goes on.
fn cut_at(past: &wire::Events, query: &EventQuery) -> Option<i64> {
    let last = past.events.last()?.id;
    let is_cut = query.since.is_some()
        && query.limit.is_some_and(|limit| past.events.len() >= limit as usize)
        && last < past.head;
    is_cut.then_some(last)
}

/// Tells that events are missing, which a script must know as well.
fn tell_archived(through: i64, say: Say) -> Result<(), Fail> {
    aside(&format!("the events up to {through} were archived and are no longer here"));
    if say.json { say.json(&Notice::Archived { through }) } else { Ok(()) }
}

fn show(event: &Event, names: &mut Names, say: Say) -> Result<(), Fail> {
    if say.json {
        return say.json(event);
    }
    let about = [event.project.as_deref(), names.name(event)];
    let data = event.data.as_object().map_or_else(|| event.data.to_string(), tell);
    let kind = format!("{:<16}", event.kind);
    let mut line = vec![
        say.paint(&format!("{:>6}", event.id), Tone::Faint),
        say.paint(&event.at.to_string(), Tone::Faint),
        say.paint(&clean(&kind), Tone::Strong),
    ];
    line.extend(about.into_iter().flatten().map(clean));
    line.push(clean(&data));
    say.line(line.join("  ").trim_end())
}

/// Returns the fields of an event in a line.
fn tell(fields: &serde_json::Map<String, serde_json::Value>) -> String {
    let said = fields.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| match value
        .as_str()
    {
        Some(text) if text.contains(char::is_whitespace) => format!("{name}=\"{text}\""),
        Some(text) => format!("{name}={text}"),
        None => format!("{name}={value}"),
    });
    said.collect::<Vec<String>>().join(" ")
}
