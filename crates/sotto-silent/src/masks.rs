//! The masks of packed ciphertexts that no query changes: they follow from the table alone, so a
//! client fetches them once an epoch, as an artifact, and answers are bodies.
//!
//! Every client fetches the same bytes, whatever it looks up and how often.

use crate::message::Format;
use crate::method::{MatrixLiteral as _, Method, Params, Preparation};
use sotto_core::{Artifact, ArtifactNeed, CryptoRng, Misuse, PeerMisbehaved, Result};

/// The masks of a table that a client is downloading.
#[derive(Debug, Default)]
pub struct MaskDownload(Vec<u8>);

impl MaskDownload {
    /// The masks, ciphertext by ciphertext, after all of their bytes came.
    ///
    /// # Errors
    /// [`Misuse::NotPrepared`] before that; [`PeerMisbehaved::NotCanonical`] for bytes that are no
    /// masks.
    pub fn finish(self, masks: &Format) -> Result<Vec<Vec<u64>>> {
        let (got, need) = (self.0.len() as u64, masks.bytes());
        if got != need {
            return Err(Misuse::NotPrepared { artifact: Artifact::Hint.name(), got, need }.into());
        }
        Ok(masks.take(&mut self.0.as_slice()).ok_or(PeerMisbehaved::NotCanonical("masks"))?)
    }
}

impl<M: Method> Preparation<M> for MaskDownload {
    fn begin(_: &Params<M>, _: &mut dyn CryptoRng) -> Result<Self> {
        Ok(MaskDownload::default())
    }

    fn needs(&self, params: &Params<M>) -> Vec<ArtifactNeed> {
        vec![ArtifactNeed { artifact: Artifact::Hint, bytes: params.masks().bytes() }]
    }

    fn absorb(&mut self, params: &Params<M>, from: Artifact, chunk: &[u8]) -> Result<()> {
        let left = params.masks().bytes() - self.0.len() as u64;
        if from != Artifact::Hint || chunk.len() as u64 > left {
            return Err(Misuse::UnexpectedArtifact(from.name()).into());
        }
        self.0.extend_from_slice(chunk);
        Ok(())
    }
}
