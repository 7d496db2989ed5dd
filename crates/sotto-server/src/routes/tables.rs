//! The list of tables, and their catalogs.

use super::{shared, tags};
use crate::refusal::Refusal;
use crate::service::Service;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use sotto_core::Epoch;
use sotto_wire::routes::TableList;
use sotto_wire::{Code, Problem, routes};
use std::sync::Arc;

/// `GET /v1/tables`
pub(super) async fn list(State(service): State<Arc<Service>>) -> Result<Response<Body>, Refusal> {
    let list = TableList { stacks: service.stacks.names(), ..service.tables.list() };
    let body = serde_json::to_vec(&list).map_err(|_| Code::Internal)?;
    Ok(json(Body::from(body)))
}

/// `GET /v1/tables/{table}`
pub(super) async fn catalog(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response<Body>, Refusal> {
    let live = service.tables.get(&name)?.live()?;
    let (body, etag) = match asked_epoch(query.as_deref())? {
        None => live.newest().signed(),
        Some(epoch) => {
            let found = live.find(epoch).map(|table| table.signed());
            let found = found.or_else(|| live.find_past(epoch).map(|past| past.signed()));
            found.ok_or_else(|| {
                let newest = live.newest().pin().epoch;
                Problem::new(Code::EpochExpired, format!("epoch {epoch} is not served")).with_epoch(newest)
            })?
        }
    };
    Ok(document(body, etag, &headers))
}

/// The response with a signed document, unless the client has it already.
pub(super) fn document(body: Bytes, etag: &str, headers: &HeaderMap) -> Response<Body> {
    let fresh = tags::none_match(headers, etag);
    let mut response = json(if fresh { Body::empty() } else { Body::from(body) });
    if fresh {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    tags::put(&mut response, etag);
    shared(response)
}

/// The epoch of `?epoch=N`; other query keys are ignored.
fn asked_epoch(query: Option<&str>) -> Result<Option<Epoch>, Refusal> {
    let pairs = query.into_iter().flat_map(|query| query.split('&'));
    let Some(number) = pairs.filter_map(|pair| pair.strip_prefix("epoch=")).next() else { return Ok(None) };
    match number.parse() {
        Ok(epoch) => Ok(Some(Epoch(epoch))),
        Err(_) => Err(Refusal::new(Code::Malformed, "epoch is not a number")),
    }
}

/// A response that caches may store but must revalidate: the newest epoch changes.
fn json(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(routes::JSON));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
