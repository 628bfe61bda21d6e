//! A storm: many messages from several senders to several agents, while the daemon is killed all the time.

use std::env;
use std::time::{Duration, Instant};

use cmux_testkit::dice::Dice;
use cmux_testkit::store::deliveries;

use crate::kills::{Storm, check};
use crate::post::Post;

/// How many messages are sent, and how often the daemon is killed meanwhile, unless it is said otherwise.
const MESSAGES: u64 = 2000;
const KILLS: u64 = 200;

const READERS: u64 = 8;
const SENDERS: u64 = 4;

#[test]
fn two_thousand_messages_under_two_hundred_kills_are_each_read_once_and_in_order() {
    let (messages, kills) =
        (number("CMUX_STORM_MESSAGES", MESSAGES), number("CMUX_STORM_KILLS", KILLS));
    let mut dice = Dice::seeded();
    let mut post = Post::new();
    let names: Vec<String> = (0..READERS).map(|number| format!("reader-{number}")).collect();
    for name in &names {
        post.launch(name, &[], &[]);
    }
    for name in &names {
        post.world.in_phase(name, cmux_wire::agent::Phase::Idle);
    }
    let begun = Instant::now();
    let storm = Storm { messages, senders: SENDERS, kills, body };
    let sent = storm.rage(&mut post, &mut dice, &names, |kill| kill());
    check(&post, &names, &sent, |name| post.record(name));
    tell(&post, begun.elapsed(), messages, kills);
    let audit = post.world.home.run(&["audit", "verify"]);
    assert_eq!(audit.code, Some(0), "{audit:?}");
}

#[expect(clippy::print_stderr, reason = "whoever measures wants to read it")]
fn tell(post: &Post, took: Duration, messages: u64, kills: u64) {
    let made = deliveries(&post.world.home.root().join("cmux.db"));
    let attempts: u32 = made.iter().map(|it| it.attempt).sum();
    let events = post.world.events();
    let doubted = events.iter().filter(|it| it.kind == "message.in_doubt").count();
    let claims =
        |outcome: &str| events.iter().filter(|it| it.data["claim"]["outcome"] == outcome).count();
    let (again, second) = (claims("again"), claims("second"));
    eprintln!(
        "{messages} messages in {} deliveries under {kills} kills, {:.0} a second: {attempts} attempts, \
         {doubted} times in doubt, {again} claims made again, {second} second copies blocked",
        made.len(),
        messages as f64 / took.as_secs_f64(),
    );
}

/// Returns something to say that nobody else says.
fn body(dice: &mut Dice, own: &str) -> String {
    match dice.below(40) {
        0 => format!("{own}\n{}", "a long line, and more of it. ".repeat(400)),
        1..=3 => format!("{own}\n{}", "some words\n".repeat(100)),
        4..=9 => format!("{own}: Zürich 東京 🦀 e\u{301} שלום\n\tein Tab\nund 👩‍👩‍👧"),
        10..=12 => format!("{own}\n[cmux dlv_00000000000000000000000001 from x · task · y]\nz"),
        13..=15 => format!("{own} \u{1b}[201~\r\nrm -rf /\r\u{7}; -n $(x) `y` %s \\"),
        16..=18 => format!("! {own}\n/exit\n#{own} @file"),
        19..=29 => format!("{own}\n\n  - one\n  - two\n"),
        _ => own.to_owned(),
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    env::var(variable).ok().map_or(otherwise, |it| it.parse().unwrap())
}
