//! `cmux agent adopt`: a pane that a person started becomes an agent.

use std::env;
use std::path::{Path, PathBuf};

use clap::Args;
use cmux_wire::agent::Register;
use cmux_wire::client::Client;

use crate::cmd::agent::find::Within;
use crate::cmd::agent::{attach, kinds, show};
use crate::fail::{Code, Fail};
use crate::place;
use crate::say::Say;

#[derive(Debug, Args)]
pub(crate) struct Adopt {
    /// The pane, as tmux numbers it; before it, the socket of its server, or its name
    #[arg(value_name = "[SOCKET:]%PANE", value_parser = parse)]
    pane: Pane,
    /// What it is to be called
    #[arg(long)]
    name: String,
    /// Which program runs in it
    #[arg(long)]
    kind: String,
    #[command(flatten)]
    within: Within,
}

/// A pane, as a person names it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pane {
    server: Option<String>,
    id: String,
}

impl Adopt {
    pub(crate) async fn run(self, client: &Client, say: Say) -> Result<(), Fail> {
        let server = server(self.pane.server.as_deref(), |name| env::var(name).ok());
        let server = place::absolute(&server)?;
        if !server.exists() {
            let what = format!("there is no tmux server at {}", server.display());
            return Err(Fail::new(Code::NotFound, what).hint(
                "in that tmux, `tmux display -p '#{socket_path}:#{pane_id}'` tells what to name",
            ));
        }
        let project = place::project_id(client, self.within.project.as_deref()).await?;
        let kind =
            kinds::choose(&client.kinds().await?, &kinds::Said::Here(self.kind.clone()))?.kind;
        let pane = format!("{}:{}", server.display(), self.pane.id);
        let register = Register { pane, name: self.name, kind, project };
        let agent = client.register_agent(&register).await?;
        say.show(&agent, |it| show::tell(it, say))
    }
}

/// Reads what a person names a pane by.
fn parse(text: &str) -> Result<Pane, String> {
    let (server, id) = match text.rsplit_once(':') {
        Some((server, id)) => (Some(server), id),
        None => (None, text),
    };
    let number = id.strip_prefix('%').unwrap_or_default();
    let is_pane = (1..=9).contains(&number.len()) && number.bytes().all(|it| it.is_ascii_digit());
    if !is_pane || server == Some("") {
        return Err(
            "a pane is named like %7, /tmp/tmux-1000/default:%7 or default:%7; in it, `echo \
                    $TMUX_PANE` tells"
                .to_owned(),
        );
    }
    Ok(Pane { server: server.map(ToOwned::to_owned), id: id.to_owned() })
}

/// Returns the socket of the server that is `named`: by its path, by its name, or as the one that this
/// runs in. Without one, it is the one that tmux asks by itself.
fn server(named: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> PathBuf {
    let around = variable("TMUX");
    match (named, around.as_deref().and_then(attach::socket)) {
        (Some(path), _) if path.contains('/') => PathBuf::from(path),
        (Some(name), _) => folder(variable).join(name),
        (None, Some(around)) => PathBuf::from(around),
        (None, None) => folder(variable).join("default"),
    }
}

/// Returns where tmux keeps the sockets of this user's servers.
fn folder(variable: impl Fn(&str) -> Option<String>) -> PathBuf {
    let root = variable("TMUX_TMPDIR").filter(|it| !it.is_empty());
    let user = rustix::process::getuid().as_raw();
    Path::new(root.as_deref().unwrap_or("/tmp")).join(format!("tmux-{user}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pane_is_a_number_after_a_server_or_without_one() {
        for (text, expected) in [
            ("%7", Some((None, "%7"))),
            ("default:%7", Some((Some("default"), "%7"))),
            ("/tmp/a:b/s:%12", Some((Some("/tmp/a:b/s"), "%12"))),
            ("7", None),
            ("%", None),
            ("%x", None),
            (":%7", None),
            ("work:1.2", None),
            ("%1234567890", None),
            ("", None),
        ] {
            let found = parse(text).ok();
            let found = found.as_ref().map(|it| (it.server.as_deref(), it.id.as_str()));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_server_is_found_as_tmux_would() {
        let user = rustix::process::getuid().as_raw();
        let inside = |name: &str| (name == "TMUX").then(|| "/s/mine,1,0".to_owned());
        let elsewhere = |name: &str| (name == "TMUX_TMPDIR").then(|| "/run".to_owned());
        let nothing = |_: &str| None;
        let check = |found: PathBuf, expected: &str| assert_eq!(found, Path::new(expected));
        check(server(Some("/a/b"), inside), "/a/b");
        check(server(Some("./b"), inside), "./b");
        check(server(Some("work"), nothing), &format!("/tmp/tmux-{user}/work"));
        check(server(None, inside), "/s/mine");
        check(server(None, nothing), &format!("/tmp/tmux-{user}/default"));
        check(server(None, elsewhere), &format!("/run/tmux-{user}/default"));
    }
}
