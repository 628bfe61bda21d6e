//! The dashboard's files, as they were built of `web/`: they are part of the program. Nothing in them is
//! secret: what they show, they ask the API for.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::LazyLock;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use rust_embed::RustEmbed;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

use crate::http::extract::Named;
use crate::http::problem::{Oops, no_route};

/// The page that all of it is shown in.
const INDEX: &str = "index.html";

/// The first part of a path that the page itself understands. `/` is one, too.
const PLACES: [&str; 7] =
    ["projects", "agents", "messages", "inbox", "activity", "health", "settings"];

/// The first part of a path at which programs look for something, and not people.
const FOR_PROGRAMS: [&str; 2] = ["api", "assets"];

/// What the page may do: run scripts of its own, none of which is written into it, and ask its own origin,
/// WebSockets included. Parts of it bring styles and small pictures with them.
const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                      connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'; object-src 'none'";

/// The page is asked for again each time, and says so if it is the same.
const ASK_AGAIN: &str = "no-cache";

/// What is said with the page, wherever it is shown.
const PAGE: [(HeaderName, &str); 2] =
    [(header::CACHE_CONTROL, ASK_AGAIN), (header::CONTENT_SECURITY_POLICY, POLICY)];

/// The name of every other file changes with what is in it.
const FOREVER: &str = "public, max-age=31536000, immutable";

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
struct Built;

/// All files, by their paths in `web/dist`.
static FILES: LazyLock<BTreeMap<String, File>> = LazyLock::new(|| {
    let read = |path: Cow<'static, str>| {
        let built = Built::get(&path)?;
        let plain = match built.data {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => Bytes::from(bytes),
        };
        let digest = built.metadata.sha256_hash();
        Some((path.to_string(), File::new(kind_of(&path), plain, &digest)))
    };
    Built::iter().filter_map(read).collect()
});

/// A file, and what is said with it.
struct File {
    kind: &'static str,
    plain: Bytes,
    /// The same in fewer bytes, from when somebody first asks for it.
    small: OnceCell<Bytes>,
    /// What is in it, as a weak tag: it goes for both.
    tag: String,
}

/// The page at `/`.
pub(crate) async fn index(headers: HeaderMap) -> Response {
    let Some(page) = FILES.get(INDEX) else { return missing().into_response() };
    let response = match is_known(&headers, &page.tag) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => page.say(&headers).await,
    };
    let said = [(header::VARY, "accept-encoding"), (header::ETAG, &page.tag)];
    (said, PAGE, response).into_response()
}

/// The page at an address that is wrong, which it says. It has no tag: a browser that has the page would not hear
/// that it is the wrong one.
async fn nowhere(headers: &HeaderMap) -> Response {
    let Some(page) = FILES.get(INDEX) else { return missing().into_response() };
    // Programs are told something else there.
    let said = [(header::VARY, "accept, accept-encoding")];
    (StatusCode::NOT_FOUND, said, PAGE, page.say(headers).await).into_response()
}

/// One of the files that the page is made of.
pub(crate) async fn asset(
    Named(name): Named<String>,
    headers: HeaderMap,
) -> Result<Response, Oops> {
    let nothing = || Oops::not_found("there is no such file: load the page again");
    let file = FILES.get(&format!("assets/{name}")).ok_or_else(nothing)?;
    let said = [(header::CACHE_CONTROL, FOREVER), (header::VARY, "accept-encoding")];
    Ok((said, file.say(&headers).await).into_response())
}

/// What no route is for: the page understands some of it, and tells a person who came by a mistyped address
/// that there is nothing.
pub(crate) async fn elsewhere(request: Request) -> Response {
    let is_look = matches!(*request.method(), Method::GET | Method::HEAD);
    let path = request.uri().path();
    if is_look && is_place(path) {
        let (head, _) = request.into_parts();
        return index(head.headers).await;
    }
    if is_look && !is_below(path, &FOR_PROGRAMS) && wants_page(request.headers()) {
        return nowhere(request.headers()).await;
    }
    no_route(request).await.into_response()
}

/// Returns why the dashboard cannot be shown, if it cannot.
pub(crate) fn trouble() -> Option<String> {
    let page = FILES.get(INDEX).map(|page| String::from_utf8_lossy(&page.plain));
    judge(page.as_deref(), |path| FILES.contains_key(path))
}

impl File {
    fn new(kind: &'static str, plain: Bytes, digest: &[u8]) -> File {
        let tag: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        File { kind, plain, small: OnceCell::new(), tag: format!("W/\"{tag}\"") }
    }

    /// Returns it as whoever sent `headers` takes it.
    async fn say(&self, headers: &HeaderMap) -> Response {
        let kind = (header::CONTENT_TYPE, self.kind);
        if takes_gzip(headers) && is_text(self.kind) {
            let small = self.small().await.clone();
            if small.len() < self.plain.len() {
                let said = [kind, (header::CONTENT_ENCODING, "gzip")];
                return (said, Body::from(small)).into_response();
            }
        }
        ([kind], Body::from(self.plain.clone())).into_response()
    }

    async fn small(&self) -> &Bytes {
        let compress = || async {
            let plain = self.plain.clone();
            let done = spawn_blocking(move || compressed(&plain)).await;
            // What cannot be made smaller is sent as it is.
            done.unwrap_or_else(|_| self.plain.clone())
        };
        self.small.get_or_init(compress).await
    }
}

fn compressed(plain: &Bytes) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let done = encoder.write_all(plain).and_then(|()| encoder.finish());
    done.map_or_else(|_| plain.clone(), Bytes::from)
}

fn missing() -> Oops {
    let detail = "this cmux was built without its dashboard: build it again";
    Oops::new(StatusCode::SERVICE_UNAVAILABLE, "no-dashboard", detail)
}

/// Returns whether the page understands `path`.
fn is_place(path: &str) -> bool {
    is_below(path, &PLACES)
}

/// Returns whether the first part of `path` is one of `firsts`.
fn is_below(path: &str, firsts: &[&str]) -> bool {
    let first = path.strip_prefix('/').and_then(|path| path.split('/').next());
    first.is_some_and(|first| firsts.contains(&first))
}

/// Returns whether `headers` are of a browser that a person sent to an address.
fn wants_page(headers: &HeaderMap) -> bool {
    takes(headers, &header::ACCEPT, "text/html")
}

/// Returns why `page` cannot be shown, if it cannot, given which files there are.
fn judge(page: Option<&str>, is_there: impl Fn(&str) -> bool) -> Option<String> {
    let again = "build it again";
    let Some(page) = page.filter(|page| page.contains("</html>")) else {
        return Some(format!("this cmux was built without its dashboard: {again}"));
    };
    let named: Vec<&str> = scripts(page).collect();
    match named.iter().find(|script| !is_there(script.trim_start_matches('/'))) {
        Some(script) => Some(format!("this cmux was built without {script}: {again}")),
        None if named.is_empty() => Some(format!("the dashboard names no script: {again}")),
        None => None,
    }
}

/// Returns the paths of the scripts that `page` names.
fn scripts(page: &str) -> impl Iterator<Item = &str> {
    let tags = page.split("<script").skip(1).filter_map(|rest| rest.split('>').next());
    tags.filter_map(|tag| tag.split_once("src=\"")?.1.split('"').next())
}

/// Returns the type of the file at `path`.
fn kind_of(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "txt" => "text/plain; charset=utf-8",
        "wasm" => "application/wasm",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "webp" => "image/webp",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

/// Returns whether a file of this type is worth making smaller: pictures and fonts are small already.
fn is_text(kind: &str) -> bool {
    kind.starts_with("text/")
        || kind.contains("json")
        || kind.contains("svg")
        || kind.contains("wasm")
}

/// Returns whether whoever sent `headers` takes gzip.
fn takes_gzip(headers: &HeaderMap) -> bool {
    takes(headers, &header::ACCEPT_ENCODING, "gzip")
}

/// Returns whether `wanted` is among what the header of this name takes, by its own name and not at no weight.
fn takes(headers: &HeaderMap, name: &HeaderName, wanted: &str) -> bool {
    listed(headers, name).any(|said| {
        let mut parts = said.split(';').map(str::trim);
        let is_wanted = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(wanted));
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map(str::parse::<f32>);
        is_wanted && weight.is_none_or(|weight| weight.is_ok_and(|weight| weight > 0.0))
    })
}

/// Returns what the headers of this name list.
fn listed<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let said = headers.get_all(name).iter().filter_map(|it| it.to_str().ok());
    said.flat_map(|said| said.split(',')).map(str::trim)
}

/// Returns whether whoever sent `headers` has what bears this tag.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let same = |said: &str| said.trim_start_matches("W/") == tag.trim_start_matches("W/");
    listed(headers, &header::IF_NONE_MATCH).any(|said| said == "*" || same(said))
}

#[cfg(test)]
mod tests;
