//! Who is believed: several witnesses tell what an agent does, and one of them decides.
//!
//! A manifest ranks them. The best whose word still stands decides; a lesser one is heard only when no
//! better one's word does. A look that failed, and a screen that no rule knows, say nothing: they are not
//! heard here, and what was said before grows old by itself.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::agent::{Doing, LOOK_LAG};
use crate::kind::Witness;
use crate::screen::{Eyes, Screen, Seen, Sight};
use crate::time::Timestamp;

/// How long after an event a look may still show what was before it.
pub const SETTLE: Duration = Duration::from_secs(1);

/// What a witness said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub witness: Witness,
    pub doing: Doing,
    /// The rule that knew it and the line by which it did, if it was seen.
    pub rule: Option<String>,
    pub line: Option<String>,
    /// When it was so: at the last look that succeeded, or when the event happened, and not when that
    /// was heard of.
    pub at: Timestamp,
}

impl Said {
    /// Returns what a look at a screen said, or nothing if no rule knew it.
    pub fn of_sight(sight: &Sight, at: Timestamp) -> Option<Said> {
        let doing = doing(sight.seen.as_ref()?);
        let line = Some(sight.line.clone()).filter(|line| !line.is_empty());
        Some(Said { witness: sight.witness?, doing, rule: sight.rule.clone(), line, at })
    }

    /// Returns whether two witnesses say the same, each as well as it can.
    fn agrees(&self, other: &Said) -> bool {
        match (&self.doing, &other.doing) {
            (Doing::AtPrompt, Doing::AtPrompt)
            | (Doing::Working, Doing::Working)
            | (Doing::Asking { .. }, Doing::Asking { .. })
            | (Doing::Limited { .. }, Doing::Limited { .. }) => true,
            (
                Doing::AtPrompt | Doing::Working | Doing::Asking { .. } | Doing::Limited { .. },
                _,
            ) => false,
        }
    }

    /// Returns whether this, said at one moment with `other`, is to be kept: whichever comes first, the
    /// one that has more reason to leave the agent alone is.
    fn outweighs(&self, other: &Said) -> bool {
        fn weight(said: &Said) -> (u8, Option<Timestamp>, &str) {
            match &said.doing {
                Doing::AtPrompt => (0, None, ""),
                Doing::Working => (1, None, ""),
                Doing::Limited { until } => (2, *until, ""),
                Doing::Asking { what } => (3, None, what),
            }
        }
        let told = |said: &Said| (said.rule.clone(), said.line.clone());
        let by_weight = weight(self).cmp(&weight(other));
        by_weight.then_with(|| told(self).cmp(&told(other))) == Ordering::Greater
    }
}

/// The newest word of each witness of one life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statements(BTreeMap<Witness, Said>);

impl Statements {
    /// Takes a word, unless its witness has said something since.
    pub fn hear(&mut self, said: Said) {
        let is_newer = self
            .0
            .get(&said.witness)
            .is_none_or(|known| said.at > known.at || said.at == known.at && said.outweighs(known));
        if is_newer {
            self.0.insert(said.witness, said);
        }
    }

    /// Takes back what a witness said: it was looked at again, and says nothing any more.
    pub fn forget(&mut self, witness: Witness) {
        self.0.remove(&witness);
    }

    pub fn of(&self, witness: Witness) -> Option<&Said> {
        self.0.get(&witness)
    }

    pub fn all(&self) -> impl Iterator<Item = &Said> {
        self.0.values()
    }

    /// Returns whether what a witness said last still stands at `now`. What is looked at must have been
    /// seen lately, and not before something happened that says otherwise; an event stands until a word
    /// that is newer by more than a look may lag says otherwise.
    pub fn stands(&self, witness: Witness, now: Timestamp) -> bool {
        let Some(said) = self.of(witness) else { return false };
        match is_looked_at(witness) {
            true => now.since(said.at) <= LOOK_LAG && !self.is_overtaken(said),
            false => !self.all().any(|it| it.at.since(said.at) > LOOK_LAG && !it.agrees(said)),
        }
    }

    /// Returns whether something has happened since a look, or so shortly before that it need not have
    /// shown yet, by which it is not so any more.
    fn is_overtaken(&self, look: &Said) -> bool {
        self.all()
            .filter(|event| !is_looked_at(event.witness) && !event.agrees(look))
            .any(|event| look.at < event.at + SETTLE)
    }
}

/// Returns the word that decides at `now`, or nothing if nobody's stands.
pub fn judge<'a>(
    ranking: &[Witness],
    statements: &'a Statements,
    now: Timestamp,
) -> Option<&'a Said> {
    let mut standing = ranking
        .iter()
        .filter(|witness| statements.stands(**witness, now))
        .filter_map(|witness| statements.of(*witness));
    let best = standing.next()?;
    // Only a screen tells of a provider's limit. To anybody else the agent is at its prompt then, which
    // it is: that is not contradicted.
    let finer = standing.find(|it| match it.doing {
        Doing::Limited { until } => until.is_none_or(|until| until > now),
        Doing::AtPrompt | Doing::Working | Doing::Asking { .. } => false,
    });
    finer.filter(|_| best.doing == Doing::AtPrompt).or(Some(best))
}

/// Returns what an agent does whose screen shows this.
pub fn doing(seen: &Seen) -> Doing {
    match seen {
        Seen::Idle | Seen::Draft { .. } => Doing::AtPrompt,
        Seen::Busy { .. } => Doing::Working,
        Seen::Asking { what } => Doing::Asking { what: what.clone() },
        Seen::Limited { until } => Doing::Limited { until: *until },
        Seen::Dialog { name } => Doing::Asking { what: name.clone() },
    }
}

/// Returns what a terminal's title says by itself, and the rule that knows it. A rule that also wants to
/// see the prompt needs a look at the whole screen.
pub fn title_says(eyes: &Eyes, title: &str, now: Timestamp) -> Option<(Doing, String)> {
    let of_title = eyes.rules.iter().filter(|rule| rule.witness() == Witness::Title);
    let eyes = Eyes { prompt: eyes.prompt.clone(), rules: of_title.cloned().collect() };
    let screen = Screen { title: title.to_owned(), ..Screen::default() };
    let sight = eyes.look(&screen, now, 0);
    Some((doing(sight.seen.as_ref()?), sight.rule?))
}

/// Returns whether a witness is asked again and again, and does not speak up by itself.
fn is_looked_at(witness: Witness) -> bool {
    match witness {
        Witness::Status | Witness::Title | Witness::Screen => true,
        Witness::Hooks | Witness::Transcript => false,
    }
}

#[cfg(test)]
mod tests;
