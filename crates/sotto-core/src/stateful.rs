//! Clients whose state is spent by queries: hints that are used up, a budget that runs out.
//!
//! Using one hint for two requests reveals what was looked up. So everything that such a client
//! does must be on disk *before* a request leaves, and must survive any crash. The client itself
//! does no I/O. It reports its changes as a journal of small entries; its caller makes them durable
//! and replays them after a crash:
//!
//! ```text
//! (queries, pending) = client.query(i)          two queries with one hint cannot be made: it is gone from here on
//! entry = journal(client)                       hint burnt, replacement installed, coins: all that a replay needs
//! commit(entry, queries, number(pending))       one durable transaction
//! answers = send(queries)                       a retry sends the same bytes
//! row = client.recover(pending, answers)
//! if row is not what the publisher signed: reject(client, number)
//! commit(journal(client)), forget(queries)      the replacement's parity is known
//! ```
//!
//! After a crash, the caller calls [`Stateful::load`] with the last whole state and
//! [`Stateful::replay`] with every later entry. For each request that was committed and not
//! settled, it gets the pending half from [`Stateful::reopen_query`] and sends the same bytes
//! again.

use crate::{Client, Result, Scheme, Wire};
use std::io::{Read, Write};
use zeroize::Zeroizing;

/// The secret of one query of `S`.
pub type PendingOf<S> = <<S as Scheme>::Client as Client<S>>::Pending;

/// A scheme whose clients must survive a crash without ever making two queries with one hint.
///
/// The saved state is secret: anyone who reads it learns what future queries will ask for.
pub trait Stateful: Scheme {
    /// Writes the whole state, with everything that [`Stateful::journal`] has returned so far.
    ///
    /// # Errors
    /// The errors of `out`.
    fn save(params: &Self::Params, client: &Self::Client, out: &mut dyn Write) -> Result<()>;

    /// Reads exactly the bytes that [`Stateful::save`] wrote. The decoder is total, and allocates
    /// what `params` imply.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] for bytes that `save` cannot have written; the errors of `from`.
    fn load(params: &Self::Params, from: &mut dyn Read) -> Result<Self::Client>;

    /// Returns the changes since the last call, or since the state was saved or loaded; empty if
    /// there are none.
    fn journal(client: &mut Self::Client) -> Zeroizing<Vec<u8>>;

    /// Applies an entry of the journal. Entries come in the order in which they were made; after an
    /// error the client must be thrown away.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] for an entry that cannot follow the current state.
    fn replay(client: &mut Self::Client, entry: &[u8]) -> Result<()>;

    /// The number of a query, which identifies it after a restart. Numbers increase.
    fn query_number(pending: &PendingOf<Self>) -> u64;

    /// Returns the pending half of a query that was made, in this process or another, and has not
    /// been recovered.
    ///
    /// # Errors
    /// [`crate::Misuse::ForeignValue`] if there is no such query.
    fn reopen_query(client: &mut Self::Client, number: u64) -> Result<PendingOf<Self>>;

    /// Undoes what the last [`Client::recover`] learned, because its row is not the publisher's.
    /// Nothing that is sent later may depend on that row.
    fn reject(client: &mut Self::Client, number: u64);

    /// Updates every hint, those of pending queries too, to the next epoch: `delta` is its
    /// [`crate::Artifact::RowsDelta`], whole and verified. Pending queries are then sent again,
    /// with the same bytes, to the new epoch. The state must be saved afterwards, since the journal
    /// has no entry for this.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] for a malformed delta; the client must then be thrown away.
    fn apply_delta(client: &mut Self::Client, delta: &[u8]) -> Result<()>;

    /// Writes the state of a preparation in progress.
    ///
    /// # Errors
    /// The errors of `out`.
    fn checkpoint(params: &Self::Params, prepare: &Self::Prepare, out: &mut dyn Write) -> Result<()>;

    /// Reads the bytes that [`Stateful::checkpoint`] wrote. The decoder is total, like
    /// [`Stateful::load`].
    ///
    /// # Errors
    /// The errors of [`Stateful::load`].
    fn resume(params: &Self::Params, from: &mut dyn Read) -> Result<Self::Prepare>;

    /// Bytes of the artifact that a preparation has absorbed and that a checkpoint made now would
    /// contain. After [`Stateful::resume`] the stream continues from here.
    fn absorbed_bytes(prepare: &Self::Prepare) -> u64;
}

/// A scheme one of whose servers makes hints on request. That server learns how the hints are made,
/// so it must never see the queries of the others, and they must never see a hint request. A scheme
/// may send the hint server queries too, if they reveal nothing to a server that knows how the
/// hints are made.
pub trait HintScheme: Stateful {
    /// Number of the hint server, counted from 0. If it is not among the query servers, it is the
    /// one after them.
    const HINT_SERVER: usize;
    /// The request that the hint server receives.
    type HintRequest: Wire<Self::Params>;
    /// The response that the hint server sends back.
    type HintResponse: Wire<Self::Params>;

    /// Returns the next hint request, if one is due. It returns the same one until
    /// [`HintScheme::apply_hint_response`] has taken the response, so that a retry sends the same
    /// bytes. The number of queries made determines when requests are due, never the queries
    /// themselves.
    ///
    /// # Errors
    /// Errors of sampling only.
    fn next_hint_request(client: &mut Self::Client) -> Result<Option<Self::HintRequest>>;

    /// Applies the response to the last hint request. The next [`Stateful::journal`] contains its
    /// changes.
    ///
    /// # Errors
    /// [`crate::Misuse::Rule`] if no hint request is open.
    fn apply_hint_response(client: &mut Self::Client, response: Self::HintResponse) -> Result<()>;
}
