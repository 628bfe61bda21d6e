//! `cmux up`: everything that it takes to work on the project here.

use std::path::Path;

use clap::Args;
use cmux_wire::daemon::Status;
use cmux_wire::link::Link;
use serde::Serialize;

use crate::cli::{Common, wait};
use crate::cmd::start::start;
use crate::cmd::{open, status};
use crate::fail::Fail;
use crate::place;
use crate::say::Say;

#[derive(Debug, Args)]
pub(crate) struct Up {
    /// Then print a one-time link to the dashboard, and on a desktop open it
    #[arg(long)]
    open: bool,
}

/// What there is, and the way in if it was asked for.
#[derive(Serialize)]
struct Brought {
    #[serde(flatten)]
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<Link>,
}

impl Up {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let home = place::home(common.home.as_deref())?;
        let new = place::project(Path::new("."), None)?;
        start(&home)?;
        let client = place::client(&home);
        let status = wait(async {
            client.add_project(&new).await?;
            Ok(client.status().await?)
        })?;
        if say.json {
            let link = if self.open { Some(open::link(&home)?) } else { None };
            return say.json(&Brought { status, link });
        }
        say.line(status::tell(&status, say).trim_end())?;
        if self.open { open::open(&home, say, true) } else { Ok(()) }
    }
}
