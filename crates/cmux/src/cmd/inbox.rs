//! `cmux inbox`: mail, read. The person's own, or an agent's.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal};
use std::time::Duration;

use clap::Args;
use cmux_wire::client::{Client, EventQuery, MessageQuery};
use cmux_wire::event::{Event, Notice};
use cmux_wire::message::{Message, MessageState, Messages};
use cmux_wire::stream::Told;
use cmux_wire::who::Principal;

use crate::cli::{Common, wait};
use crate::cmd::agent::find::{Called, Within};
use crate::cmd::events::passes;
use crate::cmd::message::said::{state, tamed};
use crate::fail::Fail;
use crate::place;
use crate::say::{Say, Tone, clean, cut, size, span};

/// How long to wait before a daemon that went away is tried again.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// How the person is called.
const USER: &str = "user";

/// How much of a message is shown that was read, in columns.
const GLANCE: usize = 60;

#[derive(Debug, Args)]
pub(crate) struct Inbox {
    /// Whose mail: an agent's, by its name or id. Your own unless it is said
    name: Option<String>,
    #[command(flatten)]
    within: Within,
    /// Go on and show each message as it comes
    #[arg(short, long)]
    follow: bool,
    /// Leave what is shown unread
    #[arg(long)]
    keep: bool,
    /// At most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
}

/// Whose mail it is.
enum Whose {
    Person,
    Agent { id: String },
}

impl Inbox {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let home = place::home(common.home.as_deref())?;
        wait(self.show(&place::client(&home), say))
    }

    async fn show(self, client: &Client, say: Say) -> Result<(), Fail> {
        let (whose, is_own) = self.whose(client).await?;
        // Before the look: what comes after it is followed.
        let head = client.events(&EventQuery { limit: Some(1), ..EventQuery::default() }).await?;
        let page = match &whose {
            Whose::Person => self.persons(client).await?,
            Whose::Agent { id } => self.page(client, id, false).await?,
        };
        let is_persons = matches!(whose, Whose::Person);
        // What a script was given, nobody has seen yet.
        let is_seen = io::stdout().is_terminal() && !say.json && !self.keep && is_own;
        let mut teller =
            Teller { client, say, marks: is_persons && is_seen, shown: BTreeSet::new() };
        if say.json && !self.follow {
            return say.json(&page);
        }
        if page.messages.is_empty() && !self.follow {
            return say.line("no mail");
        }
        for message in in_order(page.messages, is_persons) {
            teller.tell(&message, is_persons).await?;
        }
        if !self.follow {
            return Ok(());
        }
        let query = EventQuery {
            since: Some(head.head),
            log: Some(head.log),
            kind: Some("message.".to_owned()),
            ..EventQuery::default()
        };
        follow(client, query, &whose, &mut teller).await
    }

    /// Returns whose mail is wanted, and whether that is whoever asks.
    async fn whose(&self, client: &Client) -> Result<(Whose, bool), Fail> {
        let who = client.whoami().await?;
        match (&self.name, who.principal) {
            (Some(name), Principal::Operator) if name == USER => Ok((Whose::Person, true)),
            (Some(name), _) if name == USER => Ok((Whose::Person, false)),
            (Some(name), _) => {
                let within = Within { project: self.within.project.clone() };
                let agent = Called { name: name.clone(), within }.find(client).await?;
                let is_own = who.id.as_ref() == Some(&agent.id);
                Ok((Whose::Agent { id: agent.id }, is_own))
            }
            (None, Principal::Agent) => Ok((Whose::Agent { id: who.id.unwrap_or_default() }, true)),
            (None, Principal::Operator) => Ok((Whose::Person, true)),
            (None, Principal::Token | Principal::Stranger) => Ok((Whose::Person, false)),
        }
    }

    /// Returns the person's mail: what they have not read, and then what they have.
    async fn persons(&self, client: &Client) -> Result<Messages, Fail> {
        let unread = self.page(client, USER, true).await?;
        let all = self.page(client, USER, false).await?;
        let read = all.messages.into_iter().filter(|message| message.read_at.is_some());
        let mut messages: Vec<Message> = unread.messages.into_iter().chain(read).collect();
        messages.truncate(self.limit as usize);
        Ok(Messages { messages, next: all.next })
    }

    async fn page(&self, client: &Client, to: &str, unread: bool) -> Result<Messages, Fail> {
        let project = match &self.within.project {
            Some(named) if to == USER => Some(place::project_id(client, Some(named)).await?),
            Some(_) | None => None,
        };
        let query = MessageQuery {
            to: Some(to.to_owned()),
            unread,
            limit: Some(self.limit),
            project,
            ..MessageQuery::default()
        };
        Ok(client.messages(&query).await?)
    }
}

/// Returns messages in the order in which they are shown, of which the newest was first: those of an agent
/// as they came, the person's as they are.
fn in_order(mut messages: Vec<Message>, is_persons: bool) -> Vec<Message> {
    if !is_persons {
        messages.reverse();
    }
    messages
}

/// Shows messages, each once.
struct Teller<'a> {
    client: &'a Client,
    say: Say,
    /// Whether what is shown counts as read.
    marks: bool,
    shown: BTreeSet<String>,
}

impl Teller<'_> {
    /// Shows a message by its id. Returns whether that was done: if the daemon went away, it is to be heard of
    /// again.
    async fn fetch(&mut self, id: &str, is_persons: bool) -> Result<bool, Fail> {
        match self.client.message(id).await {
            Ok(message) => self.tell(&message, is_persons).await,
            Err(error) if passes(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Shows a message, unless it was shown. Returns whether it is known to be read, if it is to be.
    async fn tell(&mut self, message: &Message, is_persons: bool) -> Result<bool, Fail> {
        let is_read = is_persons && message.read_at.is_some();
        if self.shown.insert(message.id.clone()) {
            match self.say.json {
                true => self.say.json(message)?,
                false if is_read => self.say.line(&glance(message))?,
                false => self.say.line(&whole(message, self.say))?,
            }
        }
        if !self.marks || is_read {
            return Ok(true);
        }
        match self.client.have_message(&message.id, "read").await {
            Ok(_) => Ok(true),
            Err(error) if passes(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns a message that was read, in a line.
fn glance(message: &Message) -> String {
    let first = tamed(&message.body);
    let first = first.lines().next().unwrap_or_default();
    format!("  {}  {}", head(message), cut(first, GLANCE))
}

/// Returns a message and what it says.
fn whole(message: &Message, say: Say) -> String {
    let is_read = message.state == MessageState::Delivered;
    let far = if is_read && message.reason.is_none() {
        String::new()
    } else {
        format!(" · {}", clean(&state(message)))
    };
    let body = tamed(&message.body).replace('\n', "\n    ");
    let more = if message.body_cut {
        let (bytes, id) = (size(message.body_bytes), &message.id);
        format!("\n    … {bytes} in all: `cmux message show {id}` shows them")
    } else {
        String::new()
    };
    format!("{}{far}\n    {body}{more}\n", say.paint(&format!("* {}", head(message)), Tone::Strong))
}

fn head(message: &Message) -> String {
    let age = span(cmux_drivers::clock::wall().0 - message.created_at.millis());
    let Message { id, from, kind, .. } = message;
    clean(&format!("{id} from {from} · {kind} · {age} ago"))
}

/// Shows each message as it comes, through as many lives of the daemon as there are.
async fn follow(
    client: &Client,
    mut query: EventQuery,
    whose: &Whose,
    teller: &mut Teller<'_>,
) -> Result<(), Fail> {
    loop {
        match client.follow(&query).await {
            Ok(mut stream) => loop {
                let told = match stream.next().await {
                    Ok(Some(told)) => told,
                    Ok(None) => break,
                    Err(error) if passes(&error) => break,
                    Err(error) => return Err(error.into()),
                };
                let before = query.since;
                if let Some(id) = hear(told, &mut query, whose)
                    && !teller.fetch(&id, matches!(whose, Whose::Person)).await?
                {
                    query.since = before;
                    break;
                }
            },
            Err(error) if passes(&error) => {}
            Err(error) => return Err(error.into()),
        }
        tokio::time::sleep(RETRY_AFTER).await;
    }
}

/// Notes how far the log was told, and returns the message that is new to whoever reads.
fn hear(told: Told, query: &mut EventQuery, whose: &Whose) -> Option<String> {
    match told {
        Told::Event(event) => {
            query.since = Some(event.id);
            news(&event, whose)
        }
        Told::Notice(Notice::Hello { log, head: _ }) => {
            query.log = Some(log);
            None
        }
        Told::Notice(Notice::Reset) => {
            query.since = Some(0);
            None
        }
        Told::Notice(Notice::Archived { through: at } | Notice::Lagged { resume: at }) => {
            query.since = Some(at);
            None
        }
        Told::Notice(Notice::Goodbye { .. } | Notice::Vitals { .. }) => None,
    }
}

/// Returns the message that an event tells of as new, if it is for whoever reads.
fn news(event: &Event, whose: &Whose) -> Option<String> {
    let is_new = matches!(event.kind.as_str(), "message.queued" | "message.delivered");
    let is_theirs = match whose {
        Whose::Person => event.data["to"].as_str() == Some(USER),
        Whose::Agent { id } => event.agent.as_ref() == Some(id),
    };
    let id = event.data["message"].as_str().filter(|_| is_new && is_theirs)?;
    Some(id.to_owned())
}

#[cfg(test)]
mod tests {
    use cmux_wire::message::MessageState;
    use cmux_wire::time::Time;
    use serde_json::json;

    use super::*;
    use crate::cmd::message::said::tests::message;

    #[test]
    fn mail_is_shown_with_what_it_says_and_what_was_read_in_a_line() {
        let say = Say::new(false);
        let mail = Message {
            from: "api\u{1b}[1m".to_owned(),
            to: USER.to_owned(),
            body: "one\u{1b}[2J\ntwo".to_owned(),
            state: MessageState::Delivered,
            ..message()
        };
        let told = whole(&mail, say);
        assert!(told.starts_with("* msg_01JD0000000000000000000000 from api\u{fffd}[1m · task · "));
        assert!(told.ends_with("\n    one\u{fffd}[2J\n    two\n"), "{told}");
        assert!(glance(&mail).ends_with("  one\u{fffd}[2J"), "{}", glance(&mail));
        let long = Message { body_cut: true, body_bytes: 20_000, ..mail };
        assert!(whole(&long, say).contains("20 KB in all: `cmux message show"), "{long:?}");
        let waiting = Message { waiting_for: Some("busy".to_owned()), ..message() };
        assert!(whole(&waiting, say).contains(" · queued (its reader is busy"), "{waiting:?}");
    }

    #[test]
    fn an_agents_mail_is_shown_as_it_came() {
        let named = |id: &str| Message { id: id.to_owned(), ..message() };
        let ids = |is_persons| {
            let all = in_order(vec![named("b"), named("a")], is_persons);
            all.into_iter().map(|it| it.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(true), ["b", "a"]);
        assert_eq!(ids(false), ["a", "b"]);
    }

    #[test]
    fn only_what_is_new_to_whoever_reads_is_shown() {
        let person = Whose::Person;
        let agent = Whose::Agent { id: "agt_1".to_owned() };
        for (kind, to, of, whose, expected) in [
            ("message.delivered", "user", None, &person, true),
            ("message.queued", "api", Some("agt_1"), &person, false),
            ("message.queued", "api", Some("agt_1"), &agent, true),
            ("message.queued", "api", Some("agt_2"), &agent, false),
            ("message.typing", "api", Some("agt_1"), &agent, false),
            ("message.read", "user", None, &person, false),
        ] {
            let event = Event {
                id: 1,
                v: 1,
                at: Time::from_millis(0),
                kind: kind.to_owned(),
                project: None,
                agent: of.map(ToOwned::to_owned),
                run: None,
                subject: None,
                cause: None,
                actor: "cmux".to_owned(),
                data: json!({"message": "msg_1", "to": to}),
            };
            assert_eq!(news(&event, whose).is_some(), expected, "{kind} {to} {of:?}");
        }
    }
}
