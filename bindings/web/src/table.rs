//! An open table or stack, for JavaScript. Arguments, results and errors are JSON; values are
//! bytes.

use crate::host::PageListener;
use crate::transport::WorkerTransport;
use js_sys::{Array, Uint8Array};
use serde::{Deserialize, Serialize};
use sotto_binding::vector::replay;
use sotto_binding::{BindingError, Options, Servers, TableOrStack};
use sotto_client::Lookup;
use sotto_client::transport::{Transport, endpoint};
use std::sync::Arc;
use wasm_bindgen::prelude::*;

/// The name of a table, and its servers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableAddress {
    urls: Vec<String>,
    table: String,
    insecure_plaintext: bool,
}

/// One lookup: a row, whose index may exceed JavaScript's numbers, or a key.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum JsLookup {
    Row(String),
    Key(String),
}

impl JsLookup {
    /// The lookup to make. An invalid row is queried as row 0, and the worker's caller reports the
    /// error afterwards.
    fn as_lookup(parsed: &Option<JsLookup>) -> Lookup<'_> {
        match parsed {
            Some(JsLookup::Key(key)) => Lookup::Key(key),
            Some(JsLookup::Row(row)) => Lookup::Row(row.parse().unwrap_or(0)),
            None => Lookup::Row(0),
        }
    }
}

/// An open table or stack.
#[wasm_bindgen]
pub struct Table {
    opened: TableOrStack,
}

#[wasm_bindgen]
impl Table {
    /// Opens the table or stack of this name.
    ///
    /// # Errors
    /// An error, as JSON.
    pub fn open(to: &str, options: &str) -> Result<Table, JsValue> {
        let to: TableAddress = read(to)?;
        let options: Options = read(options)?;
        let checked = endpoint::check(&to.urls, to.insecure_plaintext);
        checked.map_err(|error| error_json(&BindingError::from(error)))?;
        let urls = to.urls;
        let transports = move || {
            let each = (0..).zip(&urls);
            each.map(|(server, url)| {
                Box::new(WorkerTransport { server, origin: url.clone() }) as Box<dyn Transport>
            })
            .collect()
        };
        let servers = Servers::Custom(Arc::new(transports));
        let opened = sotto_binding::open(&servers, &to.table, options, Some(Arc::new(PageListener)));
        Ok(Table { opened: opened.map_err(|fault| error_json(&fault))? })
    }

    /// The current description of the table, as JSON.
    ///
    /// # Errors
    /// An error, as JSON.
    pub fn about(&self) -> Result<String, JsValue> {
        json(&self.opened.about().map_err(|fault| error_json(&fault))?)
    }

    /// Makes all lookups, and returns two values: the result of each, bytes or `null`, and the
    /// cost, as JSON.
    ///
    /// # Errors
    /// An error, as JSON.
    #[wasm_bindgen(js_name = lookUp)]
    pub fn look_up(&mut self, lookups: &str, batch: usize) -> Result<Array, JsValue> {
        let parsed: Vec<Option<JsLookup>> = read(lookups)?;
        let lookups: Vec<_> = parsed.iter().map(JsLookup::as_lookup).collect();
        let (each, cost) = self.opened.rounds(&lookups, batch).map_err(|fault| error_json(&fault))?;
        let values = Array::new();
        for (parsed, result) in parsed.iter().zip(each) {
            let value = match (parsed, result) {
                // An invalid lookup is an error, whatever row 0 contains.
                (None, _) => None,
                (_, Ok(result)) => result.value,
                (_, Err(error)) => return Err(error_json(&BindingError::from(error))),
            };
            values.push(&value.map_or(JsValue::NULL, |value| Uint8Array::from(value.as_slice()).into()));
        }
        Ok(Array::of2(&values, &json(&cost)?.into()))
    }

    /// Checks for a newer epoch. Returns whether there was one.
    ///
    /// # Errors
    /// An error, as JSON.
    pub fn refresh(&mut self) -> Result<bool, JsValue> {
        self.opened.refresh().map_err(|fault| error_json(&fault))
    }
}

/// The ids of the schemes in this build, as JSON.
///
/// # Errors
/// Does not fail.
#[wasm_bindgen]
pub fn schemes() -> Result<String, JsValue> {
    let ids: Vec<_> = sotto_registry::SCHEMES.iter().map(|entry| entry.id.0).collect();
    json(&ids)
}

/// Replays a recorded lookup (`spec/vectors`), and returns its row: a test whether this build makes
/// the recorded bytes.
///
/// # Errors
/// An error, as JSON.
#[wasm_bindgen(js_name = selfTest)]
pub fn self_test(vector: &[u8]) -> Result<Vec<u8>, JsValue> {
    replay(vector).map(|replayed| replayed.value).map_err(|error| error_json(&BindingError::from(error)))
}

/// Parses JSON from the worker, from bytes as everywhere else, so that one parser suffices in the
/// binary.
fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, JsValue> {
    sotto_core::json::from_slice(text.as_bytes())
        .map_err(|error| error_json(&BindingError::misuse(error.to_string(), "give what js/index.d.ts says")))
}

fn json(value: &impl Serialize) -> Result<String, JsValue> {
    serde_json::to_string(value).map_err(|error| JsValue::from(error.to_string()))
}

fn error_json(fault: &BindingError) -> JsValue {
    json(fault).map_or_else(|error| error, JsValue::from)
}
