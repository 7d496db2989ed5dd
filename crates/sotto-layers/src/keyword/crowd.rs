//! How many rows so many keys need, and which keys move to make room.

use super::params::{MAX_ROWS, Params};
use super::tag::{Digest, mix};

/// Keys that may be moved to make room for one before the attempt is given up.
const MOVES: u32 = 5000;

/// An empty slot.
pub(super) const NOBODY: u32 = u32::MAX;

/// Rows of a table for this many keys: a multiple of `probes`.
///
/// Keys with two choices of rows of `slots` all get a place, almost surely as the table grows, while fewer than 0.5, 0.897, 0.959 or
/// 0.980 of the slots are taken for 1, 2, 3 and 4 slots; with three choices that is 0.918, 0.988, 0.997 for 1 to 3 (Fountoulakis,
/// Khosla, Panagiotou, *The multiple-orientability thresholds for random hypergraphs*, 2011). This stays some hundredths below, for
/// small tables, for moves that end soon, and for keys that are added later.
pub(super) fn rows_for(keys: u64, probes: u32, slots: u32) -> u64 {
    if probes == 1 {
        return rows_of_one_choice(keys, slots);
    }
    let load = match (probes, slots) {
        (2, 1) => 0.40,
        (2, 2) => 0.82,
        (2, 3) => 0.90,
        (2, _) => 0.93,
        (_, 1) => 0.85,
        (_, 2) => 0.94,
        _ => 0.96,
    };
    let rows = (keys as f64 / (load * f64::from(slots))).ceil() as u64;
    rows.max(1).next_multiple_of(probes.into())
}

/// Rows among which keys without a choice find room in every second attempt, at least: the number of keys in a row is about
/// Poisson's, and that of rows with more than `slots` has this as its mean (Chernoff).
fn rows_of_one_choice(keys: u64, slots: u32) -> u64 {
    let over = f64::from(slots) + 1.0;
    let enough = |rows: u64| {
        let mean = keys as f64 / rows as f64;
        let log = over - mean + over * (mean / over).ln();
        mean < over && rows as f64 * log.exp() <= 0.5
    };
    let (mut low, mut high) = (0, keys.saturating_mul(keys).clamp(1, MAX_ROWS));
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle }
    }
    if keys <= u64::from(slots) { 1 } else { high }
}

/// Finds a slot for every key by moving others at random, or gives up: which key is in each slot, or [`NOBODY`]. The same keys
/// and parameters give the same places.
pub(super) fn place(params: &Params, digests: &[Digest]) -> Option<Vec<u32>> {
    let part = params.rows / u64::from(params.probes);
    let width = params.slots as usize;
    let mut slots = vec![NOBODY; usize::try_from(params.rows).ok()?.checked_mul(width)?];
    let mut luck = mix(params.attempt.into());
    for newcomer in 0..digests.len() as u32 {
        let (mut who, mut left) = (newcomer, None);
        let mut moves = 0;
        loop {
            let digest = digests.get(who as usize)?;
            let probes = (0..params.probes).filter(|probe| Some(*probe) != left);
            let start = |probe: u32| {
                (u64::from(probe) * part + digest.choice(params.attempt, probe, part)) as usize * width
            };
            let free = probes.clone().find_map(|probe| {
                let row = slots.get(start(probe)..start(probe) + width)?;
                row.iter().position(|slot| *slot == NOBODY).map(|slot| start(probe) + slot)
            });
            if let Some(slot) = free.and_then(|free| slots.get_mut(free)) {
                *slot = who;
                break;
            }
            luck = mix(luck.wrapping_add(1));
            let others = probes.clone().count() as u64;
            if moves == MOVES || others == 0 {
                return None;
            }
            moves += 1;
            let probe = probes.clone().nth((luck % others) as usize)?;
            let slot = (luck >> 8) as usize % width;
            std::mem::swap(slots.get_mut(start(probe) + slot)?, &mut who);
            left = Some(probe);
        }
    }
    Some(slots)
}
