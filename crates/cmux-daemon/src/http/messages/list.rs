//! Which messages are wanted, and by whom.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use cmux_core::id::AgentId;
use cmux_core::message::{MessageState, USER};
use cmux_core::principal::Principal;
use cmux_core::project::ProjectId;
use cmux_store::messages::{self, Filter};
use cmux_wire::message as wire;
use cmux_wire::project;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::App;
use crate::http::extract::Query;
use crate::http::gate::Caller;
use crate::http::messages::address::named;
use crate::http::messages::{listed, parse};
use crate::http::problem::Oops;
use crate::http::projects::parse as parse_project;

/// How many messages a page has at most, and if nobody says.
pub(crate) const PAGE: u32 = 100;

/// How a state is called.
const STATE: &str =
    "^(queued|typing|submitted|claimed|delivered|failed|cancelled|expired|in_doubt)$";

/// Which messages are wanted.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// To this agent, by its id, its name or as `name@project`; or to `user`.
    to: Option<String>,
    /// From this agent, from `user`, or from whoever else is called so.
    from: Option<String>,
    /// In this state.
    #[schemars(regex(pattern = STATE))]
    state: Option<String>,
    /// Of the conversation that began with this message.
    #[schemars(regex(pattern = wire::id()))]
    thread: Option<String>,
    /// Of this project.
    #[schemars(regex(pattern = project::ID))]
    project: Option<String>,
    /// Only those to the person that they have not read.
    unread: Option<bool>,
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE))]
    limit: Option<u32>,
    /// What the page before gave as `next`. Without it, the newest.
    #[schemars(regex(pattern = wire::CURSOR))]
    cursor: Option<String>,
}

/// Lists messages, newest first. An agent is told of its own mail only.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(wanted): Query<Wanted>,
) -> Result<Json<wire::Messages>, Oops> {
    let limit = wanted.limit.unwrap_or(PAGE);
    if !(1..=PAGE).contains(&limit) {
        return Err(Oops::bad_request(format!("`limit` must be 1 to {PAGE}")));
    }
    let before = wanted.cursor.as_deref().map(place).transpose()?;
    let filter = own(&caller.0, wanted.filter(&app, &caller).await?)?;
    let page = app.read(move |view| {
        let page = messages::page(view, &filter, before, limit)?;
        let is_full = page.len() == limit as usize;
        let next = page.last().filter(|_| is_full).map(|last| last.seq.to_string());
        Ok(wire::Messages { messages: listed(view, page)?, next })
    });
    page.await.map(Json)
}

/// Returns the place that a cursor names.
pub(crate) fn place(cursor: &str) -> Result<i64, Oops> {
    let is_plain = cursor.bytes().all(|byte| byte.is_ascii_digit());
    let place = cursor.parse().ok().filter(|_| is_plain);
    place.ok_or_else(|| Oops::bad_request("`cursor` must be what the page before gave as `next`"))
}

impl Wanted {
    async fn filter(&self, app: &App, caller: &Caller) -> Result<Filter, Oops> {
        let to_user = self.to.as_deref() == Some(USER);
        let project = self.project.as_deref().map(parse_project).transpose()?;
        let to_agent = match self.to.as_deref().filter(|_| !to_user) {
            Some(called) => Some(self.agent(app, caller, called).await?),
            None => None,
        };
        let from = match self.from.as_deref() {
            Some(called) => Some(self.sender(app, caller, called).await?),
            None => None,
        };
        Ok(Filter {
            project: project_seen(&caller.0, project)?,
            to_agent,
            to_user,
            from,
            state: self.state.as_deref().map(state).transpose()?,
            thread: self.thread.as_deref().map(parse).transpose()?,
            unread: self.unread.unwrap_or(false),
        })
    }

    /// Returns the agent that is called so. One that is forgotten is known by its id.
    async fn agent(&self, app: &App, caller: &Caller, called: &str) -> Result<AgentId, Oops> {
        match called.parse() {
            Ok(id) => Ok(id),
            Err(_) => Ok(named(app, caller, called, self.project.as_deref()).await?.id),
        }
    }

    /// Returns a sender as the store knows it: an agent by its id, and others by their names.
    async fn sender(&self, app: &App, caller: &Caller, called: &str) -> Result<String, Oops> {
        let found = self.agent(app, caller, called).await;
        Ok(found.map_or_else(|_| called.to_owned(), |id| id.to_string()))
    }
}

fn state(name: &str) -> Result<MessageState, Oops> {
    let found = MessageState::ALL.into_iter().find(|state| state.name() == name);
    found.ok_or_else(|| {
        let all: Vec<&str> = MessageState::ALL.into_iter().map(MessageState::name).collect();
        Oops::bad_request(format!("`state` must be one of {}", all.join(", ")))
    })
}

/// Returns the project that is looked in. An agent's mail may be of others, if it may write there.
fn project_seen(who: &Principal, wanted: Option<ProjectId>) -> Result<Option<ProjectId>, Oops> {
    match (who.confined_to(), wanted) {
        (Some(own), Some(wanted)) if wanted != *own => Err(Oops::elsewhere()),
        (_, wanted) => Ok(wanted),
    }
}

/// Returns the same for one who may know of their own mail only: what is to them, unless they ask for
/// what is from them.
fn own(who: &Principal, filter: Filter) -> Result<Filter, Oops> {
    let Principal::Agent { agent, .. } = who else { return Ok(filter) };
    let own = agent.to_string();
    let is_to = filter.to_agent == Some(*agent);
    let is_from = filter.from.as_ref() == Some(&own);
    let names_reader = filter.to_agent.is_some() || filter.to_user || filter.unread;
    match (names_reader, &filter.from) {
        _ if is_to || is_from => Ok(filter),
        (true, None) => Ok(Filter { from: Some(own), ..filter }),
        (false, _) => Ok(Filter { to_agent: Some(*agent), ..filter }),
        (true, Some(_)) => Err(Oops::new(
            axum::http::StatusCode::FORBIDDEN,
            "not-allowed",
            "an agent may see the mail that it sent or that was sent to it, and no other",
        )),
    }
}

#[cfg(test)]
mod tests {
    use cmux_core::id::RunId;
    use ulid::Ulid;

    use super::*;

    #[test]
    fn an_agent_is_told_of_its_own_mail_only() {
        let [me, other] = [1_u128, 8].map(|it| AgentId::new(Ulid::from(it)));
        let from = |id: AgentId| Some(id.to_string());
        let none = Filter::default();
        for (wanted, expected) in [
            (none.clone(), Some((Some(me), None))),
            (Filter { to_agent: Some(me), ..none.clone() }, Some((Some(me), None))),
            (Filter { from: from(me), ..none.clone() }, Some((None, from(me)))),
            (Filter { from: from(other), ..none.clone() }, Some((Some(me), from(other)))),
            (Filter { to_agent: Some(other), ..none.clone() }, Some((Some(other), from(me)))),
            (Filter { to_user: true, ..none.clone() }, Some((None, from(me)))),
            (Filter { unread: true, ..none.clone() }, Some((None, from(me)))),
            (Filter { to_user: true, from: from(other), ..none.clone() }, None),
            (Filter { to_agent: Some(other), from: from(other), ..none.clone() }, None),
        ] {
            let who = Principal::Agent {
                agent: me,
                run: RunId::new(Ulid::from(2_u128)),
                project: ProjectId::of("/a"),
            };
            let told = own(&who, wanted.clone()).ok().map(|it| (it.to_agent, it.from));
            assert_eq!(told, expected, "{wanted:?}");
            assert_eq!(own(&Principal::Operator, wanted.clone()).unwrap(), wanted);
        }
    }

    #[test]
    fn only_what_a_page_gave_is_a_cursor() {
        assert_eq!(place("17").unwrap(), 17);
        for bad in ["", "-1", "+1", "1.5", "msg_1", "99999999999999999999"] {
            assert!(place(bad).is_err(), "{bad}");
        }
    }
}
