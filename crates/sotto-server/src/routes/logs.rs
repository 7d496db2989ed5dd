//! The logs of publishers' catalogs: their files as in `c2sp.org/tlog-tiles`, and proofs with the
//! checkpoint.

use crate::logs::LiveLog;
use crate::refusal::Refusal;
use crate::service::Service;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, Response, header};
use bytes::Bytes;
use sotto_catalog::Hex32;
use sotto_tlog::layout::LogFile;
use sotto_tlog::{LogError, LogLayout};
use sotto_wire::{Code, routes};
use std::sync::Arc;

/// `GET /v1/logs/{key}/proofs/{digest}`
pub(super) async fn proof(
    State(service): State<Arc<Service>>,
    Path((key, digest)): Path<(String, String)>,
) -> Result<Response<Body>, Refusal> {
    let none = || Refusal::new(Code::NotLogged, "the log holds no catalog of that digest");
    let digest: Hex32 = digest.parse().map_err(|_| none())?;
    let proof = read(log(&service, &key)?, move |log| log.proof(&digest)).await?.ok_or_else(none)?;
    Ok(response(proof, routes::TEXT, "no-cache"))
}

/// `GET /v1/logs/{key}/{path}`
pub(super) async fn file(
    State(service): State<Arc<Service>>,
    Path((key, path)): Path<(String, String)>,
) -> Result<Response<Body>, Refusal> {
    let none = || Refusal::new(Code::NotLogged, "the log has no such file");
    let place = LogLayout::place(&path).ok_or_else(none)?;
    let bytes = read(log(&service, &key)?, move |log| log.file(place)).await?.ok_or_else(none)?;
    Ok(match place {
        LogFile::Checkpoint => response(bytes, routes::TEXT, "no-cache"),
        LogFile::Tile(_) | LogFile::Bundle(..) => {
            response(bytes, routes::OCTETS, "public, max-age=31536000, immutable")
        }
    })
}

fn log(service: &Service, key: &str) -> Result<Arc<LiveLog>, Refusal> {
    let none = || Refusal::new(Code::NotLogged, "no log of that publisher's catalogs is served here");
    service.logs.get(key).ok_or_else(none)
}

/// Reads a log's files, off the threads that carry connections.
async fn read(
    log: Arc<LiveLog>,
    read: impl FnOnce(&LiveLog) -> Result<Option<Bytes>, LogError> + Send + 'static,
) -> Result<Option<Bytes>, Refusal> {
    let found = tokio::task::spawn_blocking(move || read(&log)).await.map_err(|_| Code::Internal)?;
    found.map_err(|error| {
        tracing::error!(%error, "a log cannot be read");
        Code::Internal.into()
    })
}

fn response(body: Bytes, kind: &'static str, cached: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cached));
    response
}
