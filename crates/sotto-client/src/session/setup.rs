//! From a table's name to a session, step by step: catalogs, artifacts, keys.
//!
//! Every step is on bytes that are the same for every client, keys excepted, so nothing here depends on
//! what will be asked.

mod accept_catalog;
#[cfg(feature = "cache")]
mod resume;
mod rows_tree;

use super::action::{Action, FetchRange};
use super::artifact_download::ArtifactDownload;
use super::config::SetupConfig;
use super::delta_chain::{DeltaChain, StateVersion};
use super::epoch_agreement::{EpochAgreement, VerifiedTable};
use super::keys::{self, session_id};
use super::registered_keys::{KeySeed, RegisteredKeys};
use super::row_proof::TreeDownload;
use super::saved_preparation::SavedPreparation;
use super::witness::LogCheck;
use super::{Session, accepted};
use crate::transport::Response;
use crate::{ClientError, Result};
use sotto_catalog::{Catalog, Hex32};
use sotto_core::{AnyCheckpoint, AnyClient, CryptoRng, Error, ExpectOrDefault, Misuse, ParamsDigest};
use sotto_wire::SessionId;

/// A table being opened.
///
/// After an error the same step can be tried again, with other bytes; after one that cannot be mended so,
/// [`SessionSetup::next`] starts from the catalog.
pub struct SessionSetup {
    config: SetupConfig,
    /// The parameters of which the caller has a client already that is good at any epoch.
    lasting: Option<ParamsDigest>,
    resuming: Option<SavedPreparation>,
    agreed: Option<VerifiedTable>,
    /// What the client's keys are drawn from, if it has any.
    seed: Option<KeySeed>,
    stage: SetupStage,
    /// What fetches the tree that rows are verified by, if there is one. It comes before all else that the catalog calls for.
    tree: Option<Box<ArtifactDownload<TreeDownload>>>,
    /// What time it is, in seconds since 1970, if somebody said.
    now: Option<u64>,
    /// What a delta made, until someone takes it.
    patched: Option<(Hex32, Vec<u8>)>,
}

enum SetupStage {
    Catalog(EpochAgreement),
    /// A catalog that all servers show, of which it is asked whether its publisher shows it to everybody.
    Witness(Box<(LogCheck, VerifiedTable)>),
    Gather(Box<ArtifactDownload>),
    /// Keys, and the sessions that servers have given for them so far.
    Keys(Box<dyn AnyClient>, Vec<SessionId>),
    /// The caller's session goes on.
    Reused,
    Ready(Box<dyn AnyClient>, Vec<SessionId>),
}

impl Default for SetupStage {
    fn default() -> Self {
        SetupStage::Catalog(EpochAgreement::default())
    }
}

impl SessionSetup {
    /// Starts.
    pub fn new(config: SetupConfig) -> Self {
        SessionSetup {
            config,
            lasting: None,
            resuming: None,
            agreed: None,
            seed: None,
            stage: SetupStage::default(),
            tree: None,
            now: None,
            patched: None,
        }
    }

    /// Starts, for someone who has a session of an earlier epoch. If its keys are as good for this one, the opening
    /// ends with the catalog: [`SessionSetup::is_continued`], and then [`Session::advance_to`] instead of
    /// [`SessionSetup::finish`].
    pub fn after_session(config: SetupConfig, session: &Session) -> Self {
        SessionSetup { lasting: session.reusable_params(), ..SessionSetup::new(config) }
    }

    /// Goes on with a preparation that another opening began, perhaps in another process: at its epoch, from the chunk of
    /// the rows on that it had come to.
    ///
    /// If that epoch is over, or is not what it was, [`SessionSetup::feed`] gives [`ClientError::EpochChanged`], and the
    /// preparation is of no use any more. What was there before cannot be hashed again, so the rows are
    /// checked chunk by chunk only; the digest of each chunk is in the signed catalog.
    pub fn resuming(config: SetupConfig, resuming: SavedPreparation) -> Self {
        let stage = SetupStage::Catalog(EpochAgreement::at(resuming.epoch));
        SessionSetup { resuming: Some(resuming), stage, ..SessionSetup::new(config) }
    }

    /// Says what time it is, in seconds since 1970. Without that no catalog is too old, and none has witnesses.
    #[must_use]
    pub fn at(mut self, now: u64) -> Self {
        self.set_time(now);
        self
    }

    /// The same, for an opening that takes a while.
    pub fn set_time(&mut self, now: u64) {
        self.now = Some(now);
    }

    /// Whether the session this opening comes after goes on, keys and all.
    pub fn is_continued(&self) -> bool {
        matches!(self.stage, SetupStage::Reused)
    }

    /// What to do next. Asking twice changes nothing.
    pub fn next(&self) -> Action {
        if let Some(tree) = &self.tree {
            return tree.next();
        }
        match &self.stage {
            SetupStage::Catalog(accord) => match accord.next(&self.config) {
                Some((server, request)) => Action::Catalog { server, request },
                None => Action::Ready,
            },
            SetupStage::Witness(check) => Action::Catalog { server: 0, request: check.0.next() },
            SetupStage::Gather(gathering) => gathering.next(),
            SetupStage::Keys(client, ids) => match &self.agreed {
                Some(agreed) => {
                    let server = u8::try_from(ids.len()).expect_or_default("a scheme has few servers");
                    Action::Keys { server, request: keys::registration(agreed, client.as_ref(), server) }
                }
                None => Action::Ready,
            },
            SetupStage::Ready(..) | SetupStage::Reused => Action::Ready,
        }
    }

    /// Takes the response to what [`SessionSetup::next`] said to send.
    ///
    /// # Errors
    /// [`ClientError`]: a refusal, or bytes that are not what was asked for.
    pub fn feed(&mut self, response: &Response, rng: &mut dyn CryptoRng) -> Result<()> {
        let epoch = self.agreed.as_ref().map(|agreed| agreed.catalog.epoch);
        if let Some(tree) = &mut self.tree {
            tree.feed(accepted(response, epoch))?;
            return self.install_tree();
        }
        match &mut self.stage {
            SetupStage::Catalog(accord) => {
                let Some(agreed) = accord.feed(response, &self.config)? else { return Ok(()) };
                match self.check_freshness(&agreed)? {
                    None => self.accept_catalog(agreed, rng),
                    Some(check) => {
                        self.stage = SetupStage::Witness(Box::new((check, agreed)));
                        Ok(())
                    }
                }
            }
            SetupStage::Witness(check) => {
                let fed = check.0.feed(response);
                if matches!(fed, Ok(false)) {
                    return Ok(());
                }
                let at = self
                    .resuming
                    .as_ref()
                    .map_or_else(EpochAgreement::default, |half| EpochAgreement::at(half.epoch));
                let vetted = std::mem::replace(&mut self.stage, SetupStage::Catalog(at));
                match (fed, vetted) {
                    (Ok(_), SetupStage::Witness(check)) => self.accept_catalog(check.1, rng),
                    (fed, _) => fed.map(drop),
                }
            }
            SetupStage::Gather(gathering) => {
                let fed = gathering.feed(accepted(response, epoch));
                self.after(fed)
            }
            SetupStage::Keys(_, ids) => {
                let server = u8::try_from(ids.len()).expect_or_default("a scheme has few servers");
                let id = accepted(response, epoch).and_then(session_id);
                ids.push(id.map_err(|error| error.of_server(server, self.config.servers))?);
                let queried = self.agreed.as_ref().map_or(0, |agreed| agreed.scheme.query_servers);
                if ids.len() < queried {
                    return Ok(());
                }
                if let SetupStage::Keys(client, ids) = std::mem::take(&mut self.stage) {
                    self.stage = SetupStage::Ready(client, ids);
                }
                Ok(())
            }
            SetupStage::Ready(..) | SetupStage::Reused => Err(out_of_order()),
        }
    }

    /// Begins a client of its own.
    fn begin(&mut self, rng: &mut dyn CryptoRng) -> Result<()> {
        let agreed = self.agreed.as_ref().ok_or_else(out_of_order)?;
        self.seed = agreed.draws_keys().then(|| KeySeed::draw(rng));
        let prepare = match (self.resuming.take(), &self.seed) {
            (Some(resuming), _) => resuming.prepare(agreed)?,
            (None, Some(seed)) => seed.prepare(agreed)?,
            (None, None) => (agreed.scheme.prepare)(&agreed.params, rng)?,
        };
        self.stage = SetupStage::Gather(Box::new(ArtifactDownload::new(agreed, prepare)?));
        self.advance()
    }

    /// Goes on with keys that servers have, instead of registering others. Gives whether they fit the table; if not, nothing
    /// has changed.
    ///
    /// # Errors
    /// [`Misuse::Rule`] before the catalog, and once keys were registered.
    pub fn reuse(&mut self, registered: &RegisteredKeys) -> Result<bool> {
        let is_early = match &self.stage {
            SetupStage::Catalog(_) => true,
            SetupStage::Keys(_, ids) => ids.is_empty(),
            _ => false,
        };
        let agreed = self.agreed.as_ref().filter(|_| is_early).ok_or_else(out_of_order)?;
        let Some((client, seed)) = registered.client(agreed)? else { return Ok(false) };
        self.seed = Some(seed);
        self.stage = SetupStage::Ready(client, registered.sessions().to_vec());
        Ok(true)
    }

    /// What will be wanted after what [`Action::FetchRange`] wants, for whoever fetches it while the other is still being taken.
    pub fn ahead(&self) -> Option<FetchRange> {
        match &self.stage {
            _ if self.tree.is_some() => None,
            SetupStage::Gather(gathering) => gathering.ahead(),
            _ => None,
        }
    }

    /// What writes the preparation down half done, where the scheme can, for [`SessionSetup::resuming`].
    pub fn checkpoint(&self) -> Option<&dyn AnyCheckpoint> {
        match &self.stage {
            SetupStage::Gather(gathering) => gathering.checkpoint(),
            _ => None,
        }
    }

    /// Takes held bytes for what [`Action::FetchRange`] wants: its first bytes, or all of them. Gives how many
    /// were right; the rest is damaged, or not a whole chunk, and has to be fetched.
    ///
    /// # Errors
    /// Only what ends the opening; damaged bytes are not an error.
    pub fn offer_cached(&mut self, held: &[u8]) -> Result<usize> {
        if let Some(tree) = &mut self.tree {
            let taken = tree.offer(held)?;
            return self.install_tree().map(|()| taken);
        }
        let SetupStage::Gather(gathering) = &mut self.stage else { return Err(out_of_order()) };
        let taken = gathering.offer(held);
        self.after(taken)
    }

    /// Answers [`Action::LoadCached`].
    ///
    /// # Errors
    /// [`Misuse::Rule`] if nothing was to be recalled.
    pub fn cached_artifact(&mut self, held: Option<Vec<u8>>) -> Result<()> {
        if let Some(tree) = &mut self.tree {
            tree.recalled(held)?;
            return self.install_tree();
        }
        let SetupStage::Gather(gathering) = &mut self.stage else { return Err(out_of_order()) };
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
            (SetupStage::Ready(client, ids), Some(agreed)) => {
                Ok(Session::new(agreed, client, ids, self.seed))
            }
            _ => Err(out_of_order()),
        }
    }

    /// How a client of an earlier epoch comes to this one by rows deltas, once the catalog is there.
    ///
    /// # Errors
    /// [`ClientError::NoDeltaChain`] if its parameters or its publisher are others; [`Misuse::Rule`] before the catalog.
    pub fn delta_chain(&self, basis: StateVersion) -> Result<DeltaChain> {
        let agreed = self.agreed.clone().filter(|_| self.tree.is_none()).ok_or_else(out_of_order)?;
        DeltaChain::new(self.config.clone(), basis, agreed)
    }

    /// What the session with these lasting parameters goes on with.
    pub(super) fn continued(self, lasting: Option<ParamsDigest>) -> Result<VerifiedTable> {
        match (self.stage, self.agreed.filter(|_| self.tree.is_none())) {
            (SetupStage::Reused, Some(agreed)) if lasting == Some(agreed.pin(0).digest) => Ok(agreed),
            _ => Err(out_of_order()),
        }
    }

    /// Goes on after bytes were taken, or starts over if the preparation is spoiled.
    fn after<T>(&mut self, taken: Result<T>) -> Result<T> {
        if matches!(&self.stage, SetupStage::Gather(gathering) if gathering.spoiled) {
            self.stage = SetupStage::default();
        }
        let taken = taken?;
        self.advance()?;
        Ok(taken)
    }

    /// Leaves the artifacts behind once all are there.
    fn advance(&mut self) -> Result<()> {
        let SetupStage::Gather(gathering) = &mut self.stage else { return Ok(()) };
        self.patched = gathering.patched.take().or(self.patched.take());
        if !gathering.is_done() {
            return Ok(());
        }
        let SetupStage::Gather(gathering) = std::mem::take(&mut self.stage) else {
            return Ok(());
        };
        let client = gathering.finish()?;
        self.settle_on(client)
    }

    /// Goes on to what a client needs besides artifacts.
    fn settle_on(&mut self, client: Box<dyn AnyClient>) -> Result<()> {
        let Some(agreed) = &self.agreed else { return Err(out_of_order()) };
        self.stage = match agreed.sizes().keys_bytes {
            0 => SetupStage::Ready(client, agreed.no_sessions()),
            _ => SetupStage::Keys(client, Vec::new()),
        };
        Ok(())
    }
}

fn out_of_order() -> ClientError {
    Error::from(Misuse::Rule("the opening was told something else than its next step asks for")).into()
}
