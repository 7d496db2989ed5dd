//! A column of keys in, a column of values out, as Arrow data in the capsules that polars, pandas,
//! pyarrow and DuckDB share.

use crate::fault::PyFault;
use crate::lookup::PyLookup;
use arrow_array::builder::{LargeBinaryBuilder, LargeStringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, FieldRef};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList, PyString};
use pyo3_arrow::PyTable;
use pyo3_arrow::ffi::{ArrayIterator, to_stream_pycapsule};
use std::sync::Arc;

/// A column of values, one for each row that it was joined to.
#[pyclass(frozen, module = "sotto._sotto")]
pub(crate) struct Column {
    values: ArrayRef,
    field: FieldRef,
}

/// The keys of a column, or the rows: a null is a dummy lookup.
fn keys(array: &dyn Array) -> Option<Vec<PyLookup>> {
    fn rows<T: ArrowPrimitiveType<Native: TryInto<u64>>>(array: &dyn Array, into: &mut Vec<PyLookup>) {
        let row = |row: T::Native| row.try_into().map_or(PyLookup::Padding, PyLookup::Row);
        into.extend(array.as_primitive::<T>().iter().map(|value| value.map_or(PyLookup::Padding, row)));
    }
    let text = |value: Option<&str>| value.map_or(PyLookup::Padding, |key| PyLookup::Key(key.to_owned()));
    let mut into = Vec::with_capacity(array.len());
    match array.data_type() {
        DataType::Utf8 => into.extend(array.as_string::<i32>().iter().map(text)),
        DataType::LargeUtf8 => into.extend(array.as_string::<i64>().iter().map(text)),
        DataType::Utf8View => into.extend(array.as_string_view().iter().map(text)),
        DataType::Null => into.extend((0..array.len()).map(|_| PyLookup::Padding)),
        DataType::Int8 => rows::<Int8Type>(array, &mut into),
        DataType::Int16 => rows::<Int16Type>(array, &mut into),
        DataType::Int32 => rows::<Int32Type>(array, &mut into),
        DataType::Int64 => rows::<Int64Type>(array, &mut into),
        DataType::UInt8 => rows::<UInt8Type>(array, &mut into),
        DataType::UInt16 => rows::<UInt16Type>(array, &mut into),
        DataType::UInt32 => rows::<UInt32Type>(array, &mut into),
        DataType::UInt64 => rows::<UInt64Type>(array, &mut into),
        _ => return None,
    }
    Some(into)
}

/// The keys of the column of this name.
pub(crate) fn keys_of(table: PyTable, on: &str) -> Result<Vec<PyLookup>, PyFault> {
    let (batches, schema) = table.into_inner();
    if schema.column_with_name(on).is_none() {
        let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let message = format!("no column {on:?}");
        return Err(PyFault::misuse(message, format!("give one of {}", names.join(", "))));
    }
    let mut into = Vec::new();
    for batch in batches {
        let Some(array) = batch.column_by_name(on) else { continue };
        let of_batch = match array.data_type() {
            DataType::Dictionary(..) => keys(&*plain(array)?),
            _ => keys(array.as_ref()),
        };
        let other = || {
            PyTypeError::new_err(format!(
                "column {on:?} has type {}, expected text or integers",
                array.data_type()
            ))
        };
        into.extend(of_batch.ok_or_else(other)?);
    }
    Ok(into)
}

/// Decodes a dictionary column into its values.
fn plain(array: &ArrayRef) -> Result<ArrayRef, PyFault> {
    let categories = array.as_any_dictionary();
    let plain = arrow_select::take::take(categories.values(), categories.keys(), None);
    plain.map_err(|error| PyFault::misuse(error.to_string(), "give a column of text or of integers"))
}

impl Column {
    /// A column of these values. It is text only if all of them are valid text.
    pub(crate) fn of(name: &str, values: &[Option<Vec<u8>>], is_text: bool) -> Self {
        let texts = values.iter().map(|value| value.as_deref().map(std::str::from_utf8).transpose());
        let texts = if is_text { texts.collect::<Result<Vec<_>, _>>().ok() } else { None };
        let values: ArrayRef = match texts {
            Some(texts) => {
                let mut builder = LargeStringBuilder::new();
                texts.into_iter().for_each(|text| builder.append_option(text));
                Arc::new(builder.finish())
            }
            None => {
                let mut builder = LargeBinaryBuilder::new();
                values.iter().for_each(|value| builder.append_option(value.as_deref()));
                Arc::new(builder.finish())
            }
        };
        let field = Arc::new(Field::new(name, values.data_type().clone(), true));
        Column { values, field }
    }
}

#[pymethods]
impl Column {
    /// The values as an Arrow stream.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let arrays = [Ok(Arc::clone(&self.values))];
        let reader = Box::new(ArrayIterator::new(arrays, Arc::clone(&self.field)));
        Ok(to_stream_pycapsule(py, reader, requested_schema)?)
    }

    /// The values as `str` or `bytes`, and `None` for keys that the table does not have.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        match self.values.data_type() {
            DataType::LargeUtf8 => {
                let texts = self.values.as_string::<i64>();
                PyList::new(py, texts.iter().map(|text| text.map(|text| PyString::new(py, text))))
            }
            _ => {
                let values = self.values.as_binary::<i64>();
                PyList::new(py, values.iter().map(|value| value.map(|value| PyBytes::new(py, value))))
            }
        }
    }

    fn __len__(&self) -> usize {
        self.values.len()
    }
}
