//! `cmux up`: everything that it takes to work on the project here.
//!
//! Each step is safe to repeat, and tells what came of it before the next begins.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use cmux_drivers::home::Home;
use cmux_wire::agent::{Agent, Intent, NewAgent, Phase};
use cmux_wire::client::{Client, ClientError};
use cmux_wire::daemon::{DaemonStatus, Status};
use cmux_wire::link::Link;
use cmux_wire::project::Project;
use cmux_wire::trust::Trust;
use serde::Serialize;

use crate::cli::{Common, wait};
use crate::cmd::agent::find::is_missing;
use crate::cmd::agent::follow::{Outcome, Waited, outcome, until, with_reason};
use crate::cmd::agent::kinds::{BUILT_IN, Said, choose};
use crate::cmd::open;
use crate::cmd::start::start;
use crate::fail::Fail;
use crate::place;
use crate::say::{Say, Tone, aside, clean, count};
use crate::spin::Spinner;
use crate::trust::{Answer, ask_once};

/// What the supervisor is called, and what it is.
const SUPERVISOR: &str = "supervisor";

/// How long to wait for the first sign of a supervisor. It goes on without being waited for.
const FIRST_SIGN_WITHIN: Duration = Duration::from_secs(20);

#[derive(Debug, Args)]
pub(crate) struct Up {
    /// Which program the supervisor is; the project's or your own choice unless it is said, or the first
    /// of the usual ones that is on the machine
    #[arg(long)]
    kind: Option<String>,
    /// Launch no supervisor
    #[arg(long, conflicts_with = "kind")]
    no_supervisor: bool,
    /// Trust what the project's own files say of agents, and its folder, without being asked
    #[arg(long)]
    trust: bool,
    /// Then print a one-time link to the dashboard, and on a desktop open it
    #[arg(long)]
    open: bool,
}

/// What there is, and the way in if it was asked for.
#[derive(Serialize)]
struct Brought {
    #[serde(flatten)]
    status: Status,
    supervisor: Option<Agent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<Link>,
}

impl Up {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        place::require_person("start cmux")?;
        let home = place::home(common.home.as_deref())?;
        let new = place::project(Path::new("."), None)?;
        let daemon = start(&home)?;
        step(say, "daemon", &told_daemon(&daemon))?;
        let client = place::client(&home);
        let supervisor = wait(async {
            let project = client.add_project(&new).await?;
            step(say, "project", &format!("{} at {}", project.id, clean(&project.root)))?;
            let trust = self.trusted(&client, &project, &home, say).await?;
            if self.no_supervisor {
                return Ok(None);
            }
            if self.kind.is_none() && trust.supervisor == Some(false) {
                step(say, SUPERVISOR, "none, as the project's own .cmux/config.toml says")?;
                return Ok(None);
            }
            let said = Said::first(self.kind.as_deref(), &trust, &home)?;
            let supervisor = self.supervise(&client, &project, &said, say).await?;
            let told = format!("{}, {}", clean(&supervisor.kind), clean(&with_reason(&supervisor)));
            step(say, SUPERVISOR, &told)?;
            Ok(Some(supervisor))
        })?;
        self.conclude(&home, &daemon, supervisor.as_ref(), say)?;
        supervisor.as_ref().map_or(Ok(()), judge)
    }

    /// Returns what is trusted of the project. Whoever is there is asked, if it makes a difference: if it
    /// says anything of agents, or if a CLI may ask about its folder.
    async fn trusted(
        &self,
        client: &Client,
        project: &Project,
        home: &Home,
        say: Say,
    ) -> Result<Trust, Fail> {
        let trust = client.trust(&project.id).await?;
        let asks_nothing = self.no_supervisor || {
            let said = Said::first(self.kind.as_deref(), &trust, home)?;
            choose(&client.kinds().await?, &said)?.kind == BUILT_IN
        };
        if asks_nothing && trust.files.is_empty() && !self.trust {
            return Ok(trust);
        }
        let (trust, answer) = ask_once(client, project, self.trust, say).await?;
        match answer {
            Answer::Settled => {}
            Answer::Agreed => step(say, "trust", &told_trust(&trust))?,
            Answer::Declined => aside(&format!(
                "you do not trust this project, so {}; `cmux project trust` asks again",
                unheeded(&trust)
            )),
            Answer::Nobody => aside(&format!(
                "nobody could be asked whether you trust this project, so {}; `cmux up --trust` agrees",
                unheeded(&trust)
            )),
        }
        Ok(trust)
    }

    /// Returns the project's supervisor, launched if there is none, and brought back if it was stopped.
    async fn supervise(
        &self,
        client: &Client,
        project: &Project,
        said: &Said,
        say: Say,
    ) -> Result<Agent, Fail> {
        let found = client.agent(SUPERVISOR, Some(&project.id)).await;
        let agent = match found {
            Ok(agent) => {
                note_better(client, &agent, said, say).await?;
                self.bring_back(client, agent).await?
            }
            Err(error) if is_missing(&error) => launch(client, project, said, say).await?,
            Err(error) => return Err(error.into()),
        };
        if agent.intent == Intent::Pause {
            return Ok(agent);
        }
        let mut spinner = Spinner::new(say);
        let has_shown = |agent: &Agent| match agent.phase {
            Phase::Offline | Phase::Starting => None,
            Phase::Idle
            | Phase::Busy
            | Phase::Asking
            | Phase::Limited
            | Phase::Down
            | Phase::Failed => Some(()),
        };
        match until(client, agent, FIRST_SIGN_WITHIN, &mut spinner, has_shown).await? {
            Waited::Until(agent, ()) | Waited::InVain(agent) => Ok(agent),
        }
    }

    async fn bring_back(&self, client: &Client, agent: Agent) -> Result<Agent, Fail> {
        if let Some(kind) = self.kind.as_deref().filter(|kind| *kind != agent.kind) {
            let what = format!("the supervisor here is of the kind `{}`, not `{kind}`", agent.kind);
            return Err(Fail::failed(what).hint(
                "`cmux agent rm --force supervisor` forgets it, and `cmux up` launches another",
            ));
        }
        let is_over = agent.intent == Intent::Stop || agent.phase == Phase::Failed;
        if is_over { Ok(client.have_agent(&agent.id, "resume", None).await?) } else { Ok(agent) }
    }

    /// Tells where to go from here.
    fn conclude(
        &self,
        home: &Home,
        daemon: &DaemonStatus,
        supervisor: Option<&Agent>,
        say: Say,
    ) -> Result<(), Fail> {
        if say.json {
            let status = wait(async { Ok(place::client(home).status().await?) })?;
            let link = if self.open { Some(open::link(home)?) } else { None };
            return say.json(&Brought { status, supervisor: supervisor.cloned(), link });
        }
        if let Some(address) = &daemon.address {
            step(say, "dashboard", &format!("{}/", clean(address)))?;
        }
        say.line(next_steps(supervisor.is_some()))?;
        if self.open { open::open(home, say, true) } else { Ok(()) }
    }
}

/// Says that there is an agent CLI in whose place the built-in one stands.
async fn note_better(client: &Client, agent: &Agent, said: &Said, say: Say) -> Result<(), Fail> {
    if agent.kind != BUILT_IN || matches!(said, Said::Here(_)) {
        return Ok(());
    }
    match choose(&client.kinds().await?, said) {
        Ok(chosen) if chosen.kind != BUILT_IN => {
            let kind = chosen.kind;
            let told = format!(
                "`{kind}` is on this machine; `cmux agent rm --force {SUPERVISOR}` and then `cmux up` \
                 has it in the place of `{BUILT_IN}`"
            );
            step(say, "note", &told)
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Launches a supervisor of the kind that was `said`.
async fn launch(client: &Client, project: &Project, said: &Said, say: Say) -> Result<Agent, Fail> {
    let chosen = choose(&client.kinds().await?, said)?;
    if let Some(note) = &chosen.note {
        step(say, "note", note)?;
    }
    let new = NewAgent {
        project: project.id.clone(),
        name: SUPERVISOR.to_owned(),
        kind: chosen.kind,
        role: SUPERVISOR.to_owned(),
        task: None,
        cwd: None,
        args: Vec::new(),
        env: [].into(),
        permanent: true,
    };
    match client.spawn_agent(&new).await {
        // Somebody else was faster.
        Err(ClientError::Refused(problem)) if problem.slug() == "name-taken" => {
            Ok(client.agent(SUPERVISOR, Some(&project.id)).await?)
        }
        launched => Ok(launched?),
    }
}

/// Tells a person that a step is done. A script is told all at the end.
fn step(say: Say, name: &str, told: &str) -> Result<(), Fail> {
    if say.json {
        return Ok(());
    }
    let name = say.paint(&format!("{name:<10}"), Tone::Strong);
    say.line(&format!("{name}  {told}"))
}

fn told_daemon(daemon: &DaemonStatus) -> String {
    let state = match (&daemon.safe_mode, daemon.ready) {
        (Some(why), _) => format!("in safe mode, nothing can be changed: {}", clean(why)),
        (None, true) => "ready".to_owned(),
        (None, false) => "running, but not ready: `cmux status` tells why".to_owned(),
    };
    let pid = daemon.pid.map_or_else(String::new, |pid| format!(", process {pid}"));
    format!("{state}{pid}")
}

/// Returns what is trusted of a project from now on.
fn told_trust(trust: &Trust) -> String {
    match trust.files.len() {
        0 => "you trust this folder".to_owned(),
        number => format!("you trust this folder, and {} in it", count(number as i128, "file")),
    }
}

/// Returns what comes of it that a project is not trusted.
fn unheeded(trust: &Trust) -> &'static str {
    match trust.files.is_empty() {
        true => "an agent whose CLI asks about the folder waits for you",
        false => "what its own files say of agents is not used",
    }
}

fn next_steps(has_supervisor: bool) -> &'static str {
    if has_supervisor {
        "\nnext:\n  cmux agent attach supervisor   see it, and talk to it\n  \
         cmux status                    everything at a glance\n  \
         cmux open                      a link to the dashboard\n  \
         cmux down                      stop this project's agents"
    } else {
        "\nnext:\n  cmux agent spawn NAME   launch an agent\n  \
         cmux status             everything at a glance\n  \
         cmux open               a link to the dashboard"
    }
}

/// Refuses to call it done if the supervisor has ended.
fn judge(supervisor: &Agent) -> Result<(), Fail> {
    let has_ended = outcome(supervisor) == Some(Outcome::Ended);
    if !has_ended || supervisor.intent != Intent::Run {
        return Ok(());
    }
    let what = format!("the supervisor does not run: it is {}", with_reason(supervisor));
    let hint = match supervisor.phase {
        Phase::Failed => "`cmux agent why supervisor` tells more; `cmux up` tries again",
        Phase::Offline
        | Phase::Starting
        | Phase::Idle
        | Phase::Busy
        | Phase::Asking
        | Phase::Limited
        | Phase::Down => "cmux tries again by itself; `cmux agent why supervisor` tells more",
    };
    Err(Fail::failed(what).hint(hint))
}
