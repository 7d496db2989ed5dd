//! Recording a lookup: a small table encoded and served like any other, and every message of a
//! client that queries it.

use crate::Failure;
use crate::cases::{Case, EncodedCase, derived};
use crate::secrets::Secrets;
use crate::write::{RecordedExchange, VectorFiles, Writer};
use sotto_binding::vector::{FORMAT, Vector, VectorError, VectorKey, VectorLookup, generator, lookup};
use sotto_catalog::{HexBytes, SignedStack, TableName};
use sotto_client::ClientError;
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Request, Response, Transport};
use sotto_core::{Error, Misuse};
use sotto_oprf::SecretKey;
use sotto_prg::ChaCha20Rng;
use sotto_server::{EpochSource, Server};
use sotto_wire::{SessionId, evaluate, query};
use std::str::FromStr;
use std::sync::Arc;

/// Encodes a case's tables, serves them, makes its lookup, and returns the vector's two files.
pub(crate) fn record(case: &Case) -> Result<VectorFiles, Failure> {
    let EncodedCase { tables, stack, key, oprf } = EncodedCase::encode(case)?;
    let servers = u8::try_from(case.entry.servers)?;
    let running: Vec<_> = (0..servers)
        .map(|role| {
            let sources = tables.iter().map(|table| Box::new(table.at(role)) as Box<dyn EpochSource>);
            Server::start_with(&sotto_server::ServerConfig::on_free_ports(), sources.collect())
        })
        .collect::<Result<_, _>>()?;
    let urls = running.iter().map(|running| format!("http://{}", running.public));
    let transports =
        urls.map(|url| HttpTransport::new(&url, &HttpSettings::default())).collect::<Result<_, _>>()?;
    let (sessions, exchanges, proofs) = (Vec::new(), Vec::new(), generator(&derived("proof", &case.name)));
    let mut recorder = RecordingTransport { transports, sessions, exchanges, stack, oprf, proofs };

    let (name, seed) = (TableName::from_str(&case.name)?, derived("client", &case.name));
    let rng = &mut generator(&seed);
    let (scheme, value) = lookup(&name, key, servers, &case.lookup, rng, &mut |server, request| {
        recorder.send(server, request)
    })?;
    if value != case.value() {
        return Err(format!("{}: the recovered value differs from the table's", case.name).into());
    }
    for running in running {
        running.shutdown();
    }

    let first = tables.first().ok_or("a case without tables")?;
    let secrets = Secrets { case, table: first, seed, exchanges: &recorder.exchanges }.all(rng)?;
    let mut writer = Writer::default();
    let exchanges = recorder.exchanges.iter().map(|exchange| exchange.written(&mut writer)).collect();
    let secrets = secrets.into_iter().map(|(name, bytes)| (name.to_owned(), writer.body(&bytes))).collect();
    let (row, keyword, rows) = match case.lookup.clone() {
        VectorLookup::Row(row) => (Some(row), None, None),
        VectorLookup::Key(key) => (None, Some(key), None),
        VectorLookup::Rows(rows) => (None, None, Some(rows)),
    };
    let vector = Vector {
        format: FORMAT.to_owned(),
        about: case.about(),
        scheme,
        table: name,
        key: VectorKey(key),
        servers,
        seed,
        row,
        keyword,
        rows,
        value: HexBytes(value),
        exchanges,
        secrets,
    };
    Ok(writer.finish(&case.name, &vector)?)
}

/// The connections to a table's servers, and the recorded messages.
struct RecordingTransport {
    transports: Vec<HttpTransport>,
    /// The id of each session in the vector, and at the server. Servers draw ids at random, and
    /// vectors do not change from one recording to the next.
    sessions: Vec<(SessionId, SessionId)>,
    exchanges: Vec<RecordedExchange>,
    /// The stack that the tables belong to. It is answered here, since its signature was made again.
    stack: Option<SignedStack>,
    /// Proofs of evaluations are random, and are made again from a seed.
    oprf: Option<Arc<SecretKey>>,
    proofs: ChaCha20Rng,
}

impl RecordingTransport {
    fn send(&mut self, server: u8, request: &Request) -> Result<Response, VectorError> {
        let mut sent = request.clone();
        if request.path.ends_with("/ask")
            && let Ok(head) = query::QueryHead::parse(&request.body)
            && let Some((_, real)) = self.sessions.iter().find(|(written, _)| *written == head.session)
        {
            query::replace_session(&mut sent.body, real);
        }
        let mut response = match &self.stack {
            Some(stack) if request.path.starts_with("/v1/stacks/") => Response::new(200, stack.to_bytes()),
            _ => {
                let transport = self.transports.get_mut(usize::from(server));
                let none = || ClientError::from(Error::from(Misuse::Rule("there is no such server")));
                let response = transport.ok_or_else(none)?.call(&sent).map_err(ClientError::from)?;
                Response::new(response.status, response.body)
            }
        };
        if request.path.ends_with("/keys")
            && let Ok(real) = <[u8; 16]>::try_from(response.body.as_slice())
        {
            let written = blake3::hash(&request.body);
            let written = written.as_bytes().first_chunk().copied().unwrap_or_default();
            self.sessions.push((SessionId(written), SessionId(real)));
            response.body = written.to_vec();
        }
        if let Some(key) = self.oprf.as_ref().filter(|_| request.path.ends_with("/evaluate")) {
            response.body = evaluated(key, &request.body, &mut self.proofs).map_err(|error| {
                VectorError::Damaged { what: error.to_string(), why: "the evaluation cannot be made again" }
            })?;
        }
        self.exchanges.push(RecordedExchange {
            server,
            request: request.clone(),
            response: response.clone(),
        });
        Ok(response)
    }
}

/// The response to an evaluation request, with a proof from a generator with a seed.
fn evaluated(key: &SecretKey, request: &[u8], rng: &mut ChaCha20Rng) -> Result<Vec<u8>, Failure> {
    let head = evaluate::EvaluationHead::parse(request)?;
    let evaluations = key.evaluate(&head.elements(request)?, rng)?;
    Ok(evaluate::encode_response(&head.pin, &evaluations.elements, &evaluations.proof)?)
}
