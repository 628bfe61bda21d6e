//! What agents use is counted once, whatever is killed, and told with the turns in which they used it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use cmux_testkit::wait::eventually;
use cmux_wire::agent::{Agent, Phase};
use cmux_wire::message::{History, Message, MessageState, Moment, NewMessage};
use cmux_wire::turn::{Turn, TurnEnd};
use serde_json::{Value, json};

use crate::world::{World, kill};

#[test]
fn each_turn_is_told_with_what_began_it_what_was_called_and_what_it_took() {
    let world = furnished();
    let agent = launch(&world, "worker");
    let (first, second) = (send(&world, "worker", "hello"), send(&world, "worker", "call it"));
    let agent = counted(&world, &agent);
    let turns = turns(&world, "worker", 2);
    for (turn, message, tools) in [(&turns[0], &second, vec!["Bash"]), (&turns[1], &first, vec![])]
    {
        assert_eq!((turn.how, &turn.messages), (Some(TurnEnd::Done), &vec![message.id.clone()]));
        assert_eq!(
            (turn.tools.clone(), turn.calls),
            (tools.iter().map(|it| (*it).to_owned()).collect(), tools.len() as u64)
        );
        assert!(turn.usage.tokens > 0 && turn.ended_at.is_some(), "{turn:?}");
    }
    assert_eq!(turns[0].usage.plus(turns[1].usage), agent.usage);
    assert_eq!(world.events_of("turn.started").len(), 2);
    assert_eq!(world.events_of("turn.ended").len(), 2);
    let tools = world.events_of("tool.used");
    assert_eq!(tools.len(), 1, "{tools:?}");
    assert_eq!(tools[0].data["tool"], "Bash");
    // What was told as it was read comes to the same.
    let told: u64 = world
        .events_of("agent.used")
        .iter()
        .map(|event| event.data["more"]["tokens"].as_u64().unwrap())
        .sum();
    assert_eq!(told, agent.usage.tokens);
    let shown = world.home.run(&["agent", "show", "worker", "--project", &world.project]).stdout;
    assert!(shown.contains(" tokens, "), "{shown}");
}

#[test]
fn nothing_is_counted_twice_or_lost_whatever_is_killed() {
    let mut world = furnished();
    let agent = launch(&world, "worker");
    send(&world, "worker", "hello");
    world.reborn();
    send(&world, "worker", "call it");
    subagent(&world, &agent, "a1", 1000);
    let before = counted(&world, &agent);
    // Its next life goes on with the same conversation.
    kill(world.cli(before.pid.unwrap()));
    let back = world.back(&before);
    assert_eq!(back.session_id, before.session_id);
    send(&world, "worker", "and again");
    counted(&world, &agent);
    // What it used while no daemon ran, and what is in a copy, too.
    world.daemon.take().unwrap().kill();
    subagent(&world, &agent, "a2", 2000);
    let copy = transcript(&world, &agent);
    fs::write(folder(&world, &agent).join("agent-copy.jsonl"), copy).unwrap();
    world.daemon = Some(world.home.daemon());
    counted(&world, &agent);
    // What it used last is counted when it has ended.
    subagent(&world, &agent, "a3", 4000);
    world.have("worker", "stop");
    world.in_phase("worker", Phase::Offline);
    counted(&world, &agent);
    world.reborn();
    let last = counted(&world, &agent);
    assert!(last.usage.tokens > 7000, "{:?}", last.usage);
    let turns = turns(&world, "worker", 3);
    assert!(turns.iter().all(|turn| turn.how == Some(TurnEnd::Done)), "{turns:?}");
}

#[test]
fn a_turn_that_is_stopped_or_dies_is_told_as_such() {
    let world = furnished();
    launch(&world, "worker");
    send(&world, "worker", "take your time");
    world.in_phase("worker", Phase::Busy);
    world.have("worker", "interrupt");
    world.in_phase("worker", Phase::Idle);
    let how = |number: usize| move |turns: &[Turn]| turns[0].how.filter(|_| turns.len() == number);
    let told = eventually("it is told to be over", || how(1)(&all_turns(&world, "worker")));
    assert_eq!(told, TurnEnd::Interrupted);
    send(&world, "worker", "take your time");
    let busy = world.wait("worker", "busy", |agent| agent.phase == Phase::Busy);
    kill(world.cli(busy.pid.unwrap()));
    let told = eventually("it is told to be over", || how(2)(&all_turns(&world, "worker")));
    assert_eq!(told, TurnEnd::Died);
    assert_eq!(world.events_of("turn.ended").len(), 2);
}

/// Returns a daemon whose user says what the demo's model costs.
fn furnished() -> World {
    World::furnished(|home| {
        let prices = "[prices.demo]\ninput = 1\noutput = 2\n";
        let file = home.root().join("config.toml");
        let known = fs::read_to_string(&file).unwrap_or_default();
        fs::write(file, format!("{known}\n{prices}")).unwrap();
    })
}

/// Launches an agent that calls a tool when it is told to.
fn launch(world: &World, name: &str) -> Agent {
    let script = json!({ "rules": [
        { "when": { "contains": "call it" }, "steps": [
            { "tool": { "name": "Bash", "input": { "command": "true" }, "ask": false } },
            { "say": "called" },
        ]},
        { "when": { "contains": "take your time" }, "steps": [{ "think_ms": 600_000 }] },
        { "steps": [{ "think_ms": 10 }, { "say": "ok" }] },
    ]});
    let file = world.home.folder("scripts").join(format!("{name}.json"));
    fs::write(&file, script.to_string()).unwrap();
    world.spawn_as(name, &json!({ "env": { "CMUX_DEMO_SCRIPT": file } }));
    world.in_phase(name, Phase::Idle)
}

/// Sends a message, and waits until it is read and its reader at rest, or at work for long.
#[track_caller]
fn send(world: &World, to: &str, body: &str) -> Message {
    let new = json!({ "to": to, "body": body, "project": world.project });
    let new: NewMessage = serde_json::from_value(new).unwrap();
    let sent = world.home.ask(|client| async move { client.send_message(&new).await }).unwrap();
    let read = eventually("it is read", || {
        let id = sent.id.clone();
        let message = world.home.ask(|client| async move { client.message(&id).await }).unwrap();
        (message.state == MessageState::Delivered).then_some(message)
    });
    if !body.contains("take your time") {
        world.wait(to, "at rest", |agent| agent.phase == Phase::Idle && agent.queue == 0);
    }
    read
}

/// Waits until as much is counted for an agent as its CLI wrote down.
#[track_caller]
fn counted(world: &World, agent: &Agent) -> Agent {
    world.wait(&agent.name, "counted", |it| {
        let (input, output) = written(world, agent);
        let cost = it.usage.cost_usd.map(cmux_wire::usage::Dollars::nanos);
        (it.usage.input_tokens, it.usage.output_tokens) == (input, output)
            && cost == Some(1_000 * input + 2_000 * output)
            && it.usage.unpriced_tokens == 0
    })
}

/// Returns how many tokens an agent's CLI wrote down, each answer once.
fn written(world: &World, agent: &Agent) -> (u64, u64) {
    let files = fs::read_dir(folder(world, agent)).unwrap().map(|file| file.unwrap().path());
    let texts = files.map(|file| fs::read_to_string(file).unwrap());
    let mut all: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for text in texts.chain([transcript(world, agent)]) {
        for record in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let usage = &record["message"]["usage"];
            if let (Some(input), Some(id)) =
                (usage["input_tokens"].as_u64(), record["message"]["id"].as_str())
            {
                all.insert(id.to_owned(), (input, usage["output_tokens"].as_u64().unwrap()));
            }
        }
    }
    all.values().fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1))
}

fn transcript(world: &World, agent: &Agent) -> String {
    let session = agent.session_id.as_ref().unwrap();
    fs::read_to_string(state(world, agent).join(format!("{session}.jsonl"))).unwrap()
}

/// Has a subagent write down that it used so much.
fn subagent(world: &World, agent: &Agent, id: &str, input: u64) {
    let usage = json!({ "input_tokens": input, "output_tokens": 1 });
    let message = json!({ "id": format!("msg_{id}"), "model": "demo", "usage": usage });
    let record = json!({ "type": "assistant", "isSidechain": true, "message": message });
    // Once for each part of what it said.
    let text = format!("{record}\n{record}\n");
    fs::write(folder(world, agent).join(format!("agent-{id}.jsonl")), text).unwrap();
}

fn folder(world: &World, agent: &Agent) -> PathBuf {
    let session = agent.session_id.as_ref().unwrap();
    let folder = state(world, agent).join(session).join("subagents");
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn state(world: &World, agent: &Agent) -> PathBuf {
    world.home.root().join("agents-state").join(&agent.id)
}

/// Returns an agent's turns, the newest first, once there are so many and all are over.
#[track_caller]
fn turns(world: &World, name: &str, number: usize) -> Vec<Turn> {
    eventually("its turns are over", || {
        let turns = all_turns(world, name);
        let is_over = turns.len() == number && turns.iter().all(|turn| turn.ended_at.is_some());
        is_over.then_some(turns)
    })
}

fn all_turns(world: &World, name: &str) -> Vec<Turn> {
    let (name, project) = (name.to_owned(), world.project.clone());
    let history: History = world
        .home
        .ask(|client| async move { client.history(&name, Some(&project), None).await })
        .unwrap();
    let turn = |moment| match moment {
        Moment::Turn(turn) => Some(*turn),
        Moment::Message(_) => None,
    };
    history.history.into_iter().filter_map(turn).collect()
}
