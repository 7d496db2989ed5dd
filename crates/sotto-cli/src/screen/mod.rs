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
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Write;

/// The answer of a verb: lines for a person, and an object for a script. It is printed in one place,
/// when the verb has ended: [`Screen::print`].
#[derive(Default)]
pub(crate) struct Report {
    /// `None` if the verb has printed everything while it ran.
    forms: Option<(String, serde_json::Result<String>)>,
    failure: Option<Failure>,
}

impl Report {
    /// The report of a value whose schema `sotto schema` prints.
    pub(crate) fn new(text: impl Into<String>, json: &(impl Serialize + JsonSchema)) -> Self {
        Report { forms: Some((text.into(), serde_json::to_string(json))), failure: None }
    }

    /// Adds the failure that the verb ends with after its answer is printed, if there is one.
    pub(crate) fn but(self, failure: Option<Failure>) -> Self {
        Report { failure, ..self }
    }
}

/// The output of a command, as text or JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    json: bool,
}

impl Screen {
    pub(crate) fn new(json: bool) -> Self {
        Screen { json }
    }

    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Prints text for a person; nothing with `--json`.
    pub(crate) fn print_text(self, text: impl AsRef<str>) -> Result<()> {
        if self.json { Ok(()) } else { line(text.as_ref()) }
    }

    /// Prints a report: text for a person, or JSON on one line with `--json`.
    pub(crate) fn print(self, Report { forms, failure }: Report) -> Result<()> {
        if let Some((text, json)) = forms {
            match self.json {
                true => line(json.as_ref().map_err(cannot_serialize)?)?,
                false if text.is_empty() => {}
                false => line(&text)?,
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Progress bars for long work.
    pub(crate) fn bars(self) -> progress::ProgressLine {
        progress::ProgressLine::new(self.json)
    }
}

fn cannot_serialize(error: &serde_json::Error) -> Failure {
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
