//! The family of S3PIR: halves of partitions, dummy sets next to them, and backups that are pairs
//! of halves.

use crate::backups::BackupPairs;
use crate::hints::{self, KNOWN, OUTSIDE, main, next_pair, used};
use crate::message::Query;
use crate::offline::sums::{HintSums, fold};
use crate::params::ParamsLiteral;
use crate::prf::{RANK, TIE, VOID, rank, rank_in};
use crate::request::{PartitionScratch, RealSet};
use crate::{Client, HalfSets, Params, two_server};
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{Assumption, Budget, CryptoRng, Error, Hiding, Result, SchemeId, SchemeMetadata};
use sotto_hints::codec::{StateReader, reserve};
use sotto_hints::delta::{PartitionDelta, add};
use sotto_hints::one_server::prepare::longer;
use sotto_hints::one_server::prf::{Blocks, lane};
use sotto_hints::one_server::row_order::{below, equal};
use sotto_hints::one_server::{
    Answer, AnswerEffect, Family, Hint, HintFamily, Hints, IdentityOrder, LIVE, OWED, OpenQuery,
    ParamsFamily, PartitionPlace, PassFamily, Plan, Prf, TablePass,
};
use zeroize::{Zeroize, Zeroizing};

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

impl HintFamily for HalfSets {
    /// The cut of the set.
    type Set = u32;
    const KNOWN: u8 = KNOWN;
    const TAGGED: u8 = LIVE;
    const STAYS: u8 = 0;

    fn contains(prf: &Prf<HalfSets>, id: u32, hint: &Hint<u32>, row: PartitionPlace) -> bool {
        let inside = (rank(prf, id, row.partition) < hint.set) != (hint.mark & OUTSIDE != 0);
        inside && prf.offset(id, row.partition) == row.offset || hint.entry == row.number()
    }

    type Looks = Blocks<3>;

    fn look(
        prf: &Prf<HalfSets>,
        row: PartitionPlace,
        (ids, kept): (&[u32], &[Hint<u32>]),
        looks: &mut Blocks<3>,
        contain: &mut [u32],
    ) {
        let k = u64::from(row.partition);
        let inputs = |j: u64| [(RANK + k / 16, j), (TIE + k / 4, j), (HalfSets::OFFSET + k, j / 8)];
        let looked = ids.iter().zip(kept).zip(looks.of(prf.aes(), ids, inputs));
        for (contains, ((id, hint), [high, low, lanes])) in contain.iter_mut().zip(looked) {
            let has = |mark: u8| u32::from(hint.mark & mark != 0);
            let offset = lane(lanes, *id) & prf.mask();
            let inside = below(rank_in(high, low, k), hint.set) ^ has(OUTSIDE);
            let inside = inside & equal(offset.into(), row.offset.into());
            *contains = (inside | equal(hint.entry, row.number())) & has(LIVE);
        }
    }

    type BackupStock = BackupPairs;

    fn searched(hints: &Hints<HalfSets>) -> usize {
        used(hints)
    }
}

impl PassFamily for HalfSets {
    type Sums = HintSums;

    fn pass(params: &Params, prf: &Prf<HalfSets>) -> Result<TablePass<HalfSets>> {
        // There are at most 2^25 ids.
        let (hints, ids) = (params.hints() as u32, params.ids() as u32);
        fold(prf, params.row_bytes(), 0..hints, hints..ids)
    }

    fn harvest(params: &Params, prf: &Prf<HalfSets>, sums: HintSums) -> Result<Hints<HalfSets>> {
        let (mains, pairs) = sums.finish();
        let mut of = Zeroizing::new(Vec::new());
        reserve(&mut of, params.ids() + 1)?;
        of.extend(mains.cuts.iter().zip(mains.extras.iter()).map(|(cut, extra)| main(*cut, *extra)));
        of.extend(pairs.cuts.iter().map(|cut| hints::pair(*cut)));
        of.push(Hint::default());
        let mut parities = Zeroizing::new(Vec::new());
        let row_bytes = params.row_bytes();
        reserve(&mut parities, mains.parities.len() + pairs.halves.len() + row_bytes)?;
        parities.extend_from_slice(&mains.parities);
        parities.extend_from_slice(&pairs.halves);
        parities.resize((params.ids() + 1) * row_bytes, 0);
        let mut stock = BackupPairs::of(params, 0);
        stock.left = pairs.cuts.iter().filter(|cut| **cut != VOID).count() as u64;
        Ok(Hints::new(params, prf, of, [parities, longer(pairs.others, row_bytes)?], stock))
    }
}

impl Family for HalfSets {
    type QueryPlan = QueryPlan;
    type Scratch = PartitionScratch;

    fn left(client: &Client) -> u64 {
        client.hints.stock.left
    }

    fn ask(client: &mut Client, row: PartitionPlace, rng: &mut dyn CryptoRng) -> Result<(Query, QueryPlan)> {
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
        let query = real.build(prf, coin, &mut client.room)?;
        Ok((query, QueryPlan { chosen, promoted, coin }))
    }

    fn again(
        client: &mut Client,
        chosen: u32,
        _: PartitionPlace,
        coin: u8,
    ) -> Result<QueryPlan, &'static str> {
        if coin > 1 {
            return Err("a coin that is none");
        }
        let promoted = next_pair(&mut client.hints).ok_or("a query beyond the budget")?;
        Ok(QueryPlan { chosen, promoted, coin })
    }

    fn promote(hints: &mut Hints<HalfSets>, prf: &Prf<HalfSets>, plan: &QueryPlan, row: PartitionPlace) {
        hints::promote(hints, prf, plan.chosen, plan.promoted, row);
    }

    #[cfg(feature = "server")]
    fn picks(params: &Params, query: Query) -> (Vec<u16>, Vec<u8>) {
        (query.offsets(params), query.ones)
    }

    fn read(client: &Client, plan: &QueryPlan, Answer(parities): &Answer) -> (Zeroizing<Vec<u8>>, bool) {
        let (zero, one) = parities.split_at(parities.len() / 2);
        let real = plan.coin.wrapping_sub(1);
        let mut row = Zeroizing::new(Vec::with_capacity(zero.len()));
        row.extend(zero.iter().zip(one).map(|(zero, one)| (zero & !real) | (one & real)));
        row.iter_mut().zip(client.hints.parity(plan.chosen)).for_each(|(byte, parity)| *byte ^= parity);
        (row, client.hints.is(plan.chosen, KNOWN))
    }

    type FamilyState = ();
    const NOTHING: AnswerEffect<()> = AnswerEffect { promoted: 0, kept: () };

    fn keep(_: &mut Client, _: &OpenQuery<QueryPlan>, _: Option<&[u8]>) {}

    /// The current parity, which reveals no more than the state does.
    fn learnt(client: &Client, _: u64, promoted: u32) -> (bool, &[u8]) {
        (client.hints.is(promoted, KNOWN), client.hints.parity(promoted))
    }

    fn learn_again(client: &mut Client, asked: &OpenQuery<QueryPlan>, parity: Option<&[u8]>) {
        client.apply_answer(asked, None);
        if let Some(parity) = parity {
            client.hints.set_parity(asked.plan.promoted, parity);
        }
    }

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

    fn can_have_learnt(client: &Client, _: u64, learnt: &AnswerEffect<()>) -> bool {
        (client.params.hints()..used(&client.hints)).contains(&(learnt.promoted as usize))
    }

    fn can_wait(client: &Client, asked: &OpenQuery<QueryPlan>) -> bool {
        let QueryPlan { chosen, promoted, coin } = asked.plan;
        let spent = chosen == client.hints.none() || client.hints.is(chosen, OWED);
        spent && (client.params.hints()..used(&client.hints)).contains(&(promoted as usize)) && coin < 2
    }

    fn put_supply(client: &Client, block: u64, out: &mut Vec<u8>) {
        two_server::blocks::put(client, block, out);
    }

    fn supply_bytes(client: &Client) -> usize {
        client.hints.stock.block * client.params.row_bytes()
    }

    fn replay_supply(client: &mut Client, block: u64, from: &mut StateReader<'_>) -> Result<()> {
        two_server::blocks::replay(client, block, from)
    }
}
