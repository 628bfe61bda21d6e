//! The rules that know what a CLI shows still fit what it really shows.
//!
//! Each screen here is brought about by a test of its kind. All of its rules have to fit it, also those that are
//! not asked because another one speaks first: a newer CLI that draws something else is found out by name.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use cmux_core::screen::prompt::Composer;
use cmux_core::screen::{Screen, Seen};
use cmux_core::time::Timestamp;
use cmux_drivers::kinds::Kinds;
use cmux_drivers::manifest::Manifest;
use cmux_wire::agent::{Agent, Phase};
use cmux_wire::why::{Saying, Why};

use crate::proof::{self, version};
use crate::record::{self, Shown};
use crate::stage::Stage;

/// A kind, a screen of it, and the rules that know that: the first of them is the one that speaks.
type Known = (&'static str, &'static str, &'static [&'static str]);

/// What is shown, and known.
const KNOWN: &[Known] = &[
    ("claude", "idle", &["footer"]),
    ("claude", "idle-error", &["api-error", "footer"]),
    ("claude", "idle-login", &["login", "footer"]),
    ("claude", "draft", &["footer"]),
    ("claude", "draft-folded", &["footer"]),
    ("claude", "busy", &["spinner", "interrupt-hint"]),
    ("claude", "busy-queued", &["spinner"]),
    ("claude", "busy-retrying", &["retrying"]),
    ("claude", "busy-thinking", &["answering", "spinner"]),
    ("claude", "asking", &["permission"]),
    ("claude", "asking-edit", &["permission"]),
    ("claude", "asking-question", &["question"]),
    ("claude", "limited", &["rate-limit"]),
    ("claude", "dialog-trust", &["trust"]),
    ("claude", "dialog-api-key", &["api-key"]),
    ("claude", "dialog-bypass", &["bypass"]),
    ("claude", "dialog-onboarding", &["onboarding"]),
    ("codex", "idle", &["footer"]),
    ("codex", "draft", &["footer"]),
    ("codex", "busy", &["spinner-title", "working"]),
    ("codex", "asking", &["action-required-title", "permission"]),
    ("codex", "limited", &["usage-limit"]),
    ("codex", "dialog-trust", &["trust"]),
    ("codex", "dialog-hooks", &["hooks-review"]),
    ("codex", "dialog-sign-in", &["sign-in"]),
    ("gemini", "idle", &["ready-title", "placeholder"]),
    ("gemini", "draft", &["ready-title"]),
    ("gemini", "busy", &["working-title", "thinking"]),
    ("gemini", "asking", &["action-required-title", "permission"]),
    ("gemini", "limited", &["usage-limit"]),
    ("gemini", "dialog-trust", &["trust"]),
    ("gemini", "dialog-sign-in", &["sign-in"]),
    ("hermes", "idle", &["status-bar"]),
    ("hermes", "draft", &["status-bar"]),
    ("hermes", "busy", &["steering-hint"]),
    ("hermes", "asking", &["approval", "approval-prompt"]),
    ("hermes", "dialog-session-gone", &["session-gone"]),
    ("opencode", "idle", &["footer"]),
    ("opencode", "draft", &["footer"]),
    ("opencode", "busy", &["interrupt-hint"]),
    ("opencode", "asking", &["permission"]),
    ("opencode", "asking-folder", &["permission"]),
    ("opencode", "asking-question", &["question"]),
    ("opencode", "limited", &["retrying"]),
];

/// Rules that know what no test can bring about, and why. It may only become shorter.
const UNSEEN: &[(&str, &str, &str)] = &[
    ("claude", "usage-limit", "only a subscription has such limits"),
    ("codex", "update", "it would ask the registry of packages for a newer version"),
    ("gemini", "quota", "it tries again for many minutes, and shows nothing of it"),
];

/// Waits until an agent shows this, and every rule fits that knows it, and cmux has seen it. What it shows then is
/// recorded, if that is wanted.
#[track_caller]
pub(crate) fn know(stage: &Stage, agent: &Agent, screen: &str) {
    let shown = seen(stage, agent, screen);
    record::keep(stage, &shown, &agent.kind, screen);
    proof::note(stage, &agent.kind, &format!("screen-{screen}"));
}

/// Waits until an agent shows this, every rule fits that knows it, and cmux has seen it. Returns what it shows.
#[track_caller]
pub(crate) fn seen(stage: &Stage, agent: &Agent, screen: &str) -> Shown {
    let (_, _, rules) = KNOWN
        .iter()
        .find(|(kind, name, _)| (*kind, *name) == (&*agent.kind, screen))
        .unwrap_or_else(|| panic!("nothing is said of {} {screen}", agent.kind));
    let manifest = &manifests()[&agent.kind];
    let mut missed = Vec::new();
    let fits = catch_unwind(AssertUnwindSafe(|| {
        stage.eventually("its rules fit", || {
            let shown = record::shown(stage, agent);
            let seen = shown.screen();
            missed = unfit(manifest, &seen, rules);
            let is_it = missed.is_empty() && screen.starts_with(said(manifest, &seen));
            (is_it && is_told(stage, agent, rules[0])).then_some(shown)
        })
    }));
    fits.unwrap_or_else(|why| {
        let why = why.downcast_ref::<String>().map_or("", String::as_str);
        let (kind, version) = (&agent.kind, version(stage, &agent.kind));
        match missed.is_empty() {
            true => panic!("cmux does not take what {version} shows for {screen} of {kind}: {why}"),
            false => panic!(
                "the rules {missed:?} of {kind} do not fit what {version} shows as {screen}: {why}"
            ),
        }
    })
}

/// Returns which rules do not fit what an agent shows that would know it in this phase, for whoever waits in vain.
pub(crate) fn missed(stage: &Stage, name: &str, phase: Phase) -> String {
    let agent = stage.post.world.agent(name);
    let (Some(manifest), Some(_)) = (manifests().remove(&agent.kind), &agent.pane) else {
        return String::new();
    };
    let lines = told(&manifest, &agent.kind, phase, &record::shown(stage, &agent).screen());
    format!("of {} in {}:\n{lines}", agent.kind, version(stage, &agent.kind).trim())
}

/// Tells of each screen of a kind in a phase which of its rules do not fit what is shown.
fn told(manifest: &Manifest, kind: &str, phase: Phase, shown: &Screen) -> String {
    let lines = of_phase(kind, phase).map(|(_, screen, rules)| {
        match unfit(manifest, shown, rules).as_slice() {
            [] => format!("what is shown fits {screen}\n"),
            missed => format!("the rules {missed:?} do not know what is shown as {screen}\n"),
        }
    });
    lines.collect()
}

/// Returns what is known of a kind in a phase. Whoever waits for its prompt or for a question may be kept by a
/// dialog that no rule knows any more.
fn of_phase(kind: &str, phase: Phase) -> impl Iterator<Item = &'static Known> {
    let may_be_dialog = matches!(phase, Phase::Idle | Phase::Asking);
    let phase = serde_json::to_value(phase).unwrap().as_str().unwrap().to_owned();
    let is_it = move |screen: &str| {
        let sort = screen.split('-').next();
        sort == Some(phase.as_str()) || (may_be_dialog && sort == Some("dialog"))
    };
    KNOWN.iter().filter(move |(of, screen, _)| *of == kind && is_it(screen))
}

/// Returns what is at an agent's prompt, if anything is.
pub(crate) fn composer(stage: &Stage, agent: &Agent) -> Option<String> {
    let shown = record::shown(stage, agent).screen();
    match manifests()[&agent.kind].eyes.look(&shown, Timestamp(0), 0).composer {
        Composer::Absent | Composer::Empty => None,
        Composer::Holds(text) => Some(text),
    }
}

/// Returns what a screen is taken for, as the names of screens begin.
fn said(manifest: &Manifest, shown: &Screen) -> &'static str {
    match manifest.eyes.look(shown, Timestamp(0), 0).seen {
        None => "unknown",
        Some(Seen::Idle) => "idle",
        Some(Seen::Busy { .. }) => "busy",
        Some(Seen::Asking { .. }) => "asking",
        Some(Seen::Limited { .. }) => "limited",
        Some(Seen::Dialog { .. }) => "dialog",
        Some(Seen::Draft { .. }) => "draft",
    }
}

/// Returns which of these rules do not fit what is shown.
fn unfit(manifest: &Manifest, shown: &Screen, rules: &[&'static str]) -> Vec<&'static str> {
    let fit = manifest.eyes.all_that_fit(shown);
    rules.iter().filter(|name| !fit.iter().any(|rule| rule.name == **name)).copied().collect()
}

/// Whether `cmux agent why` tells of what this rule says.
fn is_told(stage: &Stage, agent: &Agent, rule: &str) -> bool {
    let why: Why = serde_json::from_value(stage.told(&["agent", "why", &agent.name])).unwrap();
    let is_it = |it: &Saying| {
        it.rule.as_deref() == Some(rule) && ["title", "screen"].contains(&&*it.witness)
    };
    why.sayings.iter().any(is_it)
}

fn manifests() -> BTreeMap<String, Manifest> {
    let kinds = Kinds::load(Path::new("/no/such/folder"), &BTreeMap::new());
    kinds.all().map(|it| (it.manifest.kind.to_string(), it.manifest.clone())).collect()
}

#[test]
fn every_rule_is_tried_or_knows_what_cannot_be_brought_about() {
    for (kind, manifest) in manifests() {
        let known: Vec<&str> = KNOWN
            .iter()
            .filter(|it| it.0 == kind)
            .flat_map(|it| it.2)
            .chain(UNSEEN.iter().filter(|it| it.0 == kind).map(|it| &it.1))
            .copied()
            .collect();
        // A kind of which no test runs.
        if known.is_empty() {
            continue;
        }
        let rules: Vec<&str> = manifest.eyes.rules.iter().map(|rule| &*rule.name).collect();
        for rule in &rules {
            assert!(known.contains(rule), "nothing tries the rule {rule} of {kind}");
        }
        for rule in known {
            assert!(rules.contains(&rule), "{kind} has no rule {rule}");
        }
    }
}

#[test]
fn a_rule_that_does_not_fit_any_more_is_named() {
    let manifest = &manifests()["codex"];
    for (screen, phase, replaced, expected) in [
        ("idle", Phase::Idle, ("", ""), &[][..]),
        ("idle", Phase::Idle, ("default · /srv", "default — /srv"), &["footer"]),
        ("asking", Phase::Asking, ("", ""), &[]),
        ("asking", Phase::Asking, ("Yes, proceed (y)", "Go ahead (y)"), &["permission"]),
        ("dialog-trust", Phase::Idle, ("", ""), &[]),
        ("dialog-trust", Phase::Asking, ("Trust and continue", "Go ahead"), &["trust"]),
    ] {
        let shown = record::recorded("codex", screen, |text| text.replace(replaced.0, replaced.1));
        let told = told(manifest, "codex", phase, &shown);
        let line = match expected {
            [] => format!("what is shown fits {screen}"),
            missed => format!("the rules {missed:?} do not know what is shown as {screen}"),
        };
        assert!(told.lines().any(|it| it == line), "{line}: {told}");
    }
}
