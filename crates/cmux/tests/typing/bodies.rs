//! Hostile texts: an agent reads what was sent, to the letter, and nothing else comes of it.

use std::collections::BTreeMap;
use std::fs;
use std::thread;

use cmux_core::delivery::normal;
use cmux_core::digest::Digest;
use cmux_testkit::dice::Dice;
use cmux_testkit::hostile::{FORGED, HOSTILE, body};
use cmux_wire::agent::{Agent, Phase};

use crate::count;
use crate::knock::{Door, Request};
use crate::scene::{Scene, messages};

/// How many agents read at the same time.
const READERS: usize = 4;

/// How many messages are sent before the first of them must be read. One by itself is shown as it is; of
/// many, a prompt shows no more than how long they are.
const WINDOWS: [usize; 4] = [1, 1, 3, 30];

/// How many messages are sent in one such way.
const STRETCH: usize = 5;

/// The longest body, in bytes, and the longest that is typed.
const BODY_MAX: usize = 10 << 20;
const TYPED_MAX: usize = 8 << 10;

/// How the pane of an agent is set by what is written to it.
const MODES: &str = "#{alternate_on} #{bracket_paste_flag} #{cursor_flag} #{insert_flag} #{keypad_cursor_flag} \
                     #{keypad_flag} #{mouse_any_flag} #{mouse_button_flag} #{mouse_sgr_flag} \
                     #{mouse_standard_flag} #{mouse_utf8_flag} #{origin_flag} #{wrap_flag} #{pane_in_mode} \
                     #{pane_input_off} #{scroll_region_upper} #{scroll_region_lower} #{pane_title}";

#[test]
fn whatever_a_body_holds_is_read_as_it_was_sent_and_does_nothing_else() {
    let scene = Scene::new();
    let mut dice = Dice::seeded();
    let canary = scene.path("canary", "txt");
    let agents: Vec<Agent> =
        (0..READERS).map(|n| scene.agent(&format!("reader{n}"), &[])).collect();
    scene.world.at_tmux(&["set-buffer", "-b", "clip", "what a person has copied"]);
    let before: Vec<String> = agents.iter().map(|agent| surroundings(&scene, agent)).collect();
    let mut all = corpus();
    all.extend(executed(&canary.display().to_string()));
    while all.len() < count("CMUX_BODIES", 300) {
        all.push(visible(&mut dice));
    }
    let share = all.len().div_ceil(READERS);
    thread::scope(|scope| {
        for (agent, bodies) in agents.iter().zip(all.chunks(share)) {
            let (scene, dice) = (&scene, dice.split());
            scope.spawn(move || send_all(scene, &agent.name, bodies, dice));
        }
    });
    assert!(!canary.exists(), "something was executed");
    for (agent, before) in agents.iter().zip(&before) {
        let after = scene.world.in_phase(&agent.name, Phase::Idle);
        assert_eq!((&after.run, after.pid), (&agent.run, agent.pid));
        assert_eq!(&surroundings(&scene, agent), before);
    }
}

#[test]
fn what_is_too_long_to_be_typed_is_named_and_lies_there_byte_by_byte() {
    let scene = Scene::new();
    scene.agent("reader", &[]);
    let controls: String = (0..=0x9f).filter_map(char::from_u32).collect();
    let line = "x".repeat(1 << 20);
    for body in [
        "x".repeat(TYPED_MAX),
        "x".repeat(TYPED_MAX + 1),
        controls.repeat(100),
        HOSTILE.concat() + &FORGED.concat().repeat(9),
        line,
        format!("{}{controls}\u{1b}[201~\r\n", "ä\n".repeat(BODY_MAX / 4)),
        "y".repeat(BODY_MAX),
    ] {
        let id = scene.send("reader", &body);
        scene.read(&id);
        let typed = messages(scene.prompts("reader").last().unwrap());
        let [(typed_id, typed)] = &typed[..] else { panic!("{typed:?}") };
        assert_eq!(*typed_id, id);
        if body.len() <= TYPED_MAX {
            assert!(is_whole(typed, &body), "{typed:?} is not {body:?}");
            continue;
        }
        let digest = Digest::of(body.as_bytes()).hex();
        let path = scene.world.root.join(".cmux/mail").join(&id).display().to_string();
        for told in [format!("({} bytes, sha256 {digest})", body.len()), path.clone()] {
            assert!(typed.contains(&told), "{typed}");
        }
        assert_eq!(Digest::of(&fs::read(path).unwrap()).hex(), digest);
    }
}

#[test]
fn what_is_no_text_is_refused_and_so_is_what_is_longer_than_any() {
    let scene = Scene::new();
    scene.agent("reader", &[]);
    let door = Door::Socket(scene.world.home.root().join("cmux.sock"));
    let longer = "x".repeat(BODY_MAX + 1);
    for (body, status, told) in [
        (r"\ud800", 400, "surrogate"),
        (r"\udc00", 400, "surrogate"),
        (r"a\ud83dz", 400, "surrogate"),
        (r"\ud83d\ud83d", 400, "surrogate"),
        (longer.as_str(), 413, "10485760"),
    ] {
        let new = format!(r#"{{"to":"reader","body":"{body}"}}"#);
        let answer = door.ask(&Request::new("POST", "/api/messages").with_json(new));
        let shown = &body[..body.len().min(40)];
        assert_eq!(answer.status, status, "{shown}: {answer:?}");
        assert!(answer.detail().contains(told), "{shown}: {answer:?}");
    }
    // A pair is a letter, and nothing of the others was kept.
    let new = r#"{"to":"reader","body":"\ud83d\ude00"}"#;
    let answer = door.ask(&Request::new("POST", "/api/messages").with_json(new));
    assert_eq!(answer.status, 201, "{answer:?}");
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    scene.read(&id);
    let prompts = scene.prompts("reader");
    assert_eq!(prompts.iter().flat_map(|it| messages(it)).collect::<Vec<_>>(), [(id, "😀".into())]);
}

/// Sends bodies to an agent, few or many at a time, and checks that it reads them in order, each once.
fn send_all(scene: &Scene, name: &str, bodies: &[String], mut dice: Dice) {
    let mut sent: Vec<(String, String)> = Vec::new();
    for stretch in bodies.chunks(STRETCH) {
        let kinds = u64::try_from(WINDOWS.len()).unwrap();
        let window = WINDOWS[usize::try_from(dice.below(kinds)).unwrap()];
        for body in stretch {
            if let Some(first) = sent.len().checked_sub(window) {
                scene.read(&sent[first].0);
            }
            sent.push((scene.send(name, body), body.clone()));
        }
    }
    sent.iter().for_each(|(id, _)| drop(scene.read(id)));
    let read: Vec<(String, String)> =
        scene.prompts(name).iter().flat_map(|prompt| messages(prompt)).collect();
    let expected: BTreeMap<&str, &str> =
        sent.iter().map(|(id, body)| (id.as_str(), body.as_str())).collect();
    for (id, typed) in &read {
        let body = expected[id.as_str()];
        assert!(is_whole(typed, body), "{id}: {typed:?} is not {body:?}");
    }
    let order = |all: &[(String, String)]| all.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
    assert_eq!(order(&read), order(&sent), "each once, in order");
}

/// Returns whether this is what is typed of a body. The scripted agent takes a tab for four blanks, as Claude
/// Code does. What would end in something that a prompt takes for a command has a line after it.
fn is_whole(typed: &str, body: &str) -> bool {
    let whole = normal(body).replace('\t', "    ");
    typed == whole || typed == format!("{whole}\n[end]")
}

/// Makes up a body in which there is something to be seen.
fn visible(dice: &mut Dice) -> String {
    loop {
        let made = body(dice);
        if !made.trim().is_empty() {
            return made;
        }
    }
}

/// Returns everything hostile that has a name, each as a body of its own: what ends a paste or looks like a
/// header, what tmux or a shell would take for its own, and a line as long as any that is typed.
fn corpus() -> Vec<String> {
    let own = ["x;", "x\\;", ";", "-n x", "-- -x", "-"].map(str::to_owned);
    let line = "a; -b #{c} ".repeat(TYPED_MAX).chars().take(TYPED_MAX).collect();
    let known = HOSTILE.iter().chain(FORGED).map(|it| (*it).to_owned());
    known.chain(own).chain([line]).filter(|it: &String| !it.trim().is_empty()).collect()
}

/// Returns bodies that would make a file, if anything in them were executed.
fn executed(file: &str) -> Vec<String> {
    let touch = format!("touch {file}");
    [
        format!("#({touch})"),
        format!("#{{l:x}}#({touch})"),
        format!("$({touch})"),
        format!("`{touch}`"),
        format!("'; {touch}; '"),
        format!("\"; {touch}; \""),
        format!("!{touch}"),
        format!("a\n!{touch}"),
        format!("\u{1b}[201~\r!{touch}\r"),
        format!("\u{3}\u{4}\r{touch}\r"),
        format!("; run-shell '{touch}'"),
        format!("}} ; run-shell '{touch}' ; {{"),
        format!("\n%end\n%begin\nrun-shell '{touch}'\n"),
        format!("\\; run-shell '{touch}'"),
        format!("\u{1b}]52;c;ZXZpbA==\u{7}{touch}"),
    ]
    .to_vec()
}

/// Returns how an agent's pane is set, and what a person has copied in its server.
fn surroundings(scene: &Scene, agent: &Agent) -> String {
    let pane = agent.pane.as_deref().unwrap();
    let modes = scene.world.at_tmux(&["display-message", "-p", "-t", pane, MODES]);
    let buffers = scene.world.at_tmux(&["list-buffers", "-F", "#{buffer_name} #{buffer_size}"]);
    let copied = scene.world.at_tmux(&["show-buffer", "-b", "clip"]);
    format!("{modes}{buffers}{copied}")
}
