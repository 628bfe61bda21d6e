//! `cmux message show`: all of a message, and its journey.

use cmux_wire::client::{Client, EventQuery};
use cmux_wire::event::Event;
use cmux_wire::message::Message;
use cmux_wire::time::Time;

use crate::cmd::message::said::{tamed, waits_for};
use crate::fail::Fail;
use crate::say::{Say, Tone, plain, size, toned};

/// How far back the log is looked through for what it tells of a message.
const EVENTS_MAX: u32 = 1000;

pub(crate) async fn run(id: &str, client: &Client, say: Say) -> Result<(), Fail> {
    let message = client.message(id).await?;
    if say.json {
        return say.json(&message);
    }
    let query = EventQuery {
        project: Some(message.project.clone()),
        kind: Some("message.".to_owned()),
        limit: Some(EVENTS_MAX),
        ..EventQuery::default()
    };
    let events = client.events(&query).await?.events;
    say.line(tell(&message, &journey(&message, &events), say).trim_end())
}

/// One step of a message's way.
type Step = (Time, String);

/// Returns how a message came to be where it is: as the log tells, or else as far as it tells itself.
fn journey(message: &Message, events: &[Event]) -> Vec<Step> {
    let about = format!("message:{}", message.id);
    let told: Vec<Step> = events
        .iter()
        .filter(|event| event.subject.as_ref() == Some(&about))
        .map(|event| (event.at, step(event)))
        .collect();
    let is_whole = told.first().is_some_and(|(at, _)| *at <= message.created_at);
    if is_whole {
        return told;
    }
    // The beginning is too long ago to be looked for.
    let mut all = vec![(message.created_at, "queued".to_owned())];
    all.extend(told);
    if all.len() == 1 {
        all.extend(message.delivered_at.map(|at| (at, "delivered".to_owned())));
        all.extend(message.read_at.map(|at| (at, "read".to_owned())));
    }
    all
}

/// Returns what an event tells of a message, in words.
fn step(event: &Event) -> String {
    let text = |name: &str| event.data[name].as_str();
    let mut words = vec![event.kind.trim_start_matches("message.").replace('_', " ")];
    if let Some(attempts) = event.data["attempts"].as_u64().filter(|count| *count > 1) {
        words.push(format!("for the {attempts}. time"));
    }
    if let Some(evidence) = text("evidence") {
        words.push(format!("by its {evidence}"));
    }
    if let Some(reason) = text("reason") {
        words.push(format!("({reason})"));
    }
    words.join(" ")
}

fn tell(message: &Message, journey: &[Step], say: Say) -> String {
    let mut rows = vec![
        ("id", message.id.clone(), Tone::Strong),
        ("from", message.from.clone(), Tone::Plain),
        ("to", format!("{} in {}", message.to, message.project), Tone::Plain),
        ("kind", message.kind.to_string(), Tone::Plain),
        ("state", message.state.to_string(), Tone::Plain),
    ];
    if let Some(waits) = waits_for(message) {
        rows.push(("waits", waits, Tone::Warning));
    }
    if let Some(reason) = &message.reason {
        rows.push(("reason", reason.clone(), Tone::Plain));
    }
    if let Some(answered) = &message.reply_to {
        rows.push(("answers", answered.clone(), Tone::Plain));
    }
    if message.thread != message.id {
        rows.push(("thread", message.thread.clone(), Tone::Plain));
    }
    if let Some(at) = message.expires_at {
        rows.push(("expires", at.to_string(), Tone::Plain));
    }
    rows.push(("length", size(message.body_bytes), Tone::Faint));
    let rows: Vec<_> =
        rows.into_iter().map(|(name, text, tone)| vec![plain(name), toned(text, tone)]).collect();
    let steps: Vec<_> = journey
        .iter()
        .map(|(at, what)| vec![toned(at.to_string(), Tone::Faint), plain(what)])
        .collect();
    format!("{}\n{}\n{}\n", say.table(&rows), say.table(&steps), tamed(&message.body))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cmd::message::said::tests::message;

    #[test]
    fn a_journey_is_told_by_the_log_and_else_by_the_message_itself() {
        let told = [
            event("message.queued", 0, json!({"attempts": 0})),
            event("message.typing", 5, json!({"attempts": 2, "reason": "it was not taken"})),
            event("message.delivered", 9, json!({"attempts": 1, "evidence": "transcript"})),
        ];
        let other = Event { subject: Some("message:msg_2".to_owned()), ..told[0].clone() };
        let all = [&[other][..], &told].concat();
        let words = ["queued", "typing for the 2. time (it was not taken)"];
        let words = [words[0], words[1], "delivered by its transcript"];
        check(&message(), &all, &words);
        check(&message(), &all[2..], &words);
        check(&message(), &[], &["queued"]);
        let read = Message { delivered_at: Some(Time::from_millis(3)), ..message() };
        check(&read, &[], &["queued", "delivered"]);
    }

    #[test]
    fn nothing_in_a_message_plays_tricks_on_a_terminal() {
        let body = "one\u{1b}[2J\ntwo".to_owned();
        let from = "a\u{1b}[1m".to_owned();
        let told = tell(&Message { body, from, ..message() }, &[], Say::new(false));
        assert!(!told.contains('\u{1b}') && told.contains("[2J\ntwo"), "{told}");
    }

    #[track_caller]
    fn check(message: &Message, events: &[Event], expected: &[&str]) {
        let steps = journey(message, events);
        let words: Vec<&str> = steps.iter().map(|(_, what)| what.as_str()).collect();
        assert_eq!(words, expected);
    }

    fn event(kind: &str, at: i64, data: Value) -> Event {
        Event {
            id: 1,
            v: 1,
            at: Time::from_millis(at),
            kind: kind.to_owned(),
            project: None,
            agent: None,
            run: None,
            subject: Some(format!("message:{}", message().id)),
            cause: None,
            actor: "cmux".to_owned(),
            data,
        }
    }
}
