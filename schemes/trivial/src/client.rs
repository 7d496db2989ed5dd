//! The client: the download, and reading a record of it.

use crate::TrivialPir;
use crate::params::Params;
use sotto_core::{
    Artifact, ArtifactNeed, CryptoRng, Misuse, NoServers, PatchArtifact, Record, RecordIndex, Result, wire,
};
use sotto_hints::delta::{RowsDelta, add};
use std::hint::black_box;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// A download of the table, as far as it is.
pub struct Prepare(Client);

/// A client that has the table.
pub struct Client {
    params: Params,
    table: Vec<u8>,
}

impl sotto_core::Prepare<TrivialPir> for Prepare {
    fn begin(params: &Params, _: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Prepare(Client { params: params.clone(), table: Vec::new() }))
    }

    fn needs(&self) -> Vec<ArtifactNeed> {
        vec![ArtifactNeed { artifact: Artifact::Hint, bytes: self.0.params.table_bytes() }]
    }

    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()> {
        let Client { params, table } = &mut self.0;
        if from != Artifact::Hint || chunk.len() as u64 > params.table_bytes() - table.len() as u64 {
            return Err(Misuse::UnexpectedArtifact(from.name()).into());
        }
        table.extend_from_slice(chunk);
        Ok(())
    }

    fn finish(self) -> Result<Client> {
        let (got, need) = (self.0.table.len() as u64, self.0.params.table_bytes());
        if got != need {
            return Err(Misuse::NotPrepared { artifact: Artifact::Hint.name(), got, need }.into());
        }
        Ok(self.0)
    }
}

impl sotto_core::Client<TrivialPir> for Client {
    /// The number of the record.
    type Pending = Zeroizing<u64>;

    fn keys(&self) {}

    fn query(&mut self, index: RecordIndex, _: &mut dyn CryptoRng) -> Result<(NoServers<()>, Self::Pending)> {
        let len = self.params.records();
        if index.0 >= len {
            return Err(Misuse::IndexPastEnd { index: index.0, len }.into());
        }
        Ok((NoServers::default(), Zeroizing::new(index.0)))
    }

    /// Reads the whole table, so that neither the time nor what is in a cache of the processor
    /// depends on the record.
    fn recover(&mut self, index: Self::Pending, _: NoServers<()>) -> Result<Record> {
        let mut record = vec![0; self.params.record_bytes()];
        for (i, other) in (0u64..).zip(self.table.chunks_exact(record.len())) {
            let mask = black_box(i.ct_eq(&index).unwrap_u8().wrapping_neg());
            record.iter_mut().zip(other).for_each(|(sum, byte)| *sum |= byte & mask);
        }
        Ok(Record::new(record))
    }
}

impl PatchArtifact for TrivialPir {
    fn patch(params: &Params, _: Artifact, held: &mut [u8], delta: &[u8]) -> Result<()> {
        wire::exact("table", held, usize::try_from(params.table_bytes()).unwrap_or(usize::MAX))?;
        let width = params.record_bytes();
        for (record, change) in RowsDelta::read(delta, params.records(), width)?.rows() {
            let old =
                usize::try_from(*record).ok().and_then(|record| held.chunks_exact_mut(width).nth(record));
            old.into_iter().for_each(|old| add(old, change));
        }
        Ok(())
    }
}
