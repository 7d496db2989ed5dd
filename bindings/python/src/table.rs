//! An open table or stack, queried in padded rounds.

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

/// An open table. Its lookups are made one after the other, whichever threads make them.
#[pyclass(frozen, module = "sotto._sotto")]
pub(crate) struct Table {
    /// Table or stack; `None` once it was closed.
    opened: Mutex<Option<TableOrStack>>,
    raised: RaisedError,
}

/// A column of keys, in one of two forms.
#[derive(FromPyObject)]
pub(crate) enum Keys<'py> {
    /// A column of Arrow data.
    Stream(PyTable),
    /// A list of values.
    List(Vec<Bound<'py, PyAny>>),
}

impl Table {
    pub(crate) fn new(opened: TableOrStack, raised: RaisedError) -> Self {
        Table { opened: Mutex::new(Some(opened)), raised }
    }

    /// Runs work on the open table, without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        what: impl FnOnce(&mut TableOrStack) -> Result<T, PyFault> + Send,
    ) -> PyResult<T> {
        work(py, || {
            let damaged = |_| PyFault::misuse("a bug ended an earlier lookup of this table", "open it again");
            let mut opened = self.opened.lock().map_err(damaged)?;
            let closed = || PyFault::from(sotto_binding::BindingError::closed());
            drop(self.raised.take());
            what(opened.as_mut().ok_or_else(closed)?).map_err(|fault| fault.because(self.raised.take()))
        })
    }

    /// Makes all lookups, in rounds of whole batches, and returns their results and their cost.
    pub(crate) fn rounds(
        &self,
        py: Python<'_>,
        parsed: &[PyLookup],
        batch: usize,
    ) -> PyResult<(LookupOutcome, LookupCost)> {
        let lookups: Vec<Lookup<'_>> = parsed.iter().map(PyLookup::as_lookup).collect();
        self.with(py, |opened| Ok(opened.rounds(&lookups, batch)?))
    }

    /// The description of the table.
    pub(crate) fn info(&self, py: Python<'_>) -> PyResult<TableInfo> {
        self.with(py, |opened| Ok(opened.about()?))
    }
}

#[pymethods]
impl Table {
    /// The value of each row (an int) or key (a str), or `None` for a key that the table does not
    /// have.
    fn look_up<'py>(
        &self,
        py: Python<'py>,
        lookups: Vec<Bound<'py, PyAny>>,
        batch: usize,
    ) -> PyResult<(Vec<Option<Bound<'py, PyBytes>>>, LookupCost)> {
        let parsed: Vec<PyLookup> = lookups.iter().map(PyLookup::of).collect();
        let (each, cost) = self.rounds(py, &parsed, batch)?;
        let results = parsed.into_iter().zip(each).map(|(parsed, result)| match parsed {
            PyLookup::Invalid(error) => Err(error),
            _ => {
                let result = result.map_err(PyFault::from)?;
                Ok(result.value.map(|value| PyBytes::new(py, &value)))
            }
        });
        Ok((results.collect::<PyResult<_>>()?, cost))
    }

    /// A column of values for a column of keys: a name, and Arrow data or a list. A null, or a key
    /// that the table does not have, has the value null.
    fn join(
        &self,
        py: Python<'_>,
        keys: Keys<'_>,
        on: &str,
        into: &str,
        batch: usize,
    ) -> PyResult<(Column, LookupCost)> {
        let about = self.info(py)?;
        let mut parsed: Vec<PyLookup> = match keys {
            Keys::Stream(table) => keys_of(table, on)?,
            Keys::List(items) => items.iter().map(PyLookup::or_padding).collect(),
        };
        for item in &mut parsed {
            match item {
                // Integers in a column are keys if the table has keys: addresses, or telephone
                // numbers.
                PyLookup::Row(number) if about.kind != "row" => *item = PyLookup::Key(number.to_string()),
                PyLookup::Row(row) if *row >= about.rows => *item = PyLookup::Padding,
                _ => {}
            }
        }
        let (each, cost) = self.rounds(py, &parsed, batch)?;
        let mut values = Vec::with_capacity(parsed.len());
        for (parsed, result) in parsed.into_iter().zip(each) {
            values.push(match (parsed, result) {
                (PyLookup::Invalid(error), _) => return Err(error),
                (PyLookup::Padding, _) => None,
                (_, Ok(result)) => result.value,
                // A key in another form than the table's is missing from it.
                (PyLookup::Key(_), Err(ClientError::Catalog(CatalogError::NoSuchRow { .. }))) => None,
                (_, Err(error)) => return Err(PyFault::from(error).into()),
            });
        }
        Ok((Column::of(into, &values, about.value == "text"), cost))
    }

    /// The current description of the table.
    fn about(&self, py: Python<'_>) -> PyResult<TableInfo> {
        self.info(py)
    }

    /// Checks for a newer epoch. Returns whether there was one.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |opened| Ok(opened.refresh()?))
    }

    /// Closes the table. Further calls raise an exception.
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
    /// A thread of the table may wait for the interpreter's lock in order to report progress.
    fn drop(&mut self) {
        let opened = self.opened.get_mut().ok().and_then(Option::take);
        Python::try_attach(|py| py.detach(move || drop(opened)));
    }
}
