//! `cmux agent kinds`: which kinds of agents there are, and which is taken when nobody says.

use cmux_core::nearest::nearest;
use cmux_drivers::home::Home;
use cmux_wire::kind::{Kind, Kinds};
use cmux_wire::trust::Trust;

use crate::fail::{Code, Fail};
use crate::place;
use crate::say::{Cell, Say, Tone, plain, toned};

/// What is looked for when nobody says which kind, the first first.
const USUAL: [&str; 6] = ["claude", "codex", "gemini", "opencode", "hermes", "agy"];

/// The kind that is always there.
pub(crate) const BUILT_IN: &str = "demo";

/// A kind that an agent can be of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) kind: String,
    /// What a person should know of why it is this one.
    pub(crate) note: Option<String>,
}

/// Who says of which kind an agent is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// Whoever asks for it.
    Here(String),
    /// Its project's own file, which is trusted.
    Project(String),
    /// The user's file.
    User(String),
    Nobody,
}

impl Said {
    /// Returns who is heard: whoever asks, then the project as far as it is trusted, then the user.
    pub(crate) fn first(here: Option<&str>, trust: &Trust, home: &Home) -> Result<Said, Fail> {
        Ok(match (here, &trust.kind) {
            (Some(kind), _) => Said::Here(kind.to_owned()),
            (None, Some(kind)) => Said::Project(kind.clone()),
            (None, None) => match place::settings(home)?.kind {
                Some(kind) => Said::User(kind.to_string()),
                None => Said::Nobody,
            },
        })
    }

    /// Returns the kind that was said, and what is to be added if it cannot be had: to whoever did not
    /// say it here and now.
    fn kind(&self) -> Option<(&str, &'static str)> {
        match self {
            Said::Here(kind) => Some((kind, "")),
            Said::Project(kind) => Some((kind, "; the project's .cmux/config.toml asks for it")),
            Said::User(kind) => Some((kind, "; `agents.kind` in your config.toml asks for it")),
            Said::Nobody => None,
        }
    }
}

/// Returns the kind that was `said`, or else the first that is on the machine.
pub(crate) fn choose(kinds: &Kinds, said: &Said) -> Result<Chosen, Fail> {
    let named = |name: &str| kinds.kinds.iter().find(|kind| kind.name == name);
    let Some((wanted, whose)) = said.kind() else {
        let is_here = |name: &&&str| named(name).is_some_and(|kind| kind.program.is_some());
        return Ok(match USUAL.iter().find(is_here) {
            Some(kind) => Chosen { kind: (*kind).to_owned(), note: None },
            None => Chosen { kind: BUILT_IN.to_owned(), note: Some(none_found()) },
        });
    };
    let another = if whose.is_empty() { "" } else { ", or say another with --kind" };
    let Some(kind) = named(wanted) else {
        let what = format!("there is no kind of agent `{wanted}`{whose}");
        let fail = Fail::new(Code::NotFound, what);
        return Err(match nearest(wanted, kinds.kinds.iter().map(|kind| kind.name.as_str())) {
            Some(near) => fail.hint(format!("did you mean `{near}`?")),
            None => fail.hint(format!("`cmux agent kinds` lists those there are{another}")),
        });
    };
    if kind.program.is_none() {
        let title = &kind.title;
        let what = format!("{title} is not on this machine, or not on the daemon's PATH{whose}");
        return Err(Fail::failed(what).hint(format!("get it: {}{another}", kind.install)));
    }
    Ok(Chosen { kind: kind.name.clone(), note: None })
}

fn none_found() -> String {
    format!(
        "no agent CLI was found on this machine, so this is `{BUILT_IN}`, which only plays one; `cmux \
         agent kinds` tells how to get another"
    )
}

pub(super) fn tell(kinds: &Kinds, say: Say) -> String {
    let rows: Vec<Vec<Cell>> = kinds.kinds.iter().flat_map(rows).collect();
    let mut told = say.table(&rows);
    for refused in &kinds.refused {
        let rows = [vec![toned("!", Tone::Warning), plain(refused)]];
        told += &say.table(&rows);
    }
    told
}

/// Returns what there is to say of a kind: what was found, what it can do, or how to get it.
fn rows(kind: &Kind) -> Vec<Vec<Cell>> {
    let name = toned(&kind.name, Tone::Strong);
    let Some(program) = &kind.program else {
        let missing = toned("not found", Tone::Warning);
        let remedy = toned(format!("→ {}", kind.install), Tone::Faint);
        return vec![vec![name, plain(&kind.title), missing], vec![plain(""), plain(""), remedy]];
    };
    let found = match (&kind.version, &kind.tested) {
        (Some(version), Some(tested)) if !version.contains(tested) => {
            toned(format!("{version}, tested with {tested}"), Tone::Plain)
        }
        (Some(version), _) => toned(version, Tone::Good),
        (None, _) => toned(program, Tone::Good),
    };
    let can = format!("can {}", kind.can.join(", "));
    let cannot = kind.cannot.iter().map(|it| format!("cannot {}: {}", it.what, it.why));
    let below = std::iter::once(can).chain(cannot);
    let below = below.map(|it| vec![plain(""), plain(""), toned(it, Tone::Faint)]);
    std::iter::once(vec![name, plain(&kind.title), found]).chain(below).collect()
}

#[cfg(test)]
mod tests {
    use cmux_wire::kind::Cannot;

    use super::*;

    #[test]
    fn what_is_there_says_what_it_can_and_what_is_not_says_how_to_get_it() {
        let found = Kind { program: Some("/bin/x".to_owned()), ..kind() };
        check(&found, &["/bin/x", "can resume, exit"]);
        let told = Kind { version: Some("x 1.2".to_owned()), ..found.clone() };
        check(&told, &["x 1.2", "can resume, exit"]);
        let other = Kind { tested: Some("1.3".to_owned()), ..told };
        check(&other, &["x 1.2, tested with 1.3", "can resume, exit"]);
        check(&kind(), &["not found", "→ make it"]);
    }

    #[test]
    fn what_a_kind_cannot_do_is_told_with_the_reason() {
        let cannot = |what: &str, why: &str| Cannot { what: what.to_owned(), why: why.to_owned() };
        let cannot = vec![cannot("title", "it sets none"), cannot("usage", "it tells \u{1b} none")];
        let found = Kind { program: Some("/bin/x".to_owned()), cannot, ..kind() };
        let told = tell(&Kinds { kinds: vec![found], ..none() }, Say::new(false));
        let expected = "x  X  /bin/x\n      can resume, exit\n      cannot title: it sets none\n      \
                        cannot usage: it tells \u{fffd} none\n";
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_wrong_with_a_manifest_is_shown_below() {
        let refused = vec!["a.toml:3: there is no setting `x\u{1b}`".to_owned()];
        let told = tell(&Kinds { kinds: vec![kind()], refused, ..none() }, Say::new(false));
        let last = told.lines().last().unwrap();
        assert_eq!(last, "!  a.toml:3: there is no setting `x\u{fffd}`");
    }

    #[test]
    fn the_kind_is_the_one_that_is_wanted_or_the_first_that_is_here() {
        let found = |name: &str| Kind { program: Some("/x".to_owned()), ..named(name) };
        let all = Kinds {
            kinds: ["claude"]
                .map(named)
                .into_iter()
                .chain(["codex", "demo", "gemini", "mine"].map(found))
                .collect(),
            refused: Vec::new(),
            next: None,
        };
        let kind = |said| choose(&all, &said).map(|it| it.kind).map_err(|it| it.code);
        let here = |kind: &str| Said::Here(kind.to_owned());
        assert_eq!(kind(Said::Nobody), Ok("codex".to_owned()));
        for said in [here("mine"), Said::Project("mine".into()), Said::User("mine".into())] {
            assert_eq!(kind(said), Ok("mine".to_owned()));
        }
        assert_eq!(kind(here("claude")), Err(Code::Failed));
        assert_eq!(kind(here("cluade")), Err(Code::NotFound));
        let told = choose(&all, &here("cluade")).unwrap_err().hint;
        assert_eq!(told.as_deref(), Some("did you mean `claude`?"));
        let told = choose(&all, &here("claude")).unwrap_err().hint;
        assert_eq!(told.as_deref(), Some("get it: make it"));
        let told = choose(&all, &Said::Project("claude".to_owned())).unwrap_err();
        assert!(told.what.ends_with("the project's .cmux/config.toml asks for it"), "{told:?}");
        assert_eq!(told.hint.as_deref(), Some("get it: make it, or say another with --kind"));

        let bare = Kinds { kinds: vec![named("claude"), found("mine"), found("demo")], ..all };
        let chosen = choose(&bare, &Said::Nobody).unwrap();
        assert_eq!(chosen.kind, "demo");
        assert!(chosen.note.unwrap().contains("no agent CLI was found"));
    }

    fn none() -> Kinds {
        Kinds { kinds: Vec::new(), refused: Vec::new(), next: None }
    }

    fn named(name: &str) -> Kind {
        Kind { name: name.to_owned(), ..kind() }
    }

    #[track_caller]
    fn check(kind: &Kind, expected: &[&str]) {
        let told: Vec<String> = rows(kind).into_iter().map(|mut row| row.remove(2).0).collect();
        assert_eq!(told, expected);
    }

    fn kind() -> Kind {
        Kind {
            name: "x".to_owned(),
            title: "X".to_owned(),
            program: None,
            version: None,
            tested: None,
            install: "make it".to_owned(),
            file: None,
            witnesses: vec!["screen".to_owned()],
            permissions: "edits".to_owned(),
            can: vec!["resume".to_owned(), "exit".to_owned()],
            cannot: Vec::new(),
        }
    }
}
