//! The dashboard's files: what is said with them, and where the page is.

use crate::house::House;
use crate::knock::{Answer, Request};

/// Paths that the page itself understands, with something below some of them.
const PLACES: [&str; 10] = [
    "/",
    "/projects/src-1f2e3d",
    "/agents/agt_01J?tab=terminal",
    "/messages?thread=x",
    "/inbox",
    "/inbox/",
    "/activity",
    "/health",
    "/settings",
    "/agents/a/b/c",
];

#[test]
fn the_page_is_wherever_it_understands_the_path_and_nowhere_else() {
    let house = House::new();
    let page = house.port().ask(&Request::get("/"));
    assert!(text(&page).starts_with("<!doctype html>"), "{page:?}");
    for door in [house.port(), house.socket()] {
        for path in PLACES {
            let shown = door.ask(&Request::get(path));
            assert_eq!((shown.status, &shown.body), (200, &page.body), "{path}");
            assert_eq!(shown.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        }
        for path in ["/x", "/projectss", "/api/inbox", "/index.html", "/assets/", "/assets/../x"] {
            let refused = door.ask(&Request::get(path));
            assert_eq!((refused.status, refused.problem().as_str()), (404, "not-found"), "{path}");
        }
        let posted = door.ask(&Request::new("POST", "/inbox"));
        assert_eq!((posted.status, posted.problem().as_str()), (404, "not-found"));
    }
    let health = house.get("/api/webhooks/health");
    assert_eq!(health["frontend"]["status"], "healthy", "{health}");
}

/// What Chromium says when a person enters an address.
const ENTERED: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

#[test]
fn a_person_at_a_wrong_address_gets_the_page_which_says_so_and_a_program_does_not() {
    let house = House::new();
    let door = house.port();
    let page = door.ask(&Request::get("/"));
    let tag = page.header("etag").unwrap();
    for path in ["/x", "/projectss", "/apis/x", "/index.html"] {
        let entered = Request::get(path).with("Accept", ENTERED).with("If-None-Match", tag);
        let shown = door.ask(&entered);
        assert_eq!((shown.status, &shown.body), (404, &page.body), "{path}");
        let policy = shown.header("content-security-policy");
        assert_eq!(policy, page.header("content-security-policy"), "{path}");
        // What is kept of it is not what a program is told there.
        assert_eq!(shown.header("vary"), Some("accept, accept-encoding"), "{path}");
        assert_eq!(shown.header("etag"), None, "{path}");
    }
    for path in ["/api", "/api/inbox", "/assets/none.js", "/assets/x/y"] {
        let refused = door.ask(&Request::get(path).with("Accept", ENTERED));
        assert_eq!((refused.status, refused.problem().as_str()), (404, "not-found"), "{path}");
    }
    for accept in
        ["*/*", "application/json", "text/htmlx", "text/html;q=0", "text/plain, application/json"]
    {
        let refused = door.ask(&Request::get("/x").with("Accept", accept));
        assert_eq!((refused.status, refused.problem().as_str()), (404, "not-found"), "{accept}");
    }
    let posted = door.ask(&Request::new("POST", "/x").with("Accept", ENTERED));
    assert_eq!((posted.status, posted.problem().as_str()), (404, "not-found"));
}

#[test]
fn the_page_is_asked_for_again_and_its_files_are_kept() {
    let house = House::new();
    let door = house.port();
    let page = door.ask(&Request::get("/"));
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let tag = page.header("etag").unwrap();
    for path in ["/", "/inbox"] {
        let known = door.ask(&Request::get(path).with("If-None-Match", tag));
        assert_eq!((known.status, known.body.len(), known.header("etag")), (304, 0, Some(tag)));
        let other = door.ask(&Request::get(path).with("If-None-Match", "\"other\""));
        assert_eq!((other.status, &other.body), (200, &page.body));
    }
    let script = door.ask(&Request::get(&script_of(&page)));
    assert_eq!(script.status, 200);
    assert_eq!(script.header("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(script.header("vary"), Some("accept-encoding"));
    let missing = door.ask(&Request::get("/assets/none.js"));
    assert_eq!((missing.status, missing.problem().as_str()), (404, "not-found"));
    assert_eq!(missing.header("cache-control"), Some("no-store"));
}

#[test]
fn a_page_may_run_its_own_scripts_and_none_that_is_written_into_it() {
    let house = House::new();
    let page = house.port().ask(&Request::get("/agents/x"));
    let policy = page.header("content-security-policy").unwrap();
    for part in [
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.split("; ").any(|it| it == part), "{part}: {policy}");
    }
    let others = house.port().ask(&Request::get("/api/openapi.json"));
    assert!(!others.header("content-security-policy").unwrap().contains("unsafe-inline"));
    let inline = text(&page).matches("<script").count() - text(&page).matches(" src=\"").count();
    assert_eq!(inline, 0, "a script without `src` would not run");
}

#[test]
fn fewer_bytes_are_sent_to_who_takes_them_and_none_to_who_asks_for_the_head() {
    let house = House::new();
    for path in ["/", "/inbox"] {
        let page = house.port().ask(&Request::get(path));
        let small = house.port().ask(&Request::get(path).with("Accept-Encoding", "br, gzip"));
        assert_eq!(small.header("content-encoding"), Some("gzip"));
        assert_eq!(small.header("vary"), Some("accept-encoding"));
        assert_eq!(small.header("etag"), page.header("etag"));
        assert!(small.body.starts_with(&[0x1f, 0x8b]) && small.body.len() < page.body.len());
        // What is not sent is not waited for.
        let head =
            Request::new("HEAD", path).with("Connection", "close").bytes(&house.port().host());
        let mut line = house.port().open();
        std::io::Write::write_all(&mut line, &head).unwrap();
        let mut said = Vec::new();
        std::io::Read::read_to_end(&mut line, &mut said).unwrap();
        let said = String::from_utf8(said).unwrap();
        assert!(said.starts_with("HTTP/1.1 200") && said.ends_with("\r\n\r\n"), "{said}");
        assert!(said.contains(&format!("content-length: {}", page.body.len())), "{said}");
    }
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}

/// Returns the path of the script that `page` names.
#[track_caller]
fn script_of(page: &Answer) -> String {
    let text = text(page);
    let start = text.find("src=\"/assets/").unwrap() + "src=\"".len();
    text[start..].split('"').next().unwrap().to_owned()
}
