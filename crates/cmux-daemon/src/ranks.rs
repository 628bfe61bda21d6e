//! How far the hooks of each kind are believed, as its manifest ranks its witnesses.

use std::sync::Arc;

use cmux_core::hook::Ranks;
use cmux_core::kind::Witness;
use cmux_drivers::kinds::{Kinds, Known};
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

use crate::shelf::Shelf;

/// The ranks of all kinds, which are read when they are first asked for.
#[derive(Debug)]
pub(crate) struct HookRanks {
    kinds: Arc<Shelf>,
    ranks: OnceCell<Ranks>,
}

impl HookRanks {
    pub(crate) fn of(kinds: Arc<Shelf>) -> HookRanks {
        HookRanks { kinds, ranks: OnceCell::new() }
    }

    pub(crate) async fn get(&self) -> Ranks {
        let read = || async {
            let kinds = self.kinds.clone();
            let read = spawn_blocking(move || read(&kinds.kinds()));
            read.await.unwrap_or_default()
        };
        self.ranks.get_or_init(read).await.clone()
    }
}

fn read(kinds: &Kinds) -> Ranks {
    let rank = |known: &Known| {
        let place = known.manifest.witnesses.iter().position(|it| *it == Witness::Hooks)?;
        Some((known.manifest.kind.to_string(), u8::try_from(place).unwrap_or(u8::MAX)))
    };
    kinds.all().filter_map(rank).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    #[test]
    fn hooks_rank_as_the_manifest_says() {
        let ranks = read(&Kinds::load(Path::new("/nowhere"), &BTreeMap::new()));
        for (kind, expected) in [("claude", 1), ("demo", 1), ("codex", 1), ("unheard-of", 1)] {
            assert_eq!(ranks.of(kind), expected, "{kind}");
        }
    }
}
