//! The configuration of `sotto_open`: one JSON object with table, servers and options.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sotto_binding::{BindingError, Options};

/// Maximum number of servers of a scheme.
const MAX_SERVERS: usize = 8;
/// Default batch size of `sotto_get_many`.
const BATCH: usize = 16;

/// The configuration of a table to open.
pub(crate) struct Config {
    /// Address of each server, in the order of their roles, under which the cache and the state are
    /// stored.
    pub(crate) servers: Vec<String>,
    pub(crate) table: String,
    pub(crate) batch: usize,
    pub(crate) options: Options,
}

/// Parses a configuration. Fields other than `servers`, `table` and `batch` are options that all
/// bindings have.
///
/// # Errors
/// An error of the caller, for an invalid configuration.
pub(crate) fn parse(json: &[u8]) -> Result<Config, BindingError> {
    let mut all: Map<String, Value> =
        serde_json::from_slice(json).map_err(|error| wrong(&format!("not a JSON object: {error}")))?;
    let servers: Vec<String> = field(&mut all, "servers")?.ok_or_else(|| wrong("\"servers\" is missing"))?;
    let table = field(&mut all, "table")?.ok_or_else(|| wrong("\"table\" is missing"))?;
    let batch = field(&mut all, "batch")?.unwrap_or(BATCH);
    if !(1..=MAX_SERVERS).contains(&servers.len()) || servers.iter().any(String::is_empty) {
        return Err(wrong("\"servers\" does not have 1 to 8 addresses"));
    }
    let twice = |(i, server): (usize, &String)| servers.iter().skip(i + 1).any(|other| other == server);
    if servers.iter().enumerate().any(twice) {
        return Err(wrong(
            "\"servers\" lists one address twice, and its server would learn which row is looked up",
        ));
    }
    let options: Options =
        serde_json::from_value(Value::Object(all)).map_err(|error| wrong(&error.to_string()))?;
    // By default the rollback counter is in the user's home. This library writes only where the
    // caller says.
    if options.state.is_some() && options.rollback_dir.is_none() {
        return Err(wrong(
            "\"state\" needs \"rollback_dir\", a second folder for the counter that exposes an old copy of the state",
        ));
    }
    Ok(Config { servers, table, batch, options })
}

fn field<T: DeserializeOwned>(all: &mut Map<String, Value>, name: &str) -> Result<Option<T>, BindingError> {
    let value = all.remove(name).map(serde_json::from_value).transpose();
    value.map_err(|error| wrong(&format!("{name:?}: {error}")))
}

fn wrong(why: &str) -> BindingError {
    BindingError::misuse(
        format!("the configuration is not valid: {why}"),
        "see \"Opening\" in bindings/native/README.md",
    )
}
