//! What is done about an agent's screen until it has started: wait, answer a dialog, or ask a person.

use std::path::Path;
use std::time::Duration;

use cmux_core::agent::{Doing, Sighting};
use cmux_core::kind::Permissions;
use cmux_core::look::{self, Answer, Answered, Consent, Dialog, Reply, Step};
use cmux_core::plan::agents::START_WITHIN;
use cmux_core::screen::{Screen, Seen, Sight};
use cmux_core::time::Timestamp;
use cmux_core::witness::Said;
use cmux_drivers::folder;
use cmux_store::{projects, trust};
use tokio::time::Instant;

use super::desk::Desk;
use super::prepare::ALLOWED;
use super::telling::told;
use super::watch::Watch;

/// How long after its launch a CLI that seems to work may still come up with a dialog.
const DIALOGS_WITHIN: Duration = Duration::from_secs(30);

/// When to look again at what may take a while.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Does what a screen asks for that was looked at while the agent starts.
pub(super) async fn start(
    watch: &mut Watch,
    screen: &Screen,
    sight: &Sight,
    starts_by: Timestamp,
    desk: &Desk,
) {
    let now = watch.now();
    let is_trusted =
        matches!(sight.seen, Some(Seen::Dialog { .. })) && is_trusted(watch, desk).await;
    // Whoever allows everything has agreed to being told that everything is allowed.
    let allowed = std::fs::read_to_string(watch.folder.join(ALLOWED)).unwrap_or_default();
    let may_all = allowed == Permissions::All.name();
    let has_consent = |consent| match consent {
        Consent::Trust => is_trusted,
        Consent::All => may_all,
    };
    let dialogs = &watch.kind.manifest.dialogs;
    match look::next(screen, sight, dialogs, has_consent, watch.answered.as_ref(), now) {
        Step::Ready => {
            let is_young = now + START_WITHIN < starts_by + DIALOGS_WITHIN;
            if is_young && matches!(sight.seen, Some(Seen::Busy { .. })) {
                watch.look_at = Some(Instant::now() + LOOK_AGAIN);
            } else {
                watch.starts_by = None;
                watch.look_at = None;
            }
            watch.hear(sight, now);
            watch.ask_cli(desk);
            watch.decide(desk);
            watch.say_first(sight, desk).await;
        }
        Step::Wait if now >= starts_by => {
            let screen = Some(told(screen));
            desk.see(watch.agent, watch.run, Sighting::Overdue { screen });
            watch.look_at = None;
        }
        Step::Wait => {}
        // Whoever started it is there to answer it.
        Step::Answer(Answer { dialog, .. }) if watch.is_adopted => {
            let what = format!("its dialog `{dialog}`: answer it in its pane");
            ask_person(watch, what, sight, desk);
        }
        Step::Answer(answer) => {
            let keys = answer.keys.clone();
            watch.answered = Some(Answered { answer, at: now });
            watch.press(&keys, None).await;
        }
        Step::NeedsConsent { dialog, .. } => {
            let what = asked(dialogs, &dialog);
            ask_person(watch, what, sight, desk);
        }
        Step::Leave { text, .. } => ask_person(watch, text, sight, desk),
    }
}

/// Returns what a person is told of a dialog that cmux does not answer.
pub(super) fn asked(dialogs: &[Dialog], name: &str) -> String {
    let found = dialogs.iter().find(|dialog| dialog.name == name);
    if let Some(Dialog { answer: Reply::Leave(text), .. }) = found {
        return text.clone();
    }
    let way = match found.and_then(|dialog| dialog.consent) {
        Some(Consent::Trust) => ", or let cmux do so with `cmux project trust`",
        Some(Consent::All) => ", or set `permissions = \"all\"` for its kind",
        None => "",
    };
    format!("its dialog `{name}`: answer it there (`cmux agent attach`){way}")
}

/// Returns whether the person agreed that agents of this project may trust its folder.
async fn is_trusted(watch: &Watch, desk: &Desk) -> bool {
    let project = watch.project.clone();
    let found = desk
        .readers
        .read(move |view| Ok((projects::find(view, &project)?, trust::find(view, &project)?)));
    let Ok((Some(project), trust)) = found.await else { return false };
    trust.folder.is_some() && folder::is_of(Path::new(&watch.cwd), Path::new(&project.root))
}

/// Tells that a person must answer what is on the screen. It goes on starting once that is done.
fn ask_person(watch: &mut Watch, what: String, sight: &Sight, desk: &Desk) {
    let (now, doing) = (watch.now(), Doing::Asking { what });
    if let Some(said) = Said::of_sight(sight, now) {
        watch.statements.hear(Said { doing: doing.clone(), ..said });
    }
    if watch.told.as_ref() != Some(&doing) {
        watch.tell(doing, u8::MAX, desk);
    }
    // A person takes a while.
    watch.look_at = Some(Instant::now() + LOOK_AGAIN);
    watch.starts_by = watch.starts_by.map(|_| now + START_WITHIN);
}
