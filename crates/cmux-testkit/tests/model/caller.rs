//! A plain HTTP client, so that the model is not tested with what it is made of.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use cmux_testkit::model::Model;
use serde_json::Value;

/// What came back.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// Whether the body came to its end.
    pub(crate) whole: bool,
}

/// Asks something, and waits for all of the answer.
pub(crate) fn ask(model: &Model, path: &str, headers: &str, body: &Value) -> Heard {
    hear(call(model, "POST", path, headers, &body.to_string()))
}

/// Sends a request, and leaves the answer to be read.
pub(crate) fn call(
    model: &Model,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> TcpStream {
    let address = model.url();
    let mut stream = TcpStream::connect(address.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: model\r\nConnection: close\r\n\
         Content-Length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    stream
}

/// Reads an answer to its end.
pub(crate) fn hear(mut stream: TcpStream) -> Heard {
    let mut bytes = Vec::new();
    // A connection that broke has said what it has said.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, rest) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let (body, whole) = match head.contains("transfer-encoding: chunked") {
        true => joined(rest),
        false => (rest.to_owned(), true),
    };
    Heard { status, head: head.to_owned(), body, whole }
}

/// Puts chunks together, and returns whether the last was there.
fn joined(mut rest: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        body += &more[..size];
        rest = more[size..].strip_prefix("\r\n").unwrap();
    }
    (body, false)
}

impl Heard {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns the events of a stream.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|it| *it != "[DONE]").map(|it| serde_json::from_str(it).unwrap()).collect()
    }

    /// Returns what is at this place of each event that has it, put together.
    pub(crate) fn gathered(&self, pointer: &str) -> String {
        let events = self.events();
        events.iter().filter_map(|event| event.pointer(pointer)?.as_str()).collect()
    }
}
