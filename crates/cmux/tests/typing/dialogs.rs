//! Dialogs that open at any moment before, between and after a paste and its Enter: none is answered by what is
//! typed, and what is typed is read once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use cmux_testkit::dice::Dice;
use cmux_wire::agent::Agent;

use crate::count;
use crate::scene::{Scene, messages};

/// When other work asks for something, each at an agent of its own. After a person's answer nothing is typed
/// for about three seconds, and then it is time for the next question of those that come by the clock.
const MOMENTS: [&str; 10] = [
    "dialogs-after=paste:0",
    "dialogs-after=paste:10",
    "dialogs-after=paste:30",
    "dialogs-after=paste:50",
    "dialogs-after=paste:70",
    "dialogs-after=enter:0",
    "dialogs-after=enter:5",
    "dialogs-after=enter:20",
    "dialogs-every-ms=3400",
    "dialogs-every-ms=3900",
];

/// What is on the screen while a question is.
const QUESTION: &str = "Do you want to proceed?";

/// How often a person looks at the screen.
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// The longest that a person takes for an answer, in milliseconds.
const ANSWER_MS_MAX: u64 = 300;

/// How many messages there are at most for one dialog: where all is slow, more are read between two of those that
/// come by the clock.
const TRIES: usize = 12;

/// Tells that all is over when it goes, however that comes to be.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn no_dialog_is_answered_by_what_is_typed_whenever_it_opens() {
    let scene = Scene::new();
    let mut dice = Dice::seeded();
    let trials = count("CMUX_TRIALS", 100).div_ceil(MOMENTS.len());
    let agents = MOMENTS.iter().enumerate();
    let agents: Vec<(Agent, &str)> =
        agents.map(|(n, moment)| (scene.agent(&format!("asker{n}"), &[moment]), *moment)).collect();
    thread::scope(|scope| {
        for (agent, moment) in &agents {
            let (scene, dice) = (&scene, dice.split());
            scope.spawn(move || {
                let answered = interrupted(scene, agent, trials, dice);
                assert!(answered >= trials, "{moment}: only {answered} dialogs opened");
                assert_eq!(scene.approvals(&agent.name), "", "{moment}");
            });
        }
    });
}

/// Sends messages to an agent that is interrupted by questions, which a person answers, until there were
/// enough of both, and checks that it reads each once. Returns how many questions there were.
fn interrupted(scene: &Scene, agent: &Agent, trials: usize, mut dice: Dice) -> usize {
    let (is_over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut dice_of_person = dice.split();
    thread::scope(|scope| {
        let over = Over(&is_over);
        let person =
            scope.spawn(|| answer_all(scene, agent, &is_over, &answered, &mut dice_of_person));
        let is_enough =
            |number: usize| number >= trials && answered.load(Ordering::Relaxed) >= trials;
        let sent: Vec<String> = (0..trials * TRIES)
            .take_while(|number| !is_enough(*number))
            .map(|number| {
                sleep(Duration::from_millis(dice.below(ANSWER_MS_MAX)));
                let id = scene.send(&agent.name, &format!("trial {number}"));
                scene.read(&id);
                id
            })
            .collect();
        drop(over);
        let prompts = scene.prompts(&agent.name);
        let read: Vec<(String, String)> = prompts.iter().flat_map(|it| messages(it)).collect();
        let expected = sent.into_iter().enumerate().map(|(n, id)| (id, format!("trial {n}")));
        assert_eq!(read, expected.collect::<Vec<_>>());
        person.join().unwrap();
        answered.load(Ordering::Relaxed)
    })
}

/// Has a person say no to whatever is asked, until all is over, and counts how often they did.
fn answer_all(
    scene: &Scene,
    agent: &Agent,
    is_over: &AtomicBool,
    answered: &AtomicUsize,
    dice: &mut Dice,
) {
    let person = scene.person(agent);
    while !is_over.load(Ordering::Relaxed) {
        sleep(LOOK_EVERY);
        if scene.screen(agent).contains(QUESTION) {
            sleep(Duration::from_millis(dice.below(ANSWER_MS_MAX)));
            person.presses("3");
            answered.fetch_add(1, Ordering::Relaxed);
            // It is gone before the next is looked for.
            while scene.screen(agent).contains(QUESTION) && !is_over.load(Ordering::Relaxed) {
                sleep(LOOK_EVERY);
            }
        }
    }
}
