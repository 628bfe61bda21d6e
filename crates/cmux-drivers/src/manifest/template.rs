//! Texts of a manifest with places in them that are filled when an agent starts: `--name {name}`.

use std::fmt;

use cmux_core::nearest::nearest;

/// A text with places to fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Place(Place),
}

/// What can be filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The CLI's own program.
    Program,
    /// The program of cmux.
    Cmux,
    /// The CLI's session, by the id that it has or is to have.
    Session,
    /// The beginning of that id, by which some CLIs call their files.
    SessionHead,
    /// The folder that the agent works in.
    Cwd,
    /// The root of the repository or project that the folder belongs to.
    Root,
    /// The file of settings that cmux writes for this run, or the folder of them.
    Settings,
    /// The first thing that is said to the agent.
    Prompt,
    /// What the agent is to be, in words.
    Role,
    /// The agent's name.
    Name,
    /// The run's id.
    Run,
    /// The user's home.
    Home,
    /// A folder that cmux keeps for the agent, outside the project, from one life to the next.
    State,
    /// The CLI's process.
    Pid,
    /// A port that is free.
    Port,
    /// A secret of this run, for what only cmux and the CLI are to open.
    Secret,
}

impl Place {
    pub const ALL: [Place; 16] = [
        Place::Program,
        Place::Cmux,
        Place::Session,
        Place::SessionHead,
        Place::Cwd,
        Place::Root,
        Place::Settings,
        Place::Prompt,
        Place::Role,
        Place::Name,
        Place::Run,
        Place::Home,
        Place::State,
        Place::Pid,
        Place::Port,
        Place::Secret,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Place::Program => "program",
            Place::Cmux => "cmux",
            Place::Session => "session",
            Place::SessionHead => "session_head",
            Place::Cwd => "cwd",
            Place::Root => "root",
            Place::Settings => "settings",
            Place::Prompt => "prompt",
            Place::Role => "role",
            Place::Name => "name",
            Place::Run => "run",
            Place::Home => "home",
            Place::State => "state",
            Place::Pid => "pid",
            Place::Port => "port",
            Place::Secret => "secret",
        }
    }
}

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTemplate {
    #[error("there is no `{{{name}}}` to fill in{}", meant(*nearest))]
    Unknown { name: String, nearest: Option<&'static str> },
    #[error("`{{` is not closed: write `{{{{` if it is meant as it is")]
    Open,
    #[error("`}}` closes nothing: write `}}}}` if it is meant as it is")]
    Closed,
}

fn meant(nearest: Option<&str>) -> String {
    let known = || {
        let names: Vec<_> = Place::ALL.iter().map(|it| format!("{{{}}}", it.name())).collect();
        format!(": there are {}", names.join(", "))
    };
    nearest.map_or_else(known, |name| format!(". Did you mean `{{{name}}}`?"))
}

/// That something is not known yet which a template needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{{{}}}` is not known here", .0.name())]
pub struct Unfilled(pub Place);

impl Template {
    pub fn read(text: &str) -> Result<Template, BadTemplate> {
        let mut parts = vec![Part::Text(String::new())];
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            add(&mut parts, before);
            if let Some(after) = from.strip_prefix("{{").or(from.strip_prefix("}}")) {
                add(&mut parts, &from[..1]);
                rest = after;
                continue;
            }
            let inner = from.strip_prefix('{').ok_or(BadTemplate::Closed)?;
            let (name, after) = inner.split_once('}').ok_or(BadTemplate::Open)?;
            parts.push(Part::Place(place(name)?));
            rest = after;
        }
        add(&mut parts, rest);
        parts.retain(|part| *part != Part::Text(String::new()));
        Ok(Template(parts))
    }

    /// Returns the text with each place filled by what `known` says.
    pub fn fill(&self, known: impl Fn(Place) -> Option<String>) -> Result<String, Unfilled> {
        let parts = self.0.iter().map(|part| match part {
            Part::Text(text) => Ok(text.clone()),
            Part::Place(place) => known(*place).ok_or(Unfilled(*place)),
        });
        parts.collect()
    }

    /// Returns whether `place` is to be filled in it.
    pub fn needs(&self, place: Place) -> bool {
        self.0.contains(&Part::Place(place))
    }
}

fn add(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Text(before)) => before.push_str(text),
        Some(Part::Place(_)) | None => parts.push(Part::Text(text.to_owned())),
    }
}

fn place(name: &str) -> Result<Place, BadTemplate> {
    let found = Place::ALL.into_iter().find(|place| place.name() == name);
    found.ok_or_else(|| BadTemplate::Unknown {
        name: name.chars().take(64).collect(),
        nearest: nearest(name, Place::ALL.map(Place::name)),
    })
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            match part {
                Part::Text(text) => f.write_str(&text.replace('{', "{{").replace('}', "}}"))?,
                Part::Place(place) => write!(f, "{{{}}}", place.name())?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_and_all_else_is_as_it_is() {
        check("--name={name}!", Ok("--name=<name>!"));
        check("{home}/.x/{session}", Ok("<home>/.x/<session>"));
        check("{{{name}}}", Ok("{<name>}"));
        check("", Ok(""));
        check("{pid}", Err(Unfilled(Place::Pid)));
    }

    #[test]
    fn what_cannot_be_filled_is_refused_with_what_was_meant() {
        for (text, expected) in [
            ("{sesion}", "there is no `{sesion}` to fill in. Did you mean `{session}`?"),
            ("{zzz}", "there is no `{zzz}` to fill in: there are {program}, {cmux}, "),
            ("{", "`{` is not closed"),
            ("a}", "`}` closes nothing"),
        ] {
            let refused = Template::read(text).unwrap_err().to_string();
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn a_template_is_said_as_it_is_written() {
        for text in ["{name}", "{{x}} {cwd}/y"] {
            assert_eq!(Template::read(text).unwrap().to_string(), text);
        }
    }

    #[track_caller]
    fn check(text: &str, expected: Result<&str, Unfilled>) {
        let known = |place: Place| (place != Place::Pid).then(|| format!("<{}>", place.name()));
        let filled = Template::read(text).unwrap().fill(known);
        assert_eq!(filled.as_deref().map_err(|why| *why), expected, "{text}");
    }
}
