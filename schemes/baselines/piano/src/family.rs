//! The family of Piano: whole sets, a replacement entry in place of the row, and backups that
//! belong to partitions.

use crate::answered_rows::{AnsweredRows, NEVER};
use crate::hints::{
    self, BackupsUsed, FRESH, HintSums, KNOWN, PROMOTED, WAITING, backups, next_backup, replacement,
};
use crate::params::ParamsLiteral;
use crate::places::PartitionPermutation;
use crate::query::{Query, RealOffsets};
use crate::{Client, FullSets, Params};
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{Assumption, CryptoRng, Hiding, Result, SchemeId, SchemeMetadata};
use sotto_hints::delta::{PartitionDelta, add};
use sotto_hints::one_server::prepare::longer;
use sotto_hints::one_server::prf::{Blocks, lane};
use sotto_hints::one_server::query::RequestScratch;
use sotto_hints::one_server::row_order::{equal, pick};
use sotto_hints::one_server::{
    Answer, AnswerEffect, Family, Hint, HintFamily, Hints, LIVE, OWED, OpenQuery, ParamsFamily,
    PartitionPlace, PassFamily, Plan, Prf, TablePass,
};
use std::hint::black_box;
use zeroize::{Zeroize, Zeroizing};

/// The secret data of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Zeroize, BorshSerialize, BorshDeserialize)]
pub struct QueryPlan {
    /// The place of the row.
    place: u32,
    /// The spent hint, followed by the backup that replaced it. Both are none if no hint contained
    /// the row, the partition had no backup, or the row was requested before.
    chosen: u32,
    pub(crate) promoted: u32,
    /// The earlier query for the same row, or [`NEVER`].
    before: u32,
}

impl Plan for QueryPlan {
    type More = u32;

    fn ids(&mut self) -> [&mut u32; 2] {
        [&mut self.chosen, &mut self.promoted]
    }

    fn more(&self) -> u32 {
        self.before
    }
}

impl ParamsFamily for FullSets {
    const ID: SchemeId = SchemeId("piano/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "Piano (S&P 2024), one server",
        paper: "https://eprint.iacr.org/2023/452",
        hiding: &[Hiding::Preparation],
        assumptions: &[Assumption::Aes],
        client_keeps: "hints computed from one stream of the table, each spent by a query, and rows that were read",
        is_baseline: true,
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };

    type Literal = ParamsLiteral;
    const ANSWER_ROWS: usize = 1;
    type Order = PartitionPermutation;

    const OFFSET: u64 = 1 << 56;
    const TAG: u64 = 3 << 56;
    const NAME: u64 = 4 << 56;
    type Query = Query;
}

impl HintFamily for FullSets {
    type Set = ();
    const KNOWN: u8 = KNOWN;
    const TAGGED: u8 = LIVE | PROMOTED;
    /// The query that promoted the hint may still be open.
    const STAYS: u8 = WAITING;

    fn contains(prf: &Prf<FullSets>, id: u32, hint: &Hint<()>, row: PartitionPlace) -> bool {
        match PartitionPlace::of(hint.entry) {
            own if hint.mark & PROMOTED != 0 && own.partition == row.partition => own == row,
            _ => prf.offset(id, row.partition) == row.offset,
        }
    }

    type Looks = Blocks<1>;

    fn look(
        prf: &Prf<FullSets>,
        row: PartitionPlace,
        (ids, kept): (&[u32], &[Hint<()>]),
        looks: &mut Blocks<1>,
        contain: &mut [u32],
    ) {
        let blocks = looks.of(prf.aes(), ids, |j| [(FullSets::OFFSET + u64::from(row.partition), j / 8)]);
        let looked = ids.iter().zip(kept).zip(blocks);
        for (contains, ((id, hint), [block])) in contain.iter_mut().zip(looked) {
            let has = |mark: u8| u32::from(hint.mark & mark != 0);
            let at_home =
                has(PROMOTED) & equal(PartitionPlace::of(hint.entry).partition.into(), row.partition.into());
            let inside = equal((lane(block, *id) & prf.mask()).into(), row.offset.into());
            *contains = has(LIVE) & pick(at_home, equal(hint.entry, row.number()), inside);
        }
    }

    type BackupStock = BackupsUsed;

    fn searched(hints: &Hints<FullSets>) -> usize {
        hints.none() as usize
    }
}

impl PassFamily for FullSets {
    type Sums = HintSums;

    fn pass(params: &Params, prf: &Prf<FullSets>) -> Result<TablePass<FullSets>> {
        hints::pass(params, prf)
    }

    fn harvest(
        params: &Params,
        prf: &Prf<FullSets>,
        HintSums { run, entries, .. }: HintSums,
    ) -> Result<Hints<FullSets>> {
        let ([parities, _], row_bytes) = (run.finish(), params.row_bytes());
        let rows = [longer(parities, row_bytes)?, longer(entries, row_bytes)?];
        let of = Zeroizing::new(vec![0; params.partitions()]);
        // Below 2^16.
        let backup_stock = BackupsUsed { of, all: params.backups() as u16 };
        Ok(Hints::new(params, prf, hints::fresh(params)?, rows, backup_stock))
    }
}

impl Family for FullSets {
    type QueryPlan = QueryPlan;
    type Scratch = RequestScratch;

    fn left(client: &Client) -> u64 {
        (client.params.queries() as u64).saturating_sub(client.next)
    }

    fn make_query(
        client: &mut Client,
        row: PartitionPlace,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, QueryPlan)> {
        let mut coins = Zeroizing::new([0; 16]);
        rng.fill_bytes(coins.as_mut());
        let (prf, hints) = (&client.prf, &client.hints);
        let before = client.own.find(row, client.next);
        let none = hints.none();
        let chosen = client.search.choose(prf, hints, row, *coins);
        let promoted = next_backup(hints, row.partition);
        let found = equal(before, NEVER) & (1 ^ equal(chosen, none)) & (1 ^ equal(promoted, none));
        let (chosen, promoted) = (pick(found, chosen, none), pick(found, promoted, none));
        // The number is below 2^26: an id of this query's own.
        let unused = none + client.next as u32;
        let instead = PartitionPlace { partition: row.partition, offset: replacement(prf, promoted) };
        let real = RealOffsets::choose(found, (chosen, hints.hint(chosen)), unused, instead);
        let query = real.build(prf, &mut client.scratch);
        Ok((query, QueryPlan { place: row.number(), chosen, promoted, before }))
    }

    fn replay_query(
        client: &mut Client,
        chosen: u32,
        row: PartitionPlace,
        before: u32,
    ) -> Result<QueryPlan, &'static str> {
        let none = client.hints.none();
        if before != NEVER && (chosen != none || u64::from(before) >= client.next) {
            return Err("a repeated query has no first one");
        }
        let promoted = if chosen == none { none } else { next_backup(&client.hints, row.partition) };
        if chosen != none && promoted == none {
            return Err("a query has no backup to promote");
        }
        Ok(QueryPlan { place: row.number(), chosen, promoted, before })
    }

    fn promote(hints: &mut Hints<FullSets>, prf: &Prf<FullSets>, plan: &QueryPlan, row: PartitionPlace) {
        let found = 1 ^ equal(plan.promoted, hints.none());
        let promoted = (plan.promoted, LIVE | WAITING | PROMOTED);
        hints.promote(prf, found as u8, plan.chosen, promoted, row);
        if let Some(used) = hints.backup_stock.of.get_mut(usize::from(row.partition)) {
            *used += found as u16;
        }
    }

    /// All partitions belong to half 0.
    #[cfg(feature = "server")]
    fn picks(params: &Params, query: Query) -> (Vec<u16>, Vec<u8>) {
        (query.offsets, vec![0; params.partitions().div_ceil(8)])
    }

    fn read(client: &Client, plan: &QueryPlan, Answer(answer): &Answer) -> (Zeroizing<Vec<u8>>, bool) {
        let again = 1 ^ equal(plan.before, NEVER);
        let keep = (again as u8).wrapping_neg();
        let (parity, entry) = (client.hints.parity(plan.chosen), client.hints.second(plan.promoted));
        // As long as the answer, whose length is public: those of the parts follow from secret offsets.
        let mut row = Zeroizing::new(vec![0; answer.len()]);
        let new = answer.iter().zip(parity.iter().zip(entry)).map(|(sum, (hint, entry))| sum ^ hint ^ entry);
        let seen = client.own.row(plan.before);
        let bytes = new.zip(seen).map(|(new, seen)| (new & !keep) | (seen & keep));
        row.iter_mut().zip(bytes).for_each(|(row, byte)| *row = byte);
        let new = u32::from(client.hints.is(plan.chosen, KNOWN));
        let known = pick(again, u32::from(client.own.is_known(plan.before)), new) == 1;
        (row, known)
    }

    type FamilyState = AnsweredRows;
    const NOTHING: AnswerEffect<u32> = AnswerEffect { promoted: u32::MAX, kept: NEVER };

    fn keep(client: &mut Client, open_queries: &OpenQuery<QueryPlan>, row: Option<&[u8]>) -> u32 {
        let QueryPlan { place, promoted, before, .. } = open_queries.plan;
        client.hints.second_mut(promoted).zeroize();
        if let Some(hint) = client.hints.of.get_mut(promoted as usize) {
            hint.mark &= !WAITING;
        }
        // The number is below 2^24. A row that was requested before is stored already: there is no
        // query NEVER. The black box keeps the selection from becoming a branch.
        let (number, again) = (open_queries.number as u32, black_box(1 ^ equal(before, NEVER)));
        client.own.put(pick(again, NEVER, number), place, row);
        pick(again, before, number)
    }

    /// Hints and backups of other partitions have the row that the key determines.
    fn follow(hints: &mut Hints<FullSets>, _: &Prf<FullSets>, k: u64, touched: &[(u32, &[u8])]) {
        let home = backups(hints.first_backup(), hints.backup_stock.all, k);
        for (id, change) in touched {
            if !home.contains(id) && hints.is(*id, LIVE | OWED | FRESH) {
                add(hints.parity_mut(*id), change);
            }
        }
    }

    /// Promoted backups of this partition have their own entry in their parity once it is known,
    /// and backups whose replacement entry is still needed have that.
    fn follow_own(client: &mut Client, k: u64, changes: &PartitionDelta<'_>) {
        let hints = &mut client.hints;
        for id in backups(hints.first_backup(), hints.backup_stock.all, k) {
            let hint = hints.hint(id);
            if hint.mark & PROMOTED != 0
                && hint.mark & KNOWN != 0
                && let Some(change) = changes.at(PartitionPlace::of(hint.entry).offset)
            {
                add(hints.parity_mut(id), change);
            }
            if hint.mark & (FRESH | WAITING) != 0
                && let Some(change) = changes.at(replacement(&client.prf, id))
            {
                add(hints.second_mut(id), change);
            }
        }
        client.own.each_known(client.next, |number, row| {
            let place = PartitionPlace::of(number);
            if u64::from(place.partition) == k
                && let Some(change) = changes.at(place.offset)
            {
                add(row, change);
            }
        });
    }

    fn effect_is_possible(client: &Client, number: u64, effect: &AnswerEffect<u32>) -> bool {
        let (id, hints) = (effect.promoted as usize, &client.hints);
        let is = (hints.first_backup()..hints.of.len()).contains(&id);
        is && u64::from(effect.kept) <= number && !hints.is(effect.promoted, FRESH)
    }

    fn query_is_possible(client: &Client, open: &OpenQuery<QueryPlan>) -> bool {
        let QueryPlan { place, chosen, promoted, before } = open.plan;
        let none = client.hints.none();
        let spent = client.hints.is(chosen, OWED) && client.hints.is(promoted, WAITING);
        let nothing = chosen == none && promoted == none;
        let repeats = before == NEVER || nothing && u64::from(before) < open.number;
        client.params.has(PartitionPlace::of(place)) && repeats && (spent || nothing)
    }
}
