//! The schemas take what is really said, and refuse what is not.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod mail;
mod views;

use std::collections::BTreeSet;

use cmux_wire::schema::{components, reference};
use cmux_wire::time::Time;
use cmux_wire::usage::{Dollars, Usage};
use cmux_wire::{
    agent, daemon, event, health, hook, kind, link, message, problem, project, session, store,
    terminal, token, trust, webhook, who, why,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::mail::said_of_mail;
use crate::views::said_of_views;

#[test]
fn every_shape_is_described_as_it_is_said() {
    let components = components();
    let samples = samples();
    for (name, sample) in &samples {
        let schema = components.get(*name).unwrap_or_else(|| panic!("{name} is not described"));
        assert_eq!(misfit(schema, sample, &components), None, "{name}: {sample}");
        assert!(schema["description"].is_string(), "{name} does not say what it is");
    }
    let described: BTreeSet<&str> = components.keys().map(String::as_str).collect();
    let sampled: BTreeSet<&str> = samples.iter().map(|(name, _)| *name).collect();
    assert_eq!(described, sampled);
}

#[test]
fn a_field_too_many_too_few_or_of_another_kind_does_not_fit() {
    for (name, wrong) in [
        ("NewToken", json!({ "scope": "read", "expires": 1 })),
        ("NewToken", json!({ "scope": "all" })),
        ("NewToken", json!({ "scope": "read", "expires_in_s": "30d" })),
        ("NewToken", json!({})),
        ("Login", json!({ "password": 7 })),
        ("Token", json!({ "id": "tok_1", "name": "ci", "scope": "read", "created_at": "t" })),
        ("Part", json!({ "status": "well" })),
        ("Notice", json!({ "kind": "hello", "log": "log_1" })),
    ] {
        let components = components();
        assert!(misfit(&components[name], &wrong, &components).is_some(), "{name}: {wrong}");
    }
}

#[test]
fn what_may_be_left_out_is_not_required() {
    let components = components();
    for sent in [json!({ "scope": "read" }), json!({ "scope": "read", "expires_in_s": null })] {
        assert_eq!(misfit(&components["NewToken"], &sent, &components), None, "{sent}");
    }
    let field = &components["Token"]["properties"]["expires_at"];
    assert_eq!(field["type"], json!(["string", "null"]));
    assert_eq!(field["format"], "date-time");
    assert_eq!(components["NewToken"]["properties"]["expires_in_s"]["default"], 2_592_000);
    assert_eq!(components["NewToken"]["additionalProperties"], false);
    assert_eq!(reference::<token::Token>(), json!({ "$ref": "#/components/schemas/Token" }));
}

#[test]
fn whatever_a_client_sends_is_refused_if_there_is_more_in_it_than_is_known() {
    let sent = [
        unknown::<agent::NewAgent>(json!({ "project": "p", "name": "n", "kind": "k" })),
        unknown::<agent::Register>(
            json!({ "pane": "%1", "name": "n", "kind": "k", "project": "p" }),
        ),
        unknown::<hook::NewHook>(json!({
            "hook": "h", "kind": "k", "event": "e", "at": "2026-01-01T00:00:00Z",
            "since_boot_ms": 1, "payload": "",
        })),
        unknown::<message::NewMessage>(json!({ "to": "a", "body": "b" })),
        unknown::<hook::HookClaim>(json!({ "delivery": "d", "outcome": "claimed" })),
        unknown::<project::NewProject>(json!({ "root": "/r" })),
        unknown::<session::Login>(json!({ "password": "p" })),
        unknown::<store::NewArchive>(json!({ "file": "/f", "keep_days": 1 })),
        unknown::<store::NewBackup>(json!({ "file": "/f" })),
        unknown::<terminal::TerminalSaid>(json!({ "input": "x" })),
        unknown::<token::NewToken>(json!({ "scope": "read" })),
        unknown::<trust::NewTrust>(json!({ "files": [], "folder": true })),
        unknown::<trust::ShownFile>(json!({ "path": "p", "digest": "d" })),
    ];
    for why in sent {
        assert!(why.contains("unknown field `more`"), "{why}");
    }
}

/// Returns why `T` is not read from `fields` and one that it does not have.
fn unknown<T: DeserializeOwned + Serialize>(mut fields: Value) -> String {
    serde_json::from_value::<T>(fields.clone()).map(drop).unwrap();
    fields["more"] = json!(1);
    serde_json::from_value::<T>(fields).map(drop).unwrap_err().to_string()
}

/// Returns a sample of each shape as it is written, by the shape's name.
fn samples() -> Vec<(&'static str, Value)> {
    [
        said_of_cmux(),
        said_of_kinds(),
        said_of_agents(),
        said_of_terminals(),
        said_of_trust(),
        said_of_mail(),
        said_of_views(),
        said_of_the_log(),
        said_of_the_store(),
        said_of_doors(),
        sent(),
    ]
    .concat()
}

fn said_of_cmux() -> Vec<(&'static str, Value)> {
    let notice = daemon::Notice { at: time(), kind: text(), text: text() };
    let project = project::Project {
        id: text(),
        name: text(),
        root: text(),
        created_at: time(),
        missing_since: Some(time()),
    };
    let daemon = daemon::DaemonStatus {
        starting: false,
        address: Some(text()),
        running: true,
        ready: false,
        pid: Some(1),
        guard_pid: None,
        version: text(),
        port: Some(8000),
        home: text(),
        started_at: None,
        safe_mode: None,
    };
    let store = daemon::StoreStatus {
        status: text(),
        why: None,
        log: None,
        head: 7,
        bytes: 1 << 50,
        free_bytes: 0,
        last_snapshot_at: Some(time()),
        notices: vec![notice.clone()],
    };
    let part = health::Part::degraded("so");
    let health = health::Health {
        status: health::Condition::Degraded,
        api: health::Condition::Healthy,
        frontend: health::Part::healthy(),
        store: part.clone(),
        tmux: health::Part::healthy(),
        router: health::Part::healthy(),
        kernel: health::Part::healthy(),
        version: text(),
        timestamp: time(),
    };
    let problem = problem::Problem { kind: text(), title: text(), status: 404, detail: text() };
    let projects = project::Projects { projects: vec![project.clone()], next: Some(text()) };
    let status = daemon::Status {
        daemon: daemon.clone(),
        store: store.clone(),
        projects: vec![project.clone()],
        agents: Vec::new(),
        mail: message::MailStatus::default(),
        usage: Usage::default(),
    };
    vec![
        ("StoreNotice", json!(notice)),
        ("Project", json!(project)),
        ("Projects", json!(projects)),
        ("DaemonStatus", json!(daemon)),
        ("StoreStatus", json!(store)),
        ("Status", json!(status)),
        ("Stopping", json!(daemon::Stopping { pid: 7 })),
        ("Condition", json!(health::Condition::Healthy)),
        ("Part", json!(part)),
        ("Health", json!(health)),
        ("Problem", json!(problem)),
    ]
}

fn said_of_kinds() -> Vec<(&'static str, Value)> {
    let cannot = kind::Cannot { what: text(), why: text() };
    let kind = kind::Kind {
        name: text(),
        title: text(),
        program: None,
        version: Some(text()),
        tested: None,
        install: text(),
        file: None,
        witnesses: vec![text()],
        permissions: text(),
        can: vec![text()],
        cannot: vec![cannot.clone()],
    };
    let kinds = kind::Kinds { kinds: vec![kind.clone()], refused: vec![text()], next: None };
    vec![("Cannot", json!(cannot)), ("Kind", json!(kind)), ("Kinds", json!(kinds))]
}

fn said_of_agents() -> Vec<(&'static str, Value)> {
    let agent = agent::Agent {
        id: text(),
        name: text(),
        project: text(),
        role: text(),
        kind: text(),
        parent: None,
        intent: agent::Intent::Run,
        phase: agent::Phase::Idle,
        since: time(),
        until: Some(time()),
        reason: Some(text()),
        permanent: true,
        pid: Some(7),
        pane: Some(text()),
        run: Some(text()),
        session_id: None,
        cwd: text(),
        started_at: Some(time()),
        last_seen_at: None,
        queue: 0,
        usage: Usage { tokens: 3, cost_usd: Some(Dollars::from_nanos(7)), ..Usage::default() },
    };
    let new = agent::NewAgent {
        project: text(),
        name: text(),
        kind: text(),
        role: text(),
        task: Some(text()),
        cwd: None,
        args: vec![text()],
        env: [(text(), text())].into(),
        permanent: false,
    };
    vec![
        ("Agent", json!(agent)),
        ("Intent", json!(agent.intent)),
        ("Phase", json!(agent.phase)),
        ("Agents", json!(agent::Agents { agents: vec![agent], next: Some(text()) })),
        ("NewAgent", json!(new)),
    ]
}

fn said_of_terminals() -> Vec<(&'static str, Value)> {
    let register = agent::Register { pane: text(), name: text(), kind: text(), project: text() };
    let saying =
        why::Saying { witness: text(), says: text(), rule: Some(text()), line: None, at: time() };
    let why = why::Why {
        agent: text(),
        phase: agent::Phase::Busy,
        since: time(),
        reason: None,
        decided: Some(saying.clone()),
        sayings: vec![saying.clone()],
    };
    let typed = terminal::TerminalSaid { input: Some(text()), resize: None, restore: None };
    let terminal = terminal::Terminal { content: text(), cursor: [0, 1], size: [80, 24] };
    vec![
        ("Place", json!(agent::Place { server: text(), pane: text() })),
        ("Register", json!(register)),
        ("Saying", json!(saying)),
        ("Why", json!(why)),
        ("Terminal", json!(terminal)),
        ("TerminalTold", json!(terminal::TerminalTold::Size([80, 24]))),
        ("TerminalSaid", json!(terminal::TerminalSaid { restore: Some(true), ..typed })),
    ]
}

fn said_of_trust() -> Vec<(&'static str, Value)> {
    let file =
        trust::ProjectFile { path: text(), digest: text(), standing: trust::Standing::Changed };
    let trust = trust::Trust {
        project: text(),
        folder: true,
        files: vec![file.clone()],
        kind: None,
        supervisor: Some(false),
        refused: vec![text()],
    };
    let shown = trust::ShownFile { path: text(), digest: text() };
    let new = trust::NewTrust { files: vec![shown.clone()], folder: false };
    vec![
        ("Standing", json!(file.standing)),
        ("ProjectFile", json!(file)),
        ("Trust", json!(trust)),
        ("ShownFile", json!(shown)),
        ("NewTrust", json!(new)),
    ]
}

fn said_of_the_log() -> Vec<(&'static str, Value)> {
    let event = event::Event {
        id: 7,
        v: 1,
        at: time(),
        kind: text(),
        project: None,
        agent: Some(text()),
        run: None,
        subject: None,
        cause: None,
        actor: text(),
        data: json!({ "any": [1, null] }),
    };
    let events = event::Events {
        log: text(),
        events: vec![event.clone()],
        head: 7,
        archived_through: Some(3),
        scanned_from: Some(5),
        scanned_through: None,
    };
    let taken = hook::HookTaken { event: 7, duplicate: false, reply: hook::HookReply::Ask };
    vec![
        ("Event", json!(event)),
        ("Events", json!(events)),
        ("Notice", json!(event::Notice::Hello { log: text(), head: 7 })),
        ("Notice", json!(event::Notice::Reset)),
        ("HookReply", json!(hook::HookReply::Pass)),
        ("HookReply", json!(hook::HookReply::Block { why: text() })),
        ("HookTaken", json!(taken)),
        ("WebhookTaken", json!(webhook::WebhookTaken { event: 7, duplicate: false })),
    ]
}

fn said_of_the_store() -> Vec<(&'static str, Value)> {
    let misfit = store::Misfit { id: 7, why: text() };
    let audit = store::Audit {
        ok: false,
        log: Some(text()),
        events: 7,
        head: 7,
        anchors: 1,
        misfit: Some(misfit.clone()),
    };
    let check = store::Check { ok: false, problems: vec![text()], events: 7, bytes: 7 };
    let backup = store::Backup { file: text(), bytes: 7, sha256: text(), head: 7 };
    let archive = store::Archive { file: text(), through: 7, events: 7, sha256: text() };
    let restored = store::Restored { file: text(), log: text(), head: 7, replaced: None };
    vec![
        ("Misfit", json!(misfit)),
        ("Audit", json!(audit)),
        ("Check", json!(check)),
        ("Backup", json!(backup)),
        ("Archive", json!(archive)),
        ("Restored", json!(restored)),
    ]
}

fn said_of_doors() -> Vec<(&'static str, Value)> {
    let token = token::Token {
        id: text(),
        name: text(),
        scope: token::TokenScope::Operate,
        created_at: time(),
        expires_at: None,
        revoked_at: Some(time()),
    };
    let session = session::Session {
        id: text(),
        how: session::SessionHow::Link,
        opened_at: time(),
        expires_at: time(),
        current: true,
    };
    let who = who::Whoami {
        principal: who::Principal::Token,
        id: Some(text()),
        scopes: vec![token::TokenScope::Read],
    };
    let sessions = session::Sessions { sessions: vec![session.clone()], next: None };
    vec![
        ("Token", json!(token)),
        ("TokenScope", json!(token.scope)),
        ("Tokens", json!(token::Tokens { tokens: vec![token.clone()], next: None })),
        ("MadeToken", json!(token::MadeToken { token, secret: text() })),
        ("Link", json!(link::Link { url: text(), browser_url: text(), expires_at: time() })),
        ("Session", json!(session)),
        ("SessionHow", json!(session.how)),
        ("Sessions", json!(sessions)),
        ("Principal", json!(who.principal)),
        ("Whoami", json!(who)),
    ]
}

fn sent() -> Vec<(&'static str, Value)> {
    let token = token::NewToken {
        name: Some(text()),
        scope: token::TokenScope::Send,
        expires_in_s: Some(60),
    };
    let (hook, kind, event, payload) = (text(), text(), text(), text());
    let claim = hook::HookClaim { delivery: text(), outcome: hook::ClaimOutcome::Again };
    let (at, claim) = (time(), Some(claim));
    let hook = hook::NewHook { hook, kind, event, at, since_boot_ms: 7, payload, claim };
    vec![
        ("NewProject", json!(project::NewProject { root: text(), name: None })),
        ("Login", json!(session::Login { password: text() })),
        ("NewArchive", json!(store::NewArchive { file: text(), keep_days: 90 })),
        ("NewBackup", json!(store::NewBackup { file: text() })),
        ("NewToken", json!(token)),
        ("NewHook", json!(hook)),
        ("HookClaim", json!(hook.claim)),
        ("ClaimOutcome", json!(hook::ClaimOutcome::Claimed)),
        ("ClaimOutcome", json!(hook::ClaimOutcome::Blocked)),
    ]
}

fn text() -> String {
    "text".to_owned()
}

fn time() -> Time {
    Time::from_millis(1_763_240_400_007)
}

/// Returns how `value` does not fit `schema`. A word that this does not know is a misfit, too, so that
/// nothing goes unchecked.
fn misfit(schema: &Value, value: &Value, components: &Map<String, Value>) -> Option<String> {
    let Some(rules) = schema.as_object() else {
        return (schema != true).then(|| format!("nothing fits {schema}"));
    };
    let fits = |schema: &Value| misfit(schema, value, components).is_none();
    rules.iter().find_map(|(word, rule)| {
        let holds = match word.as_str() {
            "$ref" => {
                let name = rule.as_str()?.strip_prefix("#/components/schemas/").unwrap();
                return misfit(&components[name], value, components);
            }
            "type" => rule.as_array().unwrap_or(&vec![rule.clone()]).iter().any(|it| is(value, it)),
            "properties" => return properties(rule, value, components),
            "required" => {
                rule.as_array()?.iter().all(|it| value.get(it.as_str().unwrap()).is_some())
            }
            "additionalProperties" if rule != false => {
                return value.as_object()?.values().find_map(|it| misfit(rule, it, components));
            }
            "additionalProperties" => {
                value.as_object()?.keys().all(|name| schema["properties"].get(name).is_some())
            }
            "items" => {
                return value.as_array()?.iter().find_map(|it| misfit(rule, it, components));
            }
            "enum" => rule.as_array()?.contains(value),
            "const" => rule == value,
            "oneOf" => rule.as_array()?.iter().filter(|it| fits(it)).count() == 1,
            "anyOf" => rule.as_array()?.iter().any(fits),
            "minimum" => value.as_f64().is_none_or(|it| Some(it) >= rule.as_f64()),
            "maximum" => value.as_f64().is_none_or(|it| Some(it) <= rule.as_f64()),
            "format" if rule == "date-time" && value.is_string() => {
                serde_json::from_value::<Time>(value.clone()).is_ok()
            }
            "propertyNames" => {
                let mut names = value.as_object()?.keys();
                return names.find_map(|name| misfit(rule, &json!(name), components));
            }
            "minItems" => value.as_array().is_none_or(|it| Some(it.len() as u64) >= rule.as_u64()),
            "maxItems" => value.as_array().is_none_or(|it| Some(it.len() as u64) <= rule.as_u64()),
            "maxProperties" => {
                value.as_object().is_none_or(|it| Some(it.len() as u64) <= rule.as_u64())
            }
            "maxLength" => value.as_str().is_none_or(|it| Some(length(it)) <= rule.as_u64()),
            // Schemathesis holds the daemon to the patterns: to read them takes more than is here.
            "pattern" => rule.as_str()?.starts_with('^'),
            "format" | "description" | "default" => true,
            _ => false,
        };
        (!holds).then(|| format!("{value} does not fit {word}: {rule}"))
    })
}

fn properties(rules: &Value, value: &Value, components: &Map<String, Value>) -> Option<String> {
    rules.as_object()?.iter().find_map(|(name, rule)| misfit(rule, value.get(name)?, components))
}

fn length(text: &str) -> u64 {
    text.chars().count() as u64
}

fn is(value: &Value, kind: &Value) -> bool {
    match kind.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        kind => panic!("{kind} is new here"),
    }
}
