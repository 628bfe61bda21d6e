//! The gate before the model: what becomes of a prompt in which there is something that cmux typed.
//!
//! What cmux typed goes on once, by itself, and only from the CLI that it was typed to. All else passes
//! untouched: a person may well quote an old message.

use std::io;

use cmux_core::delivery::{HEAD, begins_with, delivery_of, letters_of, print_of};
use cmux_core::digest::Digest;
use cmux_core::hook::ClaimOutcome;
use cmux_core::id::{DeliveryId, RunId};

use super::{Claim, ClaimError, Claims, TicketText, Whose};
use crate::process::Process;

/// How many headers in one prompt are looked at.
const HEADERS_MAX: usize = 64;

/// A prompt on its way to the model, as its hook was told of it.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a> {
    /// What it says, or all that the hook was told, if that cannot be understood.
    pub text: &'a str,
    pub is_understood: bool,
    pub run: RunId,
    /// What the call of the hook is known by.
    pub event: Digest,
    /// The hook's process.
    pub process: Process,
}

/// What becomes of a prompt that has to do with a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub delivery: DeliveryId,
    pub outcome: ClaimOutcome,
    /// Why it must not go on, if it must not.
    pub block: Option<String>,
}

impl Verdict {
    fn passed(delivery: DeliveryId, outcome: ClaimOutcome) -> Verdict {
        Verdict { delivery, outcome, block: None }
    }

    fn blocked(delivery: DeliveryId, why: String) -> Verdict {
        Verdict { delivery, outcome: ClaimOutcome::Blocked, block: Some(why) }
    }

    /// Returns that it is a second copy of what was `taken` before.
    fn second(id: DeliveryId, taken: &str) -> Verdict {
        let why =
            format!("cmux: {id} was {taken} before, and this is a second copy of it. {EMPTY}");
        Verdict { delivery: id, outcome: ClaimOutcome::Second, block: Some(why) }
    }
}

impl Claims {
    /// Returns what becomes of a prompt, and claims what cmux typed if that is it. Nothing, if it has to do with
    /// no delivery.
    pub fn let_through(&self, prompt: &Prompt<'_>) -> Option<Verdict> {
        let own = delivery_of(prompt.text).filter(|_| prompt.is_understood);
        if let Some(verdict) = own.and_then(|delivery| self.claim_prompt(delivery, prompt)) {
            return Some(verdict);
        }
        headers(prompt.text).find_map(|(delivery, rest)| self.find_in(delivery, rest, prompt))
    }

    /// Claims the delivery whose header `prompt` begins with, if it is that and nothing else.
    fn claim_prompt(&self, delivery: DeliveryId, prompt: &Prompt<'_>) -> Option<Verdict> {
        let seen = match self.look(delivery) {
            Ok(seen) => seen?,
            Err(error) => return Some(unseen(delivery, &error)),
        };
        let print = print_of(prompt.text);
        let blocks = match &seen.text {
            Some(text) if !is_for(text, prompt) => return None,
            Some(text) if text.print != print => {
                // Something of a person's may be in the middle of it.
                let is_more = letters_of(prompt.text) > text.letters;
                return (is_more && text.blocks).then(|| merged(delivery, &seen.whose));
            }
            Some(text) => text.blocks,
            None => true,
        };
        let (id, passes) = (delivery, !blocks);
        match self.claim(delivery, prompt.run, print, prompt.event) {
            Ok(Claim::Claimed) => Some(Verdict::passed(id, ClaimOutcome::Claimed)),
            Ok(Claim::Again) => Some(Verdict::passed(id, ClaimOutcome::Again)),
            Err(ClaimError::NotOurs) => None,
            Err(ClaimError::File(_)) if passes => None,
            Err(ClaimError::AlreadyClaimed | ClaimError::Void | ClaimError::Used) if passes => {
                Some(Verdict::passed(id, ClaimOutcome::Again))
            }
            Err(ClaimError::AlreadyClaimed) => Some(Verdict::second(id, "submitted")),
            Err(ClaimError::Used) => Some(Verdict::second(id, "read")),
            Err(ClaimError::Void) => Some(Verdict::blocked(
                id,
                format!("cmux: {id} was taken back before it was submitted. {EMPTY}"),
            )),
            Err(ClaimError::File(error)) => Some(unseen(id, &error)),
        }
    }

    /// Returns what becomes of a prompt in which the header of `delivery` stands, and this from there on.
    fn find_in(&self, delivery: DeliveryId, rest: &str, prompt: &Prompt<'_>) -> Option<Verdict> {
        let seen = match self.look(delivery) {
            Ok(seen) => seen?,
            // It is there, and cannot be told from what must not go on.
            Err(error) => return Some(unseen(delivery, &error)),
        };
        let text = seen.text.as_ref().filter(|text| is_for(text, prompt) && text.blocks)?;
        if !prompt.is_understood {
            let why = "what its hook was told could not be read whole. Submit it again";
            return Some(Verdict::blocked(
                delivery,
                format!("cmux: {delivery} is held back: {why}"),
            ));
        }
        begins_with(rest, text.letters, text.print).then(|| merged(delivery, &seen.whose))
    }
}

const EMPTY: &str = "Empty the prompt to go on";

/// Returns whether a ticket is for the run and the CLI that a prompt comes from.
fn is_for(text: &TicketText, prompt: &Prompt<'_>) -> bool {
    text.run == prompt.run && prompt.process.is_below(&text.process)
}

/// Returns that something of a person's is in one prompt with what cmux typed. What was dealt with before does not
/// come again; somebody may also mean to quote it.
fn merged(delivery: DeliveryId, whose: &Whose) -> Verdict {
    let why = match whose {
        Whose::Open => format!(
            "cmux: there is more in this prompt than the message that cmux typed ({delivery}), and they would \
             be read as one. Cut out what is yours and submit the rest, or empty the prompt: the message comes \
             again"
        ),
        Whose::Claimed { .. } | Whose::Void | Whose::Used => format!(
            "cmux: a message that was dealt with before ({delivery}) stands in this prompt, and would be read \
             twice. Cut it out and submit the rest; to quote it, leave out its first line"
        ),
    };
    Verdict::blocked(delivery, why)
}

fn unseen(delivery: DeliveryId, error: &io::Error) -> Verdict {
    let why = format!(
        "cmux: {delivery} could not be claimed, and without that it might be read twice: {error}. When that \
         is mended, submit it again"
    );
    Verdict::blocked(delivery, why)
}

/// Returns each header of a delivery in `text`, with the text from there on.
fn headers(text: &str) -> impl Iterator<Item = (DeliveryId, &str)> {
    let at = text.match_indices(HEAD).map(|(at, _)| &text[at..]);
    at.filter_map(|rest| Some((delivery_of(rest)?, rest))).take(HEADERS_MAX)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::{Child, Command, Stdio};

    use cmux_core::delivery::{Delivery, DeliveryState};
    use cmux_core::time::Timestamp;

    use super::*;

    const TEXT: &str =
        "[cmux dlv_00000000000000000000000001 from a · task · msg_1]\nDo this:\n\tthat";

    #[test]
    fn what_cmux_typed_goes_on_alone_and_what_a_person_says_goes_on_untouched() {
        let passes = Some(ClaimOutcome::Claimed);
        let blocks = Some(ClaimOutcome::Blocked);
        for (text, expected) in [
            (TEXT.to_owned(), passes),
            (TEXT.replace('\n', "\r\n").replace('\t', "    "), passes),
            (format!("\n  {TEXT}  \n"), passes),
            (format!("{TEXT} and more"), blocks),
            (format!("x{TEXT}"), blocks),
            (format!("say: {TEXT} and more"), blocks),
            (TEXT.replace("this", "this or"), blocks),
            (format!("{TEXT}\n{TEXT}"), blocks),
            (format!("{}\n{TEXT}", TEXT.replace("0001", "0009")), blocks),
            (TEXT[..TEXT.len() - 4].to_owned(), None),
            (TEXT.replace("that", "what"), None),
            (format!("What is {}?", &TEXT[..60]), None),
            (TEXT.replace("0001", "0009"), None),
            ("[cmux dlv_x from a]".to_owned(), None),
            ("hello".to_owned(), None),
            (String::new(), None),
        ] {
            let yard = Yard::new(true);
            let verdict = yard.let_through(&text);
            assert_eq!(verdict.as_ref().map(|it| it.outcome), expected, "{text}: {verdict:?}");
            let is_told = verdict.is_some_and(|it| it.block.is_some());
            assert_eq!(is_told, expected == blocks, "{text}");
        }
    }

    #[test]
    fn a_second_copy_goes_no_further_by_whatever_the_first_was_taken() {
        let (second, blocked) = (ClaimOutcome::Second, ClaimOutcome::Blocked);
        for (take, why, outcome) in [
            (Take::Claim, "was submitted before", second),
            (Take::Void, "was taken back", blocked),
            (Take::Settle, "was read before", second),
            (Take::Damage, "could not be claimed", blocked),
        ] {
            let yard = Yard::new(true);
            yard.take(take);
            let verdict = yard.let_through(TEXT).unwrap();
            assert_eq!(verdict.outcome, outcome, "{why}");
            let told = verdict.block.unwrap();
            assert!(told.contains(why), "{told}");
            // Nor with something of a person's.
            let merged = yard.let_through(&format!("{TEXT} and more")).unwrap();
            let told = merged.block.unwrap();
            let is_damaged = matches!(take, Take::Damage);
            assert_eq!(
                told.contains("to quote it, leave out its first line"),
                !is_damaged,
                "{told}"
            );
            assert!(!told.contains("comes again"), "{told}");
            // That is how a person quotes it.
            let (_, quoted) = TEXT.split_once('\n').unwrap();
            assert_eq!(yard.let_through(&format!("You said: {quoted}")), None, "{why}");
        }
    }

    #[test]
    fn a_cli_that_cannot_be_held_back_is_not() {
        for take in [Take::Claim, Take::Void, Take::Settle] {
            let yard = Yard::new(false);
            yard.take(take);
            let passed = Verdict::passed(id(), ClaimOutcome::Again);
            assert_eq!(yard.let_through(TEXT), Some(passed));
            assert_eq!(yard.let_through(&format!("{TEXT} and more")), None);
        }
    }

    #[test]
    fn another_run_and_another_cli_claim_nothing() {
        let yard = Yard::new(true);
        let other = "run_00000000000000000000000002".parse().unwrap();
        assert_eq!(yard.claims.let_through(&Prompt { run: other, ..yard.prompt(TEXT) }), None);
        let mut cat = cat();
        let text = TicketText { process: Process::find(cat.id()).unwrap(), ..yard.text.clone() };
        yard.claims.lay(&text).unwrap();
        assert_eq!(yard.let_through(TEXT), None);
        // What is below that CLI does.
        let below = Prompt { process: text.process, ..yard.prompt(TEXT) };
        let claimed = Verdict::passed(id(), ClaimOutcome::Claimed);
        assert_eq!(yard.claims.let_through(&below), Some(claimed));
        cat.kill().unwrap();
        cat.wait().unwrap();
    }

    #[test]
    fn what_cannot_be_understood_is_held_back_only_if_it_may_be_ours() {
        let yard = Yard::new(true);
        for (text, expected) in [
            (r#"{"prompt":"[cmux dlv_00000000000000000000000001 from a"#, true),
            (r#"{"prompt":"[cmux dlv_00000000000000000000000009 from a"#, false),
            ("nonsense", false),
        ] {
            let prompt = Prompt { is_understood: false, ..yard.prompt(text) };
            let verdict = yard.claims.let_through(&prompt);
            assert_eq!(verdict.is_some_and(|it| it.block.is_some()), expected, "{text}");
        }
    }

    /// How a ticket was taken.
    #[derive(Clone, Copy)]
    enum Take {
        Claim,
        Void,
        Settle,
        Damage,
    }

    /// A ticket that lies open.
    struct Yard {
        folder: tempfile::TempDir,
        claims: Claims,
        text: TicketText,
    }

    impl Yard {
        fn new(blocks: bool) -> Yard {
            let folder = tempfile::tempdir().unwrap();
            let claims = Claims::at(folder.path().join("claims"));
            let text = TicketText::of(&delivery(), Process::myself(), blocks);
            claims.lay(&text).unwrap();
            Yard { folder, claims, text }
        }

        fn take(&self, take: Take) {
            match take {
                Take::Claim => {
                    let other = Digest::of(b"other");
                    self.claims.claim(id(), self.text.run, self.text.print, other).unwrap();
                }
                Take::Void => assert!(self.claims.void(id()).unwrap()),
                Take::Settle => self.claims.settle(&delivery(), true).unwrap(),
                Take::Damage => {
                    let ticket = self.folder.path().join(format!("claims/{}.ticket", id()));
                    fs::write(ticket, "x").unwrap();
                }
            }
        }

        fn let_through(&self, text: &str) -> Option<Verdict> {
            self.claims.let_through(&self.prompt(text))
        }

        fn prompt<'a>(&self, text: &'a str) -> Prompt<'a> {
            let (run, event) = (self.text.run, Digest::of(b"event"));
            Prompt { text, is_understood: true, run, event, process: Process::myself() }
        }
    }

    fn cat() -> Child {
        Command::new("cat").stdin(Stdio::piped()).spawn().unwrap()
    }

    fn id() -> DeliveryId {
        delivery_of(TEXT).unwrap()
    }

    fn delivery() -> Delivery {
        Delivery {
            id: id(),
            agent: "agt_00000000000000000000000001".parse().unwrap(),
            run: "run_00000000000000000000000001".parse().unwrap(),
            messages: vec!["msg_00000000000000000000000001".parse().unwrap()],
            text: TEXT.to_owned(),
            attempt: 1,
            state: DeliveryState::Typing,
            mark: 0,
            made_at: Timestamp(0),
            since: Timestamp(0),
        }
    }
}
