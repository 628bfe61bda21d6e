//! What is sent reaches the model whole, and it is known that it did.

use std::fs;

use cmux_core::digest::Digest;
use cmux_core::message::TYPED_MAX;
use cmux_testkit::model::directive::{Directive, directive};
use cmux_testkit::model::script::Script;
use cmux_wire::agent::Phase;
use cmux_wire::event::Event;
use cmux_wire::message::{Message, MessageState};
use cmux_wire::why::Why;

use super::{Confirms, Part, check_heard, heard, nobody_was_asked};
use crate::proof::{Shown, lacks, shown};
use crate::stage::{SUPERVISOR, Stage};

/// Messages of all sizes and alphabets arrive as they were sent.
pub(crate) fn arrives_whole(part: &Part) {
    let (stage, _) = part.supervised();
    let long = "0123456789abcde\n".repeat(TYPED_MAX / 16);
    assert_eq!(long.len(), TYPED_MAX);
    let mut sent = Vec::new();
    for body in [
        "Hello there.",
        "Several lines:\n\n    one that is indented,\n* a list,\n\nand an end.",
        "Grüße aus Zürich, 日本語のテキスト and 🍏.",
        &long,
    ] {
        let message = stage.tell(body);
        check_confirmed(part, &stage, &message);
        sent.push(message);
    }
    check_heard(&stage, &sent.iter().collect::<Vec<_>>());
    shown(&stage, part.kind(), Shown::Deliver);
    match part.confirms {
        Confirms::Hook(_) | Confirms::Api => shown(&stage, part.kind(), Shown::Confirm),
        Confirms::Screen => lacks(&stage, part.kind(), Shown::Confirm),
    }
}

/// A megabyte is a file that the model is told of.
pub(crate) fn long_is_a_file(part: &Part) {
    let (stage, _) = part.supervised();
    let body = "A line of a long message.\n".repeat((1 << 20) / 26);
    let message = stage.tell(&body);
    check_confirmed(part, &stage, &message);
    check_heard(&stage, &[&message]);
    let prompts = heard(&stage);
    let sha256 = Digest::of(body.as_bytes());
    assert!(prompts[0].contains(&sha256.hex()), "{prompts:?}");
    let file = prompts[0].lines().find(|line| line.starts_with('/')).unwrap();
    assert_eq!(Digest::of(&fs::read(file).unwrap()), sha256);
}

/// The supervisor launches a worker of its kind and has it change a file, and reads its report: all by tools that
/// their models call, and nobody is asked.
pub(crate) fn a_worker_reports(part: &Part) {
    let (stage, supervisor) = part.supervised();
    let file = stage.post.world.root.join("greeting.txt");
    fs::write(&file, "hello\n").unwrap();
    let launch = format!("cmux agent spawn helper --kind {} --role worker", part.kind());
    stage.tell(&format!("{}\n@@ say launched", (part.runs)(&launch)));
    stage.eventually("it is launched", || {
        let all = stage.post.world.agents();
        all["agents"].as_array()?.iter().find(|it| it["name"] == "helper").map(|_| ())
    });
    let helper = stage.in_phase("helper", Phase::Idle);
    assert_eq!((&*helper.kind, &helper.parent), (part.kind(), &Some(supervisor.id)));

    let send = (part.runs)("cmux send helper --kind task 'Change the greeting.'");
    let report = (part.runs)("cmux report done 'The greeting is changed.'");
    let work = format!("{}\n{report}\n@@ say finished", (part.edits)(&file, "hello", "goodbye"));
    stage.model.when("Change the greeting.", script(&work));
    stage.tell(&format!("Have it changed.\n{send}\n@@ say sent"));
    let told = stage.eventually("the supervisor is told", || {
        let is_report = |it: &&str| it.ends_with("\nDone: The greeting is changed.");
        stage.model.look(|visits| {
            let mut prompts = visits.iter().flat_map(|it| it.asked.prompts());
            prompts.find(is_report).map(str::to_owned)
        })
    });
    assert!(told.contains(" from helper · response · "), "{told}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "goodbye\n");
    let task = prompt_with(&stage, "\nChange the greeting.");
    assert!(task.contains(" from supervisor · task · "), "{task}");

    let mine = format!("{}\n@@ say told", (part.runs)("cmux report status 'all is well'"));
    stage.tell(&mine);
    stage.eventually("the person is told", || {
        let inbox = stage.told(&["inbox", "--keep"]);
        inbox["messages"].as_array()?.iter().find(|it| it["body"] == "all is well").map(|_| ())
    });
    nobody_was_asked(&stage);
}

/// Where nothing is typed, it does not matter what its screen shows: OpenCode writes warnings over its own.
pub(crate) fn arrives_behind_a_spoilt_screen(part: &Part) {
    let (stage, supervisor) = part.supervised();
    let pane = supervisor.pane.as_deref().unwrap();
    let terminal = stage.post.world.at_tmux(&["display-message", "-p", "-t", pane, "#{pane_tty}"]);
    let spoilt = "\x1b[2J\x1b[HWarning: something is wrong here\r\n".to_owned();
    fs::write(terminal.trim(), spoilt).unwrap();
    stage.eventually("cmux does not know its screen", || {
        let why: Why = serde_json::from_value(stage.told(&["agent", "why", SUPERVISOR])).unwrap();
        let mut sayings = why.sayings.iter();
        let of_screen = sayings.find(|it| it.witness == "screen");
        of_screen.is_none_or(|it| it.rule.is_none()).then_some(())
    });
    let is_spoilt = || stage.screen(SUPERVISOR).contains("something is wrong here");
    assert!(is_spoilt(), "{}", stage.screen(SUPERVISOR));
    let message = stage.tell("Can you hear me?");
    check_confirmed(part, &stage, &message);
    check_heard(&stage, &[&message]);
}

/// Checks that the CLI itself has confirmed a message, and then that it was used. A slow one may have had to be given
/// it more than once.
#[track_caller]
fn check_confirmed(part: &Part, stage: &Stage, message: &Message) {
    assert_eq!(message.state, MessageState::Delivered, "{}", stage.post.told());
    let evidence = message.evidence.as_deref().unwrap_or_default();
    let events = stage.post.world.events();
    let is_delivered =
        |it: &&Event| it.kind == "message.delivered" && it.data["message"] == message.id.as_str();
    let delivered = events.iter().find(is_delivered).unwrap();
    match part.confirms {
        Confirms::Hook(name) => {
            assert!(["transcript", "turn"].contains(&evidence), "{message:?} by {evidence:?}");
            // A transcript may tell of it so soon that it is never seen to be claimed and nothing more.
            let hook = events.iter().filter(|it| it.kind == "hook.received").find(|it| {
                let claim = &it.data["claim"];
                claim["outcome"] == "claimed" && claim["delivery"] == delivered.data["delivery"]
            });
            let hook = hook.unwrap_or_else(|| panic!("nobody claimed {message:?}"));
            assert!(hook.data["name"] == name && hook.id < delivered.id, "{hook:?}");
        }
        Confirms::Api => assert_eq!(evidence, "answer", "{message:?}"),
        Confirms::Screen => assert_eq!(evidence, "screen", "{message:?}"),
    }
    assert_eq!(delivered.data["evidence"], evidence);
}

/// Returns what a text has a model do.
#[track_caller]
fn script(text: &str) -> Script {
    match directive(text) {
        Some(Directive::Turns(script)) => script,
        other => panic!("{text}: {other:?}"),
    }
}

/// Returns the prompt that ends like this, which a model was asked.
#[track_caller]
fn prompt_with(stage: &Stage, end: &str) -> String {
    stage.model.look(|visits| {
        let mut prompts = visits.iter().flat_map(|it| it.asked.prompts());
        prompts.find(|it| it.ends_with(end)).map(str::to_owned).unwrap()
    })
}
