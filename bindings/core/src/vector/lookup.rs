//! A lookup over any transport, which is recorded or replayed.
#![cfg_attr(
    not(feature = "record"),
    allow(unreachable_pub, reason = "nobody else records without the feature")
)]

use super::{VectorError, VectorLookup};
use rand_core::SeedableRng;
use sotto_catalog::{BatchAccess, Hex32, PublicKey, SignedStack, TableName};
use sotto_client::session::{RequestIo, SetupConfig};
use sotto_client::stack::query_assignment::{QueryAssignment, StackTable};
use sotto_client::transport::{Request, Response, TransportError};
use sotto_client::{ClientError, Session};
use sotto_core::{CryptoRng, Layer, Row};
use sotto_prg::ChaCha20Rng;
use sotto_wire::routes;

/// The generator of a vector's client.
pub fn generator(seed: &Hex32) -> ChaCha20Rng {
    ChaCha20Rng::from_seed(seed.0)
}

/// Opens a table or a stack, and makes the lookup of a vector; returns the scheme's id and the value.
///
/// There is no clock, so no catalog has expired; and there is no cache, so everything is fetched.
///
/// # Errors
/// The errors of `send`, and [`VectorError::Client`].
pub fn lookup(
    name: &TableName,
    key: PublicKey,
    servers: u8,
    requested: &VectorLookup,
    rng: &mut dyn CryptoRng,
    send: SendRequest<'_>,
) -> Result<(String, Vec<u8>), VectorError> {
    let config = |table: &TableName| SetupConfig {
        pin: Some(key),
        servers,
        in_memory: true,
        ..SetupConfig::new(table.clone())
    };
    let other = || VectorError::OtherRow(requested.to_string());
    let (session, value) = match requested {
        VectorLookup::Rows(rows) => return lookup_batch(name, key, rows, &config, rng, send),
        VectorLookup::Row(row) => {
            let mut session = open(config(name), rng, send)?;
            let value = fetch(&mut session, &[*row], rng, send)?.pop();
            (session, value)
        }
        VectorLookup::Key(text) => {
            let mut session = open(config(name), rng, send)?;
            let keyword = session.catalog().keyword().map_err(ClientError::from)?.ok_or_else(other)?;
            let key = keyword.params().form.canonical(text.as_bytes()).map_err(|_| other())?;
            let (rows, plan) = keyword.plan(&key, rng).map_err(ClientError::from)?;
            let rows = fetch(&mut session, &rows, rng, send)?.into_iter().map(Row::new).collect();
            let value = keyword.assemble(plan, rows).map_err(ClientError::from)?;
            (session, value.map(|value| value.to_vec()))
        }
    };
    Ok((session.catalog().scheme.clone(), value.ok_or_else(other)?))
}

/// Carries a request to a server.
type SendRequest<'a> = &'a mut dyn FnMut(u8, &Request) -> Result<Response, VectorError>;

/// Looks up several rows of a stack whose tables are the buckets of a batch code.
fn lookup_batch(
    name: &TableName,
    key: PublicKey,
    rows: &[u64],
    config: &dyn Fn(&TableName) -> SetupConfig,
    rng: &mut dyn CryptoRng,
    send: SendRequest<'_>,
) -> Result<(String, Vec<u8>), VectorError> {
    let request = Request::get(routes::stack(name.as_str()), SignedStack::MAX_BYTES as u64);
    let stack = SignedStack::parse(&send(0, &request)?.body).and_then(|signed| signed.verify(Some(&key)));
    let stack = stack.map_err(ClientError::from)?;
    let Some(BatchAccess::Rows { code, .. }) = BatchAccess::of(&stack).map_err(ClientError::from)? else {
        return Err(VectorError::damaged("the stack", "expected rows in the buckets of a batch code"));
    };
    let mut sessions = Vec::new();
    for shard in &stack.shards {
        let session = open(config(&shard.table), rng, send)?;
        if !shard.is(session.catalog()) {
            return Err(VectorError::damaged("a catalog", "differs from that which the stack names"));
        }
        sessions.push(session);
    }
    let tables = sessions
        .iter()
        .map(|session| StackTable { count: session.buckets(), rows: session.bucket_rows() })
        .collect();
    let other = || VectorError::damaged("the stack", "its tables do not serve the batch code");
    let assignment = QueryAssignment::new(tables, &code.shards(), &code.visits()).ok_or_else(other)?;
    let (planned, plan) = code.plan(rows, rng).map_err(ClientError::from)?;
    let assigned = assignment.assign(&planned, rng).ok_or_else(other)?;
    let mut fetched = Vec::new();
    for (session, rows) in sessions.iter_mut().zip(&assigned) {
        fetched.push(fetch(session, rows, rng, send)?);
    }
    let rows = assignment.gather(fetched).ok_or_else(other)?;
    let rows = code.assemble(plan, rows).map_err(ClientError::from)?;
    let scheme = sessions.first().map(|session| session.catalog().scheme.clone()).unwrap_or_default();
    Ok((scheme, rows.iter().flat_map(|row| row.iter().copied()).collect()))
}

/// Opens a table, and receives the hints of its client.
fn open(config: SetupConfig, rng: &mut dyn CryptoRng, send: SendRequest<'_>) -> Result<Session, VectorError> {
    let mut failed = None;
    let mut io = RequestIo::new(rng, |server, request| {
        send(server, request).map_err(|error| {
            let why = error.to_string();
            failed = Some(error);
            TransportError::Lost(why).into()
        })
    });
    let opened = Session::establish(config, &mut io);
    let mut session = match (opened, failed) {
        (Err(_), Some(failed)) => return Err(failed),
        (opened, _) => opened?,
    };
    while let Some(hint_request) = session.hint_request()? {
        let response = send(hint_request.server(), hint_request.request())?;
        session.apply_hint_response(&hint_request, &response)?;
    }
    Ok(session)
}

/// Fetches rows in one request, of a table of several buckets equally many of each, and opens them
/// if they are masked.
fn fetch(
    session: &mut Session,
    rows: &[u64],
    rng: &mut dyn CryptoRng,
    send: SendRequest<'_>,
) -> Result<Vec<Vec<u8>>, VectorError> {
    let query = session.query_each_bucket(rows, rng)?;
    let requests = (0..).zip(query.requests());
    let responses = requests.map(|(server, request)| send(server, request)).collect::<Result<Vec<_>, _>>()?;
    let fetched = session.recover(query, &responses);
    if session.masked()?.is_none() {
        return Ok(fetched?);
    }
    let evaluation = session.evaluation(rows, fetched, rng)?;
    let response = send(evaluation.server(), evaluation.request())?;
    Ok(session.open(evaluation, &response)?)
}
