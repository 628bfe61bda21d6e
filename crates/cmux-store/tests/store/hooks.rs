//! What is remembered of hooks, and of agents by a store that knew of none.

use cmux_core::event::What;
use cmux_core::hook::{ClaimOutcome, HookClaim, Ids, Told};
use cmux_core::id::{DeliveryId, EventId, HookId};
use cmux_core::plan::agents::event;
use cmux_store::hooks::{self, Heard};
use cmux_store::{agents, events, repair};
use serde_json::{Value, json};
use ulid::Ulid;

use crate::agents::{agent, open};
use crate::world::{LATER, NOW, World, said, tell};

#[test]
fn a_hook_is_known_again_until_it_is_forgotten() {
    let world = World::new();
    let mut store = open(&world);
    let heard = [(1, NOW), (2, NOW), (3, LATER)].map(|(n, at)| Heard {
        id: hook(n),
        event: EventId(n as i64),
        at,
    });
    store.turn(|tx| heard.iter().try_for_each(|heard| hooks::save(tx, heard))).unwrap();
    assert_eq!(hooks::find(store.view(), hook(2)).unwrap(), Some(EventId(2)));
    assert_eq!(hooks::oldest(store.view()).unwrap(), Some(NOW));
    let twice = store.turn(|tx| hooks::save(tx, &heard[0]));
    assert!(twice.is_err(), "{twice:?}");
    for expected in [1, 1, 0] {
        assert_eq!(store.turn(|tx| hooks::prune(tx, LATER, 1)).unwrap(), expected);
    }
    assert_eq!(hooks::find(store.view(), hook(2)).unwrap(), None);
    assert_eq!(hooks::find(store.view(), hook(3)).unwrap(), Some(EventId(3)));
}

#[test]
fn a_hook_is_told_with_all_that_links_it_to_others() {
    let world = World::new();
    let mut store = open(&world);
    let agent = agent(1, "worker");
    let ids = Ids { session: Some("s".into()), call: Some("c".into()), ..Ids::default() };
    let payload = cmux_core::digest::Digest::of(b"{}");
    let (name, tool) = ("PostToolUse".to_owned(), Some("Bash".to_owned()));
    let (means, turn, ok) = ("tool_ended", None, Some(true));
    let delivery = DeliveryId::new(Ulid::from(7_u128));
    let claim = Some(HookClaim { delivery, outcome: ClaimOutcome::Blocked });
    let told = Told { hook: hook(1), name, means, ids, turn, tool, ok, at: NOW, payload, claim };
    let told = event(&agent, What::HookReceived(told));
    store.turn(|tx| tx.append_with(&told, b"{}", LATER)).unwrap();
    let rows = events::newest(store.view(), 1, &events::Filter::default()).unwrap();
    let data: Value = serde_json::from_str(&rows[0].data).unwrap();
    assert_eq!(rows[0].kind, "hook.received");
    assert_eq!(rows[0].subject, Some(format!("agent:{}", agent.id)));
    let linked = json!({
        "hook": hook(1).to_string(), "name": "PostToolUse", "means": "tool_ended", "session": "s",
        "subagent": null, "prompt": null, "turn": null, "tool": "Bash", "call": "c", "ok": true,
        "at": "2026-01-01T00:00:00.000Z", "payload": payload.hex(),
        "claim": { "delivery": delivery.to_string(), "outcome": "blocked" },
    });
    assert_eq!(data, linked);
}

#[test]
fn agents_of_a_damaged_store_that_knew_of_no_hooks_are_saved() {
    let world = World::new();
    let mut store = open(&world);
    store.turn(|tx| agents::save(tx, &agent(1, "worker"))).unwrap();
    tell(&mut store, 2);
    drop(store);
    world.tamper(
        "DROP TABLE hooks; ALTER TABLE agents DROP COLUMN turn;
         ALTER TABLE agents DROP COLUMN heard_in; PRAGMA user_version = 3;
         UPDATE events SET v = 9 WHERE id = 1",
    );
    repair::mark(&world.path(), "a turn came across it").unwrap();
    let store = world.open_at(2, LATER).unwrap().store;
    assert_eq!(said(&store, "store.repaired")["source"], "salvage");
    assert_eq!(
        agents::find(store.view(), agent(1, "worker").id).unwrap(),
        Some(agent(1, "worker"))
    );
}

fn hook(n: u128) -> HookId {
    HookId::new(Ulid::from(n))
}
