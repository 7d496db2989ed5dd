//! Open tables, by number. C has no pointer to them: a number that was closed, or was never open,
//! is an error and not freed memory.

use crate::config;
use crate::lookups::ParsedLookup;
use crate::transport::{CallbackFns, CallbackTransport};
use sotto_binding::{BindingError, Listener, LookupCost, Servers, TableOrStack};
use sotto_client::transport::Transport;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

static OPEN: Mutex<BTreeMap<u64, Arc<Handle>>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

struct Handle {
    /// State of the table: its lookups are made one after the other, whichever threads make them.
    state: Mutex<OpenTable>,
    /// Whether the transport has canceled the current call.
    cancelled: Arc<AtomicBool>,
}

/// An open table, and the cost of its last lookup.
pub(crate) struct OpenTable {
    /// Table or stack; `None` once it was closed.
    opened: Option<TableOrStack>,
    batch: usize,
    pub(crate) last: Option<LookupCost>,
}

/// Opens a table, and returns its number.
pub(crate) fn open(
    json: &[u8],
    callbacks: Arc<dyn CallbackFns>,
    listener: Option<Arc<dyn Listener>>,
) -> Result<u64, BindingError> {
    let config::Config { servers, table, batch, options } = config::parse(json)?;
    let cancelled = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancelled);
    let transports = move || {
        let each = (0..).zip(&servers).map(|(server, origin)| {
            let (callbacks, cancelled) = (Arc::clone(&callbacks), Arc::clone(&flag));
            Box::new(CallbackTransport { server, origin: origin.clone(), callbacks, cancelled })
                as Box<dyn Transport>
        });
        each.collect()
    };
    let opened = sotto_binding::open(&Servers::Custom(Arc::new(transports)), &table, options, listener);
    let opened = opened.map_err(|fault| unless_cancelled(fault, &cancelled))?;
    let state = OpenTable { opened: Some(opened), batch, last: None };
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    all(|tables| tables.insert(number, Arc::new(Handle { state: Mutex::new(state), cancelled })));
    Ok(number)
}

/// Closes a table, once calls in progress have ended.
pub(crate) fn close(table: u64) -> Result<(), BindingError> {
    let handle = all(|tables| tables.remove(&table)).ok_or_else(BindingError::closed)?;
    let mut state = handle.state.lock().unwrap_or_else(PoisonError::into_inner);
    state.opened = None;
    Ok(())
}

/// Runs `what` on an open table.
pub(crate) fn with<T>(
    table: u64,
    what: impl FnOnce(&mut OpenTable) -> Result<T, BindingError>,
) -> Result<T, BindingError> {
    let handle = all(|tables| tables.get(&table).map(Arc::clone)).ok_or_else(BindingError::closed)?;
    let damaged = |_| BindingError::misuse("a bug ended an earlier lookup of this table", "open it again");
    let mut state = handle.state.lock().map_err(damaged)?;
    handle.cancelled.store(false, Ordering::SeqCst);
    what(&mut state).map_err(|fault| unless_cancelled(fault, &handle.cancelled))
}

impl OpenTable {
    /// The open table or stack.
    ///
    /// # Errors
    /// An error if it was closed meanwhile.
    pub(crate) fn opened(&mut self) -> Result<&mut TableOrStack, BindingError> {
        self.opened.as_mut().ok_or_else(BindingError::closed)
    }

    /// Makes one lookup by itself.
    pub(crate) fn one(&mut self, lookup: ParsedLookup) -> Result<Option<Vec<u8>>, BindingError> {
        Ok(self.look_up(&[lookup], 1)?.pop().flatten())
    }

    /// Makes several lookups, in rounds that are filled up.
    pub(crate) fn many(&mut self, parsed: &[ParsedLookup]) -> Result<Vec<Option<Vec<u8>>>, BindingError> {
        self.look_up(parsed, self.batch)
    }

    fn look_up(
        &mut self,
        parsed: &[ParsedLookup],
        batch: usize,
    ) -> Result<Vec<Option<Vec<u8>>>, BindingError> {
        let lookups: Vec<_> = parsed.iter().map(ParsedLookup::as_lookup).collect();
        let (each, cost) = self.opened()?.rounds(&lookups, batch)?;
        self.last = Some(cost);
        let values = parsed.iter().zip(each).map(|(parsed, result)| match parsed {
            ParsedLookup::Invalid(fault) => Err(fault.clone()),
            _ => Ok(result?.value),
        });
        values.collect()
    }
}

fn all<T>(what: impl FnOnce(&mut BTreeMap<u64, Arc<Handle>>) -> T) -> T {
    // A map is consistent after any panic.
    what(&mut OPEN.lock().unwrap_or_else(PoisonError::into_inner))
}

fn unless_cancelled(fault: BindingError, cancelled: &AtomicBool) -> BindingError {
    match cancelled.load(Ordering::SeqCst) {
        true => BindingError {
            code: "cancelled".to_owned(),
            ..BindingError::misuse("the transport ended the call", "call again")
        },
        false => fault,
    }
}
