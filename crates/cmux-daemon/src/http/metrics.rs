//! Numbers for Prometheus, in its text format. They name nobody and nothing, but for the ids of agents.

use std::cmp::Reverse;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use cmux_core::id::EventId;
use cmux_core::message::MessageState;
use cmux_core::time::Timestamp;
use cmux_core::usage::{Money, Tokens, Usage};
use cmux_drivers::clock;
use cmux_store::messages::{self, Numbers};
use cmux_store::usage;
use tokio::time::timeout;

use crate::commits::Commits;
use crate::http::App;
use crate::tally::Tally;

/// The type of what is written, by which Prometheus tells it from its later formats.
pub(crate) const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How long the disk may take to tell how long a file is.
const DISK_WITHIN: Duration = Duration::from_millis(500);

/// How long the store may take to tell how much mail there is.
const STORE_WITHIN: Duration = Duration::from_millis(500);

/// How many agents are told of each by itself, those first for whom the most waits.
const AGENTS_MAX: usize = 50;

/// What is counted from the daemon's start on.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Answers, by the first digit of their status.
    answers: [AtomicU64; 6],
    /// Requests that were turned away at the door.
    pub(crate) refused: AtomicU64,
    /// Deliveries of webhooks that had been taken before.
    pub(crate) replayed: AtomicU64,
}

impl Metrics {
    pub(crate) fn answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100);
        if let Some(count) = self.answers.get(class) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

pub(crate) async fn show(State(app): State<Arc<App>>) -> ([(HeaderName, &'static str); 1], String) {
    let wal = app.facts.home.write_ahead_log();
    // A disk that hangs must not hold up the numbers.
    let look = tokio::task::spawn_blocking(move || std::fs::metadata(wal).ok().map(|it| it.len()));
    let wal_bytes = timeout(DISK_WITHIN, look).await.ok().and_then(Result::ok).flatten();
    let mut page = write(&app, wal_bytes);
    if let Some(awake) = app.awake() {
        let numbers = timeout(STORE_WITHIN, awake.readers.read(messages::numbers)).await;
        // A store that hangs or fails must not hold up the other numbers.
        if let Ok(Ok(numbers)) = numbers {
            page.mail(numbers, clock::wall());
        }
        let used = timeout(STORE_WITHIN, awake.readers.read(usage::of_kinds)).await;
        if let Ok(Ok(used)) = used {
            page.usage(&used);
        }
        page.tally(&awake.tally);
    }
    ([(header::CONTENT_TYPE, TEXT)], page.text)
}

fn write(app: &App, wal_bytes: Option<u64>) -> Page {
    let mut page = Page::default();
    let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
    page.gauge("cmux_build_info", "Which cmux this is.");
    let _ = writeln!(page.text, "cmux_build_info{{version=\"{}\"}} 1", app.facts.version);
    page.gauge("cmux_start_time_seconds", "When the daemon started, since 1970.");
    page.value("cmux_start_time_seconds", &seconds(app.facts.started_at.0));
    page.counter("cmux_http_responses_total", "Answers, by the class of their status.");
    for (class, count) in app.metrics.answers.iter().enumerate().skip(1) {
        let labels = format!("cmux_http_responses_total{{class=\"{class}xx\"}}");
        page.value(&labels, &load(count).to_string());
    }
    page.counter("cmux_auth_denied_total", "Requests that were turned away at the door.");
    page.value("cmux_auth_denied_total", &load(&app.metrics.refused).to_string());
    page.counter("cmux_replay_rejected_total", "Webhooks that had been taken before.");
    page.value("cmux_replay_rejected_total", &load(&app.metrics.replayed).to_string());
    if let Some(mind) = app.awake().and_then(|awake| awake.mind.as_ref()) {
        let EventId(head) = *mind.signs.head.borrow();
        page.gauge("cmux_events_head", "The newest event of the log.");
        page.value("cmux_events_head", &head.to_string());
        page.commits(&mind.signs.commits);
    }
    if let Some(awake) = app.awake() {
        let counts = &awake.feed.counts;
        page.gauge("cmux_ws_clients", "How many follow the log.");
        page.value("cmux_ws_clients", &load(&counts.clients).to_string());
        page.counter("cmux_ws_evicted_total", "Those who followed the log too slowly.");
        page.value("cmux_ws_evicted_total", &load(&counts.evicted).to_string());
        page.counter("cmux_ws_events_total", "Events told, to each client by itself.");
        page.value("cmux_ws_events_total", &load(&counts.sent).to_string());
    }
    if let Some(bytes) = wal_bytes {
        page.gauge("cmux_wal_bytes", "How long the store's write-ahead log is.");
        page.value("cmux_wal_bytes", &bytes.to_string());
    }
    page
}

/// What is being written.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn gauge(&mut self, name: &str, help: &str) {
        self.head(name, help, "gauge");
    }

    fn counter(&mut self, name: &str, help: &str) {
        self.head(name, help, "counter");
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn value(&mut self, name: &str, value: &str) {
        let _ = writeln!(self.text, "{name} {value}");
    }

    /// Tells how much mail there is.
    fn mail(&mut self, mut numbers: Numbers, now: Timestamp) {
        self.counter("cmux_messages_total", "Messages that ever came to be in a state.");
        for state in MessageState::ALL {
            let total = numbers.totals.iter().find(|(it, _)| *it == state).map_or(0, |it| it.1);
            let name = format!("cmux_messages_total{{state=\"{}\"}}", state.name());
            self.value(&name, &total.to_string());
        }
        self.gauge("cmux_mail_waiting", "Messages that wait, by the agent that is to read them.");
        numbers.agents.sort_by_key(|it| Reverse(it.waiting));
        for waits in numbers.agents.iter().take(AGENTS_MAX) {
            let name = format!("cmux_mail_waiting{{agent=\"{}\"}}", waits.agent);
            self.value(&name, &waits.waiting.to_string());
        }
        let oldest = numbers.agents.iter().map(|it| it.oldest).min();
        let age_ms = oldest.map_or(0, |at| (now.0 - at.0).max(0));
        self.gauge("cmux_mail_oldest_seconds", "For how long the oldest message waits.");
        self.value("cmux_mail_oldest_seconds", &seconds(age_ms));
        self.gauge("cmux_mail_unread", "Messages that the person has not read.");
        self.value("cmux_mail_unread", &numbers.unread.to_string());
    }

    /// Tells what agents of each kind have used, those that are forgotten, too.
    fn usage(&mut self, kinds: &[(String, Usage)]) {
        self.counter("cmux_tokens_total", "Tokens that agents used, by their kind and what for.");
        for (kind, usage) in kinds {
            let Tokens { input, output, cache_read, cache_write, .. } = usage.tokens;
            for (sort, count) in [
                ("input", input),
                ("output", output),
                ("cache_read", cache_read),
                ("cache_write", cache_write),
            ] {
                let name = format!("cmux_tokens_total{{kind=\"{kind}\",type=\"{sort}\"}}");
                self.value(&name, &count.to_string());
            }
        }
        self.counter("cmux_tokens_unpriced_total", "Those of them whose price is not known.");
        for (kind, usage) in kinds {
            let name = format!("cmux_tokens_unpriced_total{{kind=\"{kind}\"}}");
            self.value(&name, &usage.unpriced.to_string());
        }
        self.counter("cmux_cost_dollars_total", "What the others cost.");
        for (kind, usage) in kinds {
            let Money(nanos) = usage.cost;
            let name = format!("cmux_cost_dollars_total{{kind=\"{kind}\"}}");
            self.value(&name, &format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000));
        }
    }

    /// Tells what became of mail since the daemon's start.
    fn tally(&mut self, tally: &Tally) {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed).to_string();
        for (name, help, count) in [
            ("cmux_delivery_attempts_total", "How often mail was typed.", &tally.attempts),
            (
                "cmux_duplicates_blocked_total",
                "Second copies that were kept from agents.",
                &tally.blocked,
            ),
            (
                "cmux_delivery_reclaims_total",
                "Claims that were given back, as what they were for was not used.",
                &tally.reclaims,
            ),
        ] {
            self.counter(name, help);
            self.value(name, &load(count));
        }
        self.counter("cmux_delivered_total", "Messages delivered, by what that is known by.");
        for (evidence, count) in tally.delivered() {
            let name = format!("cmux_delivered_total{{evidence=\"{evidence}\"}}");
            self.value(&name, &count.to_string());
        }
        const NAME: &str = "cmux_delivery_seconds";
        self.head(
            NAME,
            "How long it took from a message's being accepted to its being read.",
            "histogram",
        );
        let buckets = tally.buckets().map(|(ms, count)| (ms * 1000, count));
        self.histogram(NAME, buckets, tally.count(), tally.sum_ms().saturating_mul(1000));
    }

    fn commits(&mut self, commits: &Commits) {
        const NAME: &str = "cmux_db_commit_seconds";
        self.head(NAME, "How long it took to store a turn.", "histogram");
        self.histogram(NAME, commits.buckets(), commits.count(), commits.sum_us());
    }

    /// Tells of buckets by their bounds, all in microseconds.
    fn histogram(
        &mut self,
        name: &str,
        buckets: impl Iterator<Item = (u64, u64)>,
        count: u64,
        sum_us: u64,
    ) {
        let mut below = 0;
        for (bound_us, bucket) in buckets {
            below += bucket;
            let bound = micro(bound_us);
            self.value(&format!("{name}_bucket{{le=\"{bound}\"}}"), &below.to_string());
        }
        // One may have been counted between: the last bucket holds no less than the others.
        let count = count.max(below);
        self.value(&format!("{name}_bucket{{le=\"+Inf\"}}"), &count.to_string());
        self.value(&format!("{name}_sum"), &micro(sum_us));
        self.value(&format!("{name}_count"), &count.to_string());
    }
}

/// Returns milliseconds as seconds.
fn seconds(ms: i64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

/// Returns microseconds as seconds, without noughts at the end.
fn micro(us: u64) -> String {
    let text = format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_said_in_seconds() {
        for (us, expected) in
            [(0, "0"), (100, "0.0001"), (2500, "0.0025"), (1_000_000, "1"), (1_234_567, "1.234567")]
        {
            assert_eq!(micro(us), expected);
        }
    }

    #[test]
    fn what_each_kind_has_used_is_told_by_what_for() {
        let tokens =
            Tokens { input: 1, output: 2, cache_read: 3, cache_write: 4, ..Tokens::default() };
        let usage = Usage { tokens, cost: Money(1_040_276_200), unpriced: 5 };
        let mut page = Page::default();
        page.usage(&[("claude".to_owned(), usage)]);
        for line in [
            "cmux_tokens_total{kind=\"claude\",type=\"input\"} 1",
            "cmux_tokens_total{kind=\"claude\",type=\"cache_write\"} 4",
            "cmux_tokens_unpriced_total{kind=\"claude\"} 5",
            "cmux_cost_dollars_total{kind=\"claude\"} 1.040276200",
        ] {
            assert!(page.text.lines().any(|it| it == line), "{line} in {}", page.text);
        }
    }

    #[test]
    fn buckets_hold_all_that_is_below_their_bound() {
        let commits = Commits::default();
        for us in [50, 100, 101, 5_000_000] {
            commits.took(Duration::from_micros(us));
        }
        let mut page = Page::default();
        page.commits(&commits);
        for line in [
            "cmux_db_commit_seconds_bucket{le=\"0.0001\"} 2",
            "cmux_db_commit_seconds_bucket{le=\"0.00025\"} 3",
            "cmux_db_commit_seconds_bucket{le=\"1\"} 3",
            "cmux_db_commit_seconds_bucket{le=\"+Inf\"} 4",
            "cmux_db_commit_seconds_sum 5.000251",
            "cmux_db_commit_seconds_count 4",
        ] {
            assert!(page.text.lines().any(|it| it == line), "{line} in {}", page.text);
        }
    }
}
