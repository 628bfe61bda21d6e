//! The dashboard's files, as they were built of `web/`: they are part of the program. Nothing in them is
//! secret: what they show, they ask the API for.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::LazyLock;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
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

/// What the page may do: run scripts of its own, none of which is written into it, and ask its own origin,
/// WebSockets included. Parts of it bring styles and small pictures with them.
const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                      connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'; object-src 'none'";

/// The page is asked for again each time, and says so if it is the same.
const ASK_AGAIN: &str = "no-cache";

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
    let mut response = match is_known(&headers, &page.tag) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => page.say(&headers).await,
    };
    let said = [
        (header::CACHE_CONTROL, ASK_AGAIN),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::VARY, "accept-encoding"),
        (header::ETAG, &page.tag),
    ];
    for (name, value) in said {
        if let Ok(value) = value.parse() {
            response.headers_mut().insert(name, value);
        }
    }
    response
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
    let path = request.uri().path();
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return no_route(request).await.into_response();
    }
    if is_place(path) {
        return index(request.headers().clone()).await;
    }
    if is_files(path) || !wants_page(request.headers()) {
        return no_route(request).await.into_response();
    }
    let mut headers = request.headers().clone();
    // It would be told that it has this page, and not that it is the wrong one.
    headers.remove(header::IF_NONE_MATCH);
    let mut page = index(headers).await;
    if page.status() == StatusCode::OK {
        *page.status_mut() = StatusCode::NOT_FOUND;
    }
    page
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
    let first = path.strip_prefix('/').and_then(|path| path.split('/').next());
    first.is_some_and(|first| PLACES.contains(&first))
}

/// Returns whether `path` is where programs look for things, and not people.
fn is_files(path: &str) -> bool {
    let first = path.strip_prefix('/').and_then(|path| path.split('/').next());
    first.is_some_and(|first| ["api", "assets"].contains(&first))
}

/// Returns whether `headers` are of a browser that a person sent to an address.
fn wants_page(headers: &HeaderMap) -> bool {
    let said = headers.get_all(header::ACCEPT).iter().filter_map(|it| it.to_str().ok());
    let mut kinds = said.flat_map(|said| said.split(','));
    kinds.any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "text/html"))
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
    let said = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|it| it.to_str().ok());
    let mut ways = said.flat_map(|said| said.split(','));
    ways.any(|way| {
        let mut parts = way.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map(str::parse::<f32>);
        is_gzip && weight.is_none_or(|weight| weight.is_ok_and(|weight| weight > 0.0))
    })
}

/// Returns whether whoever sent `headers` has what bears this tag.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let said = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|it| it.to_str().ok());
    let mut tags = said.flat_map(|said| said.split(',')).map(str::trim);
    let same = |said: &str| said.trim_start_matches("W/") == tag.trim_start_matches("W/");
    tags.any(|said| said == "*" || same(said))
}

#[cfg(test)]
mod tests;
