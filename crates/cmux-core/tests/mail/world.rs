//! The world in which mail is delivered: everything that can happen, one thing after another, by a clock of
//! its own.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use cmux_core::agent::Doing;
use cmux_core::delivery::Delivery;
use cmux_core::id::{MessageId, RunId};
use cmux_core::plan::Action;
use cmux_core::time::Timestamp;
use ulid::Ulid;

use crate::claims::{Claims, Verdict};
use crate::cli::{Chunk, Cli, Input, Prompt};
use crate::dice::Dice;
use crate::kernel::{Heard, Store};
use crate::mistakes::Mistake;
use crate::tally::{Fault, Tally};
use crate::tmux::{Command, Tmux};
use crate::worker::Worker;

/// How many things may happen before a schedule counts as one that never comes to rest.
const HAPPENS_MAX: u64 = 60_000;

/// How long everything may take once nothing goes wrong any more, in milliseconds.
const REST_WITHIN: i64 = 2 * 3_600_000;

/// How many kinds of faults there are.
pub(crate) const FAULTS: i64 = 17;

/// Something that happens.
#[derive(Clone, Debug)]
pub(crate) enum Happens {
    Boot,
    /// In this life of the daemon.
    Daemon {
        life: u64,
        what: Inside,
    },
    /// This life of the CLI stands still no longer.
    GoOn {
        run: RunId,
    },
    /// In this life of the CLI, if it does not stand still.
    Cli {
        run: RunId,
        what: Loop,
    },
    Command {
        command: Command,
    },
    HookRuns {
        run: RunId,
        event: u64,
        call: u64,
    },
    HookSays {
        run: RunId,
        event: u64,
        by: u64,
        verdict: Verdict,
    },
    Person,
    Sender,
    Fault,
    Calm,
}

/// Something that happens in the daemon.
#[derive(Clone, Debug)]
pub(crate) enum Inside {
    Turn { heard: Heard, tick: Option<u64> },
    Answer { tick: u64, delivery: Option<Delivery>, is_taken: bool },
    Act(Action),
    Due,
    Survey,
    Watch,
    Glance { tick: u64 },
    Look { tick: u64 },
}

/// Something that happens in the CLI.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loop {
    Input(Input),
    HookHeard { event: u64, is_blocked: bool, is_dead: bool },
    Begins,
    TurnEnds { turn: u64 },
    DialogHook { since: Option<Timestamp> },
    DialogComes { asks: bool },
    DialogShown,
}

/// How the CLI of this world behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) has_hook: bool,
    /// Whether what its hook blocked is at its prompt again.
    pub(crate) returns_blocked: bool,
    /// Whether it can be seen that its hooks are at work.
    pub(crate) shows_hooks: bool,
    /// Whether a prompt is read whose hook has died.
    pub(crate) passes_without_hook: bool,
    pub(crate) is_repeated: bool,
    /// Whether it writes down what it read. If not, it can only be seen while it is at it.
    pub(crate) is_recorded: bool,
    /// Whether it writes down what it was asked before its model has begun to answer, for which that may take long.
    pub(crate) says_first: bool,
    /// Whether it tells its hook which prompt is which.
    pub(crate) names_prompts: bool,
}

/// What goes wrong next, and how often.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) loses_enter: u32,
    pub(crate) doubles_hook: u32,
    pub(crate) delays_hook: u32,
    pub(crate) kills_hook: u32,
    pub(crate) kills_hook_late: u32,
    pub(crate) delays_answer: u32,
    pub(crate) draws_late: u32,
    pub(crate) blind_until: Timestamp,
    pub(crate) full_until: Timestamp,
    /// In how many turns of a thousand a dialog comes.
    pub(crate) dialogs: i64,
    /// Which faults there are in this schedule, as bits.
    pub(crate) kinds: i64,
}

/// Something that the model read.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) message: MessageId,
    /// Whether the hook had its say before.
    pub(crate) is_hooked: bool,
}

#[derive(Debug)]
struct Due(Timestamp, u64, Happens);

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) dice: Dice,
    queue: BinaryHeap<Reverse<Due>>,
    count: u64,
    pub(crate) store: Store,
    pub(crate) claims: Claims,
    pub(crate) cli: Cli,
    /// Lives of the CLI that are over, for their transcripts.
    pub(crate) past: Vec<Cli>,
    pub(crate) prompts: BTreeMap<u64, Vec<Chunk>>,
    pub(crate) events: u64,
    pub(crate) tmux: Tmux,
    /// Which life of the daemon it is, if it lives.
    pub(crate) daemon: Option<u64>,
    pub(crate) lives: u64,
    pub(crate) worker: Worker,
    pub(crate) told: Option<Doing>,
    pub(crate) is_watching: bool,
    /// The life that the daemon is about to launch.
    pub(crate) launching: Option<RunId>,
    /// Until when the pane's lock is that of somebody who interrupts the agent, or has died.
    pub(crate) locked_until: Timestamp,
    /// The last message of each sender that was read.
    pub(crate) order: BTreeMap<String, i64>,
    pub(crate) kind: Kind,
    /// What cmux does wrong in this world, which is to be found out.
    pub(crate) mistake: Option<Mistake>,
    pub(crate) faults: Faults,
    pub(crate) reads: Vec<Read>,
    pub(crate) is_calm: bool,
    pub(crate) keys: u32,
    /// What the person does next, the last first.
    pub(crate) instead: Vec<Input>,
    pub(crate) sends_left: i64,
    due_at: Option<Timestamp>,
    pub(crate) is_broken: Option<String>,
    pub(crate) tally: Tally,
    traced: Option<Vec<String>>,
}

impl World {
    pub(crate) fn new(seed: u64, is_traced: bool) -> World {
        let mut dice = Dice::new(seed);
        let now = Timestamp(1_000_000);
        let has_hook = dice.permille(900);
        let kind = Kind {
            has_hook,
            returns_blocked: dice.permille(700),
            shows_hooks: dice.permille(500) && has_hook,
            passes_without_hook: dice.permille(500),
            is_repeated: dice.permille(500),
            is_recorded: has_hook || dice.permille(500),
            says_first: has_hook && dice.permille(400),
            names_prompts: dice.permille(500),
        };
        let kinds = dice.between(0, (1 << FAULTS) - 1) & dice.between(0, (1 << FAULTS) - 1);
        let dialogs = if kinds & 1 == 1 { 400 } else { 0 };
        let mut cli = Cli::new(RunId::new(Ulid::from(2_u128)), now);
        cli.is_alive = false;
        let sends_left = dice.between(1, 8);
        let mut world = World {
            now,
            queue: BinaryHeap::new(),
            count: 0,
            store: Store::new(now),
            claims: Claims::default(),
            cli,
            past: Vec::new(),
            prompts: BTreeMap::new(),
            events: 0,
            tmux: Tmux::default(),
            daemon: None,
            lives: 0,
            worker: Worker::default(),
            told: None,
            is_watching: false,
            launching: None,
            locked_until: now,
            order: BTreeMap::new(),
            kind,
            mistake: None,
            faults: Faults { dialogs, kinds, ..Faults::default() },
            reads: Vec::new(),
            is_calm: false,
            keys: 0,
            instead: Vec::new(),
            sends_left,
            due_at: None,
            is_broken: None,
            tally: Tally::default(),
            traced: is_traced.then(Vec::new),
            dice,
        };
        world.later(0, Happens::Boot);
        world.later(10, Happens::Sender);
        let (person, fault) = (world.dice.between(500, 20_000), world.dice.between(500, 5000));
        world.later(person, Happens::Person);
        world.later(fault, Happens::Fault);
        let calm = world.dice.between(5_000, 90_000);
        world.later(calm, Happens::Calm);
        world
    }

    /// Lets everything happen until all is at rest, and returns what was wrong, with what had happened.
    pub(crate) fn run(mut self) -> Result<Tally, (String, Vec<String>)> {
        let mut calm_at = None;
        while let Some(Reverse(Due(at, _, what))) = self.queue.pop() {
            self.now = at;
            self.happens(what);
            if self.is_calm && self.sends_left == 0 {
                let since = *calm_at.get_or_insert(self.now);
                if self.store.is_at_rest() && self.now.0 - since.0 > 60_000 {
                    break;
                }
                if self.now.0 - since.0 > REST_WITHIN {
                    self.broken("mail is stuck");
                }
            }
            if self.count > HAPPENS_MAX {
                self.broken("it never comes to rest");
            }
            if self.is_broken.is_some() {
                break;
            }
        }
        self.check();
        self.count();
        match self.is_broken {
            None => Ok(self.tally),
            Some(why) => Err((why, self.traced.unwrap_or_default())),
        }
    }

    pub(crate) fn later(&mut self, after_ms: i64, what: Happens) {
        self.later_at(Timestamp(self.now.0 + after_ms), what);
    }

    pub(crate) fn later_at(&mut self, at: Timestamp, what: Happens) {
        self.count += 1;
        self.queue.push(Reverse(Due(at.max(self.now), self.count, what)));
    }

    pub(crate) fn broken(&mut self, why: &str) {
        self.trace(|_| format!("BROKEN: {why}"));
        self.is_broken.get_or_insert(why.to_owned());
    }

    pub(crate) fn trace(&mut self, what: impl FnOnce(&World) -> String) {
        if self.traced.is_some() {
            let line = format!("{:>7} {}", self.now.0 - 1_000_000, what(self));
            self.traced.iter_mut().for_each(|it| it.push(line.clone()));
        }
    }

    pub(crate) fn is_disk_full(&self) -> bool {
        self.now < self.faults.full_until
    }

    fn happens(&mut self, what: Happens) {
        match what {
            Happens::Boot => self.boot(),
            Happens::Daemon { life, what } => {
                if self.daemon == Some(life) {
                    self.in_daemon(life, what);
                }
            }
            Happens::Command { command } => self.command_runs(command),
            Happens::HookRuns { run, event, call } => self.hook_runs(run, event, call),
            Happens::HookSays { run, event, by, verdict } => {
                self.hook_says(run, event, by, verdict);
            }
            Happens::Cli { run, what } => {
                if run == self.cli.run && self.cli.is_alive {
                    self.cli.waits.push_back(what);
                    self.go_on();
                }
            }
            Happens::GoOn { run } => {
                if run == self.cli.run && self.cli.is_alive {
                    self.go_on();
                }
            }
            Happens::Person => self.person(),
            Happens::Sender => self.sender(),
            Happens::Fault => self.fault(),
            Happens::Calm => self.calm(),
        }
    }

    /// The CLI does what waits for it, in order, unless it stands still.
    fn go_on(&mut self) {
        let (run, until) = (self.cli.run, self.cli.stalled_until);
        if self.now < until {
            self.struck_amid(Fault::AgentStalls);
            return self.later_at(until, Happens::GoOn { run });
        }
        while let Some(what) = self.cli.waits.pop_front() {
            self.in_cli(what);
        }
    }

    fn in_cli(&mut self, what: Loop) {
        match what {
            Loop::Input(input) => self.take_input(input),
            Loop::HookHeard { event, is_blocked, is_dead } => {
                self.hook_heard(event, is_blocked, is_dead);
            }
            Loop::Begins => self.begins(),
            Loop::TurnEnds { turn } => self.turn_ends(turn),
            Loop::DialogHook { since } => self.dialog_hook(since),
            Loop::DialogComes { asks } => self.dialog_comes(asks),
            Loop::DialogShown => self.cli.dialogs_near -= 1,
        }
    }

    /// Plans something in the present life of the daemon, if it lives.
    pub(crate) fn inside(&mut self, after_ms: i64, what: Inside) {
        if let Some(life) = self.daemon {
            self.later(after_ms, Happens::Daemon { life, what });
        }
    }

    /// Plans something in the present life of the CLI.
    pub(crate) fn in_loop(&mut self, after_ms: i64, what: Loop) {
        let run = self.cli.run;
        self.later(after_ms, Happens::Cli { run, what });
    }

    /// Plans to have the kernel look when something is due.
    pub(crate) fn wake(&mut self, life: u64) {
        if self.store.wake_at != self.due_at
            && let Some(at) = self.store.wake_at
        {
            self.due_at = Some(at);
            self.later_at(at, Happens::Daemon { life, what: Inside::Due });
        }
    }

    pub(crate) fn forget_wake(&mut self) {
        self.due_at = None;
    }

    /// The model reads a prompt.
    pub(crate) fn was_read(&mut self, prompt: &Prompt) {
        self.trace(|_| format!("READ {:?} of event {}", prompt.content, prompt.event));
        let has_mail = prompt.content.iter().any(|it| matches!(it, Chunk::Mail(_)));
        let is_judged = prompt.is_hooked && self.kind.has_hook;
        if has_mail && prompt.content.len() > 1 && (is_judged || prompt.is_merged) {
            self.broken("what was read is not one delivery alone");
        }
        let mut seen = Vec::new();
        for chunk in &prompt.content {
            let Chunk::Mail(delivery) = chunk else { continue };
            // Without a hook, a copy that was late and one that was not may be in one prompt.
            if seen.contains(&delivery) {
                continue;
            }
            seen.push(delivery);
            let messages = self.store.delivery(*delivery).unwrap().messages.clone();
            for message in messages {
                self.reads_message(message, prompt.is_hooked && self.kind.has_hook);
            }
        }
    }
}
