//! Which table, at which servers: one JSON object.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sotto_binding::{BindingError, Options};

/// Most servers that a scheme asks.
const MAX_SERVERS: usize = 8;
/// What `sotto_get_many` fills its rounds up to, unless said otherwise.
const BATCH: usize = 16;

/// A table to open.
pub(crate) struct Config {
    /// What the cache and the state call each server, in the order of their roles: its address.
    pub(crate) servers: Vec<String>,
    pub(crate) table: String,
    pub(crate) batch: usize,
    pub(crate) options: Options,
}

/// Reads one. What is not `servers`, `table` or `batch` is an option that all bindings have.
///
/// # Errors
/// The caller's, for anything else than that.
pub(crate) fn parse(json: &[u8]) -> Result<Config, BindingError> {
    let mut all: Map<String, Value> =
        serde_json::from_slice(json).map_err(|error| wrong(&format!("it is no JSON object: {error}")))?;
    let servers: Vec<String> = field(&mut all, "servers")?.ok_or_else(|| wrong("it names no \"servers\""))?;
    let table = field(&mut all, "table")?.ok_or_else(|| wrong("it names no \"table\""))?;
    let batch = field(&mut all, "batch")?.unwrap_or(BATCH);
    if !(1..=MAX_SERVERS).contains(&servers.len()) || servers.iter().any(String::is_empty) {
        return Err(wrong("\"servers\" are the addresses of 1 to 8 servers"));
    }
    let twice = |(i, server): (usize, &String)| servers.iter().skip(i + 1).any(|other| other == server);
    if servers.iter().enumerate().any(twice) {
        return Err(wrong("one server is named twice: it would see all parts of each question"));
    }
    let options: Options =
        serde_json::from_value(Value::Object(all)).map_err(|error| wrong(&error.to_string()))?;
    // Elsewhere the anchor lies in the user's home. Here nothing is written but where the caller says.
    if options.state.is_some() && options.anchor.is_none() {
        return Err(wrong(
            "a \"state\" needs an \"anchor\": a second folder, by which a copy of it is noticed",
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
        format!("the configuration is wrong: {why}"),
        "see \"Opening\" in bindings/native/README.md",
    )
}
