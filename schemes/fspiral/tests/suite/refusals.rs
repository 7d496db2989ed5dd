//! Messages that no honest client sends.

use sotto_core::{Error, Params as _, PeerMisbehaved, RecordIndex, TableShape, Wire as _};
use sotto_cube::{Keys, Params, Query};
use sotto_fspiral::{ENTRY, FSpiral};
use sotto_testkit::rng::seeded;

fn params() -> Params<FSpiral> {
    Params::check(Params::<FSpiral>::select(&TableShape::new(1 << 16, 256, 1000)).unwrap()).unwrap()
}

/// Sets one word of a body, of `bits` bits, to all ones.
fn all_ones(bytes: &mut [u8], body: usize, body_bytes: usize, word: usize, bits: usize) {
    for bit in word * bits..(word + 1) * bits {
        bytes[32 + body * body_bytes + bit / 8] |= 1 << (bit % 8);
    }
}

#[test]
fn unreduced_coefficients_are_refused_wherever_they_are() {
    let params = params();
    let json = serde_json::to_vec(params.literal()).unwrap();
    let rng = &mut seeded("refusals");
    let mut client = (ENTRY.prepare)(&json, rng).unwrap().finish().unwrap();
    let (queries, _) = client.query(RecordIndex(5), rng).unwrap();
    let (query_bits, key_bits) =
        (usize::from(params.literal.query_bits), usize::from(params.literal.key_bits));
    let keys = client.keys();
    let bodies = (keys.len() - 32) / (4096 * key_bits / 8);
    for word in [0, 1, 2047, 4095] {
        let mut query = queries[0].clone();
        all_ones(&mut query, 0, 0, word, query_bits);
        let error = Query::take(&params, &query).map(drop).unwrap_err();
        assert!(matches!(error, Error::Peer(PeerMisbehaved::NotCanonical("query"))), "{error}");
        for body in [0, bodies / 2, bodies - 1] {
            let mut keys = keys.clone();
            all_ones(&mut keys, body, 4096 * key_bits / 8, word, key_bits);
            let error = Keys::take(&params, &keys).map(drop).unwrap_err();
            assert!(matches!(error, Error::Peer(PeerMisbehaved::NotCanonical("keys"))), "{error}");
        }
    }
    assert!(Query::take(&params, &queries[0]).is_ok() && Keys::take(&params, &keys).is_ok());
}

#[test]
fn messages_of_other_lengths_are_refused_before_they_are_read() {
    let params = params();
    for len in [0, 31, 32, 33, 1 << 20] {
        let bytes = vec![0; len];
        let errors = [Query::take(&params, &bytes).map(drop), Keys::take(&params, &bytes).map(drop)];
        for error in errors {
            assert!(matches!(error, Err(Error::Peer(PeerMisbehaved::Length { .. }))), "{error:?}");
        }
    }
}
