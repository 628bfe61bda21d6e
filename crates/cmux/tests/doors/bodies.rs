//! Requests that make no sense to a route: each is told what is wrong, and nothing is stored.

use serde_json::Value;

use crate::house::House;
use crate::knock::{Answer, Request};

/// The longest body that is read, in bytes.
const BODY_MAX: usize = 10 << 20;

/// What a route is sent, how it answers, and what it says of it.
type Case<'a> = (&'a str, &'a [u8], u16, &'a str);

#[test]
fn a_body_that_does_not_fit_is_told_what_is_wrong() {
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let deep_root = format!(r#"{{"root":{deep}}}"#);
    let long = format!(r#"{{"root":"/a","name":"{}"}}"#, "x".repeat(101));
    let far = format!(r#"{{"root":"/{}"}}"#, "x".repeat(5000));
    let cases: &[Case<'_>] = &[
        ("/api/projects", b"", 400, "JSON object"),
        ("/api/projects", b"{", 400, "EOF"),
        ("/api/projects", br#"{"root":"#, 400, "EOF"),
        ("/api/projects", br#"{"root":"/a"} x"#, 400, "trailing"),
        ("/api/projects", br"{'root':'/a'}", 400, "line 1 column 2"),
        ("/api/projects", b"null", 400, "JSON object"),
        ("/api/projects", b"[]", 400, "JSON object"),
        ("/api/projects", br#"["/a","a"]"#, 400, "JSON object"),
        ("/api/projects", b"42", 400, "JSON object"),
        ("/api/projects", b"{}", 400, "missing field `root`"),
        ("/api/projects", br#"{"root":5}"#, 400, "expected a string"),
        ("/api/projects", br#"{"root":["/a"]}"#, 400, "expected a string"),
        ("/api/projects", br#"{"root":"/a","nmae":"b"}"#, 400, "unknown field `nmae`"),
        ("/api/projects", br#"{"root":"/a","root":"/b"}"#, 400, "duplicate field"),
        ("/api/projects", br#"{"root":"/a","name":"\ud800"}"#, 400, "hex escape"),
        ("/api/projects", b"{\"root\":\"/\xff\"}", 400, "unicode"),
        ("/api/projects", b"\xff\xfe{\x00}\x00", 400, "JSON object"),
        ("/api/projects", deep.as_bytes(), 400, "JSON object"),
        ("/api/projects", deep_root.as_bytes(), 400, "line 1"),
        ("/api/projects", br#"{"root":"a/b"}"#, 400, "absolute"),
        ("/api/projects", br#"{"root":"../b"}"#, 400, "absolute"),
        ("/api/projects", br#"{"root":""}"#, 400, "absolute"),
        ("/api/projects", br#"{"root":"/a\u0000b"}"#, 400, "control"),
        ("/api/projects", br#"{"root":"/a","name":"a\u0000b"}"#, 400, "control"),
        ("/api/projects", br#"{"root":"/a","name":"a\nb"}"#, 400, "control"),
        ("/api/projects", br#"{"root":"/a","name":""}"#, 400, "name"),
        ("/api/projects", long.as_bytes(), 400, "name"),
        ("/api/projects", far.as_bytes(), 400, "4096"),
        ("/api/tokens", br#"{"scope":"all"}"#, 400, "unknown variant `all`"),
        ("/api/tokens", br#"{"scope":"read","expires_in_s":-1}"#, 400, "-1"),
        ("/api/tokens", br#"{"scope":"read","expires_in_s":1.5}"#, 400, "1.5"),
        ("/api/tokens", br#"{"scope":"read","expires_in_s":0}"#, 400, "must be 1 to"),
        (
            "/api/tokens",
            br#"{"scope":"read","expires_in_s":18446744073709551615}"#,
            400,
            "must be 1 to",
        ),
        ("/api/tokens", br#"{"scope":"read","expires_in_s":18446744073709551616}"#, 400, "invalid"),
        ("/api/tokens", br#"{"scope":"read","name":"a\u0000b"}"#, 400, "cannot be seen"),
        ("/api/tokens", br#"{"scope":"read","name":"\u202e"}"#, 400, "cannot be seen"),
        ("/api/store/backups", br#"{"file":"../copy.db"}"#, 400, "absolute"),
        ("/api/store/backups", br#"{"file":"/tmp/a\u0000b"}"#, 422, "NUL"),
        ("/api/store/backups", br#"{"file":"/dev/null/x"}"#, 422, "/dev/null/x"),
        ("/api/store/backups", br#"{"file":"/"}"#, 422, "is there already"),
        ("/api/store/archives", br#"{"file":"../old","keep_days":1}"#, 400, "absolute"),
        ("/api/store/archives", br#"{"file":"/tmp/a\u0000b","keep_days":0}"#, 422, "NUL"),
        ("/api/store/archives", br#"{"file":"/tmp/x","keep_days":-1}"#, 400, "-1"),
        ("/api/store/archives", br#"{"file":"/tmp/x","keep_days":1e99}"#, 400, "invalid"),
        ("/api/login", br#"{"password":5}"#, 400, "expected a string"),
        ("/api/login", br#"{"password":"x","user":"root"}"#, 400, "unknown field `user`"),
    ];
    refuses(|house| {
        for (path, body, status, told) in cases {
            let answer = house.socket().ask(&Request::new("POST", path).with_json(*body));
            let shown = String::from_utf8_lossy(&body[..body.len().min(100)]);
            check(&answer, *status, told, &format!("{path} {shown}"));
        }
    });
}

#[test]
fn what_does_not_say_that_it_is_json_is_not_read_as_json() {
    let body = br#"{"root":"/a"}"#;
    refuses(|house| {
        let ask = |kind: Option<&str>| {
            let request = Request { body: body.to_vec(), ..Request::new("POST", "/api/projects") };
            house
                .socket()
                .ask(&kind.into_iter().fold(request, |it, kind| it.with("Content-Type", kind)))
        };
        for kind in [
            None,
            Some("text/plain"),
            Some("application/x-www-form-urlencoded"),
            Some("multipart/form-data; boundary=x"),
            Some("text/json"),
            Some(""),
        ] {
            check(&ask(kind), 415, "application/json", &format!("{kind:?}"));
        }
    });
}

#[test]
fn a_body_that_is_too_long_is_refused_before_it_is_all_read() {
    let long = vec![b' '; BODY_MAX + 1];
    let chunked = [format!("{:x}\r\n", long.len()).as_bytes(), &long, b"\r\n0\r\n\r\n"].concat();
    refuses(|house| {
        for (path, most) in
            [("/api/projects", "10 MiB"), ("/api/login", "4 KiB"), ("/api/tokens", "10 MiB")]
        {
            let request = Request::new("POST", path).with("Content-Type", "application/json");
            let told = Request { body: long.clone(), ..request.clone() };
            let untold = request.clone().with("Transfer-Encoding", "chunked");
            let untold = Request { body: chunked.clone(), ..untold };
            // One that says so is not even begun with.
            let said = request.with("Content-Length", &(BODY_MAX + 1).to_string());
            for request in [told, untold, said] {
                let answer = house.socket().ask(&request);
                check(&answer, 413, most, path);
                assert_eq!(answer.problem(), "too-long");
                assert_eq!(answer.header("connection"), Some("close"), "{path}");
            }
        }
    });
}

#[test]
fn a_path_that_names_nothing_is_refused() {
    let long = format!("/api/projects/{}", "x".repeat(300));
    refuses(|house| {
        for (method, path, status) in [
            ("GET", "/api/projects/../../../etc/passwd", 404),
            ("GET", "/api/projects/..%2f..%2fetc%2fpasswd", 400),
            ("GET", "/api/projects/%2e%2e", 400),
            ("GET", "/api/projects/%00", 400),
            ("GET", "/api/projects/%ff", 400),
            ("GET", "/api/projects/%zz", 400),
            ("GET", "/api/projects/ABC", 400),
            ("GET", "/api/projects/'%20or%201=1--", 400),
            ("GET", &long, 400),
            ("GET", "/api/projects/", 404),
            ("GET", "//api//projects", 404),
            ("GET", "/api/projects;x=y", 404),
            ("DELETE", "/api/projects/..%2f..", 400),
            ("DELETE", "/api/tokens/..%2f..", 400),
            ("DELETE", "/api/tokens/tok_%00", 400),
            ("DELETE", "/api/tokens/ses_01JZZZZZZZZZZZZZZZZZZZZZZZ", 400),
            ("DELETE", "/api/tokens/tok_01JZZZZZZZZZZZZZZZZZZZZZZZ", 404),
            ("DELETE", "/api/sessions/..", 400),
            ("DELETE", "/api/sessions/current", 404),
            ("POST", "/api/webhooks/..%2fhealth", 404),
            ("POST", "/api/webhooks/health", 405),
            ("PUT", "/api/projects", 405),
            ("PATCH", "/api/projects/x", 405),
            ("TRACE", "/api/projects", 405),
            ("FROBNICATE", "/api/projects", 405),
        ] {
            let answer = house.socket().ask(&Request::new(method, path));
            check(&answer, status, "", &format!("{method} {path}"));
        }
    });
}

#[test]
fn absurd_paging_is_refused() {
    refuses(|house| {
        for (path, told) in [
            ("/api/events?limit=0", "1 to 1000"),
            ("/api/events?limit=1001", "1 to 1000"),
            ("/api/events?limit=-1", "limit"),
            ("/api/events?limit=4294967296", "limit"),
            ("/api/events?limit=1e3", "limit"),
            ("/api/events?limit=", "limit"),
            ("/api/events?limit=1&limit=2", "duplicate"),
            ("/api/events?since=abc", "since"),
            ("/api/events?since=9223372036854775808", "since"),
            ("/api/events?sicne=1", "sicne"),
            ("/api/events?before=x", "before"),
            ("/api/events?q=", "1 to 200"),
            ("/api/events?q=a%00b", "one line"),
            (&format!("/api/events?q={}", "x".repeat(201)), "1 to 200"),
            ("/api/ws?before=7", "before"),
            ("/api/ws?q=x", "unknown field"),
            ("/api/ws?subject=x", "subject"),
            ("/api/ws?since=abc", "since"),
            ("/api/projects?cursor=../x", "not a project's id"),
            ("/api/projects?cursor=", "not a project's id"),
            ("/api/projects?page=2", "page"),
            ("/api/tokens?cursor=x", ""),
            ("/api/sessions?cursor=%00", ""),
        ] {
            check(&house.socket().ask(&Request::get(path)), 400, told, path);
        }
        // What is far off is merely not there.
        for since in [i64::MAX, i64::MIN, -1] {
            house.get(&format!("/api/events?since={since}"));
        }
        let beyond = house.get("/api/projects?cursor=zzzz");
        assert_eq!(beyond["projects"], Value::Array(Vec::new()));
    });
}

/// Does `work`, and checks that nothing has come of it.
#[track_caller]
fn refuses(work: impl FnOnce(&House)) {
    let house = House::new();
    house.projects(1);
    let state = || ["/api/projects", "/api/tokens", "/api/sessions"].map(|path| house.get(path));
    let (before, head) = (state(), house.head());
    work(&house);
    assert_eq!(state(), before);
    // What nobody may send is told of, and nothing else is.
    assert!(house.kinds(head).iter().all(|kind| kind == "door.refused"));
    let said = house.daemon.said();
    assert!(!said.contains("panicked") && !said.contains("a request failed"), "{said}");
}

/// Checks that it is refused, as a problem that says what is wrong.
#[track_caller]
fn check(answer: &Answer, status: u16, told: &str, what: &str) {
    assert_eq!(answer.status, status, "{what}: {answer:?}");
    answer.problem();
    assert!(answer.detail().contains(told) && !answer.detail().is_empty(), "{what}: {answer:?}");
    assert!(answer.body.len() < 2000, "{what}: {answer:?}");
}
