//! What cmux itself has to say, and to whom.

use std::time::Duration;

use cmux_core::agent::{Pid, Place, Sighting, Tagged};
use cmux_core::delivery::Sighted;
use cmux_core::digest::Digest;
use cmux_core::event::Actor;
use cmux_core::id::{AgentId, RunId};
use cmux_core::mail::SENDER_MAX;
use cmux_core::message::{Evidence, Message, MessageKind, MessageState, NewMessage, Recipient};
use cmux_core::phase::Phase;
use cmux_core::plan::Action;
use cmux_core::project::ProjectId;
use cmux_core::report::{Answer, Ask, NewAgent, Refused, Report};
use cmux_core::webhook::Webhook;
use cmux_daemon::kernel::Denied;
use cmux_store::deliveries;
use cmux_store::messages::{self, Filter};
use ulid::Ulid;

use crate::house::{House, at_prompt, by, new, new_agent};

#[test]
fn who_sent_what_is_out_of_time_is_told_and_woken() {
    let mut house = House::new();
    let (lead, run) = house.agent(new_agent("lead"));
    let (worker, _) = house.agent(new_agent("worker"));
    let ttl = Some(Duration::from_secs(5));
    let by_agent = house.send(NewMessage { from: by(lead, "lead"), ttl, ..new(worker, "a") });
    let by_person = house.send(NewMessage { ttl, ..new(worker, "b") });
    house.actions.clear();
    house.pass(Duration::from_secs(6));
    house.turn(&[]);
    for id in [by_agent.id, by_person.id] {
        assert_eq!(house.stored(id).state, MessageState::Expired);
    }
    assert!(house.actions.contains(&Action::OfferMail { agent: lead, run }), "{:?}", house.actions);
    check_news(&mail_of(&house, lead), &by_agent);
    check_news(&house.inbox(), &by_person);
    house.pass(Duration::from_mins(5));
    assert_eq!(house.inbox().len(), 1, "once");
}

#[test]
fn a_person_s_own_agent_that_is_forgotten_while_it_reads_leaves_nothing_open() {
    let mut house = House::new();
    let (agent, run) = (AgentId::new(Ulid::from(70_u128)), RunId::new(Ulid::from(71_u128)));
    let place = Place { server: "/tmp/tmux/default".to_owned(), pane: "%3".to_owned() };
    let tagged = Tagged { agent, run, place, process: Pid { pid: 9, start: 1 } };
    house.ask(Ask::AdoptAgent { new: new_agent("own"), tagged }).unwrap();
    house.see(agent, run, at_prompt());
    let (typed, queued) = (house.send(new(agent, "a")), house.send(new(agent, "b")));
    let made = house.take(agent, run).unwrap();
    house.sight(&made, Sighted::Submitted);
    assert_eq!(house.ask(Ask::RemoveAgent { id: agent }), Ok(Answer::Heard));
    for id in [typed.id, queued.id] {
        let failed = house.stored(id);
        assert_eq!(failed.state, MessageState::Failed);
        let why = failed.reason.unwrap();
        assert!(why.contains("may have been reading it"), "{why}");
    }
    assert_eq!(house.read(deliveries::open), []);
    // Whoever was at it comes too late.
    house.sight(&made, Sighted::Used(Evidence::Screen));
    assert_eq!(house.stored(typed.id).state, MessageState::Failed);
    house.rebirth();
    assert_eq!(house.stored(queued.id).state, MessageState::Failed);
}

#[test]
fn who_wrote_to_an_agent_that_is_forgotten_is_told() {
    let mut house = House::new();
    let (lead, _) = house.agent(new_agent("lead"));
    let (worker, run) = house.agent(new_agent("worker"));
    let typed = house.send(new(worker, "a"));
    house.take(worker, run).unwrap();
    let queued = house.send(NewMessage { from: by(lead, "lead"), ..new(worker, "b") });
    let own = house.send(NewMessage { from: by(worker, "worker"), ..new(worker, "c") });
    house.forget(worker, run);
    for id in [typed.id, queued.id, own.id] {
        let failed = house.stored(id);
        assert_eq!(failed.state, MessageState::Failed);
        assert_eq!(failed.reason.as_deref(), Some("its reader was forgotten"));
    }
    check_news(&house.inbox(), &typed);
    check_news(&mail_of(&house, lead), &queued);
    assert_eq!(mail_of(&house, worker).len(), 3, "nobody tells who is not there");
    house.check_refused(Ask::RetryMessage { id: typed.id }, Refused::NoAgent(worker));
}

#[test]
fn who_launched_an_agent_that_failed_is_told_once_or_else_the_person() {
    let mut house = House::new();
    let (lead, run) = house.agent(new_agent("lead"));
    let below = NewAgent { parent: Some(lead), ..new_agent("worker") };
    let orphan = NewAgent { parent: Some(AgentId::new(9_u128.into())), ..new_agent("orphan") };
    for (new, is_persons) in [(below, false), (orphan, true), (new_agent("own"), true)] {
        let name = new.name.to_string();
        let before = (mail_of(&house, lead).len(), house.inbox().len());
        fail(&mut house, new);
        house.pass(Duration::from_mins(5));
        let after = (mail_of(&house, lead).len(), house.inbox().len());
        let expected = if is_persons { (before.0, before.1 + 1) } else { (before.0 + 1, before.1) };
        assert_eq!(after, expected, "{name}");
        let told = if is_persons { house.inbox() } else { mail_of(&house, lead) };
        let text = told[0].body.text.clone().unwrap();
        assert!(text.contains(&format!("`cmux agent why {name}`")), "{text}");
        assert_eq!((told[0].kind, &told[0].from.actor), (MessageKind::System, &Actor::Cmux));
    }
    let made = house.take(lead, run).unwrap();
    house.sight(&made, Sighted::Used(Evidence::Turn));
}

#[test]
fn a_webhook_becomes_mail_to_the_supervisor_of_its_project_or_to_the_person() {
    let mut house = House::new();
    house.ask(webhook("1", Some("/a"))).unwrap();
    assert_eq!(house.inbox().len(), 1);
    let lead = NewAgent { role: "supervisor".to_owned(), ..new_agent("lead") };
    let (lead, run) = house.agent(lead);
    for (delivery, project) in [("2", Some("/a")), ("3", None)] {
        house.actions.clear();
        let answer = house.ask(webhook(delivery, project)).unwrap();
        let Answer::Webhook { event, duplicate: false } = answer else { panic!("{answer:?}") };
        let again = house.ask(webhook(delivery, project));
        assert_eq!(again, Ok(Answer::Webhook { event, duplicate: true }));
        let offer = Action::OfferMail { agent: lead, run };
        assert!(house.actions.contains(&offer), "{:?}", house.actions);
        let told = house.rows().pop().unwrap();
        assert_eq!((told.kind.as_str(), told.cause), ("message.queued", Some(event.to_string())));
    }
    let mail = mail_of(&house, lead);
    assert_eq!(mail.len(), 2);
    assert_eq!(mail[0].from.actor, Actor::Webhook("hub".to_owned()));
    assert!(mail[0].body.text.clone().unwrap().contains("\n> body 3\n"));
    // With two projects, it is not known whose it is.
    house.ask(Ask::AddProject { root: "/b".to_owned(), name: None }).unwrap();
    house.ask(webhook("4", None)).unwrap();
    assert_eq!((mail_of(&house, lead).len(), house.inbox().len()), (2, 1));
}

#[test]
fn nothing_but_the_persons_word_is_told_to_an_agent_that_would_run_it() {
    let mut house = House::new();
    let of = |name: &str, kind: &str| NewAgent { kind: kind.to_owned(), ..new_agent(name) };
    let (lead, _) = house.agent(of("lead", "demo"));
    let (shell, run) = house.agent(NewAgent { role: "supervisor".to_owned(), ..of("sh", "shell") });
    // Sent before it was known what it does with it.
    let early = house.send(NewMessage { from: by(lead, "lead"), ..new(shell, "rm -r .") });
    house.tell(Report::KindIs { kind: "shell".to_owned(), commanded: true });
    let own = house.send(new(shell, "ls"));
    let typed = house.take(shell, run).unwrap();
    assert_eq!(typed.messages, [own.id]);
    assert_eq!(house.stored(early.id).state, MessageState::Failed);
    check_news(&mail_of(&house, lead), &early);
    house.sight(&typed, Sighted::Used(Evidence::Screen));
    let refused = Refused::Commanded { to: "sh".to_owned() };
    let send = |from| Ask::SendMessage { new: Box::new(NewMessage { from, ..new(shell, "a") }) };
    house.check_refused(send(by(lead, "lead")), refused.clone());
    house.check_refused(Ask::RetryMessage { id: early.id }, refused);
    house.ask(webhook("1", Some("/a"))).unwrap();
    fail(&mut house, NewAgent { parent: Some(shell), ..new_agent("below") });
    let to_lead =
        NewMessage { from: by(shell, "sh"), ttl: Some(Duration::from_secs(5)), ..new(lead, "c") };
    house.send(to_lead);
    house.pass(Duration::from_secs(6));
    assert_eq!((house.inbox().len(), mail_of(&house, shell).len()), (3, 2));
    assert_eq!(house.take(shell, run), None);
    let text = house.inbox()[0].body.text.clone().unwrap();
    assert!(text.starts_with("This was for sh, which runs"), "{text}");
    house.tell(Report::KindIs { kind: "shell".to_owned(), commanded: false });
    house.ask(send(by(lead, "lead"))).unwrap();
}

#[test]
fn a_webhook_that_nobody_can_read_is_not_taken() {
    let mut house = House::new();
    for n in 0..SENDER_MAX.messages {
        house.ask(webhook(&n.to_string(), Some("/a"))).unwrap();
    }
    let before = house.newest();
    let full = house.ask(webhook("more", Some("/a")));
    assert!(matches!(full, Err(Denied::Refused(Refused::MailFull(_)))), "{full:?}");
    assert_eq!(house.newest(), before);
    let id = house.inbox()[0].id;
    house.message(Ask::ReadMessage { id });
    house.ask(webhook("more", Some("/a"))).unwrap();
}

/// Checks that the newest of `mail` says that `message` will not be read.
#[track_caller]
fn check_news(mail: &[Message], message: &Message) {
    let news = mail.first().unwrap();
    assert_eq!((news.reply_to, news.thread), (Some(message.id), message.id));
    assert_eq!((news.kind, &news.from.actor), (MessageKind::Error, &Actor::Cmux));
    let text = news.body.text.clone().unwrap();
    assert!(text.contains(&message.id.to_string()), "{text}");
}

/// Returns the mail of an agent, newest first.
fn mail_of(house: &House, id: AgentId) -> Vec<Message> {
    let filter = Filter { to_agent: Some(id), ..Filter::default() };
    let mail = house.read(|view| messages::page(view, &filter, None, 99));
    assert!(mail.iter().all(|it| matches!(it.to, Recipient::Agent { .. })));
    mail
}

/// Has an agent made that ends until it is left alone.
fn fail(house: &mut House, new: NewAgent) {
    let (id, mut run) = house.launch(new);
    while house.stored_agent(id).phase != Phase::Failed {
        house.actions.clear();
        house.see(id, run, Sighting::NotLaunched { why: "no room".to_owned() });
        house.see(id, run, Sighting::Cleared);
        house.pass(Duration::from_secs(30));
        let launched = |it: &Action| {
            let Action::LaunchAgent { agent, run } = it else { return None };
            (agent.id == id).then_some(*run)
        };
        run = house.actions.iter().find_map(launched).unwrap_or(run);
    }
}

fn webhook(delivery: &str, project: Option<&str>) -> Ask {
    let body = format!("body {delivery}");
    let webhook = Webhook {
        is_name_signed: false,
        source: "hub".to_owned(),
        delivery: delivery.to_owned(),
        event: Some("push".to_owned()),
        project: project.map(ProjectId::of),
        content_type: None,
        digest: Digest::of(body.as_bytes()),
        body: body.into_bytes(),
    };
    Ask::TakeWebhook { webhook }
}
