//! The tickets that are there when the daemon starts: what they say that the store does not know, and those
//! that nobody needs any more.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use cmux_core::delivery::Delivery;
use cmux_core::id::LogId;
use cmux_core::report::Report;
use cmux_drivers::{mail_file, private};
use cmux_store::{deliveries, logs, projects};
use tokio::task::spawn_blocking;
use tracing::{debug, info, warn};

use super::desk::Desk;
use super::prepare::make_folder;

/// The file that says which log the tickets belong to. In another one, what was read is not known.
const LOG: &str = "tickets-log";

/// Has the store know of what was read before it was restored, and clears away what is left behind. Returns
/// whether it knows: until then nothing may be typed, as it may have been read.
pub(super) async fn tend(desk: &Desk) -> bool {
    let found = desk.readers.read(|view| Ok((logs::current(view)?, deliveries::open(view)?))).await;
    let (log, open) = match found {
        Ok((Some(log), open)) => (log, open),
        Ok((None, _)) => return true,
        Err(error) => {
            warn!(%error, "it could not be read what is being typed");
            return false;
        }
    };
    if let Err(error) = read_back(desk, log, &open).await {
        warn!(
            error,
            "no mail is typed: it is not known what was read before the store was restored"
        );
        return false;
    }
    sweep(desk, &open).await;
    true
}

/// Clears away tickets and files of mail that nobody needs any more.
pub(super) async fn clear_away(desk: &Desk) {
    let found = desk.readers.read(|view| Ok((deliveries::open(view)?, projects::all(view)?))).await;
    let Ok((open, projects)) = found else { return };
    sweep(desk, &open).await;
    let now = desk.now();
    let swept = spawn_blocking(move || {
        for project in projects {
            if let Err(error) = mail_file::sweep(Path::new(&project.root), now) {
                debug!(%error, "old mail of {} could not be cleared away", project.id);
            }
        }
    });
    // What is left is cleared away the next time.
    let _ = swept.await;
}

/// Clears away the tickets of what is not `open`.
async fn sweep(desk: &Desk, open: &[Delivery]) {
    let (claims, now) = (desk.claims.clone(), desk.now());
    let open: Vec<_> = open.iter().map(|delivery| delivery.id).collect();
    let swept = spawn_blocking(move || claims.sweep(&open, now)).await;
    if let Ok(Err(error)) = swept {
        warn!(%error, "old tickets could not be cleared away");
    }
}

/// Tells the kernel what was read in the life of another log, once.
async fn read_back(desk: &Desk, log: LogId, open: &[Delivery]) -> Result<(), String> {
    let noted = desk.home.claims().join(LOG);
    let known = match fs::read_to_string(&noted) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        known => Some(known.map_err(|error| error.to_string())?),
    };
    if known.as_deref().map(str::trim) == Some(log.to_string().as_str()) {
        return Ok(());
    }
    let claims = desk.claims.clone();
    let open: Vec<_> = open.iter().map(|delivery| delivery.id).collect();
    let messages = spawn_blocking(move || claims.read_back(&open)).await;
    let messages = messages.map_err(|it| it.to_string())?.map_err(|it| it.to_string())?;
    if !messages.is_empty() {
        info!(count = messages.len(), "messages were read before this log began");
        let told = desk.inbox.ask(Report::MailRead { messages }).await;
        told.map_err(|error| error.to_string())?;
    }
    make_folder(&desk.home.claims())?;
    private::write(&noted, log.to_string().as_bytes()).map_err(|error| error.to_string())
}
