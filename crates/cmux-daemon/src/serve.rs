//! The doors: a socket in the home and a port. What comes in is limited before it is understood: so many
//! connections at once, so long for a request's head, and no more of it than fits.

use std::convert::Infallible;
use std::fs::{self, Permissions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use cmux_drivers::process::port_holder;
use cmux_drivers::tls::Acceptor;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower_service::Service;
use tracing::{debug, warn};

use crate::http::problem::Oops;
use crate::steady::Steady;
use crate::who::{Connection, Site};

/// How long a client may take for the head of a request, and keep silent between two of them.
const HEAD_WITHIN: Duration = Duration::from_secs(20);

/// How much of a head is read at most, in bytes.
const HEAD_MAX: usize = 64 << 10;

/// How many headers a request may have.
const HEADERS_MAX: usize = 100;

/// How much the system holds of what was sent to a client at the port, in bytes.
const SEND_BUFFER: usize = 256 << 10;

/// How long a client may leave an answer lying before more of it can be sent.
const TAKE_WITHIN: Duration = Duration::from_secs(20);

/// How long what is under way may take once the house is closing.
const CLOSE_WITHIN: Duration = Duration::from_secs(3);

/// How many more may ask how cmux is when all places are taken, and how long each may take for it.
const RESERVE: usize = 16;
const RESERVE_WITHIN: Duration = Duration::from_secs(2);

/// What they may ask.
const IN_RESERVE: [&str; 4] = ["/livez", "/readyz", "/metrics", "/api/webhooks/health"];

/// How long to wait after a connection could not be accepted: there may be no descriptors left.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// What is said to those who are too many.
const TOO_MANY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\n\
retry-after: 5\r\nconnection: close\r\ncontent-length: 154\r\n\r\n\
{\"type\":\"/problems/too-many-connections\",\"title\":\"Service Unavailable\",\"status\":503,\
\"detail\":\"there are too many connections: close some, and try again\"}\n";

/// Where clients are met.
#[derive(Debug)]
pub(crate) struct Doors {
    tcp: TcpListener,
    unix: UnixListener,
}

/// What goes for everything that comes in.
#[derive(Clone, Debug)]
pub(crate) struct House {
    pub(crate) router: Router,
    pub(crate) site: Site,
    /// How many may be connected at once, at each door.
    pub(crate) connections_max: usize,
    /// What the port is locked with, if it is.
    pub(crate) tls: Option<Acceptor>,
    pub(crate) closing: watch::Receiver<bool>,
}

/// Why a door could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DoorError {
    #[error(
        "port {port} on {host} is taken{by}. Choose another with CMUX_PORT=… or `port = …` in \
         {config}, or end that process"
    )]
    PortTaken { port: u16, host: String, by: String, config: String },
    #[error("cannot listen on {address}: {source}")]
    Port { address: SocketAddr, source: io::Error },
    #[error("cannot listen at {path}: {source}")]
    Socket { path: String, source: io::Error },
}

impl Doors {
    /// Opens both doors. Whoever calls this holds the home's lock, so a socket that is there is stale.
    pub(crate) async fn open(
        address: SocketAddr,
        socket: &Path,
        config: &Path,
    ) -> Result<Doors, DoorError> {
        let tcp =
            TcpListener::bind(address).await.map_err(|error| taken(address, config, error))?;
        let failed = |source| DoorError::Socket { path: socket.display().to_string(), source };
        match fs::remove_file(socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
        let unix = UnixListener::bind(socket).map_err(failed)?;
        fs::set_permissions(socket, Permissions::from_mode(0o600)).map_err(failed)?;
        Ok(Doors { tcp, unix })
    }

    /// Returns the port that was taken, which may have been left to the system.
    pub(crate) fn port(&self) -> u16 {
        self.tcp.local_addr().map_or(0, |address| address.port())
    }

    /// Serves until the house is closing, and then what is under way.
    pub(crate) async fn serve(self, house: House) {
        tokio::join!(at_socket(self.unix, house.clone()), at_port(self.tcp, house));
    }
}

/// Meets those who come to the socket. They are held on to now, and who they are is settled beside all
/// else.
async fn at_socket(listener: UnixListener, house: House) {
    let mut guests = Guests::of(&house);
    while let Some((stream, _)) = guests.next(|| listener.accept()).await {
        let connection = Connection::at_socket(&stream, &guests.house.site);
        guests.welcome(stream, connection, None);
    }
    guests.see_off().await;
}

async fn at_port(listener: TcpListener, house: House) {
    let mut guests = Guests::of(&house);
    while let Some((stream, remote)) = guests.next(|| listener.accept()).await {
        // Answers are short, and each is waited for.
        let _ = stream.set_nodelay(true);
        // The system would hold megabytes for one that does not read, and let go of them in steps.
        let _ = set_socket_send_buffer_size(&stream, SEND_BUFFER);
        let connection = Connection::at_port(stream.local_addr().ok(), remote, &guests.house.site);
        guests.welcome(stream, connection, guests.house.tls.clone());
    }
    guests.see_off().await;
}

/// Those who are connected at one door.
struct Guests {
    house: House,
    places: Arc<Semaphore>,
    reserve: Arc<Semaphore>,
    tasks: JoinSet<()>,
}

impl Guests {
    fn of(house: &House) -> Guests {
        let places = Arc::new(Semaphore::new(house.connections_max));
        let reserve = Arc::new(Semaphore::new(RESERVE));
        Guests { house: house.clone(), places, reserve, tasks: JoinSet::new() }
    }

    /// Returns whoever comes next, or nothing once the house is closing.
    async fn next<T, F>(&mut self, mut accept: impl FnMut() -> F) -> Option<T>
    where
        F: Future<Output = io::Result<T>>,
    {
        loop {
            tokio::select! {
                () = closed(self.house.closing.clone()) => return None,
                Some(_) = self.tasks.join_next() => {}
                came = accept() => match came {
                    Ok(guest) => return Some(guest),
                    Err(error) => {
                        warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(ACCEPT_AGAIN_AFTER).await;
                    }
                },
            }
        }
    }

    /// Serves `stream` beside the others, or says that there is no place.
    fn welcome<S>(&mut self, mut stream: S, connection: Connection, tls: Option<Acceptor>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let place = self.places.clone().try_acquire_owned();
        let is_crowded = place.is_err();
        let Ok(place) = place.or_else(|_| self.reserve.clone().try_acquire_owned()) else {
            self.tasks.spawn(async move {
                // Whoever does not take it has left; one who speaks TLS would not understand.
                if tls.is_none() {
                    let _ = timeout(ACCEPT_AGAIN_AFTER, stream.write_all(TOO_MANY)).await;
                }
            });
            return;
        };
        let talk = Talk {
            connection: Arc::new(connection),
            router: self.house.router.clone(),
            closing: self.house.closing.clone(),
            is_crowded,
        };
        self.tasks.spawn(async move {
            let known = talk.connection.clone();
            let talking = async {
                match tls {
                    None => talk.converse(stream).await,
                    Some(tls) => talk.converse_locked(stream, &tls).await,
                }
            };
            // What does not depend on who asks is answered meanwhile.
            tokio::join!(known.settle(), talking);
            drop(place);
        });
    }

    async fn see_off(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// One connection's talk.
struct Talk {
    connection: Arc<Connection>,
    router: Router,
    closing: watch::Receiver<bool>,
    /// Whether all places are taken, so that only health is told.
    is_crowded: bool,
}

impl Talk {
    /// Answers once the other side has shaken hands.
    async fn converse_locked<S>(self, stream: S, tls: &Acceptor)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let shaken = tokio::select! {
            shaken = timeout(HEAD_WITHIN, tls.accept(stream)) => shaken,
            () = closed(self.closing.clone()) => return,
        };
        match shaken {
            Ok(Ok(stream)) => self.converse(stream).await,
            Ok(Err(error)) => debug!(%error, "somebody does not speak TLS"),
            Err(_) => debug!("somebody does not go on with TLS"),
        }
    }

    /// Answers one request after another on `stream`.
    async fn converse<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Talk { connection, router, closing, is_crowded } = self;
        let is_free = Arc::new(AtomicBool::new(false));
        let patience = if is_crowded { RESERVE_WITHIN } else { TAKE_WITHIN };
        let stream = Steady::new(stream, patience, is_free.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(connection.clone());
            let (mut router, is_free) = (router.clone(), is_free.clone());
            async move {
                if is_crowded && !IN_RESERVE.contains(&request.uri().path()) {
                    return Ok::<_, Infallible>(Oops::too_many_connections().into_response());
                }
                let response = answer(&mut router, request.map(Body::new)).await;
                // A WebSocket has its own patience.
                let is_upgrade = response.status() == StatusCode::SWITCHING_PROTOCOLS;
                is_free.store(is_upgrade, Ordering::Relaxed);
                Ok(response)
            }
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(if is_crowded { RESERVE_WITHIN } else { HEAD_WITHIN })
            .keep_alive(!is_crowded)
            .max_buf_size(HEAD_MAX)
            // What was read beyond that in one go would pass otherwise.
            .max_header_size(HEAD_MAX)
            .max_headers(HEADERS_MAX);
        let talk = http.serve_connection(TokioIo::new(stream), service).with_upgrades();
        let mut talk = std::pin::pin!(talk);
        let ended = tokio::select! {
            ended = talk.as_mut() => ended,
            () = closed(closing) => {
                talk.as_mut().graceful_shutdown();
                // Half a request, or an answer that nobody takes, is not waited for.
                timeout(CLOSE_WITHIN, talk).await.unwrap_or(Ok(()))
            }
        };
        if let Err(error) = ended {
            debug!(%error, "a connection broke");
        }
    }
}

async fn answer(router: &mut Router, request: Request<Body>) -> Response {
    match router.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Waits until `closing` turns true.
pub(crate) async fn closed(mut closing: watch::Receiver<bool>) {
    // Whoever could close is gone: that is closed too.
    let _ = closing.wait_for(|&closing| closing).await;
}

fn taken(address: SocketAddr, config: &Path, source: io::Error) -> DoorError {
    if source.kind() != io::ErrorKind::AddrInUse {
        return DoorError::Port { address, source };
    }
    let by = port_holder(address);
    DoorError::PortTaken {
        port: address.port(),
        host: address.ip().to_string(),
        by: by.map_or_else(String::new, |it| format!(" by {} (process {})", it.name, it.pid)),
        config: config.display().to_string(),
    }
}
