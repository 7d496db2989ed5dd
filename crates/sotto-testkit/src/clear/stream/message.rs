//! What travels: the masked index, and a checksummed answer about each unit.

use super::P;
use crate::clear::one::{KEY_BYTES, Keys};
use sotto_core::wire::exact;
use sotto_core::{Error, PeerMisbehaved, Result, Wire};

/// Bytes of the checksum in front of a unit's bytes.
pub(super) const SUM: usize = 8;

impl Wire<P> for Keys {
    fn size(_: &P) -> usize {
        KEY_BYTES
    }
    fn put(&self, _: &P, out: &mut Vec<u8>) {
        self.put_proven(out);
    }
    fn take(_: &P, bytes: &[u8]) -> Result<Self> {
        Keys::take_proven(bytes)
    }
}

/// The index plus the mask, modulo the number of records.
pub(super) struct Query(pub(super) u64);

impl Wire<P> for Query {
    fn size(_: &P) -> usize {
        8
    }

    fn put(&self, _: &P, out: &mut Vec<u8>) {
        out.extend(self.0.to_le_bytes());
    }

    fn take(params: &P, bytes: &[u8]) -> Result<Self> {
        exact("query", bytes, 8)?;
        let index = bytes.first_chunk().map(|index| u64::from_le_bytes(*index)).unwrap_or_default();
        if index >= params.0.records {
            return Err(PeerMisbehaved::NotCanonical("query").into());
        }
        Ok(Query(index))
    }
}

/// A unit's bytes, and a checksum of them and of which unit they are.
pub(super) struct UnitAnswer(Vec<u8>);

impl UnitAnswer {
    pub(super) fn of(unit: u64, bytes: &[u8]) -> Self {
        UnitAnswer([&sum(unit, bytes)[..], bytes].concat())
    }

    /// The bytes, if they are those of this unit.
    pub(super) fn read(&self, unit: u64) -> Result<&[u8]> {
        match self.0.split_first_chunk::<SUM>() {
            Some((found, bytes)) if *found == sum(unit, bytes) => Ok(bytes),
            _ => Err(Error::Unreadable),
        }
    }
}

fn sum(unit: u64, bytes: &[u8]) -> [u8; SUM] {
    let mut sum = [0; SUM];
    blake3::Hasher::new().update(&unit.to_le_bytes()).update(bytes).finalize_xof().fill(&mut sum);
    sum
}

impl Wire<P> for UnitAnswer {
    fn size(params: &P) -> usize {
        params.unit_answer_bytes()
    }

    fn put(&self, _: &P, out: &mut Vec<u8>) {
        out.extend(&self.0);
    }

    fn take(params: &P, bytes: &[u8]) -> Result<Self> {
        exact("answer of a unit", bytes, params.unit_answer_bytes())?;
        Ok(UnitAnswer(bytes.to_vec()))
    }
}

/// The answers of all units, in order.
pub(super) struct Answer(pub(super) Vec<UnitAnswer>);

impl Wire<P> for Answer {
    fn size(params: &P) -> usize {
        params.0.units as usize * params.unit_answer_bytes()
    }

    fn put(&self, params: &P, out: &mut Vec<u8>) {
        self.0.iter().for_each(|unit| unit.put(params, out));
    }

    fn take(params: &P, bytes: &[u8]) -> Result<Self> {
        exact("answer", bytes, Self::size(params))?;
        let units = bytes.chunks_exact(params.unit_answer_bytes());
        Ok(Answer(units.map(|unit| UnitAnswer::take(params, unit)).collect::<Result<_>>()?))
    }
}
