//! What is counted of mail, compared with what happened to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use cmux_core::delivery::{Delivery, DeliveryState, delivery_of};
use cmux_core::time::Timestamp;
use cmux_drivers::claims::{Claims, TicketText};
use cmux_drivers::clock;
use cmux_drivers::home::Home;
use cmux_drivers::process::Process;
use cmux_testkit::wait::eventually;
use cmux_wire::agent::{Agent, Phase};
use cmux_wire::daemon::Status;
use cmux_wire::message::{Message, MessageState, NewMessage};
use serde_json::json;

use crate::world::World;

/// How many agents are written to, and how often each.
const READERS: usize = 6;
const EACH: usize = 5;

/// How many messages wait for one that is paused, and how many are for the person.
const KEPT: usize = 7;
const LETTERS: usize = 3;

/// How many second copies one agent's hook is shown.
const COPIES: usize = 3;

/// What cmux has typed more than once, and was read, by the rules of deliveries.
const COPY: &str = "[cmux dlv_00000000000000000000000001 from a · task · msg_1]\nhello";

#[test]
fn what_is_counted_of_mail_under_load_is_what_happened() {
    let world = World::new();
    let readers: Vec<String> = (0..READERS).map(|number| format!("reader-{number}")).collect();
    let script = script(&world);
    for name in readers.iter().map(String::as_str).chain(["copier", "paused"]) {
        // What is redirected is asked about otherwise.
        let args = ["--permission-mode", "bypassPermissions"];
        world.spawn_as(name, &json!({ "env": { "CMUX_DEMO_SCRIPT": script }, "args": args }));
    }
    for name in readers.iter().map(String::as_str).chain(["copier", "paused"]) {
        world.in_phase(name, Phase::Idle);
    }
    lay_read(&world, &world.agent("copier"));
    world.have("paused", "pause");

    let oldest = send(&world, "paused", "this waits");
    (1..KEPT).for_each(|_| drop(send(&world, "paused", "this waits")));
    (0..LETTERS).for_each(|_| drop(send(&world, "user", "this is read by nobody")));
    for _ in 0..EACH {
        readers.iter().for_each(|name| drop(send(&world, name, "hello")));
    }
    let mut sent = KEPT + LETTERS + READERS * EACH;
    for number in 1..=COPIES {
        let shown = send(&world, "copier", &format!("show a copy, for the time {number}"));
        sent += 1;
        eventually("it is read", || {
            add_up(&world, sent);
            let state = self::message(&world, &shown.id).state;
            (state == MessageState::Delivered).then_some(())
        });
        eventually("the copy is held back", || (blocked(&world) == number).then_some(()));
    }
    eventually("all is read that can be", || {
        add_up(&world, sent);
        (numbers(&world).of("cmux_messages_total", "delivered") == sent - KEPT).then_some(())
    });

    compare(&world, &oldest, sent);
}

/// Checks that all numbers are those of what happened, once it has.
#[track_caller]
fn compare(world: &World, oldest: &Message, sent: usize) {
    let read = READERS * EACH + COPIES;
    let events = world.events();
    let of = |kind: &'static str| events.iter().filter(move |event| event.kind == kind);
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let typed: BTreeSet<(String, i64)> = of("message.typing")
        .map(|event| (text(&event.data["delivery"]), event.at.millis()))
        .collect();
    let mut evidence: BTreeMap<String, usize> = BTreeMap::new();
    for event in of("message.delivered") {
        *evidence.entry(text(&event.data["evidence"])).or_default() += 1;
    }
    assert_eq!(evidence.values().sum::<usize>(), read + LETTERS, "{evidence:?}");
    assert_eq!(evidence.get("stored"), Some(&LETTERS), "{evidence:?}");
    assert_eq!(blocked(world), COPIES);

    eventually("all is counted", || {
        let numbers = numbers(world);
        (numbers.get("cmux_delivery_seconds_count") == read).then_some(())
    });
    let numbers = numbers(world);
    assert_eq!(numbers.get("cmux_delivery_attempts_total"), typed.len());
    assert_eq!(numbers.get("cmux_duplicates_blocked_total"), COPIES);
    assert_eq!(numbers.get("cmux_mail_unread"), LETTERS);
    assert_eq!(numbers.of("cmux_messages_total", "queued"), sent - LETTERS);
    for (name, count) in &evidence {
        assert_eq!(numbers.of("cmux_delivered_total", name), *count, "{name}");
    }
    let paused = world.agent("paused");
    assert_eq!(numbers.of("cmux_mail_waiting", &paused.id), KEPT);

    // The one that was accepted first is as old as it is, whenever that is looked at.
    let age = |now: Timestamp| (now.0 - oldest.created_at.millis()) as f64 / 1000.0;
    let (before, told, after) =
        (clock::wall(), self::numbers(world).exactly("cmux_mail_oldest_seconds"), clock::wall());
    assert!((age(before)..=age(after)).contains(&told), "{told} s");
    let mail = status(world).mail;
    assert_eq!((mail.waiting, mail.unread), (whole(KEPT), whole(LETTERS)));
    assert_eq!(mail.oldest_at, Some(oldest.created_at));
    let counted = mail.counted;
    assert_eq!((counted.attempts, counted.duplicates_blocked), (whole(typed.len()), whole(COPIES)));
    let told = counted.delivered.into_iter().map(|it| (it.evidence, it.messages));
    let known = evidence.into_iter().map(|(name, count)| (name, whole(count)));
    assert_eq!(told.collect::<BTreeMap<_, _>>(), known.collect());
    assert!(counted.mean_ms.is_some());
}

/// Checks that no message is lost or counted twice, while they are on their way: in one look at the store, as
/// many wait as were accepted and are not over.
#[track_caller]
fn add_up(world: &World, sent: usize) {
    let numbers = numbers(world);
    let of = |state| numbers.of("cmux_messages_total", state);
    let over: usize = ["delivered", "failed", "cancelled", "expired"].map(of).iter().sum();
    let waiting: f64 = numbers.all("cmux_mail_waiting{").sum();
    assert_eq!(over as f64 + waiting, sent as f64, "{:?}", numbers.0);
    let status = status(world);
    let queues: u64 = status.agents.iter().map(|agent| agent.queue).sum();
    assert_eq!(status.mail.waiting, queues);
    assert!(status.mail.waiting >= whole(KEPT) && status.mail.waiting <= whole(sent));
    // What is counted as it is told follows what is stored.
    assert!(numbers.get("cmux_delivery_seconds_count") + LETTERS <= of("delivered"));
}

/// Returns how many copies were held back by a hook.
fn blocked(world: &World) -> usize {
    let told = world.events_of("hook.received").into_iter();
    told.filter(|it| it.data["claim"]["outcome"] == "second").count()
}

/// What `/metrics` told.
struct Numbers(BTreeMap<String, f64>);

impl Numbers {
    #[track_caller]
    fn exactly(&self, name: &str) -> f64 {
        *self.0.get(name).unwrap_or_else(|| panic!("there is no {name}: {:?}", self.0))
    }

    #[track_caller]
    fn get(&self, name: &str) -> usize {
        self.exactly(name) as usize
    }

    /// Returns the number that has this value of its one label.
    #[track_caller]
    fn of(&self, name: &str, value: &str) -> usize {
        let has = |key: &&String| {
            key.starts_with(&format!("{name}{{")) && key.ends_with(&format!("\"{value}\"}}"))
        };
        let key = self.0.keys().find(has);
        self.get(key.unwrap_or_else(|| panic!("there is no {name} of {value}: {:?}", self.0)))
    }

    fn all(&self, prefix: &str) -> impl Iterator<Item = f64> {
        self.0.iter().filter(move |(name, _)| name.starts_with(prefix)).map(|(_, value)| *value)
    }
}

fn numbers(world: &World) -> Numbers {
    let mut socket = UnixStream::connect(world.home.root().join("cmux.sock")).unwrap();
    let ask = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    socket.write_all(ask).unwrap();
    let mut page = String::new();
    socket.read_to_string(&mut page).unwrap();
    let read = |line: &str| {
        let (name, value) = line.rsplit_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    Numbers(page.lines().filter(|it| it.starts_with("cmux_")).filter_map(read).collect())
}

fn status(world: &World) -> Status {
    world.home.ask(|client| async move { client.status().await }).unwrap()
}

fn send(world: &World, to: &str, body: &str) -> Message {
    let new = json!({ "to": to, "body": body, "project": world.project });
    let new: NewMessage = serde_json::from_value(new).unwrap();
    world.home.ask(|client| async move { client.send_message(&new).await }).unwrap()
}

fn message(world: &World, id: &str) -> Message {
    let id = id.to_owned();
    world.home.ask(|client| async move { client.message(&id).await }).unwrap()
}

fn whole(count: usize) -> u64 {
    u64::try_from(count).unwrap()
}

/// Writes a script by which an agent shows its own hook a copy when it is told to.
fn script(world: &World) -> String {
    let folder = world.home.folder("script");
    let (script, payload) = (folder.join("script.json"), folder.join("payload"));
    fs::write(&payload, json!({ "session_id": "s", "prompt": COPY }).to_string()).unwrap();
    let command = format!("cmux hook demo UserPromptSubmit <{}", payload.display());
    let tool = json!({ "tool": { "name": "Bash", "input": { "command": command } } });
    let shows = json!({ "when": { "contains": "show a copy" }, "steps": [tool] });
    let rules = json!({ "rules": [shows, { "steps": [{ "say": "ok" }] }] });
    fs::write(&script, rules.to_string()).unwrap();
    script.display().to_string()
}

/// Leaves the mark of something that was typed to an agent twice and read.
fn lay_read(world: &World, agent: &Agent) {
    let delivery = Delivery {
        id: delivery_of(COPY).unwrap(),
        agent: agent.id.parse().unwrap(),
        run: agent.run.as_ref().unwrap().parse().unwrap(),
        messages: Vec::new(),
        text: COPY.to_owned(),
        attempt: 1,
        state: DeliveryState::Typing,
        mark: 0,
        made_at: Timestamp(0),
        since: Timestamp(0),
    };
    let cli = Process::find(world.cli(agent.pid.unwrap())).unwrap();
    let claims = Claims::at(Home::at(world.home.root()).claims());
    claims.lay(&TicketText::of(&delivery, cli, true)).unwrap();
    claims.settle(&delivery, true).unwrap();
}
