//! What follows from what is seen of an agent.

use super::*;
use crate::restart::RestartPolicy;
use proptest::prelude::*;
use ulid::Ulid;

const NOW: Timestamp = Timestamp(1_000_000);
const LATER: Timestamp = Timestamp(1_060_000);
/// An id, which is nobody's name.
const ID: &str = "agt_00000000000000000000000001";
const DEADLINE: Timestamp = Timestamp(1_030_000);

#[test]
fn only_what_is_seen_of_the_present_life_counts() {
    let agent = launching();
    for sighting in [Sighting::Missing, ended(), working(0), Sighting::Cleared] {
        let seen = agent.after(run(9), sighting.clone(), NOW, &policy(), 0);
        assert_eq!(seen, Err(Ignored::Outdated), "{sighting:?}");
    }
}

#[test]
fn a_life_goes_from_its_launch_to_nothing_left_of_it() {
    let agent = launching();
    assert_eq!(agent.phase, Phase::Starting { deadline: DEADLINE });
    let agent = see(&agent, launched());
    let agent = see(&agent, at_prompt(0));
    assert_eq!(agent.phase, Phase::Idle);
    let agent = see(&agent, working(0));
    assert_eq!(agent.phase, Phase::Busy);
    let agent = see(&agent, ended());
    assert!(matches!(agent.phase, Phase::Down { .. }));
    assert_eq!(agent.reason.as_deref(), Some("exit 1"));
    let agent = see(&agent, Sighting::Cleared);
    assert_eq!(agent.life.unwrap().state, LifeState::Over);
}

#[test]
fn an_end_that_was_wanted_is_no_crash() {
    for intent in [Intent::Stop, Intent::Pause] {
        let agent = see(&Agent { intent, ..alive() }, ended());
        assert_eq!((agent.phase, agent.exits), (Phase::Offline, Exits::default()));
    }
}

#[test]
fn an_agent_that_ends_too_often_is_left_alone_until_somebody_asks() {
    let mut agent = alive();
    for _ in 0..=policy().exits_max {
        agent = see(&agent, ended());
        agent = see(&agent, Sighting::Cleared).launching(run(1), DEADLINE, NOW);
        agent = see(&agent, launched());
    }
    let agent = see(&agent, ended());
    assert_eq!(agent.phase, Phase::Failed);
    let asked = agent.asked(Intent::Run, LATER);
    assert_eq!((asked.phase, asked.exits), (Phase::Offline, Exits::default()));
}

#[test]
fn whoever_asks_for_another_life_ends_the_present_one_and_that_is_no_crash() {
    let failed = Agent { phase: Phase::Failed, ..see(&alive(), ended()) };
    let paused = Agent { intent: Intent::Pause, ..alive() };
    for (agent, expected) in [
        (alive(), "ending"),
        (paused, "ending"),
        (alive().ending(DEADLINE), "ending"),
        (see(&alive(), ended()), "ended"),
        (failed, "ended"),
        (see(&see(&alive(), ended()), Sighting::Cleared), "over"),
        (launching(), "launching"),
    ] {
        let agent = Agent { exits: [NOW].into_iter().collect(), ..agent };
        let asked = agent.restarted(LATER);
        let state = asked.life.as_ref().map(|life| life.state.name());
        assert_eq!((state, asked.intent), (Some(expected), Intent::Run), "{:?}", agent.phase);
        assert_eq!(asked.exits, Exits::default());
        assert!(!matches!(asked.phase, Phase::Down { .. } | Phase::Failed), "{:?}", asked.phase);
        assert_eq!(asked.restarted(LATER), asked, "asking twice is asking once");
    }
    let told = alive().restarted(LATER);
    let LifeState::Ending { deadline, .. } = told.life.clone().unwrap().state else { panic!() };
    assert_eq!(deadline, LATER);
    let over = look(&told, ended(), LATER).unwrap();
    assert_eq!((over.phase, over.exits), (Phase::Offline, Exits::default()));
}

#[test]
fn an_adopted_agent_ends_as_others_do_and_does_not_come_back_by_itself() {
    let place = Place { server: "/tmp/tmux-1/default".to_owned(), pane: "%3".to_owned() };
    let process = Pid { pid: 7, start: 1 };
    let tagged = Tagged { agent: launching().id, run: run(1), place, process };
    let agent = launching();
    let (project, name, role) = (agent.project.clone(), agent.name.clone(), agent.role.clone());
    let new = NewAgent { project, name, role, kind: agent.kind, parent: None, setup: setup() };
    let adopted = Agent::adopted(tagged.agent, new, &tagged, NOW);
    assert!(adopted.may_run() && adopted.may_be_forgotten());
    let homeless = Sighting::Homeless { retry_at: LATER };
    for (sighting, place) in [
        (ended(), Some(tagged.place.clone())),
        (Sighting::Missing, Some(tagged.place)),
        (homeless, None),
    ] {
        let over = see(&adopted, sighting);
        assert_eq!((&over.phase, &over.exits), (&Phase::Offline, &Exits::default()));
        // Its tags are taken back.
        let expected = LifeState::Ended { place, deadline: NOW };
        assert_eq!(over.life.as_ref().map(|life| &life.state), Some(&expected));
        assert!(!over.may_run() && over.may_be_forgotten());
    }
    assert!(!alive().may_be_forgotten() && see(&alive(), ended()).may_run());
}

#[test]
fn an_agent_is_the_one_that_is_asked_for_if_all_that_was_said_is_the_same() {
    let agent = launching();
    let (project, name) = (agent.project.clone(), agent.name.clone());
    let (role, kind, setup) = (agent.role.clone(), agent.kind.clone(), agent.setup.clone());
    let new = NewAgent { project, name, role, kind, parent: None, setup };
    assert!(agent.is_as(&new));
    let other = Setup { permanent: true, ..setup_of(&new) };
    for other in [
        NewAgent { kind: "other".to_owned(), ..new.clone() },
        NewAgent { parent: Some(agent.id), ..new.clone() },
        NewAgent { name: AgentName::new("Worker").unwrap(), ..new.clone() },
        NewAgent { setup: other, ..new.clone() },
    ] {
        assert!(!agent.is_as(&other), "{other:?}");
    }
}

#[test]
fn a_process_on_its_way_is_not_missing_but_may_be_late() {
    let agent = launching();
    assert_eq!(look(&agent, Sighting::Missing, LATER), Err(Ignored::NoNews));
    let overdue = Sighting::Overdue { screen: Some("Trust this folder?".to_owned()) };
    assert_eq!(look(&agent, overdue.clone(), NOW), Err(Ignored::NoNews));
    let late = look(&agent, overdue, LATER).unwrap();
    assert!(matches!(late.phase, Phase::Down { .. }));
    assert!(late.reason.unwrap().ends_with("on its screen was: Trust this folder?"));
}

#[test]
fn a_glance_at_the_screen_does_not_outvote_a_fresh_hook() {
    let busy = see(&alive(), working(1));
    let soon = NOW + Duration::from_secs(4);
    assert_eq!(look(&busy, at_prompt(3), soon), Err(Ignored::Outranked));
    assert_eq!(look(&busy, at_prompt(3), LATER).unwrap().phase, Phase::Idle);
    assert_eq!(look(&busy, at_prompt(0), soon).unwrap().phase, Phase::Idle);
}

#[test]
fn what_it_tells_as_it_happens_outvotes_what_was_seen_before() {
    let idle = see(&alive(), at_prompt(0));
    let soon = NOW + Duration::from_millis(10);
    assert_eq!(look(&idle, working(1), soon), Err(Ignored::Outranked));
    let told = Sighting::Told { doing: Doing::Working, rank: 1 };
    let busy = look(&idle, told.clone(), soon).unwrap();
    assert_eq!((&busy.phase, busy.word), (&Phase::Busy, Some(Word { rank: 1, at: soon })));
    assert_eq!(look(&busy, told, LATER), Err(Ignored::NoNews));
}

#[test]
fn what_is_gone_is_not_seen_doing_anything() {
    let gone = see(&alive(), ended());
    for sighting in [working(0), at_prompt(0), ended(), launched(), Sighting::Missing] {
        assert_eq!(look(&gone, sighting.clone(), NOW), Err(Ignored::Over), "{sighting:?}");
    }
}

#[test]
fn a_phase_that_goes_on_keeps_its_beginning() {
    let limited = |until| Sighting::Doing { doing: Doing::Limited { until }, rank: 0 };
    let agent = see(&alive(), limited(None));
    let later = look(&agent, limited(Some(DEADLINE)), LATER).unwrap();
    assert_eq!((later.since, later.phase), (NOW, Phase::Limited { until: Some(DEADLINE) }));
}

#[test]
fn names_are_words_that_mean_nobody_else() {
    for name in ["a", "worker-1", "Api_2", &"x".repeat(NAME_MAX)] {
        assert!(AgentName::new(name).is_ok(), "{name}");
    }
    let long = "x".repeat(NAME_MAX + 1);
    for name in [
        "", "1a", "-a", "a b", "ä", "user", "User", "cmux", "register", "a/b", "a;b", "a@b", &long,
        ID,
    ] {
        assert!(AgentName::new(name).is_err(), "{name}");
    }
}

proptest! {
    /// Whatever is seen in whatever order, a life that has ended never comes back, and nothing is launched
    /// into it: a new one needs a new run.
    #[test]
    fn a_life_never_goes_back(sightings in prop::collection::vec((any_sighting(), 0_i64..20_000), 0..40)) {
        let (mut agent, mut now, mut stage) = (launching(), NOW, 0);
        for (sighting, wait) in sightings {
            now = Timestamp(now.0 + wait);
            if let Ok(after) = agent.after(run(1), sighting, now, &policy(), 0) {
                agent = after;
            }
            let next = stage_of(&agent);
            prop_assert!(next >= stage);
            prop_assert_eq!(agent.phase.has_process(), next < 2);
            stage = next;
        }
    }
}

fn stage_of(agent: &Agent) -> u8 {
    match agent.life.as_ref().unwrap().state {
        LifeState::Launching => 0,
        LifeState::Alive { .. } | LifeState::Ending { .. } => 1,
        LifeState::Ended { .. } => 2,
        LifeState::Over => 3,
    }
}

fn any_sighting() -> impl Strategy<Value = Sighting> {
    prop_oneof![
        Just(launched()),
        Just(Sighting::NotLaunched { why: "no room".to_owned() }),
        (0_u8..4).prop_map(working),
        (0_u8..4).prop_map(at_prompt),
        Just(ended()),
        Just(Sighting::Missing),
        Just(Sighting::Cleared),
        Just(Sighting::Overdue { screen: None }),
    ]
}

#[track_caller]
fn see(agent: &Agent, sighting: Sighting) -> Agent {
    look(agent, sighting, NOW).unwrap()
}

fn look(agent: &Agent, sighting: Sighting, now: Timestamp) -> Result<Agent, Ignored> {
    agent.after(run(1), sighting, now, &policy(), 0)
}

fn alive() -> Agent {
    see(&launching(), launched())
}

fn launching() -> Agent {
    let new = NewAgent {
        project: ProjectId::of("/a"),
        name: AgentName::new("worker").unwrap(),
        role: "worker".to_owned(),
        kind: "demo".to_owned(),
        parent: None,
        setup: setup(),
    };
    let agent = Agent::new(AgentId::new(Ulid::from(1_u128)), new, NOW);
    agent.launching(run(1), DEADLINE, NOW)
}

fn setup_of(new: &NewAgent) -> Setup {
    new.setup.clone()
}

fn setup() -> Setup {
    let (args, env) = (Vec::new(), Vec::new());
    Setup { cwd: "/a".to_owned(), task: None, args, env, permanent: false }
}

fn launched() -> Sighting {
    let place = Place { server: "/tmux/a".to_owned(), pane: "%1".to_owned() };
    Sighting::Launched { place, process: Pid { pid: 7, start: 1 } }
}

fn at_prompt(rank: u8) -> Sighting {
    Sighting::Doing { doing: Doing::AtPrompt, rank }
}

fn working(rank: u8) -> Sighting {
    Sighting::Doing { doing: Doing::Working, rank }
}

fn ended() -> Sighting {
    Sighting::Ended { how: "exit 1".to_owned() }
}

fn run(n: u128) -> RunId {
    RunId::new(Ulid::from(n))
}

fn policy() -> RestartPolicy {
    RestartPolicy::default()
}
