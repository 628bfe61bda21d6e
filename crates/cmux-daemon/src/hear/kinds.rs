//! Which kinds of agents run what they are told as a command. Nothing is told to those but what the person
//! has to say.

use std::collections::BTreeSet;

use cmux_store::{StoreError, Tx, View, settings};
use serde_json::{Value, json};

use crate::hear::Heard;

/// The setting that remembers them.
const COMMANDED: &str = "kinds.commanded";

/// Takes note of what is known of a kind.
pub(super) fn are(tx: &Tx<'_>, kind: &str, is_commanded: bool) -> Result<Heard, StoreError> {
    let mut all = known(tx.view())?;
    let is_news = match is_commanded {
        true => all.insert(kind.to_owned()),
        false => all.remove(kind),
    };
    if is_news {
        settings::save(tx, COMMANDED, &json!(all))?;
    }
    Ok(Heard::new([]))
}

/// Returns whether agents of this kind run what they are told.
pub(super) fn is_commanded(view: View<'_>, kind: &str) -> Result<bool, StoreError> {
    Ok(known(view)?.contains(kind))
}

fn known(view: View<'_>) -> Result<BTreeSet<String>, StoreError> {
    let found = settings::find(view, COMMANDED)?;
    let all = found.as_ref().and_then(Value::as_array).into_iter().flatten();
    Ok(all.filter_map(Value::as_str).map(ToOwned::to_owned).collect())
}
