//! Where what was meets what comes, and where what was is no longer there.

use std::sync::atomic::AtomicBool;
use std::thread;

use cmux_testkit::dice::Dice;
use cmux_testkit::home::TestHome;
use cmux_wire::client::EventQuery;
use cmux_wire::event::Notice;
use cmux_wire::stream::{Stream, Told};
use tokio::runtime::Runtime;

use crate::PROGRAM;
use crate::listener::{Listener, Record};
use crate::writer::{Bell, Writer};

const ROUNDS: usize = 40;

/// How many come in each round, and how many events each hears that happened after it came.
const CLIENTS: usize = 4;
const LIVE: i64 = 40;

#[test]
fn there_is_no_gap_between_what_was_and_what_comes() {
    let home = TestHome::new(PROGRAM);
    let _daemon = home.daemon();
    let (runtime, record) = (Runtime::new().unwrap(), Record::default());
    let mut dice = Dice::seeded();
    let enough = AtomicBool::new(false);
    thread::scope(|scope| {
        let _bell = Bell(&enough);
        for number in 0..2 {
            let (home, enough) = (&home, &enough);
            scope.spawn(move || Writer::new(home).write(number, 10, enough));
        }
        for _ in 0..ROUNDS {
            let newest = EventQuery { limit: Some(1), ..EventQuery::default() };
            let head = home.ask(|client| async move { client.events(&newest).await }).unwrap().head;
            let coming: Vec<_> = (0..CLIENTS)
                .map(|_| {
                    let since = dice.below(head.unsigned_abs() + 1).cast_signed();
                    let mut listener = Listener::new(home.client(), &record, since);
                    runtime.spawn(async move {
                        let mut stream = listener.open().await.unwrap();
                        listener.hear(&mut stream, |id| id >= head + LIVE).await;
                    })
                })
                .collect();
            for one in coming {
                runtime.block_on(one).unwrap();
            }
        }
    });
    Writer::new(&home).end(&home);
    let all = Listener::new(home.client(), &record, 0).follow();
    assert_eq!(runtime.block_on(all), record.last());
    record.check(&home);
}

#[test]
fn whoever_has_not_read_what_was_archived_is_told_so() {
    let home = TestHome::new(PROGRAM);
    let _daemon = home.daemon();
    let mut writer = Writer::new(&home);
    for number in 0..9 {
        writer.add(home.folder(&format!("p{number}")).to_str().unwrap());
    }
    let file = home.folder("archives").join("old.jsonl");
    home.json(&["audit", "archive", file.to_str().unwrap(), "--keep-days", "0"]);
    let through = home.ask(|client| async move {
        let page = client.events(&since(0)).await?;
        let through = page.archived_through.unwrap();
        assert_eq!(page.events[0].id, through + 1);
        assert_eq!(client.events(&since(through)).await?.archived_through, None);
        assert_eq!(client.events(&EventQuery::default()).await?.archived_through, None);
        for (from, expected) in [(-7, true), (0, true), (through - 1, true), (through, false)] {
            let mut stream = client.follow(&since(from)).await?;
            assert!(matches!(next(&mut stream).await, Told::Notice(Notice::Hello { .. })));
            if expected {
                assert_eq!(next(&mut stream).await, Told::Notice(Notice::Archived { through }));
            }
            let event = next(&mut stream).await;
            assert!(matches!(&event, Told::Event(it) if it.id == through + 1), "{event:?}");
        }
        Ok(through)
    });
    let through = through.unwrap();
    let told = format!("the events up to {through} were archived and are no longer here\n");
    let ran = home.run(&["events", "--since", "0"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), told.as_str()));
    let ran = home.run(&["events", "--since", "0", "--json"]);
    let notice = format!("{{\"kind\":\"archived\",\"through\":{through}}}\n");
    assert!(ran.stdout.starts_with(&notice), "{ran:?}");
    assert_eq!(home.run(&["events", "--since", &through.to_string()]).stderr, "");
}

#[test]
fn a_list_that_stops_at_its_limit_says_how_to_go_on() {
    let home = TestHome::new(PROGRAM);
    let _daemon = home.daemon();
    let mut writer = Writer::new(&home);
    for number in 0..5 {
        writer.add(home.folder(&format!("p{number}")).to_str().unwrap());
    }
    for (arguments, expected) in [
        (&["--since", "0", "-n", "3"][..], "there may be more: go on with --since 3\n"),
        (&["--since", "0"], ""),
        (&["-n", "3"], ""),
        (&["--since", "0", "-n", "3", "--json"], ""),
        (&["--since", "3", "-n", "3"], ""),
    ] {
        let ran = home.run(&[&["events"], arguments].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), expected), "{arguments:?}");
    }
}

fn since(since: i64) -> EventQuery {
    EventQuery { since: Some(since), ..EventQuery::default() }
}

async fn next(stream: &mut Stream) -> Told {
    stream.next().await.unwrap().unwrap()
}
