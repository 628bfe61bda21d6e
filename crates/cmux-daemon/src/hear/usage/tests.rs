//! Turns as hooks tell of them, and what is read that was used in them: however late, often and out of order.

use std::time::Duration;

use cmux_core::agent::{Agent, AgentName, Life, LifeState, Pid, Place, Setup};
use cmux_core::hook::{Caller, Hook, Ids, Meaning, Ranks};
use cmux_core::id::{HookId, LogId, NewIds};
use cmux_core::project::Project;
use cmux_core::report::NewAgent;
use cmux_core::turn::{Turn, TurnEnd};
use cmux_core::usage::{Cursor, Money, Spent, Tokens};
use cmux_store::Store;
use cmux_store::events::{self, Filter};
use cmux_store::projects;
use ulid::Ulid;

use super::*;
use crate::hear::hooks;

const NOW: Timestamp = Timestamp(1_000_000);

#[test]
fn what_is_read_again_changes_nothing() {
    let mut house = House::new();
    let first = [answer("a", 10, 5), answer("b", 20, 6)];
    let grown = [answer("b", 20, 9), answer("c", 1, 1)];
    // A report whose answer was lost, one that is late, and all of it from the start.
    for spent in
        [&first[..], &first[..], &grown[..], &first[..], &[&first[..], &grown[..]].concat()]
    {
        house.read(spent);
    }
    let used = house.used();
    assert_eq!((used.tokens.input, used.tokens.output, used.cost), (31, 15, Money(46)));
    let of_kind = usage::of_kind(house.store.view(), "demo").unwrap();
    assert_eq!(of_kind, used);
    assert_eq!(house.told("agent.used"), 2);
}

#[test]
fn what_was_used_is_told_with_the_turn_that_it_was_used_in() {
    let mut house = House::new();
    house.hook(Meaning::Prompted, 100);
    house.hook(Meaning::TurnEnded { in_background: false }, 200);
    house.hook(Meaning::Prompted, 300);
    // The first turn's last answer is read in the midst of the second.
    house.read(&[answer_at("a", 199, 7), answer_at("b", 310, 8), answer_at("c", 250, 9)]);
    let turns = house.turns();
    let of = |turn: &Turn| usage::of_turn(house.store.view(), turn).unwrap().tokens.input;
    assert_eq!(turns.iter().map(of).collect::<Vec<_>>(), [16, 8]);
    assert_eq!(turns[0].end.map(|end| end.how), Some(TurnEnd::Done));
    assert_eq!(turns[1].end, None);
    assert_eq!(house.agent().talk.turn, Some(turns[1].id));
}

#[test]
fn what_was_told_late_belongs_to_no_turn_that_began_since() {
    let mut house = House::new();
    house.hook(Meaning::Prompted, 100);
    house.hook(Meaning::TurnEnded { in_background: false }, 200);
    house.hook(Meaning::Prompted, 300);
    let before = house.turns();
    house.hook(Meaning::TurnEnded { in_background: false }, 250);
    house.hook(Meaning::Prompted, 150);
    assert_eq!(house.turns(), before);
    // Of two calls at once, either may be told of first.
    house.hook(Meaning::ToolBegan { tool: "Bash".into() }, 299);
    assert_eq!(house.turns().iter().map(|turn| turn.calls).collect::<Vec<_>>(), [0, 1]);
    // What lay in the spool is heard in its order, and comes to whole turns.
    let mut house = House::new();
    house.see_idle();
    for (means, at) in [
        (Meaning::Prompted, 100),
        (Meaning::ToolBegan { tool: "Bash".into() }, 110),
        (Meaning::ToolEnded { tool: "Bash".into(), ok: true }, 120),
        (Meaning::TurnEnded { in_background: false }, 130),
    ] {
        house.hook(means, at);
    }
    let turns = house.turns();
    assert_eq!(turns.len(), 1, "{turns:?}");
    assert_eq!((turns[0].calls, turns[0].end.map(|end| end.how)), (1, Some(TurnEnd::Done)));
    let told = ["turn.started", "tool.used", "turn.ended"].map(|kind| house.told(kind));
    assert_eq!(told, [1, 1, 1]);
    assert_eq!(house.agent().talk.turn, None);
}

#[test]
fn a_turn_of_whose_end_nobody_told_is_over_when_another_begins() {
    let mut house = House::new();
    house.hook(Meaning::Prompted, 100);
    house.see_idle();
    house.hook(Meaning::Prompted, 300);
    let turns = house.turns();
    let how: Vec<_> = turns.iter().map(|turn| turn.end.map(|end| end.how)).collect();
    assert_eq!(how, [Some(TurnEnd::Interrupted), None]);
    assert_eq!(house.told("turn.ended"), 1);
}

#[test]
fn nothing_is_kept_of_who_is_forgotten() {
    let mut house = House::new();
    let id = house.id;
    house.store.turn(|tx| agents::remove(tx, id)).unwrap();
    house.read(&[answer("a", 1, 1)]);
    assert_eq!(house.used(), Usage::default());
    assert_eq!(usage::find(house.store.view(), id, "a").unwrap(), None);
}

#[test]
fn it_is_known_of_whose_last_life_not_all_was_read() {
    let mut house = House::new();
    let unread = |house: &House| usage::unread(house.store.view()).unwrap();
    assert_eq!(unread(&house), []);
    let (id, run) = (house.id, house.run);
    let life = Some(Life { run, began_at: NOW, state: LifeState::Over });
    let over = Agent { life, session: Some("s".into()), ..house.agent() };
    house.store.turn(|tx| agents::save(tx, &over)).unwrap();
    assert_eq!(unread(&house), [id]);
    house.read(&[answer("a", 1, 1)]);
    assert_eq!(unread(&house), [id]);
    house.store.turn(|tx| read(tx, id, &[], Some(run), NOW)).unwrap();
    assert_eq!(unread(&house), []);
    assert_eq!(house.used().tokens.total(), 2);
}

/// A store with one agent in it.
struct House {
    store: Store,
    id: AgentId,
    run: RunId,
    ids: Ordinal,
    _folder: tempfile::TempDir,
}

/// Ids, one after the other.
struct Ordinal(u128);

impl NewIds for Ordinal {
    fn ulid(&mut self) -> Ulid {
        self.0 += 1;
        Ulid::from(self.0)
    }
}

impl House {
    fn new() -> House {
        let folder = tempfile::tempdir().unwrap();
        let mut ids = Ordinal(0);
        let path = folder.path().join("cmux.db");
        let log = LogId::new(ids.ulid());
        let mut store = Store::open(&path, folder.path(), log, NOW).unwrap().0;
        let project = Project::new("/repo", None, NOW).unwrap();
        let setup = Setup {
            cwd: "/repo".into(),
            task: None,
            args: Vec::new(),
            env: Vec::new(),
            permanent: false,
        };
        let new = NewAgent {
            project: project.id.clone(),
            name: AgentName::new("worker").unwrap(),
            role: "worker".into(),
            kind: "demo".into(),
            parent: None,
            setup,
        };
        let (id, run) = (AgentId::new(ids.ulid()), RunId::new(ids.ulid()));
        let place = Place { server: "/s".into(), pane: "%1".into() };
        let state = LifeState::Alive { place, process: Pid { pid: 1, start: 1 } };
        let life = Some(Life { run, began_at: Timestamp(0), state });
        let agent = Agent { life, ..Agent::new(id, new, Timestamp(0)) };
        store
            .turn(|tx| projects::save(tx, &project).and_then(|()| agents::save(tx, &agent)))
            .unwrap();
        House { store, id, run, ids, _folder: folder }
    }

    /// Hears a hook that was called at `at`.
    fn hook(&mut self, means: Meaning, at: i64) {
        let project = self.agent().project;
        let by = Caller::Run { agent: self.id, run: self.run, project };
        let hook = Hook {
            id: HookId::new(self.ids.ulid()),
            name: "Some".into(),
            means,
            ids: Ids::default(),
            at: Timestamp(at),
            age: Duration::from_millis(u64::try_from(NOW.0 - at).unwrap()),
            payload: "{}".into(),
            claim: None,
        };
        let (store, ids) = (&mut self.store, &mut self.ids);
        let heard =
            store.turn(|tx| hooks::heard(tx, &by, &hook, &Ranks::default(), NOW, ids)).unwrap();
        assert!(heard.answer.is_ok());
    }

    /// Has the agent seen at its prompt, by somebody who is believed.
    fn see_idle(&mut self) {
        let phase = cmux_core::phase::Phase::Idle;
        let word = Some(cmux_core::agent::Word { rank: 0, at: Timestamp(290) });
        let agent = Agent { phase, word, since: Timestamp(290), ..self.agent() };
        self.store.turn(|tx| agents::save(tx, &agent)).unwrap();
    }

    fn read(&mut self, spent: &[Spent]) {
        let cursor =
            Cursor { file: "/t".into(), device: 1, inode: 1, place: 9, model: None, root: None };
        let (id, read) = (self.id, [Read { cursor, spent: spent.to_vec() }]);
        self.store.turn(|tx| super::read(tx, id, &read, None, NOW)).unwrap();
    }

    fn used(&self) -> Usage {
        usage::of_agent(self.store.view(), self.id).unwrap()
    }

    fn agent(&self) -> Agent {
        agents::find(self.store.view(), self.id).unwrap().unwrap()
    }

    /// Returns the agent's turns, the oldest first.
    fn turns(&self) -> Vec<Turn> {
        let all = turns::between(self.store.view(), self.id, Timestamp(0), NOW, 99).unwrap();
        all.into_iter().rev().collect()
    }

    /// Returns how often the log tells of something.
    fn told(&self, kind: &str) -> usize {
        let filter = Filter { kind: Some(kind.to_owned()), ..Filter::default() };
        events::newest(self.store.view(), 99, &filter).unwrap().len()
    }
}

fn answer(key: &str, input: u64, output: u64) -> Spent {
    let tokens = Tokens { input, output, ..Tokens::default() };
    let cost = Some(Money(input + output));
    Spent { key: key.into(), at: Timestamp(50), model: "m".into(), tokens, cost }
}

fn answer_at(key: &str, at: i64, input: u64) -> Spent {
    Spent { at: Timestamp(at), ..answer(key, input, 0) }
}
