//! The events and the durable state of a client: where the state is, how much is left, what
//! happened.

use crate::failure::Result;
use crate::screen::progress::ProgressLine;
use crate::screen::{Screen, units};
use sotto_client::Table;
use sotto_client::table::TableEvent;
use sotto_core::Budget;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

/// The events of a command.
#[derive(Debug, Clone, Default)]
pub(super) struct EventLog(Arc<Mutex<Vec<ReceivedEvent>>>);

#[derive(Debug)]
struct ReceivedEvent {
    text: String,
    /// Whether the event was printed when it happened.
    is_printed: bool,
}

impl EventLog {
    /// A callback for the events of a table. Waits are printed at once.
    pub(super) fn listener(&self, bars: &Arc<ProgressLine>) -> impl FnMut(TableEvent) + Send + 'static {
        let (events, bars) = (self.clone(), Arc::clone(bars));
        move |event| {
            let (text, is_printed) =
                (event.to_string(), matches!(event, TableEvent::Waiting(..) | TableEvent::Repaired(_)));
            if is_printed {
                bars.note(&text);
            }
            events.all().push(ReceivedEvent { text, is_printed });
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<ReceivedEvent>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The texts of all events.
    pub(super) fn texts(&self) -> Vec<String> {
        self.all().iter().map(|event| event.text.clone()).collect()
    }

    /// The texts of events that were not printed yet.
    pub(super) fn unprinted(&self) -> Vec<String> {
        self.all().iter().filter(|event| !event.is_printed).map(|event| event.text.clone()).collect()
    }

    /// Prints events that were not printed yet, and returns all of them.
    pub(super) fn print(&self, screen: Screen) -> Result<Vec<String>> {
        self.unprinted().iter().try_for_each(|event| screen.say(format!("note: {event}")))?;
        Ok(self.texts())
    }
}

/// The default folder of states: the user's data folder, by the XDG rules. It is neither the one
/// for caches, which people empty, nor the one for rollback counters.
pub(super) fn default_dir() -> Option<PathBuf> {
    data_dir().map(|folder| folder.join("state"))
}

/// The folder of sotto in the user's data folder.
pub(super) fn data_dir() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    folder.map(|folder| folder.join("sotto"))
}

/// The number of queries left, if it is limited.
pub(super) fn budget(table: &Table) -> Option<u64> {
    match table.budget() {
        Budget::Left(left) => Some(left),
        Budget::Unlimited => None,
    }
}

/// The number of queries left, in words.
pub(super) fn left(table: &Table) -> String {
    let Some(left) = budget(table) else { return "unlimited queries".to_owned() };
    let what_then = match () {
        () if is_helped(table) => ", then more hints are requested",
        () if is_low(table) => ": --refill makes more in advance",
        () => ", then the rows are streamed again",
    };
    format!("{} queries{what_then}", units::count(left))
}

/// Whether one of the servers makes the hints.
fn is_helped(table: &Table) -> bool {
    table.session().scheme().hint_server.is_some()
}

/// Whether less than a quarter of a new client's queries is left.
fn is_low(table: &Table) -> bool {
    budget(table).is_some_and(|left| left < table.report().costs.budget / 4)
}

/// Spares the next call a wait: requests hints that are due, or prepares the next client if few are
/// left.
pub(super) fn refill(table: &mut Table) -> sotto_client::Result<()> {
    if is_helped(table) {
        while table.refill_hints()? {}
    } else if is_low(table) {
        table.renew()?;
    }
    Ok(())
}
