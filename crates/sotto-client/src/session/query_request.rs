//! One request for rows, and the secret that reads its answers.

use super::accepted;
use super::bucket_query::QueryTargets;
use super::epoch_agreement::VerifiedTable;
use super::registered_keys::{self, KeySeed};
use super::trust::{KnownSigner, Trust};
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

/// A table that can be asked.
pub struct Session {
    pub(super) agreed: VerifiedTable,
    pub(super) client: Box<dyn AnyClient>,
    /// What each server that is sent queries calls this client's keys.
    pub(super) ids: Vec<SessionId>,
    /// What its keys are drawn from, if it has any, and their digest: taken once, since it is that of megabytes.
    pub(super) seed: Option<(KeySeed, Hex32)>,
    /// See [`Session::is_discarded`].
    pub(super) discarded: bool,
}

/// A request for rows to each server, and what reads their answers. Not `Clone`: it is sent, perhaps several times
/// with the same bytes, and then consumed. Dropping it wipes the secret.
pub struct QueryRequest {
    requests: Vec<Request>,
    /// The pin of the first server.
    pin: FrameHeader,
    count: u16,
    pub(super) rows: Zeroizing<Vec<u64>>,
    /// Of how many rows a lookup is: of one, or of one of each bucket.
    pub(super) each: usize,
    pub(super) tickets: Vec<AnyPending>,
}

impl QueryRequest {
    /// What to send, to each server in turn; those past the end are not asked. To try again is to send these bytes
    /// again. No server may see what another one is sent.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// Puts another session's id into what the server of `pin` is sent, if the ask is one of that epoch; gives
    /// whether it is.
    pub(super) fn address(&mut self, pin: &FrameHeader, id: &SessionId) -> bool {
        let request = self.requests.get_mut(usize::from(pin.server));
        let same = FrameHeader { server: pin.server, ..self.pin } == *pin;
        same && request.is_some_and(|request| query::replace_session(&mut request.body, id))
    }

    /// How many queries each server is sent: all it learns of how much was asked.
    pub fn queries(&self) -> u16 {
        self.count
    }

    /// The first bytes of the first query, after the frame's head: what the first server sees of the question.
    pub fn seen(&self, bytes: usize) -> &[u8] {
        seen(&self.requests, bytes)
    }
}

/// As [`Ask::seen`], of any requests for rows.
pub(crate) fn seen(requests: &[Request], bytes: usize) -> &[u8] {
    let body = requests.first().map(|request| request.body.as_slice()).unwrap_or_default();
    let queries = body.get(query::HEAD_BYTES..).unwrap_or_default();
    queries.get(..bytes).unwrap_or(queries)
}

impl Session {
    pub(super) fn new(
        agreed: VerifiedTable,
        client: Box<dyn AnyClient>,
        ids: Vec<SessionId>,
        seed: Option<KeySeed>,
    ) -> Self {
        let seed = seed.map(|seed| (seed, registered_keys::digest(client.as_ref())));
        Session { agreed, client, ids, seed, discarded: false }
    }

    /// Whether its client could not follow the table and is of no use any more. Everything that needs it is
    /// [`ClientError::ClientDiscarded`] then; a new opening gives another one.
    pub fn is_discarded(&self) -> bool {
        self.discarded
    }

    /// Whether nothing may be asked with its client before it is on disk.
    pub(crate) fn is_durable(&self) -> bool {
        self.agreed.needs_state()
    }

    /// Whether its client's queries use something up, or have to be on disk before they leave.
    #[cfg(feature = "cache")]
    pub(crate) fn uses_budget(&self) -> bool {
        self.agreed.scheme.state.is_some() || self.client.budget() != Budget::Unlimited
    }

    pub(crate) fn ensure_usable(&self) -> Result<()> {
        if self.discarded { Err(ClientError::ClientDiscarded { epoch: self.epoch() }) } else { Ok(()) }
    }

    /// The table's catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.agreed.catalog
    }

    /// What its parameters promise and cost.
    pub fn report(&self) -> &ParamsReport {
        &self.agreed.terms.report
    }

    /// How its rows lie in records.
    pub fn packing(&self) -> &Packing {
        &self.agreed.terms.packing
    }

    /// Its scheme.
    pub fn scheme(&self) -> &'static SchemeEntry {
        self.agreed.scheme
    }

    /// How many servers there are.
    pub fn servers(&self) -> u8 {
        self.agreed.servers()
    }

    /// The epoch every answer is of.
    pub fn epoch(&self) -> Epoch {
        self.agreed.catalog.epoch
    }

    /// The key that signed the catalog.
    pub fn public_key(&self) -> PublicKey {
        self.agreed.key
    }

    /// What is known of the table, for [`super::SetupConfig::remembered`] of another opening.
    pub fn known(&self) -> &KnownSigner {
        &self.agreed.known
    }

    /// Why that key is believed.
    pub fn trust(&self) -> Trust {
        self.agreed.trust
    }

    /// Exact message sizes.
    pub fn sizes(&self) -> MessageSizes {
        self.agreed.sizes()
    }

    /// How many more queries there are.
    pub fn budget(&self) -> Budget {
        self.client.budget()
    }

    /// How many rows one ask may hold; how many of each bucket, where one query brings a row of each.
    pub fn max_rows(&self) -> usize {
        usize::from(self.sizes().max_queries) / self.packing().records_per_row()
    }

    /// Asks for rows by their index, all in one frame to each server.
    ///
    /// The server sees how many queries there are, and so how many rows were wanted: whoever minds asks for
    /// a fixed number and fills it up with any rows. It sees nothing of which, nor whether two are the same, nor whether there is
    /// such a row: one past the end is asked for like any other, and is an error of [`Session::recover`].
    ///
    /// # Errors
    /// [`ClientError::TooManyRows`], or [`Error::Exhausted`]. Nothing was sent then.
    /// [`ClientError::StateNeeded`] unless [`super::SetupConfig::in_memory`] allows to ask without a state on disk.
    /// [`ClientError::ClientDiscarded`].
    pub fn query(&mut self, rows: &[u64], rng: &mut dyn CryptoRng) -> Result<QueryRequest> {
        self.query_by(1, &QueryTargets::rows(rows), rng)
    }

    /// Asks for rows by lookups of so many rows each, or for sums of rows.
    pub(crate) fn query_by(
        &mut self,
        each: usize,
        asked: &QueryTargets,
        rng: &mut dyn CryptoRng,
    ) -> Result<QueryRequest> {
        if self.is_durable() {
            return Err(ClientError::StateNeeded { scheme: self.catalog().scheme.clone() });
        }
        let (queries, tickets) = self.queries(each, asked, rng)?;
        let count = u16::try_from(tickets.len()).expect_or_default("so many queries fit a frame");
        let requests = self.frames(&queries)?;
        let (pin, rows) = (self.agreed.pin(0), Zeroizing::new(asked.rows.clone()));
        Ok(QueryRequest { requests, pin, count, rows, each, tickets })
    }

    /// One frame for each server, of this epoch.
    pub(super) fn frames(&self, for_each: &[Vec<Vec<u8>>]) -> Result<Vec<Request>> {
        let mut requests = Vec::with_capacity(for_each.len());
        for ((server, id), queries) in (0..).zip(&self.ids).zip(for_each) {
            let body = query::encode(&self.agreed.pin(server), id, queries)?;
            let limit = self.sizes().answer_frame_bytes(query::QueryHead::parse(&body)?.count);
            let path = routes::query(self.agreed.catalog.table.as_str());
            requests.push(Request::post(path, body, limit));
        }
        Ok(requests)
    }

    /// Reads the responses to an ask, one from each server that was sent something, in turn: one value per row, in
    /// order. Those of a symmetric table are under their masks: [`Session::evaluation`] is what opens them.
    ///
    /// If one of them is no answer, no other is looked into.
    ///
    /// The secret of the ask is spent whatever comes of it. An answer that cannot be read
    /// ([`Error::Unreadable`]) is the caller's to know and nobody else's: to ask for the same row again at
    /// once would tell the server, who may have damaged the answer to see just that.
    ///
    /// # Errors
    /// [`ClientError::EpochChanged`] if the table has moved on; [`ClientError::Refused`];
    /// [`ClientError::Frame`] and [`Error::Peer`] for bytes that are no answer; [`Error::Unreadable`];
    /// [`Misuse::IndexPastEnd`] for a row that there is not; [`ClientError::RowProofInvalid`], of which the same holds, once all
    /// rows were compared with what the publisher has signed.
    pub fn recover(&mut self, ask: QueryRequest, responses: &[Response]) -> Result<Vec<Vec<u8>>> {
        if ask.pin != self.agreed.pin(0) {
            return Err(Error::from(Misuse::ForeignValue("ask")).into());
        }
        let by_server = self.answers(ask.count, responses)?;
        self.rows_of(ask, &by_server)
    }

    /// The answers in each server's response, in the order of their queries.
    pub(super) fn answers<'a>(&self, count: u16, responses: &'a [Response]) -> Result<Vec<Vec<&'a [u8]>>> {
        self.ensure_usable()?;
        if responses.len() != self.ids.len() {
            return Err(
                Error::from(Misuse::Rule("there is one response from each server that is asked")).into()
            );
        }
        let each = usize::try_from(self.sizes().answer_bytes)
            .map_err(|_| Error::from(Misuse::Rule("an answer fits in memory")))?;
        let mut bodies = Vec::with_capacity(responses.len());
        let mut refused = None;
        for (server, response) in (0..).zip(responses) {
            match accepted(response, Some(self.epoch())) {
                Ok(body) => bodies.push(body),
                // That the table has moved on comes before what else is wrong: whoever hears it asks anew.
                Err(changed @ ClientError::EpochChanged { .. }) => return Err(changed),
                Err(error) => drop(refused.get_or_insert(error.of_server(server, self.servers()))),
            }
        }
        if let Some(refused) = refused {
            return Err(refused);
        }
        let read = |(server, body)| {
            let answers = answer::decode(body, &self.agreed.pin(server), count, each);
            answers.map_err(|error| ClientError::from(error).of_server(server, self.servers()))
        };
        (0..).zip(bodies).map(read).collect()
    }
}

/// Nothing that could tell what is asked.
impl fmt::Debug for QueryRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ask({} queries of epoch {})", self.count, self.pin.epoch)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Catalog { table, epoch, scheme, .. } = self.catalog();
        write!(f, "Session(table {table}, epoch {epoch}, {scheme}, key {:?})", self.trust())
    }
}
