//! Somebody who asks the daemon, and sees whether it keeps its word.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use cmux_testkit::daemon::Daemon;
use cmux_testkit::home::Ran;
use cmux_wire::client::{Client, ClientError, EventQuery};
use cmux_wire::daemon::Status;
use cmux_wire::event::Event;
use cmux_wire::problem::Problem;
use cmux_wire::project::{NewProject, Project};
use cmux_wire::store::{Audit, Check};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::PROGRAM;

/// The most events that one page may have.
const PAGE_MAX: u32 = 1000;

/// Somebody who asks the daemon.
pub(crate) struct Caller {
    client: Client,
    runtime: Runtime,
}

/// All that the daemon tells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) log: String,
    pub(crate) events: Vec<Event>,
    pub(crate) projects: Vec<Project>,
}

impl Caller {
    pub(crate) fn new(client: Client) -> Caller {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Caller { client, runtime }
    }

    /// Adds the project at `root`, which need not be there.
    pub(crate) fn add(&self, root: &str) -> Result<Project, ClientError> {
        let new = NewProject { root: root.to_owned(), name: None };
        self.runtime.block_on(self.client.add_project(&new))
    }

    /// Adds the project at `root`, and sees that it is refused. Returns how.
    #[track_caller]
    pub(crate) fn add_in_vain(&self, root: &str) -> Problem {
        match self.add(root) {
            Err(ClientError::Refused(problem)) => problem,
            added => panic!("it should have been refused: {added:?}"),
        }
    }

    pub(crate) fn status(&self) -> Result<Status, ClientError> {
        self.runtime.block_on(self.client.status())
    }

    pub(crate) fn audit(&self) -> Result<Audit, ClientError> {
        self.runtime.block_on(self.client.audit())
    }

    /// Reads all that there is, page by page.
    pub(crate) fn read_all(&self) -> Result<Told, ClientError> {
        self.runtime.block_on(async {
            let mut told = Told { log: String::new(), events: Vec::new(), projects: Vec::new() };
            loop {
                let since = told.events.last().map_or(0, |last| last.id);
                let wanted = EventQuery {
                    since: Some(since),
                    limit: Some(PAGE_MAX),
                    ..EventQuery::default()
                };
                let page = self.client.events(&wanted).await?;
                told.log = page.log;
                if page.events.is_empty() {
                    break;
                }
                told.events.extend(page.events);
            }
            let mut after = None;
            loop {
                let page = self.client.projects(after.as_deref()).await?;
                told.projects.extend(page.projects);
                after = page.next;
                if after.is_none() {
                    return Ok(told);
                }
            }
        })
    }

    /// Looks at every page of the store.
    pub(crate) fn check(&self) -> Result<Check, ClientError> {
        self.runtime.block_on(self.client.check())
    }

    /// Returns whether each of `projects` is found by its id.
    pub(crate) fn finds(&self, projects: &[Project]) -> Result<bool, ClientError> {
        self.runtime.block_on(async {
            for project in projects {
                match self.client.project(&project.id).await {
                    Err(ClientError::Refused(problem)) if problem.status == 404 => {
                        return Ok(false);
                    }
                    found => found?,
                };
            }
            Ok(true)
        })
    }

    /// Returns how many events of `kind` there are.
    pub(crate) fn count(&self, kind: &str) -> usize {
        let events = self.read_all().unwrap().events;
        events.iter().filter(|event| event.kind == kind).count()
    }
}

impl Told {
    /// Returns whether the project at `root` is there.
    pub(crate) fn knows(&self, root: &str) -> bool {
        self.projects.iter().any(|project| project.root == root)
    }
}

/// Asks for `path` on the port that any program on the machine can reach. Returns status and answer.
pub(crate) fn get(port: u16, path: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost:{port}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

/// Waits for the end of what was launched and should not last. It is killed if it does.
pub(crate) fn run_out(mut launched: Daemon) -> Ran {
    let code = launched.wait().code();
    Ran { code, stdout: String::new(), stderr: launched.said() }
}

/// Returns how much of a processor's time the process `pid` has used.
pub(crate) fn processor_time(pid: i32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The name, in parentheses, may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks = [11, 12].map(|n: usize| fields[n].parse::<u64>().unwrap());
    // To programs the kernel counts in hundredths of a second, however it counts itself.
    Duration::from_millis(ticks.iter().sum::<u64>() * 10)
}

/// Returns the names in the folder `path`.
pub(crate) fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Returns the processes that were told of the home at `root` on their command line or by a variable.
pub(crate) fn processes_in(root: &Path) -> Vec<i32> {
    let home = root.display().to_string();
    let is_told = |pid: &i32| {
        ["cmdline", "environ"].iter().any(|file| {
            let told = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&told).contains(&home)
        })
    };
    let is_cmux = |pid: &i32| {
        std::fs::read_link(format!("/proc/{pid}/exe"))
            .is_ok_and(|program| program == Path::new(PROGRAM))
    };
    names(Path::new("/proc"))
        .iter()
        .filter_map(|name| name.parse().ok())
        .filter(|pid| is_cmux(pid) && is_told(pid))
        .collect()
}

#[track_caller]
pub(crate) fn assert_nothing_runs_in(root: &Path) {
    let left = processes_in(root);
    assert!(left.is_empty(), "these were left behind: {left:?}");
}
