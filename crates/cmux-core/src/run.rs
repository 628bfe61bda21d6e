//! Runs: the lives of agents, and how each shows whose it is.

use std::time::Duration;

use crate::digest::Digest;
use crate::id::{AgentId, RunId};
use crate::project::ProjectId;
use crate::time::Timestamp;

/// How long a run's token is remembered after the run ended.
pub const RUN_TOKEN_KEEP: Duration = Duration::from_hours(24 * 30);

/// What an agent shows to be known as this run of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunToken {
    pub secret: Digest,
    pub run: RunId,
    pub agent: AgentId,
    pub project: ProjectId,
    pub made_at: Timestamp,
    /// When the run ended, and the token with it.
    pub ended_at: Option<Timestamp>,
}

impl RunToken {
    /// Returns the token of a run that begins.
    pub fn new(
        secret: Digest,
        run: RunId,
        agent: AgentId,
        project: ProjectId,
        now: Timestamp,
    ) -> RunToken {
        RunToken { secret, run, agent, project, made_at: now, ended_at: None }
    }

    /// Returns whether the token lets anybody in.
    pub fn is_good(&self) -> bool {
        self.ended_at.is_none()
    }

    /// Returns the token as it is once its run has ended, unless it had already.
    pub fn end(&self, now: Timestamp) -> Option<RunToken> {
        self.is_good().then(|| RunToken { ended_at: Some(now), ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ulid::Ulid;

    #[test]
    fn a_run_s_token_dies_with_the_run_and_once() {
        let (run, agent) = (RunId::new(Ulid::from(1_u128)), AgentId::new(Ulid::from(2_u128)));
        let token = RunToken::new(Digest::of(b"x"), run, agent, ProjectId::of("/a"), Timestamp(1));
        assert!(token.is_good());
        let ended = token.end(Timestamp(5)).unwrap();
        assert_eq!((ended.is_good(), ended.ended_at), (false, Some(Timestamp(5))));
        assert_eq!(ended.end(Timestamp(9)), None);
    }
}
