//! One request for rows, and the secret that reads its answers.

use super::accepted;
use super::registered_keys::{self, KeySeed};
use super::trust::{KnownSigner, Trust};
use super::verified_table::VerifiedTable;
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_catalog::{Catalog, Hex32, Packing, PublicKey};
use sotto_core::{
    AnyClient, AnyPending, Budget, CryptoRng, Epoch, Error, ExpectOrDefault, Misuse, ParamsReport,
    SchemeEntry,
};
use sotto_wire::{FrameHeader, MessageSizes, SessionId, answer, query, routes};
use std::fmt;
use zeroize::Zeroizing;

/// An open table that can be queried.
///
/// ```
/// use sotto_client::Session;
/// use sotto_client::session::RequestIo;
/// use sotto_client::transport::Transport as _;
/// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/common.rs")); }
/// # let server = common::server_of("simplepir/1", 3000, 8);
/// # let (config, mut transport) = (server.config(), server.transport());
///
/// // The caller carries the requests of the setup; here, to a server in the same process.
/// let rng = &mut sotto_prg::system_rng()?;
/// let mut io = RequestIo::new(rng, |_, request| Ok(transport.call(request)?));
/// let mut session = Session::establish(config, &mut io)?;
///
/// // One request for two rows, and the rows that its answer holds.
/// let query = session.query(&[12, 1234], rng)?;
/// let mut responses = Vec::new();
/// for request in query.requests() {
///     responses.push(transport.call(request)?);
/// }
/// let rows = session.recover(query, &responses)?;
/// assert_eq!(rows, [144u64, 1_522_756].map(|square| square.to_le_bytes().to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session {
    pub(super) table: VerifiedTable,
    pub(super) client: Box<dyn AnyClient>,
    /// Session id of this client's keys at each query server.
    pub(super) ids: Vec<SessionId>,
    /// Seed of the client's keys, if it has any, and the digest of the keys: computed once, since
    /// they are megabytes.
    pub(super) seed: Option<(KeySeed, Hex32)>,
    /// Whether the client was discarded: see [`Session::is_discarded`].
    pub(super) discarded: bool,
}

/// The rows that a request is for, or sums of rows.
pub(crate) struct QueryTargets {
    pub(crate) rows: Vec<u64>,
    /// For each sum, a bit mask of the rows to add up, beginning with the lowest bit; empty for
    /// requests for rows.
    pub(crate) ones: Zeroizing<Vec<u128>>,
}

impl QueryTargets {
    /// Requests rows as they are.
    pub(crate) fn rows(rows: &[u64]) -> Self {
        QueryTargets { rows: rows.to_vec(), ones: Zeroizing::default() }
    }

    /// Splits the rows into requests of at most `most` lookups of `each` rows. There is at least
    /// one request, even for no rows. The number of requests and of lookups in each depends only on
    /// the number of lookups and on the table.
    #[cfg(feature = "cache")]
    pub(crate) fn requests(&self, most: usize, each: usize) -> Vec<QueryTargets> {
        let most = most.max(1);
        let mut ones = self.ones.chunks(most);
        let mut request = |rows: &[u64]| QueryTargets {
            rows: rows.to_vec(),
            ones: Zeroizing::new(ones.next().unwrap_or_default().to_vec()),
        };
        match self.rows.is_empty() {
            true => vec![request(&[])],
            false => self.rows.chunks(most.saturating_mul(each.max(1))).map(request).collect(),
        }
    }
}

/// A request for rows to each server, and the secret that reads their answers. It is not `Clone`:
/// it is sent, perhaps several times with the same bytes, and then consumed. Dropping it wipes the
/// secret.
pub struct QueryRequest {
    requests: Vec<Request>,
    /// Frame header for the first server.
    pin: FrameHeader,
    count: u16,
    pub(super) rows: Zeroizing<Vec<u64>>,
    /// Number of rows of a lookup: one, or one of each bucket.
    pub(super) each: usize,
    pub(super) secrets: Vec<AnyPending>,
}

impl QueryRequest {
    /// The requests to send, to each server in turn; servers past the end are sent none. A retry
    /// sends the same bytes. No server may see another one's request.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// Puts another session id into the request for the server of `pin`, if the request is of that
    /// epoch; returns whether it is.
    pub(super) fn address(&mut self, pin: &FrameHeader, id: &SessionId) -> bool {
        let request = self.requests.get_mut(usize::from(pin.server));
        let same = FrameHeader { server: pin.server, ..self.pin } == *pin;
        same && request.is_some_and(|request| query::replace_session(&mut request.body, id))
    }

    /// Number of queries for each server, which is all it learns of how much was requested.
    pub fn queries(&self) -> u16 {
        self.count
    }

    /// The first bytes of the first query after the frame's head, as the first server sees them.
    pub fn query_prefix(&self, bytes: usize) -> &[u8] {
        query_prefix(&self.requests, bytes)
    }
}

/// The first bytes of the first query of any requests for rows, as for [`QueryRequest::query_prefix`].
pub(crate) fn query_prefix(requests: &[Request], bytes: usize) -> &[u8] {
    let body = requests.first().map(|request| request.body.as_slice()).unwrap_or_default();
    let queries = body.get(query::HEAD_BYTES..).unwrap_or_default();
    queries.get(..bytes).unwrap_or(queries)
}

impl Session {
    pub(super) fn new(
        table: VerifiedTable,
        client: Box<dyn AnyClient>,
        ids: Vec<SessionId>,
        seed: Option<KeySeed>,
    ) -> Self {
        let seed = seed.map(|seed| (seed, registered_keys::digest(client.as_ref())));
        Session { table, client, ids, seed, discarded: false }
    }

    /// Whether the client could not follow the table and was discarded. Everything that needs it
    /// fails with [`ClientError::ClientDiscarded`]; a new setup makes another client.
    pub fn is_discarded(&self) -> bool {
        self.discarded
    }

    /// Whether the client's queries have to be on disk before they are sent.
    pub(crate) fn is_durable(&self) -> bool {
        self.table.needs_state()
    }

    /// Whether the client's queries use something up, or have to be on disk before they are sent.
    #[cfg(feature = "cache")]
    pub(crate) fn uses_budget(&self) -> bool {
        self.table.scheme.state.is_some() || self.client.budget() != Budget::Unlimited
    }

    pub(crate) fn ensure_usable(&self) -> Result<()> {
        if self.discarded { Err(ClientError::ClientDiscarded(self.epoch())) } else { Ok(()) }
    }

    /// The catalog of the table.
    pub fn catalog(&self) -> &Catalog {
        &self.table.catalog
    }

    /// What the parameters promise and cost.
    pub fn report(&self) -> &ParamsReport {
        &self.table.terms.report
    }

    /// How rows are packed into records.
    pub fn packing(&self) -> &Packing {
        &self.table.terms.packing
    }

    /// The scheme of the table.
    pub fn scheme(&self) -> &'static SchemeEntry {
        self.table.scheme
    }

    /// The number of servers.
    pub fn servers(&self) -> u8 {
        self.table.servers()
    }

    /// The epoch that all answers are of.
    pub fn epoch(&self) -> Epoch {
        self.table.catalog.epoch
    }

    /// The key that signed the catalog.
    pub fn public_key(&self) -> PublicKey {
        self.table.key
    }

    /// What is known of the table, for [`super::SetupConfig::remembered`] of another setup.
    pub fn known(&self) -> &KnownSigner {
        &self.table.known
    }

    /// Why the key that signed the catalog is trusted.
    pub fn trust(&self) -> Trust {
        self.table.trust
    }

    /// Exact sizes of all messages.
    pub fn sizes(&self) -> MessageSizes {
        self.table.sizes()
    }

    /// How many more queries the client can make.
    pub fn budget(&self) -> Budget {
        self.client.budget()
    }

    /// Maximum number of rows in one request; of rows of each bucket, if one query returns a row of
    /// each.
    pub fn max_rows(&self) -> usize {
        usize::from(self.sizes().max_queries) / self.packing().records_per_row()
    }

    /// Makes queries for rows by their index, in one frame for each server.
    ///
    /// The server sees the number of queries, and so the number of requested rows. A caller who
    /// must hide that requests a fixed number, and fills it up with any rows. The server sees
    /// nothing of which rows are requested, nor whether two are the same, nor whether a row exists:
    /// one past the end is queried like any other, and is an error of [`Session::recover`].
    ///
    /// # Errors
    /// [`ClientError::TooManyRows`], or [`Error::Exhausted`]. Nothing was sent then.
    /// [`ClientError::StateNeeded`] unless [`super::SetupConfig::in_memory`] allows queries without
    /// a state on disk. [`ClientError::ClientDiscarded`].
    pub fn query(&mut self, rows: &[u64], rng: &mut dyn CryptoRng) -> Result<QueryRequest> {
        self.query_by(1, &QueryTargets::rows(rows), rng)
    }

    /// Makes queries for lookups of `each` rows, or for sums of rows.
    pub(crate) fn query_by(
        &mut self,
        each: usize,
        targets: &QueryTargets,
        rng: &mut dyn CryptoRng,
    ) -> Result<QueryRequest> {
        if self.is_durable() {
            return Err(ClientError::StateNeeded(self.catalog().scheme.clone()));
        }
        let (queries, secrets) = self.queries(each, targets, rng)?;
        let count = u16::try_from(secrets.len()).expect_or_default("a frame holds this many queries");
        let requests = self.frames(&queries)?;
        let (pin, rows) = (self.table.pin(0), Zeroizing::new(targets.rows.clone()));
        Ok(QueryRequest { requests, pin, count, rows, each, secrets })
    }

    /// Makes one frame for each server, of the session's epoch.
    pub(super) fn frames(&self, for_each: &[Vec<Vec<u8>>]) -> Result<Vec<Request>> {
        let mut requests = Vec::with_capacity(for_each.len());
        for ((server, id), queries) in (0..).zip(&self.ids).zip(for_each) {
            let body = query::encode(&self.table.pin(server), id, queries)?;
            let limit = self.sizes().answer_frame_bytes(query::QueryHead::parse(&body)?.count);
            let path = routes::query(self.table.catalog.table.as_str());
            requests.push(Request::post(path, body, limit));
        }
        Ok(requests)
    }

    /// Recovers one value per row, in order, from the responses to a query request, one of each
    /// server that was sent something. Rows of a symmetric table are masked:
    /// [`Session::evaluation`] opens them.
    ///
    /// If one of the responses is no answer, no other is read.
    ///
    /// The secret of the request is spent whatever the result. Only the caller may know that an
    /// answer cannot be read ([`Error::Unreadable`]): to request the same row again at once would
    /// reveal that to the server, which may have damaged the answer for this purpose.
    ///
    /// # Errors
    /// [`ClientError::EpochChanged`] if the table has moved on; [`ClientError::Refused`];
    /// [`ClientError::Frame`] and [`Error::Peer`] for bytes that are no answer;
    /// [`Error::Unreadable`]; [`Misuse::IndexPastEnd`] for a row that does not exist;
    /// [`ClientError::RowProofInvalid`], which only the caller may know either, once all rows were
    /// compared with what the publisher has signed.
    pub fn recover(&mut self, query: QueryRequest, responses: &[Response]) -> Result<Vec<Vec<u8>>> {
        if query.pin != self.table.pin(0) {
            return Err(Error::from(Misuse::ForeignValue("query request")).into());
        }
        let by_server = self.answers(query.count, responses)?;
        self.rows_of(query, &by_server)
    }

    /// The answers in each server's response, in the order of their queries.
    pub(super) fn answers<'a>(&self, count: u16, responses: &'a [Response]) -> Result<Vec<Vec<&'a [u8]>>> {
        self.ensure_usable()?;
        if responses.len() != self.ids.len() {
            return Err(
                Error::from(Misuse::Rule("number of responses differs from the number of servers")).into()
            );
        }
        let each = usize::try_from(self.sizes().answer_bytes)
            .map_err(|_| Error::from(Misuse::Rule("answer does not fit in memory")))?;
        let mut bodies = Vec::with_capacity(responses.len());
        let mut refused = None;
        for (server, response) in (0..).zip(responses) {
            match accepted(response, Some(self.epoch())) {
                Ok(body) => bodies.push(body),
                // [`ClientError::EpochChanged`] takes precedence over other errors: the caller then
                // makes a new query.
                Err(changed @ ClientError::EpochChanged { .. }) => return Err(changed),
                Err(error) => drop(refused.get_or_insert(error.of_server(server, self.servers()))),
            }
        }
        if let Some(refused) = refused {
            return Err(refused);
        }
        let read = |(server, body)| {
            let answers = answer::decode(body, &self.table.pin(server), count, each);
            answers.map_err(|error| ClientError::from(error).of_server(server, self.servers()))
        };
        (0..).zip(bodies).map(read).collect()
    }
}

/// Shows nothing of the requested rows.
impl fmt::Debug for QueryRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryRequest({} queries of epoch {})", self.count, self.pin.epoch)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Catalog { table, epoch, scheme, .. } = self.catalog();
        write!(f, "Session(table {table}, epoch {epoch}, {scheme}, key {:?})", self.trust())
    }
}
