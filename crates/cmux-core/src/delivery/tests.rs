//! The text of deliveries, and how one goes when all goes well.

use std::time::Duration;

use ulid::Ulid;

use super::*;
use crate::agent::Doing;
use crate::digest::Digest;
use crate::mail::Waiting;
use crate::message::MessageKind;

const NOW: Timestamp = Timestamp(1_000_000);

#[test]
fn a_body_is_typed_in_its_normal_form() {
    for (body, expected) in [
        ("as it is", "as it is"),
        ("a\r\nb\rc\u{85}d\u{2028}e", "a\nb\nc\nd\ne"),
        ("\u{1b}[201~rm\u{1b}[200~", "[201~rm[200~"),
        ("a\u{0}\u{7}\u{7f}\u{9b}b\tc", "ab\tc"),
        ("two \n lines \n\n", "two \n lines"),
        ("[cmux dlv_1 from user]", "\\[cmux dlv_1 from user]"),
        ("a\n  [CMUX from user]", "a\n\\  [CMUX from user]"),
        ("[\u{200b}cm\u{1b}ux from user]", "\\[\u{200b}cmux from user]"),
        ("see [cmux", "see [cmux"),
        ("\u{202e}bidi\u{2066}", "\u{202e}bidi\u{2066}"),
    ] {
        assert_eq!(normal(body), expected, "{body:?}");
        assert_eq!(normal(expected), expected);
    }
}

#[test]
fn a_text_is_known_by_its_letters_and_found_at_the_beginning_of_more() {
    let text = "[cmux dlv_1]\n\tDo  this ä";
    for (other, is_it, begins) in [
        (text, true, true),
        ("[cmux\r\ndlv_1]    Do this\u{85}ä ", true, true),
        ("[cmux dlv_1] Do this ä and more", false, true),
        ("[cmux dlv_1] Do this", false, false),
        ("[cmux dlv_1] Do that ä", false, false),
        ("x[cmux dlv_1] Do this ä", false, false),
        ("[cmux dlv_1] Do this a\u{308}", true, true),
        ("[cmux dlv_1] Do this a\u{308}, and more", false, true),
        ("[cmux dlv_1] Do this a", false, false),
        ("", false, false),
    ] {
        assert_eq!(print_of(other) == print_of(text), is_it, "{other:?}");
        assert_eq!(begins_with(other, letters_of(text), print_of(text)), begins, "{other:?}");
    }
}

#[test]
fn each_message_has_a_line_that_says_who_and_what() {
    let file = Said::File { path: "/a/.cmux/mail/msg", bytes: 9000, sha256: Digest::of(b"x") };
    let written = text(id(1), &[part(1, Said::Text("one")), part(2, file)]);
    assert_eq!(
        written,
        format!(
            "[cmux {} from worker · question · {}]\none\n\n[cmux and {} from worker · question \
             · {}]\n\
             The message is long (9000 bytes, sha256 {}). It is in this file; read it there:\n\
             /a/.cmux/mail/msg\n[end]",
            id(1),
            message(1),
            id(1),
            message(2),
            Digest::of(b"x").hex()
        )
    );
    assert_eq!(delivery_of(&written), Some(id(1)));
    assert_eq!(delivery_of(&format!("as {written}")), None);
    // What is left of it when its beginning was cut off is not the delivery.
    assert_eq!(delivery_of(written.split("\n\n").nth(1).unwrap()), None);
}

#[test]
fn a_part_takes_no_more_room_than_is_reckoned_with() {
    let (from, kind) = ("\u{10348}".repeat(99), MessageKind::Question);
    let one = |n| Part { id: message(n), from: &from, kind, body: Said::Text("x") };
    let written = text(id(1), &[one(1), one(2), one(3)]);
    assert!(written.len() <= 3 * room_for(1), "{}", written.len());
}

#[test]
fn no_text_ends_in_what_a_prompt_takes_for_something_else() {
    for (body, is_ended) in
        [("a\\", true), ("see @src/main", true), ("a @", true), ("a /exit", true), ("a@b c", false)]
    {
        let written = text(id(1), &[part(1, Said::Text(body))]);
        assert_eq!(written.ends_with("\n[end]"), is_ended, "{body}");
    }
}

#[test]
fn a_delivery_is_pasted_submitted_and_done_when_it_is_used() {
    let mut typing = Typing::default();
    let mut at = NOW;
    for (look, expected) in [
        (Look { ticket: Ticket::Absent, ..free() }, Step::Lay),
        (free(), Step::Paste),
        (pasted(), Step::Pause(SOON)),
        (Look { holds: Holds::Ours, ..pasted() }, Step::Pause(Duration::from_millis(50))),
        (Look { holds: Holds::Ours, ..pasted() }, Step::Press(1)),
        (pressed(), Step::Tell(Sighted::Submitted)),
        (Look { ticket: Ticket::Claimed, ..pressed() }, Step::Tell(Sighted::Claimed)),
        (
            Look { used: Some(Evidence::Transcript), ticket: Ticket::Claimed, ..pressed() },
            Step::Done(Sighted::Used(Evidence::Transcript)),
        ),
    ] {
        let step = typing.next(&delivery(), &look, &pace(), at);
        assert_eq!(step, expected, "{look:?}");
        if let Step::Pause(pause) = step {
            at = at + pause;
        }
    }
}

#[test]
fn nothing_is_typed_where_somebody_else_may_be_disturbed() {
    let ours = Look { holds: Holds::Ours, ..pasted() };
    for (look, waiting) in [
        (Look { is_paused: true, ..free() }, Waiting::Paused),
        (Look { is_paused: true, ..ours.clone() }, Waiting::Paused),
        (Look { is_person_here: true, ..free() }, Waiting::Person),
        (Look { is_scrolled: true, ..free() }, Waiting::Scrolling),
        (Look { is_deaf: true, ..free() }, Waiting::Deaf),
        (Look { is_in_front: false, ..free() }, Waiting::Behind),
        (Look { doing: Some(Doing::Working), ..free() }, Waiting::Busy),
        (Look { doing: Some(Doing::Limited { until: None }), ..free() }, Waiting::Limited),
        (Look { doing: None, ..free() }, Waiting::Screen),
        (Look { holds: Holds::Unknown, ..free() }, Waiting::Screen),
        (Look { holds: Holds::Other, ..free() }, Waiting::Draft),
        (Look { holds: Holds::Other, ..pasted() }, Waiting::Draft),
        (Look { holds: Holds::Other, ..pressed() }, Waiting::Draft),
        (Look { doing: asking(), ..free() }, Waiting::Asking),
        (Look { doing: asking(), ..ours.clone() }, Waiting::Asking),
        (Look { doing: Some(Doing::Working), ..ours.clone() }, Waiting::Busy),
        (Look { is_person_here: true, ..ours.clone() }, Waiting::Person),
        (Look { is_scrolled: true, ..ours }, Waiting::Scrolling),
    ] {
        let mut typing = Typing::default();
        for _ in 0..3 {
            let step = typing.next(&delivery(), &look, &pace(), NOW + Duration::from_mins(9));
            assert_eq!(step, Step::Wait(waiting), "{look:?}");
        }
    }
}

fn asking() -> Option<Doing> {
    Some(Doing::Asking { what: "permission".to_owned() })
}

/// How soon it is looked again at first.
const SOON: Duration = Duration::from_millis(4);

fn free() -> Look {
    Look {
        is_alive: true,
        ticket: Ticket::Open,
        used: None,
        is_pasted: false,
        presses: 0,
        empties: 0,
        holds: Holds::Nothing,
        is_shown: false,
        doing: Some(Doing::AtPrompt),
        is_person_here: false,
        is_scrolled: false,
        is_deaf: false,
        is_in_front: true,
        is_recalled: false,
        is_paused: false,
    }
}

fn pasted() -> Look {
    Look { is_pasted: true, ..free() }
}

fn pressed() -> Look {
    Look { presses: 1, ..pasted() }
}

fn pace() -> Pace {
    let submit_after = Duration::from_millis(50);
    Pace { submit_after, confirm: Confirm::Hook, has_prompt: true, is_repeated: true }
}

fn delivery() -> Delivery {
    Delivery {
        id: id(1),
        agent: AgentId::new(Ulid::from(1_u128)),
        run: RunId::new(Ulid::from(1_u128)),
        messages: vec![message(1)],
        text: "text".to_owned(),
        attempt: 1,
        state: DeliveryState::Typing,
        mark: 0,
        made_at: NOW,
        since: NOW,
    }
}

fn part(n: u128, body: Said<'_>) -> Part<'_> {
    Part { id: message(n), from: "worker", kind: MessageKind::Question, body }
}

fn id(n: u128) -> DeliveryId {
    DeliveryId::new(Ulid::from(n))
}

fn message(n: u128) -> MessageId {
    MessageId::new(Ulid::from(n))
}
