//! A scripted model behind a real API on the loopback: agent CLIs are run against it as they are, without a
//! model or a network.
//!
//! What it does is said in prompts ([`directive`]) or by the test ([`Model::script`], [`Model::when`]);
//! without either it says what it heard. It speaks Anthropic's Messages, OpenAI's Responses and chat
//! completions, and Google's generateContent, each a file that is pure. All that it is asked is kept, for
//! tests to look at.

pub mod asked;
mod book;
mod chat;
pub mod directive;
mod door;
mod frame;
mod gemini;
mod messages;
mod pieces;
mod responses;
pub mod script;
mod speech;
mod visits;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use self::asked::Asked;
use self::script::Script;
use self::visits::Visits;
pub use self::visits::{Aside, Outcome, Visit};

/// A model that does as it is told. It is gone with the test.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    visits: Arc<Visits>,
    runtime: Option<Runtime>,
}

impl Model {
    /// Starts it at a port of its own.
    ///
    /// # Panics
    ///
    /// If there is no port to be had.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it starts a server")]
    pub fn new() -> Model {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        assert!(address.ip().is_loopback(), "{address}");
        let visits = Arc::new(Visits::default());
        runtime.spawn(door::serve(listener, Arc::clone(&visits)));
        Model { address, visits, runtime: Some(runtime) }
    }

    /// Returns where it is, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Has prompts say `@script name` for this.
    pub fn script(&self, name: &str, script: Script) {
        self.visits.write(|book| book.name(name, script));
    }

    /// Has this done about every prompt that contains `part`, and has no script of its own.
    pub fn when(&self, part: &str, script: Script) {
        self.visits.write(|book| book.when(part, script));
    }

    /// Has this said when a conversation is to be made shorter. Directives in it are obeyed afterwards.
    pub fn summarize(&self, text: &str) {
        self.visits.write(|book| book.summarize(text));
    }

    /// Lets every turn go on that is held by this name, now and later.
    pub fn release(&self, name: &str) {
        self.visits.release(name);
    }

    /// Looks at everything that was asked so far, the oldest first.
    pub fn look<T>(&self, look: impl FnOnce(&[Visit]) -> T) -> T {
        self.visits.look(look)
    }

    /// Returns the whole conversation of a session as it was told last, without what its CLI or its
    /// subagents asked beside it.
    pub fn conversation(&self, session: &str) -> Option<Asked> {
        self.look(|visits| {
            let is_it = |it: &&Visit| it.is_main() && it.asked.session.as_deref() == Some(session);
            visits.iter().rev().find(is_it).map(|it| it.asked.clone())
        })
    }

    /// Returns what was asked besides answers, the oldest first.
    pub fn asides(&self) -> Vec<Aside> {
        self.visits.asides()
    }

    /// Returns every key that somebody came with.
    pub fn keys(&self) -> BTreeSet<String> {
        let asides = self.asides().into_iter().map(|it| it.key);
        let visits = self.look(|visits| visits.iter().map(|it| it.key.clone()).collect::<Vec<_>>());
        asides.chain(visits).flatten().collect()
    }

    /// Returns what was asked that it does not know, as method and path.
    pub fn strays(&self) -> Vec<String> {
        self.visits.strays()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
