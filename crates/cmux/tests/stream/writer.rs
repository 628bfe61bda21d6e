//! Somebody who has events happen, through the front door.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};

use cmux_testkit::home::TestHome;
use serde_json::{Value, json};

/// The name of the project that is added when all has happened.
pub(crate) const LAST: &str = "the-very-last";

/// Rings when it is dropped, be it in a panic: then there is enough.
pub(crate) struct Bell<'a>(pub(crate) &'a AtomicBool);

impl Drop for Bell<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Adds projects and removes them again, over one connection.
pub(crate) struct Writer {
    socket: BufReader<UnixStream>,
}

impl Writer {
    pub(crate) fn new(home: &TestHome) -> Writer {
        let socket = UnixStream::connect(home.root().join("cmux.sock")).unwrap();
        Writer { socket: BufReader::new(socket) }
    }

    /// Writes until there is `enough`, with folders of nobody's whose names are about so long.
    pub(crate) fn write(&mut self, number: usize, long: usize, enough: &AtomicBool) {
        let tail = "x".repeat(long);
        for count in 0.. {
            if enough.load(Ordering::Relaxed) {
                return;
            }
            let id = self.add(&format!("/nowhere/{number}/{count}/{tail}"));
            self.ask("DELETE", &format!("/api/projects/{id}"), "");
        }
    }

    /// Adds the last project.
    pub(crate) fn end(&mut self, home: &TestHome) {
        self.add(home.folder(LAST).to_str().unwrap());
    }

    /// Adds a project, and returns its id.
    pub(crate) fn add(&mut self, root: &str) -> String {
        let added = self.ask("POST", "/api/projects", &json!({"root": root}).to_string());
        let added: Value = serde_json::from_slice(&added).unwrap();
        added["id"].as_str().unwrap().to_owned()
    }

    fn ask(&mut self, method: &str, path: &str, body: &str) -> Vec<u8> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.socket.get_mut().write_all(head.as_bytes()).unwrap();
        let (mut status, mut length) = (String::new(), 0);
        self.socket.read_line(&mut status).unwrap();
        assert!(status.starts_with("HTTP/1.1 20"), "{method} {path}: {status}");
        loop {
            let mut line = String::new();
            self.socket.read_line(&mut line).unwrap();
            if let Some(said) = line.to_lowercase().strip_prefix("content-length:") {
                length = said.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut answer = vec![0; length];
        self.socket.read_exact(&mut answer).unwrap();
        answer
    }
}
