//! By which names the daemon may be called, and who may reach it at all.
//!
//! A page that another site serves can call this machine by a name of that site's own. So the daemon
//! answers only to names that are its own or that the user has listed.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Settings;

/// How many names may be listed.
pub const HOSTS_MAX: usize = 64;

/// A name of the loopback that is cmux's alone. Browsers keep cookies by name and send them to every port:
/// under this one, no other server of this machine is likely to be opened.
const OWN_NAME: &str = "cmux.localhost";

/// The longest name there is, in bytes, as DNS has it.
const NAME_MAX: usize = 253;

/// Why the daemon does not listen where it was told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`host` is {host}, where other machines can reach cmux: {}, or set `host` to 127.0.0.1",
    lacks.remedy()
)]
pub struct Exposed {
    pub host: IpAddr,
    pub lacks: Lacks,
}

/// What has to be there before other machines may reach the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacks {
    Tls,
    Password,
    Both,
}

impl Lacks {
    fn remedy(self) -> &'static str {
        match self {
            Lacks::Tls => "set `cert` and `key` under [tls] in config.toml",
            Lacks::Password => "set a password with `cmux password set`",
            Lacks::Both => {
                "set `cert` and `key` under [tls] in config.toml, and a password with \
                 `cmux password set`"
            }
        }
    }
}

/// Decides whether the daemon may listen on `host`: on this machine's loopback always, elsewhere only
/// with TLS and a password.
pub fn may_listen(host: IpAddr, has_tls: bool, has_password: bool) -> Result<(), Exposed> {
    if host.to_canonical().is_loopback() {
        return Ok(());
    }
    let lacks = match (has_tls, has_password) {
        (true, true) => return Ok(()),
        (false, true) => Lacks::Tls,
        (true, false) => Lacks::Password,
        (false, false) => Lacks::Both,
    };
    Err(Exposed { host, lacks })
}

impl Settings {
    /// Returns every `Host` header that is answered, in lower case, if the daemon listens on `port`.
    ///
    /// The address of all interfaces is nobody's name and is not among them.
    pub fn allowed_hosts(&self, port: u16) -> Vec<String> {
        let default_port = if self.tls.is_some() { 443 } else { 80 };
        let mut own = Vec::new();
        if !self.host.is_unspecified() {
            own.push(name_of(self.host));
        }
        if self.host.is_loopback() || self.host.is_unspecified() {
            own.push(name_of(Ipv4Addr::LOCALHOST.into()));
            own.push("localhost".to_owned());
            own.push(OWN_NAME.to_owned());
            own.push(name_of(Ipv6Addr::LOCALHOST.into()));
        }
        let mut allowed = Vec::new();
        for name in own {
            allowed.push(format!("{name}:{port}"));
            if port == default_port {
                allowed.push(name);
            }
        }
        for listed in &self.hosts {
            allowed.push(listed.clone());
            match split_port(listed) {
                (name, None) => allowed.push(format!("{name}:{port}")),
                // What a browser leaves out need not be listed again without it.
                (name, Some(own)) if own == default_port.to_string() => {
                    allowed.push(name.to_owned());
                }
                (_, Some(_)) => {}
            }
        }
        let mut seen = BTreeSet::new();
        allowed.retain(|name| seen.insert(name.clone()));
        allowed
    }

    /// Returns every `Origin` header that is answered, in lower case, if the daemon listens on `port`.
    pub fn allowed_origins(&self, port: u16) -> Vec<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        self.allowed_hosts(port).iter().map(|host| format!("{scheme}://{host}")).collect()
    }
}

impl Settings {
    /// Returns where browsers and scripts find the daemon at `port`, without a slash at the end. Where other
    /// machines can reach it, that is a name that was set for it, as its certificate has one.
    pub fn address(&self, port: u16) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let host = match (self.host.to_canonical().is_loopback(), self.hosts.first()) {
            (false, Some(name)) => match split_port(name) {
                (_, Some(_)) => name.clone(),
                (name, None) => format!("{name}:{port}"),
            },
            (true, _) => format!("{}:{port}", name_of(self.host)),
            (false, None) if self.host.is_unspecified() => format!("127.0.0.1:{port}"),
            (false, None) => format!("{}:{port}", name_of(self.host)),
        };
        format!("{scheme}://{host}")
    }

    /// Returns the same for a browser on this machine: under a name by which it shares no cookie with other
    /// ports, where no certificate asks for another.
    pub fn browser_address(&self, port: u16) -> String {
        match self.host.to_canonical().is_loopback() && self.tls.is_none() {
            true => format!("http://{OWN_NAME}:{port}"),
            false => self.address(port),
        }
    }
}

/// Returns `address` as it is written in a URL.
fn name_of(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// Returns the name in `text` as it is compared, or nothing if it is no name with or without a port.
pub(super) fn read_host(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let (name, port) = split_port(&text);
    let port = match port {
        Some(port) => {
            let is_plain = port.bytes().all(|byte| byte.is_ascii_digit());
            let number = port.parse::<u16>().ok().filter(|number| is_plain && *number > 0)?;
            format!(":{number}")
        }
        None => String::new(),
    };
    if let Some(address) = name.strip_prefix('[') {
        let address: Ipv6Addr = address.strip_suffix(']')?.parse().ok()?;
        return Some(format!("{}{port}", name_of(address.into())));
    }
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let is_label = |label: &str| (1..=63).contains(&label.len()) && label.chars().all(allowed);
    let is_name = name.len() <= NAME_MAX && name.split('.').all(is_label);
    is_name.then(|| format!("{name}{port}"))
}

/// Splits a name from the port after it, if one is there.
fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        // The last colon of an address without a port is within its brackets.
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        Some(_) | None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{TlsFiles, Value};

    #[test]
    fn the_daemon_says_where_it_is_found() {
        let at = |host: &str, tls: bool, hosts: &[&str]| {
            let tls = tls.then(crate::settings::TlsFiles::default);
            let hosts = hosts.iter().map(|&name| name.to_owned()).collect();
            let settings =
                Settings { host: host.parse().unwrap(), tls, hosts, ..Settings::default() };
            (settings.address(8000), settings.browser_address(8000))
        };
        let check = |(address, browser): (String, String), expected: &str, in_browser: &str| {
            assert_eq!((address.as_str(), browser.as_str()), (expected, in_browser));
        };
        let own = "http://cmux.localhost:8000";
        check(at("127.0.0.1", false, &[]), "http://127.0.0.1:8000", own);
        check(at("127.0.0.1", false, &["a.example"]), "http://127.0.0.1:8000", own);
        check(at("::1", false, &[]), "http://[::1]:8000", own);
        let named = "https://a.example:8000";
        check(at("0.0.0.0", true, &["a.example"]), named, named);
        let ported = "https://a.example:443";
        check(at("0.0.0.0", true, &["a.example:443"]), ported, ported);
        let here = "https://127.0.0.1:8000";
        check(at("0.0.0.0", true, &[]), here, here);
        let there = "https://192.0.2.7:8000";
        check(at("192.0.2.7", true, &[]), there, there);
    }

    #[test]
    fn only_with_tls_and_a_password_may_others_reach_it() {
        for (host, has_tls, has_password, expected) in [
            ("127.0.0.1", false, false, None),
            ("127.9.9.9", false, false, None),
            ("::1", false, false, None),
            ("::ffff:127.0.0.1", false, false, None),
            ("0.0.0.0", false, false, Some(Lacks::Both)),
            ("::", false, false, Some(Lacks::Both)),
            ("10.0.0.7", true, false, Some(Lacks::Password)),
            ("10.0.0.7", false, true, Some(Lacks::Tls)),
            ("2001:db8::1", false, true, Some(Lacks::Tls)),
            ("10.0.0.7", true, true, None),
            ("0.0.0.0", true, true, None),
        ] {
            let host: IpAddr = host.parse().unwrap();
            let expected = expected.map_or(Ok(()), |lacks| Err(Exposed { host, lacks }));
            assert_eq!(may_listen(host, has_tls, has_password), expected);
        }
    }

    #[test]
    fn a_refusal_says_what_to_configure() {
        let host = Ipv4Addr::UNSPECIFIED.into();
        for (lacks, expected) in [
            (Lacks::Tls, &["[tls]", "127.0.0.1"][..]),
            (Lacks::Password, &["`cmux password set`", "127.0.0.1"]),
            (Lacks::Both, &["0.0.0.0", "`cert` and `key`", "`cmux password set`"]),
        ] {
            let told = Exposed { host, lacks }.to_string();
            assert!(expected.iter().all(|part| told.contains(part)), "{told}");
        }
    }

    #[test]
    fn on_the_loopback_it_answers_to_the_loopbacks_names() {
        let own = ["127.0.0.1:8000", "localhost:8000", "cmux.localhost:8000", "[::1]:8000"];
        check("127.0.0.1", false, &[], 8000, &own);
        check(
            "::1",
            false,
            &[],
            8000,
            &["[::1]:8000", "127.0.0.1:8000", "localhost:8000", "cmux.localhost:8000"],
        );
        check("127.0.0.2", false, &[], 8000, &[&["127.0.0.2:8000"], &own[..]].concat());
        check("0.0.0.0", true, &[], 8000, &own);
    }

    #[test]
    fn elsewhere_it_answers_to_its_address_and_to_the_listed_names() {
        check("10.0.0.7", true, &[], 8000, &["10.0.0.7:8000"]);
        check("2001:db8::1", true, &[], 8000, &["[2001:db8::1]:8000"]);
        let names = ["cmux.example", "cmux.example:8000", "far.example:9000"];
        check("::", true, &["CMUX.example", "far.example:9000"], 8000, &{
            let own = ["127.0.0.1:8000", "localhost:8000", "cmux.localhost:8000", "[::1]:8000"];
            [&own[..], &names].concat()
        });
    }

    #[test]
    fn the_schemes_own_port_may_be_left_out() {
        check("10.0.0.7", true, &[], 443, &["10.0.0.7:443", "10.0.0.7"]);
        check("10.0.0.7", true, &[], 80, &["10.0.0.7:80"]);
        check("10.0.0.7", true, &["a:443", "b:80"], 1, &["10.0.0.7:1", "a:443", "a", "b:80"]);
        let all = [
            "127.0.0.1:80",
            "127.0.0.1",
            "localhost:80",
            "localhost",
            "cmux.localhost:80",
            "cmux.localhost",
            "[::1]:80",
            "[::1]",
        ];
        check("127.0.0.1", false, &["localhost"], 80, &all);
        let all = ["127.0.0.1:443", "localhost:443", "cmux.localhost:443", "[::1]:443"];
        check("127.0.0.1", false, &[], 443, &all);
    }

    #[test]
    fn names_are_compared_as_they_are_read() {
        for (text, expected) in [
            ("Cmux.Example", Some("cmux.example")),
            ("my_box", Some("my_box")),
            ("10.0.0.7:0443", Some("10.0.0.7:443")),
            ("[2001:DB8:0::1]:8000", Some("[2001:db8::1]:8000")),
            ("[::1]", Some("[::1]")),
            ("", None),
            ("https://cmux.example", None),
            ("cmux.example/", None),
            ("*.example", None),
            ("*", None),
            ("a b", None),
            ("a..b", None),
            ("cmux.example.", None),
            ("user@cmux.example", None),
            ("münchen.example", None),
            ("::1", None),
            ("[::1", None),
            ("[x]", None),
            ("cmux.example:", None),
            ("cmux.example:0", None),
            ("cmux.example:+80", None),
            ("cmux.example:65536", None),
            (&"a.".repeat(130), None),
        ] {
            assert_eq!(read_host(text).as_deref(), expected, "{text}");
        }
    }

    /// Checks which `Host` and `Origin` headers are answered by a daemon on `host` and `port`.
    #[track_caller]
    fn check(host: &str, has_tls: bool, hosts: &[&str], port: u16, expected: &[&str]) {
        let mut settings = Settings { host: host.parse().unwrap(), ..Settings::default() };
        settings.tls = has_tls.then(TlsFiles::default);
        let hosts = hosts.iter().map(|&host| host.to_owned()).collect();
        settings.set("hosts", &Value::List(hosts)).unwrap();
        assert_eq!(settings.allowed_hosts(port), expected);
        let scheme = if has_tls { "https" } else { "http" };
        let origins: Vec<_> = expected.iter().map(|host| format!("{scheme}://{host}")).collect();
        assert_eq!(settings.allowed_origins(port), origins);
    }
}
