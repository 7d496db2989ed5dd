//! An open table or stack, asked in padded rounds.

use crate::column::{Column, keys_of};
use crate::fault::{PyFault, work};
use crate::lookup::PyLookup;
use crate::transport::RaisedError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3_arrow::PyTable;
use sotto_binding::table_or_stack::LookupOutcome;
use sotto_binding::{LookupCost, TableInfo, TableOrStack};
use sotto_catalog::CatalogError;
use sotto_client::{ClientError, Lookup};
use std::sync::Mutex;

/// An open table. Its lookups are made one after the other, whichever threads ask.
#[pyclass(frozen, module = "sotto._sotto")]
pub(crate) struct Table {
    /// `None` once it was closed.
    opened: Mutex<Option<TableOrStack>>,
    raised: RaisedError,
}

/// A column of keys.
#[derive(FromPyObject)]
pub(crate) enum Keys<'py> {
    /// In Arrow data.
    Stream(PyTable),
    /// As it is.
    List(Vec<Bound<'py, PyAny>>),
}

impl Table {
    pub(crate) fn new(opened: TableOrStack, raised: RaisedError) -> Self {
        Table { opened: Mutex::new(Some(opened)), raised }
    }

    /// Does something with what is open, without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        what: impl FnOnce(&mut TableOrStack) -> Result<T, PyFault> + Send,
    ) -> PyResult<T> {
        work(py, || {
            let damaged = |_| PyFault::misuse("a lookup of this table ended in a bug", "open it again");
            let mut opened = self.opened.lock().map_err(damaged)?;
            let closed = || PyFault::from(sotto_binding::BindingError::closed());
            drop(self.raised.take());
            what(opened.as_mut().ok_or_else(closed)?).map_err(|fault| fault.because(self.raised.take()))
        })
    }

    /// Asks for all that is wanted, in rounds of whole batches, and gives what came of each and what it cost.
    pub(crate) fn rounds(
        &self,
        py: Python<'_>,
        wanted: &[PyLookup],
        batch: usize,
    ) -> PyResult<(LookupOutcome, LookupCost)> {
        let wishes: Vec<Lookup<'_>> = wanted.iter().map(PyLookup::wish).collect();
        self.with(py, |opened| Ok(opened.rounds(&wishes, batch)?))
    }

    /// What the table is.
    pub(crate) fn facts(&self, py: Python<'_>) -> PyResult<TableInfo> {
        self.with(py, |opened| Ok(opened.about()?))
    }
}

#[pymethods]
impl Table {
    /// What comes of each row (an int) or key (a str): its value, or `None` for a key that the table does not have.
    fn ask<'py>(
        &self,
        py: Python<'py>,
        items: Vec<Bound<'py, PyAny>>,
        batch: usize,
    ) -> PyResult<(Vec<Option<Bound<'py, PyBytes>>>, LookupCost)> {
        let wanted: Vec<PyLookup> = items.iter().map(PyLookup::of).collect();
        let (each, cost) = self.rounds(py, &wanted, batch)?;
        let granted = wanted.into_iter().zip(each).map(|(wanted, granted)| match wanted {
            PyLookup::Invalid(error) => Err(error),
            _ => {
                let granted = granted.map_err(PyFault::from)?;
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
    ) -> PyResult<(Column, LookupCost)> {
        let about = self.facts(py)?;
        let mut wanted: Vec<PyLookup> = match keys {
            Keys::Stream(table) => keys_of(table, on)?,
            Keys::List(items) => items.iter().map(PyLookup::or_nothing).collect(),
        };
        for item in &mut wanted {
            match item {
                // A column of integers has keys, where the table has any: addresses, or telephone numbers.
                PyLookup::Row(number) if about.kind != "row" => *item = PyLookup::Key(number.to_string()),
                PyLookup::Row(row) if *row >= about.rows => *item = PyLookup::Padding,
                _ => {}
            }
        }
        let (each, cost) = self.rounds(py, &wanted, batch)?;
        let mut values = Vec::with_capacity(wanted.len());
        for (wanted, granted) in wanted.into_iter().zip(each) {
            values.push(match (wanted, granted) {
                (PyLookup::Invalid(error), _) => return Err(error),
                (PyLookup::Padding, _) => None,
                (_, Ok(granted)) => granted.value,
                // A key in another form than the table's is no key of it.
                (PyLookup::Key(_), Err(ClientError::Catalog(CatalogError::NoSuchRow { .. }))) => None,
                (_, Err(error)) => return Err(PyFault::from(error).into()),
            });
        }
        Ok((Column::of(into, &values, about.value == "text"), cost))
    }

    /// What the table is, as it is now.
    fn about(&self, py: Python<'_>) -> PyResult<TableInfo> {
        self.facts(py)
    }

    /// Looks for a newer epoch. Gives whether there was one.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |opened| Ok(opened.refresh()?))
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
