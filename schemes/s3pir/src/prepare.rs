//! Becoming a client: a fresh key, and the one pass over the table under it.

use crate::S3pir;
use crate::client::Client;
use crate::hints::{Hint, Hints, KNOWN, LIVE, number};
use crate::offline::pass::Fold;
use crate::params::Params;
use crate::prf::{Prf, VOID};
use sotto_core::{Artifact, ArtifactNeed, CryptoRng, Misuse, Result};
use sotto_hints::bytes::{Source, reserve};
use std::io::Write;
use zeroize::Zeroizing;

/// A client that is taking in the table.
pub struct Prepare {
    params: Params,
    key: Zeroizing<[u8; 16]>,
    prf: Prf,
    /// Nothing before the first bytes, so that absurd parameters cost nothing.
    fold: Option<Fold>,
}

impl sotto_core::Prepare<S3pir> for Prepare {
    fn begin(params: &Params, rng: &mut dyn CryptoRng) -> Result<Self> {
        let mut key = Zeroizing::new([0; 16]);
        rng.fill_bytes(key.as_mut());
        Ok(Prepare::new(params, key))
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
            let fold = match &mut self.fold {
                Some(fold) => fold,
                none => none.insert(start(&self.params, &self.prf)?),
            };
            fold.absorb(&self.prf, chunk);
        }
        Ok(())
    }

    fn finish(self) -> Result<Client> {
        let (got, need) = (self.absorbed(), self.params.table_bytes());
        let short = Misuse::NotPrepared { artifact: Artifact::Rows.name(), got, need };
        let fold = self.fold.filter(|_| got == need).ok_or(short)?;
        let (hints, pairs) = fold.finish(&self.prf);

        let mut of = Zeroizing::new(Vec::new());
        reserve(&mut of, self.params.ids() + 1)?;
        of.extend(hints.cuts.iter().zip(hints.extras.iter()).map(|(cut, extra)| match *cut {
            VOID => Hint::default(),
            cut => Hint { cut, extra: number(*extra), mark: LIVE | KNOWN },
        }));
        of.extend(pairs.cuts.iter().map(|cut| Hint { cut: *cut, ..Hint::default() }));
        let mut parities = Zeroizing::new(Vec::new());
        reserve(&mut parities, hints.parities.len() + pairs.halves.len() + pairs.others.len())?;
        for some in [&hints.parities, &pairs.halves, &pairs.others] {
            parities.extend_from_slice(some);
        }
        let hints = Hints::new(&self.params, &self.prf, of, parities, 0);
        Ok(Client::new(self.params, self.key, hints))
    }
}

impl Prepare {
    pub(crate) fn new(params: &Params, key: Zeroizing<[u8; 16]>) -> Self {
        Prepare { params: params.clone(), prf: Prf::new(params, &key), key, fold: None }
    }

    fn absorbed(&self) -> u64 {
        self.fold.as_ref().map_or(0, Fold::absorbed)
    }

    /// How many bytes were taken that a checkpoint would keep.
    pub(crate) fn kept(&self) -> u64 {
        self.fold.as_ref().map_or(0, Fold::kept)
    }

    /// Writes down the key, and what came of the bytes that are kept.
    pub(crate) fn save(&self, out: &mut dyn Write) -> Result<()> {
        out.write_all(self.key.as_ref())?;
        let begun = self.fold.as_ref().filter(|fold| fold.kept() > 0);
        out.write_all(&[u8::from(begun.is_some())])?;
        begun.map_or(Ok(()), |fold| fold.save(out))
    }

    /// Reads what [`Prepare::save`] wrote.
    pub(crate) fn resume(params: &Params, from: &mut Source<'_>) -> Result<Self> {
        let mut prepare = Prepare::new(params, Zeroizing::new(from.get()?));
        if from.get()? {
            let mut fold = start(params, &prepare.prf)?;
            from.through(|from| fold.resume(from))?;
            // The last partitions may have no rows of the table.
            if fold.absorbed() > params.table_bytes() {
                return Err(from.malformed("a checkpoint of more rows than there are"));
            }
            prepare.fold = Some(fold);
        }
        Ok(prepare)
    }
}

/// A pass over all ids.
fn start(params: &Params, prf: &Prf) -> Result<Fold> {
    // There are at most 2^25 ids.
    let (hints, ids) = (params.hints() as u32, params.ids() as u32);
    Fold::new(prf, params.row_bytes(), 0..hints, hints..ids)
}
