//! Roles: what an agent is told of its place in the team before anything else is. cmux comes with a text
//! for each, and a project may have its own.

use crate::nearest::nearest;

/// The longest text of a role, in bytes.
pub const TEXT_MAX: usize = 32 << 10;

/// The texts that cmux comes with, by their roles. All other roles share the last.
const BUILT_IN: [(&str, &str); 3] = [
    ("supervisor", include_str!("../roles/supervisor.md")),
    ("worker", include_str!("../roles/worker.md")),
    ("reviewer", include_str!("../roles/reviewer.md")),
];
const OTHER: &str = include_str!("../roles/other.md");

/// What the `cmux` command does for an agent.
const COMMANDS: &str = include_str!("../roles/commands.md");

/// How agents write to one another. Told only where they can.
const MAIL: &str = include_str!("../roles/mail.md");

/// Whether agents can write to one another.
const HAS_MAIL: bool = true;

/// What is said of a task that there is not.
const NO_TASK: &str =
    "There is none yet. It is typed to you when there is one: end your turn until then.";

/// What stands before a task for which a text has no place.
const TASK_HEAD: &str = "## Your task";

/// Who launched an agent that no agent did.
const PERSON: &str = "the person";

/// An agent, as far as it is told about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    pub name: &'a str,
    pub role: &'a str,
    pub project: &'a str,
    pub root: &'a str,
    /// The agent that launched it, by name, if one did.
    pub parent: Option<&'a str>,
    pub task: Option<&'a str>,
}

/// What can be filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RolePlace {
    Name,
    Role,
    Project,
    Root,
    Parent,
    Task,
    /// What the `cmux` command does, as cmux itself says it.
    Commands,
}

impl RolePlace {
    pub const ALL: [RolePlace; 7] = [
        RolePlace::Name,
        RolePlace::Role,
        RolePlace::Project,
        RolePlace::Root,
        RolePlace::Parent,
        RolePlace::Task,
        RolePlace::Commands,
    ];

    pub fn name(self) -> &'static str {
        match self {
            RolePlace::Name => "name",
            RolePlace::Role => "role",
            RolePlace::Project => "project",
            RolePlace::Root => "root",
            RolePlace::Parent => "parent",
            RolePlace::Task => "task",
            RolePlace::Commands => "commands",
        }
    }
}

/// Why a text cannot be told to an agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRole {
    #[error("it is empty")]
    Empty,
    #[error("it is longer than {} KiB", TEXT_MAX >> 10)]
    TooLong,
    #[error("line {line} has a control character in it, which a terminal would act on")]
    Control { line: usize },
    #[error("line {line}: there is no `{{{name}}}` to fill in. Did you mean `{{{nearest}}}`?")]
    Unknown { line: usize, name: String, nearest: &'static str },
}

/// What an agent of some role is told, with places to fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleText(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Place(RolePlace),
}

impl RoleText {
    /// Returns what cmux itself tells agents of `role`.
    pub fn built_in(role: &str) -> RoleText {
        let own = BUILT_IN.iter().find(|(name, _)| *name == role);
        let text = own.map_or(OTHER, |(_, text)| text);
        RoleText::read(text).unwrap_or_else(|_| RoleText(vec![Piece::Text(text.to_owned())]))
    }

    /// Reads a text. Braces that no place is in are as they are: `{}`, `{{name}}`, `{"name": 1}`.
    pub fn read(text: &str) -> Result<RoleText, BadRole> {
        if text.len() > TEXT_MAX {
            return Err(BadRole::TooLong);
        }
        let text = text.trim_end().replace("\r\n", "\n");
        if text.is_empty() {
            return Err(BadRole::Empty);
        }
        let mut pieces = Vec::new();
        for (line, text) in (1..).zip(text.split_inclusive('\n')) {
            if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
                return Err(BadRole::Control { line });
            }
            let unknown = |(name, nearest)| BadRole::Unknown { line, name, nearest };
            pieces.extend(pieces_of(text).map_err(unknown)?);
        }
        Ok(RoleText(pieces))
    }

    /// Returns what an agent is told that plays this `part`. A task for which there is no place comes last.
    pub fn fill(&self, part: &Part<'_>) -> String {
        self.fill_with(part, &commands(HAS_MAIL))
    }

    fn fill_with(&self, part: &Part<'_>, commands: &str) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            text += match piece {
                Piece::Text(text) => text,
                Piece::Place(RolePlace::Name) => part.name,
                Piece::Place(RolePlace::Role) => part.role,
                Piece::Place(RolePlace::Project) => part.project,
                Piece::Place(RolePlace::Root) => part.root,
                Piece::Place(RolePlace::Parent) => part.parent.unwrap_or(PERSON),
                Piece::Place(RolePlace::Task) => part.task.unwrap_or(NO_TASK),
                Piece::Place(RolePlace::Commands) => commands,
            };
        }
        let text = text.trim_start();
        match part.task {
            Some(task) if !self.0.contains(&Piece::Place(RolePlace::Task)) => {
                format!("{text}\n\n{TASK_HEAD}\n\n{task}")
            }
            Some(_) | None => text.to_owned(),
        }
    }
}

/// Returns what the `cmux` command does for an agent.
fn commands(has_mail: bool) -> String {
    let sections: &[&str] = if has_mail { &[COMMANDS, MAIL] } else { &[COMMANDS] };
    sections.iter().map(|section| section.trim()).collect::<Vec<_>>().join("\n\n")
}

/// Returns what a line is made of, or the name in it that was probably meant to be another.
fn pieces_of(line: &str) -> Result<Vec<Piece>, (String, &'static str)> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        text += before;
        let braces = from.len() - from.trim_start_matches('{').len();
        let (open, inner) = from.split_at(braces);
        let name = inner.split_once('}').map(|(name, _)| name);
        match name.filter(|name| braces == 1 && is_name(name)) {
            Some(name) => match place(name)? {
                Some(place) => {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                    pieces.push(Piece::Place(place));
                    rest = &inner[name.len() + 1..];
                }
                None => (text, rest) = (text + open, inner),
            },
            None => (text, rest) = (text + open, inner),
        }
    }
    pieces.push(Piece::Text(text + rest));
    Ok(pieces)
}

fn is_name(text: &str) -> bool {
    (1..=32).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn place(name: &str) -> Result<Option<RolePlace>, (String, &'static str)> {
    let found = RolePlace::ALL.into_iter().find(|place| place.name() == name);
    match (found, nearest(name, RolePlace::ALL.map(RolePlace::name))) {
        (Some(place), _) => Ok(Some(place)),
        (None, Some(nearest)) => Err((name.to_owned(), nearest)),
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: Part<'_> = Part {
        name: "api",
        role: "worker",
        project: "shop-1",
        root: "/shop",
        parent: Some("lead"),
        task: Some("do {name} {x"),
    };

    #[test]
    fn places_are_filled_once_and_all_else_is_as_it_is() {
        for (text, expected) in [
            (
                "{name}/{role}/{project}/{root}/{parent}: {task}",
                "api/worker/shop-1//shop/lead: do {name} {x",
            ),
            ("{task}{{name}} {} { {name", "do {name} {x{{name}} {} { {name"),
            ("{task}\r\n{\"name\": {name}}", "do {name} {x\n{\"name\": api}"),
            ("{task} {zzz} {Name} {na me} {na{name}", "do {name} {x {zzz} {Name} {na me} {naapi"),
            ("\n  {task}\t\n\n", "do {name} {x"),
        ] {
            assert_eq!(RoleText::read(text).unwrap().fill(&PART), expected, "{text}");
        }
    }

    #[test]
    fn a_task_is_told_whatever_the_text_is() {
        let silent = RoleText::read("Be good.").unwrap();
        assert_eq!(silent.fill(&PART), "Be good.\n\n## Your task\n\ndo {name} {x");
        assert_eq!(silent.fill(&Part { task: None, ..PART }), "Be good.");
        let idle = RoleText::read("{parent}: {task}").unwrap();
        let told = idle.fill(&Part { task: None, parent: None, ..PART });
        assert_eq!(told, format!("the person: {NO_TASK}"));
    }

    #[test]
    fn what_cannot_be_told_is_refused_with_its_line() {
        let name =
            |line, name: &str, nearest| BadRole::Unknown { line, name: name.to_owned(), nearest };
        for (text, expected) in [
            ("", BadRole::Empty),
            (" \n\t\n", BadRole::Empty),
            ("a\n\u{1b}[2J", BadRole::Control { line: 2 }),
            ("\n\na\rb", BadRole::Control { line: 3 }),
            ("a\n\0", BadRole::Control { line: 2 }),
            ("a\n\u{9b}31m", BadRole::Control { line: 2 }),
            ("a\nb {nmae}", name(2, "nmae", "name")),
            ("{tasks}", name(1, "tasks", "task")),
            (&"x".repeat(TEXT_MAX + 1), BadRole::TooLong),
        ] {
            assert_eq!(RoleText::read(text), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn what_cmux_comes_with_is_short_and_leaves_nothing_unfilled() {
        for role in ["supervisor", "worker", "reviewer", "poet"] {
            for commands in [commands(false), commands(true)] {
                let part = Part { role, task: Some("count to ten"), ..PART };
                let told = RoleText::built_in(role).fill_with(&part, &commands);
                for part in ["You are api, ", role, "shop-1", "/shop", "lead", "count to ten"] {
                    assert!(told.contains(part), "{role}: {part}: {told}");
                }
                assert!(told.contains("cmux agent spawn") && !told.contains('{'), "{told}");
                assert!(told.len() < 6_000, "{role}: {}", told.len());
            }
        }
        let other = RoleText::built_in("poet");
        assert!(BUILT_IN.iter().all(|(role, _)| RoleText::built_in(role) != other));
    }

    #[test]
    fn nobody_is_told_of_mail_before_there_is_any() {
        let words = ["cmux send", "cmux inbox", "cmux reply", "cmux report", "[cmux dlv_"];
        for role in ["supervisor", "worker", "reviewer", "poet"] {
            let now = RoleText::built_in(role).fill(&PART);
            assert!(HAS_MAIL || words.iter().all(|word| !now.contains(word)), "{now}");
            let then = RoleText::built_in(role).fill_with(&PART, &commands(true));
            assert!(words.iter().all(|word| then.contains(word)), "{then}");
        }
    }
}
