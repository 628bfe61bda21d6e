//! An agent's CLI in its pane: a prompt, a queue, turns, hooks, dialogs. It takes what comes to its terminal
//! in order, may stand still, and draws late.

use std::collections::VecDeque;

use cmux_core::agent::Doing;
use cmux_core::id::{DeliveryId, RunId};
use cmux_core::time::Timestamp;

use crate::claims::Verdict;
use crate::mistakes::Mistake;
use crate::tally::Fault;
use crate::world::{Happens, Loop, World};

/// A piece of what is at a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chunk {
    /// The whole text of a delivery.
    Mail(DeliveryId),
    /// A key of a person's.
    Key(u32),
}

/// Who did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Cmux,
    Person,
}

/// What comes to the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Paste(DeliveryId),
    Key(u32),
    Enter(By),
    Empty(By),
    Escape(By),
}

/// A prompt that was submitted and is not yet in the conversation.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    pub(crate) content: Vec<Chunk>,
    pub(crate) event: u64,
    /// How many hooks are yet to answer.
    pub(crate) hooks: u32,
    pub(crate) is_blocked: bool,
    /// Whether its hook had its say.
    pub(crate) is_hooked: bool,
    /// Whether it only waits for its turn.
    pub(crate) is_passed: bool,
    /// Whether cmux submitted more than one delivery, though it could have seen that.
    pub(crate) is_merged: bool,
}

/// What can be seen at one moment.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// From when on.
    pub(crate) at: Timestamp,
    /// When the CLI wrote it.
    pub(crate) made_at: Timestamp,
    pub(crate) prompt: Vec<Chunk>,
    pub(crate) doing: Doing,
    /// What is shown above the prompt.
    pub(crate) shown: Vec<DeliveryId>,
}

/// One life of the CLI.
#[derive(Clone, Debug)]
pub(crate) struct Cli {
    pub(crate) run: RunId,
    pub(crate) is_alive: bool,
    pub(crate) prompt: Vec<Chunk>,
    pub(crate) submitted: VecDeque<Prompt>,
    /// Counts turns; one is under way if it is odd.
    pub(crate) turns: u64,
    pub(crate) has_dialog: bool,
    /// How many dialogs may come, as hooks have said.
    pub(crate) dialogs_near: u32,
    pub(crate) stalled_until: Timestamp,
    /// What came to it while it stood still.
    pub(crate) waits: VecDeque<Loop>,
    pub(crate) views: VecDeque<View>,
    /// What was read, and from when on that can be seen.
    pub(crate) transcript: Vec<(Timestamp, Vec<Chunk>)>,
    /// What was read in the turn that is under way.
    pub(crate) read_in_turn: Option<DeliveryId>,
    /// What was read in turns of whose end a hook has told.
    pub(crate) answered: Vec<DeliveryId>,
    /// What it was asked last, as it has written down, and before that, which stands there until then.
    pub(crate) said: Option<DeliveryId>,
    pub(crate) said_before: Option<(DeliveryId, Timestamp)>,
    /// When a hook has told of the end of a turn last.
    pub(crate) rests_since: Option<Timestamp>,
    pub(crate) input_at: Timestamp,
    /// When it last put back itself what a person had submitted.
    pub(crate) returned_at: Timestamp,
    /// When it was asked to empty a prompt that was empty.
    pub(crate) asked_to_end_at: Option<Timestamp>,
}

impl Cli {
    pub(crate) fn new(run: RunId, now: Timestamp) -> Cli {
        let view = View {
            at: now,
            made_at: now,
            prompt: Vec::new(),
            doing: Doing::AtPrompt,
            shown: Vec::new(),
        };
        Cli {
            run,
            is_alive: true,
            prompt: Vec::new(),
            submitted: VecDeque::new(),
            turns: 0,
            has_dialog: false,
            dialogs_near: 0,
            stalled_until: now,
            waits: VecDeque::new(),
            views: VecDeque::from([view]),
            transcript: Vec::new(),
            read_in_turn: None,
            answered: Vec::new(),
            said: None,
            said_before: None,
            rests_since: None,
            input_at: now,
            returned_at: Timestamp(0),
            asked_to_end_at: None,
        }
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.turns % 2 == 1
    }

    /// Returns what is drawn at `now`.
    pub(crate) fn seen(&mut self, now: Timestamp) -> View {
        while self.views.get(1).is_some_and(|next| next.at <= now) {
            self.views.pop_front();
        }
        self.views[0].clone()
    }

    pub(crate) fn has_answered(&self, delivery: DeliveryId) -> bool {
        self.answered.contains(&delivery)
    }

    /// Returns whether the delivery is in the conversation as far as can be seen, past `mark`.
    pub(crate) fn has_used(&self, delivery: DeliveryId, mark: u64, now: Timestamp) -> bool {
        let past = self.transcript.iter().skip(usize::try_from(mark).unwrap());
        past.filter(|(at, _)| *at <= now || !self.is_alive)
            .any(|(_, content)| content.first() == Some(&Chunk::Mail(delivery)))
    }
}

impl World {
    /// Something comes to the terminal, after all that came before.
    pub(crate) fn type_in(&mut self, input: Input) {
        let delay = self.dice.time(15, 400, 30);
        if delay > 15 && matches!(input, Input::Paste(_)) {
            self.struck(Fault::PasteLate);
        }
        let at = (self.now.0 + delay).max(self.cli.input_at.0);
        self.cli.input_at = Timestamp(at);
        let run = self.cli.run;
        self.later_at(Timestamp(at), Happens::Cli { run, what: Loop::Input(input) });
    }

    pub(crate) fn take_input(&mut self, input: Input) {
        self.trace(|it| format!("cli takes {input:?} at {:?}", it.cli.prompt));
        match input {
            Input::Enter(By::Cmux) if self.strikes(Fault::EnterLost, |it| &mut it.loses_enter) => {}
            Input::Enter(by) if self.cli.has_dialog => {
                if by == By::Cmux {
                    self.broken("cmux answered a dialog");
                }
                self.cli.has_dialog = false;
            }
            Input::Escape(by) if self.cli.has_dialog => {
                if by == By::Cmux {
                    self.broken("cmux answered a dialog");
                }
                self.cli.has_dialog = false;
            }
            Input::Paste(_) | Input::Empty(By::Cmux) if self.cli.has_dialog => {
                self.broken("cmux typed into a dialog");
            }
            Input::Key(_) | Input::Empty(_) if self.cli.has_dialog => {}
            Input::Paste(delivery) => self.paste(delivery),
            Input::Key(key) => self.cli.prompt.push(Chunk::Key(key)),
            Input::Enter(by) => self.submit(by),
            Input::Empty(by) => self.empty(by),
            Input::Escape(by) => self.escape(by),
        }
        // What waited for a dialog, or for a turn that was broken off, comes next.
        if self.cli.submitted.iter().any(|it| it.is_passed) {
            self.in_loop(5, Loop::Begins);
        }
        self.draw();
    }

    fn paste(&mut self, delivery: DeliveryId) {
        if self.has_draft() {
            self.broken("cmux pasted into a draft");
        }
        if self.store.delivery(delivery).is_none_or(|it| it.run != self.cli.run) {
            self.broken("something was typed to another life of the agent");
        }
        self.cli.prompt.push(Chunk::Mail(delivery));
    }

    fn empty(&mut self, by: By) {
        if by == By::Cmux && self.has_draft() {
            self.broken("cmux destroyed a draft");
        }
        if !self.cli.prompt.is_empty() {
            self.cli.prompt.clear();
            return;
        }
        let before = self.cli.asked_to_end_at.replace(self.now);
        if before.is_some_and(|at| self.now.0 - at.0 < 1000) && by == By::Cmux {
            self.broken("cmux ended its agent by emptying its prompt");
        }
    }

    /// Returns whether something of a person's is at the prompt that could have been seen there: what the CLI
    /// itself has just put back could not.
    fn has_draft(&self) -> bool {
        let is_fresh = self.now.0 - self.cli.returned_at.0 < 700;
        !is_fresh && self.cli.prompt.iter().any(|it| matches!(it, Chunk::Key(_)))
    }

    /// Returns whether more than the text of one delivery is at the prompt, and could have been seen there.
    /// Of one that was late, a second copy may come to the first.
    fn is_merged(&self) -> bool {
        let is_other = |it: &Chunk| *it != self.cli.prompt[0];
        self.has_draft()
            || self.cli.prompt.iter().filter(|it| matches!(it, Chunk::Mail(_))).any(is_other)
    }

    /// Puts back what was submitted.
    fn put_back(&mut self, back: Vec<Chunk>) {
        if back.iter().any(|it| matches!(it, Chunk::Key(_))) {
            self.cli.returned_at = self.now;
        }
        self.cli.prompt.splice(0..0, back);
    }

    /// What was submitted and is not read comes back, and if there is nothing, the turn ends.
    fn escape(&mut self, by: By) {
        let is_ours = |it: &Prompt| it.content.iter().any(|it| matches!(it, Chunk::Mail(_)));
        if by == By::Person && self.cli.submitted.iter().any(is_ours) {
            self.struck(Fault::PersonTakesBack);
        }
        let back: Vec<Chunk> = self.cli.submitted.drain(..).flat_map(|it| it.content).collect();
        if back.is_empty() && self.cli.is_busy() {
            // No hook tells of that.
            self.cli.read_in_turn = None;
            self.cli.turns += 1;
            return;
        }
        self.put_back(back);
    }

    fn submit(&mut self, by: By) {
        if self.cli.prompt.is_empty() {
            return;
        }
        if by == By::Cmux && self.has_draft() {
            self.broken("cmux submitted a draft");
        }
        let is_merged = by == By::Cmux && self.is_merged();
        let content = std::mem::take(&mut self.cli.prompt);
        self.events += 1;
        let (event, run) = (self.events, self.cli.run);
        self.prompts.insert(event, content.clone());
        let hooks = if self.strikes(Fault::HookTwice, |it| &mut it.doubles_hook) { 2 } else { 1 };
        let is_hooked = self.kind.has_hook;
        let (is_blocked, is_passed) = (false, !is_hooked);
        let prompt = Prompt { content, event, hooks, is_blocked, is_hooked, is_passed, is_merged };
        self.cli.submitted.push_back(prompt);
        self.take_back_in_between();
        if !is_hooked {
            let starts = self.dice.time(50, 2000, 50);
            self.in_loop(starts, Loop::Begins);
            return;
        }
        for call in 0..u64::from(hooks) {
            let late =
                if self.strikes(Fault::HookLate, |it| &mut it.delays_hook) { 14_000 } else { 200 };
            let delay = self.dice.between(5, late);
            self.later(delay, Happens::HookRuns { run, event, call });
        }
    }

    /// The process of a hook looks at what was submitted. It runs whatever becomes of its CLI.
    pub(crate) fn hook_runs(&mut self, run: RunId, event: u64, call: u64) {
        if self.strikes(Fault::HookLost, |it| &mut it.kills_hook) {
            self.trace(|_| format!("hook {event} is killed before its claim"));
            let heard = Loop::HookHeard { event, is_blocked: false, is_dead: true };
            return self.later(20, Happens::Cli { run, what: heard });
        }
        let content = self.prompts.get(&event).cloned().unwrap_or_default();
        // Not every CLI tells that two calls are for the same prompt.
        let by = event * 10 + if self.kind.names_prompts { 0 } else { call };
        let verdict = match self.is_disk_full() && self.dice.permille(500) {
            true if content.iter().any(|it| matches!(it, Chunk::Mail(_))) => Verdict::Block,
            true | false if self.makes(Mistake::PassesUnclaimed) => Verdict::Pass { claim: None },
            true | false => self.claims.judge(&content, run, by, self.now),
        };
        self.trace(|_| format!("hook {event} of {content:?}: {verdict:?}"));
        if self.strikes(Fault::HookLostAfterClaim, |it| &mut it.kills_hook_late) {
            self.trace(|_| format!("hook {event} is killed after its claim"));
            let heard = Loop::HookHeard { event, is_blocked: false, is_dead: true };
            return self.later(20, Happens::Cli { run, what: heard });
        }
        let late =
            if self.strikes(Fault::AnswerLate, |it| &mut it.delays_answer) { 40_000 } else { 300 };
        let delay = self.dice.between(1, late);
        self.later(delay, Happens::HookSays { run, event, by, verdict });
    }

    /// The hook is about to answer. A claim that does not stand any more is none.
    pub(crate) fn hook_says(&mut self, run: RunId, event: u64, by: u64, verdict: Verdict) {
        let is_blocked = match verdict {
            Verdict::Pass { claim: Some(delivery) } => !self.claims.stands(delivery, by, self.now),
            Verdict::Pass { claim: None } => false,
            Verdict::Block => true,
        };
        let delay = self.dice.time(5, 1500, 20);
        let heard = Loop::HookHeard { event, is_blocked, is_dead: false };
        self.later(delay, Happens::Cli { run, what: heard });
    }

    /// The CLI hears what one of the hooks of `event` says, or that it died.
    pub(crate) fn hook_heard(&mut self, event: u64, is_blocked: bool, is_dead: bool) {
        let is_open = self.kind.passes_without_hook;
        let Some(prompt) = self.cli.submitted.iter_mut().find(|it| it.event == event) else {
            return;
        };
        prompt.hooks -= 1;
        prompt.is_blocked |= is_blocked || (is_dead && !is_open);
        prompt.is_hooked &= !is_dead;
        if prompt.hooks > 0 {
            return;
        }
        if !prompt.is_blocked {
            prompt.is_passed = true;
            let content = prompt.content.clone();
            self.say(&content);
            if matches!(content.first(), Some(Chunk::Mail(_))) {
                self.say_instead();
            }
            let starts = match self.kind.says_first {
                true => self.dice.time(500, 45_000, 100),
                false => self.dice.time(50, 2000, 30),
            };
            self.draw();
            return self.in_loop(starts, Loop::Begins);
        }
        let at = self.cli.submitted.iter().position(|it| it.event == event).unwrap();
        let back = self.cli.submitted.remove(at).unwrap().content;
        self.trace(|_| format!("{event} is blocked: {back:?}"));
        if self.kind.returns_blocked || back.iter().any(|it| matches!(it, Chunk::Key(_))) {
            self.put_back(back);
        }
        self.draw();
    }

    /// What was passed is written down. What was asked before may have been taken back, and is the last for a while.
    fn say(&mut self, content: &[Chunk]) {
        if self.cli.is_busy() {
            return;
        }
        let said = match content.first() {
            Some(Chunk::Mail(delivery)) => Some(*delivery),
            Some(Chunk::Key(_)) | None => None,
        };
        let until = Timestamp(self.now.0 + self.dice.time(100, 1500, 300));
        let before = std::mem::replace(&mut self.cli.said, said);
        self.cli.said_before = before.map(|it| (it, until));
    }

    /// What was passed begins its turn, unless another is under way.
    pub(crate) fn begins(&mut self) {
        if self.cli.is_busy() || self.cli.has_dialog {
            return;
        }
        let Some(at) = self.cli.submitted.iter().position(|it| it.is_passed) else { return };
        let prompt = self.cli.submitted.remove(at).unwrap();
        self.was_read(&prompt);
        self.cli.read_in_turn = match prompt.content.first() {
            Some(Chunk::Mail(delivery)) if self.kind.has_hook => Some(*delivery),
            Some(Chunk::Mail(_) | Chunk::Key(_)) | None => None,
        };
        let lag = self.dice.time(100, 2500, 50);
        self.cli.transcript.push((self.now.max(Timestamp(self.now.0 + lag)), prompt.content));
        self.cli.turns += 1;
        let turn = self.cli.turns;
        let longest = if self.kind.says_first && self.dice.permille(300) { 500 } else { 15_000 };
        let lasts = self.dice.between(100, longest);
        self.in_loop(lasts, Loop::TurnEnds { turn });
        if self.dice.permille(self.faults.dialogs) {
            let after = self.dice.between(10, lasts);
            self.in_loop(after, Loop::DialogHook { since: None });
        }
        self.draw();
    }

    pub(crate) fn turn_ends(&mut self, turn: u64) {
        if self.cli.turns != turn {
            return;
        }
        if self.cli.has_dialog {
            return self.in_loop(1000, Loop::TurnEnds { turn });
        }
        self.cli.turns += 1;
        if !self.strikes(Fault::HookLost, |it| &mut it.kills_hook) {
            self.cli.tell_answered();
            self.cli.rests_since = Some(self.now);
        }
        self.begins();
        self.draw();
    }

    /// A tool is to be used: a hook is called that waits for whoever types, for a while.
    pub(crate) fn dialog_hook(&mut self, since: Option<Timestamp>) {
        // It leaves its mark first, so that whoever types does not begin anew while it waits.
        let is_marked = since.is_some();
        let since = since.unwrap_or(self.now);
        self.cli.dialogs_near += u32::from(!is_marked);
        if self.is_locked() && self.now.0 - since.0 < 2000 {
            return self.in_loop(20, Loop::DialogHook { since: Some(since) });
        }
        let asks = self.dice.permille(700);
        let after = self.dice.time(50, 300, 200);
        self.in_loop(after, Loop::DialogComes { asks });
    }

    pub(crate) fn dialog_comes(&mut self, asks: bool) {
        self.trace(|_| format!("a dialog comes: {asks}"));
        self.cli.has_dialog |= asks;
        if asks {
            self.struck_amid(Fault::DialogComes);
        }
        self.draw();
        let shown = self.cli.views.back().map_or(self.now, |it| it.at);
        let run = self.cli.run;
        self.later_at(shown, Happens::Cli { run, what: Loop::DialogShown });
    }

    /// Draws what there is, a little later.
    pub(crate) fn draw(&mut self) {
        let mut submitted = self.cli.submitted.iter();
        let is_working = self.cli.is_busy()
            || (self.kind.says_first && submitted.any(|it| it.is_passed))
            || (self.kind.shows_hooks && !self.cli.submitted.is_empty());
        let doing = match (self.cli.has_dialog, is_working) {
            (true, _) => Doing::Asking { what: String::new() },
            (false, true) => Doing::Working,
            (false, false) => Doing::AtPrompt,
        };
        let late = if self.strikes(Fault::ScreenStale, |it| &mut it.draws_late) { 250 } else { 20 };
        let at = self.now.0 + self.dice.between(0, late);
        let last = self.cli.views.back().map_or(0, |it| it.at.0);
        let (at, made_at) = (Timestamp(at.max(last)), self.now);
        let (prompt, shown) = (self.cli.prompt.clone(), self.cli.shown(self.kind.shows_hooks));
        let view = View { at, made_at, prompt, doing, shown };
        self.cli.views.push_back(view);
        self.note_soon();
    }
}
