//! Ways in whose other ends are small servers of a test's own, which go wrong as real ones do.

use std::path::Path;
use std::sync::{Arc, Mutex};

use cmux_core::delivery::HEAD;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};

use super::*;
use crate::manifest::Template;

/// How long a test waits for an answer that comes, and for one that does not.
const LONG: Duration = Duration::from_secs(120);
const SHORT: Duration = Duration::from_millis(200);

const OURS: &str = "ses_1";

#[tokio::test]
async fn a_message_is_sent_whole_and_is_in_the_list_afterwards() {
    let server = OpenCode::start(Fault::None).await;
    let (id, text) = (delivery(1), said(1));
    assert_eq!(has(&server.way, Some(OURS), id, LONG).await.unwrap(), Some(false));
    let posted = post(&server.way, Some(OURS), id, &text, LONG).await;
    assert_eq!(posted.unwrap(), Posted::Queued);
    assert_eq!(server.said(), [text]);
    assert_eq!(has(&server.way, Some(OURS), id, LONG).await.unwrap(), Some(true));
    assert_eq!(has(&server.way, Some(OURS), delivery(2), LONG).await.unwrap(), Some(false));
}

#[tokio::test]
async fn a_session_is_begun_and_shown_for_who_has_none() {
    let server = OpenCode::start(Fault::None).await;
    assert_eq!(begin(&server.way, LONG).await.unwrap(), "ses_2");
    assert_eq!(server.shown(), Some("ses_2".to_owned()));
    for session in [None, Some("../x"), Some("a b"), Some("")] {
        let posted = post(&server.way, session, delivery(1), "text", LONG).await.unwrap();
        assert_eq!(posted, Posted::Refused("it has no session yet".to_owned()));
    }
    assert!(server.way.needs_session() && !server.way.knows_again());
}

#[tokio::test]
async fn what_was_certainly_not_taken_is_refused_and_all_else_is_not_known() {
    for (fault, told) in [
        (Fault::NoSession, Some("it does not know the session ses_1")),
        (Fault::Another, Some("does not answer as OpenCode does")),
        (Fault::Page, Some("does not answer as OpenCode does")),
        (Fault::Garbage, Some("it broke off")),
        (Fault::Locked, Some("it wants another password")),
        (Fault::Silent, Some("it does not answer")),
        (Fault::HangUp, Some("it broke off")),
        (Fault::Refuses, Some("it answered 400")),
        (Fault::Fails, None),
        (Fault::Answers200, None),
        (Fault::SilentPost, None),
        (Fault::HangUpPost, None),
        (Fault::GarbagePost, None),
    ] {
        let server = OpenCode::start(fault).await;
        let within = if fault == Fault::Silent { SHORT } else { LONG };
        let posted = if fault == Fault::SilentPost {
            cut_off(&server.way).await
        } else {
            post(&server.way, Some(OURS), delivery(1), &said(1), within).await
        };
        match (posted, told) {
            (Ok(Posted::Refused(why)), Some(told)) => assert!(why.contains(told), "{why}"),
            (Err(ChannelError::NotKnown(_)), None) => {}
            (posted, _) => panic!("{fault:?}: {posted:?}"),
        }
        let is_taken = matches!(fault, Fault::SilentPost | Fault::HangUpPost | Fault::GarbagePost);
        if !is_taken {
            assert_eq!(server.said(), [""; 0], "{fault:?}");
        }
    }
    let gone = OpenCode::gone().await;
    let posted = post(&gone, Some(OURS), delivery(1), "text", LONG).await.unwrap();
    assert!(matches!(posted, Posted::Refused(why) if why.contains("nobody is at its port")));
    assert!(has(&gone, Some(OURS), delivery(1), LONG).await.is_err());
    assert!(begin(&gone, LONG).await.is_err());
}

#[tokio::test]
async fn a_list_that_cannot_be_read_tells_nothing() {
    for fault in [
        Fault::NoSession,
        Fault::Another,
        Fault::Page,
        Fault::Garbage,
        Fault::HangUp,
        Fault::Silent,
        Fault::BadList,
        Fault::CutList,
    ] {
        let server = OpenCode::start(fault).await;
        let within = if fault == Fault::Silent { SHORT } else { LONG };
        let told = has(&server.way, Some(OURS), delivery(1), within).await;
        assert!(told.is_err(), "{fault:?}: {told:?}");
    }
    let server = OpenCode::start(Fault::LongList).await;
    assert_eq!(has(&server.way, Some(OURS), delivery(1), LONG).await.unwrap(), None);
}

#[tokio::test]
async fn what_is_behind_many_others_is_found_and_no_one_elses_word_passes_for_it() {
    let server = OpenCode::start(Fault::None).await;
    for text in [format!("see {}", said(1)), format!("\\{}", said(1)), "hello".to_owned()] {
        server.say("user", &text);
    }
    server.say("assistant", &said(1));
    assert_eq!(has(&server.way, Some(OURS), delivery(1), LONG).await.unwrap(), Some(false));
    server.say("user", &said(1));
    (0..70).for_each(|_| server.say("assistant", "step"));
    assert_eq!(has(&server.way, Some(OURS), delivery(1), LONG).await.unwrap(), Some(true));
    // It may be among those that are not told.
    (0..1_000).for_each(|_| server.say("assistant", "step"));
    assert_eq!(has(&server.way, Some(OURS), delivery(1), LONG).await.unwrap(), None);
}

#[tokio::test]
async fn what_its_answers_took_is_told_once_and_that_of_what_it_has_begun() {
    let server = OpenCode::start(Fault::None).await;
    let mut known = BTreeSet::new();
    let mut more = async |server: &OpenCode| {
        let used = used(&server.way, OURS, &known, LONG).await.unwrap();
        known.extend(used.known);
        let mut keys: Vec<String> = used.spent.into_iter().map(|it| it.key).collect();
        keys.sort();
        keys
    };
    assert_eq!(more(&server).await, ["msg_2000"]);
    server.say("user", "hello");
    server.say("assistant", "well");
    assert_eq!(more(&server).await, ["msg_1"]);
    assert_eq!(more(&server).await, [""; 0]);
    (0..3).for_each(|_| server.say("assistant", "step"));
    assert_eq!(more(&server).await, ["msg_2", "msg_3", "msg_4"]);
    // More than is asked for at first.
    (0..70).for_each(|_| server.say("assistant", "step"));
    assert_eq!(more(&server).await.len(), 70);
    for fault in [Fault::NoSession, Fault::Another, Fault::Garbage, Fault::BadList] {
        let server = OpenCode::start(fault).await;
        assert!(used(&server.way, OURS, &BTreeSet::new(), LONG).await.is_err(), "{fault:?}");
    }
}

#[tokio::test]
async fn only_this_machine_is_spoken_to() {
    for at in [
        "http://10.0.0.1:80/session/{session}/prompt_async",
        "http://example.org/session/{session}/prompt_async",
        "http://127.0.0.1:80/prompt",
        "/socket",
    ] {
        let way = way(ApiShape::OpencodePrompt, at);
        let posted = post(&way, Some(OURS), delivery(1), "text", LONG).await.unwrap();
        assert!(matches!(&posted, Posted::Refused(why) if why.contains("address")), "{posted:?}");
    }
}

#[tokio::test]
async fn a_door_says_what_became_of_a_message_or_it_is_not_known() {
    let id = delivery(1);
    let refused = |why: &str| Some(Posted::Refused(why.to_owned()));
    for (answer, expected) in [
        (format!("{{\"id\":\"{id}\",\"state\":\"taken\"}}\n"), Some(Posted::Taken)),
        (format!("{{\"id\":\"{id}\",\"state\":\"queued\"}}\n"), Some(Posted::Queued)),
        (format!("{{\"id\":\"{id}\",\"state\":\"refused\",\"reason\":\"no\"}}\n"), refused("no")),
        ("{\"id\":null,\"state\":\"refused\"}\n".to_owned(), refused("it says no more")),
        ("{\"id\":\"other\",\"state\":\"taken\"}\n".to_owned(), None),
        (format!("{{\"id\":\"{id}\",\"state\":\"taken\"}}"), None),
        (format!("{{\"id\":\"{id}\",\"state\":\"lost\"}}\n"), None),
        ("hello\n".to_owned(), None),
        ("x".repeat(1 << 20), None),
        (String::new(), None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("door");
        let heard = answer_at(&path, answer.clone().into_bytes());
        let way = way(ApiShape::DemoDoor, path.to_str().unwrap());
        let posted = post(&way, None, id, "line\n\u{1b}\"", LONG).await.ok();
        assert_eq!(posted, expected, "{answer}");
        let heard: Value = serde_json::from_slice(&heard.await.unwrap()).unwrap();
        assert_eq!(heard, json!({ "id": id.to_string(), "text": "line\n\u{1b}\"" }));
    }
}

#[tokio::test]
async fn a_door_that_is_shut_has_taken_nothing_and_one_that_is_silent_may_have() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("door");
    let way = way(ApiShape::DemoDoor, path.to_str().unwrap());
    let posted = post(&way, None, delivery(1), "text", LONG).await.unwrap();
    assert!(matches!(&posted, Posted::Refused(why) if why.starts_with("nobody is at")));
    let silent = UnixListener::bind(&path).unwrap();
    assert!(cut_off(&way).await.is_err());
    drop(silent);
    assert_eq!(has(&way, None, delivery(1), LONG).await.unwrap(), None);
    assert!(way.knows_again() && !way.needs_session());
}

/// Sends a message to one that hears it and never answers. On a busy machine it is not even heard in a short
/// time, and is sent again with more.
async fn cut_off(way: &Way) -> Result<Posted, ChannelError> {
    let mut within = SHORT;
    loop {
        let posted = post(way, Some(OURS), delivery(1), &said(1), within).await;
        if !matches!(posted, Ok(Posted::Refused(_))) || within > LONG {
            return posted;
        }
        within *= 2;
    }
}

/// What a server does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// It does not know the session.
    NoSession,
    /// It is another program, which says this and that, …
    Another,
    /// … has a page for everything, …
    Page,
    /// … or speaks no HTTP.
    Garbage,
    Locked,
    Silent,
    HangUp,
    Refuses,
    Fails,
    Answers200,
    SilentPost,
    HangUpPost,
    GarbagePost,
    BadList,
    CutList,
    LongList,
}

/// A small OpenCode, as far as it is spoken to here.
struct OpenCode {
    way: Way,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    messages: Vec<(String, String)>,
    shown: Option<String>,
}

impl OpenCode {
    async fn start(fault: Fault) -> OpenCode {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::default()));
        let known = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, fault, Arc::clone(&known)));
            }
        });
        OpenCode { way: way_at(port), state }
    }

    /// Returns the way to one that is not there any more.
    async fn gone() -> Way {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        way_at(listener.local_addr().unwrap().port())
    }

    fn say(&self, role: &str, text: &str) {
        self.state.lock().unwrap().messages.push((role.to_owned(), text.to_owned()));
    }

    fn said(&self) -> Vec<String> {
        self.state.lock().unwrap().messages.iter().map(|(_, text)| text.clone()).collect()
    }

    fn shown(&self) -> Option<String> {
        self.state.lock().unwrap().shown.clone()
    }
}

/// Answers requests on one connection.
async fn serve(mut stream: tokio::net::TcpStream, fault: Fault, state: Arc<Mutex<State>>) {
    while let Some((head, body)) = request(&mut stream).await {
        let is_post = head.contains("/prompt_async ");
        match (fault, is_post) {
            (Fault::Silent, _) | (Fault::SilentPost, true) => std::future::pending().await,
            (Fault::HangUp, _) | (Fault::HangUpPost, true) => return,
            (Fault::Garbage, _) | (Fault::GarbagePost, true) => {
                let _ = stream.write_all(b"\0\x01garbage\n\n").await;
                return;
            }
            _ => {}
        }
        let (status, answer) = answer(fault, &head, &body, &state);
        let cut = usize::from(fault == Fault::CutList && head.contains("/message"));
        let length = answer.len() + cut;
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n");
        let head =
            if status.starts_with("204") { format!("HTTP/1.1 {status}\r\n\r\n") } else { head };
        if stream.write_all(&[head.as_bytes(), answer.as_bytes()].concat()).await.is_err()
            || cut > 0
        {
            return;
        }
    }
}

/// Returns a status and a body.
fn answer(fault: Fault, head: &str, body: &str, state: &Mutex<State>) -> (&'static str, String) {
    let mut state = state.lock().unwrap();
    let words = head.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    match (words.split('?').next().unwrap(), fault) {
        (_, Fault::Locked) => ("401 Unauthorized", String::new()),
        // opencode:s3cret
        _ if !head.contains("authorization: Basic b3BlbmNvZGU6czNjcmV0") => {
            ("401 Unauthorized", String::new())
        }
        (_, Fault::Another) => ("200 OK", "{\"id\":\"other\"}".to_owned()),
        (_, Fault::Page) => ("200 OK", "<html>hello</html>".to_owned()),
        ("GET /session/ses_1", Fault::NoSession) => ("404 Not Found", "{}".to_owned()),
        ("GET /session/ses_1", _) => ("200 OK", json!({ "id": "ses_1" }).to_string()),
        ("POST /session/ses_1/prompt_async", Fault::Refuses) => {
            ("400 Bad Request", "{}".to_owned())
        }
        ("POST /session/ses_1/prompt_async", Fault::Fails) => ("500 Error", "{}".to_owned()),
        ("POST /session/ses_1/prompt_async", Fault::Answers200) => ("200 OK", "{}".to_owned()),
        ("POST /session/ses_1/prompt_async", _) => {
            let body: Value = serde_json::from_str(body).unwrap();
            assert_eq!(body["parts"][0]["type"], "text");
            let text = body["parts"][0]["text"].as_str().unwrap().to_owned();
            state.messages.push(("user".to_owned(), text));
            ("204 No Content", String::new())
        }
        ("GET /session/ses_1/message", Fault::BadList) => ("200 OK", "{}".to_owned()),
        ("GET /session/ses_1/message", Fault::LongList) => ("200 OK", "[".repeat((16 << 20) + 1)),
        ("GET /session/ses_1/message", _) => {
            let (_, newest) = words.split_once("limit=").unwrap();
            let skipped = state.messages.len().saturating_sub(newest.parse().unwrap());
            let shape = |(number, (role, text)): (usize, &(String, String))| {
                let mut message = match role.as_str() {
                    "assistant" => answered(number),
                    _ => json!({ "info": { "role": role } }),
                };
                message["parts"] = json!([{ "type": "text", "text": text }]);
                message
            };
            let list = state.messages.iter().enumerate().skip(skipped).map(shape);
            let list: Vec<Value> = list.collect();
            ("200 OK", json!(list).to_string())
        }
        ("GET /session/ses_2/message", _) => ("200 OK", json!([answered(2_000)]).to_string()),
        ("GET /session/ses_1/children", _) => {
            let updated = state.messages.len();
            ("200 OK", json!([{ "id": "ses_2", "time": { "updated": updated } }]).to_string())
        }
        ("GET /session/ses_2/children", _) => ("200 OK", "[]".to_owned()),
        ("POST /session", _) => ("200 OK", json!({ "id": "ses_2" }).to_string()),
        ("POST /tui/select-session", _) => {
            let body: Value = serde_json::from_str(body).unwrap();
            state.shown = body["sessionID"].as_str().map(str::to_owned);
            ("200 OK", "true".to_owned())
        }
        (other, _) => panic!("nobody asks for {other}"),
    }
}

/// Returns an answer that was given as the so-manieth message, and took one token more than that.
fn answered(number: usize) -> Value {
    json!({ "info": {
        "id": format!("msg_{number}"), "role": "assistant", "modelID": "gpt-9",
        "time": { "created": 1, "completed": 2 }, "cost": 0,
        "tokens": { "input": number, "output": 1, "reasoning": 0, "cache": { "read": 0, "write": 0 } },
    } })
}

/// Reads a request, or returns nothing at the end of a connection.
async fn request(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok()
            });
            if body.len() >= length.unwrap_or(0) {
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await {
            Ok(count @ 1..) => bytes.extend(&piece[..count]),
            Ok(0) | Err(_) => return None,
        }
    }
}

/// Answers the first line at a socket, and returns that.
fn answer_at(path: &Path, answer: Vec<u8>) -> tokio::task::JoinHandle<Vec<u8>> {
    let listener = UnixListener::bind(path).unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut heard = Vec::new();
        while !heard.ends_with(b"\n") {
            heard.push(stream.read_u8().await.unwrap());
        }
        // Who has heard enough hangs up.
        let _ = stream.write_all(&answer).await;
        heard
    })
}

fn way_at(port: u16) -> Way {
    let at = "http://opencode:{secret}@127.0.0.1:{port}/session/{session}/prompt_async";
    let api = Api { shape: ApiShape::OpencodePrompt, at: Template::read(at).unwrap() };
    let way = Way::of(&api, |place| match place == Place::Secret {
        true => Some("s3cret".to_owned()),
        false => (place == Place::Port).then(|| port.to_string()),
    });
    way.unwrap()
}

fn way(shape: ApiShape, at: &str) -> Way {
    Way { shape, at: at.to_owned() }
}

fn said(n: u128) -> String {
    format!("{HEAD}{} from user · task · msg_1]\nline \"one\"\n\u{754c}", delivery(n))
}

fn delivery(n: u128) -> DeliveryId {
    format!("dlv_{n:026}").parse().unwrap()
}
