//! What keeping agents costs: their start, the notice of their death, and the time and memory that the
//! daemon takes while they do nothing. Each beside a baseline in the same run: the same program started in
//! tmux by hand, a handle of the kernel's on a child, and a bare loop that lists the same panes.
//!
//! `CMUX_PROGRAM` names the release build that is measured. The agents are demo agents.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and fails by panicking"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cmux_drivers::process::{Process, children};
use cmux_drivers::tmux::control::Control;
use cmux_drivers::tmux::pane;
use cmux_drivers::tmux::server::Server;
use cmux_drivers::tmux::version;
use cmux_testkit::home::TestHome;
use cmux_wire::agent::{Agent, NewAgent, Phase};
use cmux_wire::client::EventQuery;
use cmux_wire::event::Event;
use rustix::process::Signal;
use serde_json::json;
use tokio::runtime::Runtime;

/// How many agents there are, at first and then.
const FEW: usize = 50;
const MANY: usize = 200;

/// How many are started one by one, and how many are killed.
const STARTS: usize = 9;
const DEATHS: usize = FEW;

/// How long a quiet stretch is, and how long it takes to become quiet.
const QUIET: Duration = Duration::from_secs(30);
const SETTLES: Duration = Duration::from_secs(15);

/// How often the daemon looks at its panes.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// What is on a demo agent's screen when it is at its prompt.
const AT_PROMPT: &str = "accept edits on";

fn main() {
    let Ok(program) = std::env::var("CMUX_PROGRAM") else {
        println!("CMUX_PROGRAM is not set: `make bench` sets it");
        return;
    };
    let world = World::new(&program);
    println!("agents that are kept, all of them the demo agent\n");
    world.measure_starts();
    world.measure_deaths();
    world.measure_quiet(FEW, 1.0);
    world.spawn(FEW..MANY);
    world.wait_idle(MANY);
    world.measure_quiet(MANY, 2.0);
    world.measure_agent();
    world.measure_stops();
}

struct World {
    home: TestHome,
    runtime: Runtime,
    daemon: cmux_testkit::daemon::Daemon,
    project: String,
}

impl World {
    fn new(program: &str) -> World {
        let home = TestHome::new(program);
        let root = home.folder("project");
        fs::create_dir(root.join(".git")).unwrap();
        let daemon = home.daemon();
        let added = home.json(&["project", "add", root.to_str().unwrap()]);
        let project = added["id"].as_str().unwrap().to_owned();
        World { home, runtime: Runtime::new().unwrap(), daemon, project }
    }

    /// Asks for agents with these numbers, all at once.
    fn spawn(&self, numbers: std::ops::Range<usize>) {
        let all = numbers.map(|number| {
            let new = json!({ "project": self.project, "name": name(number), "kind": "demo" });
            let (new, client): (NewAgent, _) =
                (serde_json::from_value(new).unwrap(), self.home.client());
            self.runtime.spawn(async move { client.spawn_agent(&new).await.unwrap() })
        });
        let all: Vec<_> = all.collect();
        for asked in all {
            self.runtime.block_on(asked).unwrap();
        }
    }

    fn agents(&self) -> Vec<Agent> {
        let (mut all, mut after): (Vec<Agent>, _) = (Vec::new(), None);
        loop {
            let asked = self.home.client();
            let page = self.runtime.block_on(asked.agents(None, after.as_deref())).unwrap();
            all.extend(page.agents);
            after = page.next;
            if after.is_none() {
                return all;
            }
        }
    }

    /// Waits until so many agents are at their prompt.
    fn wait_idle(&self, count: usize) {
        wait(Duration::from_millis(20), || {
            let agents = self.agents();
            agents.iter().filter(|agent| agent.phase == Phase::Idle).count() >= count
        });
    }

    /// Has agents do `verb`, all at once.
    fn have(&self, numbers: std::ops::Range<usize>, verb: &'static str) {
        let all = numbers.map(|number| {
            let (client, project) = (self.home.client(), self.project.clone());
            self.runtime.spawn(async move {
                client.have_agent(&name(number), verb, Some(&project)).await.unwrap()
            })
        });
        let all: Vec<_> = all.collect();
        for asked in all {
            self.runtime.block_on(asked).unwrap();
        }
    }

    /// Measures how long agents take from being asked for to their prompt: one, and many at once.
    fn measure_starts(&self) {
        let (mut bare, mut kept) = (Vec::new(), Vec::new());
        for number in 0..STARTS {
            bare.push(self.start_bare(1));
            let begun = Instant::now();
            self.spawn(number..number + 1);
            self.wait_idle(number + 1);
            kept.push(begun.elapsed());
        }
        tell_times("one demo agent, spawn to ready", middle(&mut bare), middle(&mut kept));
        let bare = self.start_bare(FEW - STARTS);
        let begun = Instant::now();
        self.spawn(STARTS..FEW);
        self.wait_idle(FEW);
        tell_times(&format!("{} at once", FEW - STARTS), bare, begun.elapsed());
    }

    /// Starts the same program in tmux by hand, so often at once, and returns when all are at the prompt.
    fn start_bare(&self, count: usize) -> Duration {
        let folder = self.home.folder("bare");
        let socket = folder.join("tmux");
        let program = self.home.program().to_str().unwrap().to_owned();
        let begun = Instant::now();
        tmux(&socket, &["-f", "/dev/null", "new-session", "-d", "-x", "200", "-y", "50"]);
        for number in 0..count {
            let state = folder.join(number.to_string());
            let state = state.to_str().unwrap();
            let words = ["demo", "--state", state, "--permission-mode", "acceptEdits"];
            tmux(&socket, &[&["new-window", "-d", &program][..], &words].concat());
        }
        for number in 1..=count {
            let window = format!(":{number}");
            wait(Duration::from_millis(5), || {
                tmux(&socket, &["capture-pane", "-p", "-t", &window]).contains(AT_PROMPT)
            });
        }
        let took = begun.elapsed();
        tmux(&socket, &["kill-server"]);
        took
    }

    /// Measures how long it takes from the death of an agent's CLI until that is told to whoever follows
    /// the log.
    fn measure_deaths(&self) {
        let agents = self.agents();
        let wanted = EventQuery { since: Some(i64::MAX), ..EventQuery::default() };
        let mut stream = self.runtime.block_on(self.home.client().follow(&wanted)).unwrap();
        let (mut bare, mut kept) = (Vec::new(), Vec::new());
        for agent in agents.iter().take(DEATHS) {
            bare.push(die_bare());
            let cli = children(agent.pid.unwrap()).pop().unwrap();
            let begun = Instant::now();
            cli.signal(Signal::KILL).unwrap();
            loop {
                let text = self.runtime.block_on(stream.next_text()).unwrap().unwrap();
                let Ok(event) = serde_json::from_str::<Event>(&text) else { continue };
                if event.kind == "agent.exited" && event.agent.as_ref() == Some(&agent.id) {
                    break;
                }
            }
            kept.push(begun.elapsed());
        }
        bare.sort();
        kept.sort();
        println!(
            "{:<42}{:>9.1} ms   p99 {:>7.1} ms   bare {:.2} ms   goal: under 200 ms",
            "an agent's death to its event, p50",
            ms(kept[kept.len() / 2]),
            ms(kept[kept.len() * 99 / 100]),
            ms(bare[bare.len() / 2]),
        );
        self.wait_idle(agents.len());
    }

    /// Measures what the daemon takes while `count` agents do nothing.
    fn measure_quiet(&self, count: usize, goal: f64) {
        std::thread::sleep(SETTLES);
        let daemon = self.daemon.pid().cast_unsigned();
        let servers = self.servers();
        let before = (cpu(&[daemon]), cpu(&servers), sleeps(daemon));
        std::thread::sleep(QUIET);
        let after = (cpu(&[daemon]), cpu(&servers), sleeps(daemon));
        // Threads that have ended meanwhile are not counted.
        let slept =
            after.2.iter().map(|(thread, count)| count - before.2.get(thread).unwrap_or(&0));
        let wakeups = slept.sum::<u64>() / QUIET.as_secs();
        let share = |before: Duration, after: Duration| {
            (after.saturating_sub(before)).as_secs_f64() / QUIET.as_secs_f64() * 100.0
        };
        let bare = self.loop_bare();
        println!(
            "{:<42}{:>9.2} %    bare {bare:.2} %   goal: under {goal:.0} % of a core",
            format!("{count} quiet agents, the daemon's time"),
            share(before.0, after.0),
        );
        println!(
            "{:<42}{:>9.2} %    for information; {wakeups} wakeups a second, {} threads",
            "  tmux's own",
            share(before.1, after.1),
            fs::read_dir(format!("/proc/{daemon}/task")).unwrap().count(),
        );
        println!(
            "{:<42}{:>9.1} MB   goal: under 60 MB",
            "  the daemon's memory",
            resident_kb(daemon) as f64 / 1024.0
        );
    }

    /// Returns how much of a core it takes to list the panes of all servers as often as the daemon does.
    fn loop_bare(&self) -> f64 {
        let tmux = version::find(&std::env::var_os("PATH").unwrap()).unwrap();
        let sockets = self.sockets();
        self.runtime.block_on(async {
            let mut lines = Vec::new();
            for socket in sockets {
                let (folder, name) = (socket.parent().unwrap(), socket.file_name().unwrap());
                let name = name.to_str().unwrap();
                let server = Server::at(&tmux, folder, name, std::env::vars_os()).unwrap();
                lines.push(Control::connect(&server, PATIENCE).await.unwrap());
            }
            let begun = Instant::now();
            let before = own_time();
            while begun.elapsed() < QUIET / 2 {
                for (control, _) in &lines {
                    pane::survey(control, PATIENCE).await.unwrap();
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
            let took = own_time().saturating_sub(before);
            took.as_secs_f64() / begun.elapsed().as_secs_f64() * 100.0
        })
    }

    /// Returns where the servers listen that the agents live in.
    fn sockets(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.home.root().join("tmux")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| {
                path.file_name().unwrap().to_str().unwrap().starts_with(&self.project)
                    && path.extension().is_none_or(|it| it != "lock")
            })
            .collect()
    }

    fn servers(&self) -> Vec<u32> {
        let pid = |socket: &PathBuf| tmux(socket, &["display-message", "-p", "#{pid}"]);
        self.sockets().iter().map(|socket| pid(socket).trim().parse().unwrap()).collect()
    }

    /// Measures one agent, with what launched it.
    fn measure_agent(&self) {
        let launcher = self.agents()[0].pid.unwrap();
        let cli = children(launcher).pop().unwrap();
        println!(
            "{:<42}{:>9.1} MB   and {:.1} MB for what launched it; {} and {} threads",
            "  one demo agent's memory",
            resident_kb(cli.pid) as f64 / 1024.0,
            resident_kb(launcher) as f64 / 1024.0,
            fs::read_dir(format!("/proc/{}/task", cli.pid)).unwrap().count(),
            fs::read_dir(format!("/proc/{launcher}/task")).unwrap().count(),
        );
    }

    /// Measures how long it takes until many agents that are stopped at once are gone, and nothing of
    /// them is left.
    fn measure_stops(&self) {
        let begun = Instant::now();
        let daemon = self.daemon.pid().cast_unsigned();
        let before = cpu(&[daemon]);
        self.have(0..FEW, "stop");
        wait(Duration::from_millis(20), || {
            let agents = self.agents();
            let is_gone = |agent: &&Agent| agent.phase == Phase::Offline && agent.pid.is_none();
            agents.iter().filter(is_gone).count() >= FEW
        });
        println!(
            "{:<42}{:>9.0} ms   {:.0} ms of the daemon's time",
            format!("{FEW} of {MANY} stopped at once"),
            ms(begun.elapsed()),
            ms(cpu(&[daemon]).saturating_sub(before)),
        );
    }
}

fn name(number: usize) -> String {
    format!("agent-{number}")
}

/// Kills a child, and returns how long it takes until a handle on it tells.
fn die_bare() -> Duration {
    let mut child = Command::new("sleep").arg("1000").stdout(Stdio::null()).spawn().unwrap();
    let process = Process::find(child.id()).unwrap();
    let begun = Instant::now();
    child.kill().unwrap();
    process.wait_end(PATIENCE);
    let took = begun.elapsed();
    child.wait().unwrap();
    took
}

/// Runs tmux, and returns what it said.
fn tmux(socket: &Path, words: &[&str]) -> String {
    let mut command = Command::new("tmux");
    command.env_remove("TMUX").arg("-S").arg(socket).args(words);
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}

#[track_caller]
fn wait(apart: Duration, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it never came to be");
        std::thread::sleep(apart);
    }
}

fn tell_times(what: &str, bare: Duration, kept: Duration) {
    println!(
        "{what:<42}{:>9.0} ms   bare {:.0} ms   {:.1}×",
        ms(kept),
        ms(bare),
        kept.as_secs_f64() / bare.as_secs_f64()
    );
}

/// Returns how long these processes have run on a processor, their threads that have ended too.
fn cpu(pids: &[u32]) -> Duration {
    let ticks = pids.iter().map(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let fields: Vec<&str> = fields.split(' ').collect();
        let [user, system] = [11, 12].map(|index: usize| fields[index].parse::<u64>().unwrap());
        user + system
    });
    // The kernel tells of hundredths of a second.
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

/// Returns how long the threads of this process have run, more exactly: none of them ends.
fn own_time() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let spent = tasks.filter_map(|task| {
        let told = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        told.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(spent.sum())
}

/// Returns how often each thread of a process went to sleep.
fn sleeps(pid: u32) -> BTreeMap<String, u64> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let slept = tasks.filter_map(|task| {
        let task = task.ok()?;
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let line = status.lines().find_map(|it| it.strip_prefix("voluntary_ctxt_switches:"))?;
        Some((task.file_name().into_string().ok()?, line.trim().parse().ok()?))
    });
    slept.collect()
}

fn resident_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn middle(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
