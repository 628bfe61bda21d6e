//! Tests of claims: one ticket, and one who gets it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::thread;

use cmux_core::delivery::DeliveryState;
use tempfile::TempDir;

use super::*;
use crate::process::Process;

#[test]
fn a_ticket_is_read_as_it_was_laid_and_is_for_nobody_else() {
    let (folder, claims) = claims();
    assert_eq!(claims.state(id(1)).unwrap(), Ticket::Absent);
    claims.lay(&text(1)).unwrap();
    let seen = claims.look(id(1)).unwrap().unwrap();
    assert_eq!(seen, Seen { whose: Whose::Open, text: Some(text(1)) });
    for (path, mode) in [(claims.folder.clone(), 0o700), (file(&claims, "ticket"), 0o600)] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
    }
    // To lay it twice is to lay it once.
    claims.lay(&text(1)).unwrap();
    assert_eq!(listed(&claims), [format!("{}.ticket", id(1))]);
    drop(folder);
    assert!(claims.lay(&text(1)).is_err(), "a home that is gone is not made again");
}

#[test]
fn one_event_gets_a_ticket_and_gets_it_again_and_no_other_does() {
    let (_folder, claims) = claims();
    claims.lay(&text(1)).unwrap();
    check(&claims, 1, Ok(Claim::Claimed));
    check(&claims, 1, Ok(Claim::Again));
    check(&claims, 2, Err("another prompt has claimed it"));
    assert_eq!(claims.state(id(1)).unwrap(), Ticket::Claimed);
    assert!(!claims.void(id(1)).unwrap());
    assert!(claims.give_back(id(1)).unwrap() && !claims.give_back(id(1)).unwrap());
    assert_eq!(claims.state(id(1)).unwrap(), Ticket::Open);
    check(&claims, 2, Ok(Claim::Claimed));
    check(&claims, 1, Err("another prompt has claimed it"));
}

#[test]
fn what_is_void_is_nobodys_even_if_it_was_never_laid() {
    let (_folder, claims) = claims();
    claims.lay(&text(1)).unwrap();
    for delivery in [id(1), id(2)] {
        assert!(claims.void(delivery).unwrap() && claims.void(delivery).unwrap());
        assert_eq!(claims.state(delivery).unwrap(), Ticket::Void);
        let refused = claims.claim(delivery, run(1), text(1).print, event(1)).unwrap_err();
        assert!(matches!(refused, ClaimError::Void), "{refused}");
        assert!(!claims.give_back(delivery).unwrap());
    }
    claims.forget(id(1)).unwrap();
    claims.forget(id(2)).unwrap();
    assert_eq!(listed(&claims), [""; 0]);
    check(&claims, 1, Err("no ticket is there for it"));
}

#[test]
fn one_that_cmux_took_stays_for_whoever_comes_late_and_no_other_does() {
    let (_folder, claims) = claims();
    for delivery in 1..=3 {
        claims.lay(&text(delivery)).unwrap();
    }
    assert!(claims.void(id(1)).unwrap());
    claims.claim(id(2), run(1), text(2).print, event(2)).unwrap();
    for delivery in 1..=3 {
        claims.retire(id(delivery)).unwrap();
    }
    for (delivery, expected) in [(1, Ticket::Void), (2, Ticket::Absent), (3, Ticket::Absent)] {
        assert_eq!(claims.state(id(delivery)).unwrap(), expected, "{delivery}");
    }
    check(&claims, 1, Err("cmux has taken it back"));
}

#[test]
fn only_the_same_text_in_the_same_run_is_ours() {
    let (_folder, claims) = claims();
    claims.lay(&text(1)).unwrap();
    for (delivery, run, print) in [
        (id(2), run(1), text(1).print),
        (id(1), run(2), text(1).print),
        (id(1), run(1), Digest::of(b"more")),
    ] {
        let refused = claims.claim(delivery, run, print, event(1)).unwrap_err();
        assert!(matches!(refused, ClaimError::NotOurs), "{refused}");
    }
    check(&claims, 1, Ok(Claim::Claimed));
}

#[test]
fn one_of_an_earlier_run_is_replaced_and_one_that_was_taken_is_not() {
    let (_folder, claims) = claims();
    let later = TicketText { run: run(2), ..text(1) };
    claims.lay(&text(1)).unwrap();
    check(&claims, 1, Ok(Claim::Claimed));
    let refused = claims.lay(&text(1)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
    claims.lay(&later).unwrap();
    assert_eq!(claims.state(id(1)).unwrap(), Ticket::Open);
    check(&claims, 1, Err("no ticket is there for it"));
    assert_eq!(listed(&claims).len(), 1);
}

#[test]
fn two_hundred_at_once_and_one_wins() {
    let (_folder, claims) = claims();
    for round in 0..20 {
        claims.lay(&text(round)).unwrap();
        let won = thread::scope(|scope| {
            let hooks: Vec<_> = (0..9)
                .map(|n| {
                    let claims = &claims;
                    scope.spawn(move || {
                        claims.claim(id(round), run(1), text(round).print, event(n)).is_ok()
                    })
                })
                .collect();
            let void = scope.spawn(|| claims.void(id(round)).unwrap());
            let won = hooks.into_iter().map(|it| it.join().unwrap());
            won.filter(|won| *won).count() + usize::from(void.join().unwrap())
        });
        assert_eq!(won, 1, "{round}");
    }
}

#[test]
fn what_was_read_is_in_the_ledger_before_its_ticket_goes() {
    let (_folder, claims) = claims();
    claims.lay(&text(1)).unwrap();
    check(&claims, 1, Ok(Claim::Claimed));
    assert_eq!(claims.ledger(30).unwrap(), []);
    assert_eq!(claims.read_back(&[]).unwrap(), text(1).messages);
    // What is under way may have been taken in vain.
    assert_eq!(claims.read_back(&[id(1)]).unwrap(), []);
    for _ in 0..2 {
        claims.settle(&delivery(1), false).unwrap();
        assert_eq!(claims.state(id(1)).unwrap(), Ticket::Absent);
        assert_eq!(claims.ledger(30).unwrap(), text(1).messages);
    }
    // One that was typed more than once leaves a mark, by which a late copy is known.
    claims.lay(&text(2)).unwrap();
    claims.settle(&delivery(2), true).unwrap();
    let late = claims.claim(id(2), run(1), text(2).print, event(9)).unwrap_err();
    assert!(matches!(late, ClaimError::Used), "{late}");
    let quoted = claims.claim(id(2), run(1), text(1).print, event(9)).unwrap_err();
    assert!(matches!(quoted, ClaimError::NotOurs), "{quoted}");
    assert_eq!(claims.read_back(&[id(1), id(2)]).unwrap().len(), 4);
}

#[test]
fn a_line_of_the_ledger_that_was_cut_off_spoils_no_other() {
    let (_folder, claims) = claims();
    claims.settle(&delivery(1), false).unwrap();
    let name = listed(&claims).remove(0);
    let path = claims.folder.join(&name);
    let whole = fs::read(&path).unwrap();
    let long = "x".repeat(100_000);
    for damage in
        ["dlv_0000", "\0\0\0", &long, &format!("{} {}", id(3), &message(3).to_string()[..9])]
    {
        fs::write(&path, [whole.as_slice(), damage.as_bytes()].concat()).unwrap();
        claims.settle(&delivery(2), false).unwrap();
        let expected = [message(1), message(2), message(101), message(102)];
        assert_eq!(claims.ledger(0).unwrap(), expected, "{damage:.20}");
    }
    fs::rename(&path, claims.folder.join("used-2020-01-01")).unwrap();
    assert_eq!(claims.ledger(30).unwrap(), []);
}

#[test]
fn what_was_left_behind_is_swept_and_what_is_open_or_new_is_not() {
    let (_folder, claims) = claims();
    for n in 1..=6 {
        claims.lay(&text(n)).unwrap();
    }
    claims.void(id(2)).unwrap();
    claims.claim(id(3), run(1), text(3).print, event(3)).unwrap();
    claims.settle(&delivery(4), true).unwrap();
    fs::write(claims.folder.join(".new-x"), "").unwrap();
    fs::write(claims.folder.join("somebody's"), "").unwrap();
    fs::write(claims.folder.join("used-2020-01-01"), "").unwrap();
    let before = listed(&claims);
    let now = clock::wall();
    claims.sweep(&[id(5)], now).unwrap();
    let today = before.iter().find(|name| name.starts_with("used-2") && !name.contains("2020"));
    let today = today.unwrap().clone();
    let left: Vec<String> = before.into_iter().filter(|it| it != "used-2020-01-01").collect();
    assert_eq!(listed(&claims), left);
    // Half an hour later.
    claims.sweep(&[id(5)], Timestamp(now.0 + 1_800_000)).unwrap();
    let (open, used) = (format!("{}.ticket", id(5)), format!("{}.used", id(4)));
    let void = format!("{}.void", id(2));
    assert_eq!(listed(&claims), [&void, &used, &open, "somebody's", &today]);
    assert!(claims.ledger(1).unwrap().contains(&message(3)), "what was claimed was read");
    // And two hours.
    claims.sweep(&[id(5)], Timestamp(now.0 + 7_200_000)).unwrap();
    assert_eq!(listed(&claims), [&open, "somebody's", &today]);
}

#[test]
fn a_copy_is_known_for_as_long_as_its_cli_runs() {
    let (_folder, claims) = claims();
    for n in [1, 2] {
        let process = Process::myself();
        claims.lay(&TicketText { process, ..text(n) }).unwrap();
    }
    claims.void(id(1)).unwrap();
    claims.settle(&delivery(2), true).unwrap();
    let a_week_later = Timestamp(clock::wall().0 + 7 * 86_400_000);
    claims.sweep(&[], a_week_later).unwrap();
    for (n, expected) in [(1, "cmux has taken it back"), (2, "it was read before")] {
        let late = claims.claim(id(n), run(1), text(n).print, event(9));
        assert_eq!(late.unwrap_err().to_string(), expected);
    }
}

#[test]
fn what_cmux_did_not_write_is_no_ticket_and_lets_nobody_through() {
    let right = text(1).written();
    let huge = format!("{right}{}", "x".repeat(1 << 20));
    for damaged in [
        "",
        "x",
        &right[..right.len() - 5],
        &right.replace("ticket 1", "ticket 2"),
        &right.replace(&id(1).to_string(), &id(2).to_string()),
        &right.replace("process 7", "process x"),
        &huge,
        "\u{0}",
    ] {
        let (_folder, claims) = claims();
        claims.lay(&text(1)).unwrap();
        fs::write(file(&claims, "ticket"), damaged).unwrap();
        check_unusable(&claims);
    }
    let (_folder, claims) = claims();
    claims.lay(&text(1)).unwrap();
    let elsewhere = claims.folder.with_file_name("elsewhere");
    fs::rename(file(&claims, "ticket"), &elsewhere).unwrap();
    symlink(&elsewhere, file(&claims, "ticket")).unwrap();
    check_unusable(&claims);
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), right, "nothing is written through a link");
    fs::remove_file(file(&claims, "ticket")).unwrap();
    assert!(Command::new("mkfifo").arg(file(&claims, "ticket")).status().unwrap().success());
    check_unusable(&claims);
}

#[test]
fn names_that_are_none_are_nobodys() {
    for (name, is_one) in [
        (format!("{}.ticket", id(1)), true),
        (format!("{}.void", id(1)), true),
        (format!("{}.used", id(1)), true),
        (format!("{}.claimed.0123456789abcdef", id(1)), true),
        (format!("{}.claimed.0123456789ABCDEF", id(1)), false),
        (format!("{}.claimed.0123", id(1)), false),
        (format!("{}.claimed.", id(1)), false),
        (format!("{}.ticket.new", id(1)), false),
        (format!("{}.ticket", id(1)).replace("dlv_", "msg_"), false),
        ("dlv_01jyyyyyyyyyyyyyyyyyyyyyya.ticket".to_owned(), false),
        ("dlv_../../x.ticket".to_owned(), false),
        (".ticket".to_owned(), false),
        (String::new(), false),
    ] {
        assert_eq!(Whose::parse(&name).is_some(), is_one, "{name}");
    }
}

#[test]
fn a_folder_that_is_none_of_ours_is_refused() {
    let (folder, claims) = claims();
    fs::create_dir(folder.path().join("other")).unwrap();
    symlink(folder.path().join("other"), &claims.folder).unwrap();
    assert!(claims.lay(&text(1)).is_err() && claims.state(id(1)).is_err());
    let refused = claims.claim(id(1), run(1), text(1).print, event(1)).unwrap_err();
    assert!(matches!(refused, ClaimError::File(_)), "{refused}");
    assert_eq!(fs::read_dir(folder.path().join("other")).unwrap().count(), 0);
}

#[test]
fn a_folder_that_cannot_be_written_gives_no_ticket() {
    let (_folder, claims) = claims();
    claims.lay(&text(1)).unwrap();
    fs::set_permissions(&claims.folder, Permissions::from_mode(0o500)).unwrap();
    // Root may write everywhere.
    if !rustix::process::geteuid().is_root() {
        let refused = claims.claim(id(1), run(1), text(1).print, event(1)).unwrap_err();
        assert!(matches!(refused, ClaimError::File(_)), "{refused}");
    }
    fs::set_permissions(&claims.folder, Permissions::from_mode(0o700)).unwrap();
    check(&claims, 1, Ok(Claim::Claimed));
}

/// Checks what comes of the claim that the hook of the `n`-th event makes on the first ticket.
#[track_caller]
fn check(claims: &Claims, n: u128, expected: Result<Claim, &str>) {
    let came = claims.claim(id(1), run(1), text(1).print, event(n));
    let came = came.map_err(|error| error.to_string());
    assert_eq!(came, expected.map_err(ToOwned::to_owned));
}

/// Checks that a ticket that is none is not taken, and can be laid again.
#[track_caller]
fn check_unusable(claims: &Claims) {
    let refused = claims.claim(id(1), run(1), text(1).print, event(1)).unwrap_err();
    assert!(refused.to_string().contains("is not what cmux writes"), "{refused}");
    assert_eq!(claims.state(id(1)).unwrap(), Ticket::Absent);
    claims.lay(&text(1)).unwrap();
    assert_eq!(claims.state(id(1)).unwrap(), Ticket::Open);
}

/// Returns a folder of claims in a home of its own.
fn claims() -> (TempDir, Claims) {
    let folder = tempfile::tempdir().unwrap();
    let claims = Claims::at(folder.path().join("claims"));
    (folder, claims)
}

fn text(n: u128) -> TicketText {
    TicketText::of(&delivery(n), Process { pid: 7, start: 9 }, true)
}

fn delivery(n: u128) -> Delivery {
    Delivery {
        id: id(n),
        agent: format!("agt_{n:026}").parse().unwrap(),
        run: run(1),
        messages: vec![message(n), message(n + 100)],
        text: format!("[cmux {} from a · task · {}]\nhello {n}", id(n), message(n)),
        attempt: 1,
        state: DeliveryState::Typing,
        mark: 0,
        made_at: Timestamp(0),
        since: Timestamp(0),
    }
}

fn file(claims: &Claims, ending: &str) -> PathBuf {
    claims.folder.join(format!("{}.{ending}", id(1)))
}

/// Returns the names in the folder, in order.
fn listed(claims: &Claims) -> Vec<String> {
    let names = fs::read_dir(&claims.folder).unwrap();
    let mut names: Vec<String> =
        names.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn id(n: u128) -> DeliveryId {
    format!("dlv_{n:026}").parse().unwrap()
}

fn run(n: u128) -> RunId {
    format!("run_{n:026}").parse().unwrap()
}

fn message(n: u128) -> MessageId {
    format!("msg_{n:026}").parse().unwrap()
}

fn event(n: u128) -> Digest {
    Digest::of(&n.to_be_bytes())
}
