//! Somebody who follows the log, and comes back for what is missing.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cmux_testkit::home::TestHome;
use cmux_testkit::wait::PATIENCE;
use cmux_wire::client::{Client, ClientError, EventQuery};
use cmux_wire::event::{Event, Notice};
use cmux_wire::stream::Stream;
use tokio::time::{sleep, timeout};

use crate::writer::LAST;

/// How many events are asked for at once. It does not divide anything.
const PAGE: u32 = 997;

/// How long to wait before a daemon that is away is tried again.
const RETRY_AFTER: Duration = Duration::from_millis(2);

/// What was told. Whoever hears an event first writes it down, and all others must hear the very same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Arc<Mutex<Told>>);

#[derive(Debug, Default)]
struct Told {
    texts: Vec<Option<Box<str>>>,
    last: Option<i64>,
}

impl Record {
    /// Notes what was told of the event `id`, and returns whether it is the last.
    #[track_caller]
    fn note(&self, id: i64, text: &str) -> bool {
        let mut told = self.0.lock().unwrap();
        let place = usize::try_from(id).unwrap();
        if told.texts.len() <= place {
            told.texts.resize(place + 1, None);
        }
        match &told.texts[place] {
            Some(before) => assert_eq!(**before, *text, "others were told something else"),
            None => {
                if text.contains(LAST) {
                    told.last.get_or_insert(id);
                }
                told.texts[place] = Some(text.into());
            }
        }
        told.last == Some(id)
    }

    /// Checks that what was told is the log.
    pub(crate) fn check(&self, home: &TestHome) {
        let log = whole_log(home, &EventQuery::default());
        let told = self.0.lock().unwrap();
        let last = told.last.unwrap();
        assert!(log.iter().map(|event| event.id).eq(1..=i64::try_from(log.len()).unwrap()));
        for event in log.iter().take_while(|event| event.id <= last) {
            let text = told.texts[usize::try_from(event.id).unwrap()].as_deref();
            assert_eq!(text, Some(serde_json::to_string(event).unwrap().as_str()));
        }
    }

    /// Returns the last event.
    pub(crate) fn last(&self) -> i64 {
        self.0.lock().unwrap().last.unwrap()
    }
}

/// Returns all that the log says of what is `wanted`, page by page.
pub(crate) fn whole_log(home: &TestHome, wanted: &EventQuery) -> Vec<Event> {
    let mut log: Vec<Event> = Vec::new();
    loop {
        let since = log.last().map_or(0, |event| event.id);
        let page = EventQuery { since: Some(since), limit: Some(PAGE), ..wanted.clone() };
        let page = home.ask(|client| async move { client.events(&page).await }).unwrap();
        if page.events.is_empty() {
            return log;
        }
        log.extend(page.events);
    }
}

/// One who follows the log from some event on.
pub(crate) struct Listener {
    client: Client,
    record: Record,
    log: Option<String>,
    pub(crate) cursor: i64,
}

impl Listener {
    pub(crate) fn new(client: Client, record: &Record, cursor: i64) -> Listener {
        Listener { client, record: record.clone(), log: None, cursor }
    }

    /// Opens a connection, from where it was.
    pub(crate) async fn open(&self) -> Result<Stream, ClientError> {
        let (since, log) = (Some(self.cursor), self.log.clone());
        self.client.follow(&EventQuery { since, log, ..EventQuery::default() }).await
    }

    /// Listens until `enough` says so, the last event is told or the connection ends. Returns the last
    /// notice.
    pub(crate) async fn hear(
        &mut self,
        stream: &mut Stream,
        enough: impl Fn(i64) -> bool,
    ) -> Option<Notice> {
        let mut last = None;
        while let Ok(Some(text)) = timeout(PATIENCE, stream.next_text()).await.unwrap() {
            let Some(id) = id_of(&text) else {
                let notice = serde_json::from_str(&text).unwrap();
                if let Notice::Hello { log, .. } = &notice {
                    assert_eq!(self.log.get_or_insert_with(|| log.clone()), log, "another log");
                }
                last = Some(notice);
                continue;
            };
            assert_eq!(id, self.cursor + 1, "something is missing or told twice");
            self.cursor = id;
            if self.record.note(id, &text) || enough(id) {
                break;
            }
        }
        last
    }

    /// Listens, through as many lives of the daemon as there are, until the last event is told.
    pub(crate) async fn follow(mut self) -> i64 {
        let mut is_over = false;
        while !is_over {
            match self.open().await {
                Ok(mut stream) => {
                    let last = self.hear(&mut stream, |_| false).await;
                    assert!(
                        matches!(last, None | Some(Notice::Hello { .. } | Notice::Lagged { .. })),
                        "{last:?}"
                    );
                    is_over = self.record.0.lock().unwrap().last == Some(self.cursor);
                }
                Err(ClientError::NoDaemon | ClientError::Broken(_)) => {
                    sleep(RETRY_AFTER).await;
                }
                Err(error) => panic!("{error:?}"),
            }
        }
        self.cursor
    }
}

/// Returns the id of an event, unless this is a notice.
fn id_of(text: &str) -> Option<i64> {
    let (id, _) = text.strip_prefix(r#"{"id":"#)?.split_once(',')?;
    Some(id.parse().unwrap())
}
