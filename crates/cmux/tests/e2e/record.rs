//! Recordings of what the real CLIs show and tell, for the tests of what cmux makes of it.
//!
//! With `CMUX_RECORD=1` a run writes them over those that are committed. Nothing of this machine is in them.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use cmux_core::screen::Screen;
use cmux_testkit::store::payload;
use cmux_wire::agent::Agent;
use cmux_wire::event::Event;
use serde_json::Value;

use crate::PROGRAM;
use crate::stage::Stage;

/// What stands for the folder of the project, and for the folder that has all of a test in it.
const SHOP: &str = "/srv/shop";
const HOME: &str = "/srv";

/// What stands for the project's id.
const PROJECT: &str = "shop-00000000";

/// What stands for the name of this machine, where a terminal has no other title.
const HOST: &str = "host";

/// What stands for the program, and for where the model is.
const CMUX: &str = "/usr/bin/cmux";
const MODEL: &str = "127.0.0.1:80";

/// How many letters of an id follow its prefix.
const ID_LETTERS: usize = 26;

/// How a UUID is made up: so many letters, and dashes between them.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];

/// What stands for every UUID.
const NO_UUID: &str = "00000000-0000-0000-0000-000000000000";

/// What a terminal showed.
pub(crate) struct Shown {
    title: String,
    cursor: String,
    text: String,
}

impl Shown {
    /// Returns it as rules look at it.
    pub(crate) fn screen(&self) -> Screen {
        let (column, line) = self.cursor.split_once(',').unwrap();
        Screen {
            cursor: Some((column.parse().unwrap(), line.parse().unwrap())),
            title: self.title.clone(),
            ..Screen::of(&self.text)
        }
    }
}

/// Returns what an agent's terminal shows.
pub(crate) fn shown(stage: &Stage, agent: &Agent) -> Shown {
    let world = &stage.post.world;
    let pane = agent.pane.as_deref().unwrap();
    let head = "#{pane_title}\n#{cursor_x},#{cursor_y}";
    let head = world.at_tmux(&["display-message", "-p", "-t", pane, head]);
    let (title, cursor) = head.trim_end().rsplit_once('\n').unwrap();
    let text = world.at_tmux(&["capture-pane", "-p", "-t", pane]);
    Shown { title: title.to_owned(), cursor: cursor.to_owned(), text }
}

/// Writes what a terminal showed to the screens of a kind, if that is wanted.
pub(crate) fn keep(stage: &Stage, shown: &Shown, kind: &str, name: &str) {
    if !is_wanted() {
        return;
    }
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let title = match shown.title == host.trim() {
        true => HOST.to_owned(),
        false => clean(stage, &shown.title),
    };
    let (cursor, text) = (&shown.cursor, clean(stage, &shown.text));
    let text = format!("source: recorded\ntitle: {title}\ncursor: {cursor}\n---\n{text}");
    fs::write(folder("screens", kind).join(format!("{name}.txt")), text).unwrap();
}

/// Returns a screen of a kind as it was recorded, with another text.
pub(crate) fn recorded(kind: &str, name: &str, change: impl Fn(&str) -> String) -> Screen {
    let recorded = fs::read_to_string(folder("screens", kind).join(format!("{name}.txt"))).unwrap();
    let (head, text) = recorded.split_once("---\n").unwrap();
    let said = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let (title, cursor) = (said("title: ").to_owned(), said("cursor: ").to_owned());
    Shown { title, cursor, text: change(text) }.screen()
}

/// Waits until hooks of these names were called, and checks that what they were told last has the same keys as the
/// payloads of the kind that are committed, each with what its file is called. They are written anew if that is wanted.
#[track_caller]
pub(crate) fn hooks(stage: &Stage, kind: &str, wanted: &[(&str, &str)]) {
    let world = &stage.post.world;
    let database = world.home.root().join("cmux.db");
    for (event, name) in wanted {
        // It may be told a little later.
        let told = stage.eventually(event, || {
            let is_it = |it: &Event| it.data["name"] == *event;
            let events = world.events_of("hook.received");
            let told = events.iter().rev().find(|it| is_it(it))?;
            payload(&database, told.id)
        });
        let told = clean(stage, &String::from_utf8(told).unwrap());
        let told: Value = serde_json::from_str(&told).unwrap();
        let file = folder("hooks", kind).join(format!("{name}.json"));
        if is_wanted() {
            fs::write(&file, format!("{told:#}\n")).unwrap();
        }
        let known: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert_eq!(keys(&told), keys(&known), "{kind} tells {name} something else: {told:#}");
    }
}

/// Returns the names of all that a hook was told.
fn keys(told: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (name, value) in told.as_object().into_iter().flatten() {
        names.extend(keys(value).into_iter().map(|below| format!("{name}.{below}")));
        names.insert(name.clone());
    }
    names
}

fn is_wanted() -> bool {
    env::var_os("CMUX_RECORD").is_some()
}

/// Returns the folder of a kind's recordings of this sort.
fn folder(sort: &str, kind: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cmux-drivers/tests");
    let folder = folder.join(sort).join(kind);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Returns a text without anything of this run.
fn clean(stage: &Stage, text: &str) -> String {
    let url = stage.model.url();
    let address = url.strip_prefix("http://").unwrap();
    let world = &stage.post.world;
    let text = text.replace(PROGRAM, CMUX).replace(address, MODEL);
    neutral(&text.replace(&world.project, PROJECT), &world.root)
}

/// Returns a text without the folders of this machine, and with ids that are always the same.
fn neutral(text: &str, root: &Path) -> String {
    let home = root.parent().unwrap().to_str().unwrap();
    let dashed = |path: &str| path.replace(|it: char| !it.is_alphanumeric(), "-");
    let text = text.replace(root.to_str().unwrap(), SHOP).replace(home, HOME);
    let text = text.replace(&dashed(home), &dashed(HOME));
    let text = ["dlv_", "msg_", "agt_"].iter().fold(text, |text, prefix| {
        let mut parts = text.split(prefix);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |so_far, part| {
            let is_id = |it: &&str| it.chars().all(|c| c.is_ascii_alphanumeric());
            let rest = part.get(..ID_LETTERS).filter(is_id).map_or(part, |id| &part[id.len()..]);
            let id = if rest.len() < part.len() { "0".repeat(ID_LETTERS) } else { String::new() };
            format!("{so_far}{prefix}{id}{rest}")
        })
    });
    without_uuids(&text)
}

fn without_uuids(text: &str) -> String {
    let mut clean = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let taken = match rest.get(..NO_UUID.len()).filter(|it| is_uuid(it)) {
            Some(_) => {
                clean += NO_UUID;
                NO_UUID.len()
            }
            None => {
                clean.push(letter);
                letter.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    clean
}

fn is_uuid(text: &str) -> bool {
    let is_hex = |it: &str| it.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.split('-').map(str::len).eq(UUID) && text.split('-').all(is_hex)
}

#[test]
fn nothing_of_this_machine_is_recorded() {
    for (shown, expected) in [
        (
            "~ /tmp/x/project and /tmp/x/mail [cmux dlv_01M7JY9YQ5RGGNDYXX5XWRGW79 from dlv_…]",
            "~ /srv/shop and /srv/mail [cmux dlv_00000000000000000000000000 from dlv_…]",
        ),
        ("/tmp/x/.claude/-tmp-x-project/1.jsonl", "/srv/.claude/-srv-project/1.jsonl"),
        (
            "é 6ba7b810-9dad-11d1-80b4-00c04fd430c8, 6ba7b810-9dad-11d1-80b4",
            "é 00000000-0000-0000-0000-000000000000, 6ba7b810-9dad-11d1-80b4",
        ),
    ] {
        assert_eq!(neutral(shown, Path::new("/tmp/x/project")), expected);
    }
}
