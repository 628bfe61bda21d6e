//! Addresses on this machine, at which agents' CLIs speak HTTP. What an agent does is nobody else's business.

use std::net::SocketAddr;

/// Where something is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) socket: SocketAddr,
    pub(crate) path: String,
}

impl Address {
    /// Reads an address such as `http://127.0.0.1:4096/event`.
    pub(crate) fn parse(at: &str) -> Option<Address> {
        let rest = at.strip_prefix("http://")?;
        let (socket, path) = rest.split_once('/')?;
        let socket: SocketAddr = socket.parse().ok()?;
        let is_plain = path.chars().all(|letter| letter.is_ascii_graphic());
        (socket.ip().is_loopback() && is_plain)
            .then(|| Address { socket, path: format!("/{path}") })
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
}
