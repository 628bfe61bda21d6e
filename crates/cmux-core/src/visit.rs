//! Requests at the port: which come from a page of our own or from no page at all, and which were sent
//! by a page of somebody else's.
//!
//! Any page in the person's browser can send requests to this machine. It cannot choose what the browser
//! says of it: `Host` tells that a name was bent to point here, `Origin` and `Sec-Fetch-Site` whose page
//! it is. Programs other than browsers send neither of the last two, and are known by what they carry.

/// What a request says of where it comes from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Visit<'a> {
    pub host: Option<&'a str>,
    pub origin: Option<&'a str>,
    pub fetch_site: Option<&'a str>,
    pub fetch_mode: Option<&'a str>,
    /// Whether it asks for a page to look at, rather than for the API.
    pub is_page: bool,
    /// Whether it changes nothing: GET or HEAD.
    pub is_safe: bool,
    /// Whether it wants to become a WebSocket.
    pub is_upgrade: bool,
    /// Whether it carries a cookie of ours.
    pub has_cookie: bool,
}

/// The names under which cmux may be called, each exactly as a browser says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub hosts: Vec<String>,
    pub origins: Vec<String>,
}

/// Why a request is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    #[error(
        "it was called by a name that is not its own; further names are set with `hosts = […]`"
    )]
    Host,
    #[error("a page of another origin may not speak to it")]
    Origin,
    #[error("a page of another site may not speak to it")]
    Site,
    /// A browser names the origin of whatever changes something. What does not is no browser, and should
    /// not have its cookie.
    #[error("a cookie without an Origin changes nothing")]
    NoOrigin,
}

impl Visit<'_> {
    /// Returns whether the request may go on, or why not.
    pub fn judge(&self, names: &Names) -> Result<(), Foreign> {
        let is_among = |known: &[String], said: &str| {
            known.iter().any(|known| known.eq_ignore_ascii_case(said))
        };
        if !self.host.is_some_and(|host| is_among(&names.hosts, host)) {
            return Err(Foreign::Host);
        }
        if self.origin.is_some_and(|origin| !is_among(&names.origins, origin)) {
            return Err(Foreign::Origin);
        }
        let is_visit = self.is_page && self.is_safe && self.fetch_mode == Some("navigate");
        match self.fetch_site {
            None | Some("same-origin" | "none") => {}
            // A link to the dashboard may be followed from anywhere. `same-site` is another port.
            Some(_) if is_visit => {}
            Some(_) => return Err(Foreign::Site),
        }
        if self.has_cookie && self.origin.is_none() && (!self.is_safe || self.is_upgrade) {
            return Err(Foreign::NoOrigin);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_names_are_answered() {
        for host in ["127.0.0.1:8000", "localhost:8000", "LOCALHOST:8000"] {
            check(Visit { host: Some(host), ..program() }, Ok(()));
        }
        for host in ["evil.example", "127.0.0.1", "127.0.0.1:8001", "localhost:8000.evil", ""] {
            check(Visit { host: Some(host), ..program() }, Err(Foreign::Host));
        }
        check(Visit { host: None, ..program() }, Err(Foreign::Host));
    }

    #[test]
    fn only_its_own_pages_may_speak_to_it() {
        check(Visit { origin: Some("http://127.0.0.1:8000"), ..program() }, Ok(()));
        for origin in
            ["null", "http://evil.example", "http://127.0.0.1:3000", "https://127.0.0.1:8000", ""]
        {
            check(Visit { origin: Some(origin), ..program() }, Err(Foreign::Origin));
        }
    }

    #[test]
    fn what_the_browser_says_of_the_site_counts() {
        check(Visit { fetch_site: Some("same-origin"), ..program() }, Ok(()));
        check(Visit { fetch_site: Some("none"), ..program() }, Ok(()));
        for site in ["cross-site", "same-site", "whatever"] {
            check(Visit { fetch_site: Some(site), ..program() }, Err(Foreign::Site));
        }
    }

    #[test]
    fn a_link_to_the_dashboard_may_be_followed_from_anywhere_but_not_one_to_the_api() {
        let followed = Visit {
            fetch_site: Some("cross-site"),
            fetch_mode: Some("navigate"),
            is_page: true,
            ..program()
        };
        check(followed, Ok(()));
        check(Visit { is_page: false, ..followed }, Err(Foreign::Site));
        check(Visit { is_safe: false, ..followed }, Err(Foreign::Site));
        check(Visit { fetch_mode: Some("no-cors"), ..followed }, Err(Foreign::Site));
    }

    #[test]
    fn a_cookie_alone_changes_nothing() {
        let cookie = Visit { has_cookie: true, ..program() };
        check(cookie, Ok(()));
        check(Visit { is_safe: false, ..cookie }, Err(Foreign::NoOrigin));
        check(Visit { is_upgrade: true, ..cookie }, Err(Foreign::NoOrigin));
        let own = Some("http://localhost:8000");
        check(Visit { is_safe: false, origin: own, ..cookie }, Ok(()));
        check(Visit { is_upgrade: true, origin: own, ..cookie }, Ok(()));
    }

    #[track_caller]
    fn check(visit: Visit<'_>, expected: Result<(), Foreign>) {
        let names = Names {
            hosts: ["127.0.0.1:8000", "localhost:8000"].map(str::to_owned).into(),
            origins: ["http://127.0.0.1:8000", "http://localhost:8000"].map(str::to_owned).into(),
        };
        assert_eq!(visit.judge(&names), expected, "{visit:?}");
    }

    /// A request of a program that is no browser.
    fn program() -> Visit<'static> {
        Visit { host: Some("127.0.0.1:8000"), is_safe: true, ..Visit::default() }
    }
}
