//! Clients that sleep, stay silent or are too many.

use std::sync::atomic::AtomicU64;

use axum::Router;
use axum::routing::get;
use cmux_testkit::wait::PATIENCE;
use cmux_wire::client::{Client, ClientError, EventQuery};
use cmux_wire::stream::{Stream, Told};
use tokio::net::UnixListener;

use cmux_core::id::SessionId;
use ulid::Ulid;

use super::*;
use crate::feed::Limits;
use crate::feed::tests::World;

/// More than a socket and what is written to it hold.
const PLENTY: usize = 2 << 20;

const A_MOMENT: Duration = Duration::from_millis(20);

#[tokio::test]
async fn a_client_that_accepts_nothing_is_told_from_where_to_go_on() {
    let limits = Limits { accept_within: A_MOMENT, leave_within: PATIENCE, ..Limits::default() };
    let mut hall = Hall::open(limits);
    let mut sleeper = hall.follow(Some(0)).await.unwrap();
    hall.world.tell(PLENTY / 1000, 1000);
    until(&hall.world.feed.counts.evicted, 1).await;
    // What comes after that is not for it.
    hall.world.tell(10, 10);
    let (mut told, last) = listen(&mut sleeper, i64::MAX).await;
    let resume = told.last().copied().unwrap_or(0);
    assert_eq!(last, Some(Notice::Lagged { resume }));
    assert!(resume < i64::try_from(PLENTY / 1000).unwrap(), "all of it was taken");
    until(&hall.world.feed.counts.clients, 0).await;

    let head = i64::try_from(PLENTY / 1000 + 10).unwrap();
    let mut again = hall.follow(Some(resume)).await.unwrap();
    told.extend(listen(&mut again, head).await.0);
    assert!(told.iter().copied().eq(1..=head), "something is missing or told twice");
}

#[tokio::test]
async fn a_client_that_does_not_hear_that_it_is_let_go_is_let_go_all_the_same() {
    let limits = Limits { accept_within: A_MOMENT, leave_within: A_MOMENT, ..Limits::default() };
    let mut hall = Hall::open(limits);
    let _sleeper = hall.follow(Some(0)).await.unwrap();
    hall.world.tell(PLENTY / 1000, 1000);
    until(&hall.world.feed.counts.evicted, 1).await;
    until(&hall.world.feed.counts.clients, 0).await;
}

#[tokio::test]
async fn a_client_that_wakes_late_misses_nothing() {
    let mut hall = Hall::open(Limits { accept_within: PATIENCE, ..Limits::default() });
    let mut sleeper = hall.follow(Some(0)).await.unwrap();
    let mut other = hall.follow(Some(0)).await.unwrap();
    // Each is a batch, there are more than are kept, and some are too long for any.
    for (count, long) in [(150, 60_000), (10, 400_000), (150, 60_000)] {
        hall.world.tell(count, long);
    }
    for stream in [&mut other, &mut sleeper] {
        let (told, _) = listen(stream, 310).await;
        assert!(told.into_iter().eq(1..=310), "something is missing or told twice");
    }
}

#[tokio::test]
async fn a_client_that_answers_no_ping_is_let_go() {
    let limits = Limits { ping_every: A_MOMENT, silence_max: 3 * A_MOMENT, ..Limits::default() };
    let hall = Hall::open(limits);
    // It answers only when it is listened to.
    let _silent = hall.follow(None).await.unwrap();
    until(&hall.world.feed.counts.clients, 0).await;
    assert_eq!(hall.world.feed.counts.evicted.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_client_too_many_is_told_so_and_comes_in_when_another_leaves() {
    let hall = Hall::open(Limits { clients_max: 1, ..Limits::default() });
    let only = hall.follow(None).await.unwrap();
    let Err(ClientError::Refused(problem)) = hall.follow(None).await else { panic!("it came in") };
    assert_eq!((problem.status, problem.kind.as_str()), (503, "/problems/too-many-clients"));
    only.close().await;
    until(&hall.world.feed.counts.clients, 0).await;
    hall.follow(None).await.unwrap();
}

#[tokio::test]
async fn a_client_that_sleeps_does_not_hold_up_the_end() {
    let mut hall = Hall::open(Limits { accept_within: PATIENCE, ..Limits::default() });
    let _sleeper = hall.follow(Some(0)).await.unwrap();
    hall.world.tell(PLENTY / 1000, 1000);
    let mut awake = hall.follow(Some(2000)).await.unwrap();
    listen(&mut awake, 2097).await;
    hall.closing.send_replace(true);
    let (_, last) = listen(&mut awake, i64::MAX).await;
    assert_eq!(last, Some(Notice::Goodbye { retry_ms: RETRY_MS }));
    until(&hall.world.feed.counts.clients, 0).await;
}

#[tokio::test]
async fn whoever_is_no_longer_let_in_is_told_nothing_of_what_was() {
    let gone = SessionId::new(Ulid::from(1_u128));
    let mut hall = Hall::open_for(Limits::default(), Principal::Browser { session: gone });
    hall.world.tell(10, 10);
    let mut stream = hall.follow(Some(0)).await.unwrap();
    let (told, last) = listen(&mut stream, i64::MAX).await;
    assert_eq!(told, Vec::<i64>::new());
    assert!(matches!(last, Some(Notice::Hello { .. })), "{last:?}");
}

/// A place where a log is told, with as much patience as a test likes.
struct Hall {
    world: World,
    closing: watch::Sender<bool>,
    client: Client,
}

impl Hall {
    fn open(limits: Limits) -> Hall {
        Hall::open_for(limits, Principal::Operator)
    }

    /// Opens a place to which this one comes.
    fn open_for(limits: Limits, caller: Principal) -> Hall {
        let mut world = World::new();
        world.feed.limits = limits;
        let (closing, seen) = watch::channel(false);
        let feed = world.feed.clone();
        let come_in = move |Query(wanted): Query<Wanted>, upgrade: WebSocketUpgrade| {
            let (feed, closing, caller) = (feed.clone(), seen.clone(), caller.clone());
            async move {
                let counted = mpsc::channel(1).0;
                let leave = Leave { closing, counted, caller };
                let asked = Asked { wanted, filter: Filter::default(), vitals: None };
                open(&feed, asked, leave, upgrade).await
            }
        };
        let socket = world.folder.path().join("sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let router = Router::new().route("/api/ws", get(come_in));
        tokio::spawn(axum::serve(listener, router).into_future());
        Hall { world, closing, client: Client::new(&socket) }
    }

    async fn follow(&self, since: Option<i64>) -> Result<Stream, ClientError> {
        self.client.follow(&EventQuery { since, ..EventQuery::default() }).await
    }
}

/// Listens until `last` is told or the connection ends. Returns the events, and the last notice.
async fn listen(stream: &mut Stream, last: i64) -> (Vec<i64>, Option<Notice>) {
    let (mut told, mut notice) = (Vec::new(), None);
    while told.last() != Some(&last) {
        match timeout(PATIENCE, stream.next()).await.unwrap().unwrap() {
            Some(Told::Event(event)) => told.push(event.id),
            Some(Told::Notice(word)) => notice = Some(word),
            None => break,
        }
    }
    (told, notice)
}

/// Waits until so many are counted.
async fn until(counted: &AtomicU64, expected: u64) {
    let counting = async {
        while counted.load(Ordering::Relaxed) != expected {
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(PATIENCE, counting).await.unwrap();
}
