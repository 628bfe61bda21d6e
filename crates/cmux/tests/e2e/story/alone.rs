//! It speaks to its model and to nobody else, and it has nothing of the person's who runs the tests.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use cmux_wire::agent::Phase;

use crate::stage::{Cli, NOWHERE, SUPERVISOR, Stage, program};

/// A program that has every connection of another noted and every file that it opens, and of all that it starts.
/// The other one has the place in the process table that it would have had.
const NOTING: &str = "#!/bin/sh\nexec strace -D -f -qq -e signal=none \
    -e trace=bind,connect,getsockname,?open,openat,?openat2,sendto,sendmsg,sendmmsg \
    -o 'TRACE' 'PROGRAM' \"$@\"\n";

/// The calls by which a file is opened: not every C library uses the same.
const OPENS: [&str; 3] = [" open(", " openat(", " openat2("];

/// Where everything is that a stranger has. Set while a test runs for them.
const STRANGERS: &str = "E2E_STRANGERS";

/// What is in everything of theirs.
const STRANGE: &str = "stranger";

const THEIR_KEYS: [&str; 9] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CODEX_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENAI_API_KEY",
    "OPENCODE_API_KEY",
    "SCRIPTED_KEY",
];

const THEIR_MODELS: [&str; 3] = ["ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OPENAI_BASE_URL"];

const THEIR_FOLDERS: [&str; 8] = [
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "HOME",
    "OPENCODE_CONFIG_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// Where a CLI is sent that wants something of another machine. It is turned away, and what it wanted is noted.
struct Gate {
    address: SocketAddr,
    wanted: Arc<Mutex<BTreeSet<String>>>,
}

impl Gate {
    fn open() -> Gate {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let gate = Gate { address: listener.local_addr().unwrap(), wanted: Arc::default() };
        let wanted = Arc::clone(&gate.wanted);
        // It ends with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut line = String::new();
                let _ = BufReader::new(stream).read_line(&mut line);
                let place = line.split_whitespace().nth(1).unwrap_or("nothing").to_owned();
                wanted.lock().unwrap().insert(place);
            }
        });
        gate
    }
}

/// Has a stranger run this very test, in whose environment are keys, models and folders of their own: none of
/// them gets to the CLI, nothing is written to their folders, and it speaks to its model alone. It may want these
/// places, and does not get there.
pub(crate) fn knows_nobody(test: &str, cli: &Cli, runs: fn(&str) -> String, wants: &[&str]) {
    if let Some(theirs) = env::var_os(STRANGERS) {
        speaks_to_its_model_alone(cli, runs, wants);
        fs::write(Path::new(&theirs).join("ran"), "").unwrap();
        return;
    }
    let theirs = tempfile::Builder::new().prefix(&format!("cmux-{STRANGE}-")).tempdir().unwrap();
    let folder = theirs.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let mut again = Command::new(env::current_exe().unwrap());
    again.args(["--exact", test, "--nocapture"]).env(STRANGERS, theirs.path());
    again.envs(THEIR_KEYS.map(|name| (name, format!("key-of-a-{STRANGE}"))));
    again.envs(THEIR_MODELS.map(|name| (name, format!("http://127.0.0.1:1/{STRANGE}"))));
    again.envs(THEIR_FOLDERS.map(|name| (name, &folder)));
    assert!(again.status().unwrap().success(), "as a stranger runs it");
    assert!(theirs.path().join("ran").exists(), "there is no test {test}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "something is in {}", folder.display());
}

fn speaks_to_its_model_alone(cli: &Cli, runs: fn(&str) -> String, wants: &[&str]) {
    let mut stage = Stage::set(cli);
    let gate = Gate::open();
    let trace = have_noted(&stage, &gate);
    stage.post.world.reborn();
    let supervisor = stage.supervisor(cli);
    stage.tell(&format!("{}\n@@ say done", runs("cmux status")));
    stage.in_phase(SUPERVISOR, Phase::Idle);
    check_program(&stage, cli, supervisor.pid.unwrap());
    check_strangers(&stage);
    stage.told(&["agent", "stop", SUPERVISOR]);
    stage.in_phase(SUPERVISOR, Phase::Offline);

    let noted = fs::read_to_string(&trace).unwrap();
    let model: SocketAddr = stage.model.url().strip_prefix("http://").unwrap().parse().unwrap();
    let spoken = ports(&noted, &["connect(", "sendto(", "sendmsg(", "sendmmsg("]);
    assert!(spoken.iter().any(|(port, _)| *port == Some(model.port())), "{noted}");
    // What it has at the loopback itself, it may speak to.
    let own = ports(&noted, &["bind(", "getsockname("]);
    let is_known = |port: u16| {
        port == model.port()
            || port == gate.address.port()
            || own.iter().any(|it| it.0 == Some(port))
    };
    let others: Vec<&str> =
        spoken.iter().filter(|(port, _)| !port.is_some_and(is_known)).map(|it| it.1).collect();
    assert!(others.is_empty(), "{others:#?}");
    let own = stage.post.world.home.folder("person");
    assert!(files(&noted).any(|(path, _)| path.starts_with(&own)), "nothing is noted of its files");
    let opened = opened_of_the_person(&noted, interpreter(cli.kind).as_deref());
    assert!(opened.is_empty(), "it looks for what is the person's: {opened:#?}");
    assert_eq!(stage.model.strays(), [""; 0]);
    let wanted = gate.wanted.lock().unwrap();
    let unknown: Vec<&String> = wanted.iter().filter(|it| !wants.contains(&it.as_str())).collect();
    assert!(unknown.is_empty(), "it wants {unknown:?}");
}

/// Returns the folder of the interpreter that a kind is run by, if it is one of the machine's, and what has put it
/// there: `pyenv` has `versions/3.11.7/bin` in its own.
fn interpreter(kind: &str) -> Option<PathBuf> {
    let place = program(kind).parent()?.with_file_name(kind);
    let about = fs::read_to_string(place.join("pyvenv.cfg")).ok()?;
    let programs = Path::new(about.lines().find_map(|line| line.strip_prefix("home = "))?);
    let pyenv = programs.ancestors().find(|it| it.ends_with(".pyenv"));
    pyenv.or(programs.parent()).map(Path::to_owned)
}

/// Returns the lines about files in the home of whoever runs the tests, where no variable leads. What is built and
/// installed in this checkout may be there, too, and so may the `interpreter`.
fn opened_of_the_person<'a>(noted: &'a str, interpreter: Option<&Path>) -> Vec<&'a str> {
    let home = home_by_the_system().expect("whoever runs the tests has a home");
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let is_known = |path: &Path| {
        path.starts_with(&checkout) || interpreter.is_some_and(|it| path.starts_with(it))
    };
    let is_theirs = |path: &Path| path.starts_with(&home) && !is_known(path);
    files(noted).filter(|(path, _)| is_theirs(path)).map(|(_, line)| line).collect()
}

/// Returns the files that were opened, be it in vain, with the lines that tell of it.
fn files(noted: &str) -> impl Iterator<Item = (PathBuf, &str)> {
    let is_open = |line: &&str| OPENS.iter().any(|call| line.contains(call));
    let path = |line: &str| PathBuf::from(line.split('"').nth(1).unwrap_or_default());
    noted.lines().filter(is_open).map(move |line| (path(line), line))
}

/// Returns the home of whoever runs the tests as the system's list of users has it.
fn home_by_the_system() -> Option<PathBuf> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let uid = rustix::process::getuid().as_raw().to_string();
    let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<String>>();
    let mine = users.lines().map(fields).find(|fields| fields.get(2) == Some(&uid))?;
    mine.get(5).filter(|home| home.len() > 1).map(PathBuf::from)
}

/// Returns the ports at the loopback in these calls of what was noted, with the lines. There is none in a line
/// about another machine.
fn ports<'a>(noted: &'a str, calls: &[&str]) -> Vec<(Option<u16>, &'a str)> {
    let lines = noted.lines().filter(|line| line.contains("sa_family=AF_INET"));
    let lines = lines.filter(|line| calls.iter().any(|call| line.contains(call)));
    let port = |line: &str| {
        line.contains("sin_addr=inet_addr(\"127.0.0.1\")").then_some(())?;
        line.split_once("sin_port=htons(")?.1.split_once(')')?.0.parse().ok()
    };
    lines.map(|line| (port(line), line)).collect()
}

/// Has all that is launched from now on noted, and returns where.
fn have_noted(stage: &Stage, gate: &Gate) -> PathBuf {
    let home = &stage.post.world.home;
    let (trace, noting) = (home.folder("traces").join("trace"), home.folder("traces").join("cli"));
    let config = home.root().join("config.toml");
    let written = fs::read_to_string(&config).unwrap();
    let program = written.split('"').nth(1).unwrap();
    let script = NOTING.replace("TRACE", trace.to_str().unwrap()).replace("PROGRAM", program);
    fs::write(&noting, script).unwrap();
    fs::set_permissions(&noting, fs::Permissions::from_mode(0o755)).unwrap();
    let there = format!("http://{}", gate.address);
    let noted = written.replace(program, noting.to_str().unwrap()).replace(NOWHERE, &there);
    fs::write(&config, noted).unwrap();
    trace
}

/// Checks that what runs is what `scripts/agents` has installed, and not something of the machine's.
#[track_caller]
fn check_program(stage: &Stage, cli: &Cli, launcher: u32) {
    let runs = fs::read_link(format!("/proc/{}/exe", stage.post.world.cli(launcher))).unwrap();
    let place = program(cli.kind).parent().unwrap().with_file_name(cli.kind);
    assert!(runs.starts_with(&place), "{} is not in {}", runs.display(), place.display());
}

/// Checks that nothing that runs has anything of a stranger's.
#[track_caller]
fn check_strangers(stage: &Stage) {
    for pid in stage.post.world.home.processes() {
        let has = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut has = has.split(|&byte| byte == 0).map(String::from_utf8_lossy);
        assert_eq!(has.find(|it| it.contains(STRANGE)), None, "{pid}");
    }
}
