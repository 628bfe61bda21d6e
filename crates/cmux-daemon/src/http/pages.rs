//! The pages for people who are not in yet, which are part of the program. Nothing in them is secret.

use axum::http::{HeaderName, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use cmux_wire::health::Part;

use crate::http::dashboard;

const STYLE: &str = include_str!("../../../../web/plain/plain.css");
const LOGIN: &str = include_str!("../../../../web/plain/login.html");
const LOGIN_SCRIPT: &str = include_str!("../../../../web/plain/login.js");
const ICON: &str = include_str!("../../../../web/plain/icon.svg");
const STALE: &str = include_str!("../../../../web/plain/stale.html");

const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// A file and its type.
type File = ([(HeaderName, &'static str); 1], &'static str);

pub(crate) async fn style() -> File {
    ([(header::CONTENT_TYPE, CSS)], STYLE)
}

pub(crate) async fn login_script() -> File {
    ([(header::CONTENT_TYPE, SCRIPT)], LOGIN_SCRIPT)
}

pub(crate) async fn icon() -> File {
    ([(header::CONTENT_TYPE, SVG)], ICON)
}

/// The page that asks for a password.
pub(crate) fn login() -> Response {
    Html(LOGIN).into_response()
}

/// The page that says that a link is over.
pub(crate) fn stale() -> Response {
    (StatusCode::GONE, Html(STALE)).into_response()
}

/// Returns whether the pages and the dashboard are there to be shown.
pub(crate) fn health() -> Part {
    match dashboard::trouble() {
        Some(why) => Part::degraded(why),
        None => judge(&[LOGIN, STALE]),
    }
}

fn judge(pages: &[&str]) -> Part {
    let is_whole = |page: &&str| page.starts_with("<!doctype html>") && page.contains("</html>");
    if pages.iter().all(is_whole) {
        Part::healthy()
    } else {
        Part::degraded("this cmux was built without its pages: build it again")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_are_not_whole_are_told() {
        assert_eq!(health(), Part::healthy());
        for broken in ["", "<!doctype html><html>", "404"] {
            assert!(judge(&[LOGIN, broken]).why.is_some(), "{broken}");
        }
    }
}
