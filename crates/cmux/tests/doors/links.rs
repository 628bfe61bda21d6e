//! One-time links: each lets one browser in, once and in time.

use cmux_testkit::store::make_stale;

use crate::house::{House, cookie};
use crate::knock::Request;

#[test]
fn a_link_that_is_followed_twice_lets_nobody_in_and_is_told() {
    let house = House::new();
    let link = house.link();
    let first = house.port().ask(&Request::get(&link));
    assert_eq!((first.status, first.header("location")), (303, Some("/")));
    let set = first.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(set.contains(part), "{set}");
    }
    let cookie = cookie(&first);
    let ask = Request::get("/api/whoami").with("Cookie", &cookie);
    assert_eq!(house.port().ask(&ask).status, 200);

    let head = house.head();
    let second = house.port().ask(&Request::get(&link));
    assert_eq!((second.status, second.header("set-cookie")), (410, None), "{second:?}");
    house.refusal("link-reused", "GET", "/login");
    for kind in ["link.reused", "session.over"] {
        assert!(house.kinds(head).iter().any(|it| it == kind), "{kind}");
    }
    // Whoever was first may have been the thief.
    let answer = house.port().ask(&ask);
    assert_eq!((answer.status, answer.problem().as_str()), (401, "revoked-credential"));
    house.refusal("revoked-credential", "GET", "/api/whoami");
    let log = house.get("/api/events?since=0&limit=1000").to_string() + &house.daemon.said();
    for secret in [link.split_once('=').unwrap().1, cookie.split_once('=').unwrap().1] {
        assert!(!log.contains(secret), "a secret was told");
    }
}

#[test]
fn what_is_no_link_or_comes_too_late_lets_nobody_in() {
    let house = House::new();
    let (link, cookie) = (house.link(), house.cookie());
    let house = house.reborn(|database| make_stale(database));
    for path in [&link, "/login?link=cmuxlink_made-up", "/login?link="] {
        let denied = house.number("cmux_auth_denied_total");
        let head = house.head();
        let answer = house.port().ask(&Request::get(path));
        assert_eq!((answer.status, answer.header("set-cookie")), (410, None), "{path}");
        assert_eq!(house.number("cmux_auth_denied_total"), denied + 1, "{path}");
        house.refusal("bad-link", "GET", "/login");
        assert!(house.kinds(head).iter().all(|kind| kind == "door.refused"), "{path}");
    }
    // The cookie is named after the port, which is another by now.
    let cookie = format!("cmux_{}={}", house.port, cookie.split_once('=').unwrap().1);
    let answer = house.port().ask(&Request::get("/api/whoami").with("Cookie", &cookie));
    assert_eq!((answer.status, answer.problem().as_str()), (401, "expired-credential"));
    house.refusal("expired-credential", "GET", "/api/whoami");
}
