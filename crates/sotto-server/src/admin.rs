//! Health, metrics and reload, on a port of their own.

use crate::refusal::Refusal;
use crate::service::Service;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use sotto_wire::Code;
use std::sync::Arc;

/// What Prometheus expects of the OpenMetrics text format.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The admin router.
pub(crate) fn admin(service: Arc<Service>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/reload", post(reload))
        .fallback(|| async { Refusal::new(Code::NoSuchRoute, "there is nothing at this path") })
        .with_state(service)
}

/// Ready while new work is taken; a load balancer stops sending when a shutdown begins.
async fn ready(State(service): State<Arc<Service>>) -> Response {
    match service.is_stopping() {
        true => Refusal::of(Code::ShuttingDown).into_response(),
        false => "ready\n".into_response(),
    }
}

async fn metrics(State(service): State<Arc<Service>>) -> Response {
    ([(header::CONTENT_TYPE, OPEN_METRICS)], service.metrics.exposition(&service.tables, &service.sessions))
        .into_response()
}

/// Looks for new epochs now, and says for each table what came of it.
async fn reload(State(service): State<Arc<Service>>) -> Result<Response, Refusal> {
    let reloading = service.clone();
    let found = tokio::task::spawn_blocking(move || reloading.reload()).await;
    let found = found.map_err(|_| Refusal::of(Code::Internal))?;
    let tables = found.into_iter().filter_map(|(name, reloaded)| {
        let live = service.tables.get(&name).ok()?.live();
        let epochs: Vec<u64> = live.all().map(|live| live.pin().epoch.0).collect();
        let entry = serde_json::json!({
            "table": name, "live": epochs, "changed": reloaded.changed, "refused": reloaded.refused,
        });
        Some(entry)
    });
    Ok(Json(serde_json::json!({ "tables": tables.collect::<Vec<_>>() })).into_response())
}
