//! Image updates: only the plaintexts that changed are read, changed and written.

use super::encode::coefficients;
use super::group::Group;
use super::image::{bytes, shape};
use super::read::read;
use crate::family::Family;
use crate::params::Params;
use rayon::prelude::*;
use sotto_core::{Misuse, RecordChange, Result, Section, Sink};
use std::collections::BTreeMap;

/// Applies changes to an image that holds the old table. There is no delta for clients, since they
/// store nothing of the table.
///
/// # Errors
/// [`Misuse::IndexPastEnd`] for a change outside the records; storage errors.
pub fn update_image<F: Family>(params: &Params<F>, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
    let (records, len) = (params.literal.records, params.layout.record_bytes() as u64);
    let mut groups: BTreeMap<Group, Vec<(usize, usize, &RecordChange)>> = BTreeMap::new();
    for change in changes {
        if change.record >= records {
            return Err(Misuse::IndexPastEnd { index: change.record, len: records }.into());
        }
        let end = change.offset.saturating_add(change.bytes.len() as u64);
        if end > len {
            return Err(Misuse::IndexPastEnd { index: end, len }.into());
        }
        let (group, bucket, position) = Group::of(&params.layout, change.record);
        groups.entry(group).or_default().push((bucket, position, change));
    }
    let shape = shape(params)?;
    out.reserve(Section::Resident, bytes(params))?;
    // Groups whose rows share cache lines are consecutive, and are changed one after the other.
    let bunch = |group: &Group| (group.table, group.block, shape.layout().sharing(group.row).start);
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(group, _)| bunch(group));
    let bunches: Vec<_> = groups.chunk_by(|(a, _), (b, _)| bunch(a) == bunch(b)).collect();
    let apply = |(group, changes): &(Group, Vec<(usize, usize, &RecordChange)>)| {
        let at = |offset, bytes: &mut [u8]| out.read_at(Section::Resident, offset, bytes);
        let mut numbers = read(params, &shape, *group, |_| true, at)?;
        for (bucket, position, change) in changes {
            let mut record = group.get(params, (*bucket, *position), &numbers);
            let start = change.offset as usize;
            if let Some(target) = record.get_mut(start..start + change.bytes.len()) {
                target.copy_from_slice(&change.bytes);
            }
            group.set(params, (*bucket, *position), &record, &mut numbers);
        }
        let region = group.table as u64 * shape.bytes();
        for (k, numbers) in numbers.iter().enumerate() {
            let at = |offset, bytes: &mut [u8]| at(region + offset, bytes);
            let put = |offset, bytes: &[u8]| out.write_at(Section::Resident, region + offset, bytes);
            shape.write_cell(
                &params.ring,
                group.cell(&params.layout, k),
                &coefficients(params, numbers),
                at,
                put,
            )?;
        }
        Ok(())
    };
    bunches.into_par_iter().try_for_each(|groups| groups.iter().try_for_each(apply))
}
