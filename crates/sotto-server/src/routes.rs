//! The public routes.
//!
//! | module | route |
//! |---|---|
//! | [`documents`] | the list of tables, catalogs, stacks, and the logs of publishers' catalogs |
//! | [`artifacts`] | static files, in ranges; entity tags |
//! | [`query`] | queries, row streams, hint requests and evaluations |
//! | [`keys`] | keys in, a session id out; and the session that a frame names |
//! | [`origins`] | pages of other origins, as far as they may make requests |
//! | [`page`] | the files of a web page, if there is one |

mod artifacts;
mod documents;
mod keys;
pub(crate) mod origins;
mod page;
mod query;

use crate::host::Nested;
use crate::http_error::{HttpError, Outcome};
use crate::service::Service;
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::Response;
use axum::middleware::{self, Next};
use axum::routing::{get, post};
use sotto_wire::{ProblemCode, routes};
use std::sync::Arc;
use tracing::Instrument;

/// Builds the public router.
pub(crate) fn public(service: Arc<Service>, origins: origins::AllowedOrigins) -> Router {
    let ours = Router::new()
        .route(routes::TABLES, get(documents::tables))
        .route(routes::TABLE, get(documents::catalog))
        .route(routes::STACK, get(documents::stack))
        .route(routes::LOG_PROOF, get(documents::log_proof))
        .route(routes::LOG_FILE, get(documents::log_file))
        .route(routes::ARTIFACT, get(artifacts::get))
        .route(routes::KEYS, post(keys::register))
        .route(routes::QUERY, post(query::query))
        .route(routes::STREAM, post(query::stream))
        .route(routes::HINTS, post(query::hints))
        .route(routes::EVALUATE, post(query::evaluate))
        .merge(page::routes(&service.page))
        .with_state(service.clone());
    let all =
        service.extensions.iter().fold(ours, |all, other| all.merge(other.clone().routes(&service.host)));
    let all = all
        .fallback(|| async { HttpError::new(ProblemCode::NoSuchRoute, "no route at this path") })
        .method_not_allowed_fallback(|| async {
            HttpError::new(ProblemCode::WrongMethod, "the route at this path takes another method")
        })
        .layer(middleware::from_fn_with_state(service.clone(), count))
        .layer(middleware::from_fn_with_state(origins, origins::allow));
    service.extensions.iter().fold(all, |all, other| other.clone().around(&service.host, all))
}

/// The state of the routes.
type Served = State<Arc<Service>>;

/// Counts a request by route and outcome, and the bytes of its response.
async fn count(State(service): Served, request: Request, next: Next) -> Response<Body> {
    let route = match request.extensions().get::<MatchedPath>().map(MatchedPath::as_str) {
        Some(routes::TABLES) => "tables",
        Some(routes::TABLE) => "catalog",
        Some(routes::STACK) => "stack",
        Some(routes::LOG_PROOF) => "log-proof",
        Some(routes::LOG_FILE) => "log-file",
        Some(routes::ARTIFACT) => "artifact",
        Some(routes::KEYS) => "keys",
        Some(routes::QUERY) => "ask",
        Some(routes::STREAM) => "stream",
        Some(routes::HINTS) => "hints",
        Some(routes::EVALUATE) => "evaluate",
        Some(path) => service.extensions.iter().find_map(|other| other.label(path)).unwrap_or("page"),
        None => "none",
    };
    let is_inside = request.extensions().get::<Nested>().is_some();
    let span = tracing::debug_span!("request", route, outcome = tracing::field::Empty);
    let response = next.run(request).instrument(span.clone()).await;
    let outcome = response.extensions().get::<Outcome>().map_or("ok", |outcome| outcome.0);
    span.record("outcome", outcome);
    service.host.metrics.request(route, outcome);
    // Bytes that are sent inside another response are counted there.
    if !is_inside {
        service.host.metrics.response_bytes.inc_by(response.body().size_hint().exact().unwrap_or(0));
    }
    response
}
