//! Who is at the door, from where the connection comes and from what it shows.
//!
//! At the socket, descent decides, and it is settled when the connection is accepted. At the port, where
//! any program of this machine may come, only what is shown counts: a token or a browser's cookie. In
//! neither place does a process below an agent's launcher pass for the person, whatever it has found.

use std::net::SocketAddr;
use std::path::PathBuf;

use axum::http::{HeaderMap, StatusCode, header};
use cmux_core::descent::{Standing, judge};
use cmux_core::digest::Digest;
use cmux_core::principal::Principal;
use cmux_core::run::RunToken;
use cmux_core::session::{Session, SessionStanding};
use cmux_core::time::Timestamp;
use cmux_core::token::{Token, TokenScope, TokenStanding};
use cmux_drivers::home::Home;
use cmux_drivers::peer::{self, Peer};
use cmux_drivers::{clock, process};
use cmux_store::{StoreError, View, runs, sessions, tokens};
use tokio::net::UnixStream;
use tokio::sync::OnceCell;

use crate::http::App;
use crate::http::problem::Oops;

/// The longest secret that is looked at, in bytes.
const SECRET_MAX: usize = 256;

/// What a connection's other end is judged by.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// The user whose daemon this is.
    pub(crate) uid: u32,
    /// Where this home's tmux servers listen.
    pub(crate) tmux: PathBuf,
}

/// A connection, and what was settled of its other end.
#[derive(Debug)]
pub(crate) enum Connection {
    Socket {
        pid: u32,
        standing: Standing,
    },
    Port {
        local: Option<SocketAddr>,
        remote: SocketAddr,
        /// Whether a process below an agent's launcher holds the other end: found out when it matters.
        is_below: OnceCell<bool>,
    },
}

/// What a request shows.
enum Shown {
    Nothing,
    /// A token, of the person's making or of an agent's run.
    Token(Digest),
    /// A browser's cookie.
    Cookie(Digest),
}

/// What the store knows of it.
enum Known {
    Token(Token),
    Run(RunToken),
    Session(Session),
    Nothing,
}

impl Site {
    pub(crate) fn of(home: &Home) -> Site {
        Site { uid: rustix::process::geteuid().as_raw(), tmux: home.root().join("tmux") }
    }
}

impl Connection {
    /// Settles who has just come to the socket.
    pub(crate) fn at_socket(stream: &UnixStream, site: &Site) -> Connection {
        match Peer::of(stream) {
            Ok(peer) => {
                let line = peer::line(&peer, &site.tmux);
                let standing = judge(site.uid, peer.uid, line.as_deref().map_err(|why| *why));
                Connection::Socket { pid: peer.pid, standing }
            }
            Err(error) => {
                tracing::warn!(%error, "it cannot be told who is at the socket");
                Connection::Socket { pid: 0, standing: judge(site.uid, site.uid, Ok(&[])) }
            }
        }
    }

    pub(crate) fn at_port(local: Option<SocketAddr>, remote: SocketAddr) -> Connection {
        Connection::Port { local, remote, is_below: OnceCell::new() }
    }

    /// Returns which door it came through.
    pub(crate) fn door(&self) -> &'static str {
        match self {
            Connection::Socket { .. } => "socket",
            Connection::Port { .. } => "port",
        }
    }

    /// Returns whether it comes from this machine.
    pub(crate) fn is_near(&self) -> bool {
        match self {
            Connection::Socket { .. } => true,
            Connection::Port { remote, .. } => remote.ip().to_canonical().is_loopback(),
        }
    }

    /// Returns where it comes from, for the log and for counting.
    pub(crate) fn from(&self) -> String {
        match self {
            Connection::Socket { pid, .. } => format!("process {pid}"),
            Connection::Port { remote, .. } => remote.ip().to_string(),
        }
    }

    /// Returns whether a process below an agent's launcher holds the other end. One that cannot be found,
    /// such as a browser behind a tunnel, counts as none.
    async fn is_below(&self, site: &Site) -> bool {
        match self {
            Connection::Socket { standing, .. } => matches!(standing, Standing::Below { .. }),
            Connection::Port { local: None, .. } => false,
            Connection::Port { local: Some(local), remote, is_below } => {
                let look = || async {
                    let (local, remote, site) = (*local, *remote, site.clone());
                    let looked =
                        tokio::task::spawn_blocking(move || holder_is_below(local, remote, &site));
                    looked.await.unwrap_or(false)
                };
                *is_below.get_or_init(look).await
            }
        }
    }
}

fn holder_is_below(local: SocketAddr, remote: SocketAddr, site: &Site) -> bool {
    let Some(holder) = process::tcp_client(local, remote) else { return false };
    let line = peer::line_of(holder, &site.tmux);
    matches!(judge(site.uid, site.uid, line.as_deref().map_err(|why| *why)), Standing::Below { .. })
}

/// Returns who sent a request with these `headers` over `connection`.
pub(crate) async fn principal(
    app: &App,
    connection: &Connection,
    headers: &HeaderMap,
) -> Result<Principal, Oops> {
    let shown = shown(headers, connection, app.facts.port)?;
    let found = match shown {
        Shown::Nothing => return unshown(connection),
        Shown::Token(secret) => app.read(move |view| find_token(view, &secret)).await?,
        Shown::Cookie(secret) => app.read(move |view| find_session(view, &secret)).await?,
    };
    let now = clock::wall();
    let principal = match found {
        Known::Token(token) => by_token(&token, now)?,
        Known::Run(run) => by_run(&run, connection)?,
        Known::Session(session) => by_session(&session, now)?,
        Known::Nothing => {
            return Err(Oops::unauthorised("bad-credential", "what was shown is not known here"));
        }
    };
    let is_powerful = match &principal {
        Principal::Operator | Principal::Browser { .. } => true,
        Principal::Token { scope, .. } => *scope == TokenScope::Operate,
        Principal::Agent { .. } | Principal::Nobody => false,
    };
    if !is_powerful || !connection.is_below(&app.site).await {
        return Ok(principal);
    }
    let principal = principal.below_an_agent();
    if principal == Principal::Nobody {
        return Err(Oops::new(
            StatusCode::FORBIDDEN,
            "agent-as-person",
            "a process that an agent started is never taken for the person, whatever it shows",
        ));
    }
    Ok(principal)
}

/// Returns who somebody is that shows nothing.
fn unshown(connection: &Connection) -> Result<Principal, Oops> {
    match connection {
        Connection::Port { .. } => Ok(Principal::Nobody),
        Connection::Socket { standing: Standing::Person, .. } => Ok(Principal::Operator),
        Connection::Socket { standing: Standing::Below { .. }, .. } => Err(Oops::unauthorised(
            "agent-without-token",
            "this was started by an agent, and must show the token of its run (CMUX_TOKEN)",
        )),
        Connection::Socket { standing: Standing::Stranger(why), .. } => {
            Err(Oops::new(StatusCode::FORBIDDEN, "stranger", why.to_string()))
        }
    }
}

/// Returns what a request shows. A token goes before a cookie, and two of one kind are none.
fn shown(headers: &HeaderMap, connection: &Connection, port: u16) -> Result<Shown, Oops> {
    let bad = |detail: &str| Oops::unauthorised("bad-credential", detail);
    let mut authorizations = headers.get_all(header::AUTHORIZATION).iter();
    if let Some(said) = authorizations.next() {
        if authorizations.next().is_some() {
            return Err(bad("there is more than one `Authorization`"));
        }
        let secret = said.to_str().ok().and_then(|said| said.split_once(' '));
        let secret = secret.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let secret = secret.map(|(_, secret)| secret.trim()).filter(|it| !it.is_empty());
        let secret = secret.filter(|it| it.len() <= SECRET_MAX);
        let secret = secret.ok_or_else(|| bad("`Authorization` must be `Bearer` and a token"))?;
        return Ok(Shown::Token(Digest::of(secret.as_bytes())));
    }
    match connection {
        Connection::Socket { .. } => Ok(Shown::Nothing),
        Connection::Port { .. } => Ok(cookie(headers, port)
            .map_or(Shown::Nothing, |secret| Shown::Cookie(Digest::of(secret.as_bytes())))),
    }
}

/// Returns the name of the cookie of the daemon at `port`: browsers do not tell the ports of a host apart.
pub(crate) fn cookie_name(port: u16) -> String {
    format!("cmux_{port}")
}

/// Returns what the cookie of ours holds, if there is one.
pub(crate) fn cookie(headers: &HeaderMap, port: u16) -> Option<&str> {
    let name = cookie_name(port);
    let said = headers.get_all(header::COOKIE).iter().filter_map(|said| said.to_str().ok());
    let mut pairs = said.flat_map(|said| said.split(';')).filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(found, _)| found.trim() == name)?;
    Some(value.trim()).filter(|value| !value.is_empty() && value.len() <= SECRET_MAX)
}

fn find_token(view: View<'_>, secret: &Digest) -> Result<Known, StoreError> {
    if let Some(token) = tokens::find_by_secret(view, secret)? {
        return Ok(Known::Token(token));
    }
    Ok(runs::find(view, secret)?.map_or(Known::Nothing, Known::Run))
}

fn find_session(view: View<'_>, secret: &Digest) -> Result<Known, StoreError> {
    Ok(sessions::find_by_secret(view, secret)?.map_or(Known::Nothing, Known::Session))
}

fn by_token(token: &Token, now: Timestamp) -> Result<Principal, Oops> {
    match token.standing(now) {
        TokenStanding::Good => Ok(Principal::Token { id: token.id, scope: token.scope }),
        TokenStanding::Expired { .. } => Err(Oops::unauthorised(
            "expired-credential",
            "this token has expired; `cmux token create` makes another",
        )),
        TokenStanding::Revoked { .. } => {
            Err(Oops::unauthorised("revoked-credential", "this token was revoked"))
        }
    }
}

/// An agent's token is good on the socket only, and only for what its own launcher started.
fn by_run(token: &RunToken, connection: &Connection) -> Result<Principal, Oops> {
    if !token.is_good() {
        return Err(Oops::unauthorised("expired-credential", "the run of this token is over"));
    }
    match connection {
        Connection::Socket { standing: Standing::Below { run: Some(run) }, .. }
            if *run == token.run =>
        {
            let (agent, run, project) = (token.agent, token.run, token.project.clone());
            Ok(Principal::Agent { agent, run, project })
        }
        Connection::Socket { .. } | Connection::Port { .. } => Err(Oops::unauthorised(
            "wrong-descent",
            "an agent's token is good on the socket only, and only for what that agent started",
        )),
    }
}

fn by_session(session: &Session, now: Timestamp) -> Result<Principal, Oops> {
    let over = |slug, detail| Err(Oops::unauthorised(slug, detail));
    match session.standing(now) {
        SessionStanding::Good => Ok(Principal::Browser { session: session.id }),
        SessionStanding::Expired { .. } => {
            over("expired-credential", "this login has expired; `cmux open` gives a new link")
        }
        SessionStanding::Over { .. } => {
            over("revoked-credential", "this login is over; `cmux open` gives a new link")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_cookie_of_this_port_counts() {
        for (said, expected) in [
            ("cmux_8000=abc", Some("abc")),
            ("a=b; cmux_8000=abc; c=d", Some("abc")),
            ("cmux_8001=abc", None),
            ("xcmux_8000=abc", None),
            ("cmux_8000=", None),
            ("cmux_8000", None),
            ("", None),
        ] {
            let headers = HeaderMap::from_iter([(header::COOKIE, said.parse().unwrap())]);
            assert_eq!(cookie(&headers, 8000), expected, "{said}");
        }
        let long = format!("cmux_8000={}", "x".repeat(SECRET_MAX + 1));
        let headers = HeaderMap::from_iter([(header::COOKIE, long.parse().unwrap())]);
        assert_eq!(cookie(&headers, 8000), None);
    }
}
