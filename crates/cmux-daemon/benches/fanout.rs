//! The log told to a hundred clients, one of them asleep, beside a bare tokio broadcast of the same bytes
//! to as many sockets of the same kind.
//!
//! `CMUX_PROGRAM` names the release build that is measured. What it tells happens meanwhile, through its
//! front door, so its rate has the cost of storing in it, and the bare one's has not.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and fails by panicking"
)]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream as Blocking;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use axum::body::Bytes;
use cmux_testkit::home::TestHome;
use cmux_wire::client::{Client, EventQuery};
use cmux_wire::event::Event;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::runtime::Runtime;
use tokio::sync::broadcast;

const CLIENTS: usize = 100;
const AWAKE: usize = CLIENTS - 1;
const WRITERS: usize = 32;

/// How often each side has its turn. The figures are the middle ones.
const ROUNDS: usize = 3;

/// How long each turn is.
const TURN: Duration = Duration::from_secs(5);

/// How many messages the bare broadcast keeps.
const KEPT: usize = 1024;

/// The project that is added when all has happened.
const LAST: &str = "the-very-last";

fn main() {
    let Ok(program) = std::env::var("CMUX_PROGRAM") else {
        println!("CMUX_PROGRAM is not set: `make bench` sets it");
        return;
    };
    let (mut told, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (figures, log) = cmux(&program);
        bare.push(broadcast(&log));
        told.push(figures);
    }
    told.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    bare.sort_by(f64::total_cmp);
    let (told, bare) = (told[ROUNDS / 2], bare[ROUNDS / 2]);
    println!("events told to {AWAKE} clients that listen and one that sleeps\n");
    println!("{:<26}{:>16}{:>16}{:>10}  goal", "", "events a second", "told a second", "p99 ms");
    println!("{:<26}{bare:>16.0}{:>16.0}", "bare tokio broadcast", bare * AWAKE as f64);
    println!(
        "{:<26}{:>16.0}{:>16.0}{:>10.0}  {:.2}× bare, at least 0.50×",
        "cmux",
        told.rate,
        told.rate * AWAKE as f64,
        told.p99_ms,
        told.rate / bare
    );
}

/// What one turn measured.
#[derive(Clone, Copy)]
struct Figures {
    /// Events a second, each told to all who listen.
    rate: f64,
    /// How long it takes from the turn that stores an event until a client has it, for all but one in a
    /// hundred.
    p99_ms: f64,
}

/// Tells what happens in one turn to all clients of a daemon. Returns what they were told, too.
fn cmux(program: &str) -> (Figures, Vec<Bytes>) {
    let home = TestHome::new(program);
    let daemon = home.daemon();
    let runtime = Runtime::new().unwrap();
    let wanted = EventQuery { since: Some(0), ..EventQuery::default() };
    let _asleep = runtime.block_on(home.client().follow(&wanted)).unwrap();
    let listeners: Vec<_> =
        (0..AWAKE).map(|_| runtime.spawn(listen(home.client(), wanted.clone()))).collect();
    let begun = Instant::now();
    write(&home, begun);
    let (mut late_ms, mut log) = (Vec::new(), Vec::new());
    for listener in listeners {
        let (late, texts) = runtime.block_on(listener).unwrap();
        late_ms.extend(late);
        log = texts;
    }
    let rate = log.len() as f64 / begun.elapsed().as_secs_f64();
    late_ms.sort_unstable();
    let p99_ms = late_ms[late_ms.len() * 99 / 100] as f64;
    drop(daemon);
    (Figures { rate, p99_ms }, log)
}

/// Hears everything up to the last. Returns how late some of it was, and all of it.
async fn listen(client: Client, wanted: EventQuery) -> (Vec<i64>, Vec<Bytes>) {
    let mut stream = client.follow(&wanted).await.unwrap();
    let (mut late_ms, mut log) = (Vec::new(), Vec::new());
    while let Some(text) = stream.next_text().await.unwrap() {
        if !text.starts_with(r#"{"id":"#) {
            continue;
        }
        log.push(Bytes::copy_from_slice(text.as_bytes()));
        // To look at each would be to measure the looking.
        if log.len() % 64 == 0 {
            let event: Event = serde_json::from_str(&text).unwrap();
            late_ms.push(now_ms() - event.at.millis());
        }
        if text.len() < 1000 && text.contains(LAST) {
            break;
        }
    }
    (late_ms, log)
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

/// Has projects added and removed until the turn is over, and adds the last.
fn write(home: &TestHome, begun: Instant) {
    let socket = home.root().join("cmux.sock");
    thread::scope(|scope| {
        for number in 0..WRITERS {
            let mut writer = Writer::new(&socket);
            scope.spawn(move || {
                let mut count = 0;
                while begun.elapsed() < TURN {
                    let id = writer.add(&format!("/nowhere/{number}/{count}"));
                    writer.ask("DELETE", &format!("/api/projects/{id}"), "");
                    count += 1;
                }
            });
        }
    });
    Writer::new(&socket).add(&format!("/nowhere/{LAST}"));
}

/// Somebody who asks over one connection.
struct Writer(BufReader<Blocking>);

impl Writer {
    fn new(socket: &Path) -> Writer {
        Writer(BufReader::new(Blocking::connect(socket).unwrap()))
    }

    fn add(&mut self, root: &str) -> String {
        let answer = self.ask("POST", "/api/projects", &json!({"root": root}).to_string());
        serde_json::from_slice::<Value>(&answer).unwrap()["id"].as_str().unwrap().to_owned()
    }

    fn ask(&mut self, method: &str, path: &str, body: &str) -> Vec<u8> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(head.as_bytes()).unwrap();
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).unwrap();
            if let Some(said) = line.to_lowercase().strip_prefix("content-length:") {
                length = said.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut answer = vec![0; length];
        self.0.read_exact(&mut answer).unwrap();
        answer
    }
}

/// Broadcasts `log` again and again for a turn, event by event, to sockets that are read as fast as they
/// can be. Returns how many events a second all of them were told.
fn broadcast(log: &[Bytes]) -> f64 {
    let (server, readers) = (two_threads(), two_threads());
    let (sender, _) = broadcast::channel::<Bytes>(KEPT);
    let done = Arc::new(AtomicUsize::new(0));
    for _ in 0..AWAKE {
        let (ours, theirs) = Blocking::pair().unwrap();
        server.spawn(tell(ours, sender.subscribe(), done.clone()));
        readers.spawn(read(theirs));
    }
    let (begun, mut sent) = (Instant::now(), 0_usize);
    server.block_on(async {
        for text in log.iter().cycle() {
            if begun.elapsed() >= TURN {
                break;
            }
            // Nothing may be lost, so the slowest is waited for.
            while sender.len() >= KEPT - 1 {
                tokio::task::yield_now().await;
            }
            sender.send(text.clone()).unwrap();
            sent += 1;
        }
        drop(sender);
        while done.load(Ordering::Relaxed) < AWAKE {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    sent as f64 / begun.elapsed().as_secs_f64()
}

async fn tell(socket: Blocking, mut live: broadcast::Receiver<Bytes>, done: Arc<AtomicUsize>) {
    let socket = unblocked(socket);
    while let Ok(text) = live.recv().await {
        let mut rest = &text[..];
        while !rest.is_empty() {
            match socket.try_write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    socket.writable().await.unwrap();
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    done.fetch_add(1, Ordering::Relaxed);
}

async fn read(socket: Blocking) {
    let socket = unblocked(socket);
    let mut buffer = vec![0; 64 << 10];
    loop {
        socket.readable().await.unwrap();
        match socket.try_read(&mut buffer) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn unblocked(socket: Blocking) -> UnixStream {
    socket.set_nonblocking(true).unwrap();
    UnixStream::from_std(socket).unwrap()
}

fn two_threads() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}
