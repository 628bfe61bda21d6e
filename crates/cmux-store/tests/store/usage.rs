//! What is remembered of turns, and of what agents use.

use cmux_core::event::What;
use cmux_core::id::{AgentId, DeliveryId, RunId, TurnId};
use cmux_core::plan::agents::event;
use cmux_core::time::Timestamp;
use cmux_core::turn::{Ended, Turn, TurnEnd, Turned};
use cmux_core::usage::{Cursor, Money, Spent, Tokens, Usage};
use cmux_store::{Store, events, turns, usage};
use serde_json::{Value, json};
use ulid::Ulid;

use crate::agents::{agent, open};
use crate::world::{LATER, NOW, World, tell};

#[test]
fn a_turn_is_read_back_as_it_was_saved_with_each_of_its_ends() {
    let world = World::new();
    let mut store = open(&world);
    let ends = TurnEnd::ALL.map(|how| Some(Ended { at: LATER, how }));
    for end in [None].into_iter().chain(ends) {
        let told = Turn { end, calls: 7, tools: vec!["Bash".into()], ..turn(1, 5) };
        store.turn(|tx| turns::save(tx, &told)).unwrap();
        assert_eq!(turns::find(store.view(), told.id).unwrap(), Some(told));
    }
    assert_eq!(turns::oldest(store.view()).unwrap(), Some(Timestamp(5)));
    assert_eq!(store.turn(|tx| turns::prune(tx, Timestamp(6), 9)).unwrap(), 1);
    assert_eq!(turns::oldest(store.view()).unwrap(), None);
}

#[test]
fn what_an_answer_took_belongs_to_the_turn_in_which_it_came() {
    let world = World::new();
    let mut store = open(&world);
    let all = [turn(1, 100), turn(2, 200), turn(3, 300)];
    store.turn(|tx| all.iter().try_for_each(|turn| turns::save(tx, turn))).unwrap();
    for (key, at, input) in
        [("early", 99, 1), ("a", 100, 10), ("b", 199, 20), ("c", 250, 400), ("d", 9_999, 8_000)]
    {
        save(&mut store, key, at, input, Some(input));
    }
    save(&mut store, "e", 260, 7, None);
    let used = |turn: &Turn| usage::of_turn(store.view(), turn).unwrap();
    let of: Vec<(u64, u64, u64)> =
        all.iter().map(used).map(|it| (it.tokens.input, it.cost.0, it.unpriced)).collect();
    assert_eq!(of, [(30, 30, 0), (407, 400, 7), (8_000, 8_000, 0)]);
    let at = |at| turns::at(store.view(), id(), Timestamp(at)).unwrap().map(|turn| turn.id);
    assert_eq!((at(99), at(100), at(299)), (None, Some(all[0].id), Some(all[1].id)));
    let page = turns::between(store.view(), id(), Timestamp(100), Timestamp(300), 9).unwrap();
    assert_eq!(page, [all[1].clone(), all[0].clone()]);
}

#[test]
fn sums_are_kept_for_each_agent_and_each_kind() {
    let world = World::new();
    let mut store = open(&world);
    let (mine, all) = (sum(5, 7), sum(50, 70));
    store.turn(|tx| usage::save_sums(tx, id(), "demo", mine, all)).unwrap();
    assert_eq!(usage::of_agent(store.view(), id()).unwrap(), mine);
    assert_eq!(usage::of_kind(store.view(), "demo").unwrap(), all);
    assert_eq!(usage::of_kinds(store.view()).unwrap(), [("demo".to_owned(), all)]);
    assert_eq!(usage::of_kind(store.view(), "other").unwrap(), Usage::default());
    store.turn(|tx| usage::forget(tx, id())).unwrap();
    assert_eq!(usage::of_agent(store.view(), id()).unwrap(), Usage::default());
    assert_eq!(usage::of_kind(store.view(), "demo").unwrap(), all);
    // More than SQLite can hold is the most that it can.
    let most = sum(u64::MAX, u64::MAX);
    store.turn(|tx| usage::save_sums(tx, id(), "demo", most, most)).unwrap();
    assert_eq!(usage::of_agent(store.view(), id()).unwrap().cost, Money(i64::MAX as u64));
}

#[test]
fn it_is_known_how_far_was_read_and_of_whom_not_all_was() {
    let world = World::new();
    let mut store = open(&world);
    let place = |file: &str, place| Cursor {
        file: file.to_owned(),
        device: u64::MAX,
        inode: 3,
        place,
        model: Some("m".into()),
        root: None,
    };
    let both = [place("/a", 1), place("/b", 2)];
    store.turn(|tx| both.iter().try_for_each(|it| usage::save_cursor(tx, id(), it))).unwrap();
    store.turn(|tx| usage::save_cursor(tx, id(), &place("/a", 9))).unwrap();
    let found = usage::cursors(store.view(), id(), 9).unwrap();
    assert_eq!(found, [place("/b", 2), place("/a", 9)]);
    store.turn(|tx| usage::forget(tx, id())).unwrap();
    assert_eq!(usage::cursors(store.view(), id(), 9).unwrap(), []);
}

#[test]
fn what_was_used_is_told_in_the_words_of_the_api() {
    let world = World::new();
    let mut store = open(&world);
    let used = Usage { unpriced: 4, ..sum(3, 40_276_200) };
    let turned = Turned::Ended {
        turn: turn(1, 1).id,
        how: TurnEnd::Limited,
        calls: 2,
        took_ms: 9,
        usage: used,
    };
    let told = event(&agent(1, "worker"), What::Turned(turned));
    store.turn(|tx| tx.append(&told, NOW)).unwrap();
    let row = events::newest(store.view(), 1, &events::Filter::default()).unwrap().remove(0);
    assert_eq!(row.kind, "turn.ended");
    let data: Value = serde_json::from_str(&row.data).unwrap();
    let expected = json!({
        "turn": turn(1, 1).id.to_string(), "how": "limited", "calls": 2, "took_ms": 9,
        "usage": {
            "input_tokens": 3, "output_tokens": 0, "cache_read_tokens": 0, "cache_write_tokens": 0,
            "tokens": 3, "cost_usd": 0.040_276_2, "unpriced_tokens": 4,
        },
    });
    assert_eq!(data, expected);
}

#[test]
fn all_of_it_is_carried_over_from_a_store_that_is_damaged() {
    let world = World::new();
    let mut store = open(&world);
    store.turn(|tx| turns::save(tx, &turn(1, 5))).unwrap();
    save(&mut store, "a", 7, 3, Some(2));
    let place =
        Cursor { file: "/a".into(), device: 1, inode: 2, place: 3, model: None, root: None };
    store.turn(|tx| usage::save_cursor(tx, id(), &place)).unwrap();
    store.turn(|tx| usage::save_sums(tx, id(), "demo", sum(3, 2), sum(3, 2))).unwrap();
    tell(&mut store, 3);
    drop(store);
    world.tamper("ALTER TABLE projects RENAME COLUMN look_at TO look_au");
    let store = world.open_at(2, LATER).unwrap().store;
    assert_eq!(usage::of_turn(store.view(), &turn(1, 5)).unwrap(), sum(3, 2));
    assert_eq!(turns::find(store.view(), turn(1, 5).id).unwrap(), Some(turn(1, 5)));
    assert_eq!(usage::cursors(store.view(), id(), 9).unwrap(), [place]);
    assert_eq!(usage::of_agent(store.view(), id()).unwrap(), sum(3, 2));
    assert_eq!(usage::of_kind(store.view(), "demo").unwrap(), sum(3, 2));
}

#[track_caller]
fn save(store: &mut Store, key: &str, at: i64, input: u64, cost: Option<u64>) {
    let tokens = Tokens { input, ..Tokens::default() };
    let (at, cost) = (Timestamp(at), cost.map(Money));
    let spent = Spent { key: key.to_owned(), at, model: "m".into(), tokens, cost };
    store.turn(|tx| usage::save(tx, id(), &spent, NOW)).unwrap();
    assert_eq!(usage::find(store.view(), id(), key).unwrap(), Some(spent));
}

fn sum(input: u64, cost: u64) -> Usage {
    let tokens = Tokens { input, ..Tokens::default() };
    Usage { tokens, cost: Money(cost), unpriced: 0 }
}

fn id() -> AgentId {
    AgentId::new(Ulid::from(77_u128))
}

fn turn(n: u128, at: i64) -> Turn {
    Turn {
        id: TurnId::new(Ulid::from(n)),
        agent: id(),
        run: RunId::new(Ulid::from(5_u128)),
        began_at: Timestamp(at),
        wall_at: Timestamp(at),
        deliveries: vec![DeliveryId::new(Ulid::from(6_u128))],
        tools: Vec::new(),
        calls: 0,
        end: None,
    }
}
