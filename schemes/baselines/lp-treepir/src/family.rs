//! The family of TreePIR: sets with one row of each partition, which hide where they are punctured.

use crate::message::{Query, of_partition};
use crate::partition_offset::{PartitionOffset, containing, has};
use crate::select_hint::choose;
use crate::{Params, PrivatelyPuncturedSets};
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{Assumption, CryptoRng, Hiding, SchemeId, SchemeMetadata, TwoServers, work};
use sotto_hints::two_server::{
    Answer, DraftQuery, Family, FamilyReport, Hint, KeyedSets, ParamsFamily, Plan, Set, Trees, Workspace,
};
use std::ops::Range;
use zeroize::Zeroize;

/// The secret data of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Zeroize, BorshSerialize, BorshDeserialize)]
pub struct QueryPlan {
    /// The slot in which a hint was spent; M if none had the row.
    pub(crate) slot: u32,
    /// The place of the requested row.
    pub(crate) place: PartitionOffset,
}

impl Plan<PrivatelyPuncturedSets> for QueryPlan {
    fn slot(&self) -> u32 {
        self.slot
    }

    fn spends(&self) -> bool {
        true
    }

    fn is_possible(&self, params: &Params) -> bool {
        self.slot as usize <= params.hints() && self.place.is_of(params)
    }
}

/// Operations for a step from a root to a leaf, when a path of each tree is grown for a query:
/// blocks under the tree's own key.
const STEP_OPS: u64 = 3 * work::AES_BLOCK;

/// Operations for a byte of an answer, which has a parity for each partition; measured.
const ANSWER_BYTE_OPS: u64 = 85;

/// Operations for a byte of an answer at the client, which reads all parities; measured.
const READ_BYTE_OPS: u64 = 80;

impl ParamsFamily for PrivatelyPuncturedSets {
    const ID: SchemeId = SchemeId("lp-treepir/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "TreePIR of Lazzaretti and Papamanthou (CRYPTO 2023), two servers",
        paper: "https://eprint.iacr.org/2023/204",
        hiding: &[Hiding::Preparation, Hiding::Splitting],
        assumptions: &[Assumption::Aes],
        client_keeps: "hints that one server made, each spent by a query",
        is_baseline: true,
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    type Word = u16;
    type Query = Query;

    fn number_bits(k: u32) -> u32 {
        k / 2
    }

    /// Number of rows of an answer: for each partition the parity of the set as if its row were
    /// missing.
    fn answer_rows(partitions: u64) -> u64 {
        partitions
    }

    fn promise(params: &Params) -> FamilyReport {
        let (trees, row_bytes) = (params.trees(), params.row_bytes() as u64);
        FamilyReport {
            server_ops: guessed_rows(&trees) * (work::FIND_ROW + row_bytes * work::READ_BYTE)
                + Self::answer_rows(params.numbers() as u64) * row_bytes * ANSWER_BYTE_OPS,
            client_ops: params.hints() as u64 * u64::from(trees.depth() + 1) * STEP_OPS
                + Self::answer_rows(params.numbers() as u64) * row_bytes * READ_BYTE_OPS,
model: "128-bit seeds of trees, each under an AES-128 key of its own as an ideal cipher (Matyas-Meyer-Oseas), if the \
servers do not \
                    collude"
                .into(),
            details: sotto_core::report_details(|| vec![
                ("c", params.numbers().to_string()),
                ("w", (1u32 << params.ratio_bits()).to_string()),
            ]),
        }
    }

    fn row(params: &Params, position: u32, number: u16) -> u64 {
        u64::from(position) << params.ratio_bits() | u64::from(number)
    }
}

impl Family for PrivatelyPuncturedSets {
    type QueryPlan = QueryPlan;
    type ExtraState = ();

    fn own(_: &Params) {}

    fn sets(
        keyed: &KeyedSets<u16>,
        ids: Range<u32>,
        _: &mut Workspace<Self>,
        mut each: impl FnMut(u32, Set<u16>),
    ) {
        ids.for_each(|id| each(id, keyed.candidate(id, 0)));
    }

    fn make_query(
        params: &Params,
        hints: &[Hint<u16>],
        row: u64,
        Workspace { trees, .. }: &mut Workspace<Self>,
        rng: &mut dyn CryptoRng,
    ) -> DraftQuery<Self> {
        let place = PartitionOffset::of(params, row);
        let slot = choose(trees, hints, place, rng.next_u64());
        let fresh = containing(place, trees, rng);
        let mut spare = containing(place, trees, rng);
        // Without a hint the row is lost: 2^-40 over the whole budget, so nobody will ever observe
        // this branch.
        let mut hint = hints.get(slot as usize).map_or(spare, |hint| hint.set);
        let [first, second] = [&hint, &fresh].map(|set| Query::new(trees, set, place.partition));
        [&mut spare, &mut hint].into_iter().for_each(Zeroize::zeroize);
        DraftQuery { queries: TwoServers(first, second), plan: QueryPlan { slot, place }, fresh }
    }

    fn is_fresh(_: &Params, plan: &QueryPlan, fresh: &Set<u16>, tools: &mut Workspace<Self>) -> bool {
        has(fresh, plan.place, &tools.trees) == 1
    }

    #[cfg(feature = "server")]
    fn answer(params: &Params, rows: &[u8], query: &Query) -> Answer {
        Answer(crate::guesses::GuessParities::new(params, rows).all(&params.trees(), query))
    }

    /// Adds rows of eight partitions to all parities, and then of the next eight, so that their
    /// rows stay in a cache.
    #[cfg(feature = "server")]
    fn fill_parities(
        params: &Params,
        rows: &[u8],
        keyed: &KeyedSets<u16>,
        first: u32,
        Workspace { trees, .. }: &mut Workspace<Self>,
        parities: &mut [u8],
    ) {
        use crate::partition_offset::{EIGHT, blocks_at};
        use sotto_hints::two_server::TreeNumber;
        use zeroize::Zeroizing;
        let (partitions, row_bytes) = (params.numbers(), params.row_bytes());
        let count = parities.len() / row_bytes;
        let sets: Zeroizing<Vec<_>> =
            Zeroizing::new((first..).take(count).map(|id| keyed.candidate(id, 0)).collect());
        let salts: Vec<_> = sets.iter().map(|set| set.root.salt).collect();
        let seeds = Zeroizing::new(sets.iter().map(|set| set.root.seed).collect::<Vec<_>>());
        let mut blocks = seeds.clone();
        for partition in (0..partitions).step_by(1 << EIGHT) {
            blocks.copy_from_slice(&seeds);
            // The partition is below 2^16.
            blocks_at(trees, &salts, &mut blocks, partition as u32);
            let of_each = sets.iter().zip(blocks.iter()).zip(parities.chunks_exact_mut(row_bytes));
            for ((set, block), parity) in of_each {
                let offsets =
                    u16::words(block).map(|number| usize::from((number ^ set.shift) & trees.mask()));
                let places = (partition..partitions).zip(offsets);
                let places = places.map(|(l, offset)| l << params.ratio_bits() | offset);
                sotto_hints::two_server::server::add(rows, places, parity);
            }
        }
    }

    fn read(
        _: &Params,
        plan: &QueryPlan,
        TwoServers(first, second): TwoServers<&Answer>,
        spent: &[u8],
        row: &mut [u8],
        parity: &mut [u8],
    ) {
        of_partition(first, plan.place.partition, row);
        row.iter_mut().zip(spent).for_each(|(byte, term)| *byte ^= term);
        of_partition(second, plan.place.partition, parity);
        parity.iter_mut().zip(row).for_each(|(byte, row)| *byte ^= *row);
    }
}

/// Number of rows that a server reads for one query.
pub(crate) fn guessed_rows(trees: &Trees<u16>) -> u64 {
    let all = trees.numbers();
    let below = |children: usize| 2 * (all - all / children) as u64;
    (0..trees.depth()).map(|level| below(trees.fan(level))).sum::<u64>() + below(trees.span(trees.depth()))
}
