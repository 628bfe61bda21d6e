//! `cmux down`: the end of what `cmux up` began.

use std::env;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use clap::Args;
use cmux_drivers::home::Home;
use cmux_drivers::tmux::server::Server;
use cmux_drivers::tmux::version;
use cmux_wire::agent::Agent;
use cmux_wire::client::Client;
use serde::Serialize;

use crate::cli::{Common, wait};
use crate::cmd::agent::find::all;
use crate::cmd::agent::follow::{is_gone, until_gone};
use crate::cmd::start::{find, start};
use crate::cmd::stop::{Stopped, stop, tell};
use crate::fail::{Code, Fail};
use crate::place;
use crate::say::{Say, clean, count};

#[derive(Debug, Args)]
pub(crate) struct Down {
    /// Stop every project and the daemon too
    #[arg(long)]
    all: bool,
}

/// What came of it.
#[derive(Default, Serialize)]
struct Ended {
    /// The agents that were stopped.
    agents: Vec<String>,
    /// Why others were not.
    unstopped: Vec<String>,
    #[serde(flatten)]
    daemon: Stopped,
}

impl Down {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        place::require_person("stop a team")?;
        let home = place::home(common.home.as_deref())?;
        let mut ended = self.stop_agents(&home, say)?;
        if self.all {
            ended.daemon = stop(&home)?;
            if ended.unstopped.is_empty() {
                ended.daemon.left.extend(wait(end_servers(&home))?);
            }
        }
        say.show(&ended, |it| self.tell(it))?;
        if ended.unstopped.is_empty() {
            return Ok(());
        }
        let what = format!("not all agents have stopped:\n{}", ended.unstopped.join("\n"));
        Err(Fail::new(Code::TimedOut, what).hint("`cmux agent list --all` shows how far they are"))
    }

    /// Stops the agents that are meant, and returns when nothing of them is left.
    fn stop_agents(&self, home: &Home, say: Say) -> Result<Ended, Fail> {
        match find(home) {
            Ok(Some(_)) => {}
            Ok(None) if servers(home).iter().any(|it| UnixStream::connect(it).is_ok()) => {
                // Only a daemon knows what is in there, and how it is stopped well.
                start(home)?;
            }
            Ok(None) => return Ok(Ended::default()),
            Err(fail) if self.all => {
                let why = format!("the daemon cannot be asked to stop agents: {}", fail.what);
                return Ok(Ended { unstopped: vec![why], ..Ended::default() });
            }
            Err(fail) => return Err(fail),
        }
        let client = place::client(home);
        wait(async {
            let project = match self.all {
                true => None,
                false => Some(place::project_id(&client, None).await.map_err(suggest_all)?),
            };
            let mut running = all(&client, project.as_deref()).await?;
            running.retain(|agent| !is_gone(agent));
            stop_each(&client, running, say).await
        })
    }

    fn tell(&self, ended: &Ended) -> String {
        let agents = ended.agents.iter().map(|name| clean(name)).collect::<Vec<_>>().join(", ");
        let mut told = match ended.agents.len() {
            0 => String::new(),
            number => format!("{} stopped: {agents}\n", count(number as i128, "agent")),
        };
        if self.all {
            told += &tell(&ended.daemon);
        } else if ended.agents.is_empty() && ended.unstopped.is_empty() {
            told += "no agent runs in this project, so there is nothing to stop; `cmux down --all` stops \
                     the daemon, too";
        } else if ended.unstopped.is_empty() {
            told += "`cmux up` brings the supervisor back; `cmux down --all` stops the daemon";
        }
        told
    }
}

fn suggest_all(fail: Fail) -> Fail {
    fail.hint("go to a folder of the project, or stop everything with `cmux down --all`")
}

/// Has all of `agents` stop, and then waits for each.
async fn stop_each(client: &Client, agents: Vec<Agent>, say: Say) -> Result<Ended, Fail> {
    let mut ended = Ended::default();
    let mut stopping = Vec::new();
    for agent in agents {
        match client.have_agent(&agent.id, "stop", None).await {
            Ok(agent) => stopping.push(agent),
            Err(error) => ended.unstopped.push(format!("`{}`: {error}", agent.name)),
        }
    }
    for agent in stopping {
        let name = agent.name.clone();
        match until_gone(client, agent, say).await {
            Ok(_) => ended.agents.push(name),
            // Somebody else has forgotten it meanwhile.
            Err(fail) if fail.code == Code::NotFound => ended.agents.push(name),
            Err(fail) => ended.unstopped.push(fail.what),
        }
    }
    Ok(ended)
}

/// Returns the sockets of the tmux servers of `home`.
fn servers(home: &Home) -> Vec<PathBuf> {
    let files = fs::read_dir(home.tmux()).into_iter().flatten().flatten();
    let sockets = files.filter(|file| file.file_type().is_ok_and(|it| it.is_socket()));
    sockets.map(|file| file.path()).collect()
}

/// Ends the tmux servers of `home`, in which nobody lives any more, and returns what could not be ended.
async fn end_servers(home: &Home) -> Result<Vec<String>, Fail> {
    let sockets = servers(home);
    if sockets.is_empty() {
        return Ok(Vec::new());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let tmux = version::find(&path).map_err(|error| Fail::failed(error.to_string()))?;
    let mut left = Vec::new();
    for socket in sockets {
        let name = socket.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let ended = match Server::at(&tmux, &home.tmux(), &name, []) {
            Ok(server) => server.kill().await,
            Err(error) => Err(error),
        };
        match ended {
            // A server takes its socket with it, unless it was killed.
            Ok(()) => drop(fs::remove_file(&socket)),
            Err(error) => left.push(format!("the tmux server at {}: {error}", socket.display())),
        }
    }
    Ok(left)
}
