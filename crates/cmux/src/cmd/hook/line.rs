//! One request over the daemon's socket, by hand: a runtime and a client for many take longer to set up
//! than this takes in all.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use serde_json::Value;

/// The longest answer that is read, in bytes.
const ANSWER_MAX: usize = 1 << 20;

/// What was answered.
pub(super) struct Said {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// Why nothing was answered.
#[derive(Debug)]
pub(super) enum Broken {
    NoDaemon,
    Late,
    Line(io::Error),
    Nonsense,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Broken::NoDaemon => f.write_str("no daemon is running"),
            Broken::Late => f.write_str("the daemon did not answer in time"),
            Broken::Line(error) => write!(f, "the connection to the daemon broke: {error}"),
            Broken::Nonsense => f.write_str("the daemon's answer makes no sense"),
        }
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Broken {
        let is_late = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
        if is_late { Broken::Late } else { Broken::Line(error) }
    }
}

impl Said {
    /// Returns what it says to a person.
    pub(super) fn detail(&self) -> String {
        let told: Option<Value> = serde_json::from_slice(&self.body).ok();
        let detail = told.and_then(|told| told.get("detail")?.as_str().map(ToOwned::to_owned));
        detail.unwrap_or_else(|| format!("it answered {}", self.status))
    }
}

/// Posts `body`, which is JSON, to `path` of the daemon at `socket`, and returns what it answers.
pub(super) fn post(
    socket: &Path,
    path: &str,
    token: &str,
    body: &[u8],
    within: Duration,
) -> Result<Said, Broken> {
    let deadline = Instant::now() + within;
    // What is in a header is in one line.
    if token.bytes().any(|byte| byte.is_ascii_control()) {
        return Err(Broken::Nonsense);
    }
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut line = open(socket)?;
    write(&mut line, &[head.as_bytes(), body].concat(), deadline)?;
    read(&mut line, deadline)
}

/// Connects without waiting: a daemon that is too busy to be connected to is as good as none.
fn open(socket: &Path) -> Result<UnixStream, Broken> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let made = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let made = made.map_err(|error| Broken::Line(error.into()))?;
    let address = SocketAddrUnix::new(socket).map_err(|_| Broken::NoDaemon)?;
    match connect(&made, &address) {
        Ok(()) => {}
        Err(Errno::AGAIN) => return Err(Broken::Late),
        Err(Errno::NOENT | Errno::CONNREFUSED) => return Err(Broken::NoDaemon),
        Err(error) => return Err(Broken::Line(error.into())),
    }
    let line = UnixStream::from(made);
    line.set_nonblocking(false)?;
    Ok(line)
}

/// Returns how long is left until `deadline`.
fn left(deadline: Instant) -> Result<Option<Duration>, Broken> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(Broken::Late) } else { Ok(Some(left)) }
}

fn write(line: &mut UnixStream, mut bytes: &[u8], deadline: Instant) -> Result<(), Broken> {
    while !bytes.is_empty() {
        line.set_write_timeout(left(deadline)?)?;
        match line.write(bytes) {
            Ok(0) => return Err(Broken::Line(io::ErrorKind::WriteZero.into())),
            Ok(length) => bytes = &bytes[length..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Whoever has heard enough may have answered already.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn read(line: &mut UnixStream, deadline: Instant) -> Result<Said, Broken> {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    while bytes.len() < ANSWER_MAX {
        if let Some(said) = whole(&bytes) {
            return Ok(said);
        }
        line.set_read_timeout(left(deadline)?)?;
        match line.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => bytes.extend_from_slice(&chunk[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    whole(&bytes).ok_or(Broken::Nonsense)
}

/// Returns the answer that `bytes` are, once all of it is there.
fn whole(bytes: &[u8]) -> Option<Said> {
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n")?;
    let head = str::from_utf8(&bytes[..end]).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    let body = bytes.get(end + 4..)?.get(..length)?;
    Some(Said { status, body: body.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_once_all_of_it_is_there() {
        let said = b"HTTP/1.1 201 Created\r\nContent-Type: x\r\ncontent-length: 5\r\n\r\nhello";
        for length in 0..said.len() {
            assert!(whole(&said[..length]).is_none(), "{length}");
        }
        let answer = whole(said).unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (201, &b"hello"[..]));
        for nonsense in [&b"HTTP/1.1 2"[..], b"hello\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"] {
            assert!(whole(nonsense).is_none());
        }
    }

    #[test]
    fn a_token_that_is_no_line_is_not_sent() {
        let token = "x\r\nEvil: 1";
        let within = Duration::from_secs(1);
        let refused = post(Path::new("/nowhere"), "/", token, b"", within);
        assert!(matches!(refused, Err(Broken::Nonsense)));
        let nobody = post(Path::new("/nowhere"), "/", "x", b"", within);
        assert!(matches!(nobody, Err(Broken::NoDaemon)));
    }
}
