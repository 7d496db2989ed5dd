//! What a witness examines (`c2sp.org/tlog-witness`) before it signs that a log grows without a fork.
//!
//! A witness keeps the last checkpoint of each log that it cosigned, and cosigns no other one of
//! that length and no shorter one; so two contradicting checkpoints of one log never both have its
//! cosignature. Of a publisher's log it reads the entries too, and does not cosign a log with two
//! catalogs of one epoch ([`LogHistory`]).
#![deny(clippy::indexing_slicing)]

use crate::{Checkpoint, LogError, LogHistory, LogKey, LogLayout, LogSource, Result, VerifiedLog};

/// Examines a publisher's log before a witness cosigns it: its signature, that it extends what was
/// cosigned before, and that its new entries do not contradict earlier ones. `history` contains
/// what was read before, and is updated to this checkpoint; it must be on disk before a cosignature
/// is sent.
///
/// # Errors
/// The errors of [`Checkpoint::open`] and [`VerifiedLog::open`]; [`LogError::Older`],
/// [`LogError::Fork`], [`LogError::Conflict`].
pub fn examine<S: LogSource + Clone>(
    source: S,
    key: &LogKey,
    note: &[u8],
    known: Option<&Checkpoint>,
    history: &mut LogHistory,
) -> Result<Checkpoint> {
    let checkpoint = Checkpoint::open(note, key)?;
    consistent(source.clone(), known, &checkpoint)?;
    history.read(&mut VerifiedLog::open(source, LogLayout::Tiles, &checkpoint)?)?;
    Ok(checkpoint)
}

/// Checks that a log that was seen before extends to this checkpoint.
///
/// # Errors
/// The errors of [`VerifiedLog::open`]; [`LogError::Older`], [`LogError::Fork`].
pub fn consistent<S: LogSource>(source: S, known: Option<&Checkpoint>, found: &Checkpoint) -> Result<()> {
    match known {
        Some(known) if known.size > found.size => {
            Err(LogError::Older { known: known.size, found: found.size })
        }
        Some(known) if known.size == found.size && known.root == found.root => Ok(()),
        Some(known) if known.size == found.size => Err(LogError::Fork { size: known.size }),
        Some(known) => VerifiedLog::open(source, LogLayout::Tiles, found)?.extends(known),
        None => VerifiedLog::open(source, LogLayout::Tiles, found).map(drop),
    }
}
