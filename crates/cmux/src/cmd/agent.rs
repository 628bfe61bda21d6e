//! `cmux agent`: what runs in the terminals, and which kinds of it there are.

pub(crate) mod adopt;
pub(crate) mod attach;
pub(crate) mod change;
pub(crate) mod find;
pub(crate) mod follow;
pub(crate) mod kinds;
pub(crate) mod list;
pub(crate) mod output;
pub(crate) mod show;
pub(crate) mod spawn;
pub(crate) mod why;

use clap::Subcommand;
use cmux_drivers::home::Home;
use cmux_wire::client::Client;

use crate::cli::{Common, wait};
use crate::fail::Fail;
use crate::place;
use crate::say::Say;

#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// Launch an agent
    #[command(
        after_help = "To ask for the same one again changes nothing. With --wait it exits 6 if the time \
                      is over, and 1 if the agent has ended instead, each with what is known.\n\n\
                      Examples:\n  cmux agent spawn api --task 'Write the API of issue 12'\n  \
                      cmux agent spawn tests --kind codex --cwd tests --wait=60\n  \
                      cmux agent spawn api --env API_KEY -- --model opus"
    )]
    Spawn(spawn::Spawn),
    /// List the agents, those first who need somebody
    #[command(after_help = "Examples:\n  cmux agent list\n  cmux agent list --all\n  \
                      cmux agent list --json | jq -r '.agents[] | select(.phase == \"asking\") | .name'")]
    List(list::List),
    /// Show all that is known of an agent
    #[command(after_help = "Exits 4 if there is none.\n\nExample:\n  cmux agent show api")]
    Show(find::Called),
    /// Tell who said what of an agent, and why it is in its phase
    #[command(after_help = "Example:\n  cmux agent why api")]
    Why(find::Called),
    /// Stop an agent: it is asked to end, and then made to
    #[command(
        after_help = "Returns when nothing of it is left. It is not forgotten: `cmux agent resume` has \
                      it run again.\n\nExample:\n  cmux agent stop api"
    )]
    Stop(change::Stop),
    /// End an agent's life and begin another, with the same conversation if its program can
    #[command(after_help = "Example:\n  cmux agent restart api --wait")]
    Restart(change::Again),
    /// Leave an agent as it is: nothing is delivered to it, and it is not brought back
    #[command(after_help = "Example:\n  cmux agent pause api   `cmux agent resume api` ends it")]
    Pause(find::Called),
    /// Have an agent run: after a pause, a stop, or too many ends
    #[command(after_help = "Example:\n  cmux agent resume api --wait")]
    Resume(change::Again),
    /// Forget an agent that does not run. What it did is untouched
    #[command(
        after_help = "Examples:\n  cmux agent rm api\n  cmux agent rm --force api   stops it first"
    )]
    Rm(change::Remove),
    /// Have an agent leave what it is doing, as a person would by a key
    #[command(after_help = "Example:\n  cmux agent interrupt api")]
    Interrupt(find::Called),
    /// Print what is on an agent's screen
    #[command(
        after_help = "Examples:\n  cmux agent output api\n  cmux agent output api -n 200   and what has \
                      scrolled off\n  cmux agent output api -f       as it comes"
    )]
    Output(output::Output),
    /// Open an agent's window in this terminal
    #[command(
        after_help = "Ctrl-b d leaves it again; within a tmux that has the same prefix, Ctrl-b Ctrl-b d. \
                      The agent goes on, and its window keeps its size: Ctrl-b and Shift with an arrow moves \
                      about in it. Exits 5 without a terminal.\n\n\
                      Example:\n  cmux agent attach api"
    )]
    Attach(attach::Attach),
    /// Make a pane that you started an agent. It is never restarted
    #[command(
        after_help = "Without a socket, the pane is in the tmux that this runs in.\n\nExamples:\n  \
                      cmux agent adopt %3 --name helper --kind claude\n  \
                      cmux agent adopt /tmp/tmux-1000/default:%3 --name helper --kind claude"
    )]
    Adopt(adopt::Adopt),
    /// List the kinds of agents, what was found of them on this machine, and what they can do
    #[command(
        after_help = "A file of your own in $CMUX_HOME/agents/ adds a kind or replaces one.\n\n\
                      Examples:\n  cmux agent kinds\n  \
                      cmux agent kinds --json | jq -r '.kinds[] | select(.program) | .name'"
    )]
    Kinds,
}

impl Agent {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let home = place::home(common.home.as_deref())?;
        wait(self.ask(&place::client(&home), &home, say))
    }

    async fn ask(self, client: &Client, home: &Home, say: Say) -> Result<(), Fail> {
        match self {
            Agent::Spawn(spawn) => spawn.run(client, home, say).await,
            Agent::List(list) => list.run(client, say).await,
            Agent::Show(called) => show::run(&called, client, say).await,
            Agent::Why(called) => {
                let agent = called.find(client).await?;
                let why = client.why(&agent.id, None).await?;
                say.show(&why, |it| why::tell(it, &agent.name, say))
            }
            Agent::Stop(stop) => stop.run(client, say).await,
            Agent::Restart(again) => again.restart(client, say).await,
            Agent::Pause(called) => change::pause(called, client, say).await,
            Agent::Resume(again) => again.resume(client, say).await,
            Agent::Rm(remove) => remove.run(client, say).await,
            Agent::Interrupt(called) => change::interrupt(called, client, say).await,
            Agent::Output(output) => output.run(client, say).await,
            Agent::Attach(attach) => attach.run(client, say).await,
            Agent::Adopt(adopt) => adopt.run(client, say).await,
            Agent::Kinds => {
                let kinds = client.kinds().await?;
                say.show(&kinds, |it| kinds::tell(it, say))
            }
        }
    }
}
