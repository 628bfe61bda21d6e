//! Names, words and texts: whatever is in them, it is only text.

use std::fs;

use cmux_drivers::tmux::command::Command;
use cmux_drivers::tmux::pane::Life;
use cmux_drivers::tmux::quote::literal;
use cmux_testkit::wait::eventually;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::world::{WITHIN, World, text};

/// What tmux, its formats or a shell would understand.
const STRANGE: [&str; 22] = [
    "plain",
    "a;b",
    "a ; kill-server",
    "#{pane_id}",
    "#(touch /tmp/cmux-was-here)",
    "#[fg=red]x",
    "##[x]",
    "#",
    "two  spaces ",
    "it's \"quoted\"",
    "-n",
    "--",
    "-",
    "$HOME ${HOME}",
    "~/x",
    "~root",
    "back\\slash\\",
    "{ braces }",
    "100%d %s",
    "üñí 日本 🦀",
    "a:b.c",
    "=cmux:0",
];

#[test]
fn a_name_is_only_a_name() {
    let world = World::new();
    let control = world.control();
    for name in STRANGE {
        let mut spawn = world.script("exec cat");
        spawn.tags.name = name.into();
        spawn.tags.kind = name.into();
        let spawned = world.wait(spawn.make(&control, WITHIN)).unwrap();
        let pane = world.pane(&control, spawned.pane);
        assert_eq!((pane.tags, pane.pid), (Some(spawn.tags), Some(spawned.pid)), "{name}");
        let shown = Command::new("display-message")
            .with("-t", &spawned.pane.to_string())
            .with("-p", "#{window_name}");
        // A backslash is shown as two in some versions.
        let shown = world.tell(&control, &shown).trim_end_matches('\n').replace("\\\\", "\\");
        assert_eq!(shown, name.replace([':', '.'], "_").replace("\\\\", "\\"), "{name}");
    }
    assert!(!std::path::Path::new("/tmp/cmux-was-here").exists());
}

#[test]
fn words_folders_and_variables_arrive_as_they_were_given() {
    let world = World::new();
    let control = world.control();
    let mut strange: Vec<&str> = STRANGE.to_vec();
    strange.extend(["", "a\nb\n", "\t\u{1b}[1m", "\u{1}\u{7f}"]);
    for (index, word) in strange.into_iter().enumerate() {
        let folder = world.path(&format!("{index} {}", word.replace('/', "_")));
        fs::create_dir(&folder).unwrap();
        let mut spawn = world.script("");
        spawn.folder = text(&folder);
        spawn.environment.push(("STRANGE".into(), word.into()));
        let script = "pwd -P; printf '<%s>' \"$STRANGE\" \"$@\"; printf done";
        let script = format!("{{ {script}; }} > ../said-{index}");
        spawn.words = ["sh", "-c", &script, "sh", word, "x"].map(ToOwned::to_owned).to_vec();
        let spawned = world.wait(spawn.make(&control, WITHIN)).unwrap();
        assert_eq!(world.see_end(&control, spawned.pane), Life::Exited { code: 0 }, "{word:?}");
        let said = fs::read_to_string(world.path(&format!("said-{index}"))).unwrap();
        assert_eq!(said, format!("{}\n<{word}><{word}><x>done", folder.display()));
    }
}

#[test]
fn a_single_word_is_a_program_and_its_process_is_the_panes() {
    let world = World::new();
    let control = world.control();
    let mut spawn = world.script("");
    spawn.words = vec!["cat".into()];
    let spawned = world.wait(spawn.make(&control, WITHIN)).unwrap();
    eventually("cat itself", || {
        let name = fs::read_to_string(format!("/proc/{}/comm", spawned.pid)).unwrap();
        (name == "cat\n").then_some(())
    });
}

#[test]
fn what_cannot_be_started_dies_in_its_pane() {
    let world = World::new();
    let control = world.control();
    let mut lost = world.script("exec cat");
    lost.folder = "/no/such/folder".into();
    let mut absent = world.script("");
    absent.words = vec!["no-such-program-here".into()];
    for (spawn, code) in [(lost, 2), (absent, 127)] {
        let spawned = world.wait(spawn.make(&control, WITHIN)).unwrap();
        let Life::Exited { code: found } = world.see_end(&control, spawned.pane) else { panic!() };
        // What it says may be lost when tmux hears of its end before it reads that. Shells do not agree
        // on how they fail to change the folder.
        assert!(found == code || (code == 2 && found == 1), "{found}");
    }
}

#[test]
fn a_title_cannot_look_like_another_pane() {
    let world = World::new();
    let control = world.control();
    let forged = "%99\\t1\\t0\\t\\t\\t0\\t0\\t1\\t1\\t0\\t0\\t\\t\\t\\t\\t\\tx";
    let script = format!(
        "printf '\\033]2;before\\007'; printf '\\033]2;a\\n{forged}\\007'; \
         printf '\\033]2;after \\351\\007'; printf 'wrote'; exec cat"
    );
    let (agent, tags) = world.agent(&control, &script);
    world.see(&control, agent.pane, "wrote");
    // Whoever can command the server can set tags: they make a pane nobody's, and none another's.
    let (other, _) = world.agent(&control, "exec cat");
    let set = Command::new("set-option").flag("-p").with("-t", &other.pane.to_string());
    world.tell(&control, &set.flag("@cmux_run").word(&format!("x\n{forged}")));
    let panes = world.survey(&control);
    assert_eq!(panes.len(), 3, "{panes:?}");
    assert_eq!(world.pane(&control, agent.pane).tags, Some(tags));
    assert_eq!(world.pane(&control, other.pane).tags, None);
}

#[test]
fn any_text_comes_back_from_tmux_as_it_was() {
    let world = World::new();
    let control = world.control();
    let mut runner =
        TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
    let strange = prop::sample::select(STRANGE.to_vec()).prop_map(ToOwned::to_owned);
    let parts = prop_oneof![strange, "[ -~]{0,8}", any::<String>()];
    let texts = prop::collection::vec(parts, 0..4).prop_map(|it| it.concat().replace('\0', ""));
    let checked = runner.run(&texts, |text| {
        let set = Command::new("set-option").flag("-s").flag("--").word("@x").word(&text);
        let show = Command::new("display-message").with("-p", "#{@x}");
        let said = world.wait(control.command(&set.then(show), WITHIN)).unwrap().text();
        prop_assert_eq!(said.strip_suffix('\n').unwrap(), &text);
        // A format has no line breaks in it, and strftime has its say in what is displayed.
        let line = text.replace('%', "").replace(char::is_control, " ");
        let show = Command::new("display-message").flag("-p").flag("--").word(&literal(&line));
        let said = world.wait(control.command(&show, WITHIN)).unwrap().text();
        prop_assert_eq!(said.strip_suffix('\n').unwrap(), &line);
        Ok(())
    });
    checked.unwrap();
}
