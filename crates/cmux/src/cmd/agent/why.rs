//! `cmux agent why`: who said what of an agent, and what cmux made of it.

use cmux_wire::why::{Saying, Why};

use crate::say::{Cell, Say, Tone, clean, plain, span, toned};

/// Returns in words why an agent is in its phase.
pub(crate) fn tell(why: &Why, name: &str, say: Say) -> String {
    let now = cmux_drivers::clock::wall().0;
    let ago = |saying: &Saying| format!("{} ago", span(now - saying.at.millis()));
    let since = span(now - why.since.millis());
    let reason = why.reason.as_deref().map_or_else(String::new, |it| format!(": {}", clean(it)));
    let mut told = format!(
        "{} {} for {since}{reason}\n",
        clean(name),
        say.paint(&why.phase.to_string(), Tone::Strong)
    );
    let rows: Vec<Vec<Cell>> = why
        .sayings
        .iter()
        .map(|saying| {
            let decided = if why.decided.as_ref() == Some(saying) { "→" } else { "" };
            vec![
                toned(decided, Tone::Good),
                toned(&saying.witness, Tone::Strong),
                plain(&saying.says),
                toned(ago(saying), Tone::Faint),
                plain(evidence(saying)),
            ]
        })
        .collect();
    if rows.is_empty() {
        return told + "nobody has said anything of it yet\n";
    }
    told += &say.table(&rows);
    match &why.decided {
        Some(saying) if !why.sayings.contains(saying) => {
            told += &format!(
                "{} decided: {} {}\n",
                clean(&saying.witness),
                clean(&saying.says),
                ago(saying)
            );
        }
        Some(_) => {}
        None => told += "none of them decided\n",
    }
    told
}

/// Returns by what a witness went.
fn evidence(saying: &Saying) -> String {
    match (&saying.rule, &saying.line) {
        (Some(rule), Some(line)) => format!("rule `{rule}`: {line}"),
        (Some(rule), None) => format!("rule `{rule}`"),
        (None, Some(line)) => line.clone(),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use cmux_wire::agent::Phase;
    use cmux_wire::time::Time;

    use super::*;

    #[test]
    fn the_witness_that_decided_is_marked_and_each_tells_by_what() {
        let told = told(&why(Some(saying("hooks")), vec![saying("hooks"), saying("screen")]));
        let lines: Vec<&str> = told.lines().collect();
        assert!(
            lines[0].starts_with("worker asking for ") && lines[0].ends_with(": Bash"),
            "{told}"
        );
        assert!(lines[1].starts_with("→  hooks   asking  "), "{told}");
        assert!(lines[1].ends_with("rule `permission`: Do you want to\u{fffd}"), "{told}");
        assert!(lines[2].starts_with("   screen  asking  "), "{told}");
    }

    #[test]
    fn that_nobody_said_anything_or_decided_is_told() {
        assert!(told(&why(None, Vec::new())).ends_with("nobody has said anything of it yet\n"));
        assert!(told(&why(None, vec![saying("screen")])).ends_with("none of them decided\n"));
        let gone = told(&why(Some(saying("process")), vec![saying("screen")]));
        assert!(gone.lines().last().unwrap().starts_with("process decided: asking "), "{gone}");
    }

    fn told(why: &Why) -> String {
        tell(why, "worker", Say::new(false))
    }

    fn why(decided: Option<Saying>, sayings: Vec<Saying>) -> Why {
        let (agent, since) = ("agt_1".to_owned(), Time::from_millis(0));
        let reason = Some("Bash".to_owned());
        Why { agent, phase: Phase::Asking, since, reason, decided, sayings }
    }

    fn saying(witness: &str) -> Saying {
        Saying {
            witness: witness.to_owned(),
            says: "asking".to_owned(),
            rule: Some("permission".to_owned()),
            line: Some("Do you want to\u{1b}".to_owned()),
            at: Time::from_millis(0),
        }
    }
}
