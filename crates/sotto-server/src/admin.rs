//! The admin routes, on a port of their own: health, metrics, reload, draining and backups.
//!
//! The admin address accepts requests of programs on machines that can reach it, and none of web
//! pages. A browser on such a machine can reach the address too, and does what any page says. A page
//! of another site sends an `Origin` or a `Sec-Fetch-Site` header; one whose own name is made to
//! resolve to this address (DNS rebinding) sends that name as `Host`; and none can send a custom
//! header without a preflight request, which is refused.

use crate::ServerConfig;
use crate::backup::{BackupError, BackupSummary};
use crate::http_error::HttpError;
use crate::served_table::TableStatus;
use crate::service::Service;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use sotto_wire::routes::ADMIN_HEADER;
use sotto_wire::{Problem, ProblemCode};
use std::net::{IpAddr, Ipv6Addr};
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
        .fallback(|| async { HttpError::new(ProblemCode::NoSuchRoute, "no route at this path") })
        .layer(middleware::from_fn_with_state(Arc::new(hosts), guard))
        .with_state(operator)
}

/// Reports ready once every image is verified and as long as new work is accepted; a load balancer
/// sends nothing before, and stops when a shutdown begins. A refused table does not affect the
/// others: the response names it.
async fn ready(State(operator): State<Arc<Operator>>) -> Response {
    let service = &operator.service;
    if service.is_stopping() {
        return HttpError::from(ProblemCode::ShuttingDown).into_response();
    }
    if operator.drained.load(Ordering::Relaxed) {
        return HttpError::new(ProblemCode::ShuttingDown, "the server is drained by its operator")
            .into_response();
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
            HttpError::from(Problem::new(ProblemCode::NotReady, text)).after(wait).into_response()
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
    let (found, others) = found.map_err(|_| HttpError::from(ProblemCode::Internal))?;
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
            return Err(HttpError::new(ProblemCode::Busy, "another backup is in progress").after(1));
        };
        crate::backup::copy(&operator.service, operator.state.as_deref()).map_err(|error| {
            tracing::error!(%error, "the state could not be backed up");
            let code = if matches!(error, BackupError::NoState) {
                ProblemCode::NoSuchRoute
            } else {
                ProblemCode::Internal
            };
            HttpError::from(Problem::new(code, error.to_string()))
        })
    });
    let BackupSummary { folder, files } =
        copied.await.map_err(|_| HttpError::from(ProblemCode::Internal))??;
    tracing::info!(files = files.len(), "the state was backed up");
    let files = files.into_iter().map(|(name, bytes)| serde_json::json!({ "name": name, "bytes": bytes }));
    let files: Vec<_> = files.collect();
    Ok(Json(serde_json::json!({ "folder": folder, "files": files })).into_response())
}

/// Refuses requests of web pages.
async fn guard(State(hosts): State<Arc<AdminHosts>>, request: Request, next: Next) -> Response {
    match why_not(request.method(), request.uri(), request.headers(), &hosts) {
        None => next.run(request).await,
        Some(why) => (StatusCode::FORBIDDEN, format!("{why}\n")).into_response(),
    }
}

/// Why a request is refused, if it is.
fn why_not(method: &Method, uri: &Uri, headers: &HeaderMap, hosts: &AdminHosts) -> Option<String> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    // HTTP/2 names the host in the URI.
    let host = uri.authority().map(|authority| authority.as_str()).or(text(header::HOST));
    if let Some(host) = host.filter(|host| !hosts.allows(host)) {
        let fix = "use an address or localhost, or add the name to admin_hosts";
        return Some(format!("the request names host {host}, which is not this server: {fix}"));
    }
    if let Some(origin) = text(header::ORIGIN) {
        let own = origin.split_once("://").map(|(_, authority)| authority);
        if own.is_none() || own != host {
            return Some(format!("the request comes from a web page of {origin}"));
        }
    }
    let site = headers.get("sec-fetch-site").map(|value| value.as_bytes());
    if site.is_some_and(|site| site != b"none" && site != b"same-origin") {
        return Some("the request comes from a web page of another site".to_owned());
    }
    let changes = !matches!(*method, Method::GET | Method::HEAD);
    (changes && !headers.contains_key(ADMIN_HEADER)).then(|| {
        format!("the request has no header {ADMIN_HEADER}, which changes need: send {ADMIN_HEADER}: 1")
    })
}

/// Host names that a request may have besides addresses and this machine itself, in lower case and
/// without a port.
#[derive(Debug, Clone, Default)]
struct AdminHosts(Vec<String>);

impl AdminHosts {
    fn new(hosts: &[String]) -> Self {
        AdminHosts(hosts.iter().map(|host| host.to_ascii_lowercase()).collect())
    }

    /// Whether no web page can have used this host as a name of its own, as is the case for
    /// addresses.
    fn allows(&self, authority: &str) -> bool {
        let host = host_of(authority).to_ascii_lowercase();
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        host == "localhost"
            || host.parse::<IpAddr>().is_ok()
            || bare.is_some_and(|host| host.parse::<Ipv6Addr>().is_ok())
            || self.0.contains(&host)
    }
}

/// The host of an authority, without its port.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_page_can_have_are_no_hosts() {
        let hosts = AdminHosts::new(&["Sotto.internal".into()]);
        for host in [
            "localhost",
            "LOCALHOST:8081",
            "127.0.0.1:8081",
            "10.0.0.7",
            "[::1]:8081",
            "[::1]",
            "sotto.internal:1",
        ] {
            assert!(hosts.allows(host), "{host}");
        }
        for host in [
            "evil.example:8081",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "",
            "internal",
            "[::1",
            "sotto:x",
        ] {
            assert!(!hosts.allows(host), "{host}");
        }
    }
}
