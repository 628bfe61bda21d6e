//! Samples of what is said of conversations, and of how cmux does.

use cmux_wire::conversation::{Conversation, Entry, Said};
use cmux_wire::event::Notice;
use cmux_wire::health::{Condition, Health, Part};
use cmux_wire::vitals::{Vital, Vitals};
use serde_json::{Value, json};

use crate::{text, time};

/// Returns a sample of each shape, by its name.
pub(crate) fn said_of_views() -> Vec<(&'static str, Value)> {
    let said = [
        Said::Prompt { text: text(), text_cut: false, messages: vec![text()] },
        Said::Answer { text: text(), text_cut: true },
        Said::Thinking { text: text(), text_cut: false },
        Said::Call { call: text(), tool: text(), input: json!({ "any": [1] }), input_cut: false },
        Said::Result { call: text(), text: text(), text_cut: false, ok: None },
        Said::Note { text: text() },
    ];
    let entry =
        |said: &Said| Entry { id: text(), at: Some(time()), subagent: false, said: said.clone() };
    let entries: Vec<Entry> = said.iter().map(entry).collect();
    let missing = Some(text());
    let none = Conversation { entries: Vec::new(), next: None, missing };
    let conversation = Conversation { entries: entries.clone(), next: Some(text()), missing: None };
    let vitals = Vitals { every_ms: 5000, samples: vec![vital()], health: health() };
    let notice = Notice::Vitals { sample: Box::new(vital()), health: Box::new(health()) };
    let mut samples = vec![
        ("Conversation", json!(none)),
        ("Conversation", json!(conversation)),
        ("Vital", json!(vital())),
        ("Vitals", json!(vitals)),
        ("Notice", json!(notice)),
    ];
    samples.extend(said.iter().map(|said| ("Said", json!(said))));
    samples.extend(entries.iter().map(|entry| ("Entry", json!(entry))));
    samples
}

fn vital() -> Vital {
    Vital {
        at: time(),
        status: Condition::Healthy,
        agents: 7,
        waiting: 3,
        oldest_waiting_ms: Some(1),
        delivered: 2,
        took_p50_ms: Some(400),
        took_p95_ms: None,
        events: 9,
        restarts: 0,
        rss_bytes: 1 << 25,
        store_bytes: 1 << 30,
        free_bytes: 1 << 40,
        memory_available_bytes: 1 << 33,
        memory_total_bytes: 1 << 34,
    }
}

fn health() -> Health {
    Health {
        status: Condition::Degraded,
        api: Condition::Healthy,
        frontend: Part::healthy(),
        store: Part::degraded("so"),
        tmux: Part::healthy(),
        router: Part::healthy(),
        kernel: Part::healthy(),
        version: text(),
        timestamp: time(),
    }
}
