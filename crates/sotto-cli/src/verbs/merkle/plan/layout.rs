//! The layouts of a log for proofs, and the tables of each.

use crate::failure::{Failure, Result};
use sotto_catalog::stack::MAX_FILE_BYTES;
use sotto_layers::ProofLayout;
use sotto_layers::batch_code::code::CodeSizes;
use std::collections::BTreeMap;

/// Name of a batch code over all nodes.
const PBC: &str = "pbc";

/// Bytes of a hash.
const HASH: u64 = 32;

/// Maximum number of public layers that are tried.
const MAX_PUBLIC: u8 = 24;

/// Minimum ratio of the bytes of the leaves' hashes to the public bytes: a client that downloads
/// more may as well fetch everything.
const MIN_PRIVATE: u64 = 4;

/// Maximum number of leaves of a log.
const MAX_LEAVES: u64 = 1 << 40;

/// The kind of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A layer that is designed for trees.
    Design(ProofLayout),
    /// A batch code over all nodes, independent of the tree.
    Batch(CodeSizes),
}

/// A group of equal tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    /// Rows in each table, or in each of its buckets.
    pub(crate) rows: u64,
    /// Buckets of each table, of which one lookup returns a row each; 1 in ordinary tables.
    pub(crate) buckets: u64,
    /// Bytes in a row.
    pub(crate) row_bytes: u64,
    /// Number of tables.
    pub(crate) tables: u64,
    /// Lookups of a proof in each table.
    pub(crate) visits: u64,
}

/// A layout, and its tables for a log of some length.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) kind: Kind,
    pub(crate) groups: Vec<Group>,
    /// Bytes that every client downloads, whatever the scheme.
    pub(crate) public_bytes: u64,
}

impl Layout {
    /// The tables of a design.
    pub(crate) fn of(design: ProofLayout, leaves: u64) -> Result<Self> {
        let mut alike = BTreeMap::new();
        for rows in design.shards(leaves).map_err(|e| Failure::usage(e.to_string()))? {
            *alike.entry(rows).or_default() += 1;
        }
        let row_bytes = design.row_bytes() as u64;
        let group = |(rows, tables)| Group { rows, buckets: 1, row_bytes, tables, visits: 1 };
        let groups = alike.into_iter().map(group);
        // Besides the levels, a hash for each bit of the log's length.
        let public = design.public_hashes(leaves) + u64::from(leaves.count_ones());
        Ok(Layout { kind: Kind::Design(design), groups: groups.collect(), public_bytes: public * HASH })
    }

    /// Layouts by color, with each number of public layers, beginning with none.
    pub(crate) fn colors(leaves: u64) -> Result<Vec<Self>> {
        let height = height(leaves);
        let color = |public| ProofLayout::Color { layers: height - public, public };
        let all = (0..height.min(MAX_PUBLIC + 1)).map(|public| Self::of(color(public), leaves));
        let all = all.collect::<Result<Vec<_>>>()?;
        Ok(all.into_iter().filter(|layout| layout.is_sensible(leaves)).collect())
    }

    /// Whether the public part fits into a file, and is small compared with the rest. A few hashes
    /// always are.
    fn is_sensible(&self, leaves: u64) -> bool {
        self.public_bytes <= MAX_FILE_BYTES
            && self.public_bytes.saturating_mul(MIN_PRIVATE) <= leaves.saturating_mul(HASH).max(64 * HASH)
    }

    /// All complete nodes below the root in one batch code, with as many lookups in a request as a
    /// proof has hashes.
    pub(crate) fn batch(leaves: u64) -> Option<Self> {
        let height = height(leaves);
        let rows = (0..height).map(|level| leaves >> level).sum();
        let sizes = CodeSizes::fit(rows, height.into()).ok()?;
        let group = |rows, tables: usize, visits: usize| Group {
            rows,
            buckets: 1,
            row_bytes: HASH,
            tables: tables as u64,
            visits: visits as u64,
        };
        let buckets = group(sizes.bucket_rows(), sizes.copies * sizes.buckets, 1);
        let groups = [buckets, group(rows, usize::from(sizes.spare > 0), sizes.spare)];
        let groups = groups.into_iter().filter(|group| group.tables > 0).collect();
        let public_bytes = u64::from(leaves.count_ones()) * HASH;
        Some(Layout { kind: Kind::Batch(sizes), groups, public_bytes })
    }

    /// The tables for a scheme that queries a row of each bucket: tables of similar size become
    /// one.
    pub(crate) fn joined(&self) -> Vec<Group> {
        let mut left = match self.kind {
            Kind::Design(design) => design.alike(),
            Kind::Batch(sizes) => sizes.copies * sizes.buckets,
        } as u64;
        let (alike, others): (Vec<Group>, Vec<Group>) = self.groups.iter().partition(|group| {
            let fits = group.tables <= left;
            left -= if fits { group.tables } else { 0 };
            fits
        });
        let one = alike.iter().map(|group| group.rows).max().map(|rows| {
            let buckets = alike.iter().map(|group| group.tables).sum();
            Group {
                rows,
                buckets,
                row_bytes: self.groups.first().map_or(HASH, |group| group.row_bytes),
                tables: 1,
                visits: 1,
            }
        });
        one.into_iter().chain(others).collect()
    }

    /// Number of lookups of a proof.
    pub(crate) fn lookups(&self) -> u64 {
        self.groups.iter().map(|group| group.tables * group.visits).sum()
    }

    /// Bytes of all tables.
    pub(crate) fn private_bytes(&self) -> u64 {
        self.groups.iter().map(|group| group.rows * group.row_bytes * group.tables).sum()
    }

    /// The name of the layout: a value of `--design`, with further properties.
    pub(crate) fn title(&self) -> String {
        match self.kind {
            Kind::Design(design) => title(design),
            Kind::Batch(_) => PBC.to_owned(),
        }
    }
}

/// The name of a design.
pub(crate) fn title(design: ProofLayout) -> String {
    match design {
        ProofLayout::Tile { levels: 1 } => "tile".to_owned(),
        ProofLayout::Tile { .. } => "tiles".to_owned(),
        ProofLayout::Color { public: 0, .. } => "color".to_owned(),
        ProofLayout::Color { public, .. } => format!("color, {public} public"),
        ProofLayout::Batch(_) => PBC.to_owned(),
    }
}

/// Number of layers of a log's tree below the root.
pub(crate) fn height(leaves: u64) -> u8 {
    leaves.max(2).next_power_of_two().ilog2() as u8
}

/// All layouts, in families of which one is shown.
pub(crate) fn families(leaves: u64) -> Result<Vec<Vec<Layout>>> {
    if leaves == 0 {
        return Err(Failure::input("the log has no entries"));
    }
    if leaves > MAX_LEAVES {
        return Err(Failure::usage(format!("{leaves} leaves exceed the maximum of 2^40")));
    }
    let mut colors = Layout::colors(leaves)?;
    let some = colors.split_off(colors.len().min(1));
    let tile = |levels| Layout::of(ProofLayout::Tile { levels }, leaves);
    // A second level of tiles is useful if there is a full tile on it.
    let second = if leaves >> 16 > 0 { vec![tile(2)?] } else { Vec::new() };
    let mut families = vec![colors, some, vec![tile(1)?], second];
    families.push(Layout::batch(leaves).into_iter().collect());
    for family in &mut families {
        family.retain(|layout| layout.is_sensible(leaves));
    }
    families.retain(|family| !family.is_empty());
    Ok(families)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(leaves: u64, family: usize) -> Layout {
        families(leaves).unwrap()[family][0].clone()
    }

    #[test]
    fn a_log_of_a_power_of_two_is_counted_by_hand() {
        let leaves = 1 << 20;
        let all = one(leaves, 0);
        // Every node but the root, in 20 colors.
        assert_eq!((all.lookups(), all.private_bytes(), all.public_bytes), (20, 32 * (2 * leaves - 2), 32));
        let eight = &families(leaves).unwrap()[1][7];
        assert_eq!(eight.lookups(), 12);
        assert_eq!(eight.private_bytes() + eight.public_bytes, 32 * (2 * leaves - 2) + 32);
        let tile = one(leaves, 2);
        assert_eq!((tile.lookups(), tile.private_bytes()), (1, 32 * leaves));
        assert_eq!(tile.public_bytes, 32 * (4096 + 1));
        let tiles = one(leaves, 3);
        assert_eq!((tiles.lookups(), tiles.public_bytes), (2, 32 * (16 + 1)));
        let batch = one(leaves, 4);
        assert_eq!(batch.lookups(), 30);
        // A scheme that asks for a row of each bucket has them in one table, but for levels of tiles.
        let joined = |layout: &Layout| -> Vec<_> {
            layout.joined().iter().map(|group| (group.tables, group.buckets, group.visits)).collect()
        };
        assert_eq!((joined(&all), joined(eight)), (vec![(1, 20, 1)], vec![(1, 12, 1)]));
        assert_eq!((joined(&batch), joined(&tiles)), (vec![(1, 30, 1)], vec![(1, 1, 1), (1, 1, 1)]));
        assert_eq!(all.joined()[0].rows, all.groups.iter().map(|group| group.rows).max().unwrap());
    }

    #[test]
    fn lengths_at_the_ends_are_laid_out_or_refused() {
        assert!(families(0).is_err() && families((1 << 40) + 1).is_err());
        assert_eq!(families(1).unwrap().len(), 3);
        // Hashes of level 8 are too many to be public; those of level 16 are not.
        let longest = families(1 << 40).unwrap();
        let tiles: Vec<_> = longest.iter().flatten().map(Layout::title).collect();
        assert!(!tiles.contains(&"tile".to_owned()) && tiles.contains(&"tiles".to_owned()), "{tiles:?}");
    }
}
