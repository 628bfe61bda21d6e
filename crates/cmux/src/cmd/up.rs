//! `cmux up`: everything that it takes to work on the project here.

use std::path::Path;

use crate::cli::{Common, wait};
use crate::cmd::start::start;
use crate::cmd::status;
use crate::fail::Fail;
use crate::place;
use crate::say::Say;

pub(crate) fn run(common: &Common, say: Say) -> Result<(), Fail> {
    let home = place::home(common.home.as_deref())?;
    let new = place::project(Path::new("."), None)?;
    start(&home)?;
    let client = place::client(&home);
    let status = wait(async {
        client.add_project(&new).await?;
        Ok(client.status().await?)
    })?;
    say.show(&status, |it| status::tell(it, &home, say))
}
