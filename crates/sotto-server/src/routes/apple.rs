//! `POST /config`, `/key` and `/queries`: Apple's private lookups, in the words of its library.
//!
//! What is refused before it is read, for its size, its time or want of room, is refused as on every route; the rest with the
//! statuses that phones know.

use super::no::No;
use super::{opened, whole};
use crate::admission::Peer;
use crate::apple::Apple;
use crate::apple::lookups::Lookups;
use crate::quota::Open;
use crate::service::Service;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, header};
use axum::middleware;
use axum::routing::post;
use sotto_apple::service::{Asked, responses};
use sotto_wire::Code;
use std::sync::Arc;
use std::time::Instant;

const CONFIG: &str = "/config";
const KEY: &str = "/key";
const QUERIES: &str = "/queries";
const USER: &str = "user-identifier";

/// The routes, where there are use cases.
pub(super) fn routes(service: &Arc<Service>) -> Router<Arc<Service>> {
    match service.apple {
        None => Router::new(),
        Some(_) => {
            let asked = middleware::from_fn_with_state(service.clone(), super::tokens::wanted);
            let routes = Router::new().route(CONFIG, post(config)).route(KEY, post(key));
            routes.route(QUERIES, post(queries)).route_layer(asked)
        }
    }
}

/// What a route of these is called in metrics.
pub(super) fn label(path: &str) -> Option<&'static str> {
    match path {
        CONFIG => Some("apple-config"),
        KEY => Some("apple-key"),
        QUERIES => Some("apple-queries"),
        _ => None,
    }
}

/// A request that has come whole.
struct Came {
    service: Arc<Service>,
    peer: Peer,
    path: &'static str,
    user: Option<String>,
    agent: Option<String>,
    body: bytes::Bytes,
    /// The memory that it takes.
    room: Open,
}

impl Came {
    async fn read(service: &Arc<Service>, path: &'static str, request: Request) -> Result<Self, No> {
        let limit = apple(service)?.shelf.live().most_bytes(path).unwrap_or(0) as u64;
        let [user, agent] = [USER, header::USER_AGENT.as_str()].map(|name| text(request.headers(), name));
        let (peer, mut reader) = opened(service, request, limit)?;
        let read = whole(service, peer, &mut reader).await;
        let (body, room) = reader.end(read).await?;
        service.metrics.bytes_in.inc_by(body.len() as u64);
        Ok(Came { service: service.clone(), peer, path, user, agent, body: body.into(), room })
    }

    fn asked(&self) -> Asked<'_> {
        let (user, agent) = (self.user.as_deref(), self.agent.as_deref());
        Asked { path: self.path, user, agent, body: self.body.clone() }
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn apple(service: &Service) -> Result<&Apple, Code> {
    service.apple.as_ref().ok_or(Code::NoSuchRoute)
}

/// Does something with what has come, on threads that give way to the passes: it may read keys from the disk.
async fn aside<T: Send + 'static>(
    came: Came,
    work: impl FnOnce(&Came, &Apple) -> Result<T, No> + Send + 'static,
) -> Result<(T, Came), No> {
    let service = came.service.clone();
    let done = service.aside.run(move || {
        let done = work(&came, apple(&came.service)?)?;
        Ok((done, came))
    });
    done.await.unwrap_or_else(|| {
        tracing::error!("a request of Apple's protocol made the server panic; it is refused");
        Err(Code::Internal.into())
    })
}

/// A response for its client alone. Phones expect no type of it.
fn answer(body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// `POST /config`
async fn config(State(service): State<Arc<Service>>, request: Request) -> Result<Response<Body>, No> {
    let came = Came::read(&service, CONFIG, request).await?;
    let told = aside(came, |came, apple| {
        let told = apple.shelf.live().config(&came.asked(), &apple.keys.from(came.peer));
        told.map_err(No::apple)
    });
    Ok(answer(told.await?.0))
}

/// `POST /key`. Keys are on the disk before the answer leaves, where there is one.
async fn key(State(service): State<Arc<Service>>, request: Request) -> Result<Response<Body>, No> {
    let peer = *request.extensions().get::<Peer>().ok_or(Code::Internal)?;
    apple(&service)?.keys.may_upload(peer)?;
    let came = Came::read(&service, KEY, request).await?;
    let kept = aside(came, |came, apple| {
        apple.shelf.live().key(&came.asked(), &apple.keys.from(came.peer)).map_err(No::apple)
    });
    kept.await?;
    Ok(answer(Vec::new()))
}

/// `POST /queries`
async fn queries(State(service): State<Arc<Service>>, request: Request) -> Result<Response<Body>, No> {
    let peer = *request.extensions().get::<Peer>().ok_or(Code::Internal)?;
    service.budget.check(peer, Instant::now())?;
    let came = Came::read(&service, QUERIES, request).await?;
    let apple = apple(&service)?;
    let place = apple.open.take_for(apple.keys.place(came.user.as_deref().unwrap_or_default()), 1)?;
    let read = aside(came, |came, apple| {
        let asked_for = apple.shelf.live().asked_for(&came.asked(), &apple.keys.from(came.peer));
        let works = asked_for.map_err(No::apple)?;
        // Before the work, all of them or none: what a client learns of symmetric tables is never more than its share. Here,
        // since the disk may have to be written first.
        match works.iter().filter(|work| work.is_evaluation()).count() as u64 {
            0 => Ok(works),
            count => {
                came.service.evaluations.take(came.peer, count, Instant::now())?;
                Ok(works)
            }
        }
    });
    let (works, came) = read.await?;
    if works.is_empty() {
        return Ok(answer(responses(Vec::new())));
    }
    let (steps, reply) = Lookups::new(came.peer, works, service.metrics.clone(), (came.room, place));
    service.batch.steps(Box::new(steps))?;
    Ok(answer(reply.await.map_err(|_| Code::Internal)??))
}
