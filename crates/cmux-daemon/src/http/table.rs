//! A route and all that is known of it: how to call it, who may, what it takes and what it answers.
//!
//! The router, the check of who may and the OpenAPI document are made from the same list of these, so
//! that none of them can know of a route that another does not.

use std::sync::Arc;

use axum::extract::State;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodFilter, MethodRouter, on};
use cmux_core::principal::Need;
use cmux_wire::schema::reference;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use crate::http::App;
use crate::http::projects::Paging;

/// Makes the schema of something that is sent.
pub(crate) type SchemaOf = fn() -> Value;

/// One route.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// Its name in the document, such as `addProject`.
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) need: Need,
    /// Whether agents are turned away, whatever they may do elsewhere.
    pub(crate) closed_to_agents: bool,
    pub(crate) query: Option<SchemaOf>,
    /// The pattern of what its path names, if only what fits it can be there.
    pub(crate) named: Option<String>,
    /// The pattern of where a page may begin, if it answers in pages.
    pub(crate) cursor: Option<String>,
    pub(crate) body: Option<Body>,
    /// A header that it takes.
    pub(crate) header: Option<Header>,
    pub(crate) answers: Vec<Answer>,
    /// The statuses with which it alone can refuse, besides those that go for all of its kind.
    pub(crate) refusals: Vec<u16>,
    pub(crate) handler: MethodRouter<Arc<App>>,
}

/// A header that may be left out.
pub(crate) struct Header {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) pattern: &'static str,
}

/// What a route takes.
pub(crate) enum Body {
    Json(SchemaOf),
    /// As it comes: its signature is over the bytes.
    Signed,
}

/// What a route answers if it does as it is asked.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) what: &'static str,
    pub(crate) content: Content,
}

/// How an answer is written.
pub(crate) enum Content {
    Nothing,
    Json(SchemaOf),
    /// Text of this type.
    Text(&'static str),
}

/// Begins a route that changes nothing.
pub(crate) fn get<H, T>(path: &'static str, name: &'static str, handler: H) -> Route
where
    H: Handler<T, Arc<App>>,
    T: 'static,
{
    Route::new(Method::GET, path, name, on(MethodFilter::GET, handler))
}

/// Begins a route that does something.
pub(crate) fn post<H, T>(path: &'static str, name: &'static str, handler: H) -> Route
where
    H: Handler<T, Arc<App>>,
    T: 'static,
{
    Route::new(Method::POST, path, name, on(MethodFilter::POST, handler))
}

/// Begins a route that takes something away.
pub(crate) fn delete<H, T>(path: &'static str, name: &'static str, handler: H) -> Route
where
    H: Handler<T, Arc<App>>,
    T: 'static,
{
    Route::new(Method::DELETE, path, name, on(MethodFilter::DELETE, handler))
}

impl Route {
    fn new(
        method: Method,
        path: &'static str,
        name: &'static str,
        handler: MethodRouter<Arc<App>>,
    ) -> Route {
        Route {
            method,
            path,
            name,
            summary: "",
            // What nobody thought about is for nobody but the person.
            need: Need::Person,
            closed_to_agents: false,
            query: None,
            named: None,
            cursor: None,
            body: None,
            header: None,
            answers: Vec::new(),
            refusals: Vec::new(),
            handler,
        }
    }

    pub(crate) fn needs(self, need: Need) -> Route {
        Route { need, ..self }
    }

    pub(crate) fn closed_to_agents(self) -> Route {
        Route { closed_to_agents: true, ..self }
    }

    pub(crate) fn says(self, summary: &'static str) -> Route {
        Route { summary, ..self }
    }

    pub(crate) fn query<T: JsonSchema>(self) -> Route {
        Route { query: Some(schema_of::<T>), ..self }
    }

    pub(crate) fn names(self, pattern: impl Into<String>) -> Route {
        Route { named: Some(pattern.into()), ..self }
    }

    /// Has it answer in pages, which begin after what fits `pattern`.
    pub(crate) fn pages(self, pattern: impl Into<String>) -> Route {
        Route { cursor: Some(pattern.into()), ..self.query::<Paging>() }
    }

    pub(crate) fn takes<T: JsonSchema>(self) -> Route {
        Route { body: Some(Body::Json(reference::<T>)), ..self }
    }

    pub(crate) fn takes_signed(self) -> Route {
        Route { body: Some(Body::Signed), ..self }
    }

    pub(crate) fn header(
        self,
        name: &'static str,
        what: &'static str,
        pattern: &'static str,
    ) -> Route {
        Route { header: Some(Header { name, what, pattern }), ..self }
    }

    pub(crate) fn answers<T: JsonSchema>(mut self, status: u16, what: &'static str) -> Route {
        self.answers.push(Answer { status, what, content: Content::Json(reference::<T>) });
        self
    }

    pub(crate) fn answers_text(
        mut self,
        status: u16,
        kind: &'static str,
        what: &'static str,
    ) -> Route {
        self.answers.push(Answer { status, what, content: Content::Text(kind) });
        self
    }

    pub(crate) fn answers_nothing(mut self, status: u16, what: &'static str) -> Route {
        self.answers.push(Answer { status, what, content: Content::Nothing });
        self
    }

    pub(crate) fn refuses(mut self, statuses: &[u16]) -> Route {
        self.refusals.extend(statuses);
        self
    }

    /// Returns whether its path names a thing that may not be there.
    pub(crate) fn names_a_thing(&self) -> bool {
        self.path.contains('{')
    }

    /// Returns all the statuses with which it can refuse.
    pub(crate) fn all_refusals(&self) -> Vec<u16> {
        // A head that is too long, too slow or called by a wrong name gets no further than the door.
        let mut all = vec![400, 403, 408, 414, 421, 431, 503];
        if self.need != Need::Nothing {
            all.extend([401, 429]);
        }
        if self.names_a_thing() {
            all.push(404);
        }
        match self.body {
            Some(Body::Json(_)) => all.extend([413, 415]),
            Some(Body::Signed) => all.push(413),
            None if self.method != Method::GET => all.push(415),
            None => {}
        }
        if self.need != Need::Nothing {
            // The store may fail to read, or to write.
            all.push(500);
            if self.method != Method::GET {
                all.push(507);
            }
        }
        all.extend(&self.refusals);
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Returns the schema of a query, which is written out where it is asked.
fn schema_of<T: JsonSchema>() -> Value {
    SchemaGenerator::default().into_root_schema_for::<T>().to_value()
}

/// Serves the document that is made from the list.
pub(crate) async fn show_document(
    State(app): State<Arc<App>>,
) -> ([(axum::http::HeaderName, &'static str); 1], axum::body::Bytes) {
    let json = [(axum::http::header::CONTENT_TYPE, "application/json")];
    (json, app.document.clone())
}
