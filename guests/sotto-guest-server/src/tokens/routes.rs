//! Tokens of Privacy Pass: the issuer's routes.
//!
//! | route | what it gives |
//! |---|---|
//! | `GET /.well-known/private-token-issuer-directory` | the issuer's keys, the same for everyone |
//! | `GET /token-key-for-user-token` | the key of the user's tier |
//! | `POST /issue` | a blind signature |

use super::Tokens;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response, header};
use axum::routing::{get, post};
use sotto_pass::Issuer;
use sotto_server::extension::{Host, HttpResult, Peer, octets, response};
use sotto_wire::ProblemCode;
use std::sync::Arc;

const DIRECTORY: &str = "/.well-known/private-token-issuer-directory";
const KEY: &str = "/token-key-for-user-token";
const ISSUE: &str = "/issue";

/// Media types of RFC 9578 for a directory and for an answer.
const DIRECTORY_TYPE: &str = "application/private-token-issuer-directory";
const RESPONSE_TYPE: &str = "application/private-token-response";

/// The state of the routes.
type Served = State<(Arc<Tokens>, Arc<Host>)>;

/// The issuer's routes.
pub(crate) fn routes(tokens: Arc<Tokens>, host: &Arc<Host>) -> Router {
    let routes = Router::new().route(DIRECTORY, get(directory)).route(KEY, get(key));
    routes.route(ISSUE, post(issue)).with_state((tokens, host.clone()))
}

/// The name of a route in metrics, if it is one of these.
pub(crate) fn label(path: &str) -> Option<&'static str> {
    match path {
        DIRECTORY => Some("token-directory"),
        KEY => Some("token-key"),
        ISSUE => Some("token-issue"),
        _ => None,
    }
}

pub(crate) fn authorization(headers: &HeaderMap) -> Option<String> {
    headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// `GET /.well-known/private-token-issuer-directory`
async fn directory(State((tokens, _)): Served) -> Response<Body> {
    // A successor is announced a day before it signs.
    response(tokens.directory(), DIRECTORY_TYPE, "public, max-age=3600")
}

/// `GET /token-key-for-user-token`
async fn key(State((tokens, _)): Served, request: Request) -> HttpResult {
    let peer = *request.extensions().get::<Peer>().ok_or(ProblemCode::Internal)?;
    let given = authorization(request.headers());
    tokens.key_for(peer, given.as_deref()).map(octets)
}

/// `POST /issue`
async fn issue(State((tokens, host)): Served, request: Request) -> HttpResult {
    let given = authorization(request.headers());
    let (peer, mut reader) = host.open_body(request, Issuer::most_bytes() as u64)?;
    let read = reader.whole().await;
    let (body, _room) = reader.end(read).await?;
    tokens.admit(peer, given.as_deref())?;
    Ok(response(tokens.issue(peer, given, body).await?, RESPONSE_TYPE, "no-store"))
}
