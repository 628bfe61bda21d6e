//! People who write, leave what they wrote, change their minds and scroll, while messages come: nothing of
//! theirs is lost or mixed with a message, and no message with theirs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use cmux_testkit::dice::Dice;
use cmux_testkit::person::Person;
use cmux_testkit::wait::eventually;
use cmux_wire::agent::Agent;

use crate::count;
use crate::scene::{Scene, composer, messages};

/// How many people are at work, each at an agent of their own.
const PEOPLE: usize = 4;

/// What every prompt of cmux's begins with, shown as it is or folded.
const OURS: [&str; 2] = ["[cmux dlv_", "[Pasted text "];

/// The longest between two messages, between two of a person's letters, and before they go on with what they
/// wrote, in milliseconds.
const MESSAGE_MS_MAX: u64 = 1_500;
const LETTER_MS_MAX: u64 = 120;
const LEFT_MS_MAX: u64 = 2_500;

/// For how long one draft of four is left, in milliseconds: for so long that only what is at the prompt tells of a
/// person, and not their last key.
const LEFT_LONG_MS: (u64, u64) = (4_000, 8_000);

/// How long a person does something else: not at all, or for long enough that messages come.
const AWAY_MS: [u64; 4] = [0, 400, 3_500, 6_000];

/// What people write.
const DRAFTS: [&str; 6] = [
    "what does this do?",
    "x",
    "grüße an alle",
    "a; b | c && d -- \"e\"",
    "see [cmux from user] above",
    "日本語 too",
];

#[test]
fn what_a_person_writes_stays_theirs_while_messages_come() {
    let scene = Scene::new();
    let mut dice = Dice::seeded();
    let share = count("CMUX_MESSAGES", 100).div_ceil(PEOPLE);
    let agents: Vec<Agent> = (0..PEOPLE).map(|n| scene.agent(&format!("desk{n}"), &[])).collect();
    let held = AtomicUsize::new(0);
    thread::scope(|scope| {
        for agent in &agents {
            let (scene, held, dice) = (&scene, &held, dice.split());
            scope.spawn(move || shared(scene, agent, share, held, dice));
        }
    });
    assert!(held.into_inner() >= PEOPLE, "messages waited for drafts, and not for keys");
}

/// Has a person and cmux write to an agent at the same time, and checks what it reads. Counts how often something
/// was `held` up by a draft.
fn shared(scene: &Scene, agent: &Agent, share: usize, held: &AtomicUsize, mut dice: Dice) {
    let sent_so_far = AtomicUsize::new(0);
    let mut others = dice.split();
    let (sent, submitted) = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let all = (0..share).map(|number| {
                sleep(Duration::from_millis(others.below(MESSAGE_MS_MAX)));
                // Counted even if it fails: nobody waits for it for ever.
                sent_so_far.fetch_add(1, Ordering::Relaxed);
                let body = ["message", "two\nlines of", "a\nlong\nlist\nof"][number % 3];
                let body = format!("{body} {number}");
                (scene.send(&agent.name, &body), body)
            });
            all.collect::<Vec<(String, String)>>()
        });
        let desk = DeskOf { scene, agent, person: scene.person(agent), held };
        let mut submitted = Vec::new();
        for turn in 0.. {
            if sent_so_far.load(Ordering::Relaxed) >= share || writer.is_finished() {
                break;
            }
            submitted.extend(desk.works(turn, &mut dice));
            let away = AWAY_MS[usize::try_from(dice.below(4)).unwrap()];
            sleep(Duration::from_millis(away));
        }
        (writer.join().unwrap(), submitted)
    });
    sent.iter().for_each(|(id, _)| drop(scene.read(id)));
    let prompts = scene.prompts(&agent.name);
    let (ours, theirs): (Vec<String>, Vec<String>) =
        prompts.into_iter().partition(|prompt| prompt.starts_with(OURS[0]));
    assert_eq!(theirs, submitted);
    let read: Vec<(String, String)> = ours.iter().flat_map(|prompt| messages(prompt)).collect();
    assert_eq!(read, sent);
}

/// An agent, and a person at it.
struct DeskOf<'a> {
    scene: &'a Scene,
    agent: &'a Agent,
    person: Person,
    held: &'a AtomicUsize,
}

impl DeskOf<'_> {
    /// Has the person do something for the so-manieth time. Returns what they submitted, if they did.
    fn works(&self, turn: u64, dice: &mut Dice) -> Option<String> {
        let is_left_long = turn.is_multiple_of(4);
        if !is_left_long && dice.below(4) == 0 {
            self.scrolls(dice);
            return None;
        }
        let draft = DRAFTS[usize::try_from(dice.below(6)).unwrap()];
        self.writes(draft, dice);
        match is_left_long {
            true => self.leaves_for_long(dice),
            false => sleep(Duration::from_millis(dice.below(LEFT_MS_MAX))),
        }
        assert_eq!(self.composer().as_deref(), Some(draft), "it is still there");
        let is_submitted = dice.below(2) == 0;
        self.person.presses(if is_submitted { "Enter" } else { "C-u" });
        eventually("it has left the prompt", || {
            self.composer().filter(|holds| !holds.contains(draft))
        });
        is_submitted.then(|| draft.to_owned())
    }

    /// Has the person leave a draft for so long that only the draft itself speaks for them. Messages come meanwhile.
    fn leaves_for_long(&self, dice: &mut Dice) {
        let (least, most) = LEFT_LONG_MS;
        sleep(Duration::from_millis(least + dice.below(most - least)));
        if self.scene.is_held(&self.agent.name, "draft") {
            self.held.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Has the person write a draft, at the speed of a hand or of a machine. Whoever sees that something else
    /// came to the prompt meanwhile takes their letters away and begins again.
    fn writes(&self, draft: &str, dice: &mut Dice) {
        loop {
            eventually("the prompt is empty", || self.composer().filter(String::is_empty));
            let typed = match dice.below(2) {
                0 => self.by_hand(draft, dice),
                _ => {
                    self.person.types(draft);
                    draft.chars().count()
                }
            };
            if typed == draft.chars().count() && self.is_alone(draft) {
                return;
            }
            (0..typed).for_each(|_| self.person.presses("BSpace"));
        }
    }

    /// Has the person write letter by letter, until they see that something else came to the prompt. Returns
    /// how many letters they wrote.
    fn by_hand(&self, draft: &str, dice: &mut Dice) -> usize {
        let mut typed = 0;
        for letter in draft.chars() {
            self.person.types(&letter.to_string());
            typed += 1;
            sleep(Duration::from_millis(dice.below(LETTER_MS_MAX)));
            if self.composer().is_some_and(|it| is_ours(&it)) {
                break;
            }
        }
        typed
    }

    /// Waits until what was written is seen. Returns whether nothing else is.
    fn is_alone(&self, draft: &str) -> bool {
        let mut last = None;
        let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually("what was written is seen", || {
                last = self.composer();
                last.clone().filter(|it| it == draft || is_ours(it))
            })
        }));
        seen.unwrap_or_else(|_| panic!("{draft:?} is not seen: {last:?}")) == draft
    }

    /// Has the person scroll back, and return.
    fn scrolls(&self, dice: &mut Dice) {
        self.person.presses("C-b");
        self.person.presses("[");
        self.waits_for_mode("1");
        sleep(Duration::from_millis(dice.below(LEFT_MS_MAX)));
        self.person.presses("q");
        self.waits_for_mode("0");
    }

    fn waits_for_mode(&self, mode: &str) {
        let pane = self.agent.pane.as_deref().unwrap();
        let ask = ["display-message", "-p", "-t", pane, "#{?pane_in_mode,1,0}"];
        eventually("it is scrolled, or not", || {
            (self.scene.world.at_tmux(&ask).trim() == mode).then_some(())
        });
    }

    fn composer(&self) -> Option<String> {
        composer(&self.scene.screen(self.agent))
    }
}

/// Returns whether something that cmux typed is at the prompt.
fn is_ours(holds: &str) -> bool {
    OURS.iter().any(|ours| holds.contains(ours))
}
