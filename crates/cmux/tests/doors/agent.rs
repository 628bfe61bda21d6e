//! Agents, as far as the doors know them: a run in the store, and a program below the launcher.

use std::fmt::Write;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::PathBuf;

use cmux_core::digest::Digest;
use cmux_testkit::home::Ran;
use cmux_testkit::store::{Run, add_run};

use crate::house::House;
use crate::knock::{Answer, Door, Request};

/// An agent in one of its lives.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) run: &'static str,
    pub(crate) id: &'static str,
    /// What it was given to show.
    pub(crate) secret: &'static str,
    pub(crate) project: String,
}

impl Agent {
    /// Returns an agent of `project` that lives.
    pub(crate) fn of(project: &str) -> Agent {
        Agent {
            run: "run_01JZZZZZZZZZZZZZZZZZZZZZZZ",
            id: "agt_01JZZZZZZZZZZZZZZZZZZZZZZA",
            secret: "cmuxrun_of-the-agent-that-lives",
            project: project.to_owned(),
        }
    }

    /// Returns another one, whose run is over.
    pub(crate) fn of_the_past(project: &str) -> Agent {
        Agent {
            run: "run_01JYYYYYYYYYYYYYYYYYYYYYYY",
            id: "agt_01JYYYYYYYYYYYYYYYYYYYYYYA",
            secret: "cmuxrun_of-the-agent-that-is-gone",
            project: project.to_owned(),
        }
    }

    /// Lets the daemon of `house` know of the agent, by another life of it.
    pub(crate) fn enter(&self, house: House, is_over: bool) -> House {
        let secret = Digest::of(self.secret.as_bytes());
        let (secret, run, agent) = (secret.as_bytes(), self.run, self.id);
        let row = Run { secret, run, agent, project: &self.project, is_over };
        house.reborn(|database| add_run(database, &row))
    }

    /// Sends `requests` from a program that the agent started, one after another, and returns what is
    /// answered.
    #[track_caller]
    pub(crate) fn ask(&self, house: &House, door: &Door, requests: &[Request]) -> Vec<Answer> {
        let script = written(house, door, requests);
        let ran = self.run(house, &["curl", "-q", "-K", script.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        (0..requests.len()).map(|n| read(house, n)).collect()
    }

    /// Sends `request` from a program that comes from the agent by way of more others than are looked at.
    #[track_caller]
    pub(crate) fn ask_from_afar(&self, house: &House, door: &Door, request: &Request) -> Answer {
        let script = written(house, door, std::slice::from_ref(request));
        // Each shell waits for the one that it starts.
        let step = r#"if [ "$2" = 0 ]; then curl -q -K "$3"; else sh -c "$1" sh "$1" $(($2 - 1)) "$3"; fi; :"#;
        let ran = self.run(house, &["sh", "-c", step, "sh", step, "300", script.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        read(house, 0)
    }

    /// Runs a program as the agent does, to its end.
    pub(crate) fn run(&self, house: &House, words: &[&str]) -> Ran {
        let mut command = house.home.command(&[&["launch", "--"], words].concat());
        command.env("CMUX_RUN", self.run).env("CMUX_TOKEN", self.secret);
        command.output().unwrap().into()
    }
}

/// Writes down `requests` as curl reads them, and returns where.
fn written(house: &House, door: &Door, requests: &[Request]) -> PathBuf {
    let mut said = String::new();
    for (n, request) in requests.iter().enumerate() {
        let Request { method, path, headers, body } = request;
        let url = format!("http://{}{path}", door.host());
        let next = if n == 0 { "" } else { "next\n" };
        write!(said, "{next}silent\ninclude\npath-as-is\nmax-time = 60\nurl = {url:?}\n").unwrap();
        writeln!(said, "request = {method:?}\noutput = {:?}", answered(house, n)).unwrap();
        if let Door::Socket(path) = door {
            writeln!(said, "unix-socket = {path:?}").unwrap();
        }
        for (name, value) in headers {
            writeln!(said, "header = \"{name}: {value}\"").unwrap();
        }
        if !body.is_empty() {
            writeln!(said, "data-binary = {:?}", String::from_utf8_lossy(body)).unwrap();
        }
    }
    let script = house.home.folder("agent").join("requests");
    fs::write(&script, said).unwrap();
    script
}

/// Returns where the answer to the request of this number is written.
fn answered(house: &House, n: usize) -> PathBuf {
    house.home.folder("agent").join(n.to_string())
}

fn read(house: &House, n: usize) -> Answer {
    let mut file = BufReader::new(File::open(answered(house, n)).unwrap());
    Answer::read(&mut file).unwrap()
}
