//! Stacks, with their signatures.

use super::tables::document;
use crate::refusal::Refusal;
use crate::service::Service;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Response};
use std::sync::Arc;

/// `GET /v1/stacks/{stack}`
pub(super) async fn stack(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response<Body>, Refusal> {
    let live = service.stacks.get(&name)?;
    Ok(document(live.signed.clone(), &live.etag, &headers))
}
