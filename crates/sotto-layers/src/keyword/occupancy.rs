//! The number of rows for a number of keys, and the moves that place every key.

use super::band;
use super::params::Params;
use super::row_bounds::{self, RowBounds};
use super::tag::{KeyDigest, mix};

/// Maximum number of moves that place one key, before the attempt fails.
const MOVES: u32 = 5000;

/// Number of choices of rows that are tried. Each fails for fewer than half of all sets of keys.
const ATTEMPTS: u32 = 64;

/// Share of the slots that are taken, in tables with row bounds.
const CUT_LOAD: f64 = 0.97;

/// The number of no key, for an empty slot.
const NOBODY: u32 = u32::MAX;

/// Rows of a table for this many keys: a multiple of `probes`.
///
/// Keys with two choices of rows of `slots` all get a slot, almost surely as the table grows, while
/// fewer than 0.5, 0.897, 0.959 or 0.980 of the slots are taken for 1, 2, 3 and 4 slots; with three
/// choices that is 0.918, 0.988, 0.997 for 1 to 3 (Fountoulakis, Khosla, Panagiotou, *The
/// multiple-orientability thresholds for random hypergraphs*, 2011). This stays some hundredths
/// below, for small tables, for moves that end soon, and for keys that are added later. Rows with
/// row bounds need few empty slots.
pub(super) fn rows_for(keys: u64, probes: u32, slots: u32) -> u64 {
    let load = match (probes, slots) {
        (1, _) => CUT_LOAD,
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

/// Whether a table with these parameters is made for `keys` keys.
pub(super) fn is_made_for(params: &Params, keys: u64) -> bool {
    match params.band {
        Some(_) => band::strip_keys_for(keys, params.rows.max(1)) <= params.slots.into(),
        None => rows_for(keys, params.probes, params.slots) <= params.rows,
    }
}

/// Finds a slot for every key under one choice of rows after another, that of `params` first.
/// Returns the parameters with the successful choice, and the slot of each key.
pub(super) fn place_all(params: &Params, digests: &[KeyDigest]) -> Option<(Params, Vec<u32>)> {
    (0..ATTEMPTS).find_map(|further| {
        let mut params = Params { attempt: (params.attempt + further) % ATTEMPTS, ..params.clone() };
        let slot_of = match params.probes {
            1 => lay(&mut params, digests),
            _ => place(&params, digests),
        };
        Some((params, slot_of?))
    })
}

/// Finds a slot for every key by moving others at random, or gives up. Returns the slot of each
/// key. The same keys and parameters give the same slots.
fn place(params: &Params, digests: &[KeyDigest]) -> Option<Vec<u32>> {
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
    let mut slot_of = vec![0; digests.len()];
    for (slot, who) in (0..).zip(slots).filter(|(_, who)| *who != NOBODY) {
        slot_of.get_mut(who as usize).into_iter().for_each(|at| *at = slot);
    }
    Some(slot_of)
}

/// Chooses row bounds so that every key has a slot in its row, or gives up. Returns the slot of
/// each key.
fn lay(params: &mut Params, digests: &[KeyDigest]) -> Option<Vec<u32>> {
    let rows = usize::try_from(params.rows).ok()?;
    let mut keys_of_cells = vec![0u32; rows.checked_mul(row_bounds::CELLS as usize)?];
    for digest in digests {
        let cell = row_bounds::cell_of(*digest, params.attempt, params.rows);
        keys_of_cells.get_mut(cell as usize).into_iter().for_each(|keys| *keys += 1);
    }
    let cuts = RowBounds::new(row_bounds::cut(&keys_of_cells, rows, params.slots)?)?;
    drop(keys_of_cells);
    let mut taken = vec![0u32; rows];
    let slot = |digest: &KeyDigest| {
        let row = cuts.row_of_public(*digest, params.attempt);
        let taken = taken.get_mut(row as usize)?;
        *taken += 1;
        Some(row as u32 * params.slots + *taken - 1)
    };
    let slots = digests.iter().map(slot).collect();
    params.cuts = Some(cuts);
    slots
}
