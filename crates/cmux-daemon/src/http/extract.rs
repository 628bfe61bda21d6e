//! Requests on their way in: what does not fit is refused with a reason.

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::http::problem::Oops;

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

/// The query of a URL.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Oops;

    async fn from_request(request: Request, state: &S) -> Result<Body<T>, Oops> {
        let read = axum::Json::<T>::from_request(request, state).await;
        let refused = |why: JsonRejection| Oops::new(why.status(), "bad-body", why.body_text());
        read.map(|axum::Json(body)| Body(body)).map_err(refused)
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Oops;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Query<T>, Oops> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        let refused = |why: QueryRejection| Oops::bad_request(why.body_text());
        read.map(|axum::extract::Query(query)| Query(query)).map_err(refused)
    }
}
