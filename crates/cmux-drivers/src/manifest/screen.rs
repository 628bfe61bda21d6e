//! The parts of a manifest that tell how screens are read: the prompt, the rules, the dialogs.

use std::collections::BTreeSet;

use cmux_core::screen::pattern::{BadPattern, Pattern};
use cmux_core::screen::prompt::{Counts, Fold, Frame, PromptShape};
use cmux_core::screen::rule::{Rule, Says};
use cmux_core::screen::{Eyes, Region};

use super::read::{KEY_NAMES, keys};
use super::{Consent, Dialog, Reply};
use crate::config::ConfigError;
use crate::written::Section;

/// How many rules there may be, and how many lines a region may have.
const RULES_MAX: usize = 100;
const REGION_MAX: usize = 200;

/// How many lines may be below a prompt unless it is said.
const BELOW_MAX: u64 = 6;

const PROMPT: [&str; 8] = [
    "frame",
    "mark",
    "placeholders",
    "cursor",
    "folds_lines",
    "folds_letters",
    "footer",
    "below_max",
];
const RULE: [&str; 9] =
    ["name", "phase", "what", "answers", "region", "prompt", "all", "any", "none"];
const DIALOG: [&str; 10] =
    ["name", "region", "prompt", "all", "any", "none", "consent", "choose", "keys", "leave"];
/// All keys, for a test that sees them explained.
#[cfg(test)]
pub(super) const EXPLAINED: [&[&str]; 3] = [&PROMPT, &RULE, &DIALOG];

const REGIONS: &str = "must be title, prompt, below, whole, or above and last with a number of lines \
                       such as `last 5`";

/// What a rule may say.
#[derive(Clone, Copy)]
enum Phase {
    Idle,
    Busy,
    Asking,
    Limited,
}

impl Phase {
    const ALL: [Phase; 4] = [Phase::Idle, Phase::Busy, Phase::Asking, Phase::Limited];

    fn name(self) -> &'static str {
        match self {
            Phase::Idle => "idle",
            Phase::Busy => "busy",
            Phase::Asking => "asking",
            Phase::Limited => "limited",
        }
    }
}

/// Returns how the screens of a CLI are read, and how its dialogs are answered.
pub(super) fn read(root: &Section<'_>) -> Result<(Eyes, Vec<Dialog>), ConfigError> {
    let prompt = prompt(root)?;
    let mark = prompt.marks.first().cloned().unwrap_or_default();
    let (mut rules, mut dialogs) = (Vec::new(), Vec::new());
    let mut names = BTreeSet::new();
    for section in root.sections("dialogs", &DIALOG)? {
        let name = named(&section, &mut names)?;
        rules.push(rule(&section, &name, Says::Dialog { name: name.clone() })?);
        let consent = section.one_of("consent", &Consent::ALL, Consent::name)?;
        dialogs.push(Dialog { answer: reply(&section, &mark)?, name, consent });
    }
    for section in root.sections("rules", &RULE)? {
        let name = named(&section, &mut names)?;
        let says = says(&section)?;
        rules.push(rule(&section, &name, says)?);
    }
    if rules.len() > RULES_MAX {
        return Err(root.wrong("rules", format!("are more than {RULES_MAX}")));
    }
    if !rules.iter().any(|rule| rule.says == Says::Idle) {
        let why = "one of them must have the phase idle, or nothing is ever delivered";
        return Err(root.missing("rules", why));
    }
    Ok((Eyes { prompt, rules }, dialogs))
}

fn prompt(root: &Section<'_>) -> Result<PromptShape, ConfigError> {
    let why = "how the CLI draws where text is typed, as a section [prompt]";
    let section = root.section("prompt", "prompt", &PROMPT)?;
    let section = section.ok_or_else(|| root.missing("prompt", why))?;
    let frames = section.some_of("frame", &Frame::ALL, Frame::name)?;
    let frames = if frames.is_empty() { vec![Frame::Mark] } else { frames };
    let marks = section.texts("mark")?;
    if marks.iter().any(|mark| mark.trim() != mark || mark.is_empty()) {
        return Err(section.wrong("mark", "must hold what stands before the text, without blanks"));
    }
    if marks.is_empty() && frames != [Frame::Bar] {
        return Err(section.missing("mark", "what stands before the text, such as [\">\"]"));
    }
    let footer = patterns(&section, "footer")?;
    if footer.is_empty() && frames.contains(&Frame::Bar) {
        let why = "what the last line of the bar says, as it is not a part of the text";
        return Err(section.missing("footer", why));
    }
    let fold = |counts| move |pattern| Fold { pattern, counts };
    let lines = patterns(&section, "folds_lines")?.into_iter().map(fold(Counts::Lines));
    let letters = patterns(&section, "folds_letters")?.into_iter().map(fold(Counts::Letters));
    let below_max = section.number("below_max", REGION_MAX as u64)?.unwrap_or(BELOW_MAX);
    Ok(PromptShape {
        frames,
        marks,
        placeholders: patterns(&section, "placeholders")?,
        has_cursor: section.flag("cursor")?.unwrap_or(false),
        folds: lines.chain(letters).collect(),
        footer,
        below_max: usize::try_from(below_max).unwrap_or(REGION_MAX),
    })
}

/// Returns the name of a rule or dialog, which no other may have.
fn named(section: &Section<'_>, names: &mut BTreeSet<String>) -> Result<String, ConfigError> {
    let name = section.must_text("name", "what `cmux agent why` calls it")?;
    if names.insert(name.clone()) {
        return Ok(name);
    }
    Err(section.wrong("name", format!("must not be `{name}`, which another one is called")))
}

fn says(section: &Section<'_>) -> Result<Says, ConfigError> {
    let phase = section.one_of("phase", &Phase::ALL, Phase::name)?;
    let what = section.text("what")?;
    let phase = phase.ok_or_else(|| section.missing("phase", "idle, busy, asking or limited"))?;
    let answers = section.flag("answers")?;
    if answers.is_some() && !matches!(phase, Phase::Busy) {
        return Err(section.wrong("answers", "is only for a rule with the phase busy"));
    }
    match (phase, what) {
        (Phase::Asking, Some(what)) => Ok(Says::Asking { what }),
        (Phase::Asking, None) => Err(section.missing("what", "what it asks for")),
        (Phase::Idle | Phase::Busy | Phase::Limited, Some(_)) => {
            Err(section.wrong("what", "is only for a rule with the phase asking"))
        }
        (Phase::Idle, None) => Ok(Says::Idle),
        (Phase::Busy, None) => Ok(Says::Busy { answers: answers.unwrap_or(false) }),
        (Phase::Limited, None) => Ok(Says::Limited),
    }
}

fn rule(section: &Section<'_>, name: &str, says: Says) -> Result<Rule, ConfigError> {
    let rule = Rule {
        name: name.to_owned(),
        says,
        region: region(section)?,
        prompt: section.flag("prompt")?,
        all: patterns(section, "all")?,
        any: patterns(section, "any")?,
        none: patterns(section, "none")?,
    };
    let asks_nothing = rule.all.is_empty() && rule.any.is_empty();
    // That there is a prompt is something to go by; that there is none, or not this text, is not.
    if asks_nothing && rule.prompt != Some(true) {
        return Err(section.missing("all", "what must be seen, or `any`, or `prompt = true`"));
    }
    Ok(rule)
}

fn region(section: &Section<'_>) -> Result<Region, ConfigError> {
    let text = section.must_text("region", "where it looks, such as `last 5`")?;
    let count = |text: &str| text.trim().parse().ok().filter(|n| (1..=REGION_MAX).contains(n));
    let found = match text.as_str() {
        "title" => Some(Region::Title),
        "prompt" => Some(Region::Prompt),
        "below" => Some(Region::Below),
        "whole" => Some(Region::Whole),
        other => match other.split_once(' ') {
            Some(("above", n)) => count(n).map(Region::Above),
            Some(("last", n)) => count(n).map(Region::Last),
            Some(_) | None => None,
        },
    };
    found.ok_or_else(|| section.wrong("region", REGIONS))
}

fn reply(section: &Section<'_>, mark: &str) -> Result<Reply, ConfigError> {
    let told = ["choose", "keys", "leave"].into_iter().filter(|key| section.has(key));
    match told.collect::<Vec<_>>().as_slice() {
        ["choose"] => {
            let option = pattern(section, "choose")?;
            let option = option.ok_or_else(|| section.missing("choose", "the option"))?;
            if mark.is_empty() {
                return Err(section.wrong("choose", "needs a `mark` in [prompt]"));
            }
            Ok(Reply::Choose { option, mark: mark.to_owned() })
        }
        ["keys"] => {
            let pressed = keys(section, "keys")?;
            let none = || section.wrong("keys", format!("must hold {KEY_NAMES}"));
            if pressed.is_empty() { Err(none()) } else { Ok(Reply::Keys(pressed)) }
        }
        ["leave"] => section.must_text("leave", "what a person is told").map(Reply::Leave),
        [] => Err(section.missing("choose", "how it is answered, or `keys`, or `leave`")),
        [_, second, ..] => Err(section.wrong(second, "is one too many: say one way to answer it")),
        [other] => Err(section.wrong(other, "is no way to answer it")),
    }
}

/// Returns the pattern that is said, if one is.
pub(super) fn pattern(section: &Section<'_>, key: &str) -> Result<Option<Pattern>, ConfigError> {
    let bad = |why: BadPattern| section.wrong(key, format!("is no pattern: {why}"));
    section.text(key)?.map(|text| text.parse().map_err(bad)).transpose()
}

fn patterns(section: &Section<'_>, key: &str) -> Result<Vec<Pattern>, ConfigError> {
    section.all(key, str::parse::<Pattern>)
}
