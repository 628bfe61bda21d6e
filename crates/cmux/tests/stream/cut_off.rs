//! Clients whose daemon is killed or stops.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cmux_testkit::dice::Dice;
use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;
use cmux_wire::client::{Client, EventQuery};
use cmux_wire::event::{Event, Notice};
use cmux_wire::project::NewProject;
use cmux_wire::stream::Told;
use rustix::process::Signal;
use tokio::runtime::Runtime;

use crate::PROGRAM;
use crate::listener::{Listener, Record, whole_log};
use crate::writer::{Bell, Writer};

const KILLS: usize = 5;
const CLIENTS: usize = 20;
const WRITERS: usize = 3;

/// How many events each life of the daemon sees at least, and how many more at most.
const EVENTS: i64 = 100;
const MORE_END: u64 = 200;

#[test]
fn twenty_clients_go_on_where_they_were_however_often_the_daemon_is_killed() {
    let home = TestHome::new(PROGRAM);
    let mut dice = Dice::seeded();
    let runtime = Runtime::new().unwrap();
    let record = Record::default();
    let mut daemon = home.daemon();
    let listeners: Vec<_> = (0..CLIENTS)
        .map(|_| runtime.spawn(Listener::new(home.client(), &record, 0).follow()))
        .collect();
    let enough = AtomicBool::new(false);
    let daemon = thread::scope(|scope| {
        let _bell = Bell(&enough);
        for number in 0..WRITERS {
            let (home, enough) = (&home, &enough);
            scope.spawn(move || insist(home, number, enough));
        }
        for _ in 0..KILLS {
            wait_for_more(&home, EVENTS + i64::try_from(dice.below(MORE_END)).unwrap());
            daemon.kill();
            daemon = home.daemon();
        }
        daemon
    });
    Writer::new(&home).end(&home);
    for listener in listeners {
        assert_eq!(runtime.block_on(listener).unwrap(), record.last());
    }
    record.check(&home);
    assert!(daemon.stop().success());
}

#[test]
fn each_is_told_all_that_it_wants_and_goodbye() {
    let home = TestHome::new(PROGRAM);
    let daemon = home.daemon();
    let runtime = Runtime::new().unwrap();
    let enough = AtomicBool::new(false);
    let mut writer = Writer::new(&home);
    let project = writer.add("/nowhere/special");
    let kind = |kind: &str| EventQuery { kind: Some(kind.to_owned()), ..EventQuery::default() };
    let of = EventQuery { project: Some(project), ..EventQuery::default() };
    let filters = [
        EventQuery::default(),
        of.clone(),
        kind("project."),
        kind("project.added"),
        kind("daemon."),
        EventQuery { agent: Some("agt_x".to_owned()), ..EventQuery::default() },
        EventQuery { kind: Some("project.removed".to_owned()), ..of },
    ];
    let told = thread::scope(|scope| {
        let bell = Bell(&enough);
        let writing = scope.spawn(|| Writer::new(&home).write(0, 10, &enough));
        wait_for_more(&home, EVENTS);
        let followers: Vec<_> = filters
            .iter()
            .map(|wanted| {
                let wanted = EventQuery { since: Some(0), ..wanted.clone() };
                runtime.spawn(hear_out(home.client(), wanted))
            })
            .collect();
        wait_for_more(&home, EVENTS);
        drop(bell);
        writing.join().unwrap();
        daemon.signal(Signal::TERM);
        followers.into_iter().map(|it| runtime.block_on(it).unwrap()).collect::<Vec<_>>()
    });
    assert!(daemon.stop().success());
    let _again = home.daemon();
    let end = |event: &Event| event.kind == "daemon.stopping";
    let last = whole_log(&home, &filters[0]).into_iter().find(end).unwrap().id;
    for (wanted, told) in filters.iter().zip(told) {
        let mut log = whole_log(&home, wanted);
        log.retain(|event| event.id <= last);
        assert_eq!(told, log, "{wanted:?}");
    }
}

/// Listens until goodbye is said, and returns the events before it.
async fn hear_out(client: Client, wanted: EventQuery) -> Vec<Event> {
    let mut stream = client.follow(&wanted).await.unwrap();
    let (mut told, mut last) = (Vec::new(), None);
    while let Some(next) = stream.next().await.unwrap() {
        match next {
            Told::Event(event) => told.push(event),
            Told::Notice(notice) => last = Some(notice),
        }
    }
    assert!(matches!(last, Some(Notice::Goodbye { retry_ms: 1.. })), "{last:?}");
    told
}

/// Adds projects until there is `enough`, whether there is a daemon or not.
fn insist(home: &TestHome, number: usize, enough: &AtomicBool) {
    for count in 0.. {
        if enough.load(Ordering::Relaxed) {
            return;
        }
        let new = NewProject { root: format!("/nowhere/{number}/{count}"), name: None };
        let _ = home.ask(|client| async move { client.add_project(&new).await });
    }
}

/// Waits until so many more events have happened.
fn wait_for_more(home: &TestHome, count: i64) {
    let head = || {
        let newest = EventQuery { limit: Some(1), ..EventQuery::default() };
        home.ask(|client| async move { client.events(&newest).await }).ok().map(|it| it.head)
    };
    let begun = eventually("the log is there", head);
    eventually("more has happened", || head().filter(|head| *head >= begun + count));
}
