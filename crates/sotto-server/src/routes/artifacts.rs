//! Static files, in ranges, sent from where they are mapped.

use super::range::{self, Asked};
use super::tags;
use crate::refusal::Refusal;
use crate::service::Service;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use sotto_catalog::Hex32;
use sotto_core::{Image, Section};
use sotto_wire::{Code, routes};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Bytes handed to a connection at once. A page that is not in memory stalls the thread that sends it, so
/// pieces are small enough for other connections to get their turn.
const PIECE: usize = 256 << 10;

/// `GET /v1/artifacts/{digest}`; axum answers `HEAD` with the same headers.
pub(super) async fn get(
    State(service): State<Arc<Service>>,
    Path(digest): Path<String>,
    headers: HeaderMap,
) -> Result<Response<Body>, Refusal> {
    let whole = find(&service, &digest)?;
    let etag = format!("\"{digest}\"");
    let len = whole.len() as u64;
    let header = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
    let asked = match tags::range_holds(&headers, &etag) {
        true => range::parse(header, len),
        false => Asked::All,
    };
    let mut response = if tags::none_match(&headers, &etag) {
        with_status(StatusCode::NOT_MODIFIED, Body::empty())
    } else {
        match asked {
            Asked::All => with_status(StatusCode::OK, Body::new(Pieces(whole))),
            Asked::Outside => return Ok(outside(len)),
            Asked::Part(part) => {
                let content_range = format!("bytes {}-{}/{len}", part.start, part.end - 1);
                // Both ends are at most `len`, which came from a usize.
                let bytes = whole.slice(part.start as usize..part.end as usize);
                let mut response = with_status(StatusCode::PARTIAL_CONTENT, Body::new(Pieces(bytes)));
                put(&mut response, header::CONTENT_RANGE, &content_range);
                response
            }
        }
    };
    put(&mut response, header::CONTENT_TYPE, routes::OCTETS);
    put(&mut response, header::ACCEPT_RANGES, "bytes");
    put(&mut response, header::CACHE_CONTROL, "public, max-age=31536000, immutable");
    tags::put(&mut response, &etag);
    Ok(response)
}

/// The artifact of this digest, where it lies: in a table's image, or among a stack's files.
fn find(service: &Service, digest: &str) -> Result<Bytes, Refusal> {
    let found = digest.parse::<Hex32>().ok().and_then(|digest| {
        let mut slots = service.tables.all();
        let mapped = slots.find_map(|slot| slot.live().artifact(&digest));
        let mapped = mapped.map(|(image, section)| Bytes::from_owner(Mapped { image, section }));
        mapped.or_else(|| service.stacks.file(&digest))
    });
    found.ok_or_else(|| {
        Refusal::new(Code::NoSuchArtifact, "no epoch that is served has an artifact of that digest")
    })
}

fn outside(len: u64) -> Response<Body> {
    let refusal = Refusal::new(Code::BadRange, "the artifact does not have these bytes");
    let mut response = axum::response::IntoResponse::into_response(refusal);
    put(&mut response, header::CONTENT_RANGE, &format!("bytes */{len}"));
    response
}

fn with_status(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

fn put(response: &mut Response<Body>, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// An artifact where it lies, kept open for as long as it is being sent.
struct Mapped {
    image: Arc<dyn Image>,
    section: Section,
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self.image.section(self.section).unwrap_or_default()
    }
}

/// A body that is sent piece by piece without being copied first.
struct Pieces(Bytes);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = PIECE.min(self.0.len());
        Poll::Ready((next > 0).then(|| Ok(Frame::data(self.0.split_to(next)))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}
