//! What is run to start an agent: its manifest, with what the user wants otherwise.

use std::collections::BTreeMap;
use std::fmt;

use cmux_core::kind::{Channel, Permissions};
use cmux_core::settings::KindSettings;

use super::{Added, Manifest, Place, Template, Unfilled};

/// Whether a session begins or goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    New,
    Resume,
}

/// The longest text that is told in an argument, in bytes: the kernel takes twice that. A longer one is
/// typed.
const ARGUMENT_MAX: usize = 64 << 10;

/// What an agent is told as it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told<'a> {
    /// What it is to be, for as long as it lives.
    pub role: Option<&'a str>,
    /// What it is to do first.
    pub prompt: Option<&'a str>,
    /// That the person trusts the folder it works in.
    pub trusted: bool,
}

/// What is run. There may be secrets in its arguments and its environment.
#[derive(Clone, PartialEq, Eq)]
pub struct Started {
    /// The program and its arguments.
    pub argv: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// What must not be inherited.
    pub unset: Vec<String>,
    /// What is left to be said at its prompt, as it could not be told by an argument.
    pub unsaid: Option<String>,
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
    /// Returns what is run to start an agent that is `told` something, where `known` fills the places. A
    /// session that cannot be resumed begins anew.
    pub fn start(
        &self,
        start: Start,
        settings: &KindSettings,
        told: Told<'_>,
        known: impl Fn(Place) -> Option<String>,
    ) -> Result<Started, CannotStart> {
        let program = || known(Place::Program).ok_or(Unfilled(Place::Program));
        let mut argv = match &settings.command {
            Some(command) => command.clone(),
            None => vec![program()?],
        };
        let (own, is_new) = match (start, &self.launch.resume) {
            (Start::Resume, Some(resume)) => (resume, false),
            (Start::Resume, None) | (Start::New, _) => (&self.launch.command, true),
        };
        let allowed = self.allowed(settings.permissions)?;
        let trusted = Some(&self.launch.trusted).filter(|_| told.trusted);
        let api = Some(&self.launch.api).filter(|_| self.channel(settings) == Channel::Api);
        let added = [Some(allowed), trusted, api].into_iter().flatten();
        for argument in own.iter().chain(added.clone().flat_map(|it| &it.args)) {
            argv.push(argument.fill(&known)?);
        }
        let Telling { role, prompt, unsaid } = self.telling(told, is_new);
        argv.extend(fill(role, Place::Role, &known)?);
        argv.extend(settings.args.iter().cloned());
        // What is told first stands last, where it is in the way of no other argument.
        argv.extend(fill(prompt, Place::Prompt, &known)?);
        let mut env = BTreeMap::new();
        for (name, text) in self.launch.env.iter().chain(added.flat_map(|it| &it.env)) {
            env.insert(name.clone(), text.fill(&known)?);
        }
        env.extend(settings.env.clone());
        Ok(Started { argv, env, unset: self.launch.unset.clone(), unsaid })
    }

    /// Returns how messages get to it: as the user wants it, as far as it can.
    pub fn channel(&self, settings: &KindSettings) -> Channel {
        match settings.channel.unwrap_or(self.channel) {
            Channel::Api if self.api.is_some() => Channel::Api,
            Channel::Api | Channel::Paste => Channel::Paste,
        }
    }

    /// Returns how it is told what it is `told`. A CLI that has no argument for its role hears of it in
    /// what is said first, once: a session that goes on has it in its conversation.
    fn telling(&self, told: Told<'_>, is_new: bool) -> Telling<'_> {
        let said = |text: Option<&str>| {
            text.map(str::trim).filter(|text| !text.is_empty()).map(ToOwned::to_owned)
        };
        let (role, prompt) = (said(told.role), said(told.prompt));
        let (role, before) = match (&self.launch.role, role) {
            (Some(arguments), Some(role)) if can_be_argument(&role) => {
                (Some((arguments.as_slice(), role)), None)
            }
            // There is nobody to tell.
            (Some(arguments), Some(_)) if arguments.is_empty() => (None, None),
            (Some(_) | None, role) => (None, role.filter(|_| is_new)),
        };
        let first = match (before, prompt) {
            (Some(role), Some(prompt)) => Some(format!("{role}\n\n{prompt}")),
            (role, prompt) => role.or(prompt),
        };
        match (&self.launch.prompt, first) {
            // Some CLIs take the first letter of a prompt for a command, of theirs or of a shell.
            (Some(arguments), Some(first))
                if can_be_argument(&first) && !first.starts_with(['/', '!']) =>
            {
                Telling { role, prompt: Some((arguments.as_slice(), first)), unsaid: None }
            }
            (Some(_) | None, unsaid) => Telling { role, prompt: None, unsaid },
        }
    }

    /// Returns what holds the CLI to `wanted`. What it does not know becomes the next that is stricter,
    /// and never one that allows more.
    fn allowed(&self, wanted: Permissions) -> Result<&Added, CannotStart> {
        let known = &self.launch.permissions;
        let stricter = known.range(..=wanted).next_back().map(|(_, allowed)| allowed);
        let strictest = known.keys().next().copied().unwrap_or(wanted);
        let title = self.title.clone();
        stricter.ok_or(CannotStart::TooLoose { title, wanted, strictest })
    }
}

/// How an agent is told something: by arguments, each with what fills them, or not yet.
struct Telling<'a> {
    role: Option<(&'a [Template], String)>,
    prompt: Option<(&'a [Template], String)>,
    unsaid: Option<String>,
}

fn can_be_argument(text: &str) -> bool {
    text.len() <= ARGUMENT_MAX && !text.contains('\0')
}

/// Returns arguments with `place` filled by the text that is with them.
fn fill(
    telling: Option<(&[Template], String)>,
    place: Place,
    known: impl Fn(Place) -> Option<String>,
) -> Result<Vec<String>, Unfilled> {
    let Some((arguments, text)) = telling else { return Ok(Vec::new()) };
    let known = |asked: Place| if asked == place { Some(text.clone()) } else { known(asked) };
    arguments.iter().map(|argument| argument.fill(known)).collect()
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
