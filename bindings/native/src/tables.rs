//! Open tables, by number. C has no pointer to them: one that was closed, or never was, is an error and not memory that is
//! gone.

use crate::carrier::{Carrier, Carry};
use crate::config;
use crate::wishes::Wanted;
use sotto_binding::{Cost, Fault, Hearer, Opened, Servers};
use sotto_client::transport::Transport;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

static OPEN: Mutex<BTreeMap<u64, Arc<Handle>>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

struct Handle {
    /// Lookups of one table are made one after the other, whichever threads ask.
    state: Mutex<State>,
    /// Whether the transport has ended the call that is being made.
    cancelled: Arc<AtomicBool>,
}

/// An open table, and what its last lookup cost.
pub(crate) struct State {
    /// `None` once it was closed.
    opened: Option<Opened>,
    batch: usize,
    pub(crate) last: Option<Cost>,
}

/// Opens a table, and gives its number.
pub(crate) fn open(
    json: &[u8],
    carry: Arc<dyn Carry>,
    hearer: Option<Arc<dyn Hearer>>,
) -> Result<u64, Fault> {
    let config::Config { servers, table, batch, options } = config::parse(json)?;
    let cancelled = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancelled);
    let carriers = move || {
        let each = (0..).zip(&servers).map(|(server, origin)| {
            let (carry, cancelled) = (Arc::clone(&carry), Arc::clone(&flag));
            Box::new(Carrier { server, origin: origin.clone(), carry, cancelled }) as Box<dyn Transport>
        });
        each.collect()
    };
    let opened = sotto_binding::open(&Servers::Carried(Arc::new(carriers)), &table, options, hearer);
    let opened = opened.map_err(|fault| unless_cancelled(fault, &cancelled))?;
    let state = State { opened: Some(opened), batch, last: None };
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    all(|tables| tables.insert(number, Arc::new(Handle { state: Mutex::new(state), cancelled })));
    Ok(number)
}

/// Closes a table, once whoever is asking it is done.
pub(crate) fn close(table: u64) -> Result<(), Fault> {
    let handle = all(|tables| tables.remove(&table)).ok_or_else(Fault::closed)?;
    let mut state = handle.state.lock().unwrap_or_else(PoisonError::into_inner);
    state.opened = None;
    Ok(())
}

/// Does something with an open table.
pub(crate) fn with<T>(table: u64, what: impl FnOnce(&mut State) -> Result<T, Fault>) -> Result<T, Fault> {
    let handle = all(|tables| tables.get(&table).map(Arc::clone)).ok_or_else(Fault::closed)?;
    let damaged = |_| Fault::misuse("a lookup of this table ended in a bug", "open it again");
    let mut state = handle.state.lock().map_err(damaged)?;
    handle.cancelled.store(false, Ordering::SeqCst);
    what(&mut state).map_err(|fault| unless_cancelled(fault, &handle.cancelled))
}

impl State {
    /// The table.
    ///
    /// # Errors
    /// It was closed meanwhile.
    pub(crate) fn opened(&mut self) -> Result<&mut Opened, Fault> {
        self.opened.as_mut().ok_or_else(Fault::closed)
    }

    /// What comes of one wish, by itself.
    pub(crate) fn one(&mut self, wanted: Wanted) -> Result<Option<Vec<u8>>, Fault> {
        Ok(self.ask(&[wanted], 1)?.pop().flatten())
    }

    /// What comes of each wish, in rounds that are filled up.
    pub(crate) fn many(&mut self, wanted: &[Wanted]) -> Result<Vec<Option<Vec<u8>>>, Fault> {
        self.ask(wanted, self.batch)
    }

    fn ask(&mut self, wanted: &[Wanted], batch: usize) -> Result<Vec<Option<Vec<u8>>>, Fault> {
        let wishes: Vec<_> = wanted.iter().map(Wanted::wish).collect();
        let (each, cost) = self.opened()?.rounds(&wishes, batch)?;
        self.last = Some(cost);
        let granted = wanted.iter().zip(each).map(|(wanted, granted)| match wanted {
            Wanted::Wrong(fault) => Err(fault.clone()),
            _ => Ok(granted?.value),
        });
        granted.collect()
    }
}

fn all<T>(what: impl FnOnce(&mut BTreeMap<u64, Arc<Handle>>) -> T) -> T {
    // A map is whole after any panic.
    what(&mut OPEN.lock().unwrap_or_else(PoisonError::into_inner))
}

fn unless_cancelled(fault: Fault, cancelled: &AtomicBool) -> Fault {
    match cancelled.load(Ordering::SeqCst) {
        true => Fault {
            code: "cancelled".to_owned(),
            ..Fault::misuse("the transport has ended the call", "call again")
        },
        false => fault,
    }
}
