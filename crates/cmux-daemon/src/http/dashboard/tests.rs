//! Tests of what is said of the dashboard's files.

use std::io::Read;

use axum::body::to_bytes;
use flate2::read::GzDecoder;

use super::*;

#[test]
fn the_pages_places_are_told_from_all_else() {
    for (path, expected) in [
        ("/projects", true),
        ("/projects/", true),
        ("/agents/agt_1/anything", true),
        ("/inbox", true),
        ("/health", true),
        ("/", false),
        ("", false),
        ("/project", false),
        ("/projectss", false),
        ("/Projects", false),
        ("//projects", false),
        ("/api/projects", false),
        ("/assets/projects", false),
        ("/login/projects", false),
    ] {
        assert_eq!(is_place(path), expected, "{path}");
    }
}

#[test]
fn a_dashboard_that_is_not_whole_is_told() {
    assert_eq!(trouble(), None, "this one is whole");
    let page = "<html><script type=\"module\" crossorigin src=\"/assets/a.js\"></script></html>";
    for (page, files, expected) in [
        (None, &["assets/a.js"][..], Some("without its dashboard")),
        (Some(""), &["assets/a.js"], Some("without its dashboard")),
        (Some("<html><script src=\"/assets/a.js\">"), &["assets/a.js"], Some("without its dash")),
        (Some("<html></html>"), &["assets/a.js"], Some("names no script")),
        (Some(page), &["assets/b.js"], Some("without /assets/a.js")),
        (Some(page), &["assets/a.js"], None),
    ] {
        let why = judge(page, |path| files.contains(&path));
        assert_eq!(why.is_some(), expected.is_some(), "{page:?}: {why:?}");
        assert!(why.unwrap_or_default().contains(expected.unwrap_or_default()), "{page:?}");
    }
}

#[test]
fn only_who_takes_gzip_is_sent_it() {
    for (said, expected) in [
        ("gzip", true),
        ("deflate, GZIP;q=0.5, br", true),
        ("br,gzip", true),
        ("gzip;q=0", false),
        ("gzip; q=0.0", false),
        ("gzip;q=x", false),
        ("xgzip, br", false),
        ("*", false),
        ("", false),
    ] {
        let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, said.parse().unwrap())]);
        assert_eq!(takes_gzip(&headers), expected, "{said}");
    }
    assert!(!takes_gzip(&HeaderMap::new()));
}

#[test]
fn a_tag_is_known_again_however_it_is_written() {
    let tag = "W/\"abc\"";
    for (said, expected) in [
        ("W/\"abc\"", true),
        ("\"abc\"", true),
        ("\"x\", W/\"abc\"", true),
        ("*", true),
        ("\"abcd\"", false),
        ("abc", false),
    ] {
        let headers = HeaderMap::from_iter([(header::IF_NONE_MATCH, said.parse().unwrap())]);
        assert_eq!(is_known(&headers, tag), expected, "{said}");
    }
}

#[test]
fn every_file_that_is_built_has_a_type() {
    for path in FILES.keys() {
        assert_ne!(kind_of(path), "application/octet-stream", "{path}");
    }
}

#[tokio::test]
async fn what_is_sent_in_fewer_bytes_is_the_same() {
    let text = "a line of a script;\n".repeat(200);
    let gzip = HeaderMap::from_iter([(header::ACCEPT_ENCODING, "gzip".parse().unwrap())]);
    let script = File::new(kind_of("a.js"), Bytes::from(text.clone()), &[7; 32]);
    for _ in 0..2 {
        let response = script.say(&gzip).await;
        assert_eq!(response.headers()[header::CONTENT_ENCODING], "gzip");
        let small = body(response).await;
        assert!(small.len() < text.len() / 4);
        let mut read = String::new();
        GzDecoder::new(&small[..]).read_to_string(&mut read).unwrap();
        assert_eq!(read, text);
    }
    let plain = script.say(&HeaderMap::new()).await;
    assert!(!plain.headers().contains_key(header::CONTENT_ENCODING));
    assert_eq!(body(plain).await, text);
    for (path, bytes) in [("a.js", "x"), ("a.png", &text)] {
        let file = File::new(kind_of(path), Bytes::from(bytes.to_owned()), &[7; 32]);
        let response = file.say(&gzip).await;
        assert!(!response.headers().contains_key(header::CONTENT_ENCODING), "{path}");
    }
}

async fn body(response: Response) -> Bytes {
    to_bytes(response.into_body(), usize::MAX).await.unwrap()
}
