//! What is run to start an agent: its manifest, with what the user wants otherwise.

use std::collections::BTreeMap;
use std::fmt;

use cmux_core::kind::Permissions;
use cmux_core::settings::KindSettings;

use super::{Allowed, Manifest, Place, Unfilled};

/// Whether a session begins or goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    New,
    Resume,
}

/// What is run. There may be secrets in its arguments and its environment.
#[derive(Clone, PartialEq, Eq)]
pub struct Started {
    /// The program and its arguments.
    pub argv: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// What must not be inherited.
    pub unset: Vec<String>,
}

/// Why an agent cannot be started so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotStart {
    #[error(transparent)]
    Unfilled(#[from] Unfilled),
    #[error(
        "{title} cannot be held to permissions = \"{}\": the strictest it knows is \"{}\"",
        wanted.name(),
        strictest.name()
    )]
    TooLoose { title: String, wanted: Permissions, strictest: Permissions },
}

impl Manifest {
    /// Returns what is run to start an agent, where `known` fills the places. A session that cannot be
    /// resumed begins anew.
    pub fn start(
        &self,
        start: Start,
        settings: &KindSettings,
        known: impl Fn(Place) -> Option<String>,
    ) -> Result<Started, CannotStart> {
        let program = || known(Place::Program).ok_or(Unfilled(Place::Program));
        let mut argv = match &settings.command {
            Some(command) => command.clone(),
            None => vec![program()?],
        };
        let own = match (start, &self.launch.resume) {
            (Start::Resume, Some(resume)) => resume,
            (Start::Resume, None) | (Start::New, _) => &self.launch.command,
        };
        let allowed = self.allowed(settings.permissions)?;
        for argument in own.iter().chain(&allowed.args) {
            argv.push(argument.fill(&known)?);
        }
        argv.extend(settings.args.iter().cloned());
        let mut env = BTreeMap::new();
        for (name, text) in self.launch.env.iter().chain(&allowed.env) {
            env.insert(name.clone(), text.fill(&known)?);
        }
        env.extend(settings.env.clone());
        Ok(Started { argv, env, unset: self.launch.unset.clone() })
    }

    /// Returns what holds the CLI to `wanted`. What it does not know becomes the next that is stricter,
    /// and never one that allows more.
    fn allowed(&self, wanted: Permissions) -> Result<&Allowed, CannotStart> {
        let known = &self.launch.permissions;
        let stricter = known.range(..=wanted).next_back().map(|(_, allowed)| allowed);
        let strictest = known.keys().next().copied().unwrap_or(wanted);
        let title = self.title.clone();
        stricter.ok_or(CannotStart::TooLoose { title, wanted, strictest })
    }
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started")
            .field("program", &self.argv.first())
            .field("args", &self.argv.len().saturating_sub(1))
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .finish()
    }
}
