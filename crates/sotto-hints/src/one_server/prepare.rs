//! Preparing a client: a fresh key, and one pass over the table under it.

use super::family::FamilyState;
use super::{Client, Family, OneServerScheme, Params, Prf, TablePass};
use crate::codec::StateReader;
use sotto_core::{Artifact, ArtifactNeed, CryptoRng, Misuse, Result};
use std::io::Write;
use zeroize::Zeroizing;

/// A client in preparation, which streams the table.
pub struct Prepare<F: Family> {
    params: Params<F>,
    key: Zeroizing<[u8; 16]>,
    prf: Prf<F>,
    /// The pass; none before the first bytes, so that absurd parameters cost nothing.
    pass: Option<TablePass<F>>,
}

impl<F: Family> sotto_core::Prepare<OneServerScheme<F>> for Prepare<F> {
    fn begin(params: &Params<F>, rng: &mut dyn CryptoRng) -> Result<Self> {
        let mut key = Zeroizing::new([0; 16]);
        rng.fill_bytes(key.as_mut());
        Ok(Prepare::with_key(params, key))
    }

    fn needs(&self) -> Vec<ArtifactNeed> {
        vec![ArtifactNeed { artifact: Artifact::Rows, bytes: self.params.table_bytes() }]
    }

    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()> {
        let missing = self.params.table_bytes() - self.absorbed();
        if from != Artifact::Rows || chunk.len() as u64 > missing {
            return Err(Misuse::UnexpectedArtifact(from.name()).into());
        }
        if !chunk.is_empty() {
            let pass = match &mut self.pass {
                Some(pass) => pass,
                none => none.insert(F::pass(&self.params, &self.prf)?),
            };
            pass.absorb(&self.prf, chunk);
        }
        Ok(())
    }

    fn finish(self) -> Result<Client<F>> {
        let (got, need) = (self.absorbed(), self.params.table_bytes());
        let short = Misuse::NotPrepared { artifact: Artifact::Rows.name(), got, need };
        let pass = self.pass.filter(|_| got == need).ok_or(short)?;
        let hints = F::harvest(&self.params, &self.prf, pass.finish(&self.prf))?;
        let own = F::FamilyState::new(&self.params)?;
        Ok(Client::new(self.params, self.key, hints, own))
    }
}

impl<F: Family> Prepare<F> {
    /// A preparation under this key.
    pub fn with_key(params: &Params<F>, key: Zeroizing<[u8; 16]>) -> Self {
        Prepare { params: params.clone(), prf: Prf::new(params, &key), key, pass: None }
    }

    fn absorbed(&self) -> u64 {
        self.pass.as_ref().map_or(0, TablePass::absorbed)
    }

    /// Number of absorbed bytes that a checkpoint covers.
    pub(super) fn kept(&self) -> u64 {
        self.pass.as_ref().map_or(0, TablePass::kept)
    }

    /// Writes the key, and the sums of the bytes that a checkpoint covers.
    pub(super) fn save(&self, out: &mut dyn Write) -> Result<()> {
        out.write_all(self.key.as_ref())?;
        let begun = self.pass.as_ref().filter(|pass| pass.kept() > 0);
        out.write_all(&[u8::from(begun.is_some())])?;
        begun.map_or(Ok(()), |pass| pass.save(out))
    }

    /// Restores what [`Prepare::save`] wrote.
    pub(super) fn resume(params: &Params<F>, from: &mut StateReader<'_>) -> Result<Self> {
        let mut prepare = Prepare::with_key(params, Zeroizing::new(from.get()?));
        if from.get()? {
            let mut pass = F::pass(params, &prepare.prf)?;
            from.through(|from| pass.resume(from))?;
            // The last partitions may have no rows of the table.
            if pass.absorbed() > params.table_bytes() {
                return Err(from.malformed("the checkpoint has more rows than the table"));
            }
            prepare.pass = Some(pass);
        }
        Ok(prepare)
    }
}

/// Extends a list by `more` zeros, in a new allocation of the final length, so that growing leaves
/// no copy of a secret behind.
///
/// # Errors
/// [`sotto_core::Error::Storage`] if the memory is not available.
pub fn longer(mut list: Zeroizing<Vec<u8>>, more: usize) -> Result<Zeroizing<Vec<u8>>> {
    let (mut all, len) = (Zeroizing::new(Vec::new()), list.len() + more);
    crate::codec::reserve(&mut all, len)?;
    all.append(&mut list);
    all.resize(len, 0);
    Ok(all)
}
