//! What each report changes.

pub(crate) mod agents;
mod found;
mod hooks;
mod kinds;
pub(crate) mod mail;
mod sessions;
mod tokens;
mod trust;
pub(crate) mod turns;
mod usage;
mod webhooks;

use std::collections::BTreeSet;

use cmux_core::archive::Archive;
use cmux_core::event::{Actor, Event, What};
use cmux_core::id::{NewIds, SnapshotId};
use cmux_core::plan::{Action, Subject};
use cmux_core::project::{Found, Project, ProjectId};
use cmux_core::report::{Answer, Ask, Refused, Report};
use cmux_core::snapshot::{Copied, SnapshotKind};
use cmux_core::time::Timestamp;
use cmux_store::{StoreError, Tx, archive, events, projects, settings, snapshots};
use serde_json::json;

/// The setting that remembers which version ran last.
const VERSION: &str = "daemon.version";

/// The setting that remembers when it was last tried whether what is written reaches the disk.
const PROBED_AT: &str = "health.probed_at";

/// What came of a report.
pub(crate) struct Heard {
    pub(crate) answer: Result<Answer, Refused>,
    /// The subjects that must be planned for again.
    pub(crate) touched: BTreeSet<Subject>,
    /// What is to be done at once, and not again if it is lost.
    pub(crate) actions: Vec<Action>,
}

impl Heard {
    fn new(touched: impl IntoIterator<Item = Subject>) -> Heard {
        Heard {
            answer: Ok(Answer::Heard),
            touched: touched.into_iter().collect(),
            actions: Vec::new(),
        }
    }

    fn refused(why: impl Into<Refused>) -> Heard {
        Heard { answer: Err(why.into()), touched: BTreeSet::new(), actions: Vec::new() }
    }

    /// Nothing was changed, but there is something to say.
    fn told(answer: Answer) -> Heard {
        Heard { answer: Ok(answer), touched: BTreeSet::new(), actions: Vec::new() }
    }

    /// Something was changed that is to be cleared away some day.
    fn kept(answer: Answer) -> Heard {
        Heard { answer: Ok(answer), touched: [Subject::Daemon].into(), actions: Vec::new() }
    }
}

/// Stores what `report` changes.
pub(crate) fn hear(
    tx: &mut Tx<'_>,
    report: &Report,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    match report {
        Report::Started { version, pid, guarded, news } => {
            for what in news {
                tx.append(&Event::own(what.clone()), now)?;
            }
            started(tx, version, *pid, *guarded, now, ids)
        }
        Report::Stopping { why } => {
            tx.append(&Event::own(What::DaemonStopping { why: *why }), now)?;
            Ok(Heard::new([]))
        }
        Report::ClockJumped { by_ms } => {
            tx.append(&Event::own(What::ClockJumped { by_ms: *by_ms }), now)?;
            Ok(Heard::new([]))
        }
        Report::Asked { actor, ask } => asked(tx, actor, ask, now, ids),
        Report::ProjectLooked { project, found } => looked(tx, project, *found, now),
        Report::AgentSeen { agent, run, sighting } => {
            agents::seen(tx, *agent, *run, sighting, now, ids)
        }
        Report::RunNamed { token, session } => agents::named(tx, token, session.as_deref()),
        Report::ServerLost { server } => found::server_lost(tx, server, now, ids),
        Report::PaneFound { tagged, secret, name, kind, project } => {
            found::pane(tx, tagged, *secret, name, kind, project, now)
        }
        Report::Hooked { by, hook, ranks } => hooks::heard(tx, by, hook, ranks, now, ids),
        Report::MailWanted { agent, run, mark } => mail::wanted(tx, *agent, *run, *mark, now, ids),
        Report::DeliverySeen { delivery, attempt, seen } => {
            mail::seen(tx, *delivery, *attempt, seen, now, ids)
        }
        Report::MailHeld { agent, run, held } => mail::held(tx, *agent, *run, *held, now),
        Report::MailRead { messages } => mail::recovered(tx, messages, now, ids),
        Report::UsageRead { agent, read, last_of } => usage::read(tx, *agent, read, *last_of, now),
        Report::KindIs { kind, commanded } => kinds::are(tx, kind, *commanded),
        Report::SnapshotDone { snapshot, outcome } => copied(tx, *snapshot, outcome.clone(), now),
        Report::Told { event } => {
            tx.append(event, now)?;
            Ok(Heard::new([]))
        }
        Report::Ping => Ok(Heard::new([])),
        Report::PasswordIs { digest } => sessions::password_is(tx, *digest, now),
        Report::Probe => {
            settings::save(tx, PROBED_AT, &json!(now.0))?;
            Ok(Heard::new([]))
        }
    }
}

/// The first turn of a life plans for everything there is: what was under way may be lost.
fn started(
    tx: &mut Tx<'_>,
    version: &str,
    pid: u32,
    guarded: bool,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    let before = settings::find(tx.view(), VERSION)?;
    let upgraded_from = before.and_then(|before| before.as_str().map(ToOwned::to_owned));
    let upgraded_from = upgraded_from.filter(|before| before != version);
    settings::save(tx, VERSION, &json!(version))?;
    let version = version.to_owned();
    tx.append(&Event::own(What::DaemonStarted { version, pid, guarded, upgraded_from }), now)?;
    // Whoever was copying the store died with the life before.
    if let Some(newest) = snapshots::newest(tx.view(), SnapshotKind::Daily)? {
        copied(tx, newest.id, Err("the daemon ended before it was done".to_owned()), now)?;
    }
    mail::doubt(tx, now, ids)?;
    let projects = projects::all(tx.view())?.into_iter().map(|it| Subject::Project(it.id));
    let agents = cmux_store::agents::all(tx.view())?;
    // Nobody could tell that it has started while no daemon ran.
    for late in agents.iter().filter_map(|agent| agent.given_time(now)) {
        cmux_store::agents::save(tx, &late)?;
    }
    let agents = agents.into_iter().map(|it| Subject::Agent(it.id));
    Ok(Heard::new(projects.chain(agents).chain([Subject::Daemon])))
}

fn asked(
    tx: &mut Tx<'_>,
    actor: &Actor,
    ask: &Ask,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    match ask {
        Ask::AddProject { root, name } => add_project(tx, actor, root, name.as_deref(), now),
        Ask::RemoveProject { id } => remove_project(tx, actor, id, now),
        Ask::TrustProject { project, files, folder } => {
            trust::approve(tx, actor, project, files, *folder, now)
        }
        Ask::DistrustProject { project } => trust::take_back(tx, actor, project, now),
        Ask::SendMessage { new } => mail::send(tx, new, now, ids),
        Ask::CancelMessage { id } => mail::cancel(tx, actor, *id, now, ids),
        Ask::RetryMessage { id } => mail::retry(tx, actor, *id, now),
        Ask::ReadMessage { id } => mail::read(tx, actor, *id, now),
        Ask::SpawnAgent { new } => agents::spawn(tx, actor, new, now, ids),
        Ask::WantAgent { id, intent } => agents::want(tx, actor, *id, *intent, now),
        Ask::RestartAgent { id } => agents::restart(tx, actor, *id, now),
        Ask::InterruptAgent { id } => agents::interrupt(tx, actor, *id, now),
        Ask::AdoptAgent { new, tagged } => found::adopt(tx, actor, new, tagged, now),
        Ask::RemoveAgent { id } => agents::remove(tx, actor, *id, now, ids),
        Ask::ArchiveLog { archive } => archive_log(tx, actor, archive, now),
        Ask::CreateToken { secret, name, scope, lasts } => {
            let new = tokens::New { secret: *secret, name, scope: *scope, lasts: *lasts };
            tokens::create(tx, actor, &new, now, ids)
        }
        Ask::RevokeToken { id } => tokens::revoke(tx, actor, *id, now),
        Ask::MakeLink { secret } => sessions::make_link(tx, actor, *secret, now),
        Ask::FollowLink { link, session } => {
            sessions::follow_link(tx, actor, link, *session, now, ids)
        }
        Ask::OpenSession { secret } => sessions::open(tx, actor, *secret, now, ids),
        Ask::CloseSession { id, why } => sessions::close(tx, actor, *id, *why, now),
        Ask::TakeWebhook { webhook } => webhooks::take(tx, webhook, now, ids),
    }
}

/// Asking twice is asking once: the project that is there already is the answer.
fn add_project(
    tx: &mut Tx<'_>,
    actor: &Actor,
    root: &str,
    name: Option<&str>,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    let new = match Project::new(root, name, now) {
        Ok(new) => new,
        Err(why) => return Ok(Heard::refused(why)),
    };
    if let Some(project) = projects::find(tx.view(), &new.id)? {
        return Ok(Heard::told(Answer::Project { project, created: false }));
    }
    projects::save(tx, &new)?;
    let what = What::ProjectAdded { name: new.name.clone(), root: new.root.clone() };
    let event = Event { actor: actor.clone(), ..Event::own_in(&new.id, what) };
    tx.append(&event, now)?;
    let touched = [Subject::Project(new.id.clone())].into();
    let answer = Ok(Answer::Project { project: new, created: true });
    Ok(Heard { answer, touched, actions: Vec::new() })
}

fn remove_project(
    tx: &mut Tx<'_>,
    actor: &Actor,
    id: &ProjectId,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    let Some(project) = projects::find(tx.view(), id)? else {
        return Ok(Heard::refused(Refused::NoProject(id.clone())));
    };
    // What works in a project is not left without it.
    let agents = cmux_store::agents::count(tx.view(), id)?;
    if agents > 0 {
        return Ok(Heard::refused(Refused::HasAgents { project: id.clone(), agents }));
    }
    // Should the folder be added again, the person is asked again.
    cmux_store::trust::forget(tx, id)?;
    projects::remove(tx, id)?;
    let what = What::ProjectRemoved { name: project.name, root: project.root };
    tx.append(&Event { actor: actor.clone(), ..Event::own_in(id, what) }, now)?;
    Ok(Heard::new([Subject::Project(id.clone())]))
}

fn archive_log(
    tx: &mut Tx<'_>,
    actor: &Actor,
    archived: &Archive,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    let stored = archive::hash_of(tx.view(), archived.through)?;
    let head = events::head(tx.view())?.id;
    let what = match archived.settle(stored, head) {
        Ok(what) => what,
        Err(why) => return Ok(Heard::refused(why)),
    };
    archive::note(tx, archived, now)?;
    tx.append(&Event { actor: actor.clone(), ..Event::own(what) }, now)?;
    Ok(Heard::new([Subject::Daemon]))
}

/// A look at a project that is forgotten by now changes nothing.
fn looked(
    tx: &mut Tx<'_>,
    id: &ProjectId,
    found: Found,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    let Some(project) = projects::find(tx.view(), id)? else { return Ok(Heard::new([])) };
    let (project, news) = project.after(found, now);
    projects::save(tx, &project)?;
    if let Some(what) = news {
        tx.append(&Event::own_in(id, what), now)?;
    }
    Ok(Heard::new([Subject::Project(id.clone())]))
}

/// News of a copy that is over already changes nothing.
fn copied(
    tx: &mut Tx<'_>,
    id: SnapshotId,
    outcome: Result<Copied, String>,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    let Some(snapshot) = snapshots::find(tx.view(), id)? else { return Ok(Heard::new([])) };
    let Ok((snapshot, what)) = snapshot.after(outcome, now) else { return Ok(Heard::new([])) };
    snapshots::save(tx, &snapshot)?;
    tx.append(&Event::own(what), now)?;
    Ok(Heard::new([Subject::Daemon]))
}
