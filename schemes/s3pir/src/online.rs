//! The online phase: query, answer, recover, refresh, as the frame of
//! [`sotto_hints::one_server`] calls them, and the update of hints to another epoch.

use crate::hints::{self, KNOWN, OUTSIDE, next_pair, used};
use crate::params::ParamsLiteral;
use crate::prf::{RANK, TIE, VOID, rank_in};
use crate::query::{PartitionScratch, Query, RealSet};
use crate::{Client, HalfSets};
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{Assumption, Budget, CryptoRng, Error, Hiding, Result, SchemeId, SchemeMetadata};
use sotto_hints::delta::{PartitionDelta, add};
use sotto_hints::one_server::prf::Blocks;
use sotto_hints::one_server::{
    Answer, AnswerEffect, Family, Hints, IdentityOrder, LIVE, OWED, OpenQuery, ParamsFamily, PartitionPlace,
    Plan, Prf,
};
use zeroize::{Zeroize, Zeroizing};

impl ParamsFamily for HalfSets {
    const ID: SchemeId = SchemeId("s3pir/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "S3PIR (CCS 2024), one server",
        paper: "https://eprint.iacr.org/2023/1072",
        hiding: &[Hiding::Preparation],
        assumptions: &[Assumption::Aes],
        client_keeps: "hints computed from one stream of the table, each spent by a query",
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };

    type Literal = ParamsLiteral;
    const ANSWER_ROWS: usize = 2;
    type Order = IdentityOrder;

    const OFFSET: u64 = 3 << 56;
    const TAG: u64 = 5 << 56;
    const NAME: u64 = 6 << 56;
    type Query = Query;
}

/// The secret data of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Zeroize, BorshSerialize, BorshDeserialize)]
pub struct QueryPlan {
    /// The hint that was spent; none if no hint contained the row.
    chosen: u32,
    /// The hint that replaced the spent one, and waits for the row.
    pub(crate) promoted: u32,
    /// The set of the query that is the dummy set.
    coin: u8,
}

impl Plan for QueryPlan {
    type More = u8;

    fn ids(&mut self) -> [&mut u32; 2] {
        [&mut self.chosen, &mut self.promoted]
    }

    fn more(&self) -> u8 {
        self.coin
    }
}

impl Family for HalfSets {
    type QueryPlan = QueryPlan;
    type Scratch = PartitionScratch;

    fn left(client: &Client) -> u64 {
        client.hints.backup_stock.left
    }

    /// A hint that contains the row; the query is its set without the row, as set 0 or 1 by a coin.
    fn make_query(
        client: &mut Client,
        row: PartitionPlace,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, QueryPlan)> {
        let promoted = next_pair(&mut client.hints).ok_or(Error::Exhausted(Budget::Left(0)))?;
        let mut coins = Zeroizing::new([0; 17]);
        rng.fill_bytes(coins.as_mut());
        let [coin, uniform @ ..] = *coins;
        let coin = coin & 1;
        let (prf, hints) = (&client.prf, &client.hints);
        let chosen = client.search.choose(prf, hints, row, uniform);
        let found = u32::from(chosen != hints.none());
        let [hint, pair] = [chosen, promoted].map(|id| (id, hints.hint(id)));
        let real = RealSet::choose(found, hint, pair, row.partition);
        let query = real.build(prf, coin, &mut client.scratch)?;
        Ok((query, QueryPlan { chosen, promoted, coin }))
    }

    /// The server adds up both sets: one row of each partition, into the parity of its set.
    #[cfg(feature = "server")]
    fn picks(params: &crate::Params, query: Query) -> (Vec<u16>, Vec<u8>) {
        (query.offsets(params), query.ones)
    }

    /// The row is the parity of the real set xor the parity of the hint.
    fn read(client: &Client, plan: &QueryPlan, Answer(parities): &Answer) -> (Zeroizing<Vec<u8>>, bool) {
        let (zero, one) = parities.split_at(parities.len() / 2);
        let real = plan.coin.wrapping_sub(1);
        let mut row = Zeroizing::new(Vec::with_capacity(zero.len()));
        row.extend(zero.iter().zip(one).map(|(zero, one)| (zero & !real) | (one & real)));
        row.iter_mut().zip(client.hints.parity(plan.chosen)).for_each(|(byte, parity)| *byte ^= parity);
        (row, client.hints.is(plan.chosen, KNOWN))
    }

    /// The half of the next pair without the row's partition, with the row as its extra entry,
    /// replaces the hint. Once the row is read, the frame adds it to the parity.
    fn promote(hints: &mut Hints<HalfSets>, prf: &Prf<HalfSets>, plan: &QueryPlan, row: PartitionPlace) {
        hints::promote(hints, prf, plan.chosen, plan.promoted, row);
    }

    fn replay_query(
        client: &mut Client,
        chosen: u32,
        _: PartitionPlace,
        coin: u8,
    ) -> Result<QueryPlan, &'static str> {
        if coin > 1 {
            return Err("a coin is neither 0 nor 1");
        }
        let promoted = next_pair(&mut client.hints).ok_or("a query beyond the budget")?;
        Ok(QueryPlan { chosen, promoted, coin })
    }

    type FamilyState = ();
    const NOTHING: AnswerEffect<()> = AnswerEffect { promoted: 0, kept: () };

    fn keep(_: &mut Client, _: &OpenQuery<QueryPlan>, _: Option<&[u8]>) {}

    /// Ids whose row in partition k, selected or not, has changed.
    fn follow(hints: &mut Hints<HalfSets>, prf: &Prf<HalfSets>, k: u64, touched: &[(u32, &[u8])]) {
        let ids: Vec<u32> = touched.iter().map(|(id, _)| *id).collect();
        let mut blocks = Blocks::default();
        let blocks = blocks.of(prf.aes(), &ids, |j| [(RANK + k / 16, j), (TIE + k / 4, j)]);
        for ((id, change), [high, low]) in touched.iter().zip(blocks) {
            let hint = hints.hint(*id);
            let inside = rank_in(high, low, k) < hint.set;
            if hint.set == VOID {
                continue;
            } else if *id as usize >= used(hints) {
                let [half, other] = hints.both_mut(*id);
                add(if inside { half } else { other }, change);
            } else if hint.mark & (LIVE | OWED) != 0 && inside != (hint.mark & OUTSIDE != 0) {
                add(hints.parity_mut(*id), change);
            }
        }
    }

    /// Ids that have their extra entry in partition k. A promoted hint has it in its parity once it
    /// is known.
    fn follow_own(client: &mut Client, k: u64, changes: &PartitionDelta<'_>) {
        // There are at most 2^25 ids.
        for id in 0..used(&client.hints) as u32 {
            let (hint, extra) = (client.hints.hint(id), PartitionPlace::of(client.hints.hint(id).entry));
            if u64::from(extra.partition) == k
                && hint.mark & (LIVE | OWED) != 0
                && hint.mark & KNOWN != 0
                && let Some(change) = changes.at(extra.offset)
            {
                add(client.hints.parity_mut(id), change);
            }
        }
    }

    fn effect_is_possible(client: &Client, _: u64, effect: &AnswerEffect<()>) -> bool {
        (client.params.hints()..used(&client.hints)).contains(&(effect.promoted as usize))
    }

    fn query_is_possible(client: &Client, open: &OpenQuery<QueryPlan>) -> bool {
        let QueryPlan { chosen, promoted, coin } = open.plan;
        let spent = chosen == client.hints.none() || client.hints.is(chosen, OWED);
        spent && (client.params.hints()..used(&client.hints)).contains(&(promoted as usize)) && coin < 2
    }
}
