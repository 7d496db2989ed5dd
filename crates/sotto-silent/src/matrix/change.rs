//! Bytes of a matrix change.

#[cfg(feature = "server")]
pub use writing::write_changes;

/// A byte of the matrix that is another one now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Row of the matrix: offset in the record.
    pub row: u32,
    /// Column of the matrix: the record.
    pub column: u32,
    /// New value less old, as signed bytes.
    pub change: i16,
}

#[cfg(feature = "server")]
mod writing {
    use crate::matrix::{Entry, Place};
    use rayon::prelude::*;
    use sotto_core::{Change, Misuse, Result, Sink};
    use sotto_math::matrix::PanelLayout;

    /// Bytes of the smallest contiguous piece of a panel: 64 rows of four columns.
    const GROUP: usize = 256;

    /// A byte to be written.
    struct Write {
        row: u32,
        column: u32,
        byte: u8,
    }

    /// Writes the new bytes and says what differs from the old ones, ascending by (row, column). Memory is about 40 bytes
    /// per changed byte.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`] for a change outside the table; storage errors.
    pub fn write_changes(
        layout: PanelLayout,
        at: impl Into<Place>,
        changes: &[Change],
        out: &dyn Sink,
    ) -> Result<Vec<Entry>> {
        let Place { section, start: origin } = at.into();
        let mut writes = Vec::new();
        for change in changes {
            let (column, first) = in_table(&layout, change)?;
            writes.extend((first..).zip(&change.bytes).map(|(row, byte)| Write { row, column, byte: *byte }));
        }
        let group = |write: &Write| layout.offset(write.row as usize, write.column as usize) / GROUP;
        // Stable: of two changes to one byte, the later one is written later.
        writes.par_sort_by_key(group);
        let one = |writes: &[Write], entries: &mut Vec<Entry>| -> Result<()> {
            let Some(first) = writes.first() else { return Ok(()) };
            let start = origin + (group(first) * GROUP) as u64;
            let mut old = [0; GROUP];
            out.read_at(section, start, &mut old)?;
            let mut new = old;
            let mut touched = Vec::with_capacity(writes.len());
            for write in writes {
                let at = layout.offset(write.row as usize, write.column as usize) % GROUP;
                if let Some(byte) = new.get_mut(at) {
                    *byte = write.byte;
                }
                touched.push((write.row, write.column, at));
            }
            out.write_at(section, start, &new)?;
            touched.sort_unstable();
            touched.dedup();
            entries.extend(touched.into_iter().filter_map(|(row, column, at)| {
                let (old, new) = (*old.get(at)? as i8, *new.get(at)? as i8);
                let change = i16::from(new) - i16::from(old);
                (change != 0).then_some(Entry { row, column, change })
            }));
            Ok(())
        };
        // Each group is of one thread.
        let groups = writes.par_chunk_by(|a, b| group(a) == group(b));
        let entries =
            groups.try_fold(Vec::new, |mut entries, writes| one(writes, &mut entries).map(|()| entries));
        let mut entries: Vec<Entry> = entries.try_reduce(Vec::new, |mut some, mut more| {
            some.append(&mut more);
            Ok(some)
        })?;
        entries.par_sort_unstable();
        Ok(entries)
    }

    /// The column and first row of a change, if all of it lies inside the table.
    fn in_table(layout: &PanelLayout, change: &Change) -> Result<(u32, u32)> {
        let (l, m) = (layout.rows() as u64, layout.cols() as u64);
        if change.record >= m {
            return Err(Misuse::IndexPastEnd { index: change.record, len: m }.into());
        }
        let end = change.offset.saturating_add(change.bytes.len() as u64);
        if end > l {
            return Err(Misuse::IndexPastEnd { index: end, len: l }.into());
        }
        // Both are at most 2^20 by the check of the parameters.
        Ok((change.record as u32, change.offset as u32))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_group_is_what_the_layout_keeps_together() {
            let layout = PanelLayout::new(130, 9);
            for (row, column) in [(0, 0), (63, 3), (64, 4), (129, 8)] {
                let start = layout.offset(row, column) / GROUP * GROUP;
                assert_eq!(start, layout.offset(row / 64 * 64, column / 4 * 4));
            }
        }
    }
}
