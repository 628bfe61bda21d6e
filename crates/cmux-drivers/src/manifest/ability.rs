//! What a CLI can do: whatever its manifest says how to. What it cannot do must not be said both ways.

use std::collections::{BTreeMap, BTreeSet};

use cmux_core::kind::{Ability, Witness};
use cmux_core::screen::Region;

use super::Manifest;

/// Returns what `manifest` says how to do.
pub(super) fn abilities(manifest: &Manifest) -> BTreeSet<Ability> {
    Ability::ALL.into_iter().filter(|ability| is_told(manifest, *ability)).collect()
}

fn is_told(manifest: &Manifest, ability: Ability) -> bool {
    let Manifest { launch, keys, hooks, .. } = manifest;
    match ability {
        Ability::Resume => launch.resume.is_some(),
        Ability::Interrupt => !keys.interrupt.is_empty(),
        Ability::Clear => keys.clear.is_some(),
        Ability::Compact => keys.compact.is_some(),
        Ability::Exit => keys.exit.is_some(),
        Ability::Hooks => hooks.is_some(),
        Ability::Block => hooks.as_ref().is_some_and(|hooks| hooks.blocks),
        Ability::Transcript => manifest.transcript.is_some(),
        Ability::Status => manifest.status.is_some(),
        Ability::Title => manifest.eyes.rules.iter().any(|rule| rule.region == Region::Title),
        Ability::Api => manifest.api.is_some(),
        Ability::Usage => manifest.usage.is_some(),
    }
}

/// Returns what is said to be impossible though it is said how to do it.
pub(super) fn contradiction(
    can: &BTreeSet<Ability>,
    cannot: &BTreeMap<Ability, String>,
) -> Option<Ability> {
    cannot.keys().copied().find(|ability| can.contains(ability))
}

/// Returns a witness that the CLI does not have.
pub(super) fn absent(can: &BTreeSet<Ability>, witnesses: &[Witness]) -> Option<Witness> {
    let is_absent = |it: &Witness| it.ability().is_some_and(|ability| !can.contains(&ability));
    witnesses.iter().copied().find(is_absent)
}
