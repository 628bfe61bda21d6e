//! A door that goes wrong: answers are lost, requests come late, cmux dies at any step. Whatever happens,
//! nothing is taken twice, and what is told is so.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::*;

/// How many lives are played if nobody says otherwise with `CMUX_DOORS`.
const CASES: u32 = 20_000;

/// How many steps of a life go wrong at most; the rest is quiet.
const TROUBLES: usize = 60;

/// How long a request may be on its way that was cut off: where nothing but time tells that it is not, and
/// where something else does.
const SLOW_MS: u64 = 14_000;
const VERY_SLOW_MS: u64 = 60_000;

/// How long it takes until what was taken is in the list.
const LAG: Duration = Duration::from_secs(5);

/// After how many steps it must be settled.
const STEPS_MAX: usize = 3_000;

#[test]
fn nothing_is_taken_twice_and_what_is_told_is_so() {
    let doors = vec![
        LISTED,
        HOOKED,
        KNOWING,
        Door { knows_again: true, ..HOOKED },
        Door { is_repeated: false, ..LISTED },
    ];
    let life = (
        prop::sample::select(doors),
        prop::collection::vec(any::<(u8, u8, u16)>(), 0..TROUBLES),
        prop::option::of(0_usize..40),
    );
    let seed = said("CMUX_SEED").unwrap_or_else(rand_of);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed_of(seed));
    let cases = said("CMUX_DOORS").map_or(CASES, |it| u32::try_from(it).unwrap());
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let played = TestRunner::new_with_rng(config, rng).run(&life, |(door, troubles, recall)| {
        let mut world = World::new(door, troubles);
        let end = world.play(recall);
        world.pass(Duration::from_mins(5));
        prop_assert!(world.taken <= 1, "it was taken {} times", world.taken);
        let is_left = !door.is_repeated;
        match end {
            Sighted::Used(_) => prop_assert_eq!(world.taken, 1),
            Sighted::Unused(Unused::Recalled) => {
                prop_assert!(recall.is_some());
                prop_assert_eq!(world.taken, 0);
            }
            Sighted::Unused(Unused::Failed { .. }) => prop_assert!(is_left, "it need not fail"),
            Sighted::Unused(Unused::RunOver | Unused::PerhapsRead)
            | Sighted::Typing
            | Sighted::Submitted
            | Sighted::Claimed
            | Sighted::Again { .. } => prop_assert!(false, "that is no end: {end:?}"),
        }
        Ok(())
    });
    assert!(played.is_ok(), "with CMUX_SEED={seed}: {played:?}");
}

/// Returns the number that somebody has set.
#[expect(clippy::disallowed_methods, reason = "whoever runs the test says how")]
fn said(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|it| it.parse().unwrap())
}

/// Returns a number that nobody can foresee.
fn rand_of() -> u64 {
    std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0)
}

fn seed_of(seed: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_be_bytes());
    bytes
}

/// What goes wrong at one step: whether anything does, what a request comes to, and how long it takes.
type Trouble = (u8, u8, u16);

/// cmux, an agent, and what goes wrong between them.
struct World {
    now: Timestamp,
    door: Door,
    troubles: Vec<Trouble>,
    /// What is on the disk: the record and the ticket.
    delivery: Delivery,
    ticket: Ticket,
    is_recalled: bool,
    /// What is lost when cmux dies.
    posting: Posting,
    came: Option<Came>,
    listed: Option<Listed>,
    /// The agent: what it has taken, until when it is busy, and what is still on its way to it.
    taken: u32,
    taken_at: Option<Timestamp>,
    busy_until: Timestamp,
    coming: Vec<Timestamp>,
}

impl World {
    fn new(door: Door, mut troubles: Vec<Trouble>) -> World {
        troubles.reverse();
        World {
            now: NOW,
            door,
            troubles,
            delivery: delivery(),
            ticket: Ticket::Absent,
            is_recalled: false,
            posting: Posting::default(),
            came: None,
            listed: None,
            taken: 0,
            taken_at: None,
            busy_until: NOW,
            coming: Vec::new(),
        }
    }

    /// Plays until it is told what became of it. At the step `recall` somebody takes it back.
    fn play(&mut self, recall: Option<usize>) -> Sighted {
        for number in 0..STEPS_MAX {
            self.is_recalled |= recall == Some(number);
            let look = self.look();
            let step = self.posting.next(&self.delivery, &look, self.now);
            let (trouble, fault, chance) = self.troubles.pop().unwrap_or_default();
            if trouble % 64 == 1 {
                self.crash();
                continue;
            }
            if let PostStep::Done(seen) = step {
                return seen;
            }
            self.take(step, fault, chance);
            if trouble % 64 == 2 {
                self.crash();
            }
            if trouble % 64 == 3 {
                // A person has it do something.
                self.busy_until = self.now + Duration::from_millis(u64::from(chance));
            }
            self.pass(Duration::from_millis(u64::from(chance % 100)));
        }
        panic!("it is never settled: {:?} {:?} {:?}", self.delivery, self.ticket, self.posting);
    }

    fn look(&self) -> PostLook {
        let is_busy = self.now < self.busy_until;
        PostLook {
            ticket: self.ticket,
            doing: Some(if is_busy { Doing::Working } else { Doing::AtPrompt }),
            is_recalled: self.is_recalled,
            is_paused: false,
            came: self.came.clone(),
            listed: self.listed,
            door: self.door,
            ..free()
        }
    }

    fn take(&mut self, step: PostStep, fault: u8, chance: u16) {
        match step {
            PostStep::Lay => self.move_ticket(Ticket::Absent, Ticket::Open),
            PostStep::Claim => self.move_ticket(Ticket::Open, Ticket::Claimed),
            PostStep::GiveBack => self.move_ticket(Ticket::Claimed, Ticket::Open),
            PostStep::Void if self.ticket != Ticket::Claimed => self.ticket = Ticket::Void,
            PostStep::Void => {}
            PostStep::Post => self.post(fault, chance),
            PostStep::Ask => {
                let is_there = self.taken_at.is_some_and(|at| self.now.since(at) >= LAG);
                let has = (fault % 6 != 4).then_some(is_there);
                self.listed = Some(Listed { at: self.now, has });
            }
            PostStep::Pause(pause) => self.pass(pause),
            PostStep::Wait(_) => self.pass(Duration::from_secs(1)),
            PostStep::Tell(seen) => {
                let attempt = self.delivery.attempt;
                if let Ok(delivery) = self.delivery.after(attempt, &seen, self.now) {
                    self.delivery = delivery;
                }
                if matches!(seen, Sighted::Again { .. }) {
                    self.came = None;
                }
            }
            PostStep::Done(_) => {}
        }
    }

    fn move_ticket(&mut self, from: Ticket, to: Ticket) {
        if self.ticket == from {
            self.ticket = to;
        }
    }

    /// Sends the text: its answer may be lost, and so may the request, or it comes late.
    fn post(&mut self, fault: u8, chance: u16) {
        assert!(self.now >= self.busy_until, "it is posted to one that is busy");
        // It takes a while until it is there, and others may be there before.
        self.pass(Duration::from_millis(u64::from(chance % 9_000)));
        self.came = Some(match fault % 6 {
            0 => self.arrive(),
            1 => {
                self.arrive();
                Came::Unknown
            }
            2 => {
                let Door { confirm, is_repeated, .. } = self.door;
                let slow = match is_repeated && confirm == Confirm::Sight {
                    true => SLOW_MS,
                    false => VERY_SLOW_MS,
                };
                let late = u64::from(chance) % slow;
                self.coming.push(self.now + Duration::from_millis(late));
                Came::Unknown
            }
            3 => Came::Unknown,
            4 if self.is_known() => Came::Taken,
            4 => Came::Refused { why: "not now".to_owned() },
            _ => match self.arrive() {
                Came::Taken => Came::Queued,
                other @ (Came::Queued | Came::Refused { .. } | Came::Unknown) => other,
            },
        });
    }

    /// The text is there. The agent takes it unless its hook objects, or it knows that it has it.
    fn arrive(&mut self) -> Came {
        if self.is_known() {
            return Came::Taken;
        }
        if self.door.confirm == Confirm::Hook {
            if self.ticket != Ticket::Open {
                return Came::Refused { why: "blocked".to_owned() };
            }
            self.ticket = Ticket::Claimed;
        }
        self.taken += 1;
        self.taken_at = Some(self.now);
        self.busy_until = self.now + Duration::from_secs(3);
        Came::Taken
    }

    /// Returns whether the agent would know another copy for what it is.
    fn is_known(&self) -> bool {
        self.door.knows_again && self.taken > 0
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        self.coming.sort();
        while let Some(at) = self.coming.first().copied().filter(|at| *at <= until) {
            self.coming.remove(0);
            self.now = self.now.max(at);
            self.arrive();
        }
        self.now = until;
    }

    fn crash(&mut self) {
        self.posting = Posting::default();
        (self.came, self.listed) = (None, None);
        if let Some(doubted) = self.delivery.doubted(self.now) {
            self.delivery = doubted;
        }
        self.pass(Duration::from_millis(500));
    }
}
