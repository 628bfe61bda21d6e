//! `cmux agent`: what runs in the terminals, and which kinds of it there are.

use clap::Subcommand;
use cmux_wire::kind::{Kind, Kinds};

use crate::cli::{Common, wait};
use crate::fail::Fail;
use crate::place;
use crate::say::{Cell, Say, Tone, plain, toned};

#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// List the kinds of agents, what was found of them on this machine, and what they can do
    #[command(
        after_help = "A file of your own in $CMUX_HOME/agents/ adds a kind or replaces one.\n\n\
                      Examples:\n  cmux agent kinds\n  \
                      cmux agent kinds --json | jq -r '.kinds[] | select(.program) | .name'"
    )]
    Kinds,
}

impl Agent {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let home = place::home(common.home.as_deref())?;
        let client = place::client(&home);
        wait(async {
            match self {
                Agent::Kinds => {
                    let kinds = client.kinds().await?;
                    say.show(&kinds, |it| tell(it, say))
                }
            }
        })
    }
}

fn tell(kinds: &Kinds, say: Say) -> String {
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
    let can = toned(format!("can {}", kind.can.join(", ")), Tone::Faint);
    vec![vec![name, plain(&kind.title), found], vec![plain(""), plain(""), can]]
}

#[cfg(test)]
mod tests {
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
    fn what_is_wrong_with_a_manifest_is_shown_below() {
        let refused = vec!["a.toml:3: there is no setting `x\u{1b}`".to_owned()];
        let told = tell(&Kinds { kinds: vec![kind()], refused, next: None }, Say::new(false));
        let last = told.lines().last().unwrap();
        assert_eq!(last, "!  a.toml:3: there is no setting `x\u{fffd}`");
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
