//! Becoming a client: a fresh key, and the one pass over the table under it.

use crate::Piano;
use crate::client::Client;
use crate::hints::Hints;
use crate::params::Params;
use crate::pass::Pass;
use crate::prf::Prf;
use crate::seen::Seen;
use sotto_core::{Artifact, ArtifactNeed, CryptoRng, Misuse, Result};
use sotto_hints::bytes::Source;
use std::io::Write;
use zeroize::Zeroizing;

/// A client that is taking in the table.
pub struct Prepare {
    params: Params,
    key: Zeroizing<[u8; 16]>,
    prf: Prf,
    /// Nothing before the first bytes, so that absurd parameters cost nothing.
    pass: Option<Pass>,
}

impl sotto_core::Prepare<Piano> for Prepare {
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
            let pass = match &mut self.pass {
                Some(pass) => pass,
                none => none.insert(Pass::new(&self.params)?),
            };
            pass.absorb(&self.prf, chunk);
        }
        Ok(())
    }

    fn finish(self) -> Result<Client> {
        let (got, need) = (self.absorbed(), self.params.table_bytes());
        let short = Misuse::NotPrepared { artifact: Artifact::Rows.name(), got, need };
        let pass = self.pass.filter(|_| got == need).ok_or(short)?;
        let (params, row_bytes) = (&self.params, self.params.row_bytes());
        let parts = pass.finish(&self.prf).map(|mut part| {
            // In a list of its own length, so that none is left behind where this one grows.
            let len = part.len() + row_bytes;
            let mut all = Zeroizing::new(Vec::with_capacity(len));
            all.append(&mut part);
            all.resize(len, 0);
            all
        });
        let used = Zeroizing::new(vec![0; params.partitions()]);
        let hints = Hints::new(params, &self.prf, Hints::fresh(params), parts, used);
        let seen = Seen::new(params)?;
        Ok(Client::new(self.params, self.key, hints, seen))
    }
}

impl Prepare {
    pub(crate) fn new(params: &Params, key: Zeroizing<[u8; 16]>) -> Self {
        Prepare { params: params.clone(), prf: Prf::new(params, &key), key, pass: None }
    }

    fn absorbed(&self) -> u64 {
        self.pass.as_ref().map_or(0, Pass::absorbed)
    }

    /// How many bytes were taken that a checkpoint would keep.
    pub(crate) fn kept(&self) -> u64 {
        self.pass.as_ref().map_or(0, Pass::kept)
    }

    /// Writes down the key, and what came of the bytes that are kept.
    pub(crate) fn save(&self, out: &mut dyn Write) -> Result<()> {
        out.write_all(self.key.as_ref())?;
        let begun = self.pass.as_ref().filter(|pass| pass.kept() > 0);
        out.write_all(&[u8::from(begun.is_some())])?;
        begun.map_or(Ok(()), |pass| pass.save(out))
    }

    /// Reads what [`Prepare::save`] wrote.
    pub(crate) fn resume(params: &Params, from: &mut Source<'_>) -> Result<Self> {
        let mut prepare = Prepare::new(params, Zeroizing::new(from.get()?));
        if from.get()? {
            let mut pass = Pass::new(params)?;
            from.through(|from| pass.resume(from))?;
            prepare.pass = Some(pass);
        }
        Ok(prepare)
    }
}
