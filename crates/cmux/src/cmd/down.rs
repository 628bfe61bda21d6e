//! `cmux down`: the end of what `cmux up` began.

use clap::Args;

use crate::cli::Common;
use crate::cmd::stop::{Stopped, stop, tell};
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
        let home = place::home(common.home.as_deref())?;
        if self.all {
            return say.show(&stop(&home)?, tell);
        }
        say.show(&Stopped::default(), |_| {
            "no agent runs in this project, so there is nothing to stop; `cmux down --all` stops the \
             daemon"
                .to_owned()
        })
    }
}
