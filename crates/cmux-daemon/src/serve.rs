//! The doors: a socket in the home and a port on the loopback.

use std::fs::{self, Permissions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use axum::Router;
use cmux_drivers::process::port_holder;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;

/// Where clients are met.
#[derive(Debug)]
pub(crate) struct Doors {
    tcp: TcpListener,
    unix: UnixListener,
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

    /// Serves until `closing` turns true, and then what is under way.
    pub(crate) async fn serve(
        self,
        on_socket: Router,
        on_port: Router,
        closing: watch::Receiver<bool>,
    ) -> io::Result<()> {
        let socket =
            axum::serve(self.unix, on_socket).with_graceful_shutdown(closed(closing.clone()));
        let port = axum::serve(self.tcp, on_port).with_graceful_shutdown(closed(closing));
        tokio::try_join!(socket.into_future(), port.into_future())?;
        Ok(())
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
