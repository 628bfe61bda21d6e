//! What cmux typed, as it comes by its agent's hook: once, whatever is killed, and with no daemon at all.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use cmux_core::delivery::{Delivery, DeliveryState, Ticket, delivery_of};
use cmux_core::id::DeliveryId;
use cmux_core::time::Timestamp;
use cmux_drivers::claims::{Claims, TicketText};
use cmux_drivers::home::Home;
use cmux_drivers::process::Process;
use cmux_drivers::spool::Spool;
use cmux_drivers::typing_lock;
use cmux_testkit::disk::SmallDisk;
use cmux_testkit::home::{Ran, TestHome};
use cmux_testkit::wait::eventually;
use serde_json::{Value, json};

use crate::PROGRAM;
use crate::yard::{RUN, TOKEN, Yard};

#[test]
fn one_copy_goes_on_and_the_next_is_held_back_without_a_daemon() {
    let home = home();
    let claims = lay(&home.root(), 1);
    check(&hook(&home, 1), None);
    assert_eq!(claims.state(id(1)).unwrap(), Ticket::Claimed);
    check(&hook(&home, 1), Some("was submitted before"));
    claims.give_back(id(1)).unwrap();
    check(&hook(&home, 1), None);
    claims.give_back(id(1)).unwrap();
    claims.void(id(1)).unwrap();
    check(&hook(&home, 1), Some("was taken back"));
    // Another message, which is nobody's any more.
    check(&hook(&home, 2), None);
    let told = ["claimed", "second", "claimed", "blocked"].map(|it| json!(it));
    assert_eq!(outcomes(&home.root()), [&told[..], &[Value::Null]].concat());
}

#[test]
fn two_hooks_at_once_and_one_gets_it_two_hundred_times() {
    const ROUNDS: usize = 200;
    let home = home();
    for n in 0..ROUNDS {
        lay(&home.root(), n);
    }
    thread::scope(|scope| {
        for lane in 0..4 {
            let home = &home;
            scope.spawn(move || {
                for n in (lane..ROUNDS).step_by(4) {
                    let both = [start(home), start(home)].map(|child| end(child, &prompt(n)));
                    let passed = both.iter().filter(|ran| ran.stdout.is_empty()).count();
                    assert_eq!(passed, 1, "{both:?}");
                }
            });
        }
    });
}

#[test]
fn whoever_is_killed_at_a_claim_has_it_or_does_not_and_no_second_copy_gets_by() {
    for (place, ticket) in [
        ("claim.before", Ticket::Open),
        ("claim.renamed", Ticket::Claimed),
        ("claim.done", Ticket::Claimed),
        ("hook.answer", Ticket::Claimed),
    ] {
        let home = home();
        let claims = lay(&home.root(), 1);
        let mut command = command(home.command(&WORDS), &home.root());
        let child = command.env("CMUX_FAILPOINT", place).spawn().unwrap();
        let ran = end(child, &prompt(1));
        assert_eq!((ran.code, ran.stdout.as_str()), (None, ""), "{place}: it was not killed");
        assert_eq!(claims.state(id(1)).unwrap(), ticket, "{place}");
        let second = (ticket == Ticket::Claimed).then_some("was submitted before");
        check(&hook(&home, 1), second);
        if ticket == Ticket::Claimed {
            assert!(claims.give_back(id(1)).unwrap());
            check(&hook(&home, 1), None);
        }
    }
}

#[test]
fn what_cannot_be_put_on_the_disk_is_held_back() {
    let disk = SmallDisk::new(PROGRAM, 4 << 20);
    let inner = disk.inner_root();
    let claims = lay(&disk.root(), 1);
    disk.remount("ro");
    let ran = end(command(disk.command(&WORDS), &inner).spawn().unwrap(), &prompt(1));
    check(&ran, Some("could not be claimed"));
    disk.remount("rw");
    // To take a ticket needs no room.
    disk.fill(0);
    let ran = end(command(disk.command(&WORDS), &inner).spawn().unwrap(), &prompt(1));
    check(&ran, None);
    assert_eq!(claims.state(id(1)).unwrap(), Ticket::Claimed);
}

#[test]
fn a_folder_that_cannot_be_synced_holds_it_back() {
    let home = home();
    let claims = lay(&home.root(), 1);
    let mut strace = Command::new("strace");
    home.equip(&mut strace);
    strace.args(["-f", "-o", "/dev/null", "-e", "inject=fsync:error=EIO"]).arg(PROGRAM).args(WORDS);
    let ran = end(command(strace, &home.root()).spawn().unwrap(), &prompt(1));
    check(&ran, Some("could not be claimed"));
    // It is taken all the same, and whoever typed it gives it back.
    assert_eq!(claims.state(id(1)).unwrap(), Ticket::Claimed);
}

#[test]
fn what_a_person_says_passes_and_what_is_mixed_with_it_does_not() {
    for (text, why) in [
        (format!("{} Thanks!", text(1)), Some("there is more in this prompt")),
        (format!("Thanks! {}", text(1)), Some("there is more in this prompt")),
        (format!("What is {}?", &text(1)[..40]), None),
        (text(1).replace("hello", "hullo"), None),
        ("hello".to_owned(), None),
    ] {
        let home = home();
        let claims = lay(&home.root(), 1);
        let ran = end(start(&home), &json!({ "session_id": "s", "prompt": text }));
        check(&ran, why);
        assert_eq!(claims.state(id(1)).unwrap(), Ticket::Open, "{text}");
    }
}

#[test]
fn a_cli_that_nothing_was_typed_to_claims_nothing() {
    let home = home();
    let mut cat = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let claims = Claims::at(home.root().join("claims"));
    let process = Process::find(cat.id()).unwrap();
    claims.lay(&TicketText::of(&delivery(1), process, true)).unwrap();
    check(&hook(&home, 1), None);
    let claims = lay(&home.root(), 2);
    let mut other = command(home.command(&WORDS), &home.root());
    other.env("CMUX_RUN", "run_01JYYYYYYYYYYYYYYYYYYYYYYY");
    check(&end(other.spawn().unwrap(), &prompt(2)), None);
    for n in 1..=2 {
        assert_eq!(claims.state(id(n)).unwrap(), Ticket::Open);
    }
    cat.kill().unwrap();
    cat.wait().unwrap();
}

#[test]
fn the_log_tells_what_was_held_back_and_nobody_is_busy_with_it() {
    let yard = Yard::new();
    lay(&yard.home.root(), 1);
    let payload = prompt(1);
    yard.tell("UserPromptSubmit", &payload);
    let told = yard.heard(1);
    let claim = |outcome: &str| json!({ "delivery": id(1).to_string(), "outcome": outcome });
    assert_eq!((&told[0]["means"], &told[0]["claim"]), (&json!("prompted"), &claim("claimed")));
    yard.is("busy");
    yard.tell("Stop", &json!({ "session_id": "s" }));
    yard.heard(2);
    yard.is("idle");
    check(&yard.hook("UserPromptSubmit", &payload), Some("was submitted before"));
    let told = yard.heard(3);
    assert_eq!((&told[2]["means"], &told[2]["claim"]), (&json!("notice"), &claim("second")));
    assert_eq!((yard.phase().as_str(), &told[1]["claim"]), ("idle", &Value::Null));
}

#[test]
fn what_comes_before_a_dialog_waits_while_cmux_types_and_not_for_ever() {
    let home = home();
    let lock = Home::at(home.root()).typing_lock(RUN);
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    for (n, event) in ["PreToolUse", "PermissionRequest"].into_iter().enumerate() {
        let held = typing_lock::hold(&lock).unwrap();
        let mut hook =
            command(home.command(&["hook", "demo", event]), &home.root()).spawn().unwrap();
        let _ = hook.stdin.take().unwrap().write_all(br#"{"session_id":"s","tool_name":"Bash"}"#);
        eventually("it waits", || is_open(hook.id(), &lock).then_some(()));
        assert_eq!(outcomes(&home.root()).len(), 2 * n + 1, "what it knows is told first");
        drop(held);
        check(&hook.wait_with_output().unwrap().into(), None);
        // Nobody types for so long as this one would have to wait.
        let held = typing_lock::hold(&lock).unwrap();
        let ran = end(
            command(home.command(&["hook", "demo", event]), &home.root()).spawn().unwrap(),
            &json!({ "session_id": "s", "tool_name": "Bash" }),
        );
        check(&ran, None);
        drop(held);
    }
}

const WORDS: [&str; 3] = ["hook", "demo", "UserPromptSubmit"];

/// Checks that a hook lets a prompt through, or holds it back and says why.
#[track_caller]
fn check(ran: &Ran, held_back: Option<&str>) {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let said: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
    match held_back {
        None => assert_eq!(ran.stdout, "", "{ran:?}"),
        Some(why) => {
            let told = said["reason"].as_str().unwrap_or_default();
            assert!(said["decision"] == "block" && told.contains(why), "{ran:?}");
        }
    }
}

/// Returns a home where no daemon runs.
fn home() -> TestHome {
    TestHome::new(PROGRAM)
}

/// Lays the ticket of a delivery to whatever is below this process, and returns the claims of the home.
fn lay(root: &Path, n: usize) -> Claims {
    let claims = Claims::at(root.join("claims"));
    claims.lay(&TicketText::of(&delivery(n), Process::myself(), true)).unwrap();
    claims
}

/// Has a hook told that a delivery was submitted, and returns what it answers.
fn hook(home: &TestHome, n: usize) -> Ran {
    end(start(home), &prompt(n))
}

fn start(home: &TestHome) -> Child {
    command(home.command(&WORDS), &home.root()).spawn().unwrap()
}

/// Has a child hear `input`, and waits for its end.
fn end(mut child: Child, input: &Value) -> Ran {
    // Whoever was killed does not listen.
    let _ = child.stdin.take().unwrap().write_all(input.to_string().as_bytes());
    child.wait_with_output().unwrap().into()
}

fn command(mut command: Command, root: &Path) -> Command {
    command
        .env("CMUX_RUN", RUN)
        .env("CMUX_TOKEN", TOKEN)
        .env("CMUX_SOCKET", root.join("cmux.sock"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Returns what came of the claims that the spool tells of, in order.
fn outcomes(root: &Path) -> Vec<Value> {
    let spool = Spool::at(root.join("spool"));
    let letters = spool.entries(usize::MAX).unwrap().into_iter().map(|entry| {
        let letter = spool.read(&entry).unwrap().unwrap();
        serde_json::from_str::<Value>(&letter.body).unwrap()["claim"]["outcome"].clone()
    });
    letters.collect()
}

/// Returns whether a process has a file open.
fn is_open(pid: u32, path: &Path) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links: Vec<PathBuf> = files.filter_map(|it| fs::read_link(it.path()).ok()).collect();
    let path = fs::canonicalize(path).unwrap();
    links.contains(&path)
}

fn prompt(n: usize) -> Value {
    json!({ "session_id": "s", "prompt": text(n) })
}

fn text(n: usize) -> String {
    format!("[cmux dlv_{n:026} from worker · task · msg_{n:026}]\nhello {n};\n\t-x | y \\")
}

fn id(n: usize) -> DeliveryId {
    delivery_of(&text(n)).unwrap()
}

fn delivery(n: usize) -> Delivery {
    Delivery {
        id: id(n),
        agent: "agt_01JZZZZZZZZZZZZZZZZZZZZZZA".parse().unwrap(),
        run: RUN.parse().unwrap(),
        messages: vec![format!("msg_{n:026}").parse().unwrap()],
        text: text(n),
        attempt: 1,
        state: DeliveryState::Typing,
        mark: 0,
        made_at: Timestamp(0),
        since: Timestamp(0),
    }
}
