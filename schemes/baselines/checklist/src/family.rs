//! The family of Checklist: sets of s different places among n, whose members all look alike.

use crate::query::{FIRST, Query, QueryPair, SECOND, SPEND, build};
use crate::select_hint::choose;
use crate::set::{SeenBits, each, either};
use crate::{Params, PuncturedSets, set};
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{Assumption, CryptoRng, Hiding, SchemeId, SchemeMetadata, TwoServers, work};
use sotto_hints::two_server::{
    Answer, DraftQuery, Family, FamilyReport, Hint, KeyedSets, ParamsFamily, Plan, Set, Workspace,
};
use std::hint::black_box;
use std::ops::Range;
use zeroize::Zeroize;

/// The secret data of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Zeroize, BorshSerialize, BorshDeserialize)]
pub struct QueryPlan {
    /// The form of the query, one of three.
    pub(crate) form: u8,
    /// The slot in which a hint was spent; M for none.
    pub(crate) slot: u32,
}

impl Plan<PuncturedSets> for QueryPlan {
    fn slot(&self) -> u32 {
        self.slot
    }

    fn spends(&self) -> bool {
        self.form == SPEND
    }

    fn is_possible(&self, params: &Params) -> bool {
        let none = params.hints() as u32;
        self.form <= SECOND && self.slot <= none && (self.form == SPEND || self.slot == none)
    }
}

/// Operations for a member of a set, when all sets are grown for a query; measured.
const NUMBER_OPS: u64 = 90;

/// Operations for a set that is grown, in addition to its members: the key schedule of its tree, and
/// the tree's upper levels; measured.
const SET_OPS: u64 = 95_000;

impl ParamsFamily for PuncturedSets {
    const ID: SchemeId = SchemeId("checklist/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "Checklist (USENIX Security 2021), two servers",
        paper: "https://eprint.iacr.org/2021/345",
        hiding: &[Hiding::Preparation, Hiding::Splitting],
        assumptions: &[Assumption::Aes],
        client_keeps: "hints that one server made, each spent by a query",
        is_baseline: true,
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    type Word = u32;
    type Query = Query;

    fn number_bits(k: u32) -> u32 {
        k
    }

    /// The parity of the set's rows, and then the row of the extra place.
    fn answer_rows(_: u64) -> u64 {
        2
    }

    fn promise(params: &Params) -> FamilyReport {
        let (s, bits) = (params.numbers() as u64, params.bits());
        FamilyReport {
            server_ops: s * (work::FIND_ROW + params.row_bytes() as u64 * work::READ_BYTE),
            client_ops: params.hints() as u64 * (SET_OPS + s * NUMBER_OPS),
            model: format!(
                "128-bit seeds of trees, each under an AES-128 key of its own as an ideal cipher (Matyas-Meyer-Oseas), if the \
                 servers do not collude; members of sets are uniform among 2^{bits} places"
            ),
            details: sotto_core::report_details(|| {
                vec![("n", (1u64 << bits).to_string()), ("s", s.to_string())]
            }),
        }
    }

    fn row(_: &Params, _: u32, number: u32) -> u64 {
        number.into()
    }
}

impl Family for PuncturedSets {
    type QueryPlan = QueryPlan;
    type ExtraState = SeenBits;

    fn own(params: &Params) -> SeenBits {
        SeenBits::new(params)
    }

    fn sets(
        keyed: &KeyedSets<u32>,
        ids: Range<u32>,
        tools: &mut Workspace<Self>,
        mut give: impl FnMut(u32, Set<u32>),
    ) {
        each(keyed, ids, tools, |id, set, _| give(id, set));
    }

    fn make_query(
        _: &Params,
        hints: &[Hint<u32>],
        row: u64,
        tools: &mut Workspace<Self>,
        rng: &mut dyn CryptoRng,
    ) -> DraftQuery<Self> {
        // Places are numbered with 32 bits.
        let place = row as u32;
        let (slot, position) = choose(&tools.trees, hints, place, rng.next_u64(), &mut tools.scratch);
        let found = hints.get(slot as usize).map(|hint| (hint.set, position));
        let QueryPair { queries, form, fresh } = build(place, found, tools, rng);
        let slot = either(u32::from(form == SPEND), [hints.len() as u32, slot]);
        DraftQuery { queries, plan: QueryPlan { form, slot }, fresh }
    }

    fn is_fresh(_: &Params, _: &QueryPlan, fresh: &Set<u32>, tools: &mut Workspace<Self>) -> bool {
        set::is_one(fresh, tools)
    }

    #[cfg(feature = "server")]
    fn answer(params: &Params, rows: &[u8], query: &Query) -> Answer {
        use sotto_hints::two_server::server::add;
        let row_bytes = params.row_bytes();
        let mut answer = zeroize::Zeroizing::new(vec![0; 2 * row_bytes]);
        let (parity, extra) = answer.split_at_mut(row_bytes);
        query.members(&params.trees(), |places| add(rows, places, parity));
        add(rows, std::iter::once(query.extra as usize), extra);
        Answer(answer)
    }

    #[cfg(feature = "server")]
    fn fill_parities(
        params: &Params,
        rows: &[u8],
        keyed: &KeyedSets<u32>,
        first: u32,
        tools: &mut Workspace<Self>,
        parities: &mut [u8],
    ) {
        let row_bytes = params.row_bytes();
        // Below 2^32.
        let ids = first..first + (parities.len() / row_bytes) as u32;
        each(keyed, ids, tools, |id, set, numbers| {
            let at = (id - first) as usize * row_bytes;
            let parity = parities.get_mut(at..at + row_bytes).unwrap_or_default();
            let places = numbers.iter().map(|number| (number ^ set.shift) as usize);
            sotto_hints::two_server::server::add(rows, places, parity);
        });
    }

    fn read(
        _: &Params,
        plan: &QueryPlan,
        TwoServers(first, second): TwoServers<&Answer>,
        spent: &[u8],
        row: &mut [u8],
        parity: &mut [u8],
    ) {
        // The black box keeps the mask from becoming a branch.
        let is = |form: u8| black_box(u8::from(plan.form == form).wrapping_neg());
        let [(parity_0, extra_0), (parity_1, extra_1)] =
            [first, second].map(|answer| answer.0.split_at(answer.0.len() / 2));
        let terms = [
            (parity_0, u8::MAX),
            (parity_1, is(FIRST) | is(SECOND)),
            (extra_0, is(FIRST)),
            (extra_1, is(SECOND)),
            (spent, is(SPEND)),
        ];
        for (bytes, mask) in terms {
            row.iter_mut().zip(bytes).for_each(|(byte, term)| *byte ^= term & mask);
        }
        parity.iter_mut().zip(parity_1.iter().zip(row)).for_each(|(byte, (one, row))| *byte = one ^ *row);
    }
}
