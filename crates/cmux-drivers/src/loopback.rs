//! Addresses on this machine, at which agents' CLIs speak HTTP. What an agent does is nobody else's business.

use std::fmt;
use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{AUTHORIZATION, HOST};
use hyper::http::request::Builder;

/// Where something is asked for, and as whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) socket: SocketAddr,
    pub(crate) path: String,
    login: Option<Login>,
}

/// A name and a password, as `name:password`. They are shown to nobody else.
#[derive(Clone, PartialEq, Eq)]
struct Login(String);

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login(…)")
    }
}

impl Address {
    /// Reads an address such as `http://127.0.0.1:4096/event`, or `http://name:password@127.0.0.1:4096/event`.
    pub(crate) fn parse(at: &str) -> Option<Address> {
        let rest = at.strip_prefix("http://")?;
        let (socket, path) = rest.split_once('/')?;
        let (login, socket) = match socket.rsplit_once('@') {
            Some((login, socket)) => (Some(login), socket),
            None => (None, socket),
        };
        let socket: SocketAddr = socket.parse().ok()?;
        let is_plain = path.chars().all(|letter| letter.is_ascii_graphic());
        (socket.ip().is_loopback() && is_plain).then(|| Address {
            socket,
            path: format!("/{path}"),
            login: login.map(|login| Login(login.to_owned())),
        })
    }

    /// Returns the request with what is said of whom it is for, and of who asks.
    pub(crate) fn greet(&self, request: Builder) -> Builder {
        let request = request.header(HOST, self.socket.to_string());
        match &self.login {
            Some(Login(login)) => {
                request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(login)))
            }
            None => request,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_asked() {
        for (at, is_good) in [
            ("http://127.0.0.1:4096/event", true),
            ("http://[::1]:4096/event", true),
            ("http://ada:s3cret@127.0.0.1:4096/event", true),
            ("http://127.0.0.1:1@10.0.0.1:4096/event", false),
            ("http://127.0.0.1:4096", false),
            ("http://10.0.0.1:4096/event", false),
            ("http://example.org:80/event", false),
            ("https://127.0.0.1:4096/event", false),
            ("http://127.0.0.1:4096/a b", false),
            ("http://127.0.0.1:4096/a\r\nx: y", false),
        ] {
            assert_eq!(Address::parse(at).is_some(), is_good, "{at}");
        }
    }

    #[test]
    fn a_password_is_said_to_whom_it_is_for_and_shown_to_nobody() {
        let address = Address::parse("http://ada:s3cret@127.0.0.1:4096/event").unwrap();
        assert!(!format!("{address:?}").contains("s3cret"));
        let request = address.greet(Builder::new()).body(()).unwrap();
        assert_eq!(request.headers()[AUTHORIZATION], "Basic YWRhOnMzY3JldA==");
        assert_eq!(request.headers()[HOST], "127.0.0.1:4096");
        let open = Address::parse("http://127.0.0.1:4096/event").unwrap();
        let request = open.greet(Builder::new()).body(()).unwrap();
        assert!(!request.headers().contains_key(AUTHORIZATION));
    }
}
