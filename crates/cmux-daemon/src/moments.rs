//! Moments of mail at which a test has the daemon killed: just before it is stored what was heard, and just
//! after.

use cmux_core::delivery::Sighted;
use cmux_core::report::{Ask, Report};
use cmux_drivers::failpoint;

/// A moment just before a commit, and the one just after it.
type Moments = (&'static str, &'static str);

/// The moments of a commit in which the time of a message is over.
const EXPIRY: Moments = ("expiry.heard", "expiry.stored");

/// Comes to the moments before the commit of `reports`, and of messages whose time is over if `expires`.
pub(crate) fn before(reports: &[Report], expires: bool) {
    all(reports, expires).for_each(|(before, _)| failpoint::hit(before));
}

/// Comes to the moments after that commit.
pub(crate) fn after(reports: &[Report], expires: bool) {
    all(reports, expires).for_each(|(_, after)| failpoint::hit(after));
}

fn all(reports: &[Report], expires: bool) -> impl Iterator<Item = Moments> {
    reports.iter().filter_map(of).chain(expires.then_some(EXPIRY))
}

/// Returns the moments of a report that is about mail.
fn of(report: &Report) -> Option<Moments> {
    match report {
        Report::Asked { ask: Ask::SendMessage { .. }, .. } => Some(("sent.heard", "sent.stored")),
        Report::Asked { ask: Ask::CancelMessage { .. }, .. } => {
            Some(("cancel.heard", "cancel.stored"))
        }
        Report::Asked { ask: Ask::RetryMessage { .. }, .. } => {
            Some(("retry.heard", "retry.stored"))
        }
        Report::MailWanted { .. } => Some(("wanted.heard", "wanted.stored")),
        Report::MailRead { .. } => Some(("read.heard", "read.stored")),
        Report::DeliverySeen { seen, .. } => Some(match seen {
            Sighted::Typing => ("typing.heard", "typing.stored"),
            Sighted::Submitted => ("submitted.heard", "submitted.stored"),
            Sighted::Claimed => ("claimed.heard", "claimed.stored"),
            Sighted::Again { .. } => ("again.heard", "again.stored"),
            Sighted::Used(_) => ("used.heard", "used.stored"),
            Sighted::Unused(_) => ("unused.heard", "unused.stored"),
        }),
        Report::Started { .. }
        | Report::Stopping { .. }
        | Report::ClockJumped { .. }
        | Report::Asked { .. }
        | Report::ProjectLooked { .. }
        | Report::PasswordIs { .. }
        | Report::AgentSeen { .. }
        | Report::Hooked { .. }
        | Report::RunNamed { .. }
        | Report::ServerLost { .. }
        | Report::PaneFound { .. }
        | Report::MailHeld { .. }
        | Report::UsageRead { .. }
        | Report::KindIs { .. }
        | Report::SnapshotDone { .. }
        | Report::Told { .. }
        | Report::Ping
        | Report::Probe => None,
    }
}
