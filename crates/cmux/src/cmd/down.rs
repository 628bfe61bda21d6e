//! `cmux down`: the end of what `cmux up` began.

use clap::Args;

use crate::cli::Common;
use crate::cmd::stop::{stop, tell};
use crate::fail::Fail;
use crate::place;
use crate::say::Say;

#[derive(Debug, Args)]
pub(crate) struct Down {
    /// Stop every project and the daemon too
    #[arg(long)]
    all: bool,
}

impl Down {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        if !self.all {
            return Err(Fail::failed("no agent runs in this project, so there is nothing to stop")
                .hint("`cmux down --all` stops the daemon"));
        }
        let stopped = stop(&place::home(common.home.as_deref())?)?;
        say.show(&stopped, tell)
    }
}
