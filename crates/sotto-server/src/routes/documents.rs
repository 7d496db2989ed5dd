//! Documents as they were signed: the list of tables, catalogs, stacks, and the logs of publishers'
//! catalogs, whose files are as in `c2sp.org/tlog-tiles`.

use super::Served;
use super::artifacts::{none_match, put_etag};
use crate::host::{HttpResult, response, shared};
use crate::http_error::HttpError;
use crate::logs::LiveLog;
use crate::service::Service;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, Response, StatusCode};
use bytes::Bytes;
use sotto_catalog::Hex32;
use sotto_core::Epoch;
use sotto_tlog::layout::LogFile;
use sotto_tlog::{LogError, LogLayout};
use sotto_wire::routes::TableList;
use sotto_wire::{Problem, ProblemCode, routes};
use std::sync::Arc;

/// `GET /v1/tables`
pub(super) async fn tables(State(service): Served) -> HttpResult {
    let list = TableList { stacks: service.stacks.names(), ..service.tables.list() };
    let body = serde_json::to_vec(&list).map_err(|_| ProblemCode::Internal)?;
    Ok(json(Body::from(body)))
}

/// `GET /v1/tables/{table}`
pub(super) async fn catalog(
    State(service): Served,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> HttpResult {
    let live = service.tables.get(&name)?.live()?;
    let (body, etag) = match requested_epoch(query.as_deref())? {
        None => live.newest().signed(),
        Some(epoch) => {
            let found = live.find(epoch).map(|table| table.signed());
            let found = found.or_else(|| live.find_past(epoch).map(|past| past.signed()));
            found.ok_or_else(|| {
                let newest = live.newest().pin().epoch;
                Problem::new(ProblemCode::EpochExpired, format!("epoch {epoch} is not served"))
                    .with_epoch(newest)
            })?
        }
    };
    Ok(document(body, etag, &headers))
}

/// `GET /v1/stacks/{stack}`
pub(super) async fn stack(
    State(service): Served,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> HttpResult {
    let live = service.stacks.get(&name)?;
    Ok(document(live.signed.clone(), &live.etag, &headers))
}

/// The response with a signed document, unless the client has it already.
fn document(body: Bytes, etag: &str, headers: &HeaderMap) -> Response<Body> {
    let fresh = none_match(headers, etag);
    let mut response = json(if fresh { Body::empty() } else { Body::from(body) });
    if fresh {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    put_etag(&mut response, etag);
    shared(response)
}

/// The epoch of `?epoch=N`; other query keys are ignored.
fn requested_epoch(query: Option<&str>) -> Result<Option<Epoch>, HttpError> {
    let pairs = query.into_iter().flat_map(|query| query.split('&'));
    let Some(number) = pairs.filter_map(|pair| pair.strip_prefix("epoch=")).next() else { return Ok(None) };
    match number.parse() {
        Ok(epoch) => Ok(Some(Epoch(epoch))),
        Err(_) => Err(HttpError::new(ProblemCode::Malformed, "epoch is not a number")),
    }
}

/// A response that caches may store but must revalidate: the newest epoch changes.
fn json(body: Body) -> Response<Body> {
    response(body, routes::JSON, "no-cache")
}

/// `GET /v1/logs/{key}/proofs/{digest}`
pub(super) async fn log_proof(
    State(service): Served,
    Path((key, digest)): Path<(String, String)>,
) -> HttpResult {
    let none = || HttpError::new(ProblemCode::NotLogged, "the log holds no catalog of that digest");
    let digest: Hex32 = digest.parse().map_err(|_| none())?;
    let proof = read_log(log(&service, &key)?, move |log| log.proof(&digest)).await?.ok_or_else(none)?;
    Ok(response(proof, routes::TEXT, "no-cache"))
}

/// `GET /v1/logs/{key}/{path}`
pub(super) async fn log_file(
    State(service): Served,
    Path((key, path)): Path<(String, String)>,
) -> HttpResult {
    let none = || HttpError::new(ProblemCode::NotLogged, "the log has no such file");
    let file = LogLayout::place(&path).ok_or_else(none)?;
    let bytes = read_log(log(&service, &key)?, move |log| log.file(file)).await?.ok_or_else(none)?;
    Ok(match file {
        LogFile::Checkpoint => response(bytes, routes::TEXT, "no-cache"),
        LogFile::Tile(_) | LogFile::Bundle(..) => {
            response(bytes, routes::OCTETS, "public, max-age=31536000, immutable")
        }
    })
}

fn log(service: &Service, key: &str) -> Result<Arc<LiveLog>, HttpError> {
    let none = || HttpError::new(ProblemCode::NotLogged, "no log of this publisher is served here");
    service.logs.get(key).ok_or_else(none)
}

/// Reads a log's files, off the threads that carry connections.
async fn read_log(
    log: Arc<LiveLog>,
    read: impl FnOnce(&LiveLog) -> Result<Option<Bytes>, LogError> + Send + 'static,
) -> Result<Option<Bytes>, HttpError> {
    let found = tokio::task::spawn_blocking(move || read(&log)).await.map_err(|_| ProblemCode::Internal)?;
    found.map_err(|error| {
        tracing::error!(%error, "a log cannot be read");
        ProblemCode::Internal.into()
    })
}
