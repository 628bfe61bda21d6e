//! Forbidden requests: none has an effect, and each is in the log.

use crate::agent::Agent;
use crate::house::House;
use crate::knock::Request;

/// A request that would be allowed but for one thing, and how it is turned away.
struct Case {
    what: &'static str,
    headers: Vec<(&'static str, String)>,
    status: u16,
    reason: &'static str,
}

#[test]
fn a_forbidden_request_has_no_effect_and_is_logged() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    let agent = Agent::of(&project);
    let house = agent.enter(house, false);
    let cases = cases(&house, &agent);
    let ids = house.projects(cases.len() + 2);
    let before = house.get("/api/projects");
    let head = house.head();
    for (Case { what, headers, status, reason }, id) in cases.iter().zip(&ids) {
        let path = format!("/api/projects/{id}");
        let denied = house.number("cmux_auth_denied_total");
        let answer = house.port().ask(&with(Request::new("DELETE", &path), headers));
        assert_eq!((answer.status, answer.problem().as_str()), (*status, *reason), "{what}");
        assert_eq!(house.number("cmux_auth_denied_total"), denied + 1, "{what}");
        let told = house.refusal(reason, "DELETE", &path);
        assert_eq!((&told["door"], &told["from"]), (&"port".into(), &"127.0.0.1".into()), "{what}");
    }
    assert_eq!(house.get("/api/projects"), before);
    assert!(house.kinds(head).iter().all(|kind| kind == "door.refused"));

    // But for that one thing, each would have been let through.
    let token = good(&house);
    let cookie = [("Cookie", house.cookie()), ("Origin", house.origin())];
    for (headers, id) in [&token[..], &cookie].iter().zip(&ids[cases.len()..]) {
        let request = with(Request::new("DELETE", &format!("/api/projects/{id}")), headers);
        assert_eq!(house.port().ask(&request).status, 204, "{request:?}");
    }
}

#[test]
fn a_forbidden_websocket_is_not_opened_and_is_logged() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    let agent = Agent::of(&project);
    let house = agent.enter(house, false);
    let head = house.head();
    for Case { what, headers, status, reason } in cases(&house, &agent) {
        let denied = house.number("cmux_auth_denied_total");
        let request = with(Request::get("/api/ws?since=0").for_websocket(), &headers);
        let answer = house.port().ask(&request);
        assert_eq!((answer.status, answer.problem().as_str()), (status, reason), "{what}");
        assert_eq!(house.number("cmux_auth_denied_total"), denied + 1, "{what}");
        house.refusal(reason, "GET", "/api/ws");
    }
    assert_eq!(house.number("cmux_ws_clients"), 0);
    let is_expected = |kind: &String| {
        let furnishing = ["token.created", "token.revoked", "link.made"];
        let sessions = ["session.opened", "session.over"];
        kind == "door.refused" || [&furnishing[..], &sessions].concat().contains(&kind.as_str())
    };
    assert!(house.kinds(head).iter().all(is_expected));

    let cookie = [("Cookie", house.cookie()), ("Origin", house.origin())];
    for headers in [&good(&house)[..], &cookie] {
        let request = with(Request::get("/api/ws").for_websocket(), headers);
        assert_eq!(house.port().ask(&request).status, 101, "{request:?}");
    }
}

/// Returns requests that would be allowed but for one thing each.
fn cases(house: &House, agent: &Agent) -> Vec<Case> {
    [foreign(house), pages(house), credentials(house, agent)].into_iter().flatten().collect()
}

/// Those that call the daemon by a name that is not its own.
fn foreign(house: &House) -> Vec<Case> {
    let port = house.port;
    let host = |what, host: &str| Case {
        what,
        headers: [good(house), vec![("Host", host.to_owned())]].concat(),
        status: 421,
        reason: "foreign-host",
    };
    let own = format!("127.0.0.1:{port}");
    let mut twice = host("its own name twice", &own);
    twice.headers.push(("Host", own.clone()));
    vec![
        host("a name that was bent to point here", "evil.example"),
        host("that with the right port", &format!("evil.example:{port}")),
        host("its own address without the port", "127.0.0.1"),
        host("its own address with another port", "127.0.0.1:1"),
        host("its own name within another", &format!("localhost:{port}.evil.example")),
        host("somebody before its own name", &format!("evil.example@127.0.0.1:{port}")),
        host("no name", ""),
        host("two names in one", &format!("{own}, evil.example")),
        twice,
    ]
}

/// Those that a page of somebody else's sends.
fn pages(house: &House) -> Vec<Case> {
    let port = house.port;
    let case = |what, reason, header, said: &str| Case {
        what,
        headers: [good(house), vec![(header, said.to_owned())]].concat(),
        status: 403,
        reason,
    };
    let origin = |what, said: &str| case(what, "foreign-origin", "Origin", said);
    let site = |what, said: &str| case(what, "foreign-site", "Sec-Fetch-Site", said);
    let bare = Case {
        what: "a cookie without an origin",
        headers: vec![("Cookie", house.cookie())],
        status: 403,
        reason: "no-origin",
    };
    vec![
        origin("a page of another site", "https://evil.example"),
        origin("a page without an origin", "null"),
        origin("a page at another port", "http://127.0.0.1:3000"),
        origin("a page of another scheme", &format!("https://127.0.0.1:{port}")),
        origin("a page whose origin says nothing", ""),
        origin("its own origin and another", &format!("{} https://evil.example", house.origin())),
        site("a page of another site", "cross-site"),
        site("a page at another port", "same-site"),
        site("a page of who knows where", "elsewhere"),
        bare,
    ]
}

/// Those that show something that is not good, or nothing.
fn credentials(house: &House, agent: &Agent) -> Vec<Case> {
    let case = |what, reason, headers| Case { what, headers, status: 401, reason };
    let shows = |said: String| vec![("Authorization", said)];
    let bearer = |secret: &str| shows(format!("Bearer {secret}"));
    let operate = house.token("operate", None).secret;
    let browser = |cookie: String| vec![("Cookie", cookie), ("Origin", house.origin())];
    let twice = [bearer(&operate), bearer(&operate)].concat();
    vec![
        case("nothing", "nobody-known", Vec::new()),
        case("a wrong token", "bad-credential", bearer("cmux_made-up")),
        case("half a token", "bad-credential", bearer(&operate[..operate.len() / 2])),
        case("a token and more", "bad-credential", bearer(&format!("{operate}x"))),
        case("an empty token", "bad-credential", bearer("")),
        case("a token in another scheme", "bad-credential", shows(format!("Basic {operate}"))),
        case("a token twice", "bad-credential", twice),
        case("an endless token", "bad-credential", bearer(&"x".repeat(10_000))),
        case("an expired token", "expired-credential", bearer(&house.expired_token())),
        case("a revoked token", "revoked-credential", bearer(&house.revoked_token())),
        case("an agent's token", "wrong-descent", bearer(agent.secret)),
        case("a cookie that was given up", "revoked-credential", browser(left(house))),
        case(
            "the cookie of a daemon at another port",
            "nobody-known",
            browser(house.cookie().replace(&format!("cmux_{}", house.port), "cmux_1")),
        ),
        case(
            "a token in the place of a cookie",
            "bad-credential",
            browser(format!("cmux_{}={operate}", house.port)),
        ),
    ]
}

/// Returns the cookie of a browser that has left.
fn left(house: &House) -> String {
    let cookie = house.cookie();
    let leave = Request::new("DELETE", "/api/sessions/current").with("Cookie", &cookie);
    assert_eq!(house.port().ask(&leave.with("Origin", &house.origin())).status, 204);
    cookie
}

/// Returns what a script shows that may do nearly everything.
fn good(house: &House) -> Vec<(&'static str, String)> {
    vec![("Authorization", format!("Bearer {}", house.token("operate", None).secret))]
}

fn with(request: Request, headers: &[(&str, String)]) -> Request {
    headers.iter().fold(request, |request, (name, value)| request.with(name, value))
}
