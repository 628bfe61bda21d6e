//! Messages in words. What is in them was written by others: nothing of it may play tricks on a terminal.

use std::io::{self, Read};

use cmux_core::mail::Waiting;
use cmux_core::message::BadMessage;
use cmux_wire::message::{BODY_MAX, Message, MessageKind, MessageState};

use crate::fail::Fail;
use crate::say::clean;

/// How wide a tab is shown.
const TAB: &str = "    ";

/// Returns a message in a line: who it is for, how far it is, and why not further.
pub(crate) fn line(message: &Message) -> String {
    let Message { id, to, .. } = message;
    clean(&format!("{id} to {to}: {}", state(message)))
}

/// Returns how far a message is, and why not further.
pub(crate) fn state(message: &Message) -> String {
    match (waits_for(message), &message.reason) {
        (Some(waits), _) => format!("{} ({waits})", message.state),
        (None, Some(reason)) => format!("{} ({reason})", message.state),
        (None, None) => message.state.to_string(),
    }
}

/// Returns what a message waits for in words, with what can be done about it, if it waits.
pub(crate) fn waits_for(message: &Message) -> Option<String> {
    let name = message.waiting_for.as_deref()?;
    let known = Waiting::ALL.into_iter().find(|it| it.name() == name);
    // A later daemon may know of more.
    Some(known.map_or_else(|| name.to_owned(), |it| it.says().to_owned()))
}

/// Returns whether it is settled what became of a message.
pub(crate) fn is_over(state: MessageState) -> bool {
    match state {
        MessageState::Delivered
        | MessageState::Failed
        | MessageState::Cancelled
        | MessageState::Expired => true,
        MessageState::Queued
        | MessageState::Typing
        | MessageState::Submitted
        | MessageState::Claimed
        | MessageState::InDoubt => false,
    }
}

/// Returns what somebody wrote, with its lines and nothing else that a terminal would act on.
pub(crate) fn tamed(text: &str) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| clean(&line.replace('\t', TAB)).trim_end().to_owned()).collect();
    lines.join("\n").trim_end().to_owned()
}

/// Returns what is to be said: the words that were given, or for `-` what is on standard input.
pub(crate) fn text(words: &[String]) -> Result<String, Fail> {
    match words {
        [word] if word == "-" => read(io::stdin().lock()),
        words => short(words.join(" ")),
    }
}

fn read(place: impl Read) -> Result<String, Fail> {
    let mut bytes = Vec::new();
    let read = place.take(BODY_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| Fail::failed(format!("cannot read standard input: {error}")))?;
    if bytes.len() > BODY_MAX {
        return Err(Fail::failed(format!(
            "what is on standard input is longer than the {} MiB that a message may have",
            BODY_MAX >> 20
        ))
        .hint("put it into a file, and send its name"));
    }
    let text = String::from_utf8(bytes);
    short(text.map_err(|_| {
        Fail::failed("what is on standard input is not UTF-8, and a message is text")
            .hint("put it into a file, and send its name")
    })?)
}

/// Refuses what cannot be sent before anybody is asked.
fn short(text: String) -> Result<String, Fail> {
    let bytes = text.len();
    match text {
        text if text.trim().is_empty() => Err(Fail::failed(BadMessage::Empty.to_string())
            .hint("say it after the name, or `-` to read it from standard input")),
        _ if bytes > BODY_MAX => Err(Fail::failed(BadMessage::TooLong(bytes as u64).to_string())),
        text => Ok(text),
    }
}

/// Returns the kind that `word` means.
pub(crate) fn kind(word: &str) -> Result<MessageKind, String> {
    let found = MessageKind::ALL.into_iter().find(|it| it.to_string() == word);
    found.ok_or_else(|| "a message is a task, status, response, question, error or user".to_owned())
}

#[cfg(test)]
pub(crate) mod tests {
    use cmux_wire::time::Time;

    use super::*;

    #[test]
    fn a_line_tells_how_far_a_message_is_and_why_not_further() {
        let id = message().id;
        let say = |state, waiting_for: Option<&str>, reason: Option<&str>| {
            let (waiting_for, reason) =
                (waiting_for.map(ToOwned::to_owned), reason.map(ToOwned::to_owned));
            let told = line(&Message { state, waiting_for, reason, ..message() });
            told.strip_prefix(&format!("{id} to worker: ")).unwrap().to_owned()
        };
        for (state, waiting_for, reason, expected) in [
            (
                MessageState::Queued,
                Some("busy"),
                None,
                "queued (its reader is busy: `--interrupt` would stop it)",
            ),
            (MessageState::Queued, Some("moonrise"), None, "queued (moonrise)"),
            (MessageState::Delivered, None, None, "delivered"),
            (MessageState::Failed, None, Some("it is gone"), "failed (it is gone)"),
            (MessageState::Failed, None, Some("\u{1b}[2J"), "failed (\u{fffd}[2J)"),
        ] {
            assert_eq!(say(state, waiting_for, reason), expected);
        }
    }

    #[test]
    fn what_others_wrote_keeps_its_lines_and_loses_its_tricks() {
        for (written, expected) in [
            ("a\n\n  b\n\n", "a\n\n  b"),
            ("a\tb", "a    b"),
            ("a\r\nb", "a\nb"),
            ("a\rb", "a\u{fffd}b"),
            ("\u{1b}]52;c;x\u{7}\u{1b}[2J", "\u{fffd}]52;c;x\u{fffd}\u{fffd}[2J"),
            ("\u{202e}evil", "\u{fffd}evil"),
            ("größer 日本", "größer 日本"),
        ] {
            assert_eq!(tamed(written), expected, "{written:?}");
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused_before_anybody_is_asked() {
        assert_eq!(read(&b"a\nb\n"[..]).unwrap(), "a\nb\n");
        let long = vec![b'x'; BODY_MAX + 1];
        assert_eq!(read(&long[1..]).unwrap().len(), BODY_MAX);
        for (bytes, told) in [
            (&b""[..], "there is nothing in the message"),
            (b" \n\t", "there is nothing in the message"),
            (b"\xff\xfe", "is not UTF-8"),
            (&long, "longer than the 10 MiB"),
        ] {
            let refused = read(bytes).unwrap_err();
            assert!(refused.what.contains(told), "{refused:?}");
        }
        let words = ["say", "-x", "--", "it"].map(ToOwned::to_owned);
        assert_eq!(text(&words).unwrap(), "say -x -- it");
        assert!(text(&[]).is_err());
    }

    /// Returns a message that waits.
    pub(crate) fn message() -> Message {
        let id = "msg_01JD0000000000000000000000".to_owned();
        Message {
            thread: id.clone(),
            id,
            project: "shop".to_owned(),
            from: "user".to_owned(),
            to: "worker".to_owned(),
            kind: MessageKind::Task,
            body: "count to ten".to_owned(),
            body_bytes: 12,
            body_cut: false,
            reply_to: None,
            task: None,
            data: None,
            state: MessageState::Queued,
            waiting_for: None,
            attempts: 0,
            reason: None,
            evidence: None,
            created_at: Time::from_millis(0),
            expires_at: None,
            delivered_at: None,
            read_at: None,
        }
    }
}
