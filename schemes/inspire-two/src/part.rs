//! Tables in parts: a part has some numbers of all blocks, with their rows of the matrix and their
//! weights, and some groups of the second layer's masks; its partial answer is the bodies of these
//! numbers, and selected masks. The coordinator selects bodies, since that takes those of all
//! blocks.

use crate::InspireTwo;
use crate::message::{Answer, Query, words};
use crate::params::Params;
use crate::part_contents::PartContents;
use crate::second_layer::{BodySelector, Ciphertext};
use crate::server::{PartServer, PassOutput, answer, fresh};
use sotto_core::{Image, PartIndex, PartScheme, PeerMisbehaved, Result};
use sotto_math::bits::{pack_words, packed_len};
use sotto_silent::lattice::N;
use sotto_silent::unit_vector::MessageBits;
use std::ops::Range;
use std::sync::Arc;

/// The bits of selected masks, and the number of bodies of each.
fn picked(params: &Params, share: &PartContents) -> (MessageBits, Vec<usize>) {
    let ([first, second], [groups, _]) = (params.bits(), params.groups());
    match params.picks() {
        // The mask of the only block, whose bodies are the numbers.
        0 => (first, if share.first { vec![0] } else { Vec::new() }),
        _ => (second, groups.get(share.groups.clone()).unwrap_or_default().to_vec()),
    }
}

/// Decodes a partial answer.
fn take(params: &Params, cut: PartIndex, mut bytes: &[u8], into: &mut PassOutput) -> Option<()> {
    let share = PartContents::of(params, cut);
    let ([first, _], (bits, counts)) = (params.bits(), picked(params, &share));
    into.bodies.extend(words(&mut bytes, first.body, share.numbers.len())?);
    for count in counts {
        let cipher: Ciphertext = [words(&mut bytes, bits.mask, N)?, words(&mut bytes, bits.body, count)?];
        into.masks.push(cipher);
    }
    Some(())
}

impl PartScheme for InspireTwo {
    type Part = PartServer;
    type Joiner = Option<BodySelector>;

    fn max_parts(params: &Params) -> u32 {
        u32::try_from(PartContents::most(params)).unwrap_or(u32::MAX)
    }

    fn part_ranges(params: &Params, cut: PartIndex) -> Vec<Range<u64>> {
        PartContents::of(params, cut).holds(params)
    }

    fn open_part(params: &Params, cut: PartIndex, image: Arc<dyn Image>) -> Result<PartServer> {
        PartServer::open(params, PartContents::of(params, cut), image)
    }

    fn partial_bytes(params: &Params, cut: PartIndex) -> usize {
        let share = PartContents::of(params, cut);
        let ([first, _], (bits, counts)) = (params.bits(), picked(params, &share));
        let cipher = |count: &usize| Some(packed_len(bits.mask, N)? + packed_len(bits.body, *count)?);
        let bodies = packed_len(first.body, share.numbers.len()).unwrap_or(0);
        bodies + counts.iter().filter_map(cipher).sum::<usize>()
    }

    fn admit(_: &Params, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_part(part: &PartServer, queries: Vec<(&(), Query)>) -> Vec<Result<Vec<u8>>> {
        let queries: Vec<Query> = queries.into_iter().map(|(_, query)| query).collect();
        let ([first, _], (bits, _)) = (part.params.bits(), picked(&part.params, &part.share));
        let written = |PassOutput { bodies, masks }| {
            let mut out = Vec::new();
            pack_words(&bodies, first.body, &mut out);
            for [mask, body] in &masks {
                pack_words(mask, bits.mask, &mut out);
                pack_words(body, bits.body, &mut out);
            }
            Ok(out)
        };
        part.passes(&queries).into_iter().map(written).collect()
    }

    fn prepare_join(params: &Params) -> Result<Option<BodySelector>> {
        fresh(params)
    }

    fn join(
        (params, fresh): (&Params, &Option<BodySelector>),
        (_, query): (&(), Query),
        partials: &[Vec<u8>],
    ) -> Result<Answer> {
        let mut passed = PassOutput { bodies: Vec::new(), masks: Vec::new() };
        let parts = u32::try_from(partials.len()).unwrap_or(u32::MAX);
        for (cut, partial) in PartIndex::all(parts).zip(partials) {
            take(params, cut, partial, &mut passed).ok_or(PeerMisbehaved::NotCanonical("partial"))?;
        }
        Ok(answer(fresh.as_ref(), &query, passed))
    }
}
