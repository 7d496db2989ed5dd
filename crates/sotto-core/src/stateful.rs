//! Clients whose state is spent by asking: hints that are burnt, a budget that runs out.
//!
//! To use one hint for two requests gives away what was asked, so what such a client does has to be on disk *before* a
//! request leaves, and stay there whatever happens. The client itself does no I/O. It says what changed, as a journal
//! of small entries; somebody else makes them durable and plays them back after a crash:
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
//! After a crash: [`Stateful::load`] the last whole state, [`Stateful::replay`] every entry since, and for each request that
//! was recorded and not settled [`Stateful::reopen_query`] its pending half and send the same bytes again.

use crate::{Client, Result, Scheme, Wire};
use std::io::{Read, Write};
use zeroize::Zeroizing;

/// The secret of one query of `S`.
pub type PendingOf<S> = <<S as Scheme>::Client as Client<S>>::Pending;

/// A scheme whose clients must survive a crash without ever asking two questions with one hint.
///
/// What is written here is secret: whoever reads it learns what will be asked.
pub trait Stateful: Scheme {
    /// Writes the whole state: everything [`Stateful::journal`] has given so far is in it.
    ///
    /// # Errors
    /// What `out` gives.
    fn save(params: &Self::Params, client: &Self::Client, out: &mut dyn Write) -> Result<()>;

    /// Reads what [`Stateful::save`] wrote, and not a byte more. Total; allocates what `params` imply.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] for bytes that `save` cannot have written; what `from` gives.
    fn load(params: &Self::Params, from: &mut dyn Read) -> Result<Self::Client>;

    /// What has changed since the last call, or since the state was saved or loaded; empty if nothing has.
    fn journal(client: &mut Self::Client) -> Zeroizing<Vec<u8>>;

    /// Repeats what an entry of the journal says. Entries come in the order they were made; the client must be thrown away
    /// after an error.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] for an entry that cannot follow.
    fn replay(client: &mut Self::Client, entry: &[u8]) -> Result<()>;

    /// The number of a query, by which it is found again. Each is larger than the ones before.
    fn query_number(pending: &PendingOf<Self>) -> u64;

    /// The pending half of a query that was made, in this process or another, and has not been recovered.
    ///
    /// # Errors
    /// [`crate::Misuse::ForeignValue`] if there is no such query.
    fn reopen_query(client: &mut Self::Client, number: u64) -> Result<PendingOf<Self>>;

    /// Takes back what the last [`Client::recover`] learnt: its row is not the publisher's. Nothing that is sent later
    /// may depend on it.
    fn reject(client: &mut Self::Client, number: u64);

    /// Moves every hint, those of pending queries too, to the next epoch: `delta` is its [`crate::Artifact::RowsDelta`],
    /// whole and verified. Pending queries are then asked again, with the same bytes, of the new epoch. The state has to
    /// be saved afterwards: no entry of the journal says this.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] for a delta that is none; the client must be thrown away.
    fn apply_delta(client: &mut Self::Client, delta: &[u8]) -> Result<()>;

    /// Writes down a preparation that is under way.
    ///
    /// # Errors
    /// What `out` gives.
    fn checkpoint(params: &Self::Params, prepare: &Self::Prepare, out: &mut dyn Write) -> Result<()>;

    /// Reads what [`Stateful::checkpoint`] wrote. Total, as [`Stateful::load`].
    ///
    /// # Errors
    /// As there.
    fn resume(params: &Self::Params, from: &mut dyn Read) -> Result<Self::Prepare>;

    /// How many bytes of its artifact a preparation has taken that a checkpoint made now would keep. After
    /// [`Stateful::resume`] the stream goes on from here.
    fn absorbed_bytes(prepare: &Self::Prepare) -> u64;
}

/// A scheme whose hints one of its servers makes, on request. That server learns how hints are made, and so must never see
/// what the others are asked; they must never see an order. A scheme may ask it too: for what says nothing to who knows how
/// hints are made.
pub trait HintScheme: Stateful {
    /// Which server makes hints, counted from 0. Where it is not among those that queries go to, it is the one after them.
    const HINT_SERVER: usize;
    /// What the helper is sent.
    type HintRequest: Wire<Self::Params>;
    /// What it sends back.
    type HintResponse: Wire<Self::Params>;

    /// The next order, if one is due. The same again until [`HintScheme::apply_hint_response`] has taken its supply, so that a
    /// retry sends the same bytes. When orders come depends on how many queries were made, never on which.
    ///
    /// # Errors
    /// Only what sampling can give.
    fn next_hint_request(client: &mut Self::Client) -> Result<Option<Self::HintRequest>>;

    /// Takes the supply to the last order. What it changes is in the next [`Stateful::journal`].
    ///
    /// # Errors
    /// [`crate::Misuse::Rule`] if none was ordered.
    fn apply_hint_response(client: &mut Self::Client, supply: Self::HintResponse) -> Result<()>;
}
