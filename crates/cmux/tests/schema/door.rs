//! A daemon with its doors open, and a caller that is neither a browser nor the `cmux` command.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use cmux_testkit::daemon::Daemon;
use cmux_testkit::home::TestHome;
use serde_json::Value;

/// What webhooks are signed with, and the same as Standard Webhooks write it.
pub(crate) const WEBHOOK_SECRET: &str = "0123456789abcdef0123456789abcdef";
const STANDARD_SECRET: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// A daemon, and what it takes to speak to it.
pub(crate) struct Door {
    pub(crate) home: TestHome,
    pub(crate) token: String,
    port: u64,
    daemon: Daemon,
}

/// What was answered.
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Door {
    /// Starts a daemon that minds no haste and takes webhooks of each scheme.
    pub(crate) fn open() -> Door {
        let home = TestHome::new(env!("CARGO_BIN_EXE_cmux"));
        let config = home.root().join("config.toml");
        let said = format!(
            "[limits]\nrequests_per_s = 1000000\nburst = 1000000\n\
             [webhooks.github]\nscheme = \"github\"\nsecret = \"{WEBHOOK_SECRET}\"\n\
             [webhooks.standard]\nscheme = \"standard\"\nsecret = \"{STANDARD_SECRET}\"\n"
        );
        fs::write(&config, said).unwrap();
        fs::set_permissions(&config, fs::Permissions::from_mode(0o600)).unwrap();
        let daemon = home.daemon();
        let port = home.json(&["daemon", "status"])["port"].as_u64().unwrap();
        let made = home.json(&["token", "create", "--scope", "operate"]);
        let token = made["secret"].as_str().unwrap().to_owned();
        Door { home, token, port, daemon }
    }

    /// Returns where the port is.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Follows a one-time link, and returns the cookie that it is exchanged for.
    pub(crate) fn enter(&self) -> String {
        let link = self.home.json(&["open"])["url"].as_str().unwrap().to_owned();
        let path = link.split_once(&self.address()).unwrap().1;
        let said = self.request("GET", path, "", None);
        assert_eq!(said.status, 303, "{}", said.head);
        said.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
    }

    /// Returns whom the daemon takes the bearer of `cookie` for.
    pub(crate) fn whoami(&self, cookie: &str) -> Value {
        let said = self.request("GET", "/api/whoami", &format!("Cookie: {cookie}\r\n"), None);
        assert_eq!(said.status, 200, "{}", said.body);
        serde_json::from_str(&said.body).unwrap()
    }

    /// Asks something with the token.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&str>) -> Said {
        let token = format!("Authorization: Bearer {}\r\n", self.token);
        self.request(method, path, &token, body)
    }

    /// Asks something as the browser that has this cookie.
    pub(crate) fn browse(&self, cookie: &str, path: &str, body: &str) -> Said {
        let headers = format!("Cookie: {cookie}\r\nOrigin: http://{}\r\n", self.address());
        self.request("POST", path, &headers, Some(body))
    }

    fn request(&self, method: &str, path: &str, headers: &str, body: Option<&str>) -> Said {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        let sent = body.map_or_else(String::new, |body| {
            format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len())
        });
        let host = self.address();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
        let whole = format!("{head}{headers}{sent}\r\n{}", body.unwrap_or_default());
        stream.write_all(whole.as_bytes()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Said { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// Checks that the daemon lives and has not panicked, and that its store and log are whole.
    #[track_caller]
    pub(crate) fn is_well(&mut self) {
        let said = self.daemon.said();
        assert_eq!(self.daemon.ended(), None, "it ended: {said}");
        assert!(!said.contains("panicked"), "{said}");
        for command in [["audit", "verify"], ["db", "check"]] {
            let found = self.home.json(&command);
            assert_eq!(found["ok"], true, "{command:?}: {found}");
        }
    }

    /// Stops the daemon, which is glad to.
    pub(crate) fn close(self) {
        assert!(self.daemon.stop().success());
    }

    /// Waits until the daemon has ended by itself, and returns whether it did so well.
    pub(crate) fn ends_well(&mut self) -> bool {
        self.daemon.wait().success()
    }
}

impl Said {
    /// Returns what a header says.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, said)| said)
    }
}
