//! What is read of tokens: all of it, once, however it is cut, copied or broken.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use cmux_core::price::Prices;
use cmux_core::usage::{Money, Tokens, Usage};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::manifest::{BUILT_IN, parse};

const NOW: Timestamp = Timestamp(7);

/// A conversation of Claude Code 2.1.325 with a subagent, as it was written, and a fork of it.
const MAIN: &str = include_str!("../../../tests/usage/claude.jsonl");
const SUBAGENT: &str = include_str!("../../../tests/usage/claude-subagent.jsonl");
const FORK: &str = include_str!("../../../tests/usage/claude-fork.jsonl");

#[test]
fn what_claude_code_wrote_comes_to_what_it_says_that_it_cost() {
    let mut ledger = Ledger::default();
    ledger.read(TranscriptShape::Claude, MAIN);
    ledger.read(TranscriptShape::Claude, SUBAGENT);
    let tokens = Tokens {
        input: 5015,
        output: 265,
        cache_read: 15015,
        cache_write: 1015,
        cache_write_long: 15,
        searches: 0,
    };
    assert_eq!(ledger.sum(&claude()), Usage { tokens, cost: said(MAIN), unpriced: 0 });
    // A fork has all that was said before in it, and one answer more.
    ledger.read(TranscriptShape::Claude, FORK);
    let sum = ledger.sum(&claude());
    assert_eq!((sum.tokens.input, sum.tokens.output), (6021, 321));
    assert_eq!((sum.cost, sum.unpriced), (said(FORK), 0));
    assert_eq!(ledger.0.len(), 6);
}

#[test]
fn a_model_without_a_price_costs_nobody_knows_what() {
    for (model, more, is_priced) in [
        ("claude-opus-5-5", json!({}), true),
        ("claude-opus-5-5-20270101", json!({}), true),
        ("claude-opus-5-6", json!({}), false),
        ("claude-opus-5-5", json!({ "speed": "fast" }), true),
        ("claude-sonnet-5-5", json!({ "speed": "fast" }), false),
        ("claude-opus-5-5", json!({ "inference_geo": "us" }), false),
        ("claude-opus-5-5", json!({ "speed": "standard", "inference_geo": "" }), true),
    ] {
        let mut usage = json!({ "input_tokens": 3, "output_tokens": 4 });
        usage.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut ledger = Ledger::default();
        let line = json!({ "type": "assistant", "message": { "id": "m", "model": model, "usage": usage } });
        ledger.read(TranscriptShape::Claude, &format!("{line}\n"));
        let sum = ledger.sum(&claude());
        assert_eq!(sum.unpriced == 0, is_priced, "{line}");
        assert_eq!(sum.tokens.total(), 7, "{line}");
    }
}

#[test]
fn codex_repeats_itself_and_is_heard_once() {
    let meta = |id: &str, from: Option<&str>| json!({ "type": "session_meta", "payload": { "id": id, "forked_from_id": from } });
    let model = json!({ "type": "turn_context", "payload": { "model": "gpt-9" } });
    let count = |all: (u64, u64), last: (u64, u64, u64)| {
        json!({ "timestamp": "2026-11-16T18:23:54.709Z", "type": "event_msg", "payload": {
            "type": "token_count", "info": {
                "total_token_usage": { "input_tokens": all.0, "output_tokens": all.1 },
                "last_token_usage": { "input_tokens": last.0, "cached_input_tokens": last.1,
                    "output_tokens": last.2, "reasoning_output_tokens": 1 },
            }, "rate_limits": {} } })
    };
    let empty = json!({ "type": "event_msg", "payload": { "type": "token_count", "info": null } });
    let (one, two) = (count((100, 10), (100, 0, 10)), count((350, 30), (250, 90, 20)));
    let lines = |all: &[&Value]| all.iter().map(|it| format!("{it}\n")).collect::<String>();
    let first = lines(&[&meta("s", None), &model, &empty, &one, &one, &two, &two]);
    let mut ledger = Ledger::default();
    ledger.read(TranscriptShape::Codex, &first);
    let tokens = Tokens { input: 260, output: 30, cache_read: 90, ..Tokens::default() };
    assert_eq!(ledger.sum(&Prices::default()).tokens, tokens);
    assert!(
        ledger.0.values().all(|it| it.model == "gpt-9" && it.at == Timestamp(1_794_853_434_709))
    );
    // A fork has a copy of it, and goes on from there.
    let three = count((450, 35), (100, 0, 5));
    let fork = [&meta("f", Some("s")), &meta("s", None), &model, &one, &two, &three];
    ledger.read(TranscriptShape::Codex, &lines(&fork));
    assert_eq!(ledger.sum(&Prices::default()).tokens.total(), 485);
    // Another conversation may come to the same numbers.
    ledger.read(TranscriptShape::Codex, &lines(&[&meta("n", None), &model, &one]));
    assert_eq!(ledger.sum(&Prices::default()).tokens.total(), 595);
}

#[test]
fn gemini_sets_its_messages_anew_and_is_heard_once() {
    let message = |id: &str, output: u64| {
        json!({ "id": id, "type": "gemini", "model": "gemini-9",
        "timestamp": "2026-11-16T18:23:54.709Z",
        "tokens": { "input": 100, "output": output, "cached": 40, "thoughts": 5, "tool": 1, "total": 0 } })
    };
    let user = json!({ "id": "u", "type": "user", "content": "\"tokens\"" });
    let all = json!({ "$set": { "messages": [user, message("a", 10), message("b", 20)] } });
    let text = format!("{user}\n{}\n{}\n{all}\n{all}\n", message("a", 1), message("a", 10));
    let mut ledger = Ledger::default();
    ledger.read(TranscriptShape::Gemini, &text);
    let tokens = Tokens { input: 122, output: 40, cache_read: 80, ..Tokens::default() };
    assert_eq!(ledger.sum(&Prices::default()).tokens, tokens);
}

#[test]
fn what_makes_no_sense_is_passed_over() {
    let usage = |usage: Value| json!({ "type": "assistant", "message": { "id": "m", "model": "x", "usage": usage } });
    let good = usage(json!({ "input_tokens": 1, "output_tokens": 2 }));
    let with = |mut record: Value, at: &str, value: Value| {
        record[at] = value;
        record
    };
    for line in [
        "{".to_owned(),
        "\"usage\"".to_owned(),
        "[\"usage\"]".to_owned(),
        usage(json!({ "input_tokens": -1 })).to_string(),
        usage(json!({ "input_tokens": 1.5 })).to_string(),
        usage(json!({ "input_tokens": "9" })).to_string(),
        usage(json!({ "input_tokens": 1_000_000_001_u64 })).to_string(),
        usage(json!({ "output_tokens": u64::MAX })).to_string(),
        usage(json!({ "input_tokens": 0 })).to_string(),
        usage(json!("usage")).to_string(),
        with(good.clone(), "type", json!("user")).to_string(),
        with(good.clone(), "isApiErrorMessage", json!(true)).to_string(),
        with(good.clone(), "message", json!({ "usage": { "input_tokens": 1 } })).to_string(),
        with(
            good.clone(),
            "message",
            json!({ "id": "x".repeat(201), "usage": { "input_tokens": 1 } }),
        )
        .to_string(),
        with(good.clone(), "message", json!({ "id": "\u{1b}[2J", "usage": { "input_tokens": 1 } }))
            .to_string(),
    ] {
        let mut ledger = Ledger::default();
        ledger.read(TranscriptShape::Claude, &format!("{line}\n{good}\n\u{0}\n"));
        assert_eq!(ledger.sum(&Prices::default()).tokens.total(), 3, "{line}");
    }
    let (folder, path) = file(b"\xff\xfe \"usage\"\n");
    fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(format!("{good}\n").as_bytes())
        .unwrap();
    let found = read_on(TranscriptShape::Claude, &path, None, READ_MAX, NOW).unwrap().unwrap();
    assert_eq!((found.read.spent.len(), found.read.spent[0].at), (1, NOW));
    drop(folder);
}

#[test]
fn only_what_is_new_is_read() {
    let (_folder, path) = file(MAIN.as_bytes());
    let all = read_on(TranscriptShape::Claude, &path, None, READ_MAX, NOW).unwrap().unwrap();
    let cursor = all.read.cursor;
    assert_eq!(cursor.place, MAIN.len() as u64);
    assert!(!all.is_more);
    let again = |cursor| read_on(TranscriptShape::Claude, &path, cursor, READ_MAX, NOW).unwrap();
    assert_eq!(again(Some(&cursor)), None);
    let mut writer = fs::OpenOptions::new().append(true).open(&path).unwrap();
    let line = answer("new", 5);
    let (half, rest) = line.split_at(line.len() / 2);
    writer.write_all(half.as_bytes()).unwrap();
    assert_eq!(again(Some(&cursor)), None);
    writer.write_all(rest.as_bytes()).unwrap();
    let found = again(Some(&cursor)).unwrap();
    assert_eq!(found.read.spent.iter().map(|it| it.key.as_str()).collect::<Vec<_>>(), ["new"]);
    // One that was begun anew, and one in its place, are read from their first.
    fs::write(&path, answer("anew", 6)).unwrap();
    assert_eq!(again(Some(&found.read.cursor)).unwrap().read.spent[0].key, "anew");
    let other = path.with_extension("other");
    fs::write(&other, MAIN.repeat(2)).unwrap();
    fs::rename(&other, &path).unwrap();
    let found = again(Some(&found.read.cursor)).unwrap();
    assert_eq!(found.read.cursor.place, 2 * MAIN.len() as u64);
}

#[test]
fn no_look_takes_longer_than_its_share() {
    let text: String = (0..3000).map(|n| answer(&format!("m{n}"), 1)).collect();
    let (_folder, path) = file(text.as_bytes());
    let (mut cursor, mut looks, mut keys) = (None, 0, 0);
    loop {
        let found = read_on(TranscriptShape::Claude, &path, cursor.as_ref(), 10_000, NOW).unwrap();
        let Some(found) = found else { break };
        let before = cursor.map_or(0, |it: Cursor| it.place);
        assert!(found.read.cursor.place - before <= 10_000 + 200);
        keys += found.read.spent.len();
        looks += 1;
        let is_more = found.is_more;
        cursor = Some(found.read.cursor);
        if !is_more {
            break;
        }
    }
    assert!(keys == 3000 && looks > 20, "{keys} {looks}");
}

#[test]
fn nothing_but_a_file_is_read() {
    let (folder, path) = file(MAIN.as_bytes());
    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    assert!(read_on(TranscriptShape::Claude, &link, None, READ_MAX, NOW).is_err());
    assert!(read_on(TranscriptShape::Claude, folder.path(), None, READ_MAX, NOW).is_err());
    let gone = folder.path().join("gone");
    assert_eq!(read_on(TranscriptShape::Claude, &gone, None, READ_MAX, NOW).unwrap(), None);
}

#[test]
fn a_line_without_end_is_passed_over() {
    let (_folder, path) = file(b"");
    let mut writer = fs::OpenOptions::new().append(true).open(&path).unwrap();
    // A hole in a file is read as so many noughts, and takes no room.
    writer.set_len(2 * LINE_MAX + 5).unwrap();
    let found = read_on(TranscriptShape::Claude, &path, None, READ_MAX, NOW).unwrap().unwrap();
    assert_eq!(found.read.cursor.place, 2 * LINE_MAX + 5);
    writer.write_all(format!("\n{}", answer("m", 5)).as_bytes()).unwrap();
    let cursor = Some(&found.read.cursor);
    let found = read_on(TranscriptShape::Claude, &path, cursor, READ_MAX, NOW).unwrap().unwrap();
    assert_eq!(found.read.spent.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever is written between two looks, and however much a look may take.
    #[test]
    fn cut_anywhere_it_comes_to_the_same(
        cuts in prop::collection::vec(0_usize..MAIN.len(), 0..8),
        max in 1_u64..20_000,
    ) {
        let mut whole = Ledger::default();
        whole.read(TranscriptShape::Claude, MAIN);
        let (_folder, path) = file(b"");
        let mut writer = fs::OpenOptions::new().append(true).open(&path).unwrap();
        let mut cuts = cuts;
        cuts.extend([0, MAIN.len()]);
        cuts.sort_unstable();
        let (mut ledger, mut cursor) = (Ledger::default(), None::<Cursor>);
        for cut in cuts.windows(2) {
            writer.write_all(&MAIN.as_bytes()[cut[0]..cut[1]]).unwrap();
            loop {
                let found =
                    read_on(TranscriptShape::Claude, &path, cursor.as_ref(), max, NOW).unwrap();
                let Some(found) = found else { break };
                ledger.add(found.read.spent);
                cursor = Some(found.read.cursor);
                if !found.is_more {
                    break;
                }
            }
        }
        prop_assert_eq!(ledger.sum(&claude()), whole.sum(&claude()));
    }
}

/// What was read, by its key.
#[derive(Default)]
struct Ledger(BTreeMap<String, Spent>);

impl Ledger {
    fn read(&mut self, shape: TranscriptShape, text: &str) {
        let (_folder, path) = file(text.as_bytes());
        let found = read_on(shape, &path, None, READ_MAX, NOW).unwrap();
        self.add(found.map(|found| found.read.spent).unwrap_or_default());
    }

    fn add(&mut self, spent: Vec<Spent>) {
        for it in spent {
            let joined = self.0.get(&it.key).map_or_else(|| it.clone(), |known| known.and(&it));
            self.0.insert(it.key, joined);
        }
    }

    fn sum(&self, prices: &Prices) -> Usage {
        self.0.values().fold(Usage::default(), |sum, it| {
            let cost = prices.find(&it.model).and_then(|price| price.of(it.tokens));
            sum.plus(Usage::of(&Spent { cost, ..it.clone() }))
        })
    }
}

/// Returns what Claude Code itself says last that a conversation has cost.
fn said(text: &str) -> Money {
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let said = records.filter_map(|record| record["totalCostUSD"].as_f64()).next_back().unwrap();
    Money((said * 1e9).round() as u64)
}

fn claude() -> Prices {
    let (file, text) = BUILT_IN[0];
    parse(Path::new(file), text).unwrap().prices
}

fn answer(id: &str, output: u64) -> String {
    let usage = json!({ "input_tokens": 1, "output_tokens": output });
    format!("{}\n", json!({ "type": "assistant", "message": { "id": id, "usage": usage } }))
}

fn file(text: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    fs::write(&path, text).unwrap();
    (folder, path)
}
