//! Searches in the log: what fits is found, page by page and either way, and a look has an end.

use cmux_core::id::EventId;
use cmux_store::View;
use cmux_store::events::{self, Filter, Search, Searched, Way};

use crate::world::{World, ids, tell};

/// How many events one search looks at.
const LOOKED_MAX: i64 = 20_000;

#[test]
fn a_text_is_found_wherever_it_is_and_means_nothing_else() {
    let world = World::new();
    let mut store = world.open();
    tell(&mut store, 6);
    world.tamper(
        r#"UPDATE events SET data = '{"text":"100% of a_b"}' WHERE id = 2;
           UPDATE events SET data = '{"text":"say \"Hi\" to c:\\d"}' WHERE id = 3;
           UPDATE events SET actor = 'agent:agt_x', kind = 'agent.phase' WHERE id = 4;
           UPDATE events SET data = '{"text":"Größe"}', subject = 'message:msg_1' WHERE id = 5;"#,
    );
    for (text, expected) in [
        ("clock.jumped", &[1, 2, 3, 5, 6][..]),
        ("CLOCK", &[1, 2, 3, 5, 6]),
        ("agt_x", &[4]),
        ("AGENT.", &[4]),
        ("100%", &[2]),
        ("%", &[2]),
        ("a_b", &[2]),
        ("a.b", &[]),
        ("_", &[1, 2, 4, 6]),
        ("say \"hi\"", &[3]),
        ("\"text\":\"say", &[3]),
        ("c:\\d", &[3]),
        ("größe", &[5]),
        ("'; DROP TABLE events; --", &[]),
        ("' OR 1=1 --", &[]),
    ] {
        let search = Search { text: Some(text.to_owned()), ..Search::default() };
        let found = back(store.view(), i64::MAX, 100, &search);
        assert_eq!((ids(&found.rows), found.looked_to), (expected.to_vec(), None), "{text}");
        let found = events::search(store.view(), Way::After(EventId(0)), 100, &search).unwrap();
        assert_eq!((ids(&found.rows), found.looked_to), (expected.to_vec(), None), "{text}");
    }
    let of = Search { subject: Some("message:msg_1".to_owned()), ..Search::default() };
    assert_eq!(ids(&back(store.view(), i64::MAX, 100, &of).rows), [5]);
    let none = Search { text: Some("clock".to_owned()), subject: Some("x".to_owned()), ..of };
    assert!(back(store.view(), i64::MAX, 100, &none).rows.is_empty());
}

#[test]
fn pages_follow_on_one_another_until_there_is_no_more() {
    let world = World::new();
    let mut store = world.open();
    tell(&mut store, 10);
    world.tamper("UPDATE events SET project = 'p', agent = 'agt_x' WHERE id % 2 = 0");
    let of = |project: Option<&str>, agent: Option<&str>, kind: Option<&str>| {
        let text = |text: Option<&str>| text.map(ToOwned::to_owned);
        let (project, agent, kind) = (text(project), text(agent), text(kind));
        let filter = Filter { project, agent, kind, mail_of: None };
        Search { filter, ..Search::default() }
    };
    for (search, expected) in [
        (Search::default(), &[&[8, 9, 10][..], &[5, 6, 7], &[2, 3, 4], &[1]][..]),
        (of(Some("p"), None, None), &[&[6, 8, 10], &[2, 4]]),
        (of(None, Some("agt_x"), Some("clock.")), &[&[6, 8, 10], &[2, 4]]),
        (of(Some("p"), Some("agt_x"), Some("clock.jumped")), &[&[6, 8, 10], &[2, 4]]),
        (of(Some("q"), Some("agt_x"), None), &[&[]]),
    ] {
        let (mut pages, mut before) = (Vec::new(), Some(i64::MAX));
        while let Some(from) = before {
            let found = back(store.view(), from, 3, &search);
            pages.push(ids(&found.rows));
            before = found.looked_to.map(|id| id.0);
        }
        assert_eq!(pages, expected, "{search:?}");
    }
}

#[test]
fn a_look_has_an_end_and_says_where_it_was() {
    let world = World::new();
    let mut store = world.open();
    let count = 2 * LOOKED_MAX + 500;
    tell(&mut store, count);
    world.tamper(r#"UPDATE events SET data = '{"needle":1}' WHERE id = 3"#);
    let search = Search { text: Some("needle".to_owned()), ..Search::default() };
    let (mut before, mut looks) = (i64::MAX, Vec::new());
    let found = loop {
        let found = back(store.view(), before, 10, &search);
        let Some(EventId(looked_to)) = found.looked_to else { break found };
        assert_eq!(found.rows, []);
        looks.push(looked_to);
        before = looked_to;
    };
    assert_eq!((ids(&found.rows), looks), (vec![3], vec![20_501, 501]));
    let on = events::search(store.view(), Way::After(EventId(3)), 10, &search).unwrap();
    assert_eq!((on.rows, on.looked_to), (Vec::new(), Some(EventId(20_003))));
    world.tamper(
        "UPDATE events SET data = json_object('x', hex(zeroblob(9000000))) WHERE id > 40490",
    );
    let short = back(store.view(), i64::MAX, 10, &search);
    assert_eq!((short.rows, short.looked_to), (Vec::new(), Some(EventId(40_499))));
}

#[test]
fn what_is_told_of_one_thing_is_found_by_an_index() {
    let world = World::new();
    let _store = world.open();
    let raw = world.raw();
    for (key, index) in [
        ("subject = 'x'", "events_by_subject"),
        ("agent = 'x'", "events_by_agent"),
        ("kind = 'x'", "events_by_kind"),
        ("project = 'x'", "events_by_project"),
    ] {
        let query = format!(
            "EXPLAIN QUERY PLAN SELECT * FROM events WHERE id < 7 AND {key} ORDER BY id DESC"
        );
        let plan: String = raw.query_row(&query, [], |row| row.get(3)).unwrap();
        assert!(plan.contains(index), "{key}: {plan}");
    }
}

fn back(view: View<'_>, before: i64, limit: u32, search: &Search) -> Searched {
    events::search(view, Way::Before(EventId(before)), limit, search).unwrap()
}
