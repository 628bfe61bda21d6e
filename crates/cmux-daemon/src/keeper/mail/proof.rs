//! What shows that a delivery was read: the agent's own record of its conversation.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use cmux_core::delivery::{Delivery, Record, Signed};
use cmux_core::id::DeliveryId;
use cmux_drivers::manifest::{Place, Template, Transcript};
use cmux_drivers::transcript::{Looked, Recent, Used, find_all, used};
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use tracing::debug;

use super::super::prepare::{SESSION_HEAD, SETTINGS_AT};
use super::super::watch::Watch;
use super::UnderWay;

/// How often a transcript is searched for that is not there yet.
const SEARCH_EVERY: Duration = Duration::from_millis(100);

/// How many looks at one transcript are taken at once.
const LOOKS_MAX: usize = 64;

/// How far the clock that deliveries are made by and that of the disk may be apart.
const CLOCKS_APART: Duration = Duration::from_mins(10);

/// Where an agent's conversation is written down.
#[derive(Clone, Debug)]
pub(in super::super) struct Whereabouts {
    transcript: Transcript,
    session: String,
    cwd: String,
    state: PathBuf,
    settings: Option<String>,
}

/// A transcript of another session, how far it was read in search of a delivery, and what it told.
#[derive(Debug)]
struct Trail {
    path: PathBuf,
    from: u64,
    told: Option<Used>,
}

/// The transcripts of other sessions that a delivery may have gone to.
#[derive(Debug, Default)]
struct Others {
    trails: Vec<Trail>,
    /// Whether there were not too many to look into all of them.
    is_all: bool,
}

/// How far a transcript was read in search of a delivery.
#[derive(Debug, Default)]
pub(in super::super) struct Proof {
    /// Which session it is of.
    session: Option<String>,
    path: Option<PathBuf>,
    searched_at: Option<Instant>,
    from: Option<u64>,
    /// Whether its delivery was made before, and may have gone to another session.
    is_inherited: bool,
    /// The transcripts of other sessions that it may have gone to.
    others: Option<Others>,
    /// What it told when it was last looked for.
    last: Option<Record>,
    /// What else was seen of it.
    pub(super) signed: Signed,
}

/// Returns the transcript of a `session` of an agent that works in `cwd` and keeps its own things in `state`, or
/// that there is none, if that can be told. It reads the disk.
pub(crate) fn transcript_of(
    transcript: &Transcript,
    session: String,
    cwd: &str,
    state: PathBuf,
) -> Option<Option<PathBuf>> {
    Whereabouts::of(transcript, session, cwd, state).search()
}

impl Whereabouts {
    pub(in super::super) fn of(
        transcript: &Transcript,
        session: String,
        cwd: &str,
        state: PathBuf,
    ) -> Whereabouts {
        let settings = fs::read_to_string(state.join(SETTINGS_AT)).ok();
        Whereabouts {
            transcript: transcript.clone(),
            session,
            cwd: cwd.to_owned(),
            state,
            settings,
        }
    }

    /// Returns the transcript, if it is there.
    fn find(&self) -> Option<PathBuf> {
        self.search().flatten()
    }

    /// Returns the transcript, or that it is not there, if that can be told.
    fn search(&self) -> Option<Option<PathBuf>> {
        let found = self.transcript.find(|place| self.known(place));
        let found =
            found.inspect_err(|error| debug!(%error, "a transcript could not be looked for"));
        Some(found.ok()?.map(|found| found.path))
    }

    /// Returns the files in which it is written down what it uses: the transcript, and those that are `also`
    /// of its shape.
    pub(in super::super) fn files(&self, also: Option<&Template>) -> Vec<PathBuf> {
        let also = also.map(|path| find_all(path, |place| self.known(place)));
        let also = also.transpose().inspect_err(|error| {
            debug!(%error, "what subagents use could not be looked for");
        });
        let also = also.ok().flatten().unwrap_or_default().into_iter().map(|found| found.path);
        self.find().into_iter().chain(also).collect()
    }

    /// Returns what fills a place in a path.
    fn known(&self, place: Place) -> Option<String> {
        match place {
            Place::Home => env::var("HOME").ok(),
            Place::State => Some(self.state.display().to_string()),
            Place::Settings => self.settings.clone(),
            Place::Session => Some(self.session.clone()),
            Place::SessionHead => Some(self.session.chars().take(SESSION_HEAD).collect()),
            Place::Cwd => Some(self.cwd.clone()),
            Place::Program
            | Place::Cmux
            | Place::Root
            | Place::Name
            | Place::Run
            | Place::Port
            | Place::Secret
            | Place::Prompt
            | Place::Role
            | Place::Pid => None,
        }
    }

    /// Returns what the transcript of one that writes no more says of `delivery`, or that of another session which
    /// was written to since it was made. Of long ones, that takes a while.
    pub(in super::super) fn has(&self, delivery: &Delivery) -> Record {
        let Some(found) = self.search() else { return Record::Untold };
        let own = match &found {
            Some(path) => look_through(&self.transcript, path, &mut 0, delivery.id),
            None => Some(Used::NotYet),
        };
        // Whoever goes on with this conversation goes on with all that was said in it.
        if own.is_some_and(is_said) {
            return Record::Read;
        }
        let Some(others) = self.others(delivery) else { return Record::Untold };
        if others.have_read() {
            return Record::Read;
        }
        let is_missing = found.is_none() && others.trails.is_empty();
        match is_missing {
            // There was one when it was typed: it is somewhere else now, and nobody has looked into it.
            true if delivery.mark > 0 => Record::Untold,
            true => Record::Missing,
            false if own.is_none() || !others.are_told() => Record::Untold,
            false => Record::Without,
        }
    }

    /// Looks for `delivery` in every other transcript that was written to since it was made: a CLI that was told to
    /// begin another conversation has what it read before in the last one's. Nothing, if they cannot be found.
    fn others(&self, delivery: &Delivery) -> Option<Others> {
        let made = u64::try_from(delivery.made_at.0).unwrap_or(0);
        let since = UNIX_EPOCH + Duration::from_millis(made);
        let since = since.checked_sub(CLOCKS_APART).unwrap_or(UNIX_EPOCH);
        let found = self.transcript.recent(|place| self.known(place), since);
        let found = found.inspect_err(|error| debug!(%error, "transcripts could not be found"));
        let trail = |path: PathBuf| {
            let mut from = 0;
            let told = look_through(&self.transcript, &path, &mut from, delivery.id);
            Trail { path, from, told }
        };
        let own = self.find();
        let Recent { found, is_all } = found.ok()?;
        let mut trails: Vec<Trail> = Vec::new();
        for path in found.into_iter().map(|found| found.path) {
            if trails.last().is_some_and(|it| it.told == Some(Used::Yes)) {
                break;
            }
            if Some(&path) != own.as_ref() {
                trails.push(trail(path));
            }
        }
        Some(Others { trails, is_all })
    }
}

impl Others {
    /// Returns whether it was read in one of them. What was only said there, nobody goes on with.
    fn have_read(&self) -> bool {
        self.trails.iter().any(|it| it.told == Some(Used::Yes))
    }

    /// Returns whether they tell all that there is to tell.
    fn are_told(&self) -> bool {
        self.is_all && self.trails.iter().all(|it| it.told.is_some())
    }
}

/// Returns whether something was said, be it that it was taken back.
fn is_said(used: Used) -> bool {
    match used {
        Used::Yes | Used::Said | Used::TakenBack => true,
        Used::NotYet | Used::Further | Used::Unknown => false,
    }
}

/// Looks into a transcript from the byte `from` on.
fn look(transcript: &Transcript, path: &Path, from: u64, delivery: DeliveryId) -> Option<Looked> {
    let looked = used(transcript.shape, path, from, delivery);
    looked.inspect_err(|error| debug!(%error, "a transcript could not be read")).ok()
}

/// Looks through all of a transcript from the byte `from` on, which is where to go on then. Returns what it tells of
/// `delivery`, if that can be told.
fn look_through(
    transcript: &Transcript,
    path: &Path,
    from: &mut u64,
    delivery: DeliveryId,
) -> Option<Used> {
    for _ in 0..LOOKS_MAX {
        let looked = look(transcript, path, *from, delivery)?;
        match looked.used {
            // It is found there again.
            Used::Yes => return Some(Used::Yes),
            Used::Said | Used::TakenBack | Used::NotYet => {
                *from = looked.next;
                return Some(looked.used);
            }
            Used::Unknown => return None,
            Used::Further => *from = looked.next,
        }
    }
    debug!("a transcript is too long to be read");
    None
}

impl Proof {
    /// Returns what is known of a delivery that was made before.
    pub(super) fn inherited() -> Proof {
        Proof { is_inherited: true, ..Proof::default() }
    }
}

impl Watch {
    /// Returns where its conversation is written down, if that is known.
    fn whereabouts(&self) -> Option<Whereabouts> {
        let transcript = self.kind.manifest.transcript.as_ref()?;
        let session = self.session.clone()?;
        Some(Whereabouts::of(transcript, session, &self.cwd, self.state.clone()))
    }

    /// Returns how long its transcript is.
    pub(super) async fn transcript_size(&self) -> u64 {
        let Some(at) = self.whereabouts() else { return 0 };
        let size = spawn_blocking(move || fs::metadata(at.find()?).ok().map(|about| about.len()));
        size.await.ok().flatten().unwrap_or(0)
    }

    /// Returns what its transcript says of a delivery.
    pub(super) async fn in_transcript(&self, way: &mut UnderWay) -> Record {
        let Some(at) = self.whereabouts() else { return Record::Untold };
        let told = look_for(at, way).await.unwrap_or(Record::Untold);
        way.proof.last = Some(told);
        told
    }
}

/// Looks for a delivery where its agent's conversation is written down. Nothing, if that cannot be told.
async fn look_for(at: Whereabouts, way: &mut UnderWay) -> Option<Record> {
    let (proof, id) = (&mut way.proof, way.delivery.id);
    let is_other = match &proof.session {
        Some(session) => *session != at.session,
        None => proof.is_inherited,
    };
    if is_other {
        // Another conversation was begun, or may have been, and what was read before is not in this one's.
        let (at, delivery) = (at.clone(), way.delivery.clone());
        let others = spawn_blocking(move || at.others(&delivery)).await;
        proof.others = Some(others.ok().flatten()?);
        (proof.path, proof.searched_at, proof.from) = (None, None, Some(0));
    }
    proof.session = Some(at.session.clone());
    if let Some(mut others) = proof.others.take() {
        let transcript = at.transcript.clone();
        let looked = spawn_blocking(move || {
            for other in &mut others.trails {
                other.told = look_through(&transcript, &other.path, &mut other.from, id);
            }
            others
        });
        let others = proof.others.insert(looked.await.ok()?);
        if others.have_read() {
            return Some(Record::Read);
        }
    }
    if proof.path.is_none() {
        if proof.searched_at.is_some_and(|it| it.elapsed() < SEARCH_EVERY) {
            return proof.last;
        }
        proof.searched_at = Some(Instant::now());
        let search = at.clone();
        proof.path = spawn_blocking(move || search.search()).await.ok().flatten()?;
    }
    let Some(path) = proof.path.clone() else { return Some(Record::Missing) };
    let from = proof.from.unwrap_or(way.delivery.mark);
    let looked = spawn_blocking(move || look(&at.transcript, &path, from, id)).await;
    let looked = looked.ok().flatten()?;
    match looked.used {
        Used::Yes => Some(Record::Read),
        // What was said is looked at each time, and may be taken back.
        Used::Said => {
            proof.from = Some(looked.next);
            Some(Record::Said)
        }
        // What is left is looked at the next time.
        Used::NotYet | Used::Further | Used::TakenBack => {
            proof.from = Some(looked.next);
            let is_told = proof.others.as_ref().is_none_or(Others::are_told);
            is_told.then_some(Record::Without)
        }
        Used::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use cmux_core::delivery::DeliveryState;
    use cmux_core::time::Timestamp;
    use cmux_drivers::manifest::{Template, TranscriptShape};

    use super::*;

    const READ: &str = r#"{"type":"user","message":{"role":"user","content":"[cmux dlv_00000000000000000000000001 from a]\nhi"}}"#;

    #[test]
    fn what_was_read_is_found_in_whichever_session_it_went_to() {
        for (files, expected) in [
            (vec![], Record::Missing),
            (vec![("now", "{}")], Record::Without),
            (vec![("now", READ)], Record::Read),
            (vec![("before", READ)], Record::Read),
            (vec![("before", READ), ("between", "{}"), ("now", "{}")], Record::Read),
        ] {
            let state = tempfile::tempdir().unwrap();
            for (session, line) in &files {
                let path = state.path().join(format!("{session}.jsonl"));
                fs::write(path, format!("{line}\n")).unwrap();
            }
            let path = Template::read("{state}/{session}.jsonl").unwrap();
            let transcript = Transcript { shape: TranscriptShape::Demo, path };
            let folder = state.path().to_owned();
            let at = Whereabouts::of(&transcript, "now".to_owned(), "/a", folder);
            assert_eq!(at.has(&delivery()), expected, "{files:?}");
        }
    }

    /// Claude Code goes on with what was only said, too, but with no conversation that it has left.
    #[test]
    fn what_was_said_and_not_answered_is_read_in_the_conversation_that_is_gone_on_with() {
        let ours = READ.replace('\n', "");
        let another = r#"{"type":"user","message":{"role":"user","content":"another"}}"#;
        let answer = r#"{"type":"assistant","message":{"role":"assistant","content":[]}}"#;
        for (session, lines, expected) in [
            ("now", vec![&*ours], Record::Read),
            ("now", vec![&*ours, another, answer], Record::Read),
            ("before", vec![&*ours], Record::Without),
            ("before", vec![&*ours, another, answer], Record::Without),
            ("before", vec![&*ours, answer], Record::Read),
        ] {
            let state = tempfile::tempdir().unwrap();
            fs::write(state.path().join("now.jsonl"), "{}\n").unwrap();
            let written = lines.join("\n") + "\n";
            fs::write(state.path().join(format!("{session}.jsonl")), written).unwrap();
            let path = Template::read("{state}/{session}.jsonl").unwrap();
            let transcript = Transcript { shape: TranscriptShape::Claude, path };
            let folder = state.path().to_owned();
            let at = Whereabouts::of(&transcript, "now".to_owned(), "/a", folder);
            assert_eq!(at.has(&delivery()), expected, "{session}: {lines:?}");
        }
    }

    #[test]
    fn a_transcript_that_was_there_and_is_not_tells_nothing() {
        let state = tempfile::tempdir().unwrap();
        let path = Template::read("{state}/{session}.jsonl").unwrap();
        let transcript = Transcript { shape: TranscriptShape::Demo, path };
        let at = Whereabouts::of(&transcript, "now".to_owned(), "/a", state.path().to_owned());
        let marked = Delivery { mark: 7, ..delivery() };
        assert_eq!(at.has(&marked), Record::Untold);
        // After `/clear` there is none yet of the session, and that of the one before tells.
        fs::write(state.path().join("before.jsonl"), "{}\n").unwrap();
        assert_eq!(at.has(&marked), Record::Without);
    }

    #[test]
    fn a_delivery_is_found_at_the_end_of_a_long_transcript() {
        let folder = tempfile::tempdir().unwrap();
        let path = Template::read("{state}/{session}.jsonl").unwrap();
        let transcript = Transcript { shape: TranscriptShape::Demo, path };
        let at = Whereabouts::of(&transcript, "s".to_owned(), "/", folder.path().to_owned());
        let delivery = delivery();
        let id = delivery.id;
        assert_eq!(at.has(&delivery), Record::Missing);
        let file = fs::File::create(folder.path().join("s.jsonl")).unwrap();
        // A hole in a file takes no room.
        file.set_len(100 << 20).unwrap();
        assert_eq!(at.has(&delivery), Record::Without);
        let mut file =
            fs::File::options().append(true).open(folder.path().join("s.jsonl")).unwrap();
        let prompt = format!("[cmux {id} from a · task · msg_1]\\nhello");
        let record =
            format!(r#"{{"type":"user","message":{{"role":"user","content":"{prompt}"}}}}"#);
        writeln!(file, "\n{record}").unwrap();
        assert_eq!(at.has(&delivery), Record::Read);
    }

    fn delivery() -> Delivery {
        Delivery {
            id: "dlv_00000000000000000000000001".parse().unwrap(),
            agent: "agt_00000000000000000000000001".parse().unwrap(),
            run: "run_00000000000000000000000001".parse().unwrap(),
            messages: vec!["msg_00000000000000000000000001".parse().unwrap()],
            text: "text".to_owned(),
            attempt: 1,
            state: DeliveryState::InDoubt,
            mark: 0,
            made_at: Timestamp(0),
            since: Timestamp(0),
        }
    }
}
