//! The agent of the story: what becomes of its processes, and what must be true of it in the end.

use std::collections::BTreeMap;

use cmux_core::agent::{Agent, AgentName, Doing, Intent, Pid, Place, Setup, Sighting};
use cmux_core::digest::Digest;
use cmux_core::id::{AgentId, RunId};
use cmux_core::project::ProjectId;
use cmux_core::report::{Answer, Ask, NewAgent, Refused, Report};
use cmux_core::run::RunToken;
use cmux_core::time::Timestamp;
use cmux_daemon::kernel::Denied;
use cmux_store::{StoreError, View, agents, runs};

use crate::{Fault, World};

/// How often somebody looks whether the agent's process is there, in seconds.
const LOOK_EVERY_S: i64 = 30;

/// The lives of the agent, as the world has them.
#[derive(Default)]
pub(crate) struct Lives {
    /// Those of which something is left, and whether it is their process.
    left: BTreeMap<RunId, bool>,
    launched: Vec<RunId>,
    agent: Option<AgentId>,
}

impl Lives {
    /// Begins a life, unless there is one, which must never be.
    pub(crate) fn launch(&mut self, agent: &Agent, run: RunId, now: Timestamp) -> Vec<Report> {
        assert!(self.left.is_empty(), "{run} was launched, and {:?} is not cleared", self.left);
        assert!(!self.launched.contains(&run), "{run} was launched twice");
        self.launched.push(run);
        self.left.insert(run, true);
        self.agent = Some(agent.id);
        let secret = Digest::of(run.to_string().as_bytes());
        let token = RunToken::new(secret, run, agent.id, agent.project.clone(), now);
        let named = Report::RunNamed { token, session: None };
        [vec![named], self.look()].concat()
    }

    pub(crate) fn end(&mut self, agent: AgentId, run: RunId) -> Vec<Report> {
        if let Some(is_up) = self.left.get_mut(&run) {
            *is_up = false;
        }
        vec![seen(agent, run, Sighting::Ended { how: "it was told to".to_owned() })]
    }

    pub(crate) fn clear(&mut self, agent: AgentId, run: RunId) -> Vec<Report> {
        self.left.remove(&run);
        vec![seen(agent, run, Sighting::Cleared)]
    }

    /// Returns whether the process of `run` is there.
    pub(crate) fn is_up(&self, run: RunId) -> bool {
        self.left.get(&run) == Some(&true)
    }

    /// The process dies, if there is one.
    fn die(&mut self) -> Vec<Report> {
        self.left.values_mut().for_each(|is_up| *is_up = false);
        self.look()
    }

    /// Tells what somebody sees who looks at each life of which something is left.
    fn look(&self) -> Vec<Report> {
        let Some(agent) = self.agent else { return Vec::new() };
        let looked = self.left.iter().flat_map(|(run, is_up)| {
            let sightings = match is_up {
                true => vec![launched(), Sighting::Doing { doing: Doing::AtPrompt, rank: 3 }],
                false => vec![Sighting::Ended { how: "exit 1".to_owned() }],
            };
            sightings.into_iter().map(move |sighting| seen(agent, *run, sighting))
        });
        looked.collect()
    }
}

impl World {
    /// What becomes of the agent of people's and its own accord.
    pub(crate) fn happen_to_agent(&mut self, second: i64) {
        match second {
            30 => self.wanted.push(spawn()),
            90 => {
                self.desk.clear();
                let told = self.lives.die();
                self.report(told);
            }
            150 => self.wanted.push(Ask::RestartAgent { id: self.agent() }),
            340 => self.wanted.push(Ask::WantAgent { id: self.agent(), intent: Intent::Stop }),
            345 => self.wanted.push(Ask::RemoveProject { id: ProjectId::of("/a") }),
            424 => self.wanted.push(Ask::RemoveAgent { id: self.agent() }),
            _ if second % LOOK_EVERY_S == 15 => {
                let told = self.lives.look();
                self.report(told);
            }
            _ => {}
        }
    }

    pub(crate) fn agent(&self) -> AgentId {
        let found = self.read(|view| agents::find_by_name(view, &ProjectId::of("/a"), "WORKER"));
        found.unwrap_or_else(|| panic!("{:?}: there is no agent", self.fault)).id
    }

    /// Whatever was lost between, it was made, brought back, stopped and forgotten, and nothing of it is
    /// left.
    pub(crate) fn check_agent(&self) {
        let fault = self.fault;
        assert_eq!(self.read(agents::all), [], "{fault:?}");
        assert!(self.lives.left.is_empty(), "{fault:?}: {:?} is left", self.lives.left);
        for kind in ["agent.spawned", "agent.removed"] {
            assert_eq!(self.rows(kind).len(), 1, "{fault:?}: {kind}");
        }
        for run in &self.lives.launched {
            let token = self.read(|view| runs::find_by_run(view, *run));
            assert!(token.is_none_or(|token| !token.is_good()), "{fault:?}: {run} is still good");
            let of_run = |kind: &str| {
                let rows = self.rows(kind).into_iter();
                rows.filter(|row| row.run == Some(run.to_string())).count()
            };
            assert_eq!(of_run("agent.exited"), 1, "{fault:?}: {run}");
        }
        self.check_what_was_asked_of_agent();
        if fault == Fault::None {
            assert_eq!(self.lives.launched.len(), 3, "as it began, died, and was asked for again");
            assert_eq!(self.rows("agent.asked").len(), 2);
            assert_eq!(self.rows("agent.phase").len(), 9);
        }
    }

    fn check_what_was_asked_of_agent(&self) {
        let fault = self.fault;
        for (ask, answer) in &self.answered {
            let is_well = match ask {
                Ask::SpawnAgent { .. } | Ask::WantAgent { .. } | Ask::RestartAgent { .. } => {
                    matches!(answer, Ok(Answer::Agent { .. }))
                }
                // Who asks again to forget what is forgotten is told so.
                Ask::RemoveAgent { .. } => match answer {
                    Err(Denied::Refused(refused)) => matches!(refused, Refused::NoAgent(_)),
                    Ok(_) | Err(_) => answer.is_ok(),
                },
                Ask::InterruptAgent { .. }
                | Ask::SendMessage { .. }
                | Ask::CancelMessage { .. }
                | Ask::RetryMessage { .. }
                | Ask::ReadMessage { .. }
                | Ask::AdoptAgent { .. }
                | Ask::AddProject { .. }
                | Ask::RemoveProject { .. }
                | Ask::ArchiveLog { .. }
                | Ask::CreateToken { .. }
                | Ask::RevokeToken { .. }
                | Ask::MakeLink { .. }
                | Ask::FollowLink { .. }
                | Ask::OpenSession { .. }
                | Ask::CloseSession { .. }
                | Ask::TakeWebhook { .. }
                | Ask::TrustProject { .. }
                | Ask::DistrustProject { .. } => true,
            };
            assert!(is_well, "{fault:?}: {ask:?}: {answer:?}");
        }
        let refused =
            Denied::Refused(Refused::HasAgents { project: ProjectId::of("/a"), agents: 1 });
        let is_refused =
            |(_, answer): &(Ask, Result<Answer, Denied>)| *answer == Err(refused.clone());
        assert!(self.answered.iter().any(is_refused), "{fault:?}: a project left its agent");
    }
}

/// Returns whether the life `run` of the agent `id` is stored as being so far.
pub(crate) fn is_in(
    view: View<'_>,
    id: AgentId,
    run: RunId,
    state: &str,
) -> Result<bool, StoreError> {
    let life = agents::find(view, id)?.and_then(|agent| agent.life);
    Ok(life.is_some_and(|life| life.run == run && life.state.name() == state))
}

fn spawn() -> Ask {
    let (role, kind) = ("worker".to_owned(), "demo".to_owned());
    let (args, env) = (Vec::new(), Vec::new());
    let setup = Setup { cwd: "/a".to_owned(), task: None, args, env, permanent: true };
    let (project, name) = (ProjectId::of("/a"), AgentName::new("worker").unwrap());
    Ask::SpawnAgent { new: NewAgent { project, name, role, kind, parent: None, setup } }
}

fn seen(agent: AgentId, run: RunId, sighting: Sighting) -> Report {
    Report::AgentSeen { agent, run, sighting }
}

fn launched() -> Sighting {
    let place = Place { server: "/tmux/a".to_owned(), pane: "%1".to_owned() };
    Sighting::Launched { place, process: Pid { pid: 7, start: 7 } }
}
