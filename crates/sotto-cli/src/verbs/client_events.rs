//! The state of a client that must not lose it: where it lies, how much is left, what happened to it.

use crate::failure::Result;
use crate::screen::bars::ProgressLine;
use crate::screen::{Screen, units};
use sotto_client::Table;
use sotto_client::table::TableEvent;
use sotto_core::Budget;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

/// What happened during a command.
#[derive(Debug, Clone, Default)]
pub(super) struct EventLog(Arc<Mutex<Vec<ReceivedEvent>>>);

#[derive(Debug)]
struct ReceivedEvent {
    text: String,
    /// Whether it was said when it happened.
    said: bool,
}

impl EventLog {
    /// What a table is to call. Whoever has to wait is told at once.
    pub(super) fn listener(&self, bars: &Arc<ProgressLine>) -> impl FnMut(TableEvent) + Send + 'static {
        let (events, bars) = (self.clone(), Arc::clone(bars));
        move |event| {
            let (text, said) =
                (event.to_string(), matches!(event, TableEvent::Waiting(..) | TableEvent::Repaired(_)));
            if said {
                bars.note(&text);
            }
            events.all().push(ReceivedEvent { text, said });
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<ReceivedEvent>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// What was heard.
    pub(super) fn heard(&self) -> Vec<String> {
        self.all().iter().map(|heard| heard.text.clone()).collect()
    }

    /// What was heard and not said yet.
    pub(super) fn unsaid(&self) -> Vec<String> {
        self.all().iter().filter(|heard| !heard.said).map(|heard| heard.text.clone()).collect()
    }

    /// Prints what was heard and not said yet, and gives all of it.
    pub(super) fn tell(&self, screen: Screen) -> Result<Vec<String>> {
        self.unsaid().iter().try_for_each(|event| screen.say(format!("note: {event}")))?;
        Ok(self.heard())
    }
}

/// Where states go if nobody says: the user's folder for data, by the XDG rules. It is not the one for caches, which
/// people empty, nor the one for anchors.
pub(super) fn default_dir() -> Option<PathBuf> {
    data_dir().map(|folder| folder.join("state"))
}

/// Our part of the user's folder for data.
pub(super) fn data_dir() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    folder.map(|folder| folder.join("sotto"))
}

/// How many more queries there are, if that is limited.
pub(super) fn budget(table: &Table) -> Option<u64> {
    match table.budget() {
        Budget::Left(left) => Some(left),
        Budget::Unlimited => None,
    }
}

/// How much is left, in words.
pub(super) fn left(table: &Table) -> String {
    let Some(left) = budget(table) else { return "any number of queries".to_owned() };
    let what_then = match () {
        () if is_helped(table) => ", then more hints are ordered",
        () if is_low(table) => ": --renew makes new ones before they are needed",
        () => ", then the rows are streamed again",
    };
    format!("{} queries{what_then}", units::count(left))
}

/// Whether one of the servers makes the hints.
fn is_helped(table: &Table) -> bool {
    table.session().scheme().upkeep.is_some()
}

/// Whether less than a quarter of a fresh client's queries is left.
fn is_low(table: &Table) -> bool {
    budget(table).is_some_and(|left| left < table.report().costs.budget / 4)
}

/// Spares the next call what it would wait for: orders hints that are due, or has new ones made if few are left.
pub(super) fn refill(table: &mut Table) -> sotto_client::Result<()> {
    if is_helped(table) {
        while table.refill_hints()? {}
    } else if is_low(table) {
        table.renew()?;
    }
    Ok(())
}
