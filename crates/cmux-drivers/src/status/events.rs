//! What the events of OpenCode's stream come to: which of its sessions work, and what they ask.

use std::collections::{BTreeMap, BTreeSet};

use cmux_core::agent::Doing;
use cmux_core::time::Timestamp;
use serde_json::Value;

use super::{State, session_name};

/// How many sessions and questions are kept in mind.
const KEPT_MAX: usize = 1_000;

/// The longest event, in bytes. A longer one is passed over: it tells of a message's text.
const EVENT_MAX: usize = 1 << 20;

/// The sessions of one OpenCode, as far as it told of them. Those that it says nothing of are at rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sessions {
    working: BTreeMap<String, Work>,
    /// What was asked and not answered, by its id: by which session, and what.
    asked: BTreeMap<String, (String, &'static str)>,
    /// Those that another one has begun.
    children: BTreeSet<String>,
    /// The one that a person sees.
    shown: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Busy,
    /// Its provider has refused, and is asked again then.
    Retrying {
        next: Option<Timestamp>,
    },
}

impl Sessions {
    /// Returns the sessions as they are told on request: how each is, and what each asks. Nothing, if it is not
    /// told so.
    pub(super) fn told(
        statuses: &Value,
        permissions: &Value,
        questions: &Value,
    ) -> Option<Sessions> {
        let mut sessions = Sessions::default();
        for (session, status) in statuses.as_object()? {
            sessions.status(session, status);
        }
        for (list, what) in [(permissions, "permission"), (questions, "question")] {
            list.as_array()?.iter().for_each(|asked| sessions.asked(asked, what));
        }
        Some(sessions)
    }

    /// Takes an event. One that is not known, or not as it should be, says nothing.
    pub(super) fn hear(&mut self, event: &Value) {
        let said = &event["properties"];
        let session = said["sessionID"].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "session.status" => self.status(session, &said["status"]),
            "session.idle" | "session.error" => self.rests(session),
            "session.created" | "session.updated" => self.met(&said["info"]),
            "session.deleted" => self.rests(said["info"]["id"].as_str().unwrap_or_default()),
            "permission.asked" => self.asked(said, "permission"),
            "question.asked" => self.asked(said, "question"),
            "permission.replied" | "question.replied" | "question.rejected" => {
                let id = said["requestID"].as_str().or(said["permissionID"].as_str());
                self.asked.remove(id.unwrap_or_default());
            }
            _ => {}
        }
    }

    /// Returns what all of them together do.
    pub(super) fn state(&self) -> State {
        let retry = self.working.values().find_map(|work| match work {
            Work::Retrying { next } => Some(*next),
            Work::Busy => None,
        });
        let is_busy = self.working.values().any(|work| *work == Work::Busy);
        let doing = match (self.asked.values().next(), is_busy, retry) {
            (Some((_, what)), _, _) => Doing::Asking { what: (*what).to_owned() },
            (None, true, _) => Doing::Working,
            (None, false, Some(until)) => Doing::Limited { until },
            (None, false, None) => Doing::AtPrompt,
        };
        State { doing, session: self.shown.clone(), since: None }
    }

    fn status(&mut self, session: &str, status: &Value) {
        let Some(name) = session_name(session) else { return };
        let work = match status["type"].as_str() {
            Some("busy") => Work::Busy,
            Some("retry") => {
                let next = status["next"].as_i64().filter(|&at| at > 0).map(Timestamp);
                Work::Retrying { next }
            }
            Some("idle") => return self.rests(session),
            Some(_) | None => return,
        };
        if self.working.len() < KEPT_MAX || self.working.contains_key(&name) {
            self.working.insert(name.clone(), work);
        }
        if !self.children.contains(&name) {
            self.shown = Some(name);
        }
    }

    /// Notes that a session's turn is over, and with it whatever it asked.
    fn rests(&mut self, session: &str) {
        self.working.remove(session);
        self.asked.retain(|_, (by, _)| by != session);
    }

    fn asked(&mut self, asked: &Value, what: &'static str) {
        let (id, session) = (asked["id"].as_str(), asked["sessionID"].as_str());
        let id = id.and_then(session_name);
        let (Some(id), Some(session)) = (id, session.and_then(session_name)) else { return };
        if self.asked.len() < KEPT_MAX {
            self.asked.insert(id, (session, what));
        }
    }

    fn met(&mut self, info: &Value) {
        let Some(name) = info["id"].as_str().and_then(session_name) else { return };
        match info["parentID"].as_str() {
            Some(_) if self.children.len() < KEPT_MAX => {
                if self.shown.as_ref() == Some(&name) {
                    self.shown = None;
                }
                self.children.insert(name);
            }
            Some(_) => {}
            None => self.shown = Some(name),
        }
    }
}

/// Puts the events of a stream together, whose bytes come in any pieces.
#[derive(Debug, Default)]
pub(super) struct Lines {
    line: Vec<u8>,
    data: Vec<u8>,
    is_too_long: bool,
}

impl Lines {
    /// Takes some bytes, and returns the events that they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Value> {
        let mut events = Vec::new();
        for &byte in bytes {
            if byte != b'\n' {
                self.is_too_long |= self.line.len() + self.data.len() >= EVENT_MAX;
                // One letter is kept, so that the line is not taken for an empty one.
                if !self.is_too_long || self.line.is_empty() {
                    self.line.push(byte);
                }
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if !line.is_empty() {
                let data = line.strip_prefix(b"data:").unwrap_or_default();
                self.data.extend_from_slice(data);
                continue;
            }
            let data = std::mem::take(&mut self.data);
            // What was too long ends with an empty line, too; what there is of it is no JSON.
            let is_whole = !std::mem::take(&mut self.is_too_long);
            events.extend(serde_json::from_slice(&data).ok().filter(|_| is_whole));
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_turn_is_followed_from_its_beginning_to_its_end() {
        check(&[], &Doing::AtPrompt, None);
        let busy = event("session.status", &json!({ "sessionID": "s", "status": busy() }));
        let idle = event("session.status", &json!({ "sessionID": "s", "status": idle() }));
        let asked = event("permission.asked", &json!({ "id": "p", "sessionID": "s" }));
        let replied = event("permission.replied", &json!({ "requestID": "p", "sessionID": "s" }));
        let failed = event("session.error", &json!({ "sessionID": "s", "error": {} }));
        let over = event("session.idle", &json!({ "sessionID": "s" }));
        let permission = Doing::Asking { what: "permission".to_owned() };
        for (events, doing) in [
            (vec![&busy], &Doing::Working),
            (vec![&busy, &idle], &Doing::AtPrompt),
            (vec![&busy, &over], &Doing::AtPrompt),
            (vec![&busy, &asked], &permission),
            (vec![&busy, &asked, &replied], &Doing::Working),
            // Escape was pressed.
            (vec![&busy, &asked, &failed], &Doing::AtPrompt),
            (vec![&busy, &busy, &over, &over], &Doing::AtPrompt),
        ] {
            check(&events, doing, Some("s"));
        }
    }

    #[test]
    fn what_opencode_sends_is_heard() {
        let permission = Doing::Asking { what: "permission".to_owned() };
        let mut sessions = Sessions::default();
        for (text, doing) in [
            (r#"{"id":"evt_1","type":"server.connected","properties":{}}"#, &Doing::AtPrompt),
            (
                r#"{"id":"evt_2","type":"session.status",
                    "properties":{"sessionID":"ses_e1","status":{"type":"busy"}}}"#,
                &Doing::Working,
            ),
            (
                r#"{"id":"evt_3","type":"permission.asked","properties":{"id":"per_1e",
                    "sessionID":"ses_e1","permission":"bash","patterns":["ls"],
                    "metadata":{"command":"ls"},"always":["ls *"],
                    "tool":{"messageID":"msg_1e","callID":"call_1"}}}"#,
                &permission,
            ),
            (r#"{"id":"evt_4","type":"server.heartbeat","properties":{}}"#, &permission),
            (
                r#"{"id":"evt_5","type":"permission.replied",
                    "properties":{"sessionID":"ses_e1","requestID":"per_1e","reply":"once"}}"#,
                &Doing::Working,
            ),
            (
                r#"{"id":"evt_6","type":"session.status",
                    "properties":{"sessionID":"ses_e1","status":{"type":"idle"}}}"#,
                &Doing::AtPrompt,
            ),
        ] {
            sessions.hear(&serde_json::from_str(text).unwrap());
            assert_eq!(&sessions.state().doing, doing, "{text}");
        }
        assert_eq!(sessions.state().session.as_deref(), Some("ses_e1"));
    }

    #[test]
    fn a_question_is_answered_or_refused() {
        let asked = event("question.asked", &json!({ "id": "q", "sessionID": "s" }));
        let rejected = event("question.rejected", &json!({ "requestID": "q" }));
        check(&[&asked], &Doing::Asking { what: "question".to_owned() }, None);
        check(&[&asked, &rejected], &Doing::AtPrompt, None);
    }

    #[test]
    fn the_end_of_a_session_that_another_began_is_not_the_end() {
        let child = json!({ "info": { "id": "c", "parentID": "s" } });
        let begun = event("session.created", &json!({ "info": { "id": "s" } }));
        let hired = event("session.created", &child);
        let busy =
            |name: &str| event("session.status", &json!({ "sessionID": name, "status": busy() }));
        let over = event("session.idle", &json!({ "sessionID": "c" }));
        let events = [&begun, &busy("s"), &hired, &busy("c")];
        check(&events, &Doing::Working, Some("s"));
        check(&[&events[..], &[&over]].concat(), &Doing::Working, Some("s"));
    }

    #[test]
    fn a_provider_that_refuses_is_a_limit_until_it_is_asked_again() {
        let status = json!({ "type": "retry", "attempt": 1, "next": 5_000 });
        let retry = event("session.status", &json!({ "sessionID": "s", "status": status }));
        check(&[&retry], &Doing::Limited { until: Some(Timestamp(5_000)) }, Some("s"));
    }

    #[test]
    fn what_is_told_on_request_is_where_events_go_on() {
        let (asked, none) = (json!([{ "id": "it", "sessionID": "s" }]), json!([]));
        for (permissions, questions, what) in
            [(&asked, &none, "permission"), (&none, &asked, "question")]
        {
            let told = Sessions::told(&json!({ "s": busy() }), permissions, questions);
            let mut sessions = told.unwrap();
            assert_eq!(sessions.state().doing, Doing::Asking { what: what.to_owned() });
            sessions.hear(&event(&format!("{what}.replied"), &json!({ "requestID": "it" })));
            assert_eq!(sessions.state().doing, Doing::Working, "{what}");
        }
        assert_eq!(Sessions::told(&json!({}), &none, &none), Some(Sessions::default()));
        for (statuses, permissions, questions) in [
            (&none, &none, &none),
            (&json!({}), &json!(null), &none),
            (&json!({}), &none, &json!({})),
        ] {
            assert_eq!(Sessions::told(statuses, permissions, questions), None);
        }
    }

    #[test]
    fn events_are_put_together_from_any_pieces() {
        let text = "data: {\"a\":1}\n\n: still here\n\nevent: x\r\ndata: {\"b\":\r\ndata: 2}\r\n\r\n{}\n\n";
        for size in 1..text.len() {
            let mut lines = Lines::default();
            let pieces = text.as_bytes().chunks(size);
            let events: Vec<Value> = pieces.flat_map(|piece| lines.feed(piece)).collect();
            assert_eq!(events, [json!({ "a": 1 }), json!({ "b": 2 })], "{size}");
        }
    }

    #[test]
    fn an_event_that_is_too_long_is_passed_over() {
        let mut lines = Lines::default();
        let long = format!("data: \"{}\"\n\ndata: 1\n\n", "x".repeat(EVENT_MAX));
        assert_eq!(lines.feed(long.as_bytes()), [json!(1)]);
        let long = format!("{}data: 3\n\ndata: 2\n\n", "data: \"x\"\n".repeat(EVENT_MAX / 4));
        assert_eq!(lines.feed(long.as_bytes()), [json!(2)]);
        assert!(lines.line.capacity() <= 2 * EVENT_MAX);
    }

    proptest! {
        #[test]
        fn nothing_that_is_sent_does_harm(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut lines = Lines::default();
            let mut sessions = Sessions::default();
            for event in lines.feed(&bytes) {
                sessions.hear(&event);
            }
            prop_assert_eq!(sessions.state().doing, Doing::AtPrompt);
        }
    }

    fn busy() -> Value {
        json!({ "type": "busy" })
    }

    fn idle() -> Value {
        json!({ "type": "idle" })
    }

    fn event(kind: &str, properties: &Value) -> Value {
        json!({ "type": kind, "properties": properties })
    }

    #[track_caller]
    fn check(events: &[&Value], doing: &Doing, session: Option<&str>) {
        let mut sessions = Sessions::default();
        events.iter().for_each(|event| sessions.hear(event));
        let state = sessions.state();
        assert_eq!((&state.doing, state.session.as_deref()), (doing, session), "{events:?}");
    }
}
