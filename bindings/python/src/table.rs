//! An open table or stack, asked in padded rounds.

use crate::about::{self, About};
use crate::carrier::Raised;
use crate::column::{Column, keys_of};
use crate::cost::{Cost, Seen};
use crate::fault::{Fault, work};
use crate::wanted::Wanted;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3_arrow::PyTable;
use sotto_catalog::CatalogError;
use sotto_client::stack::Batch;
use sotto_client::{ClientError, Granted, Wish};
use sotto_core::{Error, Misuse};
use std::sync::Mutex;
use std::time::Instant;

/// What a name stands for.
pub(crate) enum Opened {
    /// A table.
    Table(Box<sotto_client::Table>),
    /// Several under a batch code.
    Stack(Box<Batch>),
}

/// The most lookups that anything is filled up to.
const MOST_OF_A_BATCH: usize = 1 << 16;

/// An open table. Its lookups are made one after the other, whichever threads ask.
#[pyclass(frozen, module = "sotto._sotto")]
pub(crate) struct Table {
    /// `None` once it was closed.
    opened: Mutex<Option<Opened>>,
    raised: Raised,
}

/// A column of keys.
#[derive(FromPyObject)]
pub(crate) enum Keys<'py> {
    /// In Arrow data.
    Stream(PyTable),
    /// As it is.
    List(Vec<Bound<'py, PyAny>>),
}

type Each = Vec<Result<Granted, ClientError>>;

impl Table {
    pub(crate) fn new(opened: Opened, raised: Raised) -> Self {
        Table { opened: Mutex::new(Some(opened)), raised }
    }

    /// Does something with what is open, without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        what: impl FnOnce(&mut Opened) -> Result<T, Fault> + Send,
    ) -> PyResult<T> {
        work(py, || {
            let damaged = |_| Fault::misuse("a lookup of this table ended in a bug", "open it again");
            let mut opened = self.opened.lock().map_err(damaged)?;
            let closed = || Fault::misuse("the table is closed", "open it again, with sotto.connect");
            drop(self.raised.take());
            what(opened.as_mut().ok_or_else(closed)?).map_err(|fault| fault.because(self.raised.take()))
        })
    }

    /// Asks for all that is wanted, in rounds of whole batches, and gives what came of each and what it cost.
    pub(crate) fn rounds(&self, py: Python<'_>, wanted: &[Wanted], batch: usize) -> PyResult<(Each, Cost)> {
        self.with(py, |opened| opened.rounds(wanted, batch))
    }

    /// What the table is.
    pub(crate) fn facts(&self, py: Python<'_>) -> PyResult<About> {
        self.with(py, |opened| opened.about())
    }
}

impl Opened {
    fn about(&self) -> Result<About, Fault> {
        match self {
            Opened::Table(table) => About::table(table),
            Opened::Stack(batch) => About::stack(batch),
        }
    }

    /// The most rows or keys of one request, and whether it looks the same with fewer.
    fn most(&self) -> Result<(usize, bool), Fault> {
        Ok(match self {
            Opened::Table(table) => (about::most(table)?, false),
            Opened::Stack(batch) => (batch.layers().most(), true),
        })
    }

    fn get_each(&mut self, wishes: &[Wish<'_>]) -> Result<Each, ClientError> {
        match self {
            Opened::Table(table) => table.get_each(wishes),
            Opened::Stack(batch) => batch.get_each(wishes),
        }
    }

    fn rounds(&mut self, wanted: &[Wanted], batch: usize) -> Result<(Each, Cost), Fault> {
        let (most, is_stack) = self.most()?;
        if !(1..=MOST_OF_A_BATCH).contains(&batch) {
            let fix = format!("give one of 1 to {MOST_OF_A_BATCH}");
            return Err(Fault::misuse(format!("a batch of {batch} is none"), fix));
        }
        let mut wishes: Vec<Wish<'_>> = wanted.iter().map(Wanted::wish).collect();
        if !is_stack {
            // A round of a stack looks the same whatever is in it.
            wishes.resize(wishes.len().div_ceil(batch).max(1) * batch, Wish::Row(0));
        }
        let (mut each, mut cost) = (Vec::with_capacity(wishes.len()), Cost::of(wanted.len()));
        let mut past_end = None;
        let none: &[Wish<'_>] = &[];
        let rounds = wishes.chunks(most.max(1)).chain(wishes.is_empty().then_some(none));
        for wishes in rounds {
            let start = Instant::now();
            let outcome = self.get_each(wishes);
            cost.add_time(start.elapsed());
            match outcome {
                Ok(round) => each.extend(round),
                // Whether there are more rounds must not depend on what is wanted.
                Err(error) if is_past_end(&error) => {
                    past_end.get_or_insert(error);
                }
                Err(error) => return Err(error.into()),
            }
            match self {
                Opened::Table(table) => cost.add_table(table),
                Opened::Stack(batch) => cost.add_stack(batch),
            }
        }
        if let Some(error) = past_end {
            return Err(error.into());
        }
        each.truncate(wanted.len());
        Ok((each, self.told(cost, batch > 1)))
    }

    /// What the servers saw of it.
    fn told(&self, mut cost: Cost, is_padded: bool) -> Cost {
        let tables = match self {
            Opened::Table(table) => std::slice::from_ref(table.as_ref()),
            Opened::Stack(batch) => batch.stack().tables(),
        };
        tables.iter().for_each(|table| cost.add_once(&table.stats()));
        let (name, is_stack) = match self {
            Opened::Table(table) => (table.catalog().table.as_str(), false),
            Opened::Stack(batch) => (batch.stack().document().stack.as_str(), true),
        };
        let first = tables.first();
        cost.tell(&Seen {
            table: name,
            servers: first.map_or(1, |table| table.catalog().servers),
            is_stack,
            has_keys: first.is_some_and(|table| table.session().sizes().keys_bytes > 0),
            hides_count: is_stack || is_padded,
        })
    }

    fn refresh(&mut self) -> Result<bool, Fault> {
        Ok(match self {
            Opened::Table(table) => table.refresh()?,
            // Each round of a stack follows its epochs by itself.
            Opened::Stack(_) => false,
        })
    }
}

fn is_past_end(error: &ClientError) -> bool {
    matches!(error.root(), ClientError::Core(Error::Misuse(Misuse::IndexPastEnd { .. })))
}

#[pymethods]
impl Table {
    /// What comes of each row (an int) or key (a str): its value, or `None` for a key that the table does not have.
    fn ask<'py>(
        &self,
        py: Python<'py>,
        items: Vec<Bound<'py, PyAny>>,
        batch: usize,
    ) -> PyResult<(Vec<Option<Bound<'py, PyBytes>>>, Cost)> {
        let wanted: Vec<Wanted> = items.iter().map(Wanted::of).collect();
        let (each, cost) = self.rounds(py, &wanted, batch)?;
        let granted = wanted.into_iter().zip(each).map(|(wanted, granted)| match wanted {
            Wanted::Wrong(error) => Err(error),
            _ => {
                let granted = granted.map_err(Fault::from)?;
                Ok(granted.value.map(|value| PyBytes::new(py, &value)))
            }
        });
        Ok((granted.collect::<PyResult<_>>()?, cost))
    }

    /// A column of values for a column of keys: a name, and Arrow data or a list. What is null, or no key of the table, has none.
    fn join(
        &self,
        py: Python<'_>,
        keys: Keys<'_>,
        on: &str,
        into: &str,
        batch: usize,
    ) -> PyResult<(Column, Cost)> {
        let about = self.facts(py)?;
        let mut wanted: Vec<Wanted> = match keys {
            Keys::Stream(table) => keys_of(table, on)?,
            Keys::List(items) => items.iter().map(Wanted::or_nothing).collect(),
        };
        for item in &mut wanted {
            if matches!(item, Wanted::Row(row) if *row >= about.rows) {
                *item = Wanted::Nothing;
            }
        }
        let (each, cost) = self.rounds(py, &wanted, batch)?;
        let mut values = Vec::with_capacity(wanted.len());
        for (wanted, granted) in wanted.into_iter().zip(each) {
            values.push(match (wanted, granted) {
                (Wanted::Wrong(error), _) => return Err(error),
                (Wanted::Nothing, _) => None,
                (_, Ok(granted)) => granted.value,
                // A key in another form than the table's is no key of it.
                (Wanted::Key(_), Err(ClientError::Catalog(CatalogError::NoSuchRow { .. }))) => None,
                (_, Err(error)) => return Err(Fault::from(error).into()),
            });
        }
        Ok((Column::of(into, &values, about.value == "text"), cost))
    }

    /// What the table is, as it is now.
    fn about(&self, py: Python<'_>) -> PyResult<About> {
        self.facts(py)
    }

    /// Looks for a newer epoch. Gives whether there was one.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, Opened::refresh)
    }

    /// Closes it. Asked again, it raises.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        work(py, || {
            if let Ok(mut opened) = self.opened.lock() {
                drop(opened.take());
            }
            Ok(())
        })
    }
}

impl Drop for Table {
    /// What is open may have a thread that wants the interpreter's lock to say how far it is.
    fn drop(&mut self) {
        let opened = self.opened.get_mut().ok().and_then(Option::take);
        Python::try_attach(|py| py.detach(move || drop(opened)));
    }
}
