//! The secrets with which a client with another generator opens the recorded answers.
//!
//! They are drawn here a second time, from the vector's seed, and used again: a secret that does
//! not lead to the recorded request is not written.

use crate::Failure;
use crate::cases::{Case, EncodedTable};
use crate::write::RecordedExchange;
use rand_core::Rng;
use sotto_binding::vector::{VectorLookup, generator};
use sotto_catalog::Hex32;
use sotto_core::{Params as _, RecordIndex};
use sotto_lattice::secret::SecretKey;
use sotto_oprf::{Input, MaskVersion};
use sotto_prg::ChaCha20Rng;
use sotto_silent::lwe::encrypt::LweVectorEncryptor;
use sotto_silent::lwe::ring::Ring;
use sotto_silent::unit_vector::VectorEncryptor as Silent;
use sotto_silent::{MatrixLiteral as _, Params};
use sotto_wire::{evaluate, hints, query};
use ypir_sp::YpirSp;

/// Bytes that a blind is drawn from, and more than any lookup draws.
const BLIND_BYTES: usize = 64;
const MAX_DRAWN: usize = 1 << 16;

/// The source of the secrets of a recorded lookup.
pub(crate) struct Secrets<'a> {
    pub(crate) case: &'a Case,
    pub(crate) table: &'a EncodedTable,
    pub(crate) seed: Hex32,
    pub(crate) exchanges: &'a [RecordedExchange],
}

impl Secrets<'_> {
    /// The secrets by their names on the scheme's page; none for schemes whose answers are opened
    /// without any, and for those whose page names none yet.
    ///
    /// `after` is the generator of the lookup, behind the last bytes that it drew.
    pub(crate) fn all(&self, after: &mut ChaCha20Rng) -> Result<Vec<(&'static str, Vec<u8>)>, Failure> {
        let rng = &mut generator(&self.seed);
        let numbers =
            |numbers: &[i32]| numbers.iter().flat_map(|number| (*number as i16).to_le_bytes()).collect();
        Ok(match self.case.entry.id.0 {
            "simplepir/1" => vec![("s", numbers(&LweVectorEncryptor::new(Ring::new()?, 0).secret(rng)))],
            "ypir-sp/2" => vec![("s", numbers(self.ypir_sp()?.coefficients()))],
            _ if self.case.name == "oprf-1" => vec![("blind", self.blind(after)?)],
            _ if self.case.entry.state.is_some() => vec![("state", self.state()?)],
            _ => Vec::new(),
        })
    }

    /// The secret of the only query, whose keys are the recorded ones. A client of a stack draws rows
    /// before it.
    fn ypir_sp(&self) -> Result<SecretKey, Failure> {
        let params = Params::<YpirSp>::check(serde_json::from_slice(&self.table.params())?)?;
        let (buckets, words) = (params.buckets() as usize, params.words() as usize);
        let encryption = Silent::of_buckets((buckets, words), params.plain())?;
        let (encryption, places) = (encryption.of_blocks(params.block as usize), vec![0; buckets]);
        let mut asked = self.exchanges.iter().filter(|exchange| exchange.request.path.ends_with("/ask"));
        let sent = asked.next().and_then(|exchange| exchange.request.body.get(query::HEAD_BYTES..));
        let sent = sent.and_then(|mut query| params.query().take(&mut query)).ok_or("no query was sent")?;
        for words_before in 0..MAX_DRAWN / 16 {
            let mut rng = generator(&self.seed);
            rng.fill_bytes(&mut vec![0; 4 * words_before]);
            let sizes = (words, params.samples());
            let (drawn, secret) = encryption.one_each(sizes, &places, params.bits(), &mut rng);
            if drawn.get(buckets..) == sent.get(buckets..) {
                return Ok(secret);
            }
        }
        Err("the secret of the query was not drawn".into())
    }

    /// The 64 bytes that the blind was drawn from, the last of the lookup.
    fn blind(&self, after: &mut ChaCha20Rng) -> Result<Vec<u8>, Failure> {
        let (mut drawn, mut next) = (vec![0; MAX_DRAWN], [0; 32]);
        generator(&self.seed).fill_bytes(&mut drawn);
        after.fill_bytes(&mut next);
        let end =
            drawn.windows(next.len()).position(|bytes| bytes == next).ok_or("the generator drew more")?;
        let start = end.checked_sub(BLIND_BYTES).ok_or("the generator drew no blind")?;
        let rng = &mut generator(&self.seed);
        rng.fill_bytes(drawn.get_mut(..start).unwrap_or_default());
        let VectorLookup::Row(row) = self.case.lookup else { return Err("not a lookup of a row".into()) };
        let input =
            Input::row(self.table.catalog.table.as_str(), row, MaskVersion(self.table.catalog.epoch.0))?;
        let blinded = sotto_oprf::blind(vec![input], rng)?;
        let sent = self.exchanges.iter().find(|exchange| exchange.request.path.ends_with("/evaluate"));
        let sent = sent.and_then(|exchange| exchange.request.body.get(evaluate::HEAD_BYTES..));
        if sent != Some(blinded.elements().as_flattened()) {
            return Err("the blinded element differs from the recorded one".into());
        }
        Ok(drawn.get(start..end).unwrap_or_default().to_vec())
    }

    /// The state of the client while its query is open.
    fn state(&self) -> Result<Vec<u8>, Failure> {
        let (params, rng) = (self.table.params(), &mut generator(&self.seed));
        let mut prepare = (self.case.entry.prepare)(&params, rng)?;
        for need in prepare.needs() {
            let entry = self.table.catalog.artifacts.iter().find(|entry| entry.artifact == need.artifact);
            let path = entry
                .map(|entry| format!("/v1/artifacts/{}", entry.digest))
                .ok_or("an artifact is missing")?;
            let parts = self.exchanges.iter().filter(|exchange| exchange.request.path == path);
            parts
                .map(|exchange| &exchange.response.body)
                .try_for_each(|part| prepare.absorb(need.artifact, part))?;
        }
        let mut client = prepare.finish()?;
        for exchange in self.exchanges.iter().filter(|exchange| exchange.request.path.ends_with("/hints")) {
            let hint_client =
                client.hint_client().ok_or("a recorded hint request of a client without hints")?;
            let request =
                hint_client.next_hint_request()?.ok_or("a recorded hint request that is not due")?;
            if !exchange.request.body.ends_with(&request) {
                return Err("the client's hint request differs from the recorded one".into());
            }
            hint_client
                .apply_hint_response(exchange.response.body.get(hints::HEAD_BYTES..).unwrap_or_default())?;
        }
        let terms = self.table.catalog.terms(self.case.entry)?;
        let VectorLookup::Row(row) = self.case.lookup else { return Err("not a lookup of a row".into()) };
        let record = terms.packing.records_of(row).first().copied().unwrap_or(RecordIndex(0));
        let (queries, _) = client.query(record, rng)?;
        let requests = self.exchanges.iter().filter(|exchange| exchange.request.path.ends_with("/ask"));
        let sent: Vec<_> =
            requests.filter_map(|exchange| exchange.request.body.get(query::HEAD_BYTES..)).collect();
        if sent != queries {
            return Err("the client's query differs from the recorded one".into());
        }
        let mut out = Vec::new();
        client.state().ok_or("a client without a state")?.save(&mut out)?;
        Ok(out)
    }
}
