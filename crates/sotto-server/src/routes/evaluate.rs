//! Blinded elements in, evaluations and their proof out.
//!
//! A blinded element reveals nothing, so only the key must be kept out of the log.

use crate::TableEpoch;
use crate::body::BodyReader;
use crate::client::Peer;
use crate::host::octets;
use crate::http_error::HttpError;
use crate::limits::slots::Permit;
use crate::metrics::ByTable;
use crate::served_table::ServedTable;
use crate::service::Service;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::Response;
use sotto_oprf::{Evaluations, OprfError};
use sotto_wire::Code;
use sotto_wire::evaluate::{self, Element};
use std::sync::Arc;
use std::time::Instant;

/// A checked evaluation request.
struct CheckedEvaluation {
    live: Arc<TableEpoch>,
    elements: Vec<Element>,
    bytes: u64,
    memory: Permit,
}

/// `POST /v1/tables/{table}/evaluate`
pub(super) async fn evaluate(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let table = service.tables.get(&name)?;
    let (peer, mut reader) =
        service.host.open_body(request, evaluate::request_bytes(evaluate::MAX_EVALUATIONS))?;
    let read = read(&service, table, peer, &mut reader).await;
    let CheckedEvaluation { live, elements, bytes, memory } = reader.end(read).await?;
    let count = elements.len();
    service.host.metrics.request_bytes.inc_by(bytes);
    let (pin, counting) = (*live.pin(), service.clone());
    let working = tokio::task::spawn_blocking(move || {
        let _memory = memory;
        // Counted before the work, all of them or none: a client never learns more than its quota,
        // however many of its requests are in progress. Counted here, since the disk may have to be
        // written first.
        counting.host.limits.evaluations.take(peer, count as u64, Instant::now())?;
        work(&live, &elements)
    });
    let Evaluations { elements, proof } = working.await.map_err(|_| Code::Internal)??;
    service.host.metrics.evaluations.get_or_create(&ByTable::of(&*name)).inc_by(count as u64);
    let frame = evaluate::encode_response(&pin, &elements, &proof).map_err(|_| Code::Internal)?;
    Ok(octets(frame))
}

/// Reads a request in two steps: first the head, with which a wrong request is refused, then the
/// elements.
async fn read(
    service: &Service,
    table: &ServedTable,
    peer: Peer,
    reader: &mut BodyReader,
) -> Result<CheckedEvaluation, HttpError> {
    // A client without quota costs no more than this.
    service.host.limits.evaluations.check(peer, Instant::now())?;
    service.host.check_working()?;
    let head = evaluate::EvaluationHead::parse(reader.head(evaluate::HEAD_BYTES).await?)?;
    let live = table.live()?.admit(&head.pin)?.clone();
    live.evaluator()?;
    let bytes = evaluate::request_bytes(head.count);
    let (frame, memory) = reader.exactly(bytes).await?;
    let elements = head.elements(&frame)?;
    Ok(CheckedEvaluation { live, elements, bytes, memory })
}

fn work(live: &TableEpoch, elements: &[Element]) -> Result<Evaluations, HttpError> {
    let mut rng = sotto_prg::system_rng().map_err(|error| {
        tracing::error!(%error, "no proof could be made");
        Code::Internal
    })?;
    live.evaluator()?.evaluate(elements, &mut rng).map_err(|error| match error {
        OprfError::Element => Code::BadElement.into(),
        error => {
            tracing::error!(table = ?live, %error, "elements could not be evaluated");
            Code::Internal.into()
        }
    })
}
