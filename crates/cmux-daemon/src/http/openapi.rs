//! The OpenAPI 3.1 document, made from the list of routes.

use serde_json::{Map, Value, json};

use cmux_core::principal::Need;
use cmux_wire::problem::Problem;
use cmux_wire::schema;

use crate::http::table::{Answer, Body, Content, Header, Route};

/// What each status says, wherever it is said.
const REFUSALS: &[(u16, &str, &str)] = &[
    (400, "BadRequest", "Something about the request is wrong; `detail` says what."),
    (401, "Unauthorized", "It is not known who asks, or what they showed is not good."),
    (403, "Forbidden", "Whoever asks may not do this, or a page of another origin asks."),
    (404, "NotFound", "There is no such thing."),
    (408, "RequestTimeout", "The request came too slowly."),
    (409, "Conflict", "It cannot be done as things are."),
    (410, "Gone", "It was there, and is over."),
    (413, "ContentTooLarge", "The body is too long. Nothing of it was read."),
    (414, "UriTooLong", "The path or the query is too long."),
    (415, "UnsupportedMediaType", "The body must be JSON, and say so."),
    (421, "MisdirectedRequest", "cmux was called by a name that is not its own."),
    (422, "UnprocessableContent", "A file or folder that was named cannot be used."),
    (426, "UpgradeRequired", "This is a WebSocket: ask for an upgrade."),
    (429, "TooManyRequests", "Too many requests; `Retry-After` says when to come again."),
    (431, "HeaderFieldsTooLarge", "The headers are too long or too many."),
    (500, "InternalServerError", "cmux is at fault. Nothing was stored."),
    (503, "ServiceUnavailable", "cmux is starting, stopping, in safe mode, or its store fails."),
    (507, "InsufficientStorage", "There is no room left on the disk. Nothing was stored."),
];

/// The headers by which a signed body is known.
const SIGNED: [(&str, &str); 6] = [
    ("X-Hub-Signature-256", "GitHub's signature: `sha256=` and the HMAC in hex."),
    ("X-GitHub-Delivery", "GitHub's name for the delivery."),
    ("X-GitHub-Event", "What GitHub tells of."),
    ("webhook-id", "Standard Webhooks' name for the delivery."),
    ("webhook-timestamp", "When it was sent, in seconds since 1970."),
    ("webhook-signature", "Standard Webhooks' signatures: `v1,` and the HMAC in base64."),
];

/// Returns the document for `routes`, where browsers are known by a cookie of this name.
pub(crate) fn document(routes: &[Route], version: &str, cookie: &str) -> Value {
    let problem = schema::reference::<Problem>();
    let mut paths = Map::new();
    for route in routes {
        let operation = operation(route);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_lowercase()] = operation;
    }
    let responses: Map<String, Value> = REFUSALS
        .iter()
        .map(|(status, name, what)| refusal(*status, name, what, &problem))
        .collect();
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "cmux",
            "version": version,
            "summary": "Runs a team of AI coding agents.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schema::components(),
            "responses": responses,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of `cmux token create`, with a scope of at least the \
                                    one that is named; or, on the socket, an agent's own.",
                },
                "browser": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": cookie,
                    "description": "What a one-time link of `cmux open` is exchanged for. Named after \
                                    the port, as browsers do not tell the ports of a host apart.",
                },
            },
        },
    })
}

fn refusal(status: u16, name: &str, what: &str, problem: &Value) -> (String, Value) {
    let mut response = json!({
        "description": what,
        "content": {"application/problem+json": {"schema": problem}},
    });
    if matches!(status, 429 | 503) {
        response["headers"] = json!({"Retry-After": {
            "description": "When to come again, in seconds.",
            "schema": {"type": "integer", "minimum": 1},
        }});
    }
    (name.to_owned(), response)
}

fn operation(route: &Route) -> Value {
    let mut parameters = path_parameters(route);
    if let Some(query) = route.query {
        parameters.extend(query_parameters(query(), route.cursor.as_deref()));
    }
    if let Some(Body::Signed) = route.body {
        parameters.extend(SIGNED.iter().map(signed_parameter));
    }
    if let Some(Header { name, what, pattern }) = &route.header {
        let schema = json!({"type": "string", "pattern": pattern});
        parameters.push(json!({
            "name": name, "in": "header", "required": false, "description": what, "schema": schema,
        }));
    }
    let mut responses = Map::new();
    for answer in &route.answers {
        responses.insert(answer.status.to_string(), said(answer));
    }
    for status in route.all_refusals() {
        // Health says in its own words what is wrong.
        if responses.contains_key(&status.to_string()) {
            continue;
        }
        let named = REFUSALS.iter().find(|(known, _, _)| *known == status);
        let name = named.map_or("InternalServerError", |(_, name, _)| name);
        let reference = json!({"$ref": format!("#/components/responses/{name}")});
        responses.insert(status.to_string(), reference);
    }
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.summary,
        "tags": [tag(route.path)],
        "security": security(route.need),
        "x-cmux-needs": route.need.name(),
        "responses": responses,
    });
    if route.closed_to_agents {
        operation["x-cmux-closed-to-agents"] = true.into();
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    match &route.body {
        Some(Body::Json(schema)) => {
            operation["requestBody"] = json!({
                "required": true,
                "content": {"application/json": {"schema": schema()}},
            });
        }
        Some(Body::Signed) => {
            operation["requestBody"] = json!({
                "required": true,
                "content": {"application/json": {"schema": {}}},
            });
        }
        None => {}
    }
    operation
}

fn said(answer: &Answer) -> Value {
    let mut said = json!({"description": answer.what});
    match answer.content {
        Content::Nothing => {}
        Content::Json(schema) => {
            said["content"] = json!({"application/json": {"schema": schema()}});
        }
        Content::Text(kind) => said["content"] = json!({kind: {"schema": {"type": "string"}}}),
    }
    said
}

/// Returns what there is between the braces of a route's path.
fn path_parameters(route: &Route) -> Vec<Value> {
    let names = route.path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    names
        .map(|name| {
            let mut schema = json!({"type": "string", "minLength": 1});
            if let Some(pattern) = &route.named {
                schema["pattern"] = json!(pattern);
            }
            json!({"name": name, "in": "path", "required": true, "schema": schema})
        })
        .collect()
}

fn signed_parameter((name, what): &(&str, &str)) -> Value {
    // Which of them are needed is up to the source.
    let schema = json!({"type": "string"});
    json!({"name": name, "in": "header", "required": false, "description": what, "schema": schema})
}

/// Returns each field of a query's `schema` as a parameter, where a `cursor` fits this pattern.
fn query_parameters(mut schema: Value, cursor: Option<&str>) -> Vec<Value> {
    let required = schema["required"].take();
    let is_required =
        |name: &str| required.as_array().is_some_and(|names| names.iter().any(|it| it == name));
    let Value::Object(fields) = schema["properties"].take() else { return Vec::new() };
    let say = |(name, mut field): (String, Value)| {
        let what = field.as_object_mut().and_then(|field| field.remove("description"));
        let required = is_required(&name);
        if let (Some(pattern), "cursor") = (cursor, name.as_str()) {
            field["pattern"] = json!(pattern);
        }
        let mut parameter = json!({"name": name, "in": "query", "required": required, "schema": without_null(field)});
        if let Some(what) = what {
            parameter["description"] = what;
        }
        parameter
    };
    fields.into_iter().map(say).collect()
}

/// A parameter that may be left out is not there; it is never null.
fn without_null(mut schema: Value) -> Value {
    if let Some(kinds) = schema["type"].as_array() {
        let kinds: Vec<Value> = kinds.iter().filter(|&kind| kind != "null").cloned().collect();
        if let [kind] = kinds.as_slice() {
            schema["type"] = kind.clone();
        }
    }
    schema
}

fn security(need: Need) -> Value {
    match need {
        Need::Nothing => json!([]),
        Need::Read | Need::Send | Need::Operate => {
            json!([{"token": [need.name()]}, {"browser": []}])
        }
        Need::Person => json!([{"browser": []}]),
    }
}

fn tag(path: &str) -> &str {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match parts.next() {
        Some("api") => parts.next().unwrap_or("api"),
        Some("livez" | "readyz" | "metrics") => "health",
        Some(_) | None => "pages",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::http::routes;

    #[test]
    fn every_route_is_in_the_document_with_what_it_needs_and_nothing_else_is() {
        let routes = routes::all();
        let document = document(&routes, "1", "cmux_1");
        for route in &routes {
            let method = route.method.as_str().to_lowercase();
            let said = &document["paths"][route.path][method];
            assert_eq!(said["operationId"], route.name, "{}", route.path);
            assert_eq!(said["x-cmux-needs"], route.need.name(), "{}", route.path);
            assert_eq!(
                said["security"] == json!([]),
                route.need == Need::Nothing,
                "{}",
                route.path
            );
        }
        let paths = document["paths"].as_object().unwrap().values();
        let operations = paths.map(|path| path.as_object().unwrap().len()).sum::<usize>();
        // Two of the same method and path would hide one another.
        assert_eq!(operations, routes.len());
        let names: BTreeSet<&str> = routes.iter().map(|route| route.name).collect();
        assert_eq!(names.len(), routes.len());
    }

    #[test]
    fn whatever_a_route_answers_is_described() {
        let routes = routes::all();
        let document = document(&routes, "1", "cmux_1");
        for route in &routes {
            assert!(!route.summary.is_empty() && !route.answers.is_empty(), "{}", route.name);
            let said = &document["paths"][route.path][route.method.as_str().to_lowercase()];
            let refuses = said["responses"].get("401").is_some();
            assert!(refuses || route.need == Need::Nothing, "{}", route.name);
            let parameters = said["parameters"].as_array().map_or(&[][..], Vec::as_slice);
            let slots = parameters.iter().filter(|it| it["in"] == "path").count();
            assert_eq!(slots, route.path.matches('{').count(), "{}", route.name);
        }
    }
}
