//! A storm: many messages from several senders to several agents, while the daemon is killed all the time.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cmux_testkit::daemon::Daemon;
use cmux_testkit::dice::Dice;
use cmux_testkit::store::deliveries;
use cmux_testkit::wait::{PATIENCE, eventually};
use cmux_wire::client::{Client, ClientError};
use cmux_wire::message::{Message, MessageState, NewMessage};
use cmux_wire::token::{NewToken, TokenScope};
use tokio::runtime::Builder;

use crate::post::{Post, new_message};

/// How many messages are sent, and how often the daemon is killed meanwhile, unless it is said otherwise.
const MESSAGES: u64 = 2000;
const KILLS: u64 = 200;

const READERS: u64 = 8;
const SENDERS: u64 = 4;

/// How long a daemon that is ready may live, in milliseconds.
const LIVES_MS: u64 = 700;

/// How soon a sender tries again who was not answered.
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// What a sender has sent, in this order.
type Sent = Vec<(String, Message)>;

#[test]
fn two_thousand_messages_under_two_hundred_kills_are_each_read_once_and_in_order() {
    let (messages, kills) =
        (number("CMUX_STORM_MESSAGES", MESSAGES), number("CMUX_STORM_KILLS", KILLS));
    let mut dice = Dice::seeded();
    let mut post = Post::new();
    let names: Vec<String> = (0..READERS).map(|number| format!("reader-{number}")).collect();
    for name in &names {
        post.launch(name, &[], &[]);
    }
    for name in &names {
        post.world.in_phase(name, cmux_wire::agent::Phase::Idle);
    }
    let begun = Instant::now();
    let killed = Arc::new(AtomicU64::new(0));
    let senders: Vec<thread::JoinHandle<Sent>> = (0..SENDERS)
        .map(|number| {
            let sender = Sender {
                client: client(&post, number),
                project: post.world.project.clone(),
                number,
                dice: dice.split(),
                killed: killed.clone(),
                share: messages / SENDERS,
                kills,
            };
            let names = names.clone();
            thread::spawn(move || sender.send_all(&names))
        })
        .collect();
    storm(&mut post, &mut dice, kills, &killed);
    let sent: Vec<Sent> = senders.into_iter().map(|it| it.join().unwrap()).collect();
    drain(&post);
    check(&post, &names, &sent);
    tell(&post, begun.elapsed(), messages, kills);
    let audit = post.world.home.run(&["audit", "verify"]);
    assert_eq!(audit.code, Some(0), "{audit:?}");
}

/// Kills the daemon so many times, each time at another moment of its life, and starts it again at once.
fn storm(post: &mut Post, dice: &mut Dice, kills: u64, killed: &AtomicU64) {
    for _ in 0..kills {
        let is_ready = dice.below(4) > 0;
        let mut daemon = post.world.daemon.take().unwrap();
        if is_ready {
            wait_ready(post, &mut daemon);
        }
        thread::sleep(Duration::from_millis(dice.below(LIVES_MS)));
        daemon.kill();
        killed.fetch_add(1, Ordering::Relaxed);
        let command = post.world.home.command(&["daemon", "run"]);
        post.world.daemon = Some(Daemon::launch(&post.world.home, command));
    }
    let mut daemon = post.world.daemon.take().unwrap();
    wait_ready(post, &mut daemon);
    post.world.daemon = Some(daemon);
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

/// Sees that everything that was sent was read once, whole, and in order.
fn check(post: &Post, names: &[String], sent: &[Sent]) {
    let all: Vec<&(String, Message)> = sent.iter().flatten().collect();
    let by_id: BTreeMap<&str, &Message> = all.iter().map(|(_, it)| (&*it.id, it)).collect();
    let bodies: BTreeMap<&str, &str> = all.iter().map(|(body, it)| (&*it.id, &**body)).collect();
    assert_eq!(by_id.len(), all.len(), "no two are one");
    for message in by_id.values() {
        let now = post.message(&message.id);
        assert_eq!(now.state, MessageState::Delivered, "{now:?}: {:?}", now.reason);
    }
    for name in names {
        let read = post.read(&post.record(name), &by_id, &bodies);
        let once: BTreeSet<&String> = read.iter().collect();
        assert_eq!(once.len(), read.len(), "{name} has read something twice");
        for sent in sent {
            let to = |(_, it): &&(String, Message)| it.to == *name;
            let expected: Vec<&str> = sent.iter().filter(to).map(|(_, it)| &*it.id).collect();
            let is_theirs = |id: &&String| expected.contains(&id.as_str());
            let seen: Vec<&str> = read.iter().filter(is_theirs).map(String::as_str).collect();
            assert_eq!(seen, expected, "{name}");
        }
    }
    let read: usize =
        names.iter().map(|name| post.read(&post.record(name), &by_id, &bodies).len()).sum();
    assert_eq!(read, all.len(), "nobody has read anything else");
}

#[expect(clippy::print_stderr, reason = "whoever measures wants to read it")]
fn tell(post: &Post, took: Duration, messages: u64, kills: u64) {
    let made = deliveries(&post.world.home.root().join("cmux.db"));
    let attempts: u32 = made.iter().map(|it| it.attempt).sum();
    let events = post.world.events();
    let doubted = events.iter().filter(|it| it.kind == "message.in_doubt").count();
    let claims =
        |outcome: &str| events.iter().filter(|it| it.data["claim"]["outcome"] == outcome).count();
    let (again, blocked) = (claims("again"), claims("blocked"));
    eprintln!(
        "{messages} messages in {} deliveries under {kills} kills, {:.0} a second: {attempts} attempts, \
         {doubted} times in doubt, {again} claims made again, {blocked} second copies blocked",
        made.len(),
        messages as f64 / took.as_secs_f64(),
    );
}

/// Somebody who sends messages, and asks again until that is answered.
struct Sender {
    client: Client,
    project: String,
    number: u64,
    dice: Dice,
    killed: Arc<AtomicU64>,
    share: u64,
    kills: u64,
}

impl Sender {
    /// Sends this sender's share, spread over the whole storm.
    fn send_all(mut self, names: &[String]) -> Sent {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let mut sent = Vec::new();
        for n in 0..self.share {
            // They come as the kills do.
            while n * self.kills > (self.killed.load(Ordering::Relaxed) + 1) * self.share {
                thread::sleep(TRY_AGAIN);
            }
            let to = &names[usize::try_from(self.dice.below(READERS)).unwrap()];
            let body = self.body(n);
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

    /// Returns something to say that nobody else says.
    fn body(&mut self, n: u64) -> String {
        let own = format!("{} of {}", n, self.number);
        match self.dice.below(40) {
            0 => format!("{own}\n{}", "a long line, and more of it. ".repeat(400)),
            1..=3 => format!("{own}\n{}", "some words\n".repeat(100)),
            4..=9 => format!("{own}: Zürich 東京 🦀 e\u{301} שלום\n\tein Tab\nund 👩‍👩‍👧"),
            10..=12 => format!("{own}\n[cmux dlv_00000000000000000000000001 from x · task · y]\nz"),
            13..=15 => format!("{own} \u{1b}[201~\r\nrm -rf /\r\u{7}; -n $(x) `y` %s \\"),
            16..=18 => format!("! {own}\n/exit\n#{own} @file"),
            19..=29 => format!("{own}\n\n  - one\n  - two\n"),
            _ => own,
        }
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

fn number(variable: &str, otherwise: u64) -> u64 {
    env::var(variable).ok().map_or(otherwise, |it| it.parse().unwrap())
}
