//! The API: each route asks the kernel or a reader, and says what came of it.

mod events;
mod extract;
mod health;
mod page;
mod problem;
mod projects;
mod status;
mod store;
mod stream;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use cmux_core::report::{Answer, Report};
use cmux_core::time::Timestamp;
use cmux_drivers::home::Home;
use cmux_store::{StoreError, View, repair};
use tokio::sync::{mpsc, watch};

use crate::feed::Feed;
pub(crate) use crate::http::events::say as say_event;
use crate::http::problem::Oops;
use crate::inbox::{Inbox, Signs};
use crate::readers::Readers;

/// The longest body that is read, in bytes.
const BODY_MAX: usize = 10 << 20;

/// What every route may need.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) facts: Facts,
    /// The kernel, unless this is safe mode.
    pub(crate) inbox: Option<Inbox>,
    pub(crate) signs: Option<Signs>,
    pub(crate) readers: Readers,
    /// Where the log is told.
    pub(crate) feed: Feed,
    pub(crate) closing: watch::Receiver<bool>,
    pub(crate) stop: mpsc::Sender<()>,
    /// Takes note of damage that a reader found.
    pub(crate) faults: mpsc::Sender<String>,
    /// Held by each client that must be let go before the end.
    pub(crate) clients: mpsc::Sender<()>,
}

/// What does not change while the daemon lives.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) home: Home,
    pub(crate) version: String,
    pub(crate) pid: u32,
    pub(crate) port: u16,
    pub(crate) started_at: Timestamp,
    pub(crate) safe_mode: Option<String>,
}

/// The routes on the home's socket, which only its owner can reach.
pub(crate) fn on_socket(app: Arc<App>) -> Router {
    Router::new()
        .merge(health::routes())
        .route("/api/status", get(status::show))
        .route("/api/daemon", get(status::daemon))
        .route("/api/daemon/stop", post(status::stop))
        .route("/api/projects", get(projects::list).post(projects::add))
        .route("/api/projects/{id}", get(projects::show).delete(projects::remove))
        .route("/api/events", get(events::list))
        .route("/api/ws", get(stream::follow))
        .route("/api/store/check", get(store::check))
        .route("/api/store/audit", get(store::audit))
        .route("/api/store/backups", post(store::back_up))
        .route("/api/store/archives", post(store::archive))
        .fallback(problem::no_route)
        .method_not_allowed_fallback(problem::no_method)
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .with_state(app)
}

/// The routes on the loopback port, which any process or page on this machine can reach: only what
/// tells nothing and changes nothing.
pub(crate) fn on_port(app: Arc<App>) -> Router {
    Router::new()
        .merge(health::routes())
        .route("/", get(page::show))
        .fallback(problem::no_entry)
        .method_not_allowed_fallback(problem::no_method)
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .with_state(app)
}

impl App {
    /// Reports to the kernel, and waits until it is stored.
    async fn ask(&self, report: Report) -> Result<Answer, Oops> {
        let Some(inbox) = &self.inbox else {
            let why = self.facts.safe_mode.as_deref().unwrap_or_default();
            return Err(Oops::safe_mode(why));
        };
        inbox.ask(report).await.map_err(Oops::from)
    }

    /// Reads from the store.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(View<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Oops> {
        let found = self.readers.read(work).await;
        if let Err(StoreError::Damaged { what }) = &found {
            match &self.inbox {
                // One is enough; the rest would say the same.
                Some(_) => drop(self.faults.try_send(what.clone())),
                // Safe mode mends nothing, so ending would change nothing: the next start looks.
                None => drop(repair::mark(&self.facts.home.database(), what)),
            }
        }
        found.map_err(|error| Oops::from(&error))
    }
}
