//! The command line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::cmd;
use crate::fail::Fail;
use crate::say::{Say, say_error};

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
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) json: bool,
    /// The folder where cmux keeps everything; $CMUX_HOME unless it is said
    // Read in `place`: to clap, a variable that is set would be an argument that was given.
    #[arg(long, global = true, help_heading = "Everywhere", value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start cmux for the project here
    #[command(
        after_help = "Starts the daemon, adds the project, and launches its supervisor. Safe to \
                      repeat: what runs already keeps running, and what was stopped is brought back.\n\n\
                      Examples:\n  cd ~/shop && cmux up\n  cmux up --kind codex\n  \
                      cmux up --open   and open the dashboard"
    )]
    Up(cmd::up::Up),
    /// Stop the agents of the project here
    #[command(
        after_help = "Returns when nothing of them is left, and says what could not be stopped.\n\n\
                      Examples:\n  cmux down\n  cmux down --all   those of every project, and the daemon"
    )]
    Down(cmd::down::Down),
    /// Show the daemon, the store, the projects and their agents at a glance
    #[command(after_help = "Exits 3 if no daemon runs.\n\nExamples:\n  cmux status\n  \
                      cmux status -f   as it changes\n  cmux status --json | jq .projects")]
    Status(cmd::status::Status),
    /// Print a one-time link to the dashboard, and on a desktop open it
    #[command(
        after_help = "Whoever follows it first is let in. On a desktop it is opened with xdg-open.\n\n\
                      Examples:\n  cmux open\n  cmux open --no-browser\n  \
                      cmux open --json | jq -r .url"
    )]
    Open(cmd::open::Open),
    /// Check everything that cmux depends on, and say what to do about it
    #[command(
        after_help = "Exits 1 only if something is bad; a warning is no failure.\n\nExample:\n  \
                            cmux doctor --json | jq '.checks[] | select(.status != \"ok\")'"
    )]
    Doctor,
    /// Run, start and stop the daemon by itself
    #[command(subcommand)]
    Daemon(cmd::daemon::Daemon),
    /// Add, list, trust and forget projects
    #[command(subcommand)]
    Project(cmd::project::Project),
    /// Launch, watch, stop and forget agents
    #[command(subcommand)]
    Agent(cmd::agent::Agent),
    /// Say something to an agent, or to the person
    #[command(
        after_help = "Once it returns, the message is stored: it is typed to its reader as soon as that is at \
                      its prompt, once, whatever crashes meanwhile. A reader that does not run finds it when \
                      it does. With --wait it exits 6 if the time is over, with what it waits for, and 1 if it \
                      will not be read, with the reason.\n\nExamples:\n  \
                      cmux send api 'The tests of issue 12 fail on main'\n  \
                      git diff | cmux send reviewer - --kind task --wait=600\n  \
                      cmux send api@shop --ttl 10m --interrupt 'Stop: the branch is gone'\n  \
                      cmux send api -- --help   what begins with a dash comes after two of them"
    )]
    Send(cmd::send::Send),
    /// Show mail: yours, or an agent's
    #[command(
        after_help = "Yours begins with what you have not read. What is shown on a terminal counts as read, \
                      unless --keep is said. To an agent, it is that agent's own mail.\n\nExamples:\n  \
                      cmux inbox\n  cmux inbox -f        as it comes\n  cmux inbox api\n  \
                      cmux inbox --json | jq -r '.messages[] | select(.read_at == null) | .body'"
    )]
    Inbox(cmd::inbox::Inbox),
    /// Answer a message
    #[command(after_help = "It goes to whoever sent the message.\n\nExamples:\n  \
                      cmux reply msg_01J… 'Yes, rebase it'\n  cmux reply msg_01J… - < answer.md")]
    Reply(cmd::reply::Reply),
    /// Tell whoever launched you how it stands. For agents
    #[command(
        after_help = "It goes to the agent that launched you, or to the person. Exits 5 if this is no agent.\n\n\
                      Examples:\n  cmux report done 'The API is written; cargo test passes'\n  \
                      cmux report blocked 'The database of the tests is gone: may I make another?'"
    )]
    Report(cmd::report::Report),
    /// Look at one message, take it back, or have it sent after all
    #[command(subcommand)]
    Message(cmd::message::Message),
    /// Make, list and revoke tokens for scripts that use the API
    #[command(subcommand)]
    Token(cmd::token::Token),
    /// List and log out browsers
    #[command(subcommand)]
    Session(cmd::session::Session),
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
    /// Set, clear and check the password for other machines
    #[command(subcommand)]
    Password(cmd::password::Password),
    /// Print completions for a shell
    #[command(
        after_help = "Example:\n  cmux completions bash > ~/.local/share/bash-completion/completions/cmux"
    )]
    Completions { shell: clap_complete::Shell },
    /// Keep the daemon alive. Started by `cmux daemon start`
    #[command(hide = true)]
    Guard(crate::guard::Guard),
    /// Run a program, and end with it all that comes of it. Started for every agent
    #[command(hide = true)]
    Launch(cmd::launch::Launch),
    /// Tell the daemon what an agent's CLI does, and answer in its words. Called by its hooks
    #[command(
        hide = true,
        after_help = "What the CLI says is read from standard input. If no daemon can be told, it is kept in \
                      the spool until one can. It ends with 0 whatever goes wrong, unless the CLI takes \
                      another for an answer.\n\nExample:\n  \
                      echo '{}' | cmux hook claude Stop   as Claude Code calls it"
    )]
    Hook(cmd::hook::Hook),
    /// Play an agent by a script. The `demo` kind runs it
    #[command(hide = true)]
    Demo(cmd::demo::Demo),
}

/// Does what the command line says, and says what came of it.
pub(crate) fn main() -> ExitCode {
    // An agent calls its hooks at every step, and waits for them: nothing comes before.
    if let Some(done) = cmd::hook::called(std::env::args_os()) {
        return done;
    }
    let cli = Cli::parse();
    let say = Say::new(cli.common.json);
    let done = match cli.command {
        Command::Up(up) => up.run(&cli.common, say),
        Command::Down(down) => down.run(&cli.common, say),
        Command::Status(status) => status.run(&cli.common, say),
        Command::Open(open) => open.run(&cli.common, say),
        Command::Doctor => return finish(cmd::doctor::run(&cli.common, say)),
        Command::Daemon(daemon) => daemon.run(&cli.common, say),
        Command::Project(project) => project.run(&cli.common, say),
        Command::Agent(agent) => agent.run(&cli.common, say),
        Command::Send(send) => send.run(&cli.common, say),
        Command::Inbox(inbox) => inbox.run(&cli.common, say),
        Command::Reply(reply) => reply.run(&cli.common, say),
        Command::Report(report) => report.run(&cli.common, say),
        Command::Message(message) => message.run(&cli.common, say),
        Command::Token(token) => token.run(&cli.common, say),
        Command::Session(session) => session.run(&cli.common, say),
        Command::Events(events) => events.run(&cli.common, say),
        Command::Audit(audit) => return finish(audit.run(&cli.common, say)),
        Command::Db(db) => return finish(db.run(&cli.common, say)),
        Command::Password(password) => password.run(&cli.common, say),
        Command::Completions { shell } => complete(shell, say),
        Command::Guard(guard) => return guard.run(&cli.common),
        Command::Launch(launch) => return launch.run(),
        Command::Hook(hook) => return hook.run(),
        Command::Demo(demo) => return demo.run(),
    };
    finish(done.map(|()| ExitCode::SUCCESS))
}

fn complete(shell: clap_complete::Shell, say: Say) -> Result<(), Fail> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut visible(&Cli::command()), "cmux", &mut script);
    say.line(String::from_utf8_lossy(&script).trim_end())
}

/// Returns `command` without what is hidden, which would be completed too.
fn visible(command: &clap::Command) -> clap::Command {
    let arguments = command.get_arguments().filter(|it| !it.is_hide_set()).cloned();
    let commands = command.get_subcommands().filter(|it| !it.is_hide_set()).map(visible);
    clap::Command::new(command.get_name().to_owned())
        .about(command.get_about().cloned().unwrap_or_default())
        .version(env!("CARGO_PKG_VERSION"))
        .args(arguments)
        .subcommands(commands)
}

fn finish(done: Result<ExitCode, Fail>) -> ExitCode {
    done.unwrap_or_else(|fail| {
        say_error(&fail);
        fail.code.into()
    })
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
