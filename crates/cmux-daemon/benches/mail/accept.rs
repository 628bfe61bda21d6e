//! Messages that are accepted, beside rows that raw SQLite takes.

use std::path::Path;
use std::time::{Duration, Instant};

use cmux_testkit::home::GHOST;
use cmux_wire::agent::NewAgent;
use rusqlite::Connection;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::table::{middle, ms};
use crate::{ROUNDS, World, message, name};

/// How many messages a turn is: of one sender, of each of many, and how many rows raw SQLite takes.
const ALONE: usize = 100;
const SENDERS: usize = 32;
const EACH: usize = 40;
const ROWS: usize = 300;

/// How many there are to read them: no reader takes more than 200 that it has not read.
const READERS: usize = 40;

impl World {
    /// Measures how many messages are accepted, beside rows that raw SQLite takes.
    pub(crate) fn measure_accepting(&self) {
        self.add_readers();
        let (mut raw, mut one, mut many) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            raw.push(raw_sqlite(&self.home.folder(&format!("raw-{round}"))));
            one.push(self.send_from(1, ALONE, round));
            many.push(self.send_from(SENDERS, EACH, round));
        }
        let (raw, one, many) = (middle_of(raw), middle_of(one), middle_of(many));
        println!("{:<44}{:>10}{:>12}{:>10}", "", "a second", "median ms", "ratio");
        for (what, (rate, median)) in [
            ("raw SQLite, one commit and fsync each", raw),
            ("accepted over HTTP, 1 sender", one),
            (&format!("accepted over HTTP, {SENDERS} senders at once"), many),
        ] {
            println!("{what:<44}{rate:>10.0}{:>12.2}{:>9.2}×", ms(median), rate / raw.0);
        }
    }

    /// Adds those who are written to, and never run.
    fn add_readers(&self) {
        self.home.add_ghost();
        for number in 0..READERS {
            let new = json!({ "project": self.project, "name": name(number), "kind": GHOST });
            let new: NewAgent = serde_json::from_value(new).unwrap();
            let (client, project) = (self.home.client(), self.project.as_str());
            self.runtime.block_on(async {
                client.spawn_agent(&new).await.unwrap();
                client.have_agent(&name(number), "stop", Some(project)).await.unwrap();
            });
        }
    }

    /// Sends so many messages from each of so many at once. Returns how many a second, and how long each took.
    fn send_from(&self, senders: usize, each: usize, round: usize) -> (f64, Duration) {
        let begun = Instant::now();
        let sends = (0..senders).map(|sender| {
            let (client, project) = (self.home.client(), self.project.clone());
            self.runtime.spawn(async move {
                let mut times = Vec::new();
                for number in 0..each {
                    let to = name((round * 7 + sender * each + number) % READERS);
                    let new = message(&to, "do it", &project);
                    let at = Instant::now();
                    client.send_message(&new).await.unwrap();
                    times.push(at.elapsed());
                }
                times
            })
        });
        let sends: Vec<JoinHandle<Vec<Duration>>> = sends.collect();
        let done = sends.into_iter().map(|it| self.runtime.block_on(it).unwrap());
        let mut times: Vec<Duration> = done.flatten().collect();
        let rate = times.len() as f64 / begun.elapsed().as_secs_f64();
        (rate, middle(&mut times))
    }
}

/// Stores rows as long as a message, each in a commit of its own. Returns how many a second, and how long each
/// took.
fn raw_sqlite(folder: &Path) -> (f64, Duration) {
    let mut db = Connection::open(folder.join("raw.db")).unwrap();
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
    db.pragma_update(None, "synchronous", "FULL").unwrap();
    db.execute_batch("CREATE TABLE message (id INTEGER PRIMARY KEY, body TEXT) STRICT").unwrap();
    let (begun, mut times) = (Instant::now(), Vec::new());
    for _ in 0..ROWS {
        let at = Instant::now();
        let tx = db.transaction().unwrap();
        let mut insert = tx.prepare_cached("INSERT INTO message (body) VALUES (?1)").unwrap();
        insert.execute(["do it"]).unwrap();
        drop(insert);
        tx.commit().unwrap();
        times.push(at.elapsed());
    }
    (ROWS as f64 / begun.elapsed().as_secs_f64(), middle(&mut times))
}

/// Returns the middle of the figures, each by itself.
fn middle_of(figures: Vec<(f64, Duration)>) -> (f64, Duration) {
    let (mut rates, mut times): (Vec<f64>, Vec<Duration>) = figures.into_iter().unzip();
    rates.sort_by(f64::total_cmp);
    (rates[rates.len() / 2], middle(&mut times))
}
