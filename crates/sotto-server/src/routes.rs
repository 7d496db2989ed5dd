//! The public routes.
//!
//! | module | route |
//! |---|---|
//! | [`apple`] | Apple's private lookups: `/config`, `/key`, `/queries` |
//! | [`documents`] | the list of tables, catalogs, stacks, and the logs of publishers' catalogs |
//! | [`artifacts`] | static files, in ranges |
//! | [`query`] | queries in, answers out; and the session that a frame names |
//! | [`stream`] | a query in, the units of its record out |
//! | [`hints`] | a hint request in, hints out |
//! | [`evaluate`] | blinded elements in, evaluations and their proof out |
//! | [`keys`] | keys in, a session id out |
//! | `ohttp` | the gateway of Oblivious HTTP, in front of all others |
//! | [`origins`] | pages of other origins, as far as they may make requests |
//! | [`page`] | the files of a web page, if there is one |
//! | [`tokens`] | tokens of Privacy Pass: the issuer's routes |
//! | [`http`] | entity tags and byte ranges |

mod apple;
mod artifacts;
mod documents;
mod evaluate;
mod hints;
mod http;
mod keys;
#[cfg(feature = "ohttp")]
mod ohttp;
mod origins;
mod page;
mod query;
mod stream;
mod tokens;

use crate::body::BodyReader;
use crate::client::Peer;
use crate::memory::{BodyMemory, MemoryPermit};
use crate::refusal::Refusal;
use crate::service::Service;
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Response, header};
use axum::middleware::{self, Next};
use axum::routing::{get, post};
use sotto_wire::{Code, routes};
use std::sync::Arc;
use tracing::Instrument;

/// Builds the public router.
pub(crate) fn public(service: Arc<Service>) -> Router {
    let all = Router::new()
        .route(routes::TABLES, get(documents::tables))
        .route(routes::TABLE, get(documents::catalog))
        .route(routes::STACK, get(documents::stack))
        .route(routes::LOG_PROOF, get(documents::log_proof))
        .route(routes::LOG_FILE, get(documents::log_file))
        .route(routes::ARTIFACT, get(artifacts::get))
        .route(routes::KEYS, post(keys::register))
        .route(routes::QUERY, post(query::query))
        .route(routes::STREAM, post(stream::stream))
        .route(routes::HINTS, post(hints::request))
        .route(routes::EVALUATE, post(evaluate::evaluate))
        .merge(apple::routes(&service))
        .merge(tokens::routes(&service))
        .merge(page::routes(&service.page))
        .fallback(|| async { Refusal::new(Code::NoSuchRoute, "no route at this path") })
        .method_not_allowed_fallback(|| async {
            Refusal::new(Code::WrongMethod, "the route at this path takes another method")
        })
        .layer(middleware::from_fn_with_state(service.clone(), count))
        .layer(middleware::from_fn_with_state(service.clone(), origins::allow))
        .with_state(service.clone());
    #[cfg(feature = "ohttp")]
    let all = ohttp::around(&service, all);
    all
}

/// The sender of a request, and a reader of its body, of which nothing is read yet.
fn opened(service: &Service, request: Request, limit: u64) -> Result<(Peer, BodyReader), Refusal> {
    let (parts, body) = request.into_parts();
    let peer = *parts.extensions.get::<Peer>().ok_or(Code::Internal)?;
    let memory = service.memory.none(peer);
    Ok((peer, BodyReader::new(body, &parts.headers, limit, service.read_timeout, memory)?))
}

/// Reads a whole body. Returns it with its memory permit.
async fn whole(service: &Service, reader: &mut BodyReader) -> Result<(Vec<u8>, MemoryPermit), Refusal> {
    service.check_working()?;
    reader.whole().await
}

/// Marks a request that a gateway has decrypted.
#[derive(Debug, Clone, Copy)]
struct FromGateway;

/// A response that is for its client alone.
fn octets(body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(routes::OCTETS));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A response that holds the memory of its body until it is sent.
fn holding(mut response: Response<Body>, memory: MemoryPermit) -> Response<Body> {
    response.extensions_mut().insert(BodyMemory::Taken(Arc::new(memory)));
    response
}

/// A response whose body is in memory whether it is sent or not.
fn shared(mut response: Response<Body>) -> Response<Body> {
    response.extensions_mut().insert(BodyMemory::Shared);
    response
}

/// Counts a request by route and outcome, and the bytes of its response.
async fn count(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response<Body> {
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
        Some(path) => apple::label(path).or_else(|| tokens::label(path)).unwrap_or("page"),
        None => "none",
    };
    let is_inside = request.extensions().get::<FromGateway>().is_some();
    let span = tracing::debug_span!("request", route, outcome = tracing::field::Empty);
    let response = next.run(request).instrument(span.clone()).await;
    let ours = response.extensions().get::<Code>().map(|code| code.text());
    let apples =
        || response.extensions().get::<crate::route_refusal::OutcomeLabel>().map(|outcome| outcome.0);
    let outcome = ours.or_else(apples).unwrap_or("ok");
    span.record("outcome", outcome);
    service.metrics.requests.request(route, outcome);
    // Bytes that are sent inside another response are counted there.
    if !is_inside {
        service.metrics.requests.bytes_out.inc_by(response.body().size_hint().exact().unwrap_or(0));
    }
    response
}
