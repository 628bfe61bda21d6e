//! The API: each route asks the kernel or a reader, and says what came of it.

mod agents;
mod bodies;
mod conversation;
mod dashboard;
mod events;
mod extract;
mod gate;
mod health;
mod history;
pub(crate) mod hooks;
mod kinds;
mod launchable;
mod messages;
mod metrics;
mod openapi;
mod pages;
pub(crate) mod problem;
mod projects;
mod register;
mod routes;
mod secrets;
mod sessions;
mod status;
mod store;
mod stream;
mod table;
mod terminal;
mod tokens;
mod trust;
pub(crate) mod vitals;
mod webhooks;
mod whoami;
mod why;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::middleware::from_fn_with_state;
use cmux_core::report::{Answer, Report};
use cmux_core::settings::{Limits, MailSettings, Settings, WebhookSource};
use cmux_core::time::Timestamp;
use cmux_core::visit::Names;
use cmux_drivers::home::Home;
use cmux_drivers::kinds::Found;
use cmux_store::{StoreError, View, repair};
use tokio::sync::{SetOnce, mpsc, watch};
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::timeout;

use crate::feed::Feed;
use crate::finding::Finding;
use crate::http::bodies::Room;
pub(crate) use crate::http::events::say as say_event;
use crate::http::metrics::Metrics;
use crate::http::problem::Oops;
use crate::http::vitals::Pulse;
use crate::inbox::{Inbox, Signs};
use crate::keeper::Orders;
use crate::kernel::Denied;
use crate::ranks::HookRanks;
use crate::readers::Readers;
use crate::refusals::Refusals;
use crate::shelf::Shelf;
use crate::tally::Tally;
use crate::turnstile::Turnstile;
use crate::who::{Site, cookie_name};

/// How long what needs the store waits for it to be open.
const AWAKE_WITHIN: Duration = Duration::from_secs(20);

/// What every route may need.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) facts: Facts,
    pub(crate) site: Site,
    /// By what names cmux may be called.
    pub(crate) names: Names,
    /// Where browsers find it, without a slash at the end.
    pub(crate) address: String,
    /// The same under a name of cmux's own, if there is one.
    pub(crate) browser_address: String,
    pub(crate) is_secure: bool,
    pub(crate) limits: Limits,
    pub(crate) mail: MailSettings,
    pub(crate) webhooks: BTreeMap<String, WebhookSource>,
    pub(crate) kinds: Arc<Shelf>,
    pub(crate) ranks: Arc<HookRanks>,
    /// Which kinds of agents were on this machine when they were last looked for.
    pub(crate) found: Finding<Vec<Found>>,
    pub(crate) turnstile: Turnstile,
    pub(crate) refusals: Refusals,
    pub(crate) metrics: Metrics,
    pub(crate) room: Room,
    /// Whether a write reached the disk, when that was last tried.
    pub(crate) writable: Finding<Result<(), String>>,
    /// What was wrong with tmux when it was last looked at.
    pub(crate) tmux: Finding<Option<String>>,
    /// How it did over the last hour.
    pub(crate) pulse: Pulse,
    /// The OpenAPI document.
    pub(crate) document: Bytes,
    pub(crate) ways_out: WaysOut,
    /// What there is once the store is open.
    awake: SetOnce<Awake>,
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

/// How the daemon's end is brought about and noticed.
#[derive(Clone, Debug)]
pub(crate) struct WaysOut {
    pub(crate) closing: watch::Receiver<bool>,
    pub(crate) stop: mpsc::Sender<()>,
    /// Takes note of damage that a reader found.
    pub(crate) faults: mpsc::Sender<String>,
    /// Held by each client that must be let go before the end.
    pub(crate) clients: mpsc::Sender<()>,
}

/// The daemon with its store open.
#[derive(Debug)]
pub(crate) struct Awake {
    /// The kernel, unless this is safe mode.
    pub(crate) mind: Option<Mind>,
    pub(crate) readers: Readers,
    /// Where the log is told.
    pub(crate) feed: Feed,
    /// What became of mail.
    pub(crate) tally: Arc<Tally>,
}

/// The kernel, as routes see it.
#[derive(Debug)]
pub(crate) struct Mind {
    pub(crate) inbox: Inbox,
    pub(crate) signs: Signs,
    pub(crate) hands: AbortHandle,
    pub(crate) keeper: Orders,
}

/// Returns all routes, behind the gate, for both doors.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let mut router = Router::new();
    for route in routes::all() {
        let enter = from_fn_with_state((app.clone(), route.need), gate::enter);
        router = router.route(route.path, route.handler.layer(enter));
    }
    router
        .fallback(dashboard::elsewhere)
        .method_not_allowed_fallback(problem::no_method)
        .layer(from_fn_with_state(app.clone(), gate::admit))
        .with_state(app.clone())
}

impl App {
    pub(crate) fn new(
        facts: Facts,
        settings: &Settings,
        refusals: Refusals,
        ways_out: WaysOut,
    ) -> App {
        let port = facts.port;
        let kinds = Arc::new(Shelf::of(facts.home.agents(), settings.kinds.clone()));
        let document = openapi::document(&routes::all(), &facts.version, &cookie_name(port));
        App {
            site: Site::of(&facts.home),
            browser_address: settings.browser_address(port),
            address: settings.address(port),
            names: Names {
                hosts: settings.allowed_hosts(port),
                origins: settings.allowed_origins(port),
            },
            is_secure: settings.tls.is_some(),
            limits: settings.limits,
            mail: settings.mail,
            webhooks: settings.webhooks.clone(),
            ranks: Arc::new(HookRanks::of(kinds.clone())),
            kinds,
            found: Finding::nothing(),
            turnstile: Turnstile::default(),
            refusals,
            metrics: Metrics::default(),
            room: Room::new(),
            writable: Finding::nothing(),
            tmux: Finding::nothing(),
            pulse: Pulse::none(),
            document: Bytes::from(document.to_string()),
            ways_out,
            awake: SetOnce::new(),
            facts,
        }
    }

    /// Begins to answer what needs the store.
    pub(crate) fn wake(&self, awake: Awake) {
        // It wakes once.
        let _ = self.awake.set(awake);
    }

    /// Returns what there is once the store is open, if it is.
    pub(crate) fn awake(&self) -> Option<&Awake> {
        self.awake.get()
    }

    /// Returns the same, having waited for it a while.
    pub(crate) async fn awakened(&self) -> Result<&Awake, Oops> {
        timeout(AWAKE_WITHIN, self.awake.wait()).await.map_err(|_| Oops::starting())
    }

    /// Returns where the log is told.
    pub(crate) async fn feed(&self) -> Result<&Feed, Oops> {
        Ok(&self.awakened().await?.feed)
    }

    /// Reports to the kernel, and waits until it is stored.
    async fn ask(&self, report: Report) -> Result<Answer, Oops> {
        Ok(self.try_ask(report).await??)
    }

    /// Reports to the kernel, and returns what it answers.
    async fn try_ask(&self, report: Report) -> Result<Result<Answer, Denied>, Oops> {
        let awake = self.awakened().await?;
        let Some(mind) = &awake.mind else {
            let why = self.facts.safe_mode.as_deref().unwrap_or_default();
            return Err(Oops::safe_mode(why));
        };
        Ok(mind.inbox.ask(report).await)
    }

    /// Returns who keeps the agents.
    pub(crate) async fn keeper(&self) -> Result<&Orders, Oops> {
        let awake = self.awakened().await?;
        let why = self.facts.safe_mode.as_deref().unwrap_or_default();
        awake.mind.as_ref().map(|mind| &mind.keeper).ok_or_else(|| Oops::safe_mode(why))
    }

    /// Reads from the store.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(View<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Oops> {
        let awake = self.awakened().await?;
        let found = awake.readers.read(work).await;
        if let Err(StoreError::Damaged { what }) = &found {
            match &awake.mind {
                // One is enough; the rest would say the same.
                Some(_) => drop(self.ways_out.faults.try_send(what.clone())),
                // Safe mode mends nothing, so ending would change nothing: the next start looks.
                None => {
                    let (database, what) = (self.facts.home.database(), what.clone());
                    spawn_blocking(move || drop(repair::mark(&database, &what)));
                }
            }
        }
        found.map_err(|error| Oops::from(&error))
    }
}
