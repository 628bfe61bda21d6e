//! How cmux does: samples that come by themselves, to those who may know.

use std::io::{BufReader, Read};

use cmux_testkit::wait::eventually;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::house::House;
use crate::knock::{Answer, Line, Request};

#[test]
fn samples_come_every_few_seconds_and_are_kept() {
    let house = House::new();
    let cookie = house.cookie();
    let first = house.get("/api/vitals");
    assert_eq!((&first["every_ms"], &first["health"]["status"]), (&json!(5000), &json!("healthy")));
    let ask = |path: &str, secret: &str| Request::get(path).for_websocket().with_token(secret);
    let read = house.token("read", None).secret;
    let mut quiet = follow(&house, &ask("/api/ws", &read));
    let browser = Request::get("/api/ws?vitals=true").for_websocket();
    let browser = browser.with("Cookie", &cookie).with("Origin", &house.origin());
    let mut lines = [follow(&house, &ask("/api/ws?vitals=true", &read)), follow(&house, &browser)];
    house.projects(3);
    for line in &mut lines {
        let told = until_vitals(line);
        let (sample, health) = (&told["sample"], &told["health"]);
        assert_eq!((&sample["status"], &health["status"]), (&json!("healthy"), &json!("healthy")));
        for size in ["rss_bytes", "store_bytes", "free_bytes", "memory_available_bytes"] {
            assert!(sample[size].as_u64().unwrap() > 1 << 12, "{size}: {sample}");
        }
        let kept = house.get("/api/vitals");
        let is_kept = kept["samples"].as_array().unwrap().contains(sample);
        assert!(is_kept, "{sample} is not in {kept}");
    }
    let counted = eventually("what happened is counted", || {
        let kept = house.get("/api/vitals")["samples"].as_array().unwrap().clone();
        let count = |name: &str| kept.iter().map(|it| it[name].as_u64().unwrap()).sum::<u64>();
        (count("events") >= 3).then(|| (count("restarts"), count("agents"), kept.len()))
    });
    assert_eq!((counted.0, counted.1), (0, 0));
    // Who did not ask is told of nothing but the log.
    house.projects(4);
    let last = loop {
        let told = next(&mut quiet);
        assert_ne!(told["kind"], "vitals", "{told}");
        if told["data"].to_string().contains("project-3") {
            break told;
        }
    };
    assert_eq!(last["kind"], "project.added");
}

#[test]
fn agents_are_not_told_how_cmux_does() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    let agent = Agent::of(&project);
    let house = agent.enter(house, false);
    let as_agent = |request: Request| request.with_token(agent.secret);
    let requests = [
        as_agent(Request::get("/api/vitals")),
        as_agent(Request::get("/api/ws?vitals=true").for_websocket()),
    ];
    for answer in agent.ask(&house, &house.socket(), &requests) {
        assert_eq!((answer.status, answer.problem().as_str()), (403, "not-allowed"));
    }
    let bad = house.socket().ask(&Request::get("/api/ws?vitals=perhaps").for_websocket());
    assert_eq!(bad.status, 400, "{bad:?}");
}

type Following = BufReader<Box<dyn Line>>;

/// Begins to follow the log.
#[track_caller]
fn follow(house: &House, request: &Request) -> Following {
    let mut line = house.port().open();
    line.write_all(&request.bytes(&house.port().host())).unwrap();
    let mut line = BufReader::new(line);
    assert_eq!(Answer::read(&mut line).unwrap().status, 101);
    line
}

#[track_caller]
fn until_vitals(line: &mut Following) -> Value {
    loop {
        let told = next(line);
        if told["kind"] == "vitals" {
            return told;
        }
    }
}

/// Returns what is told next in a frame of text.
#[track_caller]
fn next(line: &mut Following) -> Value {
    loop {
        let mut head = [0; 2];
        line.read_exact(&mut head).unwrap();
        let length = match head[1] & 0x7f {
            126 => {
                let mut length = [0; 2];
                line.read_exact(&mut length).unwrap();
                u64::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                line.read_exact(&mut length).unwrap();
                u64::from_be_bytes(length)
            }
            length => u64::from(length),
        };
        let mut body = vec![0; usize::try_from(length).unwrap()];
        line.read_exact(&mut body).unwrap();
        if head[0] & 0x0f == 1 {
            return serde_json::from_slice(&body).unwrap();
        }
    }
}
