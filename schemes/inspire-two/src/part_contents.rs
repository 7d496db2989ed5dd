//! The contents of a table's part: some numbers of the first layer, and some groups of the masks
//! that the second one selects.

use crate::params::Params;
use sotto_core::{Params as _, PartIndex};
use sotto_math::matrix::PanelLayout;
use sotto_silent::lattice::weight_layout;
use std::ops::Range;

/// Numbers that are not divided: two rows of the matrix each and three of the weights, and both in
/// whole panels.
const TOGETHER: usize = 64;

/// The contents of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartContents {
    /// Numbers of all blocks, one block after the other.
    pub(crate) numbers: Range<usize>,
    /// Groups of masks.
    pub(crate) groups: Range<usize>,
    /// Whether it is the first part, which has the mask of the only block where there is one.
    pub(crate) first: bool,
}

impl PartContents {
    /// The contents of a whole table.
    pub(crate) fn all(params: &Params) -> Self {
        let [groups, _] = params.groups();
        PartContents { numbers: 0..params.numbers() * params.blocks(), groups: 0..groups.len(), first: true }
    }

    /// The contents of one part.
    pub(crate) fn of(params: &Params, cut: PartIndex) -> Self {
        let all = PartContents::all(params);
        let numbers = cut.share(Self::most(params));
        let number = |units: u64| (units as usize * TOGETHER).min(all.numbers.end);
        let groups = cut.share(all.groups.end as u64);
        PartContents {
            numbers: number(numbers.start)..number(numbers.end),
            groups: groups.start as usize..groups.end as usize,
            first: cut.part() == 0,
        }
    }

    /// Maximum number of parts.
    pub(crate) fn most(params: &Params) -> u64 {
        PartContents::all(params).numbers.end.div_ceil(TOGETHER) as u64
    }

    /// The part's rows of the matrix.
    pub(crate) fn matrix(&self, params: &Params) -> PanelLayout {
        PanelLayout::new(2 * self.numbers.len(), params.columns())
    }

    /// The part's rows of the second matrix.
    fn masks(&self, params: &Params) -> PanelLayout {
        let all = params.literal().masks();
        match params.picks() {
            0 if self.first => all,
            0 => PanelLayout::new(0, all.cols()),
            _ => params.literal().masks_of(self.groups.clone()),
        }
    }

    /// The offsets of matrix, weights, masks and the masks' weights in the part's image, and its
    /// end.
    pub(crate) fn starts(&self, params: &Params) -> [u64; 5] {
        let [_, bits] = params.bits();
        let packings = params.literal().packings_of(self.groups.clone());
        let packing = packings.iter().map(|groups| groups.bytes(bits.mask)).sum::<u64>();
        let layouts = [self.matrix(params), weight_layout(self.numbers.len(), 1), self.masks(params)];
        let [matrix, weights, masks] = layouts.map(|layout| layout.bytes() as u64);
        [0, matrix, matrix + weights, matrix + weights + masks, matrix + weights + masks + packing]
    }

    /// Bytes of the part's image.
    pub(crate) fn bytes(&self, params: &Params) -> u64 {
        let [.., end] = self.starts(params);
        end
    }

    /// The byte ranges of the whole image that the part has, in order.
    pub(crate) fn holds(&self, params: &Params) -> Vec<Range<u64>> {
        // The first part has the whole mask of an only block, and others come after it.
        let before =
            PartContents { numbers: 0..self.numbers.start, groups: 0..self.groups.start, first: !self.first };
        let lengths = |share: &PartContents| {
            let [_, matrix, weights, masks, _] = share.starts(params);
            [matrix, weights - matrix, masks - weights]
        };
        let [_, matrix, weights, masks, _] = params.literal().starts();
        let begins = [0, matrix, weights].into_iter().zip(lengths(&before)).map(|(at, before)| at + before);
        let ranges = begins.zip(lengths(self)).map(|(begin, bytes)| begin..begin + bytes);
        let mut all: Vec<Range<u64>> = ranges.collect();
        let ([_, bits], mut start, mut first) = (params.bits(), masks, 0);
        for groups in params.literal().packings() {
            let local = |group: usize| group.clamp(first, first + groups.count()) - first;
            let mine = local(self.groups.start)..local(self.groups.end);
            let ranges = groups.bytes_of(&mine, bits.mask);
            all.extend(ranges.map(|range| start + range.start..start + range.end));
            (start, first) = (start + groups.bytes(bits.mask), first + groups.count());
        }
        all
    }
}
