//! Static files, in ranges, sent from where they are mapped; entity tags and byte ranges of HTTP (RFC
//! 9110, sections 8.8.3, 13.1 and 14).

use super::Served;
use crate::host::{HttpResult, shared};
use crate::http_error::HttpError;
use crate::service::Service;
use crate::table_epoch::{Retirement, StaticFile};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use sotto_catalog::Hex32;
use sotto_core::{ExpectOrDefault, Image, Section};
use sotto_db::ImageFile;
use sotto_wire::{ProblemCode, routes};
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Bytes that are handed to a connection at once.
const PIECE: usize = 256 << 10;

/// Smallest size of a page in bytes.
const PAGE: usize = 4096;

/// `GET /v1/artifacts/{digest}`; axum answers `HEAD` with the same headers.
pub(super) async fn get(
    State(service): Served,
    Path(digest): Path<String>,
    headers: HeaderMap,
) -> HttpResult {
    let ServedArtifact { bytes: whole, file, retired } = find(&service, &digest)?;
    let (grace, readers) = (service.grace, service.readers.clone());
    let pieces = |bytes| Body::new(PieceBody { bytes, file, retired, grace, readers, reading: None });
    let etag = format!("\"{digest}\"");
    let len = whole.len() as u64;
    let header = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
    let selection = match range_holds(&headers, &etag) {
        true => parse_range(header, len),
        false => RangeSelection::All,
    };
    let mut response = if none_match(&headers, &etag) {
        with_status(StatusCode::NOT_MODIFIED, Body::empty())
    } else {
        match selection {
            RangeSelection::All => with_status(StatusCode::OK, pieces(whole)),
            RangeSelection::Outside => return Ok(outside(len)),
            RangeSelection::Part(part) => {
                let content_range = format!("bytes {}-{}/{len}", part.start, part.end - 1);
                // Both ends are at most `len`, which came from a usize.
                let bytes = whole.slice(part.start as usize..part.end as usize);
                let mut response = with_status(StatusCode::PARTIAL_CONTENT, pieces(bytes));
                put(&mut response, header::CONTENT_RANGE, &content_range);
                response
            }
        }
    };
    put(&mut response, header::CONTENT_TYPE, routes::OCTETS);
    put(&mut response, header::ACCEPT_RANGES, "bytes");
    put(&mut response, header::CACHE_CONTROL, "public, max-age=31536000, immutable");
    put_etag(&mut response, &etag);
    Ok(shared(response))
}

/// An artifact in a mapped file, the image file that contains it, and whether its epoch is served.
struct ServedArtifact {
    bytes: Bytes,
    file: Option<Arc<ImageFile>>,
    retired: Retirement,
}

/// The artifact with this digest: in a table's image, or among a stack's files.
fn find(service: &Service, digest: &str) -> Result<ServedArtifact, HttpError> {
    let found = digest.parse::<Hex32>().ok().and_then(|digest| {
        let mapped = service.tables.all().find_map(|table| table.live_now()?.artifact(&digest));
        let mapped = mapped.map(|StaticFile { image, section, file, retired }| ServedArtifact {
            bytes: Bytes::from_owner(Mapped { image, section }),
            file,
            retired,
        });
        let of_stack = |bytes| ServedArtifact { bytes, file: None, retired: Retirement::default() };
        mapped.or_else(|| service.stacks.file(&digest).map(of_stack))
    });
    let found = found.ok_or_else(|| {
        HttpError::new(ProblemCode::NoSuchArtifact, "no served epoch has an artifact with this digest")
    })?;
    match found.file.as_ref().is_some_and(|file| file.check().is_err()) {
        true => Err(ProblemCode::NotReady.into()),
        false => Ok(found),
    }
}

fn outside(len: u64) -> Response<Body> {
    let refusal = HttpError::new(ProblemCode::BadRange, "the range is outside the artifact");
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

/// An artifact in a mapped file, which stays open for as long as it is being sent.
struct Mapped {
    image: Arc<dyn Image>,
    section: Section,
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self.image.section(self.section).expect_or_default("an image keeps the sections it was opened with")
    }
}

/// A body that is sent piece by piece without being copied first. A page that is not in memory
/// blocks the thread that touches it, so each piece is touched by a thread that may wait for the
/// disk, before a thread that carries connections sends it.
struct PieceBody {
    bytes: Bytes,
    /// Image file of the artifact: a download from one that is lost breaks off.
    file: Option<Arc<ImageFile>>,
    /// Retirement of its epoch: a download from one that is no longer served breaks off after a
    /// while.
    retired: Retirement,
    grace: Duration,
    /// Limit on the pieces that are read at once, over all downloads.
    readers: Arc<Semaphore>,
    /// Piece that is being read.
    reading: Option<Pin<Box<dyn Future<Output = io::Result<Bytes>> + Send>>>,
}

/// Reads a piece page by page, on a thread of its own, so that it is known before sending whether
/// it can be read.
async fn read(piece: Bytes, file: Option<Arc<ImageFile>>, readers: Arc<Semaphore>) -> io::Result<Bytes> {
    let turn = readers.acquire_owned().await.map_err(io::Error::other)?;
    let read = move || {
        // A read that has begun cannot be canceled, so its permit ends with it.
        let _turn = turn;
        for byte in piece.iter().step_by(PAGE) {
            std::hint::black_box(*byte);
        }
        file.map_or(Ok(()), |file| file.check()).map_err(io::Error::other)?;
        Ok(piece)
    };
    tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?
}

impl http_body::Body for PieceBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let next = PIECE.min(self.bytes.len());
        if next == 0 && self.reading.is_none() {
            return Poll::Ready(None);
        }
        if self.retired.is_over(Instant::now(), self.grace) {
            return Poll::Ready(Some(Err(io::Error::other("the epoch is no longer served"))));
        }
        let PieceBody { bytes, file, readers, reading, .. } = &mut *self;
        let begin = || Box::pin(read(bytes.split_to(next), file.clone(), readers.clone())) as Pin<Box<_>>;
        let piece = ready!(reading.get_or_insert_with(begin).as_mut().poll(context));
        *reading = None;
        Poll::Ready(Some(piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty() && self.reading.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}

/// Whether `If-None-Match` names this tag: the client has the bytes. The comparison is weak, as the
/// RFC demands.
pub(super) fn none_match(headers: &HeaderMap, etag: &str) -> bool {
    let values = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|list| list.split(',')).any(|tag| {
        let tag = tag.trim();
        tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag
    })
}

/// Whether a `Range` may be honored: there is no `If-Range`, or it names this tag.
fn range_holds(headers: &HeaderMap, etag: &str) -> bool {
    headers.get(header::IF_RANGE).is_none_or(|value| value.as_bytes() == etag.as_bytes())
}

/// Sets the tag, unless it is no valid header value, which does not happen for a digest.
pub(super) fn put_etag(response: &mut Response<Body>, etag: &str) {
    if let Ok(value) = HeaderValue::from_str(etag) {
        response.headers_mut().insert(header::ETAG, value);
    }
}

/// What a `Range` header selects of `len` bytes.
#[derive(Debug, PartialEq, Eq)]
enum RangeSelection {
    /// The whole resource: there is no range, several, or none that this server understands, which
    /// the RFC lets it ignore.
    All,
    /// The bytes of this range, which is not empty.
    Part(Range<u64>),
    /// A range beyond the end.
    Outside,
}

/// Parses a `Range` header.
fn parse_range(header: Option<&str>, len: u64) -> RangeSelection {
    let Some((first, last)) = header.and_then(|h| h.strip_prefix("bytes=")).and_then(|h| h.split_once('-'))
    else {
        return RangeSelection::All;
    };
    let (first, last) = (first.trim(), last.trim());
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !digits(first) || !digits(last) || (first.is_empty() && last.is_empty()) {
        return RangeSelection::All;
    }
    // A number too large for a u64 is past any end.
    let number = |s: &str| s.parse::<u64>().unwrap_or(u64::MAX);
    let part = match (first.is_empty(), last.is_empty()) {
        (true, _) => len.saturating_sub(number(last))..len,
        (_, true) => number(first)..len,
        _ if number(first) > number(last) => return RangeSelection::All,
        _ => number(first)..number(last).saturating_add(1).min(len),
    };
    if part.start < part.end { RangeSelection::Part(part) } else { RangeSelection::Outside }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table_epoch::tests::clear_table;
    use http_body_util::BodyExt;

    #[test]
    fn a_download_ends_a_while_after_its_epoch() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let table = clear_table(1);
        let pieces = |grace| {
            let (bytes, retired) = (Bytes::from(vec![7; 3 * PIECE]), table.retired().clone());
            PieceBody {
                bytes,
                file: None,
                retired,
                grace,
                readers: Arc::new(Semaphore::new(1)),
                reading: None,
            }
        };
        let (mut long, mut short) = (pieces(Duration::from_secs(3600)), pieces(Duration::ZERO));
        let next = |body: &mut PieceBody| runtime.block_on(body.frame()).map(|frame| frame.is_ok());
        assert_eq!((next(&mut long), next(&mut short)), (Some(true), Some(true)));
        table.retire();
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!((next(&mut long), next(&mut short)), (Some(true), Some(false)));
    }

    #[test]
    fn no_thread_of_connections_touches_a_file() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let readers = Arc::new(Semaphore::new(0));
        let (bytes, retired) = (Bytes::from(vec![7; PIECE + 1]), Retirement::default());
        let grace = Duration::from_secs(3600);
        let mut body =
            PieceBody { bytes, file: None, retired, grace, readers: readers.clone(), reading: None };
        runtime.block_on(async {
            let waits = std::future::poll_fn(|context| {
                Poll::Ready(http_body::Body::poll_frame(Pin::new(&mut body), context).is_pending())
            });
            assert!(waits.await, "nobody reads files now, and a piece came");
            readers.add_permits(1);
            let whole = body.collect().await.unwrap().to_bytes();
            assert_eq!(whole, vec![7; PIECE + 1]);
        });
    }

    #[test]
    fn ranges_as_the_rfc_says() {
        let of = |header| parse_range(Some(header), 10);
        assert_eq!(of("bytes=0-0"), RangeSelection::Part(0..1));
        assert_eq!(of("bytes=2-4"), RangeSelection::Part(2..5));
        assert_eq!(of("bytes=2-"), RangeSelection::Part(2..10));
        assert_eq!(of("bytes=2-99999999999999999999999"), RangeSelection::Part(2..10));
        assert_eq!(of("bytes=-3"), RangeSelection::Part(7..10));
        assert_eq!(of("bytes=-30"), RangeSelection::Part(0..10));
        for outside in ["bytes=10-", "bytes=10-12", "bytes=-0", "bytes=99999999999999999999999-"] {
            assert_eq!(of(outside), RangeSelection::Outside, "{outside}");
        }
        for ignored in
            ["bytes=0-1,3-4", "bytes=5-4", "bytes=-", "bytes=a-b", "rows=0-1", "bytes 0-1", "bytes=--1"]
        {
            assert_eq!(of(ignored), RangeSelection::All, "{ignored}");
        }
        assert_eq!(parse_range(None, 10), RangeSelection::All);
        assert_eq!(parse_range(Some("bytes=0-0"), 0), RangeSelection::Outside);
    }
}
