//! The page at `/`, until there is a dashboard.

use axum::response::Html;

/// Says where to look instead.
pub(crate) async fn show() -> Html<&'static str> {
    Html(
        "<!doctype html><html lang=en><meta charset=utf-8><title>cmux</title>\
         <h1>cmux is running</h1>\
         <p>There is no dashboard yet. In a terminal, <code>cmux status</code> shows what is there, \
         and <code>cmux events -f</code> what happens.</p></html>",
    )
}
