//! What is delivered from outside.

use cmux_core::id::NewIds;
use cmux_core::report::{Answer, Refused};
use cmux_core::time::Timestamp;
use cmux_core::webhook::{Replay, Webhook};
use cmux_store::{StoreError, Tx, webhooks};

use crate::hear::{Heard, mail};

/// Takes a delivery, unless it was there before, and tells whom it concerns. Whoever asked for it to be
/// taken, it is the source that brought it about.
pub(super) fn take(
    tx: &mut Tx<'_>,
    webhook: &Webhook,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    if let Err(why) = webhook.check() {
        return Ok(Heard::refused(why));
    }
    let same_name = webhooks::find(tx.view(), &webhook.source, &webhook.delivery)?;
    let same_body = webhooks::find_by_body(tx.view(), &webhook.source, &webhook.digest)?;
    match webhook.replay(same_name.as_ref(), same_body.as_ref(), now) {
        Replay::New => {
            // What cannot be read is not taken: its source tries again.
            let notice = match mail::webhook_taken(tx, webhook)? {
                Ok(notice) => notice,
                Err(why) => return Ok(Heard::refused(why)),
            };
            let event = tx.append_with(&webhook.told(), &webhook.body, now)?;
            webhooks::save(tx, &webhook.taken(event, now))?;
            if let Some(notice) = notice {
                mail::notify(tx, &notice, Some(event), now, ids)?;
            }
            Ok(Heard::kept(Answer::Webhook { event, duplicate: false }))
        }
        Replay::Duplicate { of } => Ok(Heard::told(Answer::Webhook { event: of, duplicate: true })),
        Replay::Conflict => Ok(Heard::refused(Refused::WebhookConflict)),
    }
}
