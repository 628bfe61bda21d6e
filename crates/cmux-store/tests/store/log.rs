//! The log: what is appended is read back, in order and without a gap, whatever fails between.

use std::time::{Duration, Instant};

use cmux_core::event::{Actor, Event, StopReason, What};
use cmux_core::id::EventId;
use cmux_core::project::{Project, ProjectId};
use cmux_store::events::{self, Filter, PAGE_MAX};
use cmux_store::{Store, StoreError, Tx, projects};
use serde_json::json;

use crate::world::{LATER, NOW, World, all, check_whole, ids, jump, log, project, tell};

#[test]
fn an_event_is_read_back_as_it_was_appended() {
    let world = World::new();
    let mut store = world.open();
    let of = project(1).id;
    let stop = What::DaemonStopping { why: StopReason::Signal };
    let found = What::ProjectFound { root: "/a".to_owned() };
    let events = [
        Event::own(stop),
        Event { actor: Actor::Operator, ..Event::own_in(&of, found) },
        Event { cause: Some(EventId(2)), ..jump(-7) },
    ];
    store.turn(|tx| events.iter().try_for_each(|event| tx.append(event, NOW).map(|_| ()))).unwrap();
    let rows = all(store.view());
    let said = rows.iter().map(|row| {
        (row.kind.as_str(), row.actor.as_str(), row.data.parse().unwrap(), row.cause.as_deref())
    });
    let expected = [
        ("daemon.stopping", "cmux", json!({"why": "signal"}), None),
        ("project.found", "operator", json!({"root": "/a"}), None),
        ("clock.jumped", "cmux", json!({"by_ms": -7}), Some("2")),
    ];
    assert_eq!(said.collect::<Vec<_>>(), expected);
    assert_eq!(rows[1].project.as_deref(), Some(of.as_str()));
    assert_eq!(rows[1].subject, Some(format!("project:{of}")));
    assert_eq!((rows[0].project.as_ref(), rows[0].subject.as_ref()), (None, None));
    assert!(rows.iter().all(|row| row.at == NOW && row.v == 1 && row.payload.is_none()));
    assert_eq!((rows[0].prev, rows[1].prev, rows[2].prev), ([0; 32], rows[0].hash, rows[1].hash));
}

#[test]
fn a_filter_lets_through_what_it_names() {
    let world = World::new();
    let mut store = world.open();
    tell_of_two_projects(&mut store);
    let (a, b) = (project(1).id, project(2).id);
    world.tamper("UPDATE events SET agent = 'agt_x' WHERE id IN (2, 5)");
    let any = Filter::default();
    let of = |id: &ProjectId| Filter { project: Some(id.to_string()), ..Filter::default() };
    let kind = |kind: &str| Filter { kind: Some(kind.to_owned()), ..Filter::default() };
    let agent = |agent: &str| Filter { agent: Some(agent.to_owned()), ..Filter::default() };
    for (filter, expected) in [
        (any.clone(), &[1, 2, 3, 4, 5, 6][..]),
        (of(&a), &[2, 4]),
        (of(&b), &[3, 5]),
        (kind("clock.jumped"), &[1, 6]),
        (kind("project.missing"), &[4, 5]),
        (kind("project."), &[2, 3, 4, 5]),
        (kind("proj"), &[]),
        (kind("project"), &[]),
        (kind("nothing."), &[]),
        (agent("agt_x"), &[2, 5]),
        (agent("agt_y"), &[]),
        (Filter { kind: Some("project.added".to_owned()), ..of(&b) }, &[3]),
        (Filter { agent: Some("agt_x".to_owned()), ..of(&a) }, &[2]),
    ] {
        let after = events::after(store.view(), EventId(0), 100, &filter).unwrap();
        assert_eq!(ids(&after), expected, "{filter:?}");
        let newest = events::newest(store.view(), 100, &filter).unwrap();
        assert_eq!(ids(&newest), expected, "{filter:?}");
    }
}

#[test]
fn a_filter_lets_through_in_memory_what_it_lets_through_in_the_store() {
    let world = World::new();
    let mut store = world.open();
    let names =
        [None, Some(""), Some("a"), Some("a."), Some("a.b"), Some("b"), Some("A"), Some("ä.")];
    let kinds = ["", ".", "a", "a.", "a.b", "a.b.c", "a/b", "a\u{10ffff}", "a.\u{10ffff}x", "ä.b"];
    let all: Vec<_> =
        kinds.iter().flat_map(|kind| names.map(|name| (*kind, name, names[2]))).collect();
    tell(&mut store, i64::try_from(all.len()).unwrap());
    let raw = world.raw();
    for (id, (kind, project, agent)) in (1_i64..).zip(&all) {
        let update = "UPDATE events SET kind = ?2, project = ?3, agent = ?4 WHERE id = ?1";
        raw.execute(update, rusqlite::params![id, kind, project, agent]).unwrap();
    }
    let text = |text: Option<&str>| text.map(ToOwned::to_owned);
    for kind in kinds.iter().map(|kind| Some(*kind)).chain([None]) {
        for (project, agent) in names.into_iter().flat_map(|it| [(it, None), (it, it)]) {
            let (project, agent, kind) = (text(project), text(agent), text(kind));
            let filter = Filter { project, agent, kind, mail_of: None };
            let lets = (1..).zip(&all).filter(|(_, it)| filter.lets(it.0, it.1, it.2));
            let lets: Vec<i64> = lets.map(|(id, _)| id).collect();
            let found = events::after(store.view(), EventId(0), PAGE_MAX, &filter).unwrap();
            assert_eq!(ids(&found), lets, "{filter:?}");
        }
    }
}

#[test]
fn a_stretch_is_no_longer_than_it_may_be_and_has_one_event_at_least() {
    let world = World::new();
    let mut store = world.open();
    tell_of_two_projects(&mut store);
    world.tamper("UPDATE events SET data = json_object('x', hex(zeroblob(5000))) WHERE id = 3");
    let any = Filter::default();
    let of_b = Filter { project: Some(project(2).id.to_string()), ..any.clone() };
    for (since, bytes_max, filter, expected, through) in [
        (0, 1 << 20, &any, &[1, 2, 3, 4, 5, 6][..], 6),
        (0, 5000, &any, &[1, 2], 2),
        (2, 5000, &any, &[3], 3),
        (3, 5000, &any, &[4, 5, 6], 6),
        (6, 5000, &any, &[], 6),
        (9, 5000, &any, &[], 9),
        (-9, 0, &any, &[1], 1),
        (0, 1 << 20, &of_b, &[3, 5], 6),
        (0, 5000, &of_b, &[3], 3),
        (5, 5000, &of_b, &[], 6),
    ] {
        let stretch = events::stretch(store.view(), EventId(since), bytes_max, filter).unwrap();
        assert_eq!((&ids(&stretch.rows)[..], stretch.through), (expected, EventId(through)));
    }
}

#[test]
fn the_log_is_read_page_by_page() {
    let world = World::new();
    let mut store = world.open();
    tell(&mut store, 10);
    let any = Filter::default();
    for (since, limit, expected) in [
        (0, 3, &[1, 2, 3][..]),
        (3, 3, &[4, 5, 6]),
        (9, 3, &[10]),
        (10, 3, &[]),
        (99, 3, &[]),
        (0, 0, &[]),
        (-5, 1, &[1]),
    ] {
        let page = events::after(store.view(), EventId(since), limit, &any).unwrap();
        assert_eq!(ids(&page), expected);
    }
    assert_eq!(ids(&events::newest(store.view(), 3, &any).unwrap()), [8, 9, 10]);
    assert_eq!(ids(&events::newest(store.view(), 0, &any).unwrap()), [0; 0]);
}

#[test]
fn no_more_than_a_page_is_read_at_once() {
    let world = World::new();
    let mut store = world.open();
    tell(&mut store, i64::from(PAGE_MAX) + 5);
    let any = Filter::default();
    let page = events::after(store.view(), EventId(0), u32::MAX, &any).unwrap();
    assert_eq!(page.len(), PAGE_MAX as usize);
    let newest = events::newest(store.view(), u32::MAX, &any).unwrap();
    assert_eq!((newest.len(), newest[0].id), (PAGE_MAX as usize, EventId(6)));
}

#[test]
fn a_turn_that_fails_leaves_no_gap() {
    let world = World::new();
    let mut store = world.open();
    tell(&mut store, 2);
    let head = store.head();
    let failed = store.turn(|tx| {
        tx.append(&jump(1), NOW)?;
        projects::save(tx, &project(1))?;
        Err::<(), _>(StoreError::Full)
    });
    assert!(matches!(failed, Err(StoreError::Full)));
    assert_eq!((store.head(), projects::all(store.view()).unwrap()), (head, vec![]));
    tell(&mut store, 1);
    assert_eq!(ids(&all(store.view())), [1, 2, 3]);
    check_whole(&world, 3);
}

#[test]
fn a_part_that_is_refused_harms_no_other() {
    let world = World::new();
    let mut store = world.open();
    let refused = store.turn(|tx| {
        tx.append(&jump(1), NOW)?;
        tx.part(|tx| add(tx, &project(1)))?.unwrap();
        // Its root is taken, which shows only once its event was appended.
        let refused = tx.part(|tx| add(tx, &Project { id: project(2).id, ..project(1) }))?;
        let within = tx.part(|tx| {
            add(tx, &project(3))?;
            let inner = tx.part(|tx| add(tx, &Project { id: project(4).id, ..project(3) }))?;
            assert!(inner.is_err());
            add(tx, &project(5))
        })?;
        within.unwrap();
        tx.append(&jump(2), NOW)?;
        Ok(refused)
    });
    assert!(matches!(refused.unwrap(), Err(StoreError::Sqlite(_))));
    let kept: Vec<Project> = projects::all(store.view()).unwrap();
    let mut expected = vec![project(1), project(3), project(5)];
    expected.sort_by_key(|project| project.id.clone());
    assert_eq!(kept, expected);
    assert_eq!(ids(&all(store.view())), [1, 2, 3, 4, 5]);
    assert_eq!(store.head().id, EventId(5));
    check_whole(&world, 5);
}

#[test]
fn a_part_that_finds_damage_ends_the_turn() {
    let world = World::new();
    let mut store = world.open();
    let damage = || StoreError::Damaged { what: "x".to_owned() };
    let ended = store.turn(|tx| {
        tx.append(&jump(1), NOW)?;
        let _ = tx.part(|_| Err::<(), _>(damage()))?;
        Ok(())
    });
    assert!(matches!(ended, Err(StoreError::Damaged { .. })));
    assert_eq!((store.head().id, all(store.view())), (EventId(0), vec![]));
}

#[test]
fn a_commit_that_is_refused_leaves_nothing() {
    let world = World::new();
    let mut store = world.open();
    tell(&mut store, 2);
    let head = store.head();
    store.refuse_commits(true).unwrap();
    let refused = store.turn(|tx| {
        projects::save(tx, &project(1))?;
        tx.append(&jump(1), LATER)
    });
    assert!(refused.is_err());
    assert_eq!((store.head(), projects::all(store.view()).unwrap()), (head, vec![]));
    assert_eq!(ids(&all(store.view())), [1, 2]);
    store.refuse_commits(false).unwrap();
    tell(&mut store, 1);
    assert_eq!(ids(&all(store.view())), [1, 2, 3]);
    check_whole(&world, 3);
}

#[test]
fn a_store_that_is_opened_again_goes_on_where_it_was() {
    let world = World::new();
    let mut store = world.open();
    assert_eq!((store.head().id, store.head().at, store.log()), (EventId(0), None, log(1)));
    tell(&mut store, 3);
    let head = store.head();
    drop(store);
    let mut opened = world.open_at(2, LATER).unwrap();
    assert_eq!((opened.store.head(), opened.store.log()), (head, log(1)));
    assert_eq!(opened.news, []);
    tell(&mut opened.store, 1);
    check_whole(&world, 4);
}

#[test]
fn a_reader_sees_a_turn_once_it_is_committed_and_not_before() {
    let world = World::new();
    let mut store = world.open();
    let mut reader = world.reader();
    store
        .turn(|tx| {
            tx.append(&jump(1), NOW)?;
            projects::save(tx, &project(1))?;
            assert_eq!(all(tx.view()).len(), 1);
            // The turn is open, and neither this reader nor a new one has to wait for it.
            for reader in [&mut reader, &mut world.reader()] {
                reader.read(|view| {
                    assert_eq!((all(view), projects::all(view)?), (vec![], vec![]));
                    Ok(())
                })?;
            }
            Ok(())
        })
        .unwrap();
    let seen = reader.read(|view| Ok((all(view).len(), projects::all(view)?.len()))).unwrap();
    assert_eq!(seen, (1, 1));
}

#[test]
fn a_reader_sees_one_moment_and_holds_up_no_writer() {
    let world = World::new();
    let mut store = world.open();
    tell(&mut store, 1);
    let began = Instant::now();
    let seen = world.reader().read(|view| {
        let before = all(view).len();
        tell(&mut store, 1);
        store.checkpoint()?;
        tell(&mut store, 1);
        Ok((before, all(view).len()))
    });
    assert_eq!(seen.unwrap(), (1, 1));
    assert!(began.elapsed() < Duration::from_secs(4), "the writer waited for the reader");
    check_whole(&world, 3);
}

/// Tells of projects 1 and 2 in turns, with an event of neither before and after.
fn tell_of_two_projects(store: &mut Store) {
    let (a, b) = (project(1).id, project(2).id);
    let added = || What::ProjectAdded { name: "x".to_owned(), root: "/x".to_owned() };
    let missing = || What::ProjectMissing { root: "/x".to_owned() };
    let events = [
        jump(1),
        Event::own_in(&a, added()),
        Event::own_in(&b, added()),
        Event::own_in(&a, missing()),
        Event::own_in(&b, missing()),
        jump(2),
    ];
    store.turn(|tx| events.iter().try_for_each(|event| tx.append(event, NOW).map(|_| ()))).unwrap();
}

fn add(tx: &mut Tx<'_>, project: &Project) -> Result<(), StoreError> {
    let what = What::ProjectAdded { name: project.name.clone(), root: project.root.clone() };
    tx.append(&Event::own_in(&project.id, what), NOW)?;
    projects::save(tx, project)
}
