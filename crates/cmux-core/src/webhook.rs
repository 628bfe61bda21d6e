//! Webhooks: what others outside deliver, and how a delivery is known again.

use std::fmt;
use std::time::Duration;

use crate::digest::Digest;
use crate::event::{Actor, Event, What};
use crate::id::EventId;
use crate::project::ProjectId;
use crate::time::Timestamp;

/// How long a delivery is remembered, so as to be known again.
pub const REPLAY_WINDOW: Duration = Duration::from_hours(24 * 7);

/// The longest text beside the body that is taken, in characters.
pub const TEXT_MAX: usize = 256;

/// A delivery from outside whose signature fits.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    pub source: String,
    /// How the source calls it. It may not be signed, so anybody on the way can have changed it.
    pub delivery: String,
    /// Whether the signature covers the delivery's id, and not the body alone.
    pub is_name_signed: bool,
    /// What the source says has happened there.
    pub event: Option<String>,
    pub project: Option<ProjectId>,
    pub content_type: Option<String>,
    pub digest: Digest,
    pub body: Vec<u8>,
}

/// Shows how long the body is, and not what it says: that may be a secret of somebody's.
impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Webhook { source, delivery, is_name_signed, .. } = self;
        let Webhook { event, project, content_type, digest, body, .. } = self;
        f.debug_struct("Webhook")
            .field("source", source)
            .field("delivery", delivery)
            .field("is_name_signed", is_name_signed)
            .field("event", event)
            .field("project", project)
            .field("content_type", content_type)
            .field("digest", digest)
            .field("bytes", &body.len())
            .finish()
    }
}

/// A delivery that was taken, as far as it takes to know it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub source: String,
    pub delivery: String,
    pub digest: Digest,
    /// The event that tells of it.
    pub event: EventId,
    pub at: Timestamp,
}

/// Whether a delivery was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    New,
    /// It was, and this event tells of it.
    Duplicate {
        of: EventId,
    },
    /// Another one was there under the same name.
    Conflict,
}

/// Why a delivery is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadWebhook {
    #[error("the webhook's {what} must have 1 to {TEXT_MAX} characters")]
    Length { what: &'static str },
    #[error("the webhook's {what} has a control character in it")]
    Control { what: &'static str },
}

impl Webhook {
    /// Returns the event that tells of the delivery.
    pub fn told(&self) -> Event {
        let what = What::WebhookReceived {
            source: self.source.clone(),
            delivery: self.delivery.clone(),
            event: self.event.clone(),
            content_type: self.content_type.clone(),
            bytes: self.body.len() as u64,
        };
        let actor = Actor::Webhook(self.source.clone());
        Event { actor, project: self.project.clone(), ..Event::own(what) }
    }

    /// Refuses a delivery whose names nobody could read.
    pub fn check(&self) -> Result<(), BadWebhook> {
        let named = [("source", &self.source), ("delivery id", &self.delivery)];
        let said = [("event", &self.event), ("content type", &self.content_type)];
        let said = said.iter().filter_map(|(what, text)| Some((*what, text.as_ref()?)));
        for (what, text) in named.into_iter().chain(said) {
            if !(1..=TEXT_MAX).contains(&text.chars().count()) {
                return Err(BadWebhook::Length { what });
            }
            if text.chars().any(char::is_control) {
                return Err(BadWebhook::Control { what });
            }
        }
        Ok(())
    }

    /// Returns whether the delivery was there before, if `same_name` is the one that its source called
    /// the same and `same_body` the newest of that source that said the same. Where the name is signed, a
    /// body may well come again under another; where it is not, that is a copy with a name made up.
    pub fn replay(
        &self,
        same_name: Option<&Taken>,
        same_body: Option<&Taken>,
        now: Timestamp,
    ) -> Replay {
        let is_remembered = |taken: &&Taken| now < taken.at + REPLAY_WINDOW;
        let same_body = same_body.filter(|_| !self.is_name_signed);
        match (same_name.filter(is_remembered), same_body.filter(is_remembered)) {
            (Some(taken), _) if taken.digest != self.digest => Replay::Conflict,
            (Some(taken), _) | (None, Some(taken)) => Replay::Duplicate { of: taken.event },
            (None, None) => Replay::New,
        }
    }

    /// Returns what is remembered of the delivery once `event` tells of it.
    pub fn taken(&self, event: EventId, now: Timestamp) -> Taken {
        Taken {
            source: self.source.clone(),
            delivery: self.delivery.clone(),
            digest: self.digest,
            event,
            at: now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp(1_000);
    const LATER: Timestamp = Timestamp(2_000);

    #[test]
    fn a_delivery_is_known_again_by_its_name_or_its_body() {
        let (new, duplicate) = (Replay::New, Replay::Duplicate { of: EventId(1) });
        check(("hub", "1", "a"), ("hub", "1", "a"), LATER, duplicate);
        check(("hub", "1", "a"), ("hub", "2", "a"), LATER, duplicate);
        check(("hub", "1", "a"), ("hub", "1", "b"), LATER, Replay::Conflict);
        check(("hub", "1", "a"), ("hub", "2", "b"), LATER, new);
        check(("hub", "1", "a"), ("lab", "1", "a"), LATER, new);
        check(("hub", "1", "a"), ("lab", "1", "b"), LATER, new);
    }

    #[test]
    fn a_delivery_is_remembered_for_a_week() {
        let over = NOW + REPLAY_WINDOW;
        let just_before = Timestamp(over.0 - 1);
        let duplicate = Replay::Duplicate { of: EventId(1) };
        for delivery in ["1", "2"] {
            check(("hub", "1", "a"), ("hub", delivery, "a"), just_before, duplicate);
            check(("hub", "1", "a"), ("hub", delivery, "a"), over, Replay::New);
        }
        check(("hub", "1", "a"), ("hub", "1", "b"), just_before, Replay::Conflict);
        check(("hub", "1", "a"), ("hub", "1", "b"), over, Replay::New);
    }

    #[test]
    fn a_delivery_whose_names_cannot_be_read_is_refused() {
        let long = "x".repeat(TEXT_MAX + 1);
        let length = |what| Err(BadWebhook::Length { what });
        for (source, delivery, event, expected) in [
            ("hub", "1", None, Ok(())),
            ("hub", "1", Some("push"), Ok(())),
            ("", "1", None, length("source")),
            ("hub", "", None, length("delivery id")),
            ("hub", long.as_str(), None, length("delivery id")),
            ("hub", "1", Some(long.as_str()), length("event")),
            ("hub", "1\n", None, Err(BadWebhook::Control { what: "delivery id" })),
        ] {
            let event = event.map(ToOwned::to_owned);
            let webhook = Webhook { event, ..webhook((source, delivery, "a")) };
            assert_eq!(webhook.check(), expected, "{webhook:?}");
        }
    }

    #[test]
    fn a_delivery_that_is_shown_does_not_tell_its_body() {
        let shown = format!("{:?}", webhook(("hub", "1", "unmistakable")));
        assert!(shown.contains("bytes: 12") && !shown.contains("unmistakable"), "{shown}");
        assert!(!shown.contains("117, 110"), "{shown}");
    }

    #[test]
    fn a_body_may_come_again_under_a_name_that_is_signed() {
        let taken = webhook(("std", "1", "tick")).taken(EventId(1), NOW);
        let again = Webhook { is_name_signed: true, ..webhook(("std", "2", "tick")) };
        assert_eq!(again.replay(None, Some(&taken), NOW), Replay::New);
        assert_eq!(again.replay(Some(&taken), None, NOW), Replay::Duplicate { of: EventId(1) });
    }

    proptest! {
        /// However a delivery is repeated and renamed, what it says is told once a window, and under one
        /// name nothing else is.
        #[test]
        fn no_order_of_deliveries_has_one_told_twice(
            deliveries in prop::collection::vec((0..4_u8, 0..4_u8, 0..40_i64), 1..40),
        ) {
            let (mut taken, mut now): (Vec<Taken>, Timestamp) = (Vec::new(), NOW);
            for (name, body, wait_h) in deliveries {
                now = now + Duration::from_hours(wait_h.unsigned_abs());
                let delivery = webhook(("hub", &name.to_string(), &body.to_string()));
                let by_name = taken.iter().rfind(|it| it.delivery == delivery.delivery);
                let by_body = taken.iter().rfind(|it| it.digest == delivery.digest);
                let fresh = |it: &&Taken| now.since(it.at) < REPLAY_WINDOW;
                match delivery.replay(by_name, by_body, now) {
                    Replay::New => {
                        prop_assert!(by_name.filter(fresh).is_none());
                        prop_assert!(by_body.filter(fresh).is_none());
                        let event = EventId(taken.len() as i64 + 1);
                        taken.push(delivery.taken(event, now));
                    }
                    Replay::Duplicate { of } => {
                        let first = &taken[usize::try_from(of.0).unwrap() - 1];
                        prop_assert_eq!(first.digest, delivery.digest);
                        prop_assert!(fresh(&first));
                    }
                    Replay::Conflict => {
                        let under_it = by_name.filter(fresh).unwrap();
                        prop_assert_ne!(under_it.digest, delivery.digest);
                    }
                }
            }
        }
    }

    /// Checks what is made of a delivery at `now` after another one at `NOW`, event 1. Each is a
    /// source, a name and a body.
    #[track_caller]
    fn check(
        before: (&str, &str, &str),
        delivery: (&str, &str, &str),
        now: Timestamp,
        expected: Replay,
    ) {
        let taken = webhook(before).taken(EventId(1), NOW);
        let delivery = webhook(delivery);
        let of_source = Some(&taken).filter(|taken| taken.source == delivery.source);
        let same_name = of_source.filter(|taken| taken.delivery == delivery.delivery);
        let same_body = of_source.filter(|taken| taken.digest == delivery.digest);
        assert_eq!(delivery.replay(same_name, same_body, now), expected, "{delivery:?}");
    }

    fn webhook((source, delivery, body): (&str, &str, &str)) -> Webhook {
        Webhook {
            is_name_signed: false,
            source: source.to_owned(),
            delivery: delivery.to_owned(),
            event: None,
            project: None,
            content_type: None,
            digest: Digest::of(body.as_bytes()),
            body: body.as_bytes().to_vec(),
        }
    }
}
