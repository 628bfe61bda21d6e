//! Requests as anybody can write them, byte by byte, and what comes back.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use cmux_testkit::wait::PATIENCE;
use serde_json::Value;

/// One of the two doors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    Port(u16),
    Socket(PathBuf),
}

/// Whatever can be spoken through.
pub(crate) trait Line: Read + Write {}

impl<T: Read + Write> Line for T {}

/// A request on its way.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// What came back. Its names of headers are in lower case.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Door {
    /// Returns the name by which the daemon is called here.
    pub(crate) fn host(&self) -> String {
        match self {
            Door::Port(port) => format!("127.0.0.1:{port}"),
            Door::Socket(_) => "cmux".to_owned(),
        }
    }

    pub(crate) fn open(&self) -> Box<dyn Line> {
        match self {
            Door::Port(port) => {
                let stream = TcpStream::connect(("127.0.0.1", *port)).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                Box::new(stream)
            }
            Door::Socket(path) => {
                let stream = UnixStream::connect(path).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                Box::new(stream)
            }
        }
    }

    /// Sends `request` and returns what is answered.
    #[track_caller]
    pub(crate) fn ask(&self, request: &Request) -> Answer {
        self.send(&request.bytes(&self.host()))
    }

    /// Sends `bytes`, whatever they are, and returns what is answered.
    #[track_caller]
    pub(crate) fn send(&self, bytes: &[u8]) -> Answer {
        self.try_send(bytes).expect("it was hung up on without an answer")
    }

    /// Sends `bytes`, and returns what is answered, unless it is nothing.
    pub(crate) fn try_send(&self, bytes: &[u8]) -> Option<Answer> {
        let mut line = self.open();
        // Whoever has heard enough does not read the rest.
        let _ = line.write_all(bytes);
        Answer::read(&mut BufReader::new(line))
    }
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Request {
        Request { method: method.into(), path: path.into(), headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn get(path: &str) -> Request {
        Request::new("GET", path)
    }

    /// Returns the same with a header more.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn with_token(self, secret: &str) -> Request {
        self.with("Authorization", &format!("Bearer {secret}"))
    }

    /// Returns the same with a body that says it is JSON.
    pub(crate) fn with_json(self, body: impl Into<Vec<u8>>) -> Request {
        Request { body: body.into(), ..self.with("Content-Type", "application/json") }
    }

    /// Returns the same as one that wants to become a WebSocket.
    pub(crate) fn for_websocket(self) -> Request {
        self.with("Connection", "Upgrade")
            .with("Upgrade", "websocket")
            .with("Sec-WebSocket-Version", "13")
            .with("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
    }

    /// Returns it as it goes over the wire, to the one who is called `host` unless it says otherwise.
    pub(crate) fn bytes(&self, host: &str) -> Vec<u8> {
        let says = |name: &str| self.headers.iter().any(|(it, _)| it.eq_ignore_ascii_case(name));
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        if !says("host") {
            head += &format!("Host: {host}\r\n");
        }
        let is_sent = !self.body.is_empty() || self.method == "POST";
        if is_sent && !says("content-length") && !says("transfer-encoding") {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        [head.as_bytes(), b"\r\n", &self.body].concat()
    }
}

impl Answer {
    /// Reads the next answer, unless the line is dead.
    pub(crate) fn read(line: &mut impl BufRead) -> Option<Answer> {
        let first = read_line(line)?;
        let status = first.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let said = read_line(line)?;
            let Some((name, value)) = said.split_once(':') else { break };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Answer { status, headers, body: Vec::new() };
        let length = answer.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
        answer.body.resize(length, 0);
        line.read_exact(&mut answer.body).ok()?;
        Some(answer)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body, if it is JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// Returns the name of the problem that it tells, having seen that it is told as one.
    #[track_caller]
    pub(crate) fn problem(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let told = self.json();
        assert_eq!(told["status"], self.status, "{told}");
        assert!(told["title"].is_string() && told["detail"].is_string(), "{told}");
        told["type"].as_str().unwrap().strip_prefix("/problems/").unwrap().to_owned()
    }

    /// Returns what it tells a person.
    #[track_caller]
    pub(crate) fn detail(&self) -> String {
        self.json()["detail"].as_str().unwrap_or_default().to_owned()
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, String::from_utf8_lossy(&self.body))
    }
}

/// Returns the next line without its end, unless there is none.
fn read_line(line: &mut impl BufRead) -> Option<String> {
    let mut said = Vec::new();
    line.read_until(b'\n', &mut said).ok().filter(|&read| read > 0)?;
    Some(String::from_utf8_lossy(&said).trim_end().to_owned())
}
