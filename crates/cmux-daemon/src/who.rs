//! Who is at the door, from where the connection comes and from what it shows.
//!
//! At the socket, descent decides: the process that connects is held on to when the connection is
//! accepted, and looked at beside all else. At the port, where any program of this machine may come, only
//! what is shown counts: a token or a browser's cookie. In neither place does a process that may be below
//! an agent's launcher pass for the person, whatever it has found.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode, header};
use cmux_core::descent::{
    Doubt, Forebear, Holder, Standing, StrangerWhy, Unreadable, judge as judge_line,
};
use cmux_core::digest::Digest;
use cmux_core::principal::{Need, Principal};
use cmux_core::run::RunToken;
use cmux_core::session::{Session, SessionStanding};
use cmux_core::time::Timestamp;
use cmux_core::token::{Token, TokenStanding};
use cmux_drivers::clock;
use cmux_drivers::home::Home;
use cmux_drivers::peer::{self, Peer};
use cmux_drivers::process::{Process, TcpClient, tcp_client};
use cmux_store::{StoreError, View, runs, sessions, tokens};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::net::UnixStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::http::App;
use crate::http::problem::Oops;

/// The longest secret that is looked at, in bytes.
const SECRET_MAX: usize = 256;

/// How many cookies of ours are looked up in one request.
const COOKIES_MAX: usize = 4;

/// How many processes are looked at at once. Somebody with much to read holds up no more than these.
const LOOKS_MAX: usize = 4;

/// How long it may take to find out who is at a door, in all.
const LOOK_WITHIN: Duration = Duration::from_secs(5);

/// Of how many who may hold a connection it is asked where they come from.
const SUSPECTS_MAX: usize = 256;

/// What a connection's other end is judged by.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// The user whose daemon this is.
    uid: u32,
    /// Where this home's tmux servers listen.
    tmux: PathBuf,
    looks: Arc<Semaphore>,
    look_within: Duration,
}

/// What is found out once, when it is first asked for.
type Settled<T> = Shared<BoxFuture<'static, T>>;

/// A connection, and what is found out of its other end.
#[derive(Debug)]
pub(crate) enum Connection {
    Socket { pid: u32, standing: Settled<Standing> },
    Port { remote: SocketAddr, doubt: Settled<Option<Doubt>> },
}

/// What a request shows.
enum Shown {
    Nothing,
    /// A token, of the person's making or of an agent's run.
    Token(Digest),
    /// What is in a browser's cookie. There may be several of its name: a page on another port of the
    /// same host can add one.
    Cookies(Vec<Digest>),
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
        let looks = Arc::new(Semaphore::new(LOOKS_MAX));
        let uid = rustix::process::geteuid().as_raw();
        Site { uid, tmux: home.root().join("tmux"), looks, look_within: LOOK_WITHIN }
    }

    /// Looks at processes beside all else, when it is this one's turn. Returns nothing if that takes too
    /// long; whoever still looks then keeps its turn, so that there are never more.
    async fn look<T: Send + 'static>(
        self,
        look: impl FnOnce(&Site) -> T + Send + 'static,
    ) -> Option<T> {
        let within = self.look_within;
        let looked = async move {
            let turn = self.looks.clone().acquire_owned().await.ok()?;
            let look = move || {
                let seen = look(&self);
                drop(turn);
                seen
            };
            tokio::task::spawn_blocking(look).await.ok()
        };
        timeout(within, looked).await.ok().flatten()
    }

    /// Returns as whom somebody of `uid` stands who comes from this `line`.
    fn judge(&self, uid: u32, line: &Result<Vec<Forebear>, Unreadable>) -> Standing {
        judge_line(self.uid, uid, line.as_deref().map_err(|why| *why))
    }

    /// Returns as whom each of `processes` stands, up to the first who is not the person: one is enough.
    fn judge_all(&self, processes: &[Process]) -> Vec<Standing> {
        let mut standings = Vec::new();
        for process in processes {
            let standing = if standings.len() < SUSPECTS_MAX {
                self.judge(self.uid, &peer::line_of(*process, &self.tmux))
            } else {
                LATE
            };
            standings.push(standing);
            if standing.doubt().is_some() {
                break;
            }
        }
        standings
    }

    /// Returns who holds the other end of a connection that was accepted at `local` from `remote`.
    fn holder(&self, local: SocketAddr, remote: SocketAddr) -> Holder {
        match tcp_client(local, remote) {
            TcpClient::Found { holders } => Holder::Found(self.judge_all(&holders)),
            TcpClient::Hidden { suspects } => {
                Holder::Hidden { suspects: self.judge_all(&suspects) }
            }
            TcpClient::Gone => Holder::Gone,
            TcpClient::Elsewhere => Holder::Elsewhere,
        }
    }
}

/// As whom somebody stands who could not be looked at in time.
const LATE: Standing = Standing::Stranger(StrangerWhy::Unreadable(Unreadable::Late));

impl Connection {
    /// Takes hold of the process that has just come to the socket: later, another may have its number.
    pub(crate) fn at_socket(stream: &UnixStream, site: &Site) -> Connection {
        let peer = match Peer::of(stream) {
            Ok(peer) => peer,
            Err(error) => {
                tracing::warn!(%error, "it cannot be told who is at the socket");
                let standing = site.judge(site.uid, &Ok(Vec::new()));
                let standing = std::future::ready(standing).boxed().shared();
                return Connection::Socket { pid: 0, standing };
            }
        };
        let (pid, site) = (peer.pid, site.clone());
        let look = move |site: &Site| site.judge(peer.uid, &peer::line(&peer, &site.tmux));
        let standing = async move { site.look(look).await.unwrap_or(LATE) };
        Connection::Socket { pid, standing: standing.boxed().shared() }
    }

    /// Takes note of where somebody comes from who has just come to the port.
    pub(crate) fn at_port(
        local: Option<SocketAddr>,
        remote: SocketAddr,
        site: &Site,
    ) -> Connection {
        let site = site.clone();
        let doubt = async move {
            let Some(local) = local else { return Some(Doubt::Gone) };
            let looked = site.look(move |site| site.holder(local, remote).doubt()).await;
            looked.unwrap_or(LATE.doubt())
        };
        Connection::Port { remote, doubt: doubt.boxed().shared() }
    }

    /// Finds out who is at the socket, and lets go of the process. At the port that waits until it matters.
    pub(crate) async fn settle(&self) {
        self.standing().await;
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

    /// Returns as whom whoever is at the socket stands. At the port, nobody has a standing.
    async fn standing(&self) -> Option<Standing> {
        match self {
            Connection::Socket { standing, .. } => Some(standing.clone().await),
            Connection::Port { .. } => None,
        }
    }

    /// Returns why whatever is shown over this connection may be in an agent's hands.
    async fn doubt(&self) -> Option<Doubt> {
        match self {
            Connection::Socket { standing, .. } => standing.clone().await.doubt(),
            Connection::Port { doubt, .. } => doubt.clone().await,
        }
    }
}

/// Returns who sent a request with these `headers` over `connection`, to a route that needs `need`.
pub(crate) async fn principal(
    app: &App,
    connection: &Connection,
    headers: &HeaderMap,
    need: Need,
) -> Result<Principal, Oops> {
    let shown = shown(headers, connection, app.facts.port)?;
    let found = match shown {
        Shown::Nothing => return unshown(connection.standing().await),
        Shown::Token(secret) => app.read(move |view| find_token(view, &secret)).await?,
        Shown::Cookies(secrets) => app.read(move |view| find_session(view, &secrets)).await?,
    };
    let now = clock::wall();
    let principal = match found {
        Known::Token(token) => by_token(&token, now)?,
        Known::Run(run) => by_run(&run, connection.standing().await)?,
        Known::Session(session) => by_session(&session, now)?,
        Known::Nothing => {
            return Err(Oops::unauthorised("bad-credential", "what was shown is not known here"));
        }
    };
    if !principal.is_powerful() {
        return Ok(principal);
    }
    match connection.doubt().await {
        None => Ok(principal),
        Some(doubt) => held_down(principal, doubt, need),
    }
}

/// Returns what is left of a powerful `principal` when it may be in an agent's hands.
fn held_down(principal: Principal, doubt: Doubt, need: Need) -> Result<Principal, Oops> {
    let is_allowed = principal.may(need).is_ok();
    let left = principal.below_an_agent();
    if left == Principal::Nobody {
        let slug = match doubt {
            Doubt::Agent => "agent-as-person",
            Doubt::Stranger(_) | Doubt::Hidden | Doubt::Gone => "stranger",
        };
        return Err(Oops::new(StatusCode::FORBIDDEN, slug, doubt.to_string()));
    }
    if is_allowed && left.may(need).is_err() {
        let (needed, has) = (need.name(), left.name());
        let detail = format!(
            "this needs the scope `{needed}`, and here this {has} counts for `send` at most: {doubt}"
        );
        return Err(Oops::new(StatusCode::FORBIDDEN, "not-allowed", detail));
    }
    Ok(left)
}

/// Returns who somebody is that shows nothing, and at the socket stands like this.
fn unshown(standing: Option<Standing>) -> Result<Principal, Oops> {
    match standing {
        None => Ok(Principal::Nobody),
        Some(Standing::Person) => Ok(Principal::Operator),
        Some(Standing::Below { .. }) => Err(Oops::unauthorised(
            "agent-without-token",
            "this was started by an agent, and must show the token of its run (CMUX_TOKEN)",
        )),
        Some(Standing::Stranger(why)) => {
            Err(Oops::new(StatusCode::FORBIDDEN, "stranger", why.to_string()))
        }
    }
}

/// Returns what a request shows. A token goes before a cookie, and two tokens are none.
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
        Connection::Port { .. } => {
            let cookies = cookies(headers, port).map(|secret| Digest::of(secret.as_bytes()));
            let secrets: Vec<Digest> = cookies.take(COOKIES_MAX).collect();
            Ok(if secrets.is_empty() { Shown::Nothing } else { Shown::Cookies(secrets) })
        }
    }
}

/// Returns the name of the cookie of the daemon at `port`: browsers do not tell the ports of a host apart.
pub(crate) fn cookie_name(port: u16) -> String {
    format!("cmux_{port}")
}

/// Returns what each cookie of ours holds.
pub(crate) fn cookies(headers: &HeaderMap, port: u16) -> impl Iterator<Item = &str> {
    let name = cookie_name(port);
    let said = headers.get_all(header::COOKIE).iter().filter_map(|said| said.to_str().ok());
    let pairs = said.flat_map(|said| said.split(';')).filter_map(|pair| pair.split_once('='));
    let own = pairs.filter(move |(found, _)| found.trim() == name).map(|(_, value)| value.trim());
    own.filter(|value| !value.is_empty() && value.len() <= SECRET_MAX)
}

fn find_token(view: View<'_>, secret: &Digest) -> Result<Known, StoreError> {
    if let Some(token) = tokens::find_by_secret(view, secret)? {
        return Ok(Known::Token(token));
    }
    Ok(runs::find(view, secret)?.map_or(Known::Nothing, Known::Run))
}

/// Returns the first session that one of `secrets` opens, one that is over only if there is no other.
fn find_session(view: View<'_>, secrets: &[Digest]) -> Result<Known, StoreError> {
    let mut found = Known::Nothing;
    for secret in secrets {
        let Some(session) = sessions::find_by_secret(view, secret)? else { continue };
        let is_over = session.over.is_some();
        found = Known::Session(session);
        if !is_over {
            break;
        }
    }
    Ok(found)
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
fn by_run(token: &RunToken, standing: Option<Standing>) -> Result<Principal, Oops> {
    if !token.is_good() {
        return Err(Oops::unauthorised("expired-credential", "the run of this token is over"));
    }
    match standing {
        Some(Standing::Below { run: Some(run) }) if run == token.run => {
            let (agent, run, project) = (token.agent, token.run, token.project.clone());
            Ok(Principal::Agent { agent, run, project })
        }
        Some(Standing::Person | Standing::Below { .. } | Standing::Stranger(_)) | None => {
            Err(Oops::unauthorised(
                "wrong-descent",
                "an agent's token is good on the socket only, and only for what that agent started",
            ))
        }
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
mod tests;
