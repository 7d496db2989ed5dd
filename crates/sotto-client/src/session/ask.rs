//! One request for rows, and the secret that reads its answer.

use super::accepted;
use super::opening::Agreed;
use super::trust::Trust;
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_catalog::{Catalog, Packing, PublicKey};
use sotto_core::{
    AnyClient, Budget, CryptoRng, Epoch, Error, Misuse, ParamsReport, PeerMisbehaved, SchemeEntry, Ticket,
};
use sotto_wire::{Pin, SessionId, Sizes, answer, ask, routes};
use std::fmt;
use zeroize::Zeroizing;

/// A table that can be asked.
pub struct Session {
    pub(super) agreed: Agreed,
    pub(super) client: Box<dyn AnyClient>,
    pub(super) id: SessionId,
}

/// A request for rows, and what reads its answer. Not `Clone`: it is sent, perhaps several times with the
/// same bytes, and then consumed. Dropping it wipes the secret.
pub struct Ask {
    request: Request,
    pin: Pin,
    count: u16,
    rows: Zeroizing<Vec<u64>>,
    tickets: Vec<Ticket>,
}

impl Ask {
    /// What to send. To try again is to send these bytes again.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Puts another session's id in, if the ask is one of `pin`; gives whether it is.
    pub(super) fn address(&mut self, pin: &Pin, id: &SessionId) -> bool {
        self.pin == *pin && ask::readdress(&mut self.request.body, id)
    }

    /// How many queries it holds: all the server learns of how much was asked.
    pub fn queries(&self) -> u16 {
        self.count
    }

    /// The first bytes of the first query, after the frame's head: what the server sees of the question.
    pub fn seen(&self, bytes: usize) -> &[u8] {
        let queries = self.request.body.get(ask::HEAD_BYTES..).unwrap_or_default();
        queries.get(..bytes).unwrap_or(queries)
    }
}

impl Session {
    pub(super) fn new(agreed: Agreed, client: Box<dyn AnyClient>, id: SessionId) -> Self {
        Session { agreed, client, id }
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

    /// The epoch every answer is of.
    pub fn epoch(&self) -> Epoch {
        self.agreed.catalog.epoch
    }

    /// The key that signed the catalog.
    pub fn public_key(&self) -> PublicKey {
        self.agreed.key
    }

    /// Why that key is believed.
    pub fn trust(&self) -> Trust {
        self.agreed.trust
    }

    /// Exact message sizes.
    pub fn sizes(&self) -> Sizes {
        self.agreed.sizes()
    }

    /// How many more queries there are.
    pub fn budget(&self) -> Budget {
        self.client.budget()
    }

    /// How many rows one ask may hold.
    pub fn max_rows(&self) -> usize {
        usize::from(self.sizes().max_queries) / self.packing().lookups()
    }

    /// Asks for rows by their index, all in one frame.
    ///
    /// The server sees how many queries there are, and so how many rows were wanted: whoever minds asks for
    /// a fixed number and fills it up with any rows. It sees nothing of which, nor whether two are the same.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`], [`ClientError::TooManyRows`], or [`Error::Exhausted`]. Nothing was sent then.
    pub fn ask(&mut self, rows: &[u64], rng: &mut dyn CryptoRng) -> Result<Ask> {
        let most = self.max_rows();
        if rows.is_empty() || rows.len() > most {
            return Err(ClientError::TooManyRows { rows: rows.len(), most });
        }
        let mut records = Vec::with_capacity(rows.len() * self.packing().lookups());
        for &row in rows {
            records.extend(self.packing().records_of(row)?);
        }
        let mut queries = Vec::with_capacity(records.len());
        let mut tickets = Vec::with_capacity(records.len());
        for record in records {
            let (mut each, ticket) = self.client.query(record, rng)?;
            queries.append(&mut each);
            tickets.push(ticket);
        }
        let pin = self.agreed.pin();
        let body = ask::encode(&pin, &self.id, &queries)?;
        let count = ask::Head::parse(&body)?.count;
        let limit = self.sizes().answer_frame_bytes(count);
        let path = routes::ask(self.agreed.catalog.table.as_str());
        let request = Request::post(path, body, limit);
        Ok(Ask { request, pin, count, rows: Zeroizing::new(rows.to_vec()), tickets })
    }

    /// Reads the response to an ask: one value per row, in order.
    ///
    /// The secret of the ask is spent whatever comes of it. An answer that cannot be read
    /// ([`Error::Unreadable`]) is the caller's to know and nobody else's: to ask for the same row again at
    /// once would tell the server, who may have damaged the answer to see just that.
    ///
    /// # Errors
    /// [`ClientError::EpochChanged`] if the table has moved on; [`ClientError::Refused`];
    /// [`ClientError::Frame`] and [`Error::Peer`] for bytes that are no answer; [`Error::Unreadable`].
    pub fn recover(&mut self, ask: Ask, response: &Response) -> Result<Vec<Vec<u8>>> {
        if ask.pin != self.agreed.pin() {
            return Err(Error::from(Misuse::Foreign("ask")).into());
        }
        let body = accepted(response, Some(self.epoch()))?;
        let each = usize::try_from(self.sizes().answer_bytes)
            .map_err(|_| Error::from(Misuse::Rule("an answer fits in memory")))?;
        let answers = answer::decode(body, &ask.pin, ask.count, each)?;
        let mut records = Vec::with_capacity(answers.len());
        for (ticket, answer) in ask.tickets.into_iter().zip(&answers) {
            records.push(self.client.recover(ticket, &[answer.to_vec()])?);
        }
        let lookups = self.packing().lookups();
        let (got, want) = (records.len() as u64, (ask.rows.len() * lookups) as u64);
        if got != want {
            return Err(Error::from(PeerMisbehaved::Count { what: "answers", got, want }).into());
        }
        let each_row = ask.rows.iter().zip(records.chunks(lookups));
        each_row.map(|(&row, records)| Ok(self.packing().extract(row, records)?)).collect()
    }
}

/// Nothing that could tell what is asked.
impl fmt::Debug for Ask {
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
