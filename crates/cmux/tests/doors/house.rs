//! A daemon in a home of its own, those who may come in, and what its log says of those who may not.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use cmux_testkit::daemon::Daemon;
use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;
use serde_json::{Value, json};

use crate::PROGRAM;
use crate::knock::{Answer, Door, Request};

/// A daemon and its doors.
pub(crate) struct House {
    pub(crate) home: TestHome,
    pub(crate) daemon: Daemon,
    pub(crate) port: u16,
}

/// A token that was made for a script.
pub(crate) struct Made {
    pub(crate) id: String,
    pub(crate) secret: String,
}

impl House {
    pub(crate) fn new() -> House {
        House::configured("")
    }

    /// Starts a daemon whose `config.toml` says `config`.
    pub(crate) fn configured(config: &str) -> House {
        House::furnished(|_| config.to_owned())
    }

    /// Starts a daemon in a home that was furnished, and whose `config.toml` says what that returns.
    pub(crate) fn furnished(furnish: impl FnOnce(&TestHome) -> String) -> House {
        let home = TestHome::new(PROGRAM);
        let file = home.root().join("config.toml");
        fs::write(&file, furnish(&home)).unwrap();
        // There may be secrets in it.
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        House::start(home)
    }

    fn start(home: TestHome) -> House {
        let daemon = home.daemon();
        let port = home.ask(|client| async move { client.daemon().await }).unwrap().port.unwrap();
        House { home, daemon, port }
    }

    /// Kills the daemon, does `work` to its store, and starts another.
    pub(crate) fn reborn(self, work: impl FnOnce(&PathBuf)) -> House {
        let House { home, daemon, .. } = self;
        daemon.kill();
        work(&home.root().join("cmux.db"));
        House::start(home)
    }

    pub(crate) fn port(&self) -> Door {
        Door::Port(self.port)
    }

    pub(crate) fn socket(&self) -> Door {
        Door::Socket(self.home.root().join("cmux.sock"))
    }

    /// Returns the origin of its own pages.
    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Asks as the person, and sees that it is answered with `status`.
    #[track_caller]
    pub(crate) fn ask(&self, request: &Request, status: u16) -> Value {
        let answer = self.socket().ask(request);
        assert_eq!(answer.status, status, "{request:?}: {answer:?}");
        answer.json()
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        self.ask(&Request::get(path), 200)
    }

    #[track_caller]
    pub(crate) fn token(&self, scope: &str, expires_in_s: Option<u64>) -> Made {
        let new = json!({ "scope": scope, "expires_in_s": expires_in_s }).to_string();
        let made = self.ask(&Request::new("POST", "/api/tokens").with_json(new), 201);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Made { id: text(&made["token"]["id"]), secret: text(&made["secret"]) }
    }

    /// Returns the secret of a token whose time is over.
    #[track_caller]
    pub(crate) fn expired_token(&self) -> String {
        let secret = self.token("operate", Some(1)).secret;
        let ask = Request::get("/api/whoami").with_token(&secret);
        eventually("it has expired", || (self.port().ask(&ask).status == 401).then_some(()));
        secret
    }

    /// Returns the secret of a token that was taken back.
    #[track_caller]
    pub(crate) fn revoked_token(&self) -> String {
        let made = self.token("operate", None);
        self.ask(&Request::new("DELETE", &format!("/api/tokens/{}", made.id)), 204);
        made.secret
    }

    /// Returns the path of a new one-time link.
    #[track_caller]
    pub(crate) fn link(&self) -> String {
        let made = self.ask(&Request::new("POST", "/api/links"), 201);
        made["url"].as_str().unwrap().strip_prefix(&self.origin()).unwrap().to_owned()
    }

    /// Returns the cookie of a browser that was let in, as it sends it.
    #[track_caller]
    pub(crate) fn cookie(&self) -> String {
        cookie(&self.port().ask(&Request::get(&self.link())))
    }

    /// Sees to it that there are so many projects, and returns their ids.
    pub(crate) fn projects(&self, count: usize) -> Vec<String> {
        let add = |n| {
            let root = self.home.folder(&format!("project-{n}")).display().to_string();
            let new = json!({ "root": root }).to_string();
            let added = self.socket().ask(&Request::new("POST", "/api/projects").with_json(new));
            assert!(matches!(added.status, 200 | 201), "{added:?}");
            added.json()["id"].as_str().unwrap().to_owned()
        };
        (0..count).map(add).collect()
    }

    /// Returns the id of the newest event.
    #[track_caller]
    pub(crate) fn head(&self) -> i64 {
        self.get("/api/events?limit=1")["head"].as_i64().unwrap()
    }

    /// Returns the events after `since` that somebody brought about.
    #[track_caller]
    pub(crate) fn events(&self, since: i64) -> Vec<Value> {
        let told = self.get(&format!("/api/events?limit=1000&since={since}"));
        let is_brought = |event: &&Value| !event["kind"].as_str().unwrap().starts_with("snapshot.");
        told["events"].as_array().unwrap().iter().filter(is_brought).cloned().collect()
    }

    /// Returns the kinds of the events after `since` that somebody brought about.
    #[track_caller]
    pub(crate) fn kinds(&self, since: i64) -> Vec<String> {
        let kind = |event: &Value| event["kind"].as_str().unwrap().to_owned();
        self.events(since).iter().map(kind).collect()
    }

    /// Waits until the log tells of a request that was turned away, and returns what it tells.
    #[track_caller]
    pub(crate) fn refusal(&self, reason: &str, method: &str, path: &str) -> Value {
        eventually(&format!("the log tells of {reason} at {method} {path}"), || {
            let is_it = |data: &Value| {
                (&data["reason"], &data["method"], &data["path"])
                    == (&json!(reason), &json!(method), &json!(path))
            };
            let told = self.get("/api/events?limit=1000&since=0&kind=door.refused");
            let all = told["events"].as_array().unwrap();
            all.iter().map(|event| event["data"].clone()).find(is_it)
        })
    }

    /// Returns one of the numbers that are kept for Prometheus.
    #[track_caller]
    pub(crate) fn number(&self, name: &str) -> u64 {
        let page = self.socket().ask(&Request::get("/metrics"));
        let page = String::from_utf8(page.body).unwrap();
        let said = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
        page.lines().find_map(said).unwrap()
    }
}

/// Returns the cookie that `answer` sets, as a browser sends it.
#[track_caller]
pub(crate) fn cookie(answer: &Answer) -> String {
    let set = answer.header("set-cookie").unwrap_or_else(|| panic!("no cookie: {answer:?}"));
    set.split(';').next().unwrap().to_owned()
}
