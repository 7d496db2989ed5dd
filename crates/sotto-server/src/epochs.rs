//! Two live epochs per table, swapped atomically.
//!
//! A reader takes an `Arc` and keeps it: an epoch that is dropped here lives on until the last
//! request for it is answered. `served_table` says how epochs go live.

use crate::opening::Opening;
use crate::served_table::ServedTable;
use crate::{EpochSource, SourceError, StartError};
use sotto_wire::routes::TableList;
use sotto_wire::{Code, Problem};
use std::sync::Arc;

/// Bytes of images that are verified before a server answers at all, and while a reload waits:
/// about a second of a disk. The rest is read in the background, and its table is not ready until
/// then.
pub(crate) const PATIENCE: u64 = 256 << 20;

/// Every table of a server.
pub(crate) struct ServedTables(Vec<Arc<ServedTable>>);

impl ServedTables {
    /// Opens every source. A table whose images are all damaged is refused, and the others are
    /// served, if there are any.
    ///
    /// # Errors
    /// [`StartError`] for the first source that does not open for another reason, or for two tables
    /// of one name.
    pub(crate) fn open(sources: Vec<Box<dyn EpochSource>>, opening: &Opening) -> Result<Self, StartError> {
        let mut tables: Vec<Arc<ServedTable>> = Vec::new();
        let (mut patience, mut damaged) = (PATIENCE, None);
        let count = sources.len();
        for (source, number) in sources.into_iter().zip(1..) {
            let slot = ServedTable::new(source);
            let source_name = slot.source_name();
            opening.begin(source_name.clone(), number, count);
            let (looked, error) = slot.first_look(&mut patience, &|at| opening.read(at));
            match error {
                Some(error @ SourceError::Damaged(_)) => {
                    damaged.get_or_insert(StartError::Table { source_name, error });
                }
                Some(error) => return Err(StartError::Table { source_name, error }),
                None if slot.live_now().is_none() && !looked.reading => {
                    return Err(StartError::NoEpoch { source_name });
                }
                None => {}
            }
            if let Some(other) = tables.iter().find(|other| other.name() == slot.name()) {
                let (first, second) = (other.source_name(), slot.source_name());
                return Err(StartError::SameName { name: slot.name(), first, second });
            }
            tables.push(slot);
        }
        match damaged {
            Some(error) if tables.iter().all(|slot| slot.live_now().is_none() && !slot.is_reading()) => {
                Err(error)
            }
            _ => {
                tables.iter().for_each(|slot| slot.log_first_reload());
                Ok(ServedTables(tables))
            }
        }
    }

    /// The names of all tables, and the role of this server in those whose schemes have several.
    pub(crate) fn list(&self) -> TableList {
        let role = |slot: &Arc<ServedTable>| Some((slot.name(), slot.live_now()?.newest().role()?));
        let mut tables: Vec<_> =
            self.0.iter().filter(|slot| slot.is_named()).map(|slot| slot.name()).collect();
        tables.sort_unstable();
        TableList { tables, stacks: Vec::new(), roles: self.0.iter().filter_map(role).collect() }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<ServedTable>> {
        self.0.iter()
    }

    /// Whether the table of this name will not change by itself: none of its images is still being
    /// verified, and none was refused.
    pub(crate) fn is_settled(&self, name: &str) -> bool {
        self.get(name).is_ok_and(|slot| !slot.is_reading() && !slot.has_refused())
    }

    /// The table of this name.
    ///
    /// # Errors
    /// [`Code::NoSuchTable`].
    pub(crate) fn get(&self, name: &str) -> Result<&ServedTable, Problem> {
        let slot = self.0.iter().find(|slot| slot.is(name));
        slot.map(Arc::as_ref).ok_or_else(|| Problem::new(Code::NoSuchTable, "there is no table of that name"))
    }
}
