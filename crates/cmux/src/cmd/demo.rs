//! `cmux demo`: the scripted agent, which the `demo` kind runs where others run a CLI.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

use crate::fail::{Code, Fail};
use crate::place;
use crate::say::say_error;

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
        // Its script runs commands, which an agent may not without being asked about them.
        if place::launcher_above().is_some_and(|above| above > 1) {
            say_error(&Fail::new(Code::Refused, "an agent may not play another one"));
            return ExitCode::FAILURE;
        }
        cmux_testkit::demo::main(self.words)
    }
}
