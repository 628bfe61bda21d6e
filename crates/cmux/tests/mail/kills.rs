//! The daemon is killed all the time while messages are sent, and then it is seen what was read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cmux_testkit::daemon::Daemon;
use cmux_testkit::dice::Dice;
use cmux_testkit::wait::{PATIENCE, eventually};
use cmux_wire::client::{Client, ClientError};
use cmux_wire::message::{Message, MessageState, NewMessage};
use cmux_wire::token::{NewToken, TokenScope};
use tokio::runtime::Builder;

use crate::post::{Post, new_message};

/// How long a daemon that is ready may live, in milliseconds.
const LIVES_MS: u64 = 700;

/// How soon a sender tries again who was not answered.
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// What a sender has sent, in this order.
pub(crate) type Sent = Vec<(String, Message)>;

/// So many messages by so many senders, and so many kills.
#[derive(Clone, Copy)]
pub(crate) struct Storm {
    pub(crate) messages: u64,
    pub(crate) senders: u64,
    pub(crate) kills: u64,
    /// Makes something to say of what only one message says.
    pub(crate) body: fn(&mut Dice, &str) -> String,
}

impl Storm {
    /// Has messages sent to these agents while the daemon is killed, and returns what was sent by each sender
    /// when all of it was read. `strike` does each kill, and can see what it strikes.
    pub(crate) fn rage(
        self,
        post: &mut Post,
        dice: &mut Dice,
        names: &[String],
        strike: impl FnMut(&mut dyn FnMut()),
    ) -> Vec<Sent> {
        let killed = Arc::new(AtomicU64::new(0));
        let senders: Vec<JoinHandle<Sent>> = (0..self.senders)
            .map(|number| {
                let sender = Sender {
                    storm: self,
                    client: client(post, number),
                    project: post.world.project.clone(),
                    number,
                    dice: dice.split(),
                    killed: killed.clone(),
                };
                let names = names.to_vec();
                thread::spawn(move || sender.send_all(&names))
            })
            .collect();
        self.kill(post, dice, &killed, strike);
        let sent = senders.into_iter().map(|it| it.join().unwrap()).collect();
        drain(post);
        sent
    }

    /// Kills the daemon so many times, each time at another moment of its life, and starts it again at once.
    fn kill(
        self,
        post: &mut Post,
        dice: &mut Dice,
        killed: &AtomicU64,
        mut strike: impl FnMut(&mut dyn FnMut()),
    ) {
        for _ in 0..self.kills {
            let is_ready = dice.below(4) > 0;
            let mut daemon = post.world.daemon.take().unwrap();
            if is_ready {
                wait_ready(post, &mut daemon);
            }
            thread::sleep(Duration::from_millis(dice.below(LIVES_MS)));
            let mut daemon = Some(daemon);
            strike(&mut || daemon.take().unwrap().kill());
            assert!(daemon.is_none(), "it was not killed");
            killed.fetch_add(1, Ordering::Relaxed);
            let command = post.world.home.command(&["daemon", "run"]);
            post.world.daemon = Some(Daemon::launch(&post.world.home, command));
        }
        let mut daemon = post.world.daemon.take().unwrap();
        wait_ready(post, &mut daemon);
        post.world.daemon = Some(daemon);
    }
}

fn wait_ready(post: &Post, daemon: &mut Daemon) {
    let begun = Instant::now();
    eventually("the daemon is ready", || {
        thread::sleep(Duration::from_millis(5));
        assert_eq!(daemon.ended(), None, "it ended: {}", daemon.said());
        assert!(begun.elapsed() < PATIENCE / 2, "it does not begin: {}", daemon.said());
        let status = post.world.home.ask(|client| async move { client.daemon().await }).ok()?;
        (status.pid == Some(daemon.pid().cast_unsigned()) && !status.starting).then_some(())
    });
}

/// Waits until nothing waits any more, for as long as it becomes less.
fn drain(post: &Post) {
    let (mut last, mut since) = (u64::MAX, Instant::now());
    loop {
        let status = post.world.home.ask(|client| async move { client.status().await }).unwrap();
        let waiting = status.mail.waiting;
        if waiting == 0 {
            return;
        }
        if waiting != last {
            (last, since) = (waiting, Instant::now());
        }
        assert!(since.elapsed() < PATIENCE, "{waiting} messages are stuck\n{}", post.told());
        thread::sleep(Duration::from_millis(50));
    }
}

/// Sees that everything that was sent was read once, whole, and in order. `prompts` tells what an agent was
/// asked.
pub(crate) fn check(
    post: &Post,
    names: &[String],
    sent: &[Sent],
    prompts: impl Fn(&str) -> Vec<String>,
) {
    let all: Vec<&(String, Message)> = sent.iter().flatten().collect();
    let by_id: BTreeMap<&str, &Message> = all.iter().map(|(_, it)| (&*it.id, it)).collect();
    let bodies: BTreeMap<&str, &str> = all.iter().map(|(body, it)| (&*it.id, &**body)).collect();
    assert_eq!(by_id.len(), all.len(), "no two are one");
    for message in by_id.values() {
        let now = post.message(&message.id);
        assert_eq!(now.state, MessageState::Delivered, "{now:?}: {:?}", now.reason);
    }
    let mut count = 0;
    for name in names {
        let read = post.read(&prompts(name), &by_id, &bodies);
        let once: BTreeSet<&String> = read.iter().collect();
        assert_eq!(once.len(), read.len(), "{name} has read something twice");
        for sent in sent {
            let to = |(_, it): &&(String, Message)| it.to == *name;
            let expected: Vec<&str> = sent.iter().filter(to).map(|(_, it)| &*it.id).collect();
            let is_theirs = |id: &&String| expected.contains(&id.as_str());
            let seen: Vec<&str> = read.iter().filter(is_theirs).map(String::as_str).collect();
            assert_eq!(seen, expected, "{name}");
        }
        count += read.len();
    }
    assert_eq!(count, all.len(), "nobody has read anything else");
}

/// Somebody who sends messages, and asks again until that is answered.
struct Sender {
    storm: Storm,
    client: Client,
    project: String,
    number: u64,
    dice: Dice,
    killed: Arc<AtomicU64>,
}

impl Sender {
    /// Sends this sender's share, spread over the whole storm.
    fn send_all(mut self, names: &[String]) -> Sent {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let Storm { messages, senders, kills, body } = self.storm;
        let share = messages / senders + u64::from(self.number < messages % senders);
        let mut sent = Vec::new();
        for n in 0..share {
            // They come as the kills do.
            while n * kills > (self.killed.load(Ordering::Relaxed) + 1) * share {
                thread::sleep(TRY_AGAIN);
            }
            let count = u64::try_from(names.len()).unwrap();
            let to = &names[usize::try_from(self.dice.below(count)).unwrap()];
            let body = body(&mut self.dice, &format!("{n} of {}", self.number));
            let key = Some(format!("{}-{n}", self.number));
            let new = NewMessage { key, ..new_message(&self.project, to, &body) };
            let message = loop {
                match runtime.block_on(self.client.send_message(&new)) {
                    Ok(message) => break message,
                    Err(ClientError::Refused(problem)) if !matches!(problem.status, 429 | 503) => {
                        panic!("{problem:?}");
                    }
                    Err(_) => thread::sleep(TRY_AGAIN),
                }
            };
            sent.push((body, message));
        }
        sent
    }
}

/// Returns who sends: the person, or a script with a token of its own.
fn client(post: &Post, number: u64) -> Client {
    let client = post.world.home.client();
    if number == 0 {
        return client;
    }
    let new = NewToken {
        name: Some(format!("sender-{number}")),
        scope: TokenScope::Send,
        expires_in_s: None,
    };
    let made = post.world.home.ask(|client| async move { client.create_token(&new).await });
    client.with_token(Some(made.unwrap().secret))
}
