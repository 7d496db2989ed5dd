//! The gateway of Oblivious HTTP (RFC 9458): a request that a relay passes on is decrypted, goes to
//! the same routes as all others, and its response is encrypted.
//!
//! Faults that are found before a request is decrypted are answered in the clear, to the relay;
//! faults in the decrypted request are answered inside. For the routes the client is the relay:
//! limits of one client are the relay's, and tokens limit what one user may request.

use super::gateway::Gateway;
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri};
use axum::response::IntoResponse;
use axum::routing::get;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use sotto_ohttp::bhttp::{BhttpLimits, Request as Inner, Response as Answer};
use sotto_ohttp::gateway::{OVERHEAD, OpenError, ResponseSealer};
use sotto_ohttp::{KEY_PROBLEM, KEYS_TYPE, REQUEST_TYPE, RESPONSE_TYPE};
use sotto_prg::system_rng;
use sotto_server::extension::{BodyMemory, Extension, Host, HttpError, Nested, Peer, response};
use sotto_wire::{ProblemCode, routes};
use std::sync::Arc;

/// Header fields that belong to a connection, and not to a message (RFC 9110, section 7.6.1), and
/// those that the server sets by itself.
const OF_CONNECTIONS: [HeaderName; 7] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The gateway's route, in front of all others.
#[derive(Clone)]
struct GatewayLayer {
    gateway: Arc<Gateway>,
    host: Arc<Host>,
    within: Router,
}

impl Extension for Gateway {
    /// Makes the routes available through a gateway too.
    fn around(self: Arc<Self>, host: &Arc<Host>, within: Router) -> Router {
        let gateway = self;
        let layer = GatewayLayer { gateway: gateway.clone(), host: host.clone(), within: within.clone() };
        let methods = get(keys).post(take).fallback(|| async {
            HttpError::new(ProblemCode::WrongMethod, "the route at this path takes another method")
        });
        Router::new().route(&gateway.path, methods).with_state(layer).fallback_service(within)
    }

    fn sweep(&self) {
        self.renew_keys();
    }
}

/// `GET`: the gateway's keys.
async fn keys(State(layer): State<GatewayLayer>) -> Response<Body> {
    let published = layer.gateway.published_keys();
    // The request inside another one is counted too, by its own route.
    layer.host.count_request("ohttp-keys", "ok", published.len());
    // A key opens requests for days after the next one is published.
    response(published, KEYS_TYPE, "public, max-age=3600")
}

/// `POST`: a request for the routes.
async fn take(State(layer): State<GatewayLayer>, request: Request) -> Response<Body> {
    match carried(&layer, request).await {
        Ok((sealed, memory)) => {
            layer.host.count_request("ohttp", "ok", sealed.len());
            let mut response = response(sealed, RESPONSE_TYPE, "no-store");
            // The memory of the inner response counts for the outer one.
            memory.into_iter().for_each(|memory| drop(response.extensions_mut().insert(memory)));
            response
        }
        Err(refusal) => {
            layer.host.count_request("ohttp", refusal.outcome(), 0);
            refusal.into_response()
        }
    }
}

async fn carried(layer: &GatewayLayer, request: Request) -> Result<(Vec<u8>, Option<BodyMemory>), HttpError> {
    let is_sealed = |kind: &HeaderValue| kind.as_bytes().eq_ignore_ascii_case(REQUEST_TYPE.as_bytes());
    if !request.headers().get(header::CONTENT_TYPE).is_some_and(is_sealed) {
        return Err(HttpError::foreign(415, format!("send {REQUEST_TYPE}\n"), "wrong-type"));
    }
    let (host, gateway) = (&layer.host, layer.gateway.clone());
    // The request's memory stays counted until the answer is made: its decrypted bytes take the
    // place of the encrypted ones.
    let limit = gateway.max_request_bytes.saturating_add(OVERHEAD as u64);
    let (peer, bytes, _memory) = host.read_body(request, limit).await?;
    let opened = host.low_priority().run(peer, move || gateway.open_request(&bytes));
    let opened = opened.await.ok_or(ProblemCode::Internal)?.map_err(unopened)?;
    let reply = opened.reply;
    let (answer, memory) = match layer.gateway.is_new(&reply) {
        true => answer(layer, peer, opened.plain.into()).await,
        false => {
            host.count_request("ohttp-inside", "replayed", 0);
            let why = "this request was received before: seal each retry again";
            read_again(HttpError::new(ProblemCode::Malformed, why).into_response(), layer, peer).await
        }
    };
    Ok((sealed(host, peer, reply, answer).await?, memory))
}

/// A response, and the memory of its body.
type ResponsePermit = (Answer, Option<BodyMemory>);

/// Encrypts a response.
async fn sealed(
    host: &Arc<Host>,
    peer: Peer,
    reply: ResponseSealer,
    answer: Answer,
) -> Result<Vec<u8>, HttpError> {
    let sealed = host.low_priority().run(peer, move || {
        let mut rng = system_rng().ok()?;
        reply.seal(&answer.to_bytes(), &mut rng)
    });
    Ok(sealed.await.flatten().ok_or(ProblemCode::Internal)?)
}

/// The refusal of a request that no key opens. A client has to fetch the gateway's keys again.
fn unopened(refused: OpenError) -> HttpError {
    let outcome = match refused {
        OpenError::Malformed => return HttpError::foreign(400, format!("{refused}\n"), "malformed"),
        OpenError::UnknownKey => "unknown-key",
        OpenError::Unopened => "unopened",
    };
    let problem = serde_json::json!({ "type": KEY_PROBLEM, "title": refused.to_string() });
    let kind = HeaderValue::from_static(routes::PROBLEM_JSON);
    HttpError::foreign(400, problem.to_string(), outcome).with_header(header::CONTENT_TYPE, kind)
}

/// The response to a decrypted request.
async fn answer(layer: &GatewayLayer, peer: Peer, plain: Bytes) -> ResponsePermit {
    let wrong = |why| HttpError::new(ProblemCode::Malformed, why).into_response();
    let response = match Inner::read(plain, BhttpLimits::default()) {
        Ok(inner) => match request(inner, peer) {
            // A panic of a route ends the connection elsewhere, and so it does here.
            Some(request) => match TowerToHyperService::new(layer.within.clone()).call(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
            None => wrong("the inner request has an invalid method, path or field"),
        },
        Err(_) => wrong("the inner request is not binary HTTP"),
    };
    read_again(response, layer, peer).await
}

/// The request for the routes. Its host is ignored: no other server is reached from here.
fn request(inner: Inner, peer: Peer) -> Option<Request> {
    let uri: Uri = inner.path.parse().ok().filter(|_| inner.path.starts_with('/'))?;
    let mut request = Request::new(Body::from(inner.body.clone()));
    *request.method_mut() = Method::from_bytes(inner.method.as_bytes()).ok()?;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    for (name, value) in &inner.fields {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        if !OF_CONNECTIONS.contains(&name) {
            headers.append(name, HeaderValue::from_bytes(value).ok()?);
        }
    }
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(inner.body.len()));
    request.extensions_mut().insert(peer);
    request.extensions_mut().insert(Nested);
    Some(request)
}

/// A response as a message. Its body is read completely, into memory that its route took, or that
/// is taken here.
async fn read_again(response: Response<Body>, layer: &GatewayLayer, peer: Peer) -> ResponsePermit {
    let (mut parts, body) = response.into_parts();
    let memory = parts.extensions.remove::<BodyMemory>();
    let answer = |status: StatusCode, headers: &HeaderMap, body| Answer {
        status: status.as_u16(),
        fields: fields(headers),
        body,
    };
    match all_of(body, memory, layer, peer).await {
        Ok((body, memory)) => (answer(parts.status, &parts.headers, body), Some(memory)),
        Err(refusal) => {
            let (parts, body) = refusal.into_response().into_parts();
            // A refusal's body is in memory already.
            let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
            (answer(parts.status, &parts.headers, body), None)
        }
    }
}

async fn all_of(
    body: Body,
    memory: Option<BodyMemory>,
    layer: &GatewayLayer,
    peer: Peer,
) -> Result<(Bytes, BodyMemory), HttpError> {
    let max = layer.gateway.max_response_bytes;
    let too_long = || {
        HttpError::new(
            ProblemCode::TooLarge,
            "the response is longer than this gateway's limit: request a range of it",
        )
    };
    let announced = body.size_hint().exact();
    if announced.is_some_and(|bytes| bytes > max) {
        return Err(too_long());
    }
    let memory = match memory {
        Some(taken @ BodyMemory::Taken(_)) => taken,
        Some(BodyMemory::Shared) | None => {
            BodyMemory::Taken(Arc::new(layer.host.take_memory(peer, announced.unwrap_or(max))?))
        }
    };
    let limit = usize::try_from(max).unwrap_or(usize::MAX);
    let read = Limited::new(body, limit).collect().await.map_err(|_| too_long())?;
    Ok((read.to_bytes(), memory))
}

fn fields(headers: &HeaderMap) -> Vec<(String, Bytes)> {
    let of_message = headers.iter().filter(|(name, _)| !OF_CONNECTIONS.contains(name));
    of_message
        .map(|(name, value)| (name.as_str().to_owned(), Bytes::copy_from_slice(value.as_bytes())))
        .collect()
}
