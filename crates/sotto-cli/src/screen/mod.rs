//! Output. Results go to stdout, as text for a person or as JSON for a script; progress and errors go
//! to stderr, so that a pipe carries results only.
//!
//! | module | contents |
//! |---|---|
//! | [`grid`] | tables that read well without color |
//! | [`progress`] | the progress line, drawn only on a terminal |
//! | [`units`] | bytes, times, rates and probabilities for a person |

pub(crate) mod grid;
pub(crate) mod progress;
pub(crate) mod units;
use crate::failure::{Failure, Result};
use serde::Serialize;
use serde_json::Value;
use std::io::Write;

/// What a verb computed, which is printed in either form: [`Screen::print`].
pub(crate) trait Report {
    /// The lines for a person.
    fn text(&self) -> String;

    /// The object for a script.
    fn json(&self) -> Value;
}

/// The output of a command, as text or JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    json: bool,
    quiet: bool,
}

impl Screen {
    pub(crate) fn new(json: bool) -> Self {
        Screen { json, quiet: false }
    }

    /// A screen for a verb that another one runs: nothing is printed, except for progress.
    pub(crate) fn quiet(self) -> Self {
        Screen { quiet: true, ..self }
    }

    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Prints text for a person; nothing with `--json`.
    pub(crate) fn say(self, text: impl AsRef<str>) -> Result<()> {
        if self.json || self.quiet { Ok(()) } else { line(text.as_ref()) }
    }

    /// Prints a result for a script, on one line; nothing without `--json`.
    pub(crate) fn report(self, value: &impl Serialize) -> Result<()> {
        if !self.json || self.quiet {
            return Ok(());
        }
        line(&serde_json::to_string(value).map_err(cannot_serialize)?)
    }

    /// Prints a report: text for a person, or JSON with `--json`.
    pub(crate) fn print(self, report: &impl Report) -> Result<()> {
        self.say(report.text())?;
        self.report(&report.json())
    }

    /// Progress bars for long work.
    pub(crate) fn bars(self) -> progress::ProgressLine {
        progress::ProgressLine::new(self.json)
    }
}

/// A result as JSON, with further fields.
pub(crate) fn with_fields(value: &impl Serialize, fields: Value) -> Result<Value> {
    let mut value = serde_json::to_value(value).map_err(cannot_serialize)?;
    if let (Some(object), Value::Object(fields)) = (value.as_object_mut(), fields) {
        object.extend(fields);
    }
    Ok(value)
}

fn cannot_serialize(error: serde_json::Error) -> Failure {
    Failure::internal(format!("cannot serialize a result: {error}"))
}

/// Writes and flushes a line. If the reader has gone (`sotto ... | head`), the command ends
/// quietly.
fn line(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(Failure::unread()),
        Err(error) => Err(Failure::file("writing to", "standard output".as_ref(), &error)),
        Ok(()) => Ok(()),
    }
}
