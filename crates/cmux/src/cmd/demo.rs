//! `cmux demo`: the scripted agent, which the `demo` kind runs where others run a CLI.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

/// What the scripted agent is started with. It reads its words itself.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Demo {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
    words: Vec<OsString>,
}

impl Demo {
    /// Plays the agent to its end, and returns its exit code.
    pub(crate) fn run(self) -> ExitCode {
        cmux_testkit::demo::main(self.words)
    }
}
