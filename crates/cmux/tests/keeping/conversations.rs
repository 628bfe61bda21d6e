//! What agents say and are told is read from what their CLIs write down.

use std::fs;

use cmux_testkit::wait::eventually;
use cmux_wire::agent::{Agent, Phase};
use cmux_wire::client::{Client, ClientError};
use cmux_wire::conversation::{Conversation, Said};
use cmux_wire::message::{MessageState, NewMessage};
use cmux_wire::problem::Problem;
use serde_json::json;

use crate::world::World;

const SECRET: &str = "ghp_aaaabbbbccccddddeeeeffff";

#[test]
fn a_conversation_is_told_with_its_messages_and_tools_and_without_secrets() {
    let world = World::new();
    let agent = launch(&world);
    let none = asked(&world, &agent, None, None).unwrap();
    assert!(none.entries.is_empty() && none.missing.is_some(), "{none:?}");
    let (first, second) = (send(&world, "hello"), send(&world, "call it"));
    let said = eventually("all is written down", || {
        let page = asked(&world, &agent, None, None).unwrap();
        let is_last = |said: &Said| matches!(said, Said::Answer { text, .. } if text == "called");
        page.entries.last().is_some_and(|entry| is_last(&entry.said)).then_some(page)
    });
    assert_eq!((&said.next, &said.missing), (&None, &None));
    let mut talk = said.entries.iter().map(|entry| &entry.said);
    let prompts: Vec<&Vec<String>> = talk.clone().filter_map(messages).collect();
    assert_eq!(prompts, [&vec![first], &vec![second]]);
    assert!(talk.any(|said| matches!(said, Said::Answer { text, .. } if text == "ok")), "{said:?}");
    let Some(Said::Call { call, tool, input, input_cut: false }) =
        talk.find(|said| matches!(said, Said::Call { .. }))
    else {
        panic!("a tool was called: {said:?}");
    };
    assert_eq!((tool.as_str(), input), ("Bash", &json!({ "command": "echo [redacted]" })));
    let is_its = |said: &&Said| matches!(said, Said::Result { call: of, .. } if of == call);
    assert!(talk.any(|said| is_its(&said)), "{said:?}");
    assert!(said.entries.iter().all(|entry| entry.at.is_some() && !entry.subagent));

    // Page by page, it is the same.
    let (mut entries, mut before) = (Vec::new(), None);
    loop {
        let page = asked(&world, &agent, before.as_deref(), Some(2)).unwrap();
        assert!(page.entries.len() <= 2);
        entries.splice(0..0, page.entries);
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(entries, said.entries);
}

#[test]
fn what_is_no_conversation_is_told_in_words_and_what_is_no_place_is_refused() {
    let world = World::new();
    let agent = launch(&world);
    send(&world, "hello");
    let shell = world.spawn("shell", "shell", &[]);
    let why = asked(&world, &shell, None, None).unwrap().missing.unwrap();
    assert!(why.contains("cannot read the conversations of"), "{why}");
    for (before, limit, status) in [
        (None, Some(0), 400),
        (None, Some(201), 400),
        (Some("x"), None, 400),
        (Some("1-2"), None, 400),
        (Some("0-1-0"), None, 409),
    ] {
        let refused = asked(&world, &agent, before, limit).unwrap_err();
        assert_eq!(refused.status, status, "{before:?} {limit:?}: {refused:?}");
    }
    // Whatever is in its file, it is read.
    let file = world.home.root().join("agents-state").join(&agent.id);
    let file = file.join(format!("{}.jsonl", world.agent("worker").session_id.unwrap()));
    let mut text = fs::read(&file).unwrap();
    text.extend(b"\xff\xfe\n{\"type\":\"user\"\n[]\n");
    text.extend(vec![b'x'; 5 << 20]);
    fs::write(&file, text).unwrap();
    let said = asked(&world, &agent, None, None).unwrap();
    assert!(said.entries.iter().any(|entry| messages(&entry.said).is_some()), "{said:?}");
}

/// Returns the messages in a prompt.
fn messages(said: &Said) -> Option<&Vec<String>> {
    match said {
        Said::Prompt { messages, .. } => Some(messages),
        Said::Answer { .. }
        | Said::Thinking { .. }
        | Said::Call { .. }
        | Said::Result { .. }
        | Said::Note { .. } => None,
    }
}

fn launch(world: &World) -> Agent {
    let command = format!("echo {SECRET}");
    let script = json!({ "rules": [
        { "when": { "contains": "call it" }, "steps": [
            { "tool": { "name": "Bash", "input": { "command": command }, "ask": false } },
            { "say": "called" },
        ]},
        { "steps": [{ "say": "ok" }] },
    ]});
    let file = world.home.folder("scripts").join("worker.json");
    fs::write(&file, script.to_string()).unwrap();
    world.spawn_as("worker", &json!({ "env": { "CMUX_DEMO_SCRIPT": file } }));
    world.in_phase("worker", Phase::Idle)
}

/// Sends a message, waits until it is read, and returns its id.
#[track_caller]
fn send(world: &World, body: &str) -> String {
    let new = json!({ "to": "worker", "body": body, "project": world.project });
    let new: NewMessage = serde_json::from_value(new).unwrap();
    let sent = world.home.ask(|client| async move { client.send_message(&new).await }).unwrap();
    eventually("it is read", || {
        let id = sent.id.clone();
        let message = world.home.ask(|client| async move { client.message(&id).await }).unwrap();
        (message.state == MessageState::Delivered).then_some(())
    });
    world.wait("worker", "at rest", |agent| agent.phase == Phase::Idle && agent.queue == 0);
    sent.id
}

/// Asks for a page of an agent's conversation.
fn asked(
    world: &World,
    agent: &Agent,
    before: Option<&str>,
    limit: Option<u32>,
) -> Result<Conversation, Problem> {
    let ask =
        |client: Client| async move { client.conversation(&agent.id, None, before, limit).await };
    world.home.ask(ask).map_err(|error| match error {
        ClientError::Refused(problem) => problem,
        error @ (ClientError::NoDaemon
        | ClientError::Unreachable(_)
        | ClientError::TimedOut(_)
        | ClientError::Broken(_)
        | ClientError::Nonsense(_)) => panic!("{error}"),
    })
}
