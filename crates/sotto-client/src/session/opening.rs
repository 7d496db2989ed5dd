//! From a table's name to a session, step by step: catalogs, artifacts, keys.
//!
//! Every step is on bytes that are the same for every client, keys excepted, so nothing here depends on
//! what will be asked.

mod believed;
#[cfg(feature = "cache")]
mod kept;
mod planted;

use super::accord::{Accord, Agreed};
use super::action::{Action, Fetch};
use super::config::Config;
use super::gather::Gathering;
use super::keys::{self, session_id};
use super::proof::Nodes;
use super::registered::{Registered, Seed};
use super::resuming::Resuming;
use super::way::{Basis, Way};
use super::witness::Check;
use super::{Session, accepted};
use crate::transport::Response;
use crate::{ClientError, Result};
use sotto_catalog::{Catalog, Hex32};
use sotto_core::{AnyCheckpoint, AnyClient, CryptoRng, Error, Misuse, ParamsDigest, Sure};
use sotto_wire::SessionId;

/// A table being opened.
///
/// After an error the same step can be tried again, with other bytes; after one that cannot be mended so,
/// [`Opening::next`] starts from the catalog.
pub struct Opening {
    config: Config,
    /// The parameters of which the caller has a client already that is good at any epoch.
    lasting: Option<ParamsDigest>,
    resuming: Option<Resuming>,
    agreed: Option<Agreed>,
    /// What the client's keys are drawn from, if it has any.
    seed: Option<Seed>,
    stage: Stage,
    /// What fetches the tree that rows are verified by, if there is one. It comes before all else that the catalog calls for.
    tree: Option<Box<Gathering<Nodes>>>,
    /// What time it is, in seconds since 1970, if somebody said.
    now: Option<u64>,
    /// What a delta made, until someone takes it.
    patched: Option<(Hex32, Vec<u8>)>,
}

enum Stage {
    Catalog(Accord),
    /// A catalog that all servers show, of which it is asked whether its publisher shows it to everybody.
    Witness(Box<(Check, Agreed)>),
    Gather(Box<Gathering>),
    /// Keys, and the sessions that servers have given for them so far.
    Keys(Box<dyn AnyClient>, Vec<SessionId>),
    /// The caller's session goes on.
    Continued,
    Ready(Box<dyn AnyClient>, Vec<SessionId>),
}

impl Default for Stage {
    fn default() -> Self {
        Stage::Catalog(Accord::default())
    }
}

impl Opening {
    /// Starts.
    pub fn new(config: Config) -> Self {
        Opening {
            config,
            lasting: None,
            resuming: None,
            agreed: None,
            seed: None,
            stage: Stage::default(),
            tree: None,
            now: None,
            patched: None,
        }
    }

    /// Starts, for someone who has a session of an earlier epoch. If its keys are as good for this one, the opening
    /// ends with the catalog: [`Opening::is_continued`], and then [`Session::follow`] instead of
    /// [`Opening::finish`].
    pub fn succeeding(config: Config, session: &Session) -> Self {
        Opening { lasting: session.lasting(), ..Opening::new(config) }
    }

    /// Goes on with a preparation that another opening began, perhaps in another process: at its epoch, from the chunk of
    /// the rows on that it had come to.
    ///
    /// If that epoch is over, or is not what it was, [`Opening::feed`] gives [`ClientError::EpochChanged`], and the
    /// preparation is of no use any more. What was there before cannot be hashed again, so the rows are
    /// checked chunk by chunk only; the digest of each chunk is in the signed catalog.
    pub fn resuming(config: Config, resuming: Resuming) -> Self {
        let stage = Stage::Catalog(Accord::at(resuming.epoch));
        Opening { resuming: Some(resuming), stage, ..Opening::new(config) }
    }

    /// Says what time it is, in seconds since 1970. Without that no catalog is too old, and none has witnesses.
    #[must_use]
    pub fn at(mut self, now: u64) -> Self {
        self.tell(now);
        self
    }

    /// The same, for an opening that takes a while.
    pub fn tell(&mut self, now: u64) {
        self.now = Some(now);
    }

    /// Whether the session this opening comes after goes on, keys and all.
    pub fn is_continued(&self) -> bool {
        matches!(self.stage, Stage::Continued)
    }

    /// What to do next. Asking twice changes nothing.
    pub fn next(&self) -> Action {
        if let Some(tree) = &self.tree {
            return tree.next();
        }
        match &self.stage {
            Stage::Catalog(accord) => match accord.next(&self.config) {
                Some((server, request)) => Action::Catalog { server, request },
                None => Action::Ready,
            },
            Stage::Witness(check) => Action::Catalog { server: 0, request: check.0.next() },
            Stage::Gather(gathering) => gathering.next(),
            Stage::Keys(client, ids) => match &self.agreed {
                Some(agreed) => {
                    let server = u8::try_from(ids.len()).sure("a scheme has few servers");
                    Action::Keys { server, request: keys::registration(agreed, client.as_ref(), server) }
                }
                None => Action::Ready,
            },
            Stage::Ready(..) | Stage::Continued => Action::Ready,
        }
    }

    /// Takes the response to what [`Opening::next`] said to send.
    ///
    /// # Errors
    /// [`ClientError`]: a refusal, or bytes that are not what was asked for.
    pub fn feed(&mut self, response: &Response, rng: &mut dyn CryptoRng) -> Result<()> {
        let epoch = self.agreed.as_ref().map(|agreed| agreed.catalog.epoch);
        if let Some(tree) = &mut self.tree {
            tree.feed(accepted(response, epoch))?;
            return self.plant();
        }
        match &mut self.stage {
            Stage::Catalog(accord) => {
                let Some(agreed) = accord.feed(response, &self.config)? else { return Ok(()) };
                match self.vet(&agreed)? {
                    None => self.settle(agreed, rng),
                    Some(check) => {
                        self.stage = Stage::Witness(Box::new((check, agreed)));
                        Ok(())
                    }
                }
            }
            Stage::Witness(check) => {
                let fed = check.0.feed(response);
                if matches!(fed, Ok(false)) {
                    return Ok(());
                }
                let at = self.resuming.as_ref().map_or_else(Accord::default, |half| Accord::at(half.epoch));
                let vetted = std::mem::replace(&mut self.stage, Stage::Catalog(at));
                match (fed, vetted) {
                    (Ok(_), Stage::Witness(check)) => self.settle(check.1, rng),
                    (fed, _) => fed.map(drop),
                }
            }
            Stage::Gather(gathering) => {
                let fed = gathering.feed(accepted(response, epoch));
                self.after(fed)
            }
            Stage::Keys(_, ids) => {
                let server = u8::try_from(ids.len()).sure("a scheme has few servers");
                let id = accepted(response, epoch).and_then(session_id);
                ids.push(id.map_err(|error| error.of_server(server, self.config.servers))?);
                let queried = self.agreed.as_ref().map_or(0, |agreed| agreed.scheme.queried);
                if ids.len() < queried {
                    return Ok(());
                }
                if let Stage::Keys(client, ids) = std::mem::take(&mut self.stage) {
                    self.stage = Stage::Ready(client, ids);
                }
                Ok(())
            }
            Stage::Ready(..) | Stage::Continued => Err(out_of_order()),
        }
    }

    /// Begins a client of its own.
    fn begin(&mut self, rng: &mut dyn CryptoRng) -> Result<()> {
        let agreed = self.agreed.as_ref().ok_or_else(out_of_order)?;
        self.seed = agreed.draws_keys().then(|| Seed::draw(rng));
        let prepare = match (self.resuming.take(), &self.seed) {
            (Some(resuming), _) => resuming.prepare(agreed)?,
            (None, Some(seed)) => seed.prepare(agreed)?,
            (None, None) => (agreed.scheme.prepare)(&agreed.params, rng)?,
        };
        self.stage = Stage::Gather(Box::new(Gathering::new(agreed, prepare)?));
        self.advance()
    }

    /// Goes on with keys that servers have, instead of registering others. Gives whether they fit the table; if not, nothing
    /// has changed.
    ///
    /// # Errors
    /// [`Misuse::Rule`] before the catalog, and once keys were registered.
    pub fn reuse(&mut self, registered: &Registered) -> Result<bool> {
        let is_early = match &self.stage {
            Stage::Catalog(_) => true,
            Stage::Keys(_, ids) => ids.is_empty(),
            _ => false,
        };
        let agreed = self.agreed.as_ref().filter(|_| is_early).ok_or_else(out_of_order)?;
        let Some((client, seed)) = registered.client(agreed)? else { return Ok(false) };
        self.seed = Some(seed);
        self.stage = Stage::Ready(client, registered.sessions().to_vec());
        Ok(true)
    }

    /// What will be wanted after what [`Action::Fetch`] wants, for whoever fetches it while the other is still being taken.
    pub fn ahead(&self) -> Option<Fetch> {
        match &self.stage {
            _ if self.tree.is_some() => None,
            Stage::Gather(gathering) => gathering.ahead(),
            _ => None,
        }
    }

    /// What writes the preparation down half done, where the scheme can, for [`Opening::resuming`].
    pub fn checkpoint(&self) -> Option<&dyn AnyCheckpoint> {
        match &self.stage {
            Stage::Gather(gathering) => gathering.checkpoint(),
            _ => None,
        }
    }

    /// Takes held bytes for what [`Action::Fetch`] wants: its first bytes, or all of them. Gives how many
    /// were right; the rest is damaged, or not a whole chunk, and has to be fetched.
    ///
    /// # Errors
    /// Only what ends the opening; damaged bytes are not an error.
    pub fn offer(&mut self, held: &[u8]) -> Result<usize> {
        if let Some(tree) = &mut self.tree {
            let taken = tree.offer(held)?;
            return self.plant().map(|()| taken);
        }
        let Stage::Gather(gathering) = &mut self.stage else { return Err(out_of_order()) };
        let taken = gathering.offer(held);
        self.after(taken)
    }

    /// Answers [`Action::Recall`].
    ///
    /// # Errors
    /// [`Misuse::Rule`] if nothing was to be recalled.
    pub fn recalled(&mut self, held: Option<Vec<u8>>) -> Result<()> {
        if let Some(tree) = &mut self.tree {
            tree.recalled(held)?;
            return self.plant();
        }
        let Stage::Gather(gathering) = &mut self.stage else { return Err(out_of_order()) };
        gathering.recalled(held)?;
        self.advance()
    }

    /// The bytes a delta has just made, for whoever keeps artifacts: the first so many of the artifact with
    /// this digest, checked.
    pub fn take_patched(&mut self) -> Option<(Hex32, Vec<u8>)> {
        self.patched.take()
    }

    /// The catalog, once it is believed, and every server shows the same.
    pub fn catalog(&self) -> Option<&Catalog> {
        self.agreed.as_ref().map(|agreed| &agreed.catalog)
    }

    /// The session.
    ///
    /// # Errors
    /// [`Misuse::Rule`] before [`Action::Ready`].
    pub fn finish(self) -> Result<Session> {
        match (self.stage, self.agreed.filter(|_| self.tree.is_none())) {
            (Stage::Ready(client, ids), Some(agreed)) => Ok(Session::new(agreed, client, ids, self.seed)),
            _ => Err(out_of_order()),
        }
    }

    /// How a client of an earlier epoch comes to this one by rows deltas, once the catalog is there.
    ///
    /// # Errors
    /// [`ClientError::NoWay`] if its parameters or its publisher are others; [`Misuse::Rule`] before the catalog.
    pub fn way(&self, basis: Basis) -> Result<Way> {
        let agreed = self.agreed.clone().filter(|_| self.tree.is_none()).ok_or_else(out_of_order)?;
        Way::new(self.config.clone(), basis, agreed)
    }

    /// What the session with these lasting parameters goes on with.
    pub(super) fn continued(self, lasting: Option<ParamsDigest>) -> Result<Agreed> {
        match (self.stage, self.agreed.filter(|_| self.tree.is_none())) {
            (Stage::Continued, Some(agreed)) if lasting == Some(agreed.pin(0).digest) => Ok(agreed),
            _ => Err(out_of_order()),
        }
    }

    /// Goes on after bytes were taken, or starts over if the preparation is spoiled.
    fn after<T>(&mut self, taken: Result<T>) -> Result<T> {
        if matches!(&self.stage, Stage::Gather(gathering) if gathering.spoiled) {
            self.stage = Stage::default();
        }
        let taken = taken?;
        self.advance()?;
        Ok(taken)
    }

    /// Leaves the artifacts behind once all are there.
    fn advance(&mut self) -> Result<()> {
        let Stage::Gather(gathering) = &mut self.stage else { return Ok(()) };
        self.patched = gathering.patched.take().or(self.patched.take());
        if !gathering.is_done() {
            return Ok(());
        }
        let Stage::Gather(gathering) = std::mem::take(&mut self.stage) else {
            return Ok(());
        };
        let client = gathering.finish()?;
        self.settle_on(client)
    }

    /// Goes on to what a client needs besides artifacts.
    fn settle_on(&mut self, client: Box<dyn AnyClient>) -> Result<()> {
        let Some(agreed) = &self.agreed else { return Err(out_of_order()) };
        self.stage = match agreed.sizes().keys_bytes {
            0 => Stage::Ready(client, agreed.no_sessions()),
            _ => Stage::Keys(client, Vec::new()),
        };
        Ok(())
    }
}

fn out_of_order() -> ClientError {
    Error::from(Misuse::Rule("the opening was told something else than its next step asks for")).into()
}
