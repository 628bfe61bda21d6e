//! The command line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::cmd;
use crate::fail::Fail;
use crate::say::{Say, Tone};

/// Runs a team of AI coding agents you can walk away from.
#[derive(Debug, Parser)]
#[command(name = "cmux", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no daemon, 4 not found, \
                        5 refused, 6 timed out.\n\nStart here:\n  cmux up       in your project's folder\n  \
                        cmux status   what there is\n  cmux doctor   what is wrong")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Print JSON, in the shape of the API
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The folder where cmux keeps everything
    #[arg(long, global = true, env = "CMUX_HOME", value_name = "DIR", hide_env_values = true)]
    pub(crate) home: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start cmux for the project here
    #[command(
        after_help = "Safe to repeat: what runs already keeps running.\n\nExample:\n  cd ~/shop && cmux up"
    )]
    Up,
    /// Stop cmux
    #[command(
        after_help = "Example:\n  cmux down --all   stop the daemon and everything it started"
    )]
    Down(cmd::down::Down),
    /// Show the daemon, the store and the projects at a glance
    Status,
    /// Check everything that cmux depends on, and say what to do about it
    Doctor,
    /// Run, start and stop the daemon by itself
    #[command(subcommand)]
    Daemon(cmd::daemon::Daemon),
    /// Add, list and forget projects
    #[command(subcommand)]
    Project(cmd::project::Project),
    /// Show the log of everything that happened
    #[command(after_help = "Examples:\n  cmux events -f                follow the log\n  \
                            cmux events --kind project.   all that concerns projects\n  \
                            cmux events --since 100 --json")]
    Events(cmd::events::Events),
    /// Check the log's chain of hashes
    #[command(subcommand)]
    Audit(cmd::audit::Audit),
    /// Check, back up and restore the store
    #[command(subcommand)]
    Db(cmd::db::Db),
    /// Print completions for a shell
    #[command(
        after_help = "Example:\n  cmux completions bash > ~/.local/share/bash-completion/completions/cmux"
    )]
    Completions { shell: clap_complete::Shell },
    /// Keep the daemon alive. Started by `cmux daemon start`
    #[command(hide = true)]
    Guard(crate::guard::Guard),
}

/// Does what the command line says, and says what came of it.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    let say = Say::new(cli.common.json);
    let done = match cli.command {
        Command::Up => cmd::up::run(&cli.common, say),
        Command::Down(down) => down.run(&cli.common, say),
        Command::Status => cmd::status::run(&cli.common, say),
        Command::Doctor => return finish(say, cmd::doctor::run(&cli.common, say)),
        Command::Daemon(daemon) => daemon.run(&cli.common, say),
        Command::Project(project) => project.run(&cli.common, say),
        Command::Events(events) => events.run(&cli.common, say),
        Command::Audit(audit) => return finish(say, audit.run(&cli.common, say)),
        Command::Db(db) => return finish(say, db.run(&cli.common, say)),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "cmux", &mut std::io::stdout());
            Ok(())
        }
        Command::Guard(guard) => return guard.run(&cli.common),
    };
    finish(say, done.map(|()| ExitCode::SUCCESS))
}

#[expect(clippy::print_stderr, reason = "errors are for people")]
fn finish(say: Say, done: Result<ExitCode, Fail>) -> ExitCode {
    match done {
        Ok(code) => code,
        Err(fail) => {
            eprintln!("{} {}", say.paint("error:", Tone::Bad), fail.what);
            if let Some(hint) = fail.hint {
                eprintln!("  {hint}");
            }
            fail.code.into()
        }
    }
}

/// Runs `work` to its end on this thread.
pub(crate) fn wait<T>(work: impl Future<Output = Result<T, Fail>>) -> Result<T, Fail> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Fail::failed(error.to_string()))?.block_on(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
