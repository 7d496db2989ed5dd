//! What a client keeps of its hints: for each id its standing and the parity of its set; for each backup a replacement
//! entry, too, which is a random row of the backup's partition.
//!
//! Ids 0..M are hints from the start. The next c m are backups, m of each partition; a query makes the next of its row's
//! partition a hint, with the row as its own entry. Nothing ever moves: a hint that is spent leaves its place empty.

use crate::params::Params;
use crate::prf::{Place, Prf};
use crate::request::{below, equal, pick};
use zeroize::{Zeroize, Zeroizing};

/// The hint may be chosen.
pub(crate) const LIVE: u8 = 1;
/// It was chosen, and the answer to its query has not come yet.
pub(crate) const OWED: u8 = 2;
/// Its parity is that of its set. While it is not, a promoted backup has that of the other partitions alone.
pub(crate) const KNOWN: u8 = 4;
/// A backup that is not used yet.
pub(crate) const FRESH: u8 = 8;
/// A promoted backup, and the answer to the query that promoted it has not come yet.
pub(crate) const WAITING: u8 = 16;
/// It has an own entry: it is or was a promoted backup.
pub(crate) const PROMOTED: u8 = 32;

/// What is written for no hint.
pub(crate) const NO_HINT: u32 = u32::MAX;

/// What is known of an id, besides its parity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Zeroize)]
pub(crate) struct Hint {
    /// A promoted backup's own entry: the number of the row that was asked for. Nothing for all others.
    pub(crate) own: u32,
    /// [`LIVE`], [`OWED`], [`KNOWN`], [`FRESH`], [`WAITING`], [`PROMOTED`].
    pub(crate) mark: u8,
}

/// All hints and backups of a client.
pub(crate) struct Hints {
    row_bytes: usize,
    first_backup: usize,
    /// Backups of a partition.
    of_partition: usize,
    /// By id, and one more that stands for "none": it is no hint's, and always empty.
    pub(crate) of: Zeroizing<Vec<Hint>>,
    /// By id, the tag of a live hint's own entry, 0 for what has none.
    pub(crate) tags: Zeroizing<Vec<u16>>,
    /// Parities by id, and room for one that is nobody's.
    parities: Zeroizing<Vec<u8>>,
    /// Rows of replacement entries by backup, and room for one that is nobody's.
    replacements: Zeroizing<Vec<u8>>,
    /// Of each partition, how many backups were used.
    pub(crate) used: Zeroizing<Vec<u16>>,
}

/// The one number that a place is kept as.
pub(crate) fn number(place: Place) -> u32 {
    u32::from(place.partition) << 16 | u32::from(place.offset)
}

/// The place again.
pub(crate) fn place(number: u32) -> Place {
    Place { partition: (number >> 16) as u16, offset: number as u16 }
}

impl Hints {
    /// Hints and backups of which all that is stored is given; of parities and replacements, those of no id follow the
    /// last.
    pub(crate) fn new(
        params: &Params,
        prf: &Prf,
        of: Zeroizing<Vec<Hint>>,
        [parities, replacements]: [Zeroizing<Vec<u8>>; 2],
        used: Zeroizing<Vec<u16>>,
    ) -> Self {
        let tag = |hint: &Hint| match hint.mark & (LIVE | PROMOTED) {
            mark if mark == LIVE | PROMOTED => prf.tag(place(hint.own)),
            _ => 0,
        };
        let tags = Zeroizing::new(of.iter().map(tag).collect());
        Hints {
            row_bytes: params.row_bytes(),
            first_backup: params.hints(),
            of_partition: params.backups(),
            of,
            tags,
            parities,
            replacements,
            used,
        }
    }

    /// What hints and backups are before the first query.
    pub(crate) fn fresh(params: &Params) -> Zeroizing<Vec<Hint>> {
        let mut of = Zeroizing::new(vec![Hint { own: 0, mark: LIVE | KNOWN }; params.hints()]);
        // One more, so that the list need not grow.
        of.reserve_exact(params.ids() + 1 - params.hints());
        of.resize(params.ids(), Hint { own: 0, mark: FRESH });
        of.push(Hint::default());
        of
    }

    /// The id that stands for no hint.
    pub(crate) fn none(&self) -> u32 {
        // There are at most 2^25 ids.
        (self.of.len() - 1) as u32
    }

    /// The next backup of a partition; none if there is none left.
    pub(crate) fn next_backup(&self, partition: u16) -> u32 {
        let all = self.of_partition as u32;
        let used = u32::from(self.used.get(usize::from(partition)).copied().unwrap_or(u16::MAX));
        let id = self.first_backup as u32 + u32::from(partition) * all + used;
        pick(below(used, all), id, self.none())
    }

    /// The partition of a backup.
    pub(crate) fn home(&self, id: u32) -> Option<usize> {
        let backup = (id as usize).checked_sub(self.first_backup)?;
        (id < self.none()).then(|| backup / self.of_partition)
    }

    /// The ids of a partition's backups.
    pub(crate) fn backups(&self, partition: usize) -> std::ops::Range<u32> {
        // There are at most 2^25 ids.
        let first = (self.first_backup + partition * self.of_partition) as u32;
        first..first + self.of_partition as u32
    }

    /// The parity of an id that is a hint, or was one.
    pub(crate) fn parity(&self, id: u32) -> &[u8] {
        let at = self.row_bytes * id as usize;
        self.parities.get(at..at + self.row_bytes).unwrap_or_default()
    }

    /// The same, to write.
    pub(crate) fn parity_mut(&mut self, id: u32) -> &mut [u8] {
        let at = self.row_bytes * id as usize;
        self.parities.get_mut(at..at + self.row_bytes).unwrap_or_default()
    }

    /// The row of a backup's replacement entry; zeros for none.
    pub(crate) fn replacement(&self, id: u32) -> &[u8] {
        let at = self.row_bytes * (id as usize).saturating_sub(self.first_backup);
        self.replacements.get(at..at + self.row_bytes).unwrap_or_default()
    }

    /// The same, to write.
    pub(crate) fn replacement_mut(&mut self, id: u32) -> &mut [u8] {
        let at = self.row_bytes * (id as usize).saturating_sub(self.first_backup);
        self.replacements.get_mut(at..at + self.row_bytes).unwrap_or_default()
    }

    /// Spends the hint `chosen`, and makes the backup `promoted` a hint with the own entry `row`. If both are none, all
    /// stays as it is.
    ///
    /// Does the same work in both cases.
    pub(crate) fn promote(&mut self, prf: &Prf, chosen: u32, promoted: u32, row: Place) {
        let found = 1 ^ equal(promoted, self.none());
        let keep = (found as u8).wrapping_neg();
        if let (Some(hint), Some(tag)) =
            (self.of.get_mut(chosen as usize), self.tags.get_mut(chosen as usize))
        {
            hint.mark = (hint.mark & !LIVE) | (OWED & keep);
            *tag = 0;
        }
        if let (Some(hint), Some(tag)) =
            (self.of.get_mut(promoted as usize), self.tags.get_mut(promoted as usize))
        {
            hint.mark = (LIVE | WAITING | PROMOTED) & keep;
            hint.own = number(row) & found.wrapping_neg();
            *tag = prf.tag(row) & (found as u16).wrapping_neg();
        }
        if let Some(used) = self.used.get_mut(usize::from(row.partition)) {
            *used += found as u16;
        }
    }

    /// Ends the wait of a promoted hint: with the row its parity is that of its set from now on. A hint that was spent and
    /// forgotten meanwhile stays so.
    pub(crate) fn settle(&mut self, promoted: u32, row: Option<&[u8]>) {
        self.replacement_mut(promoted).zeroize();
        let Some(hint) = self.of.get_mut(promoted as usize) else { return };
        hint.mark &= !WAITING;
        if let Some(row) = row.filter(|_| hint.mark & (LIVE | OWED) != 0) {
            hint.mark |= KNOWN;
            self.parity_mut(promoted).iter_mut().zip(row).for_each(|(byte, row)| *byte ^= row);
        }
    }

    /// Forgets the parity of a hint, but not the hint: it will be chosen as if nothing had happened.
    pub(crate) fn withdraw(&mut self, id: u32) {
        self.parity_mut(id).zeroize();
        if let Some(hint) = self.of.get_mut(id as usize) {
            hint.mark &= !KNOWN;
        }
    }

    /// Whether an id has one of these marks.
    pub(crate) fn is(&self, id: u32, marks: u8) -> bool {
        self.of.get(id as usize).is_some_and(|hint| hint.mark & marks != 0)
    }

    /// Whether a live hint contains a row: what a search finds, for one hint and by definition.
    pub(crate) fn contain(&self, prf: &Prf, id: u32, row: Place) -> bool {
        let Some(hint) = self.of.get(id as usize).filter(|hint| hint.mark & LIVE != 0) else { return false };
        match place(hint.own) {
            own if hint.mark & PROMOTED != 0 && own.partition == row.partition => own == row,
            _ => prf.offset(id, row.partition) == row.offset,
        }
    }

    /// Wipes a hint that was chosen and is not owed any more.
    pub(crate) fn forget(&mut self, chosen: u32) {
        self.parity_mut(chosen).zeroize();
        if let Some(hint) = self.of.get_mut(chosen as usize) {
            // The query that promoted it may be open still.
            *hint = Hint { own: 0, mark: hint.mark & WAITING };
        }
    }
}
