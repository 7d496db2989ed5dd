//! The admin routes, on a port of their own: health, metrics, reload, draining and backups.

mod guard;

use crate::ServerConfig;
use crate::admin_hosts::AdminHosts;
use crate::backup::{BackupError, BackupSummary};
use crate::http_error::HttpError;
use crate::served_table::TableStatus;
use crate::service::Service;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use sotto_wire::{Code, Problem};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Media type that Prometheus expects for the OpenMetrics text format.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The state of the admin routes.
struct Operator {
    service: Arc<Service>,
    /// State directory, if there is one.
    state: Option<PathBuf>,
    /// Locked while a backup is made.
    copying: Mutex<()>,
    /// Whether the server reports that it is not ready, though it still answers requests.
    drained: AtomicBool,
}

/// Builds the admin router.
pub(crate) fn admin(service: Arc<Service>, config: &ServerConfig) -> Router {
    let hosts = AdminHosts::new(&config.admin_hosts);
    let (state, copying, drained) = (config.state.clone(), Mutex::default(), AtomicBool::new(false));
    let operator = Arc::new(Operator { service, state, copying, drained });
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/reload", post(reload))
        .route("/drain", post(|operator| drain(operator, true)))
        .route("/backup", post(backup))
        .route("/undrain", post(|operator| drain(operator, false)))
        .fallback(|| async { HttpError::new(Code::NoSuchRoute, "no route at this path") })
        .layer(middleware::from_fn_with_state(Arc::new(hosts), guard::guard))
        .with_state(operator)
}

/// Reports ready once every image is verified and as long as new work is accepted; a load balancer
/// sends nothing before, and stops when a shutdown begins. A refused table does not affect the
/// others: the response names it.
async fn ready(State(operator): State<Arc<Operator>>) -> Response {
    let service = &operator.service;
    if service.is_stopping() {
        return HttpError::from(Code::ShuttingDown).into_response();
    }
    if operator.drained.load(Ordering::Relaxed) {
        return HttpError::new(Code::ShuttingDown, "the server is drained by its operator").into_response();
    }
    let (mut text, mut wait) = ("ready\n".to_owned(), 0);
    for table in service.tables.all() {
        let name = table.name();
        match table.status() {
            TableStatus::Live(_) => {}
            TableStatus::Reading(_, percent) => {
                wait = wait.max(table.seconds_left());
                text.push_str(&format!("not yet: {name}: {percent} % of its image verified\n"));
            }
            TableStatus::Refused(why) => text.push_str(&format!("not served: {name}: {why}\n")),
        }
    }
    match wait {
        0 => text.into_response(),
        wait => {
            let text = text.strip_prefix("ready\n").unwrap_or_default().trim_end().replace('\n', "; ");
            HttpError::from(Problem::new(Code::NotReady, text)).after(wait).into_response()
        }
    }
}

async fn metrics(State(operator): State<Arc<Operator>>) -> Response {
    ([(header::CONTENT_TYPE, OPEN_METRICS)], operator.service.exposition()).into_response()
}

/// Makes the server report that it is not ready while it still answers requests, or ends that.
async fn drain(State(operator): State<Arc<Operator>>, drained: bool) -> &'static str {
    operator.drained.store(drained, Ordering::Relaxed);
    tracing::info!(drained, "draining was switched by the operator");
    if drained { "drained: /readyz fails, and requests are still answered\n" } else { "ready again\n" }
}

/// Checks for new epochs now, and reports the result for each table.
async fn reload(State(operator): State<Arc<Operator>>) -> Result<Response, HttpError> {
    let (service, reloading) = (&operator.service, operator.service.clone());
    let found = tokio::task::spawn_blocking(move || reloading.reload()).await;
    let (found, others) = found.map_err(|_| HttpError::from(Code::Internal))?;
    let tables = found.into_iter().map(|(name, outcome)| {
        let live = service.tables.get(&name).ok().and_then(|table| table.live_now());
        let epochs = live.iter().flat_map(|live| live.all()).filter(|table| table.check().is_ok());
        serde_json::json!({
            "table": name,
            "live": epochs.map(|table| table.pin().epoch.0).collect::<Vec<_>>(),
            "changed": outcome.changed,
            "refused": outcome.refused,
            "reading": outcome.reading,
        })
    });
    let mut found = serde_json::Map::from_iter([("tables".to_owned(), tables.collect())]);
    found.extend(
        others.into_iter().filter_map(|other| other.report).map(|(key, value)| (key.to_owned(), value)),
    );
    Ok(Json(found).into_response())
}

/// Copies the state that outlives a restart, one copy at a time, and reports where the copy is.
async fn backup(State(operator): State<Arc<Operator>>) -> Result<Response, HttpError> {
    let copied = tokio::task::spawn_blocking(move || {
        let Ok(_turn) = operator.copying.try_lock() else {
            return Err(HttpError::new(Code::Busy, "another backup is in progress").after(1));
        };
        crate::backup::copy(&operator.service, operator.state.as_deref()).map_err(|error| {
            tracing::error!(%error, "the state could not be backed up");
            let code = if matches!(error, BackupError::NoState) { Code::NoSuchRoute } else { Code::Internal };
            HttpError::from(Problem::new(code, error.to_string()))
        })
    });
    let BackupSummary { folder, files } = copied.await.map_err(|_| HttpError::from(Code::Internal))??;
    tracing::info!(files = files.len(), "the state was backed up");
    let files = files.into_iter().map(|(name, bytes)| serde_json::json!({ "name": name, "bytes": bytes }));
    let files: Vec<_> = files.collect();
    Ok(Json(serde_json::json!({ "folder": folder, "files": files })).into_response())
}
