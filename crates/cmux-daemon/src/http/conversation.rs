//! An agent's conversation over HTTP, as its CLI has written it down.

use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use cmux_core::agent::Agent;
use cmux_core::kind::Ability;
use cmux_drivers::home::Home;
use cmux_drivers::manifest::TranscriptShape;
use cmux_drivers::transcript::{Entry, TalkPlace, Talked, Text, What, read_back};
use cmux_wire::conversation as wire;
use cmux_wire::project;
use cmux_wire::time::Time;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::task::spawn_blocking;
use tracing::debug;

use crate::http::App;
use crate::http::agents::{Where, find};
use crate::http::extract::{Named, Query};
use crate::http::gate::Caller;
use crate::http::history::require_own;
use crate::http::problem::Oops;
use crate::keeper::transcript_of;
use crate::shelf::Shelf;

/// How many entries a page has, if nobody says, and at most.
const PAGE: usize = 50;
const PAGE_MAX: usize = 200;

/// Which part of whose conversation is wanted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// The project in which the agent has that name. With an id, it need not be said.
    #[schemars(regex(pattern = project::ID))]
    project: Option<String>,
    /// What the page after gave as `next`. Without it, the newest.
    #[schemars(regex(pattern = wire::CURSOR))]
    before: Option<String>,
    /// How many entries at most.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(name): Named<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<wire::Conversation>, Oops> {
    let before = wanted.before.as_deref().map(parse).transpose()?;
    let limit = wanted.limit.unwrap_or(PAGE);
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(Oops::bad_request(format!("`limit` must be 1 to {PAGE_MAX}")));
    }
    let agent = find(&app, &caller, &name, &Where { project: wanted.project }).await?;
    require_own(&caller, &agent, "conversation")?;
    let (shelf, home) = (app.kinds.clone(), app.facts.home.clone());
    let look = spawn_blocking(move || look(&shelf, &home, &agent, before, limit));
    look.await.map_err(|error| Oops::internal("conversation", &error))?.map(Json)
}

/// Looks at what an agent's CLI has written down. It may take a while.
fn look(
    shelf: &Shelf,
    home: &Home,
    agent: &Agent,
    before: Option<TalkPlace>,
    limit: usize,
) -> Result<wire::Conversation, Oops> {
    let Ok(kind) = shelf.find(&agent.kind) else {
        return Ok(missing(format!("cmux does not know its kind, `{}`, any more", agent.kind)));
    };
    let manifest = &kind.manifest;
    let Some(transcript) = &manifest.transcript else {
        let why = manifest.cannot.get(&Ability::Transcript).map_or("", String::as_str);
        let why = if why.is_empty() { "it writes none down" } else { why };
        let title = &manifest.title;
        return Ok(missing(format!("cmux cannot read the conversations of {title}: {why}")));
    };
    let nothing_yet = || missing("nothing has been said to it yet".to_owned());
    let Some(session) = agent.session.clone() else { return Ok(nothing_yet()) };
    let state = home.agent_state(&agent.id.to_string());
    match transcript_of(transcript, session, &agent.setup.cwd, state) {
        Some(Some(path)) => read(transcript.shape, &path, before, limit),
        Some(None) => Ok(nothing_yet()),
        None => Ok(missing("where it is written down cannot be looked at".to_owned())),
    }
}

fn read(
    shape: TranscriptShape,
    path: &Path,
    before: Option<TalkPlace>,
    limit: usize,
) -> Result<wire::Conversation, Oops> {
    match read_back(shape, path, before, limit) {
        Ok(Talked::Page { entries, next }) => Ok(wire::Conversation {
            entries: entries.into_iter().map(say).collect(),
            next: next.map(write),
            missing: None,
        }),
        Ok(Talked::Nothing) => Ok(missing("nothing has been said to it yet".to_owned())),
        Ok(Talked::Elsewhere) => {
            let detail = "another conversation has begun since: ask again without `before`";
            Err(Oops::new(StatusCode::CONFLICT, "other-conversation", detail))
        }
        Err(error) => {
            debug!(%error, "{} could not be read", path.display());
            Ok(missing(format!("what was written down cannot be read: {}", error.kind())))
        }
    }
}

fn missing(why: String) -> wire::Conversation {
    wire::Conversation { entries: Vec::new(), next: None, missing: Some(why) }
}

/// Returns an entry as clients see it.
fn say(entry: Entry) -> wire::Entry {
    let Entry { id, at, subagent, what } = entry;
    let said = match what {
        What::Prompt { text: Text { text, is_cut: text_cut }, messages } => {
            let messages = messages.iter().map(ToString::to_string).collect();
            wire::Said::Prompt { text, text_cut, messages }
        }
        What::Answer(Text { text, is_cut: text_cut }) => wire::Said::Answer { text, text_cut },
        What::Thinking(Text { text, is_cut: text_cut }) => wire::Said::Thinking { text, text_cut },
        What::Call { call, tool, input, is_cut: input_cut } => {
            wire::Said::Call { call, tool, input, input_cut }
        }
        What::Result { call, text: Text { text, is_cut: text_cut }, ok } => {
            wire::Said::Result { call, text, text_cut, ok }
        }
        What::Note(text) => wire::Said::Note { text },
    };
    wire::Entry { id, at: at.map(|at| Time::from_millis(at.0)), subagent, said }
}

/// Returns a place as it is given to clients.
fn write(TalkPlace { file, end, skip }: TalkPlace) -> String {
    format!("{file:x}-{end}-{skip}")
}

fn parse(cursor: &str) -> Result<TalkPlace, Oops> {
    let bad = || Oops::bad_request("`before` must be what the page after gave as `next`");
    let number = |text: &str, radix| {
        // A sign would be taken, too.
        let is_plain = text.bytes().all(|it| it.is_ascii_digit() || it.is_ascii_lowercase());
        u64::from_str_radix(text, radix).ok().filter(|_| is_plain).ok_or_else(bad)
    };
    let parts: Vec<&str> = cursor.split('-').collect();
    let [file, end, skip] = parts.as_slice() else { return Err(bad()) };
    let skip = usize::try_from(number(skip, 10)?).map_err(|_| bad())?;
    Ok(TalkPlace { file: number(file, 16)?, end: number(end, 10)?, skip })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_page_gave_is_a_cursor() {
        for place in [
            TalkPlace { file: 0xabc, end: 7, skip: 0 },
            TalkPlace { file: u64::MAX, end: 1 << 40, skip: 12 },
        ] {
            assert_eq!(parse(&write(place)).unwrap(), place);
        }
        for bad in ["", "7", "7-7", "a-7-", "-7-7", "a-7-7-7", "+a-7-7", "A-7-7", "g-7-7", "a-7a-7"]
        {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
